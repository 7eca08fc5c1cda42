# SPDX-License-Identifier: Apache-2.0
#
# tar and rsync there and back: nothing of a tree is lost, and a second rsync has nothing to do.
. "${BASH_SOURCE%/*}/lib.sh"
need tar rsync setfattr

seed() {
  mkdir -p tree/a/b/c tree/empty
  for i in $(seq 40); do seq "$((i * 20))" >"tree/a/b/f$i"; done
  head -c 700000 /dev/urandom >tree/a/large
  truncate -s 50M tree/sparse
  printf x | dd of=tree/sparse bs=1 seek=40000000 conv=notrunc status=none
  ln tree/a/large tree/a/b/hard
  ln -s ../large tree/a/b/soft
  ln -s nowhere tree/dangling
  mkfifo tree/fifo
  chmod 0640 tree/a/b/f1
  chmod 1777 tree/empty
  touch -d '2001-02-03 04:05:06.789012345' tree/a/b/f2 tree/a/b
  setfattr -n user.note -v kept tree/a/b/f3
  touch "tree/a/$(printf 'name with\ttab and \xff byte')"
}

# What must be the same of a tree, wherever it is.
describe() {
  (cd "$1" && find . -printf '%P|%y|%m|%U:%G|%n|%T@|%l|' \( -type f -printf '%s' -o -true \) \
    -printf '\n' | LC_ALL=C sort
    find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    getfattr -d a/b/f3)
}

same() {
  diff <(describe "$1") <(describe "$2") >"$TMPDIR/diff" || fail "$3: $(head -20 "$TMPDIR/diff")"
}

check() {
  # The base's copy is read, and written to the mount; then one of the mount's own.
  tar --xattrs --sparse -cf archive.tar tree
  mkdir out
  tar --xattrs -xpf archive.tar -C out
  same tree out/tree "tar there and back"
  local used
  used=$(du -k out/tree/sparse | cut -f1)
  [ "$used" -lt 1000 ] || fail "the sparse file uses $used KiB"
  tar --xattrs -xpf archive.tar -C "$TMPDIR"
  same tree "$TMPDIR/tree" "tar to outside"
  tar -df archive.tar || fail "tar finds differences"

  rsync -aHX --sparse tree/ synced/
  same tree synced "rsync"
  expect "" "$(rsync -aHXi --checksum tree/ synced/)" "a second rsync"
  echo more >>tree/a/b/f4
  rm tree/a/b/f5 tree/dangling
  chmod 0600 tree/a/b/f6
  touch -d '2010-01-01' tree tree/a/b  # rsync does not see differences below a second in directories
  rsync -aHX --delete tree/ synced/
  same tree synced "rsync of changes"
  printf changed >synced/a/b/f7
  rsync -aHX --inplace --no-whole-file --checksum tree/ synced/
  same tree synced "rsync in place"
  cp -a tree copied
  same tree copied "cp -a"
}

"$1"
