# SPDX-License-Identifier: Apache-2.0
"""The filesystem permissions of a policy hold for every process of a command, whatever way it
takes, and each attempt is in the log."""
import json
import os

import runs as shared
from runs import expect

POLICY = """
[filesystem]
deny_read = ["**/.env", "/secrets/**"]
deny_write = ["/vendor/**"]
"""

DENIED = {
    "read it": "cat .env",
    "read it through a link": "ln -s .env l; cat l",
    "read it through another name": "ln .env h && cat h",
    "read it under another name": "mv .env m && cat m",
    "read it past ..": "cat src/../.env",
    "read it through /proc": "cat /proc/self/cwd/.env",
    "read it through the root of a process": "cat /proc/self/root$WS/.env",
    "read it by its directory's handle": "exec 3<.; cat /proc/self/fd/3/.env",
    "copy it": "cp .env c && cat c",
    "map it": "python3 -c 'import mmap; f = open(\".env\"); print(mmap.mmap(f.fileno(), 0, prot=1)[:])'",
    "read it in a snapshot": "cat .agentfs/snapshots/before/.env",
    "list the directory": "ls secrets",
    "read from it": "cat secrets/deep/key",
    "move the directory": "mv secrets open && cat open/deep/key",
    "enter it": "cd secrets/deep && cat key",
    "overwrite": "echo x > vendor/lib.c",
    "append": "echo x >> vendor/lib.c",
    "remove": "rm -f vendor/lib.c",
    "replace": "echo x > n && mv n vendor/lib.c",
    "link and overwrite": "ln vendor/lib.c h2 && echo x > h2",
    "add": "touch vendor/new.c",
    "move all of it": "mv vendor v2",
    "change its mode": "chmod 600 vendor/lib.c",
    "make what may not be read": "echo x > src/.env",
}
# It fails, and the program does not say why: a mapping ends in a signal where the kernel opens files
# by itself, and dash tells of no reason.
SILENT = {"map it", "enter it", "append"}


def attempt(runs, what, text):
    done = runs.call("run", "--", "sh", "-c", text, env=dict(runs.env, WS=runs.ws))
    expect(done.returncode != 0, f"could {what}: {done.stdout}")
    expect("denied" in done.stderr or what in SILENT, f"{what}: {done.stderr}")
    for word in ("password", "the key"):
        expect(word not in done.stdout + done.stderr, f"{what}: shows it")


def run(runs):
    runs.put(".env", "password")
    os.makedirs(f"{runs.ws}/secrets/deep")
    runs.put("secrets/deep/key", "the key")
    for directory in ("vendor", "src"):
        os.makedirs(f"{runs.ws}/{directory}")
    runs.put("vendor/lib.c", "library")
    runs.put("src/a.c", "int a;")
    runs.ok("init")
    runs.ok("snapshot", "create", "before")
    # A session that began without rules gets them with the next command.
    expect(runs.ok("run", "--", "cat", ".env") == "password", "it is denied without a rule")
    shared.fault.write(f"{runs.ws}/.agentfs/policy.toml", POLICY)
    for what, text in DENIED.items():
        attempt(runs, what, text)
    runs.ok("umount", "--all")  # and one that began with them: opening fails
    for what in ("read it", "map it", "append"):
        attempt(runs, what, DENIED[what])
    expect(runs.ok("run", "--", "cat", "vendor/lib.c", "src/a.c") == "libraryint a;",
           "what may be read cannot be")
    runs.ok("run", "--", "sh", "-c", "echo more >> src/a.c && mv src source && stat .env")
    rows = [json.loads(line) for line in runs.ok("--json", "audit", "--path", "/.env").splitlines()]
    expect(any(row["errno"] == 13 for row in rows), f"no attempt is in the log: {rows}")
    shared.fault.write(f"{runs.ws}/.agentfs/policy.toml", "[filesystem]\ndeny_read = 3\n")
    done = runs.call("run", "--", "true")
    expect(done.returncode == 2 and "policy.toml" in done.stderr, f"a wrong policy: {done}")
    with open(f"{runs.ws}/.env", encoding="utf-8") as file:
        expect(file.read() == "password", "the base was changed")


shared.main(run)
