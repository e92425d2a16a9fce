# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From measured times to rows: which policy for which sizes, in as few rows as the tolerance allows.

A `Figures` maps sizes in bytes to the times of policies in microseconds. A policy can only get a size at which it was
measured, so what is said of a table at the measured sizes is said of figures, not of guesses.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping

from policies import ELEMENTS, MOST_RANKS, Policy

Figures = Mapping[int, Mapping[Policy, float]]
Doubts = Mapping[Policy, float]
Context = tuple[int, str]  # rank count and element

UNLIMITED = None


@dataclasses.dataclass(frozen=True)
class Segment:
    """A policy for the measured sizes first..last, and for all sizes in [from, to)."""

    policy: Policy
    first: int
    last: int
    begin: int = 0
    end: int | None = UNLIMITED


@dataclasses.dataclass(frozen=True)
class Row:
    """What a row of a table says."""

    policy: Policy
    ranks: tuple[int, int] = (1, MOST_RANKS)
    begin: int = 0
    end: int | None = UNLIMITED
    elements: frozenset[str] | None = None  # kinds; None: all
    in_windows_only: bool = False
    score: str = ""

    def matches(self, ranks: int, kind: str, size_bytes: int, in_windows: bool) -> bool:
        return (
            self.ranks[0] <= ranks <= self.ranks[1]
            and (self.elements is None or kind in self.elements)
            and self.begin <= size_bytes
            and (self.end is UNLIMITED or size_bytes < self.end)
            and (in_windows or not self.in_windows_only)
        )


def choose(rows: Iterable[Row], ranks: int, kind: str, size_bytes: int, in_windows: bool) -> Policy | None:
    """As the library does: the first row that matches."""
    return next((row.policy for row in rows if row.matches(ranks, kind, size_bytes, in_windows)), None)


# -- one list of segments ---------------------------------------------------------------------------------------------


def ratios(times: Mapping[Policy, float], allowed: Callable[[Policy], bool] = lambda policy: True) -> dict[Policy, float]:
    """Each policy's time over that of the fastest."""
    there = {policy: time for policy, time in times.items() if allowed(policy)}
    best = min(there.values(), default=math.inf)
    return {policy: time / best for policy, time in there.items()}


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How much slower than the best a row may be, where that saves rows: `share` of its time, and beyond that what could be
    chance, up to `limit`. The doubts are shares of a policy's time, by context and size."""

    share: float
    limit: float | None = None
    doubts: Mapping[Context, Mapping[int, Doubts]] = dataclasses.field(default_factory=dict)

    def allows(self, context: Context, size: int, policy: Policy, ratio: float) -> bool:
        doubt = self.doubts.get(context, {}).get(size, {}).get(policy, 0.0)
        return ratio <= 1 + self.share or (self.limit is not None and ratio <= 1 + min(self.share + doubt, self.limit))


@dataclasses.dataclass(frozen=True)
class Point:
    """A size of one context: each policy's ratio to the best, and which of them are near enough to it for a row."""

    size: int
    ratios: Mapping[Policy, float]
    good: frozenset[Policy]


def point(size: int, ratios: Mapping[Policy, float], tolerance: Tolerance, context: Context = (0, "")) -> Point:
    return Point(size, ratios, frozenset(one for one, ratio in ratios.items() if tolerance.allows(context, size, one, ratio)))


