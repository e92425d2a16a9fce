# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which policies are measured where, within a budget.

Time is what the measuring programs say they took, and comes from the journal where a heat was run before: so a run that
was killed takes the same decisions again and goes on where it ended.

For each rank count and element:
1. explore: at every other size the whole coarse grid, few batches of each; what is far off is timed once. What fell behind
   at two smaller sizes is left out. With little time, what is like the best of the last size comes first.
2. halve: the better half again with more batches, then the better half of that.
3. vary: the best few, with each thing about them changed in turn.
4. finals: at every size, what was among the best there or at sizes next to it, with care.
5. borders: where the table changes its policy, at sizes in between.
6. confirm: what the table takes beside its nearest rivals, until the time is up.
7. check: whether the table's policies give the right results. Who does not is out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import solve
from measure import Measurements
from policies import Grid, Policy, by_hope
from solve import Context

EXPLORED, HALVED, FINAL = 0, 1, 2  # levels of care
CHUNK = 10  # policies in a heat: enough to compare, few enough that graphs of all fit
FAR_OFF = 1.6


@dataclasses.dataclass(frozen=True)
class Sizes:
    first: int
    last: int
    factor: int = 2

    def all(self) -> list[int]:
        sizes = [self.first]
        while sizes[-1] * self.factor <= self.last:
            sizes.append(sizes[-1] * self.factor)
        return sizes if sizes[-1] == self.last else [*sizes, self.last]

    def coarse(self) -> list[int]:
        sizes = self.all()
        return sizes[::2] if len(sizes) % 2 == 1 else [*sizes[::2], sizes[-1]]


class Clock:
    """What is left of a part of the budget."""

    def __init__(self, measurements: Measurements, seconds: float):
        self._measurements, self._end = measurements, measurements.seconds + seconds

    @property
    def left(self) -> float:
        return self._end - self._measurements.seconds


