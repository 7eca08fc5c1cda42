# SPDX-License-Identifier: Apache-2.0
"""A client of the Model Context Protocol, as simple as can be."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runs"))
import runs as shared  # noqa: E402,F401
from runs import await_true, expect  # noqa: E402,F401


class Client:
    """A process `agentfs mcp` and its two pipes."""

    def __init__(self, runs, *options, env=None):
        self.process = subprocess.Popen(runs.command("mcp", *options), cwd=runs.ws,
                                        env=env or runs.env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.number = 0

    def send(self, data):
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, **params):
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method,
                              "params": params}).encode())
        answer = self.receive()
        expect(answer.get("id") == self.number, answer)
        return answer

    def call(self, tool, **arguments):
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        expect("result" in answer, answer)
        return answer["result"]

    def text(self, tool, **arguments):
        result = self.call(tool, **arguments)
        expect(not result.get("isError"), result)
        return result["structuredContent"]["content"]

    def end(self):
        """Closes the input; the process ends well and has printed nothing but messages."""
        out, err = self.process.communicate(timeout=30)
        expect(self.process.returncode == 0, f"{self.process.returncode}: {err}")
        expect(err == b"", err)
        return out
