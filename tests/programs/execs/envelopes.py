# SPDX-License-Identifier: Apache-2.0
"""What comes of a request: success, failure, a signal, the end of its time, a denial, output that is
cut, a sandbox that cannot be had, a field that makes no sense. As root and as another user."""
import base64
import json
import os
import shlex
import sys
import time

import execs as shared
from execs import NOBODY, expect

POLICY = '[[rule]]\nname = "no-nl"\nprogram = "nl"\naction = "deny"\njustification = "no"\n'


def paths(result):
    return [(each["path"], each["change"], each["size_before"], each["size_after"])
            for each in result["changed_files"]]


def success_and_failure(execs):
    done = execs.result("--", "true")
    expect(done["decision"]["action"] == "allow" and done["checkpoint"] is None, f"true: {done}")
    expect(done["changed_files"] == [] and done["max_rss_bytes"] > 0, f"true: {done}")
    done = execs.result("--label", "step 1", "--shell",
                        "echo out; echo err >&2; echo hello > new; rm gone; echo longer >> kept;"
                        "mv old moved; chmod 600 dir/mode; exit 3", status=3)
    expect(done["exit_code"] == 3 and done["stdout"] == "out\n" and done["stderr"] == "err\n",
           f"failure: {done}")
    expect(done["decision"]["action"] == "allow_with_checkpoint", f"{done}")
    expect(paths(done) == [("/dir/mode", "modified", 2, 2), ("/gone", "removed", 5, None),
                           ("/kept", "modified", 5, 12), ("/moved", "renamed", 4, 4),
                           ("/new", "added", None, 6)], f"changed: {paths(done)}")
    expect(done["changed_files"][3]["old_path"] == "/old", f"{done}")
    operations = done["operations"]
    expect(operations.get("unlink") == 1 and operations.get("rename") == 1, f"{operations}")
    expect(os.path.exists(f"{execs.ws}/gone"), "the base was changed")
    execs.ok("undo")
    expect(execs.result("--", "cat", "gone")["stdout"] == "gone\n", "undo")


def ends(execs):
    expect(execs.result("--", "no-such-command", status=127)["exit_code"] == 127, "127")
    expect(execs.result("--", "./f", status=126)["exit_code"] == 126, "126")
    done = execs.result("--shell", "kill -TERM $$", status=143)
    expect(done["signal"] == 15 and done["exit_code"] is None, f"signal: {done}")
    expect(done["state"] == "completed", f"signal: {done}")
    started = time.monotonic()
    long = f"1234.{os.getpid()}"  # nobody else's
    done = execs.result("--timeout", "0.4", "--shell",
                        f"echo before; setsid sleep {long} & trap '' TERM INT; sleep {long}; sleep 1",
                        status=124)
    expect(done["timed_out"] and done["state"] == "timed_out" and done["signal"] == 9, f"{done}")
    expect(done["stdout"] == "before\n", f"timed out: {done}")
    expect(time.monotonic() - started < 30, "the end of its time did not end it")
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                expect(file.read() != f"sleep\0{long}\0".encode(), "a process was left")
        except OSError:
            pass


def streams(execs):
    done = execs.result("--stdin", "--", "cat", input="given\n")
    expect(done["stdout"] == "given\n", f"stdin: {done}")
    expect(execs.result("--", "cat")["stdout"] == "", "stdin is not empty")
    done = execs.result("--env", "A=1 2", "--env", "HOME=/h", "--shell", "echo $A $HOME $AGENTFS")
    expect(done["stdout"] == "1 2 /h 1\n", f"environment: {done}")
    done = execs.result("--output-limit", "10", "--shell", "seq 100000; echo short >&2")
    expect(done["stdout"] == "1\n2\n3\n4\n5\n" and done["stdout_truncated"], f"cut: {done}")
    expect(done["stdout_bytes"] == 588895 and not done["stderr_truncated"], f"cut: {done}")
    whole = "".join(f"{n}\n" for n in range(1, 100001))
    number = str(done["exec"])
    expect(execs.ok("exec", "--output", number) == whole, "the whole output")
    expect(execs.ok("exec", "--output", number, "--stderr") == "short\n", "the whole errors")
    done = execs.result("--", "printf", r"\377\376a")
    expect(base64.b64decode(done["stdout_base64"]) == b"\xff\xfea", f"bytes: {done}")
    expect(done["stdout"] == "\ufffd\ufffda", f"bytes: {done}")
    done = execs.result("--shell", "printf x > $(printf 'n\\377')")
    expect(base64.b64decode(done["changed_files"][0]["path_base64"]) == b"/n\xff", f"{done}")
    done = execs.call("exec", "--shell", "echo out; echo err >&2; exit 5")
    expect((done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 5), f"{done}")


def refusals(execs):
    before = execs.names()
    config = os.path.join(execs.ws, ".agentfs", "policy.toml")
    shared.shared.fault.write(config, POLICY)
    done = execs.exec("--branch", "new", "--", "nl", "f", status=1)
    expect(done["error"]["code"] == "denied" and done["result"]["state"] == "denied", f"{done}")
    expect(done["result"]["decision"]["rule"] == "workspace:no-nl", f"{done}")
    shared.shared.fault.write(config, "what is this")
    expect(execs.error("--", "true", status=2) == "invalid_policy", "a policy that is none")
    os.unlink(config)
    expect(execs.names() == before, "a branch was made for what was denied")


