# SPDX-License-Identifier: Apache-2.0
"""50 commands at once in 50 branches, each of which sees only its own; two in one branch see each
other."""
import runs as shared
from runs import expect

COUNT = 50


def run(runs):
    runs.put("f", "base\n")
    runs.ok("init")
    text = ("cat f; echo $AGENTFS_BRANCH > f; mkdir own; echo $AGENTFS_BRANCH > own/x;"
            "while [ ! -e go ] && [ ! -e /tmp/never ]; do sleep 0.05; test -e own/x || exit 9;"
            "  [ $((n=n+1)) -lt 40 ] || break; done; ls; cat f own/x")
    all_of_them = [runs.start(text, "--branch", f"b{i}") for i in range(COUNT)]
    for i, process in enumerate(all_of_them):
        out, errors = process.communicate(timeout=80)
        expect(process.returncode == 0, f"b{i}: {process.returncode} {errors}")
        expect(out == f"base\nf\nown\nb{i}\nb{i}\n", f"b{i} has seen: {out}")
    expect(shared.fault.read(f"{runs.ws}/f") == "base\n", "the base was changed")

    first = runs.start("while [ ! -e sign ]; do sleep 0.02; done; cat sign; echo seen > answer",
                       "--branch", "together")
    runs.shell("echo hello > sign; while [ ! -e answer ]; do sleep 0.02; done", "--branch",
               "together")
    out, _ = first.communicate(timeout=20)
    expect(out == "hello\n", f"the first has seen: {out}")
    for i in range(COUNT):
        runs.ok("branch", "delete", f"b{i}")


shared.main(run, timeout=150)