def segments_of(points: list[Point]) -> list[Segment] | None:
    """The fewest segments whose policies are good at all of their points, and of these the fastest. Several points may be of
    one size, which then get one policy. None where no policy is good at all points of a size.

    Dynamic programming over the ends of segments; a segment's policy must suit all its points.
    """
    sizes = sorted({one.size for one in points})
    of_size = [[one for one in points if one.size == size] for size in sizes]
    # cost[i]: rows and their excess for the first i sizes, and the last segment's beginning and policy
    cost: list[tuple[int, float, int, Policy | None] | None] = [(0, 0.0, 0, None)] + [None] * len(sizes)
    for end in range(1, len(sizes) + 1):
        excess: dict[Policy, float] | None = None
        for begin in range(end - 1, -1, -1):
            here: dict[Policy, float] = {}
            for policy in frozenset.intersection(*(one.good for one in of_size[begin])):
                if excess is None or policy in excess:
                    more = sum(math.log(one.ratios[policy]) for one in of_size[begin])
                    here[policy] = more + (0.0 if excess is None else excess[policy])
            excess = here
            if not excess:
                break
            before = cost[begin]
            if before is None:
                continue
            policy, more = min(excess.items(), key=lambda item: (item[1], item[0]))
            found = (before[0] + 1, before[1] + more, begin, policy)
            best = cost[end]
            if best is None or found[:2] < best[:2]:
                cost[end] = found
    if cost[-1] is None:
        return None
    segments = []
    end = len(sizes)
    while end > 0:
        _, _, begin, policy = cost[end]
        segments.insert(0, Segment(policy, sizes[begin], sizes[end - 1]))
        end = begin
    return segments


def crossing(below: int, above: int, one: Policy, other: Policy, figures: list[Figures]) -> int:
    """Where in (below, above] the second policy becomes the faster one, by the times at both ends: a size with few digits."""

    def lead(size: int) -> float | None:
        """How much faster the first policy is, as a logarithm."""
        leads = [
            math.log(times[size][other] / times[size][one])
            for times in figures
            if size in times and one in times[size] and other in times[size]
        ]
        return sum(leads) / len(leads) if leads else None

    at_below, at_above = lead(below), lead(above)
    part = 0.5
    if at_below is not None and at_above is not None and at_below > 0 > at_above:
        part = at_below / (at_below - at_above)
    elif at_below is not None and at_below <= 0:
        part = 0.0
    elif at_above is not None and at_above >= 0:
        part = 1.0
    return round_size(below, above, below * (above / below) ** part)


def round_size(below: int, above: int, wanted: float) -> int:
    """The size in (below, above] with the fewest binary digits near the wanted one."""
    low, high = max(below + 1, math.ceil(wanted / 1.08)), min(above, math.floor(wanted * 1.08))
    if low > high:
        low = high = min(max(round(wanted), below + 1), above)
    unit = 1 << high.bit_length()
    while high // unit * unit < low:
        unit //= 2
    return high // unit * unit


def with_borders(segments: list[Segment], border: Callable[[Segment, Segment], int]) -> list[Segment]:
    """The segments with their ranges: from 0 on, without gaps, without an end."""
    done = []
    begin = 0
    for place, segment in enumerate(segments):
        end = border(segment, segments[place + 1]) if place + 1 < len(segments) else UNLIMITED
        done.append(dataclasses.replace(segment, begin=begin, end=end))
        begin = end
    return done


# -- the rows of some contexts ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the same rows serve: rank counts and elements, and their segments for buffers in windows and for others."""

    contexts: tuple[Context, ...]
    in_windows: tuple[Segment, ...]
    elsewhere: tuple[Segment, ...] = ()

    @property
    def ranks(self) -> tuple[int, int]:
        return min(rank for rank, _ in self.contexts), max(rank for rank, _ in self.contexts)

    @property
    def elements(self) -> frozenset[str]:
        return frozenset(element for _, element in self.contexts)

    def row_count(self) -> int:
        return sum(segment.policy.needs_windows for segment in self.in_windows) + len(self.general())

    def general(self) -> list[Segment]:
        """The segments that hold for all buffers. `elsewhere` has those of `in_windows` that need no windows in it."""
        return list(self.elsewhere) or [one for one in self.in_windows if not one.policy.needs_windows]


