#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole runs of chevron-tune on a measuring program whose times are known: what they write, and what a kill costs them."""

import collections
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TUNE = HERE.parents[1] / "bench" / "tune"
sys.path[:0] = [str(TUNE), str(HERE)]
import fake_perf  # noqa: E402
from policies import Grid, Policy  # noqa: E402

ON_HOST = ["--transport", "host_shared_memory", "--ranks", "2,3", "--elements", "float,bfloat16", "--from", "1K", "--to", "4M"]
ON_DEVICES = ["--transport", "cuda_peer", "--devices", "0,1", "--ranks", "2", "--elements", "bfloat16", "--from", "1K", "--to", "16M"]


class Runs(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.log = self.folder / "log"
        self.addCleanup(self._folder.cleanup)

    def tune(self, *arguments: str, **fake: object) -> subprocess.CompletedProcess:
        environment = {**os.environ, "FAKE_LOG": str(self.log), **{f"FAKE_{name.upper()}": str(value) for name, value in fake.items()}}
        program = f"{sys.executable} {HERE / 'fake_perf.py'}"
        command = [sys.executable, str(TUNE), "--program", program, "--budget", "4s", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=self.folder, timeout=500)

    def heats(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def test_a_killed_run_goes_on_where_it_ended(self):
        whole = self.tune(*ON_HOST, "-o", "whole.hpp")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        of_whole = collections.Counter(self.heats())
        self.log.unlink()
        journal = self.folder / "table.hpp.journal"
        for kill in (5, 30):
            killed = self.tune(*ON_HOST, "--name", "Whole", "-o", "table.hpp", kill=kill)
            self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
            self.assertFalse((self.folder / "table.hpp").exists())
            journal.write_bytes(journal.read_bytes()[:-7])  # the end of a line may be lost
        rest = self.tune(*ON_HOST, "--name", "Whole", "-o", "table.hpp")
        self.assertEqual(rest.returncode, 0, rest.stderr)
        self.assertIn("going on with", rest.stderr)
        self.assertEqual((self.folder / "table.hpp").read_text(), (self.folder / "whole.hpp").read_text())
        again = collections.Counter(self.heats()) - of_whole
        self.assertLessEqual(again.total(), 4, again)  # what was under way, and what was cut off, twice
        self.assertFalse(of_whole - collections.Counter(self.heats()))

        self.log.unlink()
        done = self.tune(*ON_HOST, "--name", "Whole", "-o", "table.hpp")
        self.assertEqual((done.returncode, self.heats()), (0, []))

    def test_a_journal_of_another_run_is_refused(self):
        self.assertEqual(self.tune(*ON_DEVICES, "-o", "table.hpp").returncode, 0)
        other = [*ON_DEVICES[:-1], "1M"]
        refused = self.tune(*other, "-o", "table.hpp")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("other last", refused.stderr)
        self.assertEqual(self.tune(*other, "-o", "table.hpp", "--restart").returncode, 0)

    def test_a_policy_that_fails_is_left_out(self):
        for fault in ("fail", "wrong"):
            with self.subTest(fault=fault):
                table = self.folder / f"{fault}.hpp"
                ran = self.tune(*ON_HOST, "-o", table, **{fault: "reduce_scatter_all_gather_zero_copy"})
                self.assertEqual(ran.returncode, 1, ran.stderr)
                self.assertIn("it was told to fail" if fault == "fail" else "3 elements are wrong", ran.stderr)
                self.assertNotIn("zero_copy", table.read_text())

    def test_a_program_that_is_not_there_is_one_sentence(self):
        ran = self.tune(*ON_HOST, "-o", "table.hpp", "--program", "/no/such/program")
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(ran.stderr.splitlines()[-1], "chevron-tune: can't start /no/such/program: No such file or directory")

    def test_without_a_device_the_run_is_a_skip(self):
        program = f"{sys.executable} -c 'print(\"skipped, there is no GPU here\"); exit(77)'"
        ran = self.tune(*ON_DEVICES, "-o", "table.hpp", "--program", program)
        self.assertEqual(ran.returncode, 77, ran.stderr)
        self.assertIn("there is no GPU here", ran.stdout)

    def choices(self, table: pathlib.Path, ranks: int, element: str, sizes: list[int], in_windows: bool) -> list[Policy]:
        """What the header says, read without a compiler: header_test.py has compilers read it."""
        import header_reader

        return [header_reader.choose(table, ranks, element, size, in_windows) for size in sizes]

    def test_the_table_is_near_the_best_at_sizes_between_the_measured_ones_too(self):
        """The formula tells the truth, so everything can be tried."""
        for name, arguments, grid in (
            ("host", [*ON_HOST, "--non-temporal"], Grid(False)),
            ("device", ON_DEVICES, Grid(True)),
            ("one_device", [*ON_DEVICES, "--devices", "0", "--ranks", "4"], Grid(True)),
        ):
            with self.subTest(name):
                table = self.folder / f"{name}.hpp"
                ran = self.tune(*arguments, "-o", table)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                contexts = [(2, "float"), (3, "bfloat16")] if name == "host" else [(4 if "one" in name else 2, "bfloat16")]
                sizes = [round(1024 * 2 ** (step / 4)) for step in range(4 * 12 + 1)]
                for ranks, element in contexts:
                    for in_windows in (True, False) if name == "host" else (True,):
                        for size, chosen in zip(sizes, self.choices(table, ranks, element, sizes, in_windows)):
                            able = [one for one in grid.everything() if in_windows or not one.needs_windows]
                            able = [one for one in able if one.lanes <= fake_perf.MOST_LANES]
                            best = min(self.time(ranks, element, grid.on_device, size, one) for one in able)
                            ratio = self.time(ranks, element, grid.on_device, size, chosen) / best
                            self.assertLess(ratio, 1.08, f"{ranks} {element} {size} {in_windows} {chosen}")

    @staticmethod
    def time(ranks: int, element: str, on_device: bool, size: int, policy: Policy) -> float:
        words = dict(word.split("=") for word in policy.words().split())
        return fake_perf.true_time(ranks, element, on_device, size, words)


if __name__ == "__main__":
    unittest.main()
