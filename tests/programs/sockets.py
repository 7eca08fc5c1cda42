# SPDX-License-Identifier: Apache-2.0
"""Unix sockets, FIFOs, programs with a shebang, and what a program may not do on a tree."""
import asyncio
import errno
import os
import select
import socket
import subprocess
import sys
import threading


def seed():
    with open("script", "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho \"$0 $1\"\n")
    os.chmod("script", 0o755)
    os.mkfifo("base.fifo")


def check_streams():
    server = socket.socket(socket.AF_UNIX)
    server.bind("s.sock")
    server.listen()

    def serve():
        for _ in range(20):
            peer, _ = server.accept()
            with peer:
                peer.sendall(peer.recv(100).upper())

    thread = threading.Thread(target=serve)
    thread.start()
    for n in range(20):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("s.sock")
            client.sendall(b"hello %d" % n)
            assert client.recv(100) == b"HELLO %d" % n
    thread.join()
    try:
        socket.socket(socket.AF_UNIX).bind("s.sock")
        raise AssertionError("bound to a name that is taken")
    except OSError as error:
        assert error.errno == errno.EADDRINUSE, error
    server.close()
    try:
        socket.socket(socket.AF_UNIX).connect("s.sock")
        raise AssertionError("connected to nobody")
    except ConnectionRefusedError:
        pass
    os.rename("s.sock", "moved.sock")
    os.unlink("moved.sock")


def check_datagrams():
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind("d.sock")
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.sendto(b"datagram", "d.sock")
    assert receiver.recv(100) == b"datagram"


async def check_asyncio():
    async def echo(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(echo, "a.sock")
    reader, writer = await asyncio.open_unix_connection("a.sock")
    writer.write(b"line\n")
    assert await reader.readline() == b"line\n"
    writer.close()
    server.close()


def check_fifo(name):
    writer = subprocess.Popen(["/bin/sh", "-c", f"seq 20000 > {name}"])
    with open(name, encoding="ascii") as file:
        assert sum(int(line) for line in file) == 20000 * 20001 // 2
    assert writer.wait() == 0
    try:
        os.open(name, os.O_WRONLY | os.O_NONBLOCK)
        raise AssertionError("opened without a reader")
    except OSError as error:
        assert error.errno == errno.ENXIO, error
    reader = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(name, os.O_WRONLY)
    os.write(writer, b"x")
    assert select.select([reader], [], [], 5)[0] == [reader]
    os.close(reader)
    os.close(writer)


def check_programs():
    assert subprocess.check_output(["./script", "a"], text=True) == "./script a\n"
    with open("/bin/true", "rb") as source, open("program", "wb") as target:
        target.write(source.read())
    try:
        subprocess.run(["./program"], check=True)
        raise AssertionError("ran what is not executable")
    except PermissionError:
        pass
    os.chmod("program", 0o755)
    assert subprocess.run(["./program"], check=False).returncode == 0
    with open("/bin/sleep", "rb") as source, open("busy", "wb") as target:
        target.write(source.read())
    os.chmod("busy", 0o755)
    process = subprocess.Popen(["./busy", "60"])
    try:
        os.open("busy", os.O_WRONLY)
        raise AssertionError("wrote to a running program")
    except OSError as error:
        assert error.errno == errno.ETXTBSY, error
    os.unlink("busy")  # a running program may go
    process.kill()
    process.wait()


def check():
    check_streams()
    check_datagrams()
    asyncio.run(check_asyncio())
    os.mkfifo("new.fifo")
    check_fifo("new.fifo")
    check_fifo("base.fifo")
    check_programs()


{"seed": seed, "check": check}[sys.argv[1]]()
