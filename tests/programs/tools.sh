# SPDX-License-Identifier: Apache-2.0
#
# find, xargs, cp, du, rm, install, ln, mktemp, split and cmp, over a tree of the base.
. "${BASH_SOURCE%/*}/lib.sh"
need find xargs du cmp

seed() {
  for d in $(seq 20); do
    mkdir -p "tree/d$d/deep/er"
    for f in $(seq 15); do echo "$d $f" >"tree/d$d/deep/f$f"; done
    ln -s ../d1 "tree/d$d/link"
  done
}

check() {
  expect 300 "$(find tree -type f | wc -l)" "files"
  expect 20 "$(find tree -type l | wc -l)" "links"
  expect 61 "$(find tree -type d | wc -l)" "directories"
  expect 3 "$(stat -c %h tree/d1)" "links of a directory"
  find tree -name 'f1*' -print0 | xargs -0 -P2 -n7 sed -i 's/$/ changed/'
  expect 140 "$(grep -rl changed tree | wc -l)" "changed files"
  cp -a tree copy
  diff -r --no-dereference tree copy
  expect "$(du -s --inodes tree | cut -f1)" \
    "$(du -s --inodes copy | cut -f1)" "inodes of the copy"
  cp -al tree/d2 linked
  expect 2 "$(stat -c %h linked/deep/f1)" "links of a file"
  expect "$(stat -c %i linked/deep/f1)" "$(stat -c %i tree/d2/deep/f1)" "inode of a hard link"
  find copy -type f -newer tree/d1/deep/f2 -delete
  rm -rf tree/d3 copy
  [ ! -e tree/d3 ] && [ ! -e copy ] || fail "rm -rf left something"
  mkdir tree/d3
  expect "" "$(ls -A tree/d3)" "a directory made anew over a removed one of the base"
  install -D -m 0700 tree/d4/deep/f3 tree/new/dir/f3
  expect 700 "$(stat -c %a tree/new/dir/f3)" "mode by install"
  mv tree/d5 tree/new/moved
  expect 15 "$(find tree/new/moved -type f | wc -l)" "files in a moved directory"
  refused mv tree/new tree/new/dir
  refused rmdir tree/new
  seq 100000 >numbers
  split -n 7 numbers part.
  cat part.?? | cmp - numbers
  shuf numbers | sort -n | cmp - numbers
  head -c 3000000 /dev/zero | tr '\0' y | tee copy1 copy2 >/dev/null
  cmp copy1 copy2
  truncate -s 1000 copy1
  cmp -n 1000 copy1 copy2
  ln -sfn d6 tree/d1/link
  expect d6 "$(readlink tree/d1/link)" "replaced link"
  expect "$PWD/tree/d6" "$(realpath "$PWD/tree/d7/../d6")" "real path"
  df . >/dev/null
  sync -f .
}

"$1"
