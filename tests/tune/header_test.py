#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Headers that chevron-tune writes compile, and chevron's selector chooses by them what was meant.

    header_test.py INCLUDE COMPILER...
"""

import dataclasses
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TUNE = HERE.parents[1] / "bench" / "tune"
sys.path[:0] = [str(TUNE), str(HERE)]
import header  # noqa: E402
import solve  # noqa: E402
import verify  # noqa: E402
from measure import Failure  # noqa: E402
from policies import ELEMENTS, Grid  # noqa: E402

INCLUDE = pathlib.Path(sys.argv[1])
COMPILERS = sys.argv[2:]
del sys.argv[1:]
SEED = random.randrange(1 << 32)
FLAGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wno-sign-conversion", "-Werror")


def rows_of_some_figures(random_: random.Random, contexts, grid: Grid, elsewhere: bool, neighbours=frozenset()) -> list[solve.Row]:
    policies = random_.sample(grid.everything(), min(8, len(grid.everything())))
    policies.append(next(one for one in grid.everything() if not one.needs_windows))
    figures = {}
    for context in contexts:
        shape = {policy: (random_.uniform(1, 9), random_.uniform(1, 9) / 1e4) for policy in policies}
        figures[context] = {
            size: {policy: latency + slope * size for policy, (latency, slope) in shape.items()}
            for size in (1 << power for power in range(8, 26, 2))
        }
    plans = solve.plans(figures, solve.Tolerance(0.02), elsewhere, "ranks" in neighbours)
    return solve.rows_of(plans, figures, elsewhere, neighbours)


def about(name: str, ranks, elements, namespace: str = "") -> header.About:
    return header.About(name, namespace, 'A "machine" \\ with quotes', "2000-01-01", "chevron-tune --of 1", ("A fact.",), (ranks, elements))


class Headers(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.addCleanup(self._folder.cleanup)
        self.library = header.Library.at(INCLUDE)

    def agree(self, name: str, rows: list[solve.Row], text: str, type_name: str, ranks, elements, cxx: str) -> None:
        path = self.folder / f"{name}.hpp"
        path.write_text(text)
        self.assertEqual(verify.type_in(path), type_name)
        ends = {end for row in rows for end in (row.begin, row.end) if end}
        sizes = sorted({size for end in ends for size in (end - 1, end)} | {0, 1, 1 << 40})
        questions = [
            verify.Question(count, element, size, in_windows)
            for count in ranks for element in elements for size in sizes for in_windows in (True, False)
        ]  # fmt: skip
        answers = verify.choices(path, type_name, INCLUDE, questions, cxx, FLAGS)
        self.assertGreater(len({policy.algorithm for policy in answers}), 1)
        for asked, answer in zip(questions, answers):
            meant = solve.choose(rows, asked.ranks, ELEMENTS[asked.element][0], asked.size_bytes, asked.in_windows)
            self.assertEqual(answer, meant, f"seed {SEED}: {asked}")

    def test_compilers_choose_what_was_meant(self):
        """One compiler gets a table for hosts, the next one for devices, so that each compiles little."""
        random_ = random.Random(SEED)
        for place, cxx in enumerate(COMPILERS):
            with self.subTest(cxx, seed=SEED):
                if place % 2 == 0:
                    ranks, elements = (2, 4), ("float", "bfloat16")
                    contexts = [(rank, element) for rank in ranks for element in elements]
                    rows = rows_of_some_figures(random_, contexts, Grid(False), True, frozenset({"ranks"}))
                    text = header.header(rows, about("MyTable", ranks, elements), False, self.library)
                    self.agree("my_table", rows, text, "MyTable", ranks, elements, cxx)
                else:
                    packs = (0, 1, 2, 4) if self.library.packs else (0,)
                    grid = Grid(True, packs=packs, orderings=("relaxed_arrival", "formal", "relaxed"))
                    contexts = [(2, "bfloat16"), (8, "bfloat16")]
                    rows = rows_of_some_figures(random_, contexts, grid, False, frozenset({"ranks", "elements"}))
                    text = header.header(rows, about("Theirs", (2, 8), ("bfloat16",), "ours::tables"), True, self.library)
                    self.agree("theirs", rows, text, "ours::tables::Theirs", (2, 3, 5, 8, 9), ("bfloat16", "int8"), cxx)

    def test_a_hole_does_not_compile(self):
        rows = rows_of_some_figures(random.Random(SEED), [(2, "float")], Grid(False), True)
        with_hole = [row if row.end is not None else dataclasses.replace(row, end=1 << 30) for row in rows]
        path = self.folder / "holes.hpp"
        path.write_text(header.header(with_hole, about("Holes", (2,), ("float",)), False, self.library))
        with self.assertRaisesRegex(Failure, "chevron: a selection table must have a row for every size"):
            verify.choices(path, "Holes", INCLUDE, [verify.Question(2, "float", 64, True)], COMPILERS[-1])

    def test_verifying_finds_a_bad_row(self):
        """With times that are known. The table is good below 64 KiB and bad above."""
        path = self.folder / "bad.hpp"
        path.write_text(BAD)
        program = f"{sys.executable} {HERE / 'fake_perf.py'}"
        common = [sys.executable, str(TUNE), "--program", program, "--transport", "host_threads", "--ranks", "2", "--elements", "float",
                  "--from", "1K", "--budget", "2s", "--quiet", "--include", str(INCLUDE), "--cxx", COMPILERS[0], "--verify", str(path)]  # fmt: skip
        for last, code in (("2K", 0), ("256K", 1)):
            ran = subprocess.run([*common, "--to", last], capture_output=True, text=True, env=os.environ, timeout=500)
            self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
            worst = ran.stdout.splitlines()[-1]
            self.assertRegex(worst, r"^worst: 1\.0\d\d times" if code == 0 else r"^worst: 2\.\d\d\d times .* 256 KiB")


    def test_lanes_that_there_is_no_room_for_are_cut_down(self):
        path = self.folder / "wide.hpp"
        path.write_text(BAD.replace("one_shot_push}", "one_shot_push, .cuda = {.lanes = 64, .threads = 128}}"))
        program = f"{sys.executable} {HERE / 'fake_perf.py'}"
        command = [sys.executable, str(TUNE), "--program", program, "--transport", "cuda_peer", "--elements", "float", "--from", "1K",
                   "--to", "1K", "--budget", "2s", "--quiet", "--include", str(INCLUDE), "--cxx", COMPILERS[0], "--verify", str(path)]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True, timeout=500)
        self.assertRegex(ran.stdout, r"one_shot_push 40x128 relaxed_arrival at_once", ran.stderr)


BAD = """
#include <chevron/select/table.hpp>
#include <array>
struct Bad {
  static constexpr auto rows() {
    using enum chevron::AllReduceAlgorithm;
    return std::array{chevron::Row{.policy = {.algorithm = one_shot_push}}};
  }
};
"""

if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()
