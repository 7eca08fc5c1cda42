# SPDX-License-Identifier: Apache-2.0
"""kill -9 of agentfs, of the server, of the command: at any time.

The base stays as it is, nothing stays mounted that does not answer, nothing of the sandbox goes on
running, and the next command opens the workspace.
"""
import os
import random
import signal
import subprocess
import time

import runs as shared
from runs import as_user, await_true, expect

LOOP = "echo begun; i=0; while :; do i=$((i+1)); echo $i > f$((i%50)); rm -f f$((i%50-1)); done"


def begin(runs, marker):
    process = runs.start(f": {marker}; {LOOP}")
    expect(process.stdout.readline() == "begun\n", "the command has not begun")
    return process


def processes_with(marker):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


def check(runs, marker):
    await_true(lambda: not processes_with(marker), "the end of the sandbox")
    expect(sorted(os.listdir(runs.ws)) == [".agentfs", "base"], "the base was changed")
    expect(shared.fault.read(f"{runs.ws}/base") == "base", "the base was changed")
    runs.ok("fsck")
    expect(runs.shell("cat base") == "base", "the workspace does not open")
    for point in runs.mounts():
        # Only its user may enter it.
        subprocess.run(["stat", point], check=True, capture_output=True, **as_user(runs.user))


def kill_client(runs):
    process = begin(runs, "marker-client")
    process.kill()
    process.wait()
    check(runs, "marker-client")


def kill_server(runs):
    process = begin(runs, "marker-server")
    server = runs.server()
    os.kill(server, signal.SIGKILL)
    await_true(lambda: not shared.fault.is_alive(server), "the server's end")
    # The command gets errors; it is up to it to end.
    os.kill(process.pid, signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    expect(process.returncode == 125, f"status {process.returncode}: {errors}")
    expect("server ended" in errors, errors)
    check(runs, "marker-server")


def kill_command(runs):
    process = begin(runs, "marker-command")
    # Of those with the marker in their arguments it is the shell that nobody else has started.
    shells = [pid for pid in processes_with("marker-command")
              if os.readlink(f"/proc/{pid}/exe").endswith(("dash", "bash", "sh"))]
    for pid in shells:
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=20)
    expect(process.returncode == 128 + signal.SIGKILL, f"status {process.returncode}")
    check(runs, "marker-command")


def kill_at_random(runs):
    for turn in range(12):
        marker = f"marker-random-{turn}"
        process = runs.start(f": {marker}; {LOOP}")
        time.sleep(random.random() * 0.12)  # at any point of the start, and after it
        victim = process.pid if turn % 2 == 0 else runs.server() or process.pid
        os.kill(victim, signal.SIGKILL)
        process.kill()
        process.communicate()
        check(runs, marker)


def run(runs):
    runs.put("base", "base")
    runs.ok("init")
    kill_client(runs)
    kill_server(runs)
    kill_command(runs)
    kill_at_random(runs)


shared.main(run)
