# SPDX-License-Identifier: Apache-2.0
"""agentfs mcp: undo takes back edits and commands, one by one; commands have the environment of the
client, whoever started the server."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Client, expect, shared  # noqa: E402

EDITS = 1050  # what is pruned is collected after 1000
MOST_SNAPSHOTS = 60  # snapshots.keep_last is 50


def environment(runs):
    runs.ok("exec", "--", "true", env=dict(runs.env, WHOSE="the server's"))
    expect(runs.server() != 0, "there is a server")
    strange = {"WHOSE": "the client's", "DASHED": "--branch", "LINES": "a\nb=c", "LIST": "[a,b]",
               "EMPTY": "", "LONG": "x" * 100_000}
    bytes_env = {os.fsencode(k): os.fsencode(v) for k, v in {**runs.env, **strange}.items()}
    bytes_env[b"BYTES"] = b"\xff\xfe"
    one = Client(runs, env=bytes_env)
    runs.put("show.py", "import os\nnames = ('WHOSE', 'DASHED', 'LINES', 'LIST', 'EMPTY')\n"
             "print([os.environ.get(name) for name in names])\n"
             "print(len(os.environ['LONG']), os.environb[b'BYTES'])\n")
    said = one.call("exec", argv=["python3", "show.py"])["structuredContent"]["result"]["stdout"]
    expected = f"{[strange[n] for n in ('WHOSE', 'DASHED', 'LINES', 'LIST', 'EMPTY')]}\n"
    expect(said == expected + "100000 b'\\xff\\xfe'\n", said)
    added = one.call("exec", command="echo $WHOSE", environment=["WHOSE=the call's"])
    expect(added["structuredContent"]["result"]["stdout"] == "the call's\n", added)
    expect("LONG" not in str(added), "the environment is not part of the envelope")
    one.end()


def names(client):
    return client.text("list_directory", path="/").splitlines()


def undo(runs):
    client = Client(runs, "--branch", "undo")
    client.text("write_file", path="/f", content="one")
    client.text("edit_file", path="/f", edits=[{"oldText": "one", "newText": "two"}])
    client.text("move_file", source="/f", destination="/g")
    client.text("edit_file", path="/g", edits=[{"oldText": "two", "newText": "x"}], dryRun=True)
    expect(client.call("delete_file", path="/absent").get("isError"), "there is nothing to delete")
    client.text("copy_file", source="/g", destination="/h")
    client.call("exec", command="rm g; echo command > h")
    client.text("create_directory", path="/d")
    client.text("delete_file", path="/h")
    expect("[FILE] h" not in names(client), "it was deleted")
    client.call("undo")
    expect(client.text("read_text_file", path="/h") == "command\n", "the deletion")
    client.call("undo")
    expect("[DIR] d" not in names(client), "the directory")
    client.call("undo")
    expect(client.text("read_text_file", path="/g") == "two", "the command")
    # What is done after it can be undone, too, and does not hide what was before.
    client.text("write_file", path="/g", content="three")
    client.call("undo")
    expect(client.text("read_text_file", path="/g") == "two", "the edit after the undo")
    client.call("undo")
    expect("[FILE] h" not in names(client), "the copy")
    client.call("undo")
    expect(client.text("read_text_file", path="/f") == "two", "the move")
    client.call("undo")
    expect(client.text("read_text_file", path="/f") == "one", "the edit")
    client.call("undo")
    expect("[FILE] f" not in names(client), "the first of all")
    expect(client.call("undo").get("isError"), "there is nothing left")
    client.end()


def many(runs):
    client = Client(runs, "--branch", "many")
    for number in range(EDITS):
        client.text("write_file", path="/counter", content=str(number))
    for table, most in (("snapshots where branch = 'many'", MOST_SNAPSHOTS),
                        ("layers", 3 * MOST_SNAPSHOTS)):
        counted = client.call("query", sql=f"select count(*) n from {table}")["structuredContent"]
        expect(counted["rows"][0]["n"] <= most, f"{table}: {counted}")
    for number in range(3):
        client.call("undo")
        expect(client.text("read_text_file", path="/counter") == str(EDITS - 2 - number), "undo")
    client.end()


def run(runs):
    runs.put("readme", "base")
    runs.ok("init")
    environment(runs)
    undo(runs)
    many(runs)


shared.main(run)
