# SPDX-License-Identifier: Apache-2.0
"""A client of the server's control socket (docs/design/control.md)."""
import json
import os
import socket
import struct


class Control:
    """One connection; one request at a time."""

    def __init__(self, state):
        directory = state if os.path.exists(f"{state}/control.sock") else f"{state}/.agentfs"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(60)
        # A socket's address is short; the path need not be.
        fd = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        try:
            self.socket.connect(f"/proc/self/fd/{fd}/control.sock")
        finally:
            os.close(fd)
        self.receive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def request(self, name, /, payload=b"", **arguments):
        text = json.dumps({"version": 1, "request": name, "arguments": arguments}).encode()
        self.socket.sendall(b"AGFS" + struct.pack("<II", len(text), len(payload)) + text + payload)
        answer = self.receive()
        if not answer.get("ok"):
            raise OSError(f"{name}: {answer.get('error', {}).get('message', answer)}")
        return answer.get("result")

    def receive(self):
        magic, text, payload = struct.unpack("<4sII", self.exactly(12))
        if magic != b"AGFS":
            raise OSError("that is no control socket")
        document = json.loads(self.exactly(text))
        self.exactly(payload)
        return document

    def exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise OSError("the server has closed the connection")
            data += piece
        return data
