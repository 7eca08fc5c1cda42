# SPDX-License-Identifier: Apache-2.0
#
# Python on the tree: a virtual environment, compiled modules, imports, zip files, shelves.
. "${BASH_SOURCE%/*}/lib.sh"
need python3
unset PYTHONDONTWRITEBYTECODE

seed() {
  mkdir -p package/sub
  for i in $(seq 30); do printf 'VALUE = %d\n\n\ndef f():\n    return VALUE\n' "$i" >"package/m$i.py"; done
  touch package/__init__.py package/sub/__init__.py
  echo 'from package.m3 import f' >package/sub/user.py
}

check() {
  python3 -m compileall -q -j2 package
  expect 33 "$(find package -name '*.pyc' | wc -l)" "compiled modules"
  expect 3 "$(python3 -c 'from package.sub.user import f; print(f())')" "import"
  sed -i 's/VALUE = 3$/VALUE = 4000/' package/m3.py
  expect 4000 "$(python3 -c 'from package.sub.user import f; print(f())')" "import after a change"
  python3 -m venv --without-pip env
  expect "$PWD/env" "$(env/bin/python -c 'import sys; print(sys.prefix)')" "prefix"
  python3 -m zipfile -c all.zip package
  mkdir out
  python3 -m zipfile -e all.zip out
  diff -r package out/package
  python3 - <<'PYTHON'
import shelve, shutil, os, pathlib
with shelve.open("shelf") as shelf:
    for n in range(300):
        shelf[str(n)] = list(range(n))
with shelve.open("shelf", "r") as shelf:
    assert all(shelf[str(n)] == list(range(n)) for n in range(300))
shutil.copytree("package", "copy")
assert sorted(p.name for p in pathlib.Path("copy").rglob("*")) == \
    sorted(p.name for p in pathlib.Path("package").rglob("*"))
shutil.move("copy", "moved")
shutil.rmtree("moved")
with open("sent", "wb") as target, open("/usr/bin/python3", "rb") as source:
    size = os.fstat(source.fileno()).st_size
    sent = 0
    while sent < size:
        sent += os.sendfile(target.fileno(), source.fileno(), sent, size - sent)
shutil.copyfile("sent", "copied")
assert pathlib.Path("copied").read_bytes() == pathlib.Path("/usr/bin/python3").read_bytes()
PYTHON
}

"$1"
