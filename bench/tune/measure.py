# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The measuring programs, what they measured so far, and the journal that survives a kill."""

from __future__ import annotations

import collections
import dataclasses
import json
import math
import pathlib
import statistics
import subprocess
import time
from collections.abc import Iterable

from policies import Policy
from solve import Context


class Failure(Exception):
    """What ends the program, in a sentence, and with which exit code: 77 where there is no device."""

    def __init__(self, text: str, code: int = 2):
        super().__init__(text)
        self.code = code


@dataclasses.dataclass(frozen=True)
class Heat:
    """Policies that take turns at one size."""

    context: Context
    size_bytes: int
    policies: tuple[Policy, ...]
    rounds: int
    place: str = "out"
    calls: int | None = None
    give_up: float | None = None
    check: bool = False

    def options(self) -> str:
        words = [f"bytes={self.size_bytes}", f"rounds={self.rounds}", f"place={self.place}"]
        words += [f"{key}={value}" for key in ("calls", "give_up") if (value := getattr(self, key)) is not None]
        return " ".join(words + ["check=1"] * self.check)

    def key(self) -> list:
        return [*self.context, self.options(), *(policy.words() for policy in self.policies)]


class Journal:
    """Lines of JSON: the settings, then every heat with its answers. A line that a kill cut off is written anew."""

    def __init__(self, path: pathlib.Path | None, settings: dict, restart: bool = False):
        self._heats: dict[str, list[dict]] = {}  # one heat may have been run several times
        self._asked: dict[str, int] = {}
        self.greetings: dict[str, dict] = {}
        self._file = None
        self.replayed = 0
        if path is None:
            return
        lines: list[dict] = []
        if path.exists() and not restart:
            for line in path.read_text().splitlines():
                try:
                    lines.append(json.loads(line))
                except ValueError:
                    break
        if lines and lines[0].get("settings") != settings:
            old = lines[0].get("settings", {})
            differ = [key for key in sorted(settings.keys() | old.keys()) if settings.get(key) != old.get(key)]
            raise Failure(f"{path} is of a run with other {', '.join(differ)}; --restart begins anew")
        for line in lines[1:]:
            if "greeting" in line:
                self.greetings[json.dumps(line["context"])] = line["greeting"]
            else:
                self._heats.setdefault(json.dumps(line["heat"]), []).append(line)
        # Written anew, so that it ends with a whole line.
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        new.write_text("".join(json.dumps(line) + "\n" for line in lines or [{"settings": settings}]))
        new.replace(path)
        self._file = path.open("a")

    def __len__(self) -> int:
        return sum(map(len, self._heats.values()))

    def find(self, heat: Heat) -> dict | None:
        """The answers to a heat that was run before: the first time it is asked for, those of its first run, and so on."""
        key = json.dumps(heat.key())
        place = self._asked[key] = self._asked.get(key, -1) + 1
        runs = self._heats.get(key, [])
        if place >= len(runs):
            return None
        self.replayed += 1
        return runs[place]

    def add(self, line: dict) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Program:
    """A measuring program that waits for heats of one context."""

    def __init__(self, command: list[str]):
        self._command = command
        start = time.monotonic()
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise Failure(f"can't start {command[0]}: {error.strerror}") from error
        self._names: dict[Policy, str] = {}
        self.greeting = self._answer()
        if self.greeting is None:
            code = self._process.wait()
            raise Failure(f"`{' '.join(command)}` did not begin to measure (exit code {code})", 77 if code == 77 else 2)
        # A program for tests says itself how long it took: its clock is not ours.
        self.seconds = self.greeting.get("start_seconds", time.monotonic() - start)

    def _answer(self) -> dict | None:
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                return json.loads(line)
            print(line, end="")  # such as that there is no GPU
        return None

    def ask(self, heat: Heat) -> list[dict]:
        """The answers: one for each policy, as far as the program came, and one with the seconds that it took."""
        lines = []
        for policy in heat.policies:
            if policy not in self._names:
                self._names[policy] = f"p{len(self._names)}"
                lines.append(f"policy {self._names[policy]} {policy.words()}")
        lines.append(f"measure {heat.options()} {' '.join(self._names[policy] for policy in heat.policies)}")
        try:
            self._process.stdin.write("\n".join(lines) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return []
        answers = []
        while (answer := self._answer()) is not None:
            answers.append(answer)
            if "line" in answer:
                raise Failure(f"{self._command[0]} does not understand `{answer['line']}`: {answer['error']}")
            if "seconds" in answer:
                break
        return answers

    def end(self) -> int | None:
        self._process.stdin.close()
        try:
            return self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return None


@dataclasses.dataclass
class Timing:
    """What is known of a policy at one size."""

    samples: list[float] = dataclasses.field(default_factory=list)  # microseconds
    heats: dict[int, float] = dataclasses.field(default_factory=dict)  # the median in each heat
    level: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


def measure_of(timings: dict[Policy, Timing]) -> Policy:
    """The policy that ran in most heats, of several the fastest: what others are compared with."""
    return min(timings, key=lambda one: (-len(timings[one].heats), timings[one].median, one))


def ratios_by_heat(timings: dict[Policy, Timing]) -> dict[Policy, list[float]]:
    """Each policy's times over those of the one that ran in most heats, in the heats that both ran in."""
    if not timings:
        return {}
    measure = timings[measure_of(timings)].heats
    return {
        policy: [time / measure[heat] for heat, time in timing.heats.items() if heat in measure]
        for policy, timing in timings.items()
    }  # fmt: skip


def side_by_side(timings: dict[Policy, Timing]) -> dict[Policy, float]:
    """Times that can be compared although the machine was faster in some heats than in others, and not everybody ran in all:
    a policy's is the median of its ratios to one that ran in most, heat by heat, times that one's median."""
    if not timings:
        return {}
    unit = timings[measure_of(timings)].median
    return {
        policy: statistics.median(ratios) * unit if ratios else timings[policy].median
        for policy, ratios in ratios_by_heat(timings).items()
    }


def doubt_of(ratios: list[float]) -> float:
    """Twice the standard error of a median, as a share of it; for few values a guess."""
    if len(ratios) < 3:
        return 0.02
    return 2 * 1.25 * statistics.stdev(ratios) / math.sqrt(len(ratios)) / statistics.median(ratios)


class Measurements:
    """Runs heats, or takes them from the journal, and knows all timings.

    Timings have a level: those of a higher one were taken with more care, and take the place of those of a lower one.
    """

    most_failures_of_an_algorithm = 2
    most_deaths = 5

    def __init__(self, commands: dict[Context, list[str]], journal: Journal, place: str = "out", warn=print, on_heat=lambda seconds: None):
        self._commands, self._journal, self._place = commands, journal, place
        self._warn, self._on_heat = warn, on_heat
        self._program: Program | None = None
        self._program_context: Context | None = None
        self._greeted: set[Context] = set()
        self._dead: dict[Context, set[Policy]] = {}
        self._failures: dict[Context, collections.Counter] = {context: collections.Counter() for context in commands}
        self._deaths = 0
        self._cut: dict[tuple[Context, Policy], Policy] = {}
        self._started_again = 0.0  # seconds that are not yet told
        self.timings: dict[Context, dict[int, dict[Policy, Timing]]] = {context: {} for context in commands}
        self.greetings: dict[Context, dict] = {}
        self.seconds = 0.0  # that measuring took, in this run and those before it
        self.heats = 0
        self.failed: list[str] = []

    def greeting(self, context: Context) -> dict:
        """What the measuring program says of itself and the machine."""
        if context not in self.greetings:
            old = self._journal.greetings.get(json.dumps(list(context)))
            if old is None:
                self._open(context)
            else:
                self._greet(context, old)
        return self.greetings[context]

    def _greet(self, context: Context, greeting: dict) -> None:
        if context not in self._greeted:
            self._greeted.add(context)
            self.greetings[context] = greeting
            self._spend(greeting.get("start_seconds", 0.0))

    def _open(self, context: Context) -> Program:
        if self._program is None or self._program_context != context:
            self.close()
            self._program = Program(self._commands[context])
            self._program_context = context
            if context not in self._greeted:
                greeting = {**self._program.greeting, "start_seconds": self._program.seconds}
                self._journal.add({"context": list(context), "greeting": greeting})
                self._greet(context, greeting)
            else:
                self._started_again += self._program.seconds
        return self._program

    def start_again(self, context: Context, at_most: float) -> None:
        """Has the next heat run by a new process, where its start takes no longer. Where memory comes to lie differs from
        process to process, and some times with it, by more than any heat of one process shows."""
        if self.greeting(context).get("start_seconds", 0.0) <= at_most:
            self.close()

    def close(self) -> int | None:
        code = None
        if self._program is not None:
            code = self._program.end()
        self._program = self._program_context = None
        return code

    def _spend(self, seconds: float) -> None:
        self.seconds += seconds
        self._on_heat(seconds)

    def alive(self, context: Context, policies: Iterable[Policy]) -> list[Policy]:
        """Without those that can't run or are the same as others here, each once."""
        dead = self._dead.setdefault(context, set())
        failures = self._failures[context]
        return [
            policy
            for policy in dict.fromkeys(policies)
            if policy not in dead and failures[policy.algorithm] < self.most_failures_of_an_algorithm
        ]

    def heat(self, context: Context, size_bytes: int, policies: Iterable[Policy], rounds: int, *, level: int = 0,
             calls: int | None = None, give_up: float | None = None, check: bool = False) -> None:  # fmt: skip
        while True:
            there = tuple(self.alive(context, policies))
            if not there:
                return
            heat = Heat(context, size_bytes, there, rounds, self._place, calls, give_up, check)
            found = self._journal.find(heat)
            if found is None:
                answers = self._open(context).ask(heat)
                if answers and "seconds" in answers[-1]:
                    answers[-1]["seconds"] += self._started_again
                    self._started_again = 0.0
                found = {"heat": heat.key(), "answers": answers}
                if answers and "seconds" in answers[-1]:
                    self._journal.add(found)
            if self._take(heat, found["answers"], level):
                return

    def _take(self, heat: Heat, answers: list[dict], level: int) -> bool:
        """Whether the heat is over; else it is to be run again without those that are dead now."""
        self.heats += 1
        dead = self._dead.setdefault(heat.context, set())
        failed = False
        for policy, answer in zip(heat.policies, answers):
            if "left_out" in answer:
                dead.add(policy)
                if policy.stores == "non_temporal":  # the library stores through the caches then
                    self._cut[heat.context, policy] = dataclasses.replace(policy, stores="temporal")
                if launch := answer.get("launch"):  # there is room for fewer lanes
                    self._cut[heat.context, policy] = self._as_launched(policy, launch)
            elif "error" in answer:
                failed = True
                dead.add(policy)
                self._failures[heat.context][policy.algorithm] += 1
                self._complain(heat, policy, answer["error"])
            elif answer.get("us"):
                if answer.get("wrong"):
                    dead.add(policy)
                    self._complain(heat, policy, f"{answer['wrong']} elements are wrong")
                    self.timings[heat.context].get(heat.size_bytes, {}).pop(policy, None)
                    continue
                self._add(heat, policy, answer, level)
        if answers and "seconds" in answers[-1]:
            self._spend(answers[-1]["seconds"])
            if not failed:
                return True
        code = self.close()
        if not failed:
            self._deaths += 1
            self._warn(f"the measuring program ended at {heat.size_bytes} bytes with exit code {code}; it is started again")
            if self._deaths > self.most_deaths:
                raise Failure("the measuring program ends again and again")
        return False

    def _add(self, heat: Heat, policy: Policy, answer: dict, level: int) -> None:
        launch = answer.get("launch")
        if launch and policy.lanes:  # with lanes by size, it stays what was asked for
            self._cut[heat.context, policy] = policy = self._as_launched(policy, launch)
        timing = self.timings[heat.context].setdefault(heat.size_bytes, {}).setdefault(policy, Timing())
        if level < timing.level:
            return
        if level > timing.level:
            timing.samples.clear()
            timing.heats.clear()
        timing.level = level
        timing.samples += answer["us"]
        timing.heats[self.heats] = statistics.median(answer["us"])

    @staticmethod
    def _as_launched(policy: Policy, launch: dict) -> Policy:
        return dataclasses.replace(policy, lanes=int(launch["lanes"]), threads=int(launch["threads"]), let_go=launch["let_go"])

    def as_launched(self, context: Context, policy: Policy) -> Policy:
        """What a policy comes to where the device has no room for what it asks for; itself as long as it did not run."""
        return self._cut.get((context, policy), policy)

    def _complain(self, heat: Heat, policy: Policy, what: str) -> None:
        text = f"{policy.words()} with {heat.context[0]} ranks, {heat.context[1]}, {heat.size_bytes} bytes: {what}"
        self.failed.append(text)
        self._warn(text)

    def figures(self, context: Context, level: int) -> dict[int, dict[Policy, float]]:
        """By size, times in microseconds of what was measured with so much care. Where nothing was, of the most care there is."""
        found = {size: self.figures_at(context, size, level) for size in sorted(self.timings[context])}
        return {size: times for size, times in found.items() if times}

    def figures_at(self, context: Context, size_bytes: int, level: int) -> dict[Policy, float]:
        timings = self.timings[context].get(size_bytes, {})
        alive = {policy: timings[policy] for policy in self.alive(context, timings) if timings[policy].samples}
        enough = min(level, max((timing.level for timing in alive.values()), default=0))
        return side_by_side({policy: timing for policy, timing in alive.items() if timing.level >= enough})

    def doubts(self, context: Context, level: int) -> dict[int, dict[Policy, float]]:
        """By size, the share of a policy's time that may be chance: twice the error of the median of its ratios."""
        found: dict[int, dict[Policy, float]] = {}
        for size, timings in self.timings[context].items():
            alive = {one: timings[one] for one in self.alive(context, timings) if timings[one].level >= level}
            found[size] = {policy: doubt_of(ratios) for policy, ratios in ratios_by_heat(alive).items()}
        return found

    def best(self, context: Context, size_bytes: int) -> list[Policy]:
        """What was measured at a size, the fastest first."""
        timings = self.timings[context].get(size_bytes, {})
        alive = self.alive(context, timings)
        return sorted((one for one in alive if timings[one].samples), key=lambda one: (timings[one].median, one))

    def ratio(self, context: Context, size_bytes: int, policy: Policy) -> float | None:
        """A policy's time over the fastest one's."""
        timings = self.timings[context].get(size_bytes, {})
        best = self.best(context, size_bytes)
        if policy not in timings or not best or not timings[policy].samples:
            return None
        return timings[policy].median / timings[best[0]].median
