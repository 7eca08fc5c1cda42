# SPDX-License-Identifier: Apache-2.0
#
# git: a repository in the base is worked on, cloned, branched, rebased, packed and checked.
. "${BASH_SOURCE%/*}/lib.sh"
need git
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_CONFIG_NOSYSTEM=1

seed() {
  git init -q -b main repo
  cd repo
  mkdir -p src/deep doc
  for i in $(seq 60); do
    printf 'int f%d(void) { return %d; }\n' "$i" "$i" >"src/f$i.c"
    printf 'text %d\n' "$i" >"doc/$i.txt"
  done
  head -c 300000 /dev/urandom >src/deep/blob
  git add -A
  git commit -q -m first
}

clean() {
  expect "" "$(git status --porcelain)" "git status after $1"
  git fsck --strict --no-progress >"$TMPDIR/fsck" 2>&1 || fail "fsck after $1: $(cat "$TMPDIR/fsck")"
}

check_work() {
  expect "" "$(git status --porcelain)" "git status of the base"
  for i in 1 2 3; do
    echo "change $i" >>src/f1.c
    git commit -qam "change $i"
  done
  git mv src/f2.c doc/moved.c
  git rm -q doc/3.txt
  git commit -qm "move and remove"
  clean commits
}

check_branches() {
  git checkout -q -b topic HEAD~2
  echo topic >src/topic.c
  git add src/topic.c
  git commit -qm topic
  git rebase -q main
  clean rebase
  git checkout -q -b other main~1
  echo other >doc/other.txt
  git add doc/other.txt
  git commit -qm other
  git merge -q --no-edit topic
  clean merge
  echo kept >>src/f5.c
  git stash -q
  expect "" "$(git status --porcelain)" "status after stash"
  git stash pop -q
  expect " M src/f5.c" "$(git status --porcelain)" "status after stash pop"
  git checkout -q -- src/f5.c
}

check_conflict() {
  git checkout -q -b left main && echo left >src/f7.c && git commit -qam left
  git checkout -q -b right main && echo right >src/f7.c && git commit -qam right
  refused git merge -q left >/dev/null
  grep -q '<<<<<<<' src/f7.c || fail "no conflict marks"
  git merge --abort
  clean "aborted merge"
}

check() {
  cd repo
  check_work
  check_branches
  check_conflict
  git worktree add -q ../tree topic
  expect topic "$(cat ../tree/src/topic.c)" "file in the worktree"
  git -C ../tree commit -q --allow-empty -m "from the worktree"
  git gc -q --aggressive --prune=now
  clean gc
  git clone -q . ../clone
  git clone -q --no-local . ../packed
  for other in clone packed; do
    expect "$(git rev-parse 'HEAD^{tree}')" "$(git -C ../$other rev-parse 'HEAD^{tree}')" "$other"
    git -C ../$other fsck --strict --no-progress 2>"$TMPDIR/fsck" || fail "$(cat "$TMPDIR/fsck")"
  done
  git worktree remove ../tree
  git checkout -q main
  clean end
}

"$1"
