# SPDX-License-Identifier: Apache-2.0
#
# How editors save: in place, by writing a file beside it and renaming, with a backup; and the tools
# that edit files: sed -i, patch, ed-like redirections.
. "${BASH_SOURCE%/*}/lib.sh"
need python3 patch sed

seed() {
  mkdir project
  for i in $(seq 10); do printf 'one\ntwo\nthree\n' >"project/f$i"; done
  chmod 0751 project/f1
  ln project/f2 project/f2.link
  ln -s f3 project/f3.link
}

check_vim() {
  local vim way file=project/f1
  vim=$(command -v vim || command -v vim.tiny) || { echo "without vim: there is none"; return; }
  for way in yes no auto; do
    "$vim" -u NONE -i NONE -n -es -c "set backup backupskip= backupcopy=$way" -c '%s/two/TWO/e' \
      -c "normal oby $way" -c 'wq' "$file" </dev/null || fail "vim failed with backupcopy=$way"
    grep -q "by $way" "$file" || fail "vim has not saved with backupcopy=$way"
    expect 751 "$(stat -c %a "$file")" "mode after vim with backupcopy=$way"
  done
  [ -e "$file~" ] || fail "vim has left no backup"
  # With a swap file, which vim locks by O_EXCL and looks at again.
  "$vim" -u NONE -i NONE -es -c 'normal ggOfirst' -c 'wq' project/f4 </dev/null || fail "vim with swap"
  expect first "$(head -1 project/f4)" "first line"
  expect "" "$(find project -name '*.sw?')" "swap files"
}

# Write to a new file, fsync, rename over the old one, fsync the directory; readers that poll see
# the old content or the new, whole.
check_atomic() {
  python3 - <<'PYTHON'
import os, threading

def save(path, text):
    beside = f"{path}.tmp{os.getpid()}"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(fd, text.encode())
    os.fsync(fd)
    os.close(fd)
    os.rename(beside, path)
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(directory)
    os.close(directory)

stop, wrong = threading.Event(), []

def watch():
    last = -1
    while not stop.is_set():
        with open("project/f5", encoding="ascii") as file:
            text = file.read()
        if text.startswith("one"):
            continue
        numbers = set(text.split())
        if len(numbers) != 1 or len(text.split()) != 500 or int(text.split()[0]) < last:
            wrong.append(text)
            return
        last = int(text.split()[0])

reader = threading.Thread(target=watch)
reader.start()
for n in range(60):
    save("project/f5", f"{n} " * 500)
stop.set()
reader.join()
assert not wrong, f"a reader saw {wrong[0][:80]!r}"
PYTHON
}

check() {
  check_vim
  check_atomic
  sed -i 's/two/2/' project/f2
  expect 2 "$(sed -n 2p project/f2)" "sed -i"
  expect two "$(sed -n 2p project/f2.link)" "the other name of what sed -i replaced"
  sed -i --follow-symlinks 's/two/2/' project/f3.link
  [ -L project/f3.link ] || fail "sed has replaced the link"
  expect 2 "$(sed -n 2p project/f3)" "sed through a link"
  printf -- '--- project/f6\n+++ project/f6\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n' |
    patch -s -p0 -b
  expect zwei "$(sed -n 2p project/f6)" "patch"
  expect two "$(sed -n 2p project/f6.orig)" "patch's backup"
  echo four >>project/f7
  expect 4 "$(wc -l <project/f7)" "lines after >>"
  : >project/f8
  expect 0 "$(stat -c %s project/f8)" "size after >"
  sort -r -o project/f9 project/f9
  expect two "$(head -1 project/f9)" "sort -o on its own input"
}

"$1"
