# SPDX-License-Identifier: Apache-2.0
"""What a command must not be able to do: write outside, read keys, reach processes, other branches
or our own server."""
import os
import subprocess

import runs as shared
from runs import expect

ATTEMPTS = {
    "write outside": "echo x > /etc/agentfs-hostile",
    "write a setting of the kernel": "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness",
    "remount the host": "mount -o remount,rw /",
    "unmount what hides a key": "umount -l ~/.ssh && cat ~/.ssh/id",
    "read a hidden key": "cat ~/.ssh/id",
    "read it through another process": "cat /proc/1/root/$HOME/.ssh/id",
    "read it through a directory's handle": "cd ~/.ssh/.. && cat .ssh/id",
    "make a device": "mknod d b 8 0 && head -c 1 d",
    "see a process outside": "test -e /proc/$OUTSIDE/exe",
    "signal a process outside": "kill -0 $OUTSIDE",
    "trace a process outside": "python3 -c 'import ctypes,os;"
                               "exit(ctypes.CDLL(None).ptrace(16, int(os.environ[\"OUTSIDE\"]), 0, 0) != 0)'",
    "ask the server": "python3 -c 'import socket;"
                      "s = socket.socket(socket.AF_UNIX); s.connect(\"'$WS'/.agentfs/control.sock\")'",
    "read our state": "cat $WS/.agentfs/state.db",
    "see other branches": "ls $RUNTIME/agentfs",
    "type into the terminal": "python3 -c 'import fcntl,termios;"
                              "fcntl.ioctl(0, termios.TIOCSTI, b\"x\")'",
    "get a privilege": "test $(grep CapEff /proc/self/status | cut -f2) = 000001ffffffffff",
    "load a module": "python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(313, 0, b\"\", 0) == 0)' && false",
    "enter a namespace outside": "nsenter -t 1 -m cat $HOME/.ssh/id",
}


def run(runs):
    runs.put("f", "base")
    runs.put(".ssh/id", "private key", runs.home)
    runs.ok("init")
    runs.shell("echo other > secret", "--branch", "other")
    outside = os.getpid()
    for what, text in ATTEMPTS.items():
        env = dict(runs.env, OUTSIDE=str(outside), WS=runs.ws, RUNTIME=runs.env["XDG_RUNTIME_DIR"])
        # Where everything is copy-on-write, writing outside is what is wanted.
        for options in ([], ["--cow", "/"]) if what != "write outside" else ([],):
            done = runs.call("run", *options, "--allow", runs.home, "--", "sh", "-c", text, env=env)
            expect(done.returncode != 0, f"could {what} {options}: {done.stdout}{done.stderr}")
            expect("private key" not in done.stdout, f"{what}: shows the key")
            expect("sandbox cannot be had" not in done.stderr, done.stderr)
    expect(not os.path.exists("/etc/agentfs-hostile"), "it was written to /etc")
    done = runs.call("run", "--allow", runs.ws, "--", "ls", f"{runs.ws}/.agentfs", env=runs.env)
    expect("state.db" not in done.stdout, "--allow of the workspace shows its state")
    # The server of another workspace, whose socket can be seen, takes no orders from a sandbox.
    if runs.user is not None:
        return
    nested = subprocess.run(["unshare", "--pid", "--fork", *runs.command("status")], cwd=runs.ws,
                            env=runs.env, capture_output=True, text=True, timeout=20, check=False)
    expect(nested.returncode == 125 and "sandbox" in nested.stderr,
           f"the server answers a sandbox: {nested.returncode} {nested.stderr}")


shared.main(run)
