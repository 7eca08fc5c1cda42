# SPDX-License-Identifier: Apache-2.0
"""What the file tools of agentfs mcp do is recorded as theirs: each call is an exec, with its operations."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Client, expect, shared  # noqa: E402


def ask(runs, query):
    return json.loads(runs.ok("--json", "sql", query))


def check_calls(runs):
    client = Client(runs)
    client.text("write_file", path="/made", content="one\n")
    client.call("edit_file", path="/made", edits=[{"oldText": "one", "newText": "twelve"}])
    client.call("create_directory", path="/d")
    client.call("move_file", source="/made", destination="/d/moved")
    client.call("read_text_file", path="/d/moved")
    client.call("delete_file", path="/d/moved")
    # Its operations belong to the command, whose exec the call names.
    client.call("exec", command="echo x > by-command; mkdir below")
    client.end()
    told = {}
    for row in ask(runs, "SELECT t.id, t.name, t.exec, e.kind, o.op, o.path, o.path2, o.comm, o.pid FROM tool_calls t "
                         "JOIN execs e ON e.id = t.exec LEFT JOIN ops o ON o.exec = t.exec ORDER BY t.id, o.id"):
        told.setdefault((row["id"], row["name"], row["kind"]), []).append(row)
    ops = {name: [(row["op"], row["path"], row["path2"]) for row in rows] for (_, name, _), rows in told.items()}
    expect([name for _, name, _ in told] == ["write_file", "edit_file", "create_directory", "move_file",
                                             "read_text_file", "delete_file", "exec"], f"{list(told)}")
    expect(len({row["exec"] for rows in told.values() for row in rows}) == 7, "each call is an exec")
    expect(("create", "/made", None) in ops["write_file"] or
           any(op == "rename" and path2 == "/made" for op, _, path2 in ops["write_file"]), f"{ops['write_file']}")
    expect(any(path in ("/made", path2) and op in ("write", "rename") for op, path, path2 in ops["edit_file"]),
           f"{ops['edit_file']}")
    expect(ops["create_directory"] == [("mkdir", "/d", None)], f"{ops['create_directory']}")
    expect(ops["move_file"] == [("rename", "/made", "/d/moved")], f"{ops['move_file']}")
    expect(ops["read_text_file"] == [(None, None, None)], f"{ops['read_text_file']}")
    expect(ops["delete_file"] == [("unlink", "/d/moved", None)], f"{ops['delete_file']}")
    expect(("create", "/by-command", None) in ops["exec"] and ("mkdir", "/below", None) in ops["exec"], f"{ops['exec']}")
    for (_, name, kind), rows in told.items():
        expect(kind == ("exec" if name == "exec" else "mcp"), f"{name}: {kind}")
        if name not in ("exec", "read_text_file"):
            expect({(row["comm"], row["pid"]) for row in rows} == {("agentfs mcp", client.process.pid)}, f"{rows}")


def check_two(runs):
    """Two clients at once, and the command line: nobody's operation is taken for another's."""
    def work(name):
        client = Client(runs)
        for i in range(25):
            client.text("write_file", path=f"/{name}{i}", content=name)
        client.end()
    threads = [threading.Thread(target=work, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for i in range(10):
        runs.ok("fs", "write", f"/middle{i}", input="middle")
    for thread in threads:
        thread.join()
    for row in ask(runs, "SELECT o.path, o.path2, o.exec, json_extract(t.parameters, '$.path') AS meant FROM ops o "
                         "LEFT JOIN tool_calls t ON t.exec = o.exec AND o.exec <> 0 "
                         "WHERE o.path GLOB '/left*' OR o.path GLOB '/right*' OR o.path GLOB '/middle*'"):
        if row["path"].startswith("/middle"):
            expect(row["exec"] == 0, f"{row}")
        else:
            expect(row["meant"] in (row["path"], row["path2"]), f"{row}")
    writes = ask(runs, "SELECT count(DISTINCT exec) AS n FROM ops WHERE path GLOB '/left*' OR path GLOB '/right*'")
    expect(writes[0]["n"] == 50, f"{writes}")


def run(runs):
    runs.ok("init")
    check_calls(runs)
    check_two(runs)


shared.main(run)
