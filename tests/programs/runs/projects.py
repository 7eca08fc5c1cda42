# SPDX-License-Identifier: Apache-2.0
"""Real work inside `run`: a build, a session with git, an npm install. Applied, the base is what the
branch was and works as such; taken back, it is what it was before."""
import os
import shutil
import subprocess

import runs as shared
from runs import expect, expect_same

BUILD = """
printf 'all: hello\\nhello: hello.c lib.c\\n\\tcc -o hello hello.c lib.c\\n' > Makefile
printf 'int f(void); int main(void) { return f() - 42; }\\n' > hello.c
printf 'int f(void) { return 42; }\\n' > lib.c
make && ./hello && make | grep -q 'Nothing to be done'
"""
# A clone in the workspace's own repository, with a submodule and a worktree.
GIT = """
git clone -q . clone && cd clone
git checkout -q -b work && echo one >> f && git commit -q -am one
echo two >> f && git commit -q -am two
git checkout -q master && echo other > g && git add g && git commit -q -m other
git checkout -q work && git rebase -q master && git log --oneline | wc -l
git -c protocol.file.allow=always submodule --quiet add "$PWD/.." sub && git commit -q -m sub
git worktree add -q ../tree master && echo here > ../tree/h
git gc -q && git fsck --strict && git status --porcelain | wc -l
cd .. && echo mine >> f && git commit -q -am mine
"""
PACKAGES = """
mkdir -p packages/alpha tarballs
echo '{"name": "alpha", "version": "1.0.0", "bin": {"alpha": "cli.js"}}' > packages/alpha/package.json
echo 'module.exports = "alpha"' > packages/alpha/index.js
printf '#!/usr/bin/env node\\nconsole.log("alpha")\\n' > packages/alpha/cli.js
cd tarballs && $NPM pack ../packages/alpha > pack.log && cd ..
echo '{"name": "top", "version": "1.0.0", "dependencies":
  {"alpha": "file:tarballs/alpha-1.0.0.tgz", "beta": "file:packages/alpha"}}' > package.json
$NPM install
"""
NPM = ("npm --offline --no-audit --no-fund --no-update-notifier --loglevel=error"
       " --cache /tmp/npm")


def output(directory, *command):
    # git status would write the index anew.
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False,
                          env=dict(os.environ, GIT_OPTIONAL_LOCKS="0"))
    expect(done.returncode == 0, f"{command}: {done.stderr}")
    return done.stdout.strip()


def apply_and_undo(runs, text, check):
    before = runs.tree()
    out = runs.shell(text)
    expect_same("the base was changed", before, runs.tree())
    branch = runs.tree(inside=True)
    runs.ok("apply", "--yes")
    expect_same("the base is not what the branch was", branch, runs.tree())
    expect(runs.ok("diff", "--name-status") == "", "there are differences after the apply")
    check()
    runs.ok("apply", "--undo")
    expect_same("the base is not what it was", before, runs.tree())
    runs.ok("discard")
    return out


def run_build(runs):
    if shutil.which("cc") is None or shutil.which("make") is None:
        print("no build: there is no compiler here")
        return
    apply_and_undo(runs, BUILD, lambda: (
        output(runs.ws, "./hello"),
        expect("Nothing to be done" in output(runs.ws, "make"), "make builds again")))


def check_git(runs):
    clone = f"{runs.ws}/clone"
    output(runs.ws, "git", "fsck", "--strict")
    output(clone, "git", "fsck", "--strict")
    expect(output(clone, "git", "status", "--porcelain") == "", "the clone has changes")
    expect(output(f"{clone}/sub", "git", "log", "-1", "--format=%s") == "zero", "the submodule")
    expect(output(f"{runs.ws}/tree", "git", "status", "--porcelain") == "?? h", "the worktree")
    expect(output(runs.ws, "git", "log", "-1", "--format=%s") == "mine", "the repository itself")


def run_git(runs):
    runs.put("f", "zero\n")
    for command in ("init -q -b master", "add f", "commit -q -m zero"):
        subprocess.run(["git", *command.split()], cwd=runs.ws, env=runs.env, check=True)
    out = apply_and_undo(runs, GIT, lambda: check_git(runs))
    expect(out.split() == ["4", "0"], f"git says: {out}")


def run_npm(runs):
    if shutil.which("npm") is None:
        print("no npm install: there is no npm here")
        return
    apply_and_undo(runs, PACKAGES.replace("$NPM", NPM), lambda: expect(
        output(runs.ws, "node", "-p", "require('alpha') + require('beta')") == "alphaalpha"
        and output(runs.ws, "node_modules/.bin/alpha") == "alpha", "node_modules does not work"))


def run(runs):
    for role in ("AUTHOR", "COMMITTER"):
        runs.env |= {f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@b"}
    runs.ok("init")
    run_build(runs)
    run_npm(runs)
    run_git(runs)


shared.main(run, timeout=170)
