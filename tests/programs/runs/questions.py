# SPDX-License-Identifier: Apache-2.0
"""On a terminal `apply` asks before it writes what would act later, and `diff` uses a pager."""
import os
import pty

import runs as shared
from runs import expect


def on_terminal(runs, *arguments, answer=b"", **variables):
    """What the program shows on a terminal, and its status. It gets the answer when it asks."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(runs.ws)
        os.execve(runs.program, runs.command(*arguments), runs.env | {"TERM": "xterm"} | variables)
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # everybody has closed it
            break
        if not piece:
            break
        shown += piece
        if answer and shown.endswith(b"[y/N] "):
            os.write(terminal, answer)
            answer = b""
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(runs):
    runs.put("f", "base\n")
    runs.ok("init")
    runs.shell("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo changed > f")
    for answer in (b"n\n", b"\n", b"\x04"):
        shown, status = on_terminal(runs, "apply", answer=answer)
        expect("/.git/hooks/pre-commit: a git hook" in shown, shown)
        expect(status == 1 and "nothing was written" in shown, f"{answer}: {status} {shown}")
        expect(shared.fault.read(f"{runs.ws}/f") == "base\n", "it was written all the same")

    shown, status = on_terminal(runs, "diff", PAGER="sed s/^/paged:/")
    expect(status == 0 and "paged:" in shown and "\033[32m+changed" in shown, shown)
    shown, _ = on_terminal(runs, "--no-color", "diff", PAGER="sed s/^/paged:/")
    expect("paged:+changed" in shown and "\033" not in shown, shown)
    shown, status = on_terminal(runs, "diff", PAGER="true")  # which reads nothing
    expect(status == 0, f"{status} {shown}")

    shown, status = on_terminal(runs, "apply", answer=b"y\n")
    expect(status == 0 and "applied" in shown, f"{status} {shown}")
    expect(shared.fault.read(f"{runs.ws}/f") == "changed\n", "it was not written")


shared.main(run)
