# SPDX-License-Identifier: Apache-2.0
"""How long `agentfs run -- true` takes on a workspace of 10,000 files.

usage: python3 -B bench/sandbox [--agentfs PROGRAM] [--times N]

Prints medians, in milliseconds: with a server that is there (warm), with none (cold), in a new
branch each time, and, for comparison, of bubblewrap alone.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

FILES, DIRECTORIES = 10_000, 100


def fill(directory):
    for d in range(DIRECTORIES):
        os.mkdir(f"{directory}/d{d}")
        for f in range(FILES // DIRECTORIES):
            with open(f"{directory}/d{d}/f{f}", "w", encoding="ascii") as file:
                file.write(f"{d} {f}\n" * 20)


def milliseconds(command, **options):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   stdin=subprocess.DEVNULL, **options)
    return (time.monotonic() - start) * 1000


def median(times, prepare, command, **options):
    values = []
    for n in range(times):
        prepare()
        words = [word.replace("%", str(n)) for word in command]
        values.append(milliseconds(words, **options))
    return statistics.median(values), max(values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agentfs", default="build/release/bin/agentfs")
    parser.add_argument("--times", type=int, default=25)
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.agentfs)
    scratch = tempfile.mkdtemp(prefix="agentfs-bench-")
    try:
        for name in ("ws", "runtime"):
            os.mkdir(f"{scratch}/{name}", 0o700)
        options = {"cwd": f"{scratch}/ws",
                   "env": dict(os.environ, XDG_RUNTIME_DIR=f"{scratch}/runtime")}
        fill(options["cwd"])
        milliseconds([program, "init"], **options)

        def end():
            milliseconds([program, "umount", "--all"], **options)

        def nothing():
            pass

        run = [program, "run"]
        cases = {
            "bubblewrap alone": (nothing, ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev",
                                           "--proc", "/proc", "--unshare-pid", "true"]),
            "agentfs run, cold": (end, [*run, "--", "true"]),
            "agentfs run, warm": (nothing, [*run, "--", "true"]),
            "agentfs run, warm, that reads every file":
                (nothing, [*run, "--", "sh", "-c", "cat */* > /dev/null"]),
            "agentfs run, warm, new branch": (nothing, [*run, "--branch", "b%", "--", "true"]),
        }
        print(f"{'':44}{'median':>8}{'most':>8}")
        for name, (prepare, command) in cases.items():
            value, most = median(arguments.times, prepare, command, **options)
            print(f"{name:44}{value:8.1f}{most:8.1f}")
        end()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
