# SPDX-License-Identifier: Apache-2.0
"""agentfs mcp with clients that break the rules, go away, or share the workspace with a mount: the
server stays, and answers others."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Client, await_true, expect, shared  # noqa: E402

TOO_LONG = 65 << 20


def breaks_rules(runs):
    client = Client(runs)
    for line in (b"{", b"\xff\xfe\x00", b"\x00" * 1000, b'"' + b"\\u0000" * 1000, b"[" * 100000,
                 b"}{", b"[]", b"7", b'{"jsonrpc":"2.0","id":[],"method":"ping"}',
                 b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', b"Content-Length: 10",
                 b'{"jsonrpc":"2.0","method":"ping","id":' + b"[" * 200000 + b"]" * 200000 + b"}"):
        client.send(line)
        answer = client.receive()
        expect(answer["error"]["code"] in (-32700, -32600, -32602), (line[:40], answer))
    client.send(b"x" * TOO_LONG)
    expect(client.receive()["error"]["code"] == -32700, "a line that is too long")
    for line in (b"", b"\r", b'{"jsonrpc":"2.0","method":"nothing"}'):
        client.send(line)
    expect(client.ask("ping")["result"] == {}, "ping")
    for path in ("../../etc/passwd", "/etc/passwd", "/proc/self/environ", "/.agentfs/config.toml",
                 "/.agentfs/host/etc/passwd", "a\0b", "x" * 5000, "", "/" * 5000,
                 f"{runs.ws}/../../../etc/passwd", "/out", "/out2"):
        result = client.call("read_text_file", path=path)
        expect(result.get("isError") and "root:" not in str(result), (path[:40], result))
    expect(client.text("read_text_file", path="/f") == "base", "the session goes on")
    client.end()


def goes_away(runs):
    # In the middle of a message, and of many answers that nobody reads.
    client = Client(runs)
    client.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"meth')
    client.end()
    client = Client(runs, "--branch", "left")
    client.text("write_file", path="/large", content="x" * (1 << 20))
    for number in range(50):
        client.send(json.dumps({"jsonrpc": "2.0", "id": 100 + number, "method": "tools/call",
                                "params": {"name": "read_text_file",
                                           "arguments": {"path": "/large"}}}).encode())
    client.process.kill()
    client.process.wait()
    # Its session has ended: nobody uses the branch.
    await_true(lambda: runs.call("branch", "delete", "left").returncode == 0, "the branch's release")
    client = Client(runs)
    client.ask("ping")
    client.process.stdout.close()
    client.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    client.process.stdin.close()
    client.process.wait(timeout=30)
    client = Client(runs)
    client.text("write_file", path="/kept", content="kept")
    client.process.send_signal(signal.SIGTERM)
    expect(client.process.wait(timeout=30) in (0, -signal.SIGTERM), "SIGTERM")


def shares(runs):
    point = runs.scratch.directory("mnt")
    runs.ok("mount", point)
    one, two = Client(runs), Client(runs)
    with open(f"{point}/f", "w", encoding="ascii") as file:
        file.write("by the mount")
    expect(one.text("read_text_file", path="/f") == "by the mount", "what the mount wrote")
    one.text("write_file", path=f"{runs.ws}/f", content="by the protocol")
    with open(f"{point}/f", encoding="ascii") as file:
        expect(file.read() == "by the protocol", "what the protocol wrote")
    expect(two.text("read_text_file", path="f") == "by the protocol", "the other client")
    expect(runs.ok("fs", "cat", "/kept") == "kept", "what was written before SIGTERM")
    one.end()
    two.end()
    with open(f"{runs.ws}/f", encoding="ascii") as file:
        expect(file.read() == "base", "the base was changed")


def run(runs):
    runs.put("f", "base")
    os.symlink("/.agentfs/host/etc/passwd", f"{runs.ws}/out")
    os.symlink("../../../../../etc/passwd", f"{runs.ws}/out2")
    runs.ok("init")
    first = Client(runs)
    first.ask("ping")
    server = runs.server()
    breaks_rules(runs)
    goes_away(runs)
    shares(runs)
    expect(runs.server() == server != 0, "the server is still the same")
    first.end()


shared.main(run)
