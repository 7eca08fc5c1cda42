# SPDX-License-Identifier: Apache-2.0
"""run where there is little: in a container with its own root and hardly any /dev, as root and as a
user who is root only in a namespace of their own; without fusermount3, with a bubblewrap that has no
privileges."""
import os
import stat
import subprocess

import runs as shared
from runs import NOBODY, as_user, device_for_everybody, expect

# In a mount namespace of its own: the host's programs and the scratch directory, nothing else.
ROOT = """
mount -t tmpfs root "$ROOT" && cd "$ROOT"
mkdir dev proc tmp etc usr scratch
for name in usr etc; do mount --rbind /$name $name; done
for name in bin sbin lib lib64; do [ ! -e /$name ] || ln -s usr/$name $name; done
mount --bind "$SCRATCH" scratch && mount -t proc proc proc
for name in null zero full random urandom tty fuse; do
  touch dev/$name && mount --bind /dev/$name dev/$name; done
mount --bind /dev/null usr/bin/fusermount3
exec chroot . /bin/sh -e -c "$WORK"
"""
NAMESPACE = 'mount --bind /dev/null /usr/bin/fusermount3 && exec /bin/sh -e -c "$WORK"'
WORK = """
cd $TREE/ws
$AGENTFS --quiet run -- sh -c 'echo inside > new; cat f; echo changed > f; ls / > list'
$AGENTFS diff --name-status
$AGENTFS --quiet apply && cat f
$AGENTFS --quiet apply --undo && cat f
$AGENTFS doctor > /dev/null && $AGENTFS umount --all && rm -r .agentfs
"""
UNMAPPED = 12345  # a group that the user's namespace has not
WANTED = "base\nM\t/f\nA\t/list\nA\t/new\nchanged\nbase\n"


def in_container(runs, words, script, tree, **options):
    program = f"{tree}/agentfs"
    env = dict(PATH=os.environ["PATH"], ROOT=f"{runs.scratch.path}/root", SCRATCH=runs.scratch.path,
               WORK=WORK, TREE=tree, AGENTFS=program, HOME=f"{tree}/home",
               XDG_RUNTIME_DIR=f"{tree}/runtime")
    done = subprocess.run(["unshare", *words, "sh", "-e", "-c", script], env=env, text=True,
                          capture_output=True, timeout=60, cwd="/", check=False, **options)
    expect(done.returncode == 0 and done.stdout == WANTED,
           f"{words} {options}: {done.returncode} {done.stdout} {done.stderr}")
    expect(os.listdir(runs.ws) == ["f"], f"left: {os.listdir(runs.ws)}")


def run(runs):
    path = runs.scratch.path
    os.mkdir(f"{path}/root")
    subprocess.run(["cp", runs.program, f"{path}/agentfs"], check=True)
    runs.put("f", "base\n")
    expect(os.stat("/usr/bin/bwrap").st_mode & stat.S_ISUID == 0, "bubblewrap has privileges")
    in_container(runs, ["--mount", "--pid", "--fork", "--uts", "--ipc"], ROOT, "/scratch")
    for name, group in (("ws", UNMAPPED), ("home", NOBODY), ("runtime", NOBODY)):
        subprocess.run(["chown", "-R", f"{NOBODY}:{group}", f"{path}/{name}"], check=True)
    with device_for_everybody():
        in_container(runs, ["--user", "--map-root-user", "--mount"], NAMESPACE, path,
                     **as_user(NOBODY))
    runs.ok("init")


shared.main(run)
