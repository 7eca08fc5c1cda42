# SPDX-License-Identifier: Apache-2.0
"""What the tests of the op log share: a workspace, and what is recorded in it."""
import json
import os
import posixpath
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runs"))
import runs as shared  # noqa: E402,F401
from runs import Runs, await_true, expect  # noqa: E402,F401


class Audit:
    """A Runs, and what is recorded in it."""

    def __init__(self, runs):
        self.runs = runs

    def __getattr__(self, name):
        return getattr(self.runs, name)

    def ops(self, *options):
        """The rows, as dictionaries."""
        text = self.ok("audit", "export", *options)
        ops = [json.loads(line) for line in text.split("\n") if line]
        for op in ops:
            for key in ("path", "path2"):
                if key in op:
                    op[key] = op[key][1:]
        return ops

    def recorded(self, text, *options):
        """The rows of a run of this shell text."""
        before = max((op["id"] for op in self.ops()), default=0)
        self.shell(text, *options, errors="replace")
        new = [op for op in self.ops() if op["id"] > before]
        execs = {op["exec"] for op in new}
        expect(len(execs) == 1 and 0 not in execs, f"rows of one exec, not of {execs}: {new}")
        return new


def paths(ops, *kinds):
    return sorted(op["path"] for op in ops if op["op"] in kinds)


def rows(audit, query):
    """The answer to a question in SQL, as dictionaries."""
    return json.loads(audit.ok("--json", "sql", query))


class Names:
    """The names that there are by what is recorded: rows applied one after the other."""

    def __init__(self, there):
        self.kinds = dict(there)  # path: is it a directory

    def apply(self, ops):
        for op in ops:
            if op["errno"] == 0:
                self.apply_one(op["op"], op["path"], op.get("path2"))

    def apply_one(self, kind, path, path2):
        if kind in ("create", "mkdir", "symlink", "mknod"):
            self.add(path, kind == "mkdir")
        elif kind == "link":
            self.add(path2, False)
        elif kind in ("unlink", "rmdir"):
            expect(self.kinds.pop(path, None) == (kind == "rmdir"), f"{kind} of {path}, which was not there")
        elif kind == "rename":
            expect(path in self.kinds, f"rename of {path}, which was not there")
            for old in [old for old in self.kinds if old == path or old.startswith(path + "/")]:
                self.kinds[path2 + old[len(path):]] = self.kinds.pop(old)
        elif kind in ("write", "truncate"):
            expect(path in self.kinds, f"{kind} of {path}, which was not there")

    def add(self, path, directory):
        above = posixpath.dirname(path)
        expect(above == "" or self.kinds.get(above), f"{path} in {above}, which is no directory")
        self.kinds[path] = directory


def names_there(audit):
    """The same by looking."""
    text = audit.shell("find . -mindepth 1 -path ./.agentfs -prune -o -printf '%y %P\\0'", "--audit", "off",
                       errors="replace")
    return {name[2:]: name[0] == "d" for name in text.split("\0") if name}
