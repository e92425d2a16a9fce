# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies, and the grids of them that are tried."""

from __future__ import annotations

import dataclasses
import itertools
import math

ALGORITHMS = (
    "one_shot_push",
    "one_shot_pull",
    "two_shot_push",
    "reduce_scatter_all_gather",
    "reduce_scatter_all_gather_zero_copy",
    "reduce_scatter_all_gather_push",
)
ON_WINDOWS = ("one_shot_pull", "reduce_scatter_all_gather_zero_copy", "reduce_scatter_all_gather_push")

# What chevron-perf calls an element, its ElementKind, its size in bytes, and its type in a program for hosts.
ELEMENTS = {
    "float": ("float32", 4, "float"),
    "double": ("float64", 8, "double"),
    "half": ("float16", 2, "chevron::half"),
    "bfloat16": ("bfloat16", 2, "chevron::bfloat16"),
    "float8_e4m3": ("float8_e4m3", 1, "chevron::float8_e4m3"),
    "float8_e5m2": ("float8_e5m2", 1, "chevron::float8_e5m2"),
    "int8": ("int8", 1, "std::int8_t"),
    "uint8": ("uint8", 1, "std::uint8_t"),
    "int32": ("int32", 4, "std::int32_t"),
    "uint32": ("uint32", 4, "std::uint32_t"),
    "int64": ("int64", 8, "std::int64_t"),
    "uint64": ("uint64", 8, "std::uint64_t"),
}
MOST_RANKS = 32


@dataclasses.dataclass(frozen=True, order=True)
class Policy:
    """An algorithm and how it runs. On a host only `stores` means something of the rest, on a device all else."""

    algorithm: str
    stores: str = "temporal"
    lanes: int = 0
    threads: int = 512
    packs: int = 0
    ordering: str = "relaxed_arrival"
    let_go: str = "at_once"

    @property
    def needs_windows(self) -> bool:
        return self.algorithm in ON_WINDOWS

    def words(self) -> str:
        """As the measuring programs read it."""
        return " ".join(f"{key}={value}" for key, value in dataclasses.asdict(self).items())

    @staticmethod
    def of_words(text: str) -> Policy:
        values = dict(word.split("=") for word in text.split())
        numbers = {key: int(values[key]) for key in ("lanes", "threads", "packs") if key in values}
        return Policy(**{**values, **numbers})

    def text(self, on_device: bool) -> str:
        if not on_device:
            return self.algorithm if self.stores == "temporal" else f"{self.algorithm}/{self.stores}"
        packs = f" packs={self.packs}" if self.packs else ""
        return f"{self.algorithm} {self.lanes}x{self.threads} {self.ordering} {self.let_go}{packs}"


@dataclasses.dataclass(frozen=True)
class Grid:
    """The values that are tried. The first of each is where the search begins."""

    on_device: bool
    algorithms: tuple[str, ...] = ALGORITHMS
    stores: tuple[str, ...] = ("temporal", "non_temporal")
    lanes: tuple[int, ...] = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 132)
    threads: tuple[int, ...] = (512, 256, 128)
    packs: tuple[int, ...] = (0,)
    orderings: tuple[str, ...] = ("relaxed_arrival",)
    let_go: tuple[str, ...] = ("at_once", "when_sent", "when_met", "never")

    def packs_of(self, algorithm: str) -> tuple[int, ...]:
        return self.packs if algorithm in ON_WINDOWS else (0,)

    def coarse(self) -> list[Policy]:
        """What is tried everywhere, in an order that makes any beginning of it a fair sample."""
        if not self.on_device:
            return [
                Policy(algorithm, stores=stores)
                for stores in self.stores
                for algorithm in self.algorithms
                if stores == "temporal" or algorithm in ON_WINDOWS
            ]
        lanes = spread(sorted(self.lanes))
        return [
            Policy(algorithm, lanes=lane, threads=threads, packs=self.packs_of(algorithm)[0],
                   ordering=self.orderings[0], let_go=self.let_go[0])
            for threads in self.threads
            for lane in lanes
            for algorithm in self.algorithms
        ]  # fmt: skip

    def everything(self) -> list[Policy]:
        if not self.on_device:
            return self.coarse()
        return [
            Policy(algorithm, "temporal", lanes, threads, packs, ordering, let_go)
            for algorithm in self.algorithms
            for lanes, threads, packs, ordering, let_go in itertools.product(
                self.lanes, self.threads, self.packs_of(algorithm), self.orderings, self.let_go
            )
        ]

    def neighbours(self, policy: Policy) -> list[Policy]:
        """The policies that differ from one in a single thing, in lanes by one step."""
        if not self.on_device:
            return []
        found = []
        for field, values in (
            ("let_go", self.let_go),
            ("packs", self.packs_of(policy.algorithm)),
            ("ordering", self.orderings),
            ("threads", self.threads),
            ("lanes", next_to(policy.lanes, sorted(self.lanes))),
        ):
            found += [dataclasses.replace(policy, **{field: value}) for value in values if value != getattr(policy, field)]
        return found


def next_to(value: int, values: list[int]) -> list[int]:
    below = [other for other in values if other < value]
    above = [other for other in values if other > value]
    return below[-1:] + above[:1]


def spread(values: list[int]) -> list[int]:
    """The ends first, then what lies in the middle of the largest gaps."""
    order, gaps = [], [(0, len(values) - 1)]
    if values:
        order.append(len(values) - 1)
    if len(values) > 1:
        order.append(0)
    while gaps:
        low, high = gaps.pop(0)
        if high - low < 2:
            continue
        middle = (low + high) // 2
        order.append(middle)
        gaps += [(low, middle), (middle, high)]
    return [values[place] for place in order]


def distance(one: Policy, other: Policy) -> float:
    """How far two policies are from each other; what is near the best of a size is tried first at the next."""
    if one.algorithm != other.algorithm:
        return math.inf
    far = abs(math.log2(max(one.lanes, 1)) - math.log2(max(other.lanes, 1)))
    far += 0.5 * abs(math.log2(one.threads) - math.log2(other.threads))
    return far + sum(getattr(one, field) != getattr(other, field) for field in ("stores", "packs", "ordering", "let_go"))


def by_hope(policies: list[Policy], hints: list[Policy]) -> list[Policy]:
    """All of the policies: in turns the one nearest to a hint, and the next in their own order."""
    near = sorted(policies, key=lambda one: min((distance(one, hint) for hint in hints), default=math.inf)) if hints else []
    order: dict[Policy, None] = {}
    for hopeful, fair in itertools.zip_longest(near, policies):
        for one in (hopeful, fair):
            if one is not None:
                order.setdefault(one)
    return list(order)
