#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From figures to rows: what must hold for any figures, checked against answers that are found by trying everything.

    solve_test.py [SEED]
"""

import itertools
import math
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "tune"))
import measure  # noqa: E402
import solve  # noqa: E402
from policies import ELEMENTS, Grid, Policy, by_hope, spread  # noqa: E402

SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else random.randrange(1 << 32)
CASES = 100
SHARE = 0.02
TOLERANCE = solve.Tolerance(SHARE)


def some_figures(random_: random.Random, sizes: list[int], policies: list[Policy]) -> dict:
    """Lines with a latency and a slope each, some of which are nearly the same, and some noise; a few policies are missing
    here and there."""
    shape = {policy: (random_.uniform(1, 4), random_.uniform(1, 5) / 1e4) for policy in policies}
    if random_.random() < 0.5:
        shape = {policy: random_.choice([own, shape[policies[-1]]]) for policy, own in shape.items()}
    noise = random_.choice([0.002, 0.01, 0.05])
    figures = {}
    for size in sizes:
        times = {policy: (latency + slope * size) * random_.uniform(1 - noise, 1 + noise) for policy, (latency, slope) in shape.items()}
        for policy in policies:
            if random_.random() < 0.15 and any(not one.needs_windows for one in times if one != policy):
                times.pop(policy)
        figures[size] = times
    return figures


def some_contexts(random_: random.Random) -> dict:
    ranks = random_.sample([2, 3, 4, 5, 8], random_.randint(1, 3))
    elements = random_.sample(["float", "bfloat16", "int8"], random_.randint(1, 2))
    algorithms = random_.sample(Grid(False).coarse(), random_.randint(3, 7))
    if all(one.needs_windows for one in algorithms):
        algorithms.append(Policy("one_shot_push"))
    contexts = {}
    for context in itertools.product(ranks, elements):
        sizes = sorted({64 << random_.randrange(16) for _ in range(random_.randint(1, 9))} | {random_.randrange(64, 1 << 20)})
        contexts[context] = some_figures(random_, sizes, algorithms)
    return contexts


def first_match(rows: list[solve.Row], ranks: int, kind: str, size: int, in_windows: bool):
    """The library's rule once more, in other words."""
    for row in rows:
        if row.in_windows_only and not in_windows:
            continue
        end = math.inf if row.end is None else row.end
        if row.ranks[0] <= ranks <= row.ranks[1] and row.begin <= size < end and (not row.elements or kind in row.elements):
            return row.policy
    return None


class Rows(unittest.TestCase):
    def each_case(self):
        for case in range(CASES):
            with self.subTest(seed=SEED, case=case):
                random_ = random.Random(f"{SEED} {case}")
                figures = some_contexts(random_)
                elsewhere = random_.random() < 0.5
                neighbours = frozenset(random_.sample(["ranks", "elements"], random_.randint(0, 2)))
                plans = solve.plans(figures, TOLERANCE, elsewhere, "ranks" in neighbours)
                yield random_, figures, elsewhere, neighbours, solve.rows_of(plans, figures, elsewhere, neighbours)

    def sizes_of(self, random_, rows):
        ends = [end for row in rows for end in (row.begin, row.end) if end]
        around = [size for end in ends for size in (end - 1, end)]
        return around + [0, 1, 1 << 40] + [round(2 ** random_.uniform(0, 22)) for _ in range(10)]

    def test_the_table_is_as_fast_as_promised_at_every_measured_size(self):
        for _, figures, elsewhere, _, rows in self.each_case():
            for in_windows in {True, not elsewhere}:
                worst = 1.0
                for (ranks, element), sizes in figures.items():
                    for size, times in sizes.items():
                        chosen = first_match(rows, ranks, ELEMENTS[element][0], size, in_windows)
                        self.assertIn(chosen, times)
                        able = [time for policy, time in times.items() if in_windows or not policy.needs_windows]
                        worst = max(worst, times[chosen] / min(able))
                self.assertLessEqual(worst, 1 + SHARE + 1e-9)
                self.assertAlmostEqual(worst, solve.worst_ratio(rows, figures, in_windows)[0])

    def test_everything_reaches_a_row_that_can_run(self):
        for random_, figures, _, _, rows in self.each_case():
            for ranks, (kind, _, _) in itertools.product((1, 2, 3, 4, 5, 6, 7, 8, 9, 32), ELEMENTS.values()):
                for size in self.sizes_of(random_, rows)[-24:]:
                    self.assertIsNotNone(first_match(rows, ranks, kind, size, True))
                    self.assertFalse(first_match(rows, ranks, kind, size, False).needs_windows)
            for row in rows:
                self.assertTrue(row.in_windows_only or not row.policy.needs_windows)
                self.assertTrue(row.end is None or row.begin < row.end)

    def test_what_needs_no_windows_is_taken_for_all_buffers(self):
        """Else a call would have to ask where everybody's buffers lie, which was not measured."""
        for random_, figures, elsewhere, _, rows in self.each_case():
            if not elsewhere:
                continue
            for context in figures:
                for size in [*figures[context], *self.sizes_of(random_, rows)]:
                    chosen = first_match(rows, context[0], ELEMENTS[context[1]][0], size, True)
                    if not chosen.needs_windows:
                        self.assertEqual(chosen, first_match(rows, context[0], ELEMENTS[context[1]][0], size, False))

    def test_no_row_is_for_nothing(self):
        """The library refuses a table with a row all of whose calls are taken by rows before it."""
        for random_, _, _, _, rows in self.each_case():
            reached = set()
            borders = {0} | {end for row in rows for end in (row.begin, row.end) if end}
            kinds = [kind for kind, _, _ in ELEMENTS.values()] + ["user"]
            for ranks, kind, size, in_windows in itertools.product(range(1, 33), kinds, borders, (True, False)):
                place = next(i for i, row in enumerate(rows) if row.matches(ranks, kind, size, in_windows))
                reached.add(place)
            self.assertEqual(reached, set(range(len(rows))))

    def test_the_last_row_is_for_everything(self):
        for _, _, _, _, rows in self.each_case():
            last = rows[-1]
            limits = (last.ranks, last.begin, last.end, last.elements, last.in_windows_only)
            self.assertEqual(limits, ((1, 32), 0, None, None, False))

    def test_contexts_share_rows_only_where_that_saves_some(self):
        for _, figures, elsewhere, neighbours, rows in self.each_case():
            alone = sum(solve.plan_for([one], figures, TOLERANCE, elsewhere).row_count() for one in figures)
            self.assertLessEqual(len(rows), alone + 1)

    def test_what_was_not_measured_is_taken_with_its_neighbours_if_asked(self):
        for _, figures, _, neighbours, rows in self.each_case():
            measured_ranks = sorted({ranks for ranks, _ in figures})
            measured = {ELEMENTS[element][0] for _, element in figures}
            for row in rows[:-1]:
                covered = set(range(row.ranks[0], row.ranks[1] + 1))
                if "ranks" not in neighbours:
                    self.assertLessEqual(covered, set(measured_ranks))
                if "elements" not in neighbours:
                    self.assertLessEqual(row.elements, measured)
            if neighbours == {"ranks", "elements"}:
                for ranks in range(1, 33):
                    nearest = max([one for one in measured_ranks if one <= ranks], default=measured_ranks[0])
                    kind = next(iter(measured))
                    self.assertEqual(first_match(rows, ranks, kind, 4096, True), first_match(rows, nearest, kind, 4096, True))


