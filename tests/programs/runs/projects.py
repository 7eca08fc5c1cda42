# SPDX-License-Identifier: Apache-2.0
"""Real work inside `run`: a build, a session with git, an npm install."""
import os
import shutil
import subprocess

import runs as shared
from runs import expect

BUILD = """
printf 'all: hello\\nhello: hello.c lib.c\\n\\tcc -o hello hello.c lib.c\\n' > Makefile
printf 'int f(void); int main(void) { return f() - 42; }\\n' > hello.c
printf 'int f(void) { return 42; }\\n' > lib.c
make && ./hello && make | grep -q 'Nothing to be done'
"""
GIT = """
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
cd repository && git clone -q . ../clone && cd ../clone
git checkout -q -b work && echo one >> f && git commit -q -am one
echo two >> f && git commit -q -am two
git checkout -q master && echo other > g && git add g && git commit -q -m other
git checkout -q work && git rebase -q master && git log --oneline | wc -l
git gc -q && git fsck --strict && git status --porcelain | wc -l
"""


def git(directory, *arguments):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", directory,
                    *arguments], check=True, capture_output=True)


def run_build(runs):
    if shutil.which("cc") is None or shutil.which("make") is None:
        print("no build: there is no compiler here")
        return
    runs.shell(BUILD)
    expect(os.listdir(runs.ws) == [".agentfs"], "the build was written to the base")


def run_git(runs):
    os.mkdir(f"{runs.ws}/repository")
    runs.put("repository/f", "zero\n")
    git(f"{runs.ws}/repository", "init", "-q", "-b", "master")
    git(f"{runs.ws}/repository", "add", "f")
    git(f"{runs.ws}/repository", "commit", "-q", "-m", "zero")
    out = runs.shell(GIT, "--branch", "git")
    expect(out.split() == ["4", "0"], f"git says: {out}")
    expect(not os.path.exists(f"{runs.ws}/clone"), "the clone is in the base")


def run_npm(runs):
    if shutil.which("npm") is None:
        print("no npm install: there is no npm here")
        return
    runs.put("package.json", '{"name": "x", "version": "1.0.0", "dependencies": {"left-pad": "1.3.0"}}')
    options = {"env": dict(runs.env, HOME=os.environ.get("HOME", "/root"))}
    # The registry and its cache are the machine's business, not ours.
    probe = subprocess.run(["npm", "view", "left-pad", "version"], capture_output=True, text=True,
                           timeout=60, check=False)
    if probe.returncode != 0:
        print("no npm install: the registry cannot be reached")
        return
    runs.shell("npm install --no-audit --no-fund && node -e 'require(\"left-pad\")'",
               "--branch", "npm", timeout=80, **options)
    expect(not os.path.exists(f"{runs.ws}/node_modules"), "node_modules is in the base")


def run(runs):
    runs.ok("init")
    run_build(runs)
    run_git(runs)
    run_npm(runs)


shared.main(run, timeout=170)
