# SPDX-License-Identifier: Apache-2.0
"""20 execs at once in 20 branches, each of which sees and reports only its own; five in one branch,
which see each other; and the end of a client is the end of its command."""
import json
import os

import execs as shared
from execs import await_true, expect

BRANCHES, TOGETHER = 20, 5


def apart(execs):
    # Each waits for a pipe that all of them share, so that they run at the same time.
    all_of_them = [execs.start_exec("--branch", f"b{i}", "--shell",
                                    f"echo {i} > own{i}; cat f; ls; sleep 0.3")
                   for i in range(BRANCHES)]
    for i, process in enumerate(all_of_them):
        done = execs.finish(process)
        expect(done["stdout"] == f"base\nf\nown{i}\n", f"b{i} has seen: {done}")
        expect([each["path"] for each in done["changed_files"]] == [f"/own{i}"], f"b{i}: {done}")
    for i in range(BRANCHES):
        execs.ok("undo", "--branch", f"b{i}")
        expect(execs.ok("fs", "ls", "--branch", f"b{i}", "/") == "f\n", f"undo of b{i}")


def together(execs):
    all_of_them = [execs.start_exec("--branch", "one", "--checkpoint",
                                    "never" if i % 2 else "always", "--shell",
                                    f"echo {i} > own{i}; n=0; "
                                    "while [ $(ls own* | wc -l) -lt 5 ] && [ $n -lt 400 ]; do "
                                    "  sleep 0.02; n=$((n+1)); done; ls own* | wc -l")
                   for i in range(TOGETHER)]
    results = [execs.finish(process) for process in all_of_them]
    for i, done in enumerate(results):
        expect(done["stdout"] == "5\n", f"{i} has not seen the others: {done}")
        paths = [each["path"] for each in done["changed_files"]]
        expect(f"/own{i}" in paths, f"{i}: {done}")
        expect((done["checkpoint"] is None) == bool(i % 2), f"{i}: {done}")
    numbers = [done["exec"] for done in results]
    expect(len(set(numbers)) == TOGETHER, f"numbers: {numbers}")


def killed(execs):
    mark = os.path.join(execs.home, "mark")
    process = execs.start_exec("--allow", execs.home, "--shell",
                               f"echo $$ > {mark}; sleep 4321")
    await_true(lambda: os.path.exists(mark), "the command's start")
    process.kill()
    process.wait()

    def gone():
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if file.read() == b"sleep\0004321\0":
                        return False
            except OSError:
                pass
        return True
    await_true(gone, "the command's end")
    execs.result("--", "true")


def run(execs):
    execs.put("f", "base\n")
    execs.ok("init")
    apart(execs)
    together(execs)
    killed(execs)
    expect(json.loads(execs.ok("--json", "status"))["workspace"], "status")


shared.main(run)
