# SPDX-License-Identifier: Apache-2.0
"""What the tests of `agentfs exec` share: every envelope that they get is held against the schema."""
import contextlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "..", "..", "docs", "schema", "execution-envelope.schema.json")
sys.path.insert(0, os.path.join(HERE, "..", "runs"))
import runs as shared  # noqa: E402
from runs import Runs, await_true, expect  # noqa: E402,F401
from workspace import NOBODY, as_user, device_for_everybody  # noqa: E402,F401

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed (tools/install-deps test)")
    sys.exit(77)


class Execs(Runs):
    """Runs, of this user or another one, with envelopes."""

    def __init__(self, scratch, program, user=None):
        super().__init__(scratch, program, user)
        self.env["PATH"] = "/usr/bin:/bin"
        with open(SCHEMA, encoding="utf-8") as file:
            self.validator = jsonschema.Draft202012Validator(json.load(file))

    def check(self, text):
        """The envelope that is the whole text, found to be one."""
        expect(text.endswith("\n") and text.count("\n") == 1, f"not one line: {text!r}")
        envelope = json.loads(text)
        errors = [f"{list(each.absolute_path)}: {each.message}"
                  for each in self.validator.iter_errors(envelope)]
        expect(not errors, f"{text}\nis not as the schema says: {errors}")
        return envelope

    def exec(self, *arguments, status=None, **options):
        """The envelope; with `status` expected of the program."""
        done = self.call("--json", "exec", *arguments, **options)
        envelope = self.check(done.stdout)
        expect(status is None or done.returncode == status,
               f"exec {arguments}: status {done.returncode}: {done.stdout} {done.stderr}")
        return envelope

    def result(self, *arguments, status=0, **options):
        """Of a command that ran."""
        envelope = self.exec(*arguments, status=status, **options)
        expect("error" not in envelope, f"{envelope}")
        expect(envelope["success"] == (status == 0), f"success: {envelope}")
        return envelope["result"]

    def error(self, *arguments, status, **options):
        """Of a command that did not."""
        envelope = self.exec(*arguments, status=status, **options)
        expect(not envelope["success"] and "error" in envelope, f"{envelope}")
        return envelope["error"]["code"]

    def start_exec(self, *arguments):
        process = subprocess.Popen(self.command("--json", "exec", *arguments), cwd=self.ws,
                                   env=self.env, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.scratch.watch(process.pid)
        return process

    def finish(self, process):
        out, errors = process.communicate(timeout=60)
        expect(process.returncode == 0, f"status {process.returncode}: {out} {errors}")
        return self.check(out)["result"]

    def names(self):
        return {each["name"] for each in json.loads(self.ok("--json", "branch", "list"))}


def main(run, timeout=90, user=None):
    def wrapped(scratch, program):
        with device_for_everybody() if user is not None else contextlib.nullcontext():
            execs = Execs(scratch, program, user)
            status = run(execs)
            if not status:
                execs.end()
            return status
    shared.fault.main(wrapped, timeout)
