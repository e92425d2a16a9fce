# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a table is from the best single policy, by asking the compiler what the table chooses and timing that beside the
best of the whole grid."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import solve
from measure import Failure
from policies import ELEMENTS, Policy
from search import FINAL, Search
from solve import Context

# Prints what a selector chooses, a line for each question, in the words of Policy.words().
CHOOSER = """
#include "{header}"
#include <chevron/select/selector.hpp>
#include <cstdint>
#include <cstdio>
using Table = {type};
template <class T>
chevron::Policy choose(int ranks, std::size_t size_bytes, bool in_windows) {{
  using Selector = chevron::Selector<Table, chevron::RankCounts<{ranks}>, chevron::Elements<T>>;
  static_assert(Selector::total);
  return Selector::template choose<T>(ranks, size_bytes,
                                      in_windows ? chevron::WindowState::all : chevron::WindowState::none);
}}
template <class Geometry>
int packs_of(Geometry const& cuda) {{
  if constexpr (requires {{ cuda.packs; }}) return cuda.packs;
  return 0;
}}
int main() {{
  int ranks = 0;
  int element = 0;
  std::size_t size_bytes = 0;
  int in_windows = 0;
  constexpr char const* orderings[] = {{"formal", "relaxed_arrival", "relaxed"}};
  constexpr char const* let_go[] = {{"at_once", "when_sent", "when_met"}};
  while (std::scanf("%d %d %zu %d", &ranks, &element, &size_bytes, &in_windows) == 4) {{
    chevron::Policy policy;
    switch (element) {{
{cases}
    }}
    chevron::CudaGeometry const& cuda = policy.cuda;
    std::printf("algorithm=%s stores=%s lanes=%d threads=%d packs=%d ordering=%s let_go=%s\\n",
                chevron::name(policy.algorithm), chevron::name(policy.stores), cuda.lanes, cuda.threads, packs_of(cuda),
                orderings[static_cast<int>(cuda.ordering)],
                cuda.dependent_launch ? let_go[static_cast<int>(cuda.let_go)] : "never");
  }}
}}
"""


@dataclasses.dataclass(frozen=True)
class Question:
    ranks: int
    element: str
    size_bytes: int
    in_windows: bool


def type_in(header: pathlib.Path) -> str:
    """The table that a header holds, with its namespace."""
    text = header.read_text()
    found = re.search(r"struct (\w+)\s*\{\s*static constexpr auto rows\(\)", text)
    if found is None:
        raise Failure(f"{header} holds no table (a struct with `static constexpr auto rows()`)")
    namespaces = [name for name in re.findall(r"^namespace ([\w:]+) \{", text[: found.start()], re.MULTILINE)]
    return "::".join([*namespaces, found[1]])


def compiler() -> str:
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        if name and shutil.which(name.split()[0]):
            return name
    raise Failure("verifying needs a C++ compiler, to ask the table what it chooses")


def choices(header: pathlib.Path, type_name: str, include: pathlib.Path, questions: list[Question], cxx: str | None = None,
            flags: tuple[str, ...] = ()) -> list[Policy]:  # fmt: skip
    """What a table chooses, by its selector."""
    if not header.exists():
        raise Failure(f"there is no {header}")
    elements = sorted({one.element for one in questions})
    cases = "\n".join(
        f"      case {place}: policy = choose<{ELEMENTS[element][2]}>(ranks, size_bytes, in_windows != 0); break;"
        for place, element in enumerate(elements)
    )
    ranks = ", ".join(map(str, sorted({one.ranks for one in questions})))
    program_text = CHOOSER.format(header=header.resolve(), type=type_name, ranks=ranks, cases=cases)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "chooser.cpp")
        program = pathlib.Path(folder, "chooser")
        source.write_text(program_text)
        command = [*(cxx or compiler()).split(), "-std=c++20", "-O0", *flags, f"-I{include}", str(source), "-o", str(program)]
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode != 0:
            raise Failure(f"{header} does not compile:\n{made.stderr[:3000]}")
        lines = "".join(
            f"{one.ranks} {elements.index(one.element)} {one.size_bytes} {one.in_windows:d}\n" for one in questions
        )
        answers = subprocess.run([str(program)], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Policy.of_words(answer) for answer in answers]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One size: what the table takes, the best single policy, and both times in microseconds."""

    context: Context
    size_bytes: int
    in_windows: bool
    chosen: Policy
    chosen_time: float
    best: Policy
    best_time: float

    @property
    def ratio(self) -> float:
        return self.chosen_time / self.best_time

    def line(self, on_device: bool) -> str:
        where = "" if self.in_windows else " (no windows)"
        return (
            f"{self.context[0]:2} ranks {self.context[1]:>8} {solve.text_of_size(self.size_bytes):>9}{where}  "
            f"{solve.text_of_time(self.chosen_time):>8} / {solve.text_of_time(self.best_time):>8} = {self.ratio:.3f}  "
            f"{self.chosen.text(on_device)}"
            + ("" if self.chosen == self.best else f"  [best: {self.best.text(on_device)}]")
        )


def verify(search: Search, context: Context, chosen: dict[tuple[int, bool], Policy], budget: float) -> list[Verdict]:
    """Tries the whole grid at every size, and then the best of it in turns with what the table takes there."""
    measurements = search.measurements
    sizes = search.sizes.all()
    # How the table's policies are really launched is known once they ran.
    measurements.heat(context, sizes[0], sorted(set(chosen.values())), 1)
    end = measurements.seconds + budget
    search.explore(context, sizes, 0.55 * budget)
    search.vary(context, sizes, 0.4 * (end - measurements.seconds))
    windows = [True, False] if search.elsewhere(context) else [True]

    def race(size: int) -> None:
        mine = [measurements.as_launched(context, chosen[size, in_windows]) for in_windows in windows]
        general = [one for one in measurements.best(context, size) if not one.needs_windows][:3]
        rivals = list(dict.fromkeys(mine + measurements.best(context, size)[:6] + (general if len(windows) > 1 else [])))
        search.say(f"{search.name(context)}, the table beside {len(rivals) - 1} others at {solve.text_of_size(size)}")
        search.heat(context, size, rivals, search.rounds, FINAL)

    for size in sizes:
        race(size)
    while measurements.seconds < end and not all(
        len(timing.heats) >= 12
        for size in sizes
        for timing in measurements.timings[context][size].values()
        if timing.level == FINAL
    ):
        measurements.start_again(context, 0.1 * (end - measurements.seconds))
        for size in sizes:
            if measurements.seconds < end:
                race(size)

    verdicts = []
    for size in sizes:
        times = measurements.figures(context, FINAL)[size]
        for in_windows in windows:
            policy = measurements.as_launched(context, chosen[size, in_windows])
            if policy not in times:
                raise Failure(f"what the table chooses does not run for {search.name(context)} at {size} bytes: {policy.words()}")
            able = {one: time for one, time in times.items() if in_windows or not one.needs_windows}
            best = min(able, key=lambda one: (able[one], one))
            verdicts.append(Verdict(context, size, in_windows, policy, times[policy], best, able[best]))
    return verdicts