@dataclasses.dataclass
class Search:
    measurements: Measurements
    grid: Grid
    sizes: Sizes
    tolerance: float
    limit: float
    say: Callable[[str], None] = lambda text: None
    keep: int = 3  # policies of a size that are worth a variation

    # -- the steps ----------------------------------------------------------------------------------------------------

    def run(self, context: Context, budget: float) -> None:
        clock = Clock(self.measurements, budget)
        coarse = self.sizes.coarse()
        self.explore(context, coarse, 0.45 * clock.left)
        self.vary(context, coarse, 0.35 * clock.left)
        self.finals(context, self.sizes.all())
        self.borders(context, Clock(self.measurements, 0.5 * clock.left))
        self.confirm(context, clock)
        self.check(context)

    def explore(self, context: Context, sizes: list[int], budget: float) -> None:
        """The coarse grid, and the better ones of it again."""
        clock = Clock(self.measurements, budget)
        cost = 0.0  # seconds for one policy
        behind: set[Policy] = set()
        for place, size in enumerate(sizes):
            if place >= 2:
                behind |= self.fall_behind(context, *sizes[place - 2 : place])
            hints = self.measurements.best(context, sizes[place - 1])[: self.keep] if place else []
            policies = by_hope([one for one in self.grid.coarse() if one not in behind], hints)
            share = 0.75 * clock.left / (len(sizes) - place)
            start = self.measurements.seconds
            tried = 0
            for policy_chunk in self.chunks(context, size, policies):
                # One of each algorithm at least, however little time there is.
                spent = self.measurements.seconds - start
                if tried >= len(self.grid.algorithms) and spent + cost * len(policy_chunk) > share:
                    break
                what = f"{solve.text_of_size(size)}: {tried} of {len(policies)} policies"
                self.say(f"{self.name(context)}, exploring {what}")
                best = self.measurements.best(context, size)[:1]  # runs along, so that who is far off is known at once
                self.heat(context, size, best + policy_chunk, 2, EXPLORED, share=4)
                tried += len(policy_chunk)
                cost = (self.measurements.seconds - start) / tried
            self.halve(context, size, 0.25 * clock.left / (len(sizes) - place))

    def halve(self, context: Context, size: int, budget: float) -> None:
        clock = Clock(self.measurements, budget)
        for most, rounds in ((4 * self.keep, 3), (2 * self.keep, 5)):
            best = self.measurements.best(context, size)
            close = [one for one in best if self.measurements.ratio(context, size, one) <= FAR_OFF][:most]
            if clock.left > 0 and len(close) > 1:
                self.heat(context, size, close, rounds, HALVED, share=2)

    def vary(self, context: Context, sizes: list[int], budget: float) -> None:
        """From the best few of each size to what differs from them in one thing; again where that found a better one."""
        clock = Clock(self.measurements, budget)
        tried: dict[int, set[Policy]] = {size: set() for size in sizes}
        again = set(sizes)
        for _ in range(4):
            for place, size in enumerate(sizes):
                if size not in again:
                    continue
                best = self.measurements.best(context, size)[: self.keep]
                new = [other for one in best for other in self.grid.neighbours(one)]
                new = [one for one in dict.fromkeys(new) if one not in tried[size]]
                share = clock.left / (len(sizes) - place)
                part = Clock(self.measurements, share)
                for policy_chunk in self.chunks(context, size, new):
                    if part.left <= 0:
                        break
                    self.say(f"{self.name(context)}, varying the best at {solve.text_of_size(size)}")
                    self.heat(context, size, best[:1] + policy_chunk, 3, HALVED, share=2)
                    tried[size].update(policy_chunk)
                if self.measurements.best(context, size)[:1] == best[:1]:
                    again.discard(size)
            if not again or clock.left <= 0:
                return

    def finalists(self, context: Context, size: int, sizes: list[int], most: int = 12) -> list[Policy]:
        """The best at a size and at those next to it, in the order of their ratios there."""
        place = sizes.index(size)
        found: dict[Policy, float] = {}
        for step in (0, -1, 1, -2, 2):
            if not 0 <= place + step < len(sizes):
                continue
            near = sizes[place + step]
            for one in self.measurements.best(context, near):
                ratio = self.measurements.ratio(context, near, one)
                if ratio > 1.25:
                    break
                found[one] = min(found.get(one, math.inf), ratio + 0.02 * abs(step))
            # What needs no windows is wanted too: for buffers that lie in none, and as a fallback.
            general = [one for one in self.measurements.best(context, near) if not one.needs_windows][:2]
            for rank, one in enumerate(general):
                found[one] = min(found.get(one, math.inf), 1.0 + 0.02 * abs(step) + 0.05 * rank)
        return sorted(found, key=lambda one: (found[one], one))[:most]

    def finals(self, context: Context, sizes: list[int]) -> None:
        for size in sizes:
            self.say(f"{self.name(context)}, finals at {solve.text_of_size(size)}")
            self.heat(context, size, self.finalists(context, size, sizes), self.rounds, FINAL)

    def borders(self, context: Context, clock: Clock) -> None:
        """Sizes in the middle of where the table changes its policy."""
        for _ in range(2):
            for below, above in self.changes(context):
                middle = solve.round_size(below, above, math.sqrt(below * above))
                if clock.left <= 0 or middle in (below, above) or above / below < 1.2:
                    continue
                self.say(f"{self.name(context)}, a border near {solve.text_of_size(middle)}")
                ends = [self.final_best(context, end) for end in (below, above)]
                both = [one for pair in zip(*ends) for one in pair] + ends[0] + ends[1]
                self.heat(context, middle, list(dict.fromkeys(both))[:10], self.rounds, FINAL)

    def changes(self, context: Context) -> list[tuple[int, int]]:
        """Neighbouring measured sizes between which the table changes its policy."""
        plan = self.plan(context)
        found = set()
        for segments in (plan.in_windows, plan.elsewhere) if plan else ():
            found |= {(one.last, other.first) for one, other in zip(segments, segments[1:])}
        return sorted(found)

    def confirm(self, context: Context, clock: Clock) -> None:
        """The table's choice and its rivals again, at all sizes in turn; what was ahead by luck falls back."""
        costs: dict[int, float] = {}  # seconds that a heat took last
        while clock.left > 0:
            start = self.measurements.seconds
            self.measurements.start_again(context, 0.1 * clock.left)
            for size in sorted(self.measurements.timings[context]):
                rivals = self.final_best(context, size)[:6]
                if not rivals or costs.get(size, 0.0) > clock.left:
                    continue  # what takes longer than there is time for would only make the run longer
                self.say(f"{self.name(context)}, confirming {solve.text_of_size(size)}")
                before = self.measurements.seconds
                self.heat(context, size, rivals, self.rounds, FINAL)
                costs[size] = self.measurements.seconds - before
            if self.measurements.seconds == start or self.settled(context):
                return

    def check(self, context: Context) -> None:
        """Every element of one call with each policy of the table, at the first and the last of its sizes."""
        checked: set[tuple[int, Policy]] = set()
        while plan := self.plan(context):
            ends = {(size, one.policy) for one in plan.in_windows + plan.elsewhere for size in (one.first, one.last)}
            if not ends - checked:
                return
            for size, policy in sorted(ends - checked):
                self.say(f"{self.name(context)}, checking results at {solve.text_of_size(size)}")
                self.measurements.heat(context, size, [policy], 1, level=EXPLORED, check=True)
            checked |= ends

    def settled(self, context: Context, heats: int = 12) -> bool:
        """Whether more heats would hardly change anything."""
        return all(
            len(timings[policy].heats) >= heats
            for size, timings in self.measurements.timings[context].items()
            for policy in self.final_best(context, size)[:2]
        )

    # -- pieces -------------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Of a heat with care. Few: many heats say more than long ones. On a host a round is three batches."""
        return 5 if self.grid.on_device else 2

    def heat(self, context: Context, size: int, policies: list[Policy], rounds: int, level: int, share: int = 1) -> None:
        """`share`: as one part in so many of the calls of a batch, where that is known beforehand."""
        calls = None
        if self.grid.on_device and share > 1:
            moved = size * context[0]
            calls = max((4 if moved >= 256 << 20 else 16 if moved >= 16 << 20 else 64 if moved >= 1 << 20 else 200) // share, 2)
        give_up = FAR_OFF if level < FINAL else None
        self.measurements.heat(context, size, policies, rounds, level=level, calls=calls, give_up=give_up)

    def chunks(self, context: Context, size: int, policies: list[Policy]):
        """Policies that can run, some at a time; asked for anew each time, because some turn out not to."""
        left = policies
        while left := self.measurements.alive(context, left):
            yield left[:CHUNK]
            left = left[CHUNK:]

    def fall_behind(self, context: Context, before: int, last: int) -> set[Policy]:
        """What lost more at the last size than at the one before, and much at both."""
        first, second = (
            solve.ratios({one: timing.median for one, timing in self.measurements.timings[context].get(size, {}).items()})
            for size in (before, last)
        )
        return {one for one in first.keys() & second.keys() if second[one] > first[one] > 2 and second[one] > 3}

    def final_best(self, context: Context, size: int) -> list[Policy]:
        """The fastest with care, those for all buffers among the first few where they are wanted."""
        times = self.measurements.figures_at(context, size, FINAL)
        order = sorted(times, key=lambda one: (times[one], one))
        if not self.elsewhere(context):
            return order
        general = [one for one in order if not one.needs_windows][:2]
        return list(dict.fromkeys([*order[:3], *general, *order[3:]]))

    def plan(self, context: Context) -> solve.Plan | None:
        """The rows as of now; None where nothing is left."""
        figures = self.measurements.figures(context, FINAL)
        return solve.plan_for([context], {context: figures}, self.allowance(context), self.elsewhere(context)) if figures else None

    def allowance(self, *contexts: Context) -> solve.Tolerance:
        """What a row may be slower than the best policy, with what may be chance in the figures so far. A third of the limit is
        left for what other runs will measure."""
        doubts = {context: self.measurements.doubts(context, FINAL) for context in contexts}
        return solve.Tolerance(self.tolerance, max(self.tolerance, 2 / 3 * self.limit), doubts)

    def elsewhere(self, context: Context) -> bool:
        """Whether there are buffers outside of windows."""
        return not self.measurements.greeting(context).get("every_pointer_is_in_a_window", False)

    @staticmethod
    def name(context: Context) -> str:
        return f"{context[0]} ranks, {context[1]}"
