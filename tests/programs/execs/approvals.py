# SPDX-License-Identifier: Apache-2.0
"""What needs a person's word: it is kept, runs once and exactly as it was asked for, only for who
asked, and not from inside a sandbox; on a terminal the person is asked."""
import json
import os
import pty
import sys

import execs as shared
from execs import NOBODY, expect

RISKY = ("--branch", "risky", "--label", "l", "--env", "WORD=a b", "--stdin", "--shell",
         'sudo -n true; cat; echo "$WORD" > made')


def wait_for(execs, *arguments, **options):
    envelope = execs.exec(*arguments, status=1, **options)
    expect(envelope["result"]["state"] == "approval_required", f"{envelope}")
    expect(envelope["error"]["code"] == "approval_required", f"{envelope}")
    return envelope["approval_id"], envelope["request"]


def once(execs):
    number, asked = wait_for(execs, *RISKY, input="in\udcff", errors="surrogateescape")
    expect("risky" not in execs.names(), "something was made for what was not approved")
    # In another directory: what was asked for is what runs.
    done = execs.exec("--approve", number, status=0, cwd=execs.scratch.path,
                      env={**execs.env, "AGENTFS_WORKSPACE": execs.ws})
    expect(done["request"] == asked, f"{done['request']}\nis not\n{asked}")
    expect(done["approval_id"] == number and done["result"]["stdout"].startswith("in"), f"{done}")
    expect([each["path"] for each in done["result"]["changed_files"]] == ["/made"], f"{done}")
    expect(execs.ok("fs", "cat", "--branch", "risky", "/made") == "a b\n", "not exactly that")
    expect(execs.error("--approve", number, status=125) == "approval_used", "a second time")
    expect(execs.error("--approve", "a" + "0" * 32, status=4) == "no_such_approval", "no such")


def others(execs):
    number, _ = wait_for(execs, "--", "git", "push")
    if execs.user is None:
        return
    # Root may talk to the server, and may not say yes in the user's place.
    done = execs.call("--json", "exec", "--approve", number, user=None, group=None,
                      extra_groups=None)
    envelope = execs.check(done.stdout)
    expect(envelope["error"]["code"] == "approval_of_another_user", f"{envelope}")


def inside(execs):
    number, _ = wait_for(execs, "--shell", "sudo -n true; echo x > made-inside")
    program = os.path.join(execs.ws, "agentfs-copy")
    if not os.path.exists(program):
        with open(execs.program, "rb") as source, open(program, "wb") as target:
            target.write(source.read())
        os.chmod(program, 0o755)
    for prefix in ([], ["env", "-u", "AGENTFS", "-u", "AGENTFS_WORKSPACE"]):
        done = execs.call("run", "--", *prefix, "./agentfs-copy", "--json", "exec", "--approve",
                          number)
        expect(done.returncode != 0, f"approved from inside: {done}")
    expect("made-inside" not in execs.ok("fs", "ls", "/"), "it ran")
    execs.exec("--approve", number)
    expect("made-inside" in execs.ok("fs", "ls", "/"), "it did not run")


def on_terminal(execs):
    for answer, status, made in ((b"n\n", 1, False), (b"y\n", 0, True)):
        master, slave = pty.openpty()
        os.write(master, answer)
        done = execs.call("--json", "exec", "--shell", "sudo -n true; echo x > asked",
                          stdin=slave, stderr=slave, stdout=shared.subprocess.PIPE,
                          capture_output=False)
        os.close(slave)
        os.close(master)
        envelope = execs.check(done.stdout)
        expect(done.returncode == status and envelope["success"] == made, f"{answer}: {envelope}")
        expect(made or envelope["error"]["code"] == "refused", f"{envelope}")
        expect(("asked" in execs.ok("fs", "ls", "/")) == made, "asked")


def run(execs):
    execs.ok("init")
    once(execs)
    others(execs)
    inside(execs)
    on_terminal(execs)
    kinds = json.loads(execs.ok("--json", "log"))
    expect(any(each["kind"] == "exec" for each in kinds), f"the log: {kinds}")


shared.main(run, user=NOBODY if "nobody" in sys.argv[2:] else None)
