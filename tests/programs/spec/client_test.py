# SPDX-License-Identifier: Apache-2.0
"""The npm package agentfs-sdk, which is not ours, reads what `export --format agentfs-spec` writes,
and `import` reads what it writes.

usage: client_test.py AGENTFS
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PACKAGE = "agentfs-sdk@0.6.4"
HERE = os.path.dirname(os.path.abspath(__file__))


def install(directory):
    """Why the client cannot be had; empty: it is there."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "there is no node and npm"
    try:
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier",
             "--loglevel=error", "--cache", os.path.join(directory, "cache"), PACKAGE],
            cwd=directory, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return f"npm cannot install {PACKAGE} within two minutes"
    if done.returncode != 0:
        return f"npm cannot install {PACKAGE}: {done.stderr.strip()[:300]}"
    return ""


class Test:
    def __init__(self, program, directory):
        self.program = os.path.abspath(program)
        self.directory = directory
        self.base = os.path.join(directory, "base")
        os.mkdir(self.base)

    def agentfs(self, *arguments, data=b""):
        done = subprocess.run([self.program, "--workspace", self.base, *arguments], input=data,
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def client(self, mode, file):
        done = subprocess.run(["node", os.path.join(HERE, "client.mjs"), mode, file],
                              cwd=self.directory, capture_output=True, text=True, timeout=60,
                              check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def make(self):
        """Files of the base and of the branch, of all sizes around a chunk's."""
        subprocess.run([self.program, "init", self.base], check=True, capture_output=True)
        os.mkdir(f"{self.base}/dir")
        with open(f"{self.base}/dir/base", "wb") as file:
            file.write(b"of the base\n")
        contents = {f"/size{n}": os.urandom(n) for n in (0, 1, 4095, 4096, 4097, 50000)}
        contents["/moves"] = b"moves"
        contents["/goes"] = b"goes"
        contents["/it's \"quoted\"; DROP TABLE fs_inode; --\n\u00e4"] = b"a hostile name"
        for path, content in contents.items():
            self.agentfs("fs", "write", path, data=content)
        self.agentfs("fs", "ln", "-s", "dir/base", "/link")
        self.agentfs("fs", "ln", "/size1", "/dir/hard")
        self.agentfs("kv", "set", "from agentfs", '{"n": [1]}')
        self.agentfs("tool", "record", "ours", "--parameters", '{"p": 1}', "--error", "broken",
                     "--started", "500", "--completed", "501")
        contents["/dir/base"] = b"of the base\n"
        contents["/dir/hard"] = contents["/size1"]
        return contents

    def run(self):
        contents = self.make()
        spec = os.path.join(self.directory, "spec.db")
        self.agentfs("export", "--format", "agentfs-spec", "-o", spec)
        read = self.client("read", spec)
        assert read["kv"] == [{"key": "from agentfs", "value": {"n": [1]}}], read["kv"]
        assert [(c["name"], c["status"], c["error"], c["parameters"]) for c in read["tools"]] == [
            ("ours", "error", "broken", {"p": 1})], read["tools"]
        seen = read["files"]
        assert {path: base64.b64decode(entry["content"]) for path, entry in seen.items()
                if "content" in entry} == contents, sorted(seen)
        assert seen["/link"]["target"] == "dir/base"
        assert seen["/dir/hard"]["nlink"] == 2
        self.import_what_it_writes(spec)

    def import_what_it_writes(self, spec):
        written = self.client("write", spec)
        self.agentfs("import", spec)
        for path, entry in written["files"].items():
            stat = json.loads(self.agentfs("fs", "stat", path, "--json"))
            stat = stat[0] if isinstance(stat, list) else stat
            assert int(stat["mode"], 8) & 0o7777 == entry["mode"] & 0o7777, (path, stat, entry)
            if "content" in entry:
                assert self.agentfs("fs", "cat", path) == base64.b64decode(entry["content"]), path
        value = json.loads(self.agentfs("kv", "get", "from the client"))
        assert value == {"answer": [42, None, "text"]}, value
        calls = json.loads(self.agentfs("tool", "list", "--json"))
        assert sorted(call["name"] for call in calls) == ["client-pending", "client-tool",
                                                          "ours"], calls
        listed = self.agentfs("fs", "find", "/").decode().count("\n")
        # The hostile name is two lines.
        assert listed == len(written["files"]) + 2, (listed, sorted(written["files"]))
        self.agentfs("fsck")


def main():
    with tempfile.TemporaryDirectory(prefix="agentfs-spec-") as directory:
        reason = install(directory)
        if reason:
            print("skipped:", reason)
            return SKIPPED
        Test(sys.argv[1], directory).run()
    return 0


sys.exit(main())
