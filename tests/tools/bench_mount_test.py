# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the mount works from end to end, with the plain disk alone."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

BENCH = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                      "../../bench/mount"))
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True

import measure
import report
import targets


def command(scratch, *arguments):
    return [sys.executable, "-B", BENCH, "--quick", "--without-cold", "--repetitions", "1",
            "--scratch", scratch, *arguments]


class EndToEnd(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="bench-mount-test-")
        self.addCleanup(self.directory.cleanup)
        self.scratch = os.path.realpath(self.directory.name)

    def test_native_alone_is_measured_checked_and_cleaned_up(self):
        figures = f"{self.scratch}/figures.json"
        done = subprocess.run(command(self.scratch, "--targets", "native", "--json", figures),
                              capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse(os.path.exists(f"{self.scratch}/run"))
        with open(figures, encoding="utf-8") as file:
            document = json.load(file)
        self.assertGreater(len(document["workloads"]), 20)
        for name, row in document["workloads"].items():
            self.assertEqual(row["native"].get("ratio"), 1.0, name)
        self.assertEqual(document["kept"], {"native": True})
        self.assertIn("| rename storm with atomic saves |", done.stdout)
        self.assertIn("left out, as asked for", done.stdout)

    def test_a_missing_target_is_refused_with_its_reason(self):
        absent = command(self.scratch, "--targets", "agentfs", "--program", "/nowhere")
        done = subprocess.run(absent, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("agentfs: the program was not built (/nowhere)", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_ctrl_c_reports_what_there_is_and_leaves_nothing_behind(self):
        with subprocess.Popen(command(self.scratch, "--targets", "native", "--only", "small"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if "create small" in line:
                    break
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted", said)
        self.assertFalse(os.path.exists(f"{self.scratch}/run"))


class Comparing(unittest.TestCase):
    def test_another_result_than_natives_is_a_failure(self):
        cells = {"work": {"native": {"seconds": [1.0], "hash": "a"},
                          "other": {"seconds": [2.0], "hash": "b"}}}
        bench = measure.Bench([], [], None, None, lambda text: None)
        bench.cells = cells
        bench.compare_outcomes(type("Named", (), {"name": "work"}))
        document = {"workloads": bench.results()["workloads"]}
        self.assertEqual(list(report.failures(document)),
                         ["work, other: the result is not what native has"])
        self.assertNotIn("ratio", cells["work"]["other"])

    def test_ratios_are_taken_within_a_repetition(self):
        row = {"native": {"seconds": [1.0, 10.0, 1.0]}, "other": {"seconds": [2.0, 20.0, 3.0]}}
        measure.summarise(row)
        self.assertEqual(row["other"]["ratio"], 2.0)

    def test_messages_of_all_mounts_are_summed(self):
        status = {"mounts": [{"operations": {"LOOKUP": 2}},
                             {"operations": [{"operation": "LOOKUP", "count": 3}]}]}
        self.assertEqual(targets.operations_in(status), {"LOOKUP": 5})

    def test_a_hanging_workload_is_given_up(self):
        outcome = measure.isolated(signal.pause, timeout=0.2)
        self.assertIn("no answer", outcome["error"])


if __name__ == "__main__":
    unittest.main()