def plan_for(
    contexts: Iterable[Context], figures: Mapping[Context, Figures], tolerance: Tolerance, elsewhere: bool
) -> Plan | None:
    """One list of rows for all contexts, None where they are too different.

    A call whose algorithm needs no windows, at a size where another is taken for buffers outside of them, would have to ask
    all ranks where their buffers lie. So such an algorithm is taken for all buffers.
    """
    contexts = tuple(contexts)
    ours = [figures[context] for context in contexts]

    def points(allowed: Callable[[int, Policy], bool]) -> list[Point]:
        return [
            point(size, ratios(times, lambda policy: allowed(size, policy)), tolerance, context)
            for context, one in zip(contexts, ours)
            for size, times in one.items()
        ]

    borders: dict[tuple[int, int], int] = {}

    def border(one: Segment, other: Segment) -> int:
        key = (one.last, other.first)
        if key not in borders:
            borders[key] = crossing(*key, one.policy, other.policy, ours)
        return borders[key]

    found = segments_of(points(lambda size, policy: True))
    if not found:
        return None
    in_windows = with_borders(found, border)
    if not elsewhere:
        return Plan(contexts, tuple(in_windows))

    def general_at(size: int) -> Policy | None:
        policy = next(one.policy for one in in_windows if one.first <= size <= one.last)
        return None if policy.needs_windows else policy

    def allowed(size: int, policy: Policy) -> bool:
        only = general_at(size)
        return not policy.needs_windows and only in (None, policy)

    found = segments_of(points(allowed))
    return Plan(contexts, tuple(in_windows), tuple(with_borders(found, border))) if found else None


def adjoin(one: Plan, other: Plan, take_neighbours: bool, measured_ranks: list[int]) -> bool:
    """Whether one list of rows could serve both and nothing else."""
    ranks = sorted({rank for rank, _ in one.contexts + other.contexts})
    both = frozenset(one.contexts + other.contexts)
    whole = both == {(rank, element) for rank in ranks for element in one.elements | other.elements}
    if take_neighbours:
        return whole and [rank for rank in measured_ranks if ranks[0] <= rank <= ranks[-1]] == ranks
    return whole and ranks[-1] - ranks[0] + 1 == len(ranks)


def plans(figures: Mapping[Context, Figures], tolerance: Tolerance, elsewhere: bool, take_neighbours: bool = False) -> list[Plan]:
    """Rows for all contexts: those that can share rows within the tolerance do, as long as that makes rows fewer."""
    found = [plan_for([context], figures, tolerance, elsewhere) for context in sorted(figures)]
    if None in found:
        raise ValueError("a context has no figures")
    measured = sorted({rank for rank, _ in figures})
    while True:
        best = None
        for i, one in enumerate(found):
            for other in found[i + 1 :]:
                if not adjoin(one, other, take_neighbours, measured):
                    continue
                both = plan_for(sorted(one.contexts + other.contexts), figures, tolerance, elsewhere)
                if both is None:
                    continue
                fewer = one.row_count() + other.row_count() - both.row_count()
                if fewer > 0 and (best is None or fewer > best[0]):
                    best = (fewer, one, other, both)
        if best is None:
            return sorted(found, key=lambda plan: (plan.ranks, sorted(plan.elements)))
        _, one, other, both = best
        found = [plan for plan in found if plan not in (one, other)] + [both]


# -- rows -------------------------------------------------------------------------------------------------------------


def ranks_with_neighbours(plan: Plan, measured: list[int]) -> tuple[int, int]:
    """Rank counts in between go with the smaller one, those beyond the last with the last."""
    first, last = plan.ranks
    after = [rank for rank in measured if rank > last]
    return (1 if first == measured[0] else first), (after[0] - 1 if after else MOST_RANKS)


def elements_with_neighbours(elements: frozenset[str], measured: frozenset[str]) -> frozenset[str] | None:
    """The kinds of what was measured, and of what is nearest to it in size. None: all."""
    if elements == measured:
        return None

    def nearest(element: str) -> str:
        size = ELEMENTS[element][1]
        return min(sorted(measured), key=lambda other: (other != element, abs(math.log2(ELEMENTS[other][1] / size))))

    return frozenset(ELEMENTS[element][0] for element in ELEMENTS if nearest(element) in elements)


def text_of_time(microseconds: float) -> str:
    return f"{microseconds:.3g} us" if microseconds < 1000 else f"{microseconds / 1000:.3g} ms"


def text_of_size(size_bytes: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.4g} {name}"
    return f"{size_bytes} B"


