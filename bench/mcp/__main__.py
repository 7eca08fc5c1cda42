# SPDX-License-Identifier: Apache-2.0
"""How many calls of tools `agentfs mcp` answers in a second, over stdio, to one client.

usage: python3 -B bench/mcp [--agentfs PROGRAM] [--calls N] [--rounds N]

Prints, for each tool, calls a second of a client that waits for each answer before it asks again
(the median of the rounds, and the slowest), the median time of one call, and calls a second of a
client that keeps 16 questions under way. The client is this program, and part of the time.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

FILES = 1000
UNDER_WAY = 16


def fill(directory):
    for n in range(FILES):
        with open(f"{directory}/f{n}", "w", encoding="ascii") as file:
            file.write("a line of forty characters, as in code.\n" * 100)


class Client:
    def __init__(self, program, workspace):
        self.process = subprocess.Popen([program, "--workspace", workspace, "mcp"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def ask(self, tool, arguments):
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": "tools/call",
                           "params": {"name": tool, "arguments": arguments}})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        assert b'"isError"' not in line, line
        return line

    def end(self):
        self.process.communicate(timeout=30)


TOOLS = {
    "read_text_file": lambda n: {"path": f"/f{n % FILES}"},
    "write_file": lambda n: {"path": f"/f{n % FILES}", "content": "x" * 4000},
    "get_file_info": lambda n: {"path": f"/f{n % FILES}"},
    "list_directory": lambda n: {"path": "/"},
    "list_allowed_directories": lambda n: {},
}


def one_by_one(client, tool, arguments, calls):
    times = []
    begin = time.perf_counter()
    for n in range(calls):
        asked = time.perf_counter()
        client.ask(tool, arguments(n))
        client.answer()
        times.append(time.perf_counter() - asked)
    return calls / (time.perf_counter() - begin), statistics.median(times)


def overlapping(client, tool, arguments, calls):
    begin = time.perf_counter()
    for n in range(calls + UNDER_WAY):
        if n < calls:
            client.ask(tool, arguments(n))
        if n >= UNDER_WAY:
            client.answer()
    return calls / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agentfs", default="build/release/bin/agentfs")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.agentfs)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    scratch = tempfile.mkdtemp(prefix="agentfs-bench-")
    try:
        fill(scratch)
        subprocess.run([program, "--quiet", "init", scratch], check=True)
        client = Client(program, scratch)
        print(f"{'tool':26} {'calls/s':>8} {'slowest':>8} {'one':>9} {'16 at once':>11}")
        for tool, make in TOOLS.items():
            one_by_one(client, tool, make, FILES)
            rounds = [one_by_one(client, tool, make, arguments.calls)
                      for _ in range(arguments.rounds)]
            together = statistics.median(overlapping(client, tool, make, arguments.calls)
                                         for _ in range(arguments.rounds))
            rates = [rate for rate, _ in rounds]
            one = statistics.median(time for _, time in rounds) * 1e6
            print(f"{tool:26} {statistics.median(rates):8.0f} {min(rates):8.0f} {one:6.0f} us"
                  f" {together:9.0f}/s")
        client.end()
    finally:
        subprocess.run([program, "--workspace", scratch, "umount", "--all"], check=False,
                       stderr=subprocess.DEVNULL)
        shutil.rmtree(scratch)


main()