def bad_fields(execs):
    before = execs.names()
    for arguments, code in (
            (("--branch", "a b", "--", "true"), "invalid_branch"),
            (("--branch", "base", "--", "true"), "invalid_branch"),
            (("--cwd", "", "--branch", "n", "--", "true"), "invalid_cwd"),
            ((), "invalid_command"),
            (("--", ""), "invalid_command"),
            (("--shell", ""), "invalid_command"),
            (("--branch", "n", "--timeout", "-1", "--", "true"), "invalid_timeout"),
            (("--branch", "n", "--timeout", "1e9", "--", "true"), "invalid_timeout"),
            (("--branch", "n", "--env", "=x", "--", "true"), "invalid_environment"),
            (("--branch", "n", "--env", "AGENTFS_BRANCH=x", "--", "true"), "invalid_environment"),
            (("--branch", "n", "--label", "x" * 257, "--", "true"), "invalid_label"),
            (("--branch", "n", "--output-limit", "67108865", "--", "true"),
             "invalid_output_limit"),
            (("--branch", "n", "--checkpoint", "maybe", "--", "true"), "invalid_checkpoint")):
        expect(execs.error(*arguments, status=2) == code, f"{arguments}: not {code}")
    expect(execs.error("--branch", "n", "--cwd", "/none", "--", "true", status=4)
           == "cwd_not_found", "a directory that is not there")
    expect(execs.error("--branch", "n", "--cwd", "/f", "--", "true", status=4)
           == "cwd_not_found", "a directory that is a file")
    expect(execs.names() == before, "a branch was made for what makes no sense")
    done = execs.call("--json", "exec", "--", "true", cwd="/")
    expect(execs.check(done.stdout)["error"]["code"] == "workspace_not_found", f"{done}")
    expect(done.returncode == 4, f"{done}")


def places(execs):
    expect(execs.result("--cwd", "/dir", "--", "pwd")["stdout"] == f"{execs.ws}/dir\n", "cwd")
    expect(execs.result("--", "pwd", cwd=f"{execs.ws}/dir")["stdout"] == f"{execs.ws}/dir\n", "here")
    done = execs.result("--branch", "other", "--shell", "echo 1 > f; echo $AGENTFS_BRANCH")
    expect(done["stdout"] == "other\n", f"branch: {done}")
    expect(execs.result("--", "cat", "f")["stdout"] == "f\n", "branches are not apart")
    done = execs.result("--read-only", "--shell", "echo 1 > f || ls > /tmp/mine", status=0)
    expect("Read-only file system" in done["stderr"] and done["read_only"], f"read only: {done}")
    expect(done["changed_files"] == [] and done["checkpoint"] is None, f"read only: {done}")


def checkpoints(execs):
    def count():
        return len(json.loads(execs.ok("--json", "snapshot", "list")))
    execs.result("--shell", "echo 1 > g")
    before = count()
    never = execs.result("--checkpoint", "never", "--shell", "echo 2 > g")
    expect(never["checkpoint"] is None and count() == before, f"never: {never}")
    expect(paths(never) == [("/g", "modified", 2, 2)], f"never: {never}")
    always = execs.result("--checkpoint", "always", "--", "true")
    expect(always["checkpoint"] is not None and count() == before + 1, f"always: {always}")
    again = execs.result("--checkpoint", "always", "--", "true")
    expect(again["checkpoint"] == always["checkpoint"], "nothing was changed in between")
    # What looked harmless and was not has a way back.
    execs.result("--shell", "printf 'all:\\n\\techo 4 > g\\n' > Makefile")
    done = execs.result("--", "make", "-s")
    expect(done["checkpoint"] is not None and paths(done) == [("/g", "modified", 2, 2)], f"{done}")
    execs.ok("undo")
    expect(execs.result("--", "cat", "g")["stdout"] == "2\n", "undo of make")


def without_sandbox(execs):
    bin_directory = execs.scratch.directory("bin", execs.user)
    fake = os.path.join(bin_directory, "bwrap")
    shared.shared.fault.write(fake, "#!/bin/sh\necho 'bwrap: no namespace for you' >&2; exit 1\n")
    os.chmod(fake, 0o755)
    done = execs.exec("--shell", "echo x > never", status=125,
                      env={**execs.env, "PATH": f"{bin_directory}:/usr/bin:/bin"})
    expect(done["error"]["code"] == "sandbox_failed", f"{done}")
    expect("no namespace for you" in done["error"]["message"], f"{done}")
    expect(done["result"]["state"] == "sandbox_failed", f"{done}")
    done = execs.exec("--", "true", status=125, env={**execs.env, "PATH": "/nonexistent"})
    expect(done["error"]["code"] == "sandbox_failed", f"{done}")
    done = execs.exec("--shell", f"{shlex.quote(execs.program)} --json exec -- true", status=None)
    inner = execs.check(done["result"]["stdout"]) if done.get("result", {}).get("stdout") else None
    expect(inner is None or not inner["success"], f"an exec in an exec: {done}")


def run(execs):
    for name, text in (("f", "f\n"), ("gone", "gone\n"), ("kept", "kept\n"), ("old", "old\n"),
                       ("dir/mode", "m\n")):
        execs.put(name, text)
    if execs.user is not None:
        for directory, _, files in os.walk(execs.ws):
            for path in (directory, *(os.path.join(directory, name) for name in files)):
                os.chown(path, execs.user, execs.user)
    execs.ok("init")
    for part in (success_and_failure, ends, streams, refusals, bad_fields, places, checkpoints,
                 without_sandbox):
        part(execs)


shared.main(run, user=NOBODY if "nobody" in sys.argv[2:] else None)