def score_of(policy: Policy, sizes: Iterable[int], of: list[Figures], allowed: Callable[[Policy], bool]) -> str:
    """The measured times of a row, and how far they are from the best policy's."""
    sizes = sorted(sizes)
    timed = [(size, one[size][policy]) for size in sizes for one in of if policy in one.get(size, {})]
    if not timed:
        return "not measured"
    worst = max(ratios(one[size], allowed)[policy] for size in sizes for one in of if policy in one.get(size, {}))
    first, last = timed[0], timed[-1]
    times = f"{text_of_time(first[1])} at {text_of_size(first[0])}"
    if first[0] != last[0]:
        times += f" to {text_of_time(last[1])} at {text_of_size(last[0])}"
    return f"{times}, at most {worst:.3f} times the best policy"


def fallback_policy(figures: Mapping[Context, Figures]) -> Policy:
    """For what no row was measured for: the algorithm without limits, as it did best at the largest size."""
    name = "reduce_scatter_all_gather"
    for context in sorted(figures):
        for size in sorted(figures[context], reverse=True):
            there = {policy: time for policy, time in figures[context][size].items() if policy.algorithm == name}
            if there:
                return min(there, key=lambda policy: (there[policy], policy))
    return Policy(name)


def rows_of(
    all_plans: list[Plan], figures: Mapping[Context, Figures], elsewhere: bool, take_neighbours: frozenset[str] = frozenset()
) -> list[Row]:
    """All rows, the last one without limits. `take_neighbours` may have ranks and elements in it: then what was not
    measured is taken with what is next to it."""
    measured_ranks = sorted({rank for rank, _ in figures})
    measured_elements = frozenset(element for _, element in figures)
    rows = []
    for plan in all_plans:
        of = [figures[context] for context in plan.contexts]
        ranks = ranks_with_neighbours(plan, measured_ranks) if "ranks" in take_neighbours else plan.ranks
        elements: frozenset[str] | None = frozenset(ELEMENTS[element][0] for element in plan.elements)
        if "elements" in take_neighbours:
            elements = elements_with_neighbours(plan.elements, measured_elements)
        windowed = [(segment, True) for segment in plan.in_windows if segment.policy.needs_windows]
        sizes = sorted({size for one in of for size in one})
        for segment, in_windows_only in windowed + [(segment, False) for segment in plan.general()]:
            inside = [size for size in sizes if segment.first <= size <= segment.last]
            # A row for all buffers that goes on below rows for windows is no worse there than others that need none.
            in_windows = {
                size: any(one.first <= size <= one.last and one.policy == segment.policy for one in plan.in_windows)
                for size in inside
            }
            any_policy = in_windows_only or all(in_windows.values())
            allowed = (lambda policy: True) if any_policy else (lambda policy: not policy.needs_windows)
            rows.append(
                Row(
                    segment.policy, ranks, segment.begin, segment.end, elements, in_windows_only,
                    score_of(segment.policy, inside, of, allowed),
                )
            )  # fmt: skip
    if cover_everything(rows):
        # Then the last one can be for everything: other rows are before it, and one more behind it would be for nothing.
        rows[-1] = Row(rows[-1].policy, score=rows[-1].score)
    else:
        rows.append(Row(fallback_policy(figures), score="what no row above is for, not measured"))
    return rows


def cover_everything(rows: list[Row]) -> bool:
    """Whether buffers outside of windows reach a row whatever the rank count, the element (also one of the user's own) and
    the size."""
    if rows[-1].in_windows_only:
        return False
    for ranks in range(1, MOST_RANKS + 1):
        for kind in [*(kind for kind, _, _ in ELEMENTS.values()), "user"]:
            size = 0
            while size is not UNLIMITED:
                row = next((one for one in rows if one.matches(ranks, kind, size, False)), None)
                if row is None:
                    return False
                size = row.end
    return True


def worst_ratio(rows: list[Row], figures: Mapping[Context, Figures], in_windows: bool) -> tuple[float, Context | None, int]:
    """How far the table is from the best single policy at the measured sizes: the ratio, and where it is."""
    worst: tuple[float, Context | None, int] = (1.0, None, 0)
    for context, ours in figures.items():
        for size, times in ours.items():
            policy = choose(rows, context[0], ELEMENTS[context[1]][0], size, in_windows)
            ratio = ratios(times, lambda one: in_windows or not one.needs_windows).get(policy, math.inf)
            if ratio > worst[0]:
                worst = (ratio, context, size)
    return worst