class AllBuffers(unittest.TestCase):
    """One list of rows for buffers in windows and for others."""

    context = (2, "float")
    windowed, x, z = Policy("one_shot_pull"), Policy("one_shot_push"), Policy("two_shot_push")

    def rows(self, times: dict) -> tuple[list[solve.Row], dict]:
        figures = {self.context: times}
        return solve.rows_of(solve.plans(figures, TOLERANCE, elsewhere=True), figures, elsewhere=True), figures

    def test_a_row_for_others_is_no_compromise_for_buffers_in_windows(self):
        rows, figures = self.rows({
            64: {self.windowed: 1.0, self.x: 1.019, self.z: 1.0386},
            128: {self.windowed: 2.0, self.x: 1.0, self.z: 1.019},
            256: {self.windowed: 1.0, self.x: 9.0, self.z: 5.0},
        })  # fmt: skip
        self.assertLessEqual(solve.worst_ratio(rows, figures, True)[0], 1 + SHARE)
        self.assertEqual(first_match(rows, 2, "float32", 64, True), self.x)

    def test_what_needs_no_windows_ends_for_all_buffers_where_it_ends_in_windows(self):
        rows, _ = self.rows({
            1024: {self.windowed: 1.2, self.x: 1.0, self.z: 1.9},
            4096: {self.windowed: 1.0, self.x: 1.9, self.z: 1.8},
        })  # fmt: skip
        ends = {row.policy: (row.begin, row.end) for row in rows[:3]}
        self.assertEqual(ends[self.x][1], ends[self.windowed][0])
        self.assertEqual(ends[self.x][1], ends[self.z][0])


