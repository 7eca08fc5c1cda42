# SPDX-License-Identifier: Apache-2.0
"""How long `agentfs run -- true` and `agentfs exec -- true` take on a workspace of 10,000 files.

usage: python3 -B bench/sandbox [--agentfs PROGRAM] [--times N] [--files N] [--only exec]

Prints medians, in milliseconds: with a server that is there (warm), with none (cold), in a new
branch each time, with a checkpoint that is really taken, since something was changed before, and,
for comparison, of bubblewrap alone. The cases take turns.
"""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

DIRECTORIES = 100


def fill(directory, files):
    for d in range(DIRECTORIES):
        os.mkdir(f"{directory}/d{d}")
        for f in range(files // DIRECTORIES):
            with open(f"{directory}/d{d}/f{f}", "w", encoding="ascii") as file:
                file.write(f"{d} {f}\n" * 20)


def milliseconds(command, **options):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   stdin=subprocess.DEVNULL, **options)
    return (time.monotonic() - start) * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agentfs", default="build/release/bin/agentfs")
    parser.add_argument("--times", type=int, default=25)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.agentfs)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    scratch = tempfile.mkdtemp(prefix="agentfs-bench-")
    for name in ("ws", "runtime"):
        os.mkdir(f"{scratch}/{name}", 0o700)
    options = {"cwd": f"{scratch}/ws",
               "env": dict(os.environ, XDG_RUNTIME_DIR=f"{scratch}/runtime")}

    def end():
        milliseconds([program, "umount", "--all"], **options)

    try:
        fill(options["cwd"], arguments.files)
        milliseconds([program, "init"], **options)

        def nothing():
            pass

        def change():
            milliseconds([program, "exec", "--checkpoint", "never", "--shell", "echo $$ > f"],
                         **options)

        run = [program, "run"]
        execute = [program, "--json", "exec"]
        cases = {
            "bubblewrap alone": (nothing, ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev",
                                           "--proc", "/proc", "--unshare-pid", "true"]),
            "agentfs run, cold": (end, [*run, "--", "true"]),
            "agentfs run, warm": (nothing, [*run, "--", "true"]),
            "agentfs run, warm, that reads every file":
                (nothing, [*run, "--", "sh", "-c", "cat */* > /dev/null"]),
            "agentfs run, warm, new branch": (nothing, [*run, "--branch", "b%", "--", "true"]),
            "the program alone (agentfs version)": (nothing, [program, "version"]),
            "agentfs exec, warm": (nothing, [*execute, "--", "true"]),
            "agentfs exec, after a change, no checkpoint":
                (change, [*execute, "--checkpoint", "never", "--", "true"]),
            "agentfs exec, after a change, checkpoint":
                (change, [*execute, "--checkpoint", "always", "--", "true"]),
        }
        cases = {name: case for name, case in cases.items() if arguments.only in name}
        values = {name: [] for name in cases}
        for n in range(arguments.times):
            for name, (prepare, command) in cases.items():
                prepare()
                values[name].append(milliseconds([word.replace("%", str(n)) for word in command],
                                                 **options))
        print(f"{'':44}{'median':>8}{'least':>8}{'most':>8}")
        for name, each in values.items():
            print(f"{name:44}{statistics.median(each):8.1f}{min(each):8.1f}{max(each):8.1f}")
    finally:
        end()
        shutil.rmtree(scratch, ignore_errors=True)


main()