class Segments(unittest.TestCase):
    @staticmethod
    def segments(*points: tuple[int, dict], tolerance: solve.Tolerance = TOLERANCE):
        return solve.segments_of([solve.point(size, ratios, tolerance) for size, ratios in points])

    def test_no_fewer_segments_would_do(self):
        for case in range(CASES):
            with self.subTest(seed=SEED, case=case):
                random_ = random.Random(f"{SEED} segments {case}")
                policies = Grid(False).coarse()[:4]
                sizes = [64 << i for i in range(random_.randint(1, 7))]
                figures = some_figures(random_, sizes, policies)
                points = [solve.point(size, solve.ratios(times), TOLERANCE) for size, times in figures.items()]
                found = solve.segments_of(points)
                fewest = min(
                    1 + sum(a != b for a, b in zip(choice, choice[1:]))
                    for choice in itertools.product(policies, repeat=len(sizes))
                    if all(at.ratios.get(one, math.inf) <= 1 + SHARE for one, at in zip(choice, points))
                )
                self.assertEqual(len(found), fewest)

    def test_of_as_few_segments_the_fastest(self):
        one, other = Grid(False).coarse()[:2]
        points = [(64, {one: 1.0, other: 1.019}), (128, {one: 1.0, other: 1.019}), (256, {one: 1.0, other: 1.0})]
        self.assertEqual([segment.policy for segment in self.segments(*points)], [one])

    def test_a_border_of_segments_is_where_both_are_best(self):
        one, other = Grid(False).coarse()[:2]
        for middle, ends in (({one: 1.0, other: 1.019}, (128, 256)), ({one: 1.019, other: 1.0}, (64, 128))):
            first, second = self.segments((64, {one: 1.0}), (128, middle), (256, {other: 1.0}))
            self.assertEqual((first.last, second.first), ends)

    def test_nothing_suits_two_points_of_one_size_that_have_nothing_in_common(self):
        one, other = Grid(False).coarse()[:2]
        self.assertIsNone(self.segments((64, {one: 1.0}), (64, {other: 1.0})))

    def test_what_may_be_chance_needs_no_row_of_its_own_up_to_the_limit(self):
        one, other = Grid(False).coarse()[:2]
        points = [(64, {one: 1.0}), (128, {one: 1.04, other: 1.0}), (256, {one: 1.0, other: 1.3})]
        for doubt, limit, rows in ((0.03, 0.05, 1), (0.01, 0.05, 3), (0.03, 0.035, 3), (0.5, 0.05, 1), (0.03, None, 3)):
            tolerance = solve.Tolerance(SHARE, limit, {(0, ""): {128: {one: doubt}}})
            self.assertEqual(len(self.segments(*points, tolerance=tolerance)), rows, (doubt, limit))

    def test_borders_lie_where_the_times_cross(self):
        one, other = Grid(False).coarse()[:2]
        for case in range(CASES):
            random_ = random.Random(f"{SEED} border {case}")
            with self.subTest(seed=SEED, case=case):
                cross = 2 ** random_.uniform(10, 20)
                below, above = round(cross / random_.uniform(1.05, 2)), round(cross * random_.uniform(1.05, 2))
                figures = {size: {one: size / cross, other: 1.0} for size in (below, above)}
                border = solve.crossing(below, above, one, other, [figures])
                self.assertTrue(below < border <= above)
                self.assertLess(abs(math.log(border / cross)), math.log(1.1))
                digits = f"{border:b}".strip("0")
                self.assertLessEqual(len(digits), 6)

    def test_a_border_with_nothing_known_is_still_between_the_sizes(self):
        one, other = Grid(False).coarse()[:2]
        self.assertEqual(solve.crossing(64, 65, one, other, [{}]), 65)
        self.assertTrue(1000 < solve.crossing(1000, 4000, one, other, [{}]) <= 4000)


class Times(unittest.TestCase):
    """What heats of a machine that is faster at some times than at others say."""

    def test_only_ratios_within_a_heat_count(self):
        one, other, third = Grid(False).coarse()[:3]
        # The second heat is three times as slow as the others; the second policy missed the third, and ran in a fast one alone.
        timings = {
            one: measure.Timing([10, 30, 10], {1: 10.0, 2: 30.0, 3: 10.0}),
            other: measure.Timing([11, 33], {1: 11.0, 2: 33.0}),
            third: measure.Timing([27], {2: 27.0}),
        }
        times = measure.side_by_side(timings)
        self.assertEqual(times[one], 10.0)
        self.assertAlmostEqual(times[other], 11.0)
        self.assertAlmostEqual(times[third], 9.0)

    def test_doubt_falls_with_the_number_of_heats(self):
        few, many = (measure.doubt_of([1.0, 1.1] * times) for times in (2, 50))
        self.assertTrue(0 < many < few < 0.1)
        self.assertEqual(measure.doubt_of([1.0] * 5), 0.0)
        self.assertGreater(measure.doubt_of([1.0]), 0.0)


class Grids(unittest.TestCase):
    def test_a_beginning_of_the_coarse_grid_has_everything_in_it(self):
        begin = Grid(True).coarse()[:10]
        self.assertEqual(len({policy.algorithm for policy in begin}), 6)
        self.assertEqual({policy.lanes for policy in begin}, {1, 132})

    def test_the_order_loses_nothing(self):
        self.assertEqual(sorted(spread(list(range(13)))), list(range(13)))
        coarse = Grid(True).coarse()
        self.assertEqual(set(by_hope(coarse, coarse[40:42])), set(coarse))
        self.assertEqual(by_hope(coarse, coarse[40:42])[0], coarse[40])

    def test_neighbours_differ_in_one_thing(self):
        grid = Grid(True, packs=(0, 1, 2, 4))
        pull = Policy("one_shot_pull", lanes=8)
        self.assertEqual({one.lanes for one in grid.neighbours(pull)}, {4, 8, 12})
        self.assertEqual(len(grid.neighbours(pull)), 3 + 3 + 0 + 2 + 2)
        self.assertTrue(all(one.packs == 0 for one in grid.neighbours(Policy("one_shot_push", lanes=8))))
        self.assertEqual(Policy.of_words(pull.words()), pull)


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()
