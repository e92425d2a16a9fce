# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures policies on this machine and writes the best of them as a selection table; or verifies a table.

  chevron-tune --transport host_threads --ranks 2,4 --elements float,bfloat16 --from 64 --to 64M -o my_table.hpp
  chevron-tune --transport cuda_peer --devices 0,1 --ranks 2 --elements bfloat16 --from 1K --to 256M --budget 5min -o my_table.hpp
  chevron-tune --transport cuda_peer --ranks 2 --elements bfloat16 --from 1K --to 256M --verify my_table.hpp

A run that was killed goes on where it ended when the same command is given again.
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import re
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

import header  # noqa: E402
import solve  # noqa: E402
import verify  # noqa: E402
from measure import Failure, Journal, Measurements  # noqa: E402
from policies import ALGORITHMS, ELEMENTS, Grid  # noqa: E402
from progress import clock_text, progress  # noqa: E402
from search import FINAL, Search, Sizes  # noqa: E402

TRANSPORTS = ("host_threads", "host_shared_memory", "cuda_peer")


# -- the command line -------------------------------------------------------------------------------------------------


def size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text, re.IGNORECASE)
    if found is None or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no size such as 64, 4K or 16M")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2].upper()]


def seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|m|h)?", text)
    if found is None or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no time such as 30s, 5min or 1h")
    return float(found[1]) * {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}[found[2]]


def share(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no share such as 2% or 0.02")
    return float(found[1]) / (100 if found[2] else 1)


def some_of(known):
    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(known) if text == "all" else tuple(text.split(","))
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
        return chosen

    return read


def numbers(least: int, most: int):
    def read(text: str) -> tuple[int, ...]:
        try:
            chosen = tuple(int(part) for part in text.split(","))
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers such as 1,2,4") from None
        if not all(least <= one <= most for one in chosen):
            raise argparse.ArgumentTypeError(f"'{text}': each must be {least} to {most}")
        return chosen

    return read


def command_line(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="chevron-tune", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_argument_group("what is tuned")
    what.add_argument("--transport", choices=TRANSPORTS, required=True)
    what.add_argument("--devices", type=numbers(0, 1023), default=(0,), help="the device of each rank; they repeat where there are more ranks")
    what.add_argument("--ranks", type=numbers(2, 32), default=(2,), help="rank counts, such as 2,3,4,8")
    what.add_argument("--elements", type=some_of(ELEMENTS), default=("float",), help=f"some of {', '.join(ELEMENTS)}; or all")
    what.add_argument("--from", dest="first", type=size, default=1 << 10, help="smallest size, such as 64 or 4K")
    what.add_argument("--to", dest="last", type=size, default=64 << 20, help="largest size, such as 64M")
    what.add_argument("--place", choices=("out", "in"), default="out", help="calls out of place or in place")
    what.add_argument("--windows", choices=("auto", "only"), default="auto",
                      help="auto: also rows for buffers outside of windows, where the transport has such; only: in windows alone")  # fmt: skip

    how = parser.add_argument_group("how")
    how.add_argument("--budget", type=seconds, default=120.0, help="time to measure, such as 30s, 5min, 1h, for all rank counts and elements together (2min)")
    how.add_argument("--tolerance", type=share, default=0.02, help="how much slower than the best policy a row may be where that saves rows, besides what may be chance (2%%)")
    how.add_argument("--limit", type=share, default=0.05, help="how much slower than the best single policy a table may be anywhere (5%%)")
    how.add_argument("--neighbours", type=some_of(("ranks", "elements")), default=(),
                     help="ranks, elements or both: also take what was not measured, with what is next to it")  # fmt: skip
    how.add_argument("--restart", action="store_true", help="forget what an earlier run measured")

    grid = parser.add_argument_group("what is tried")
    grid.add_argument("--algorithms", type=some_of(ALGORITHMS), default=ALGORITHMS)
    grid.add_argument("--lanes", type=numbers(1, 256), help="thread blocks per rank")
    grid.add_argument("--most-lanes", type=int, default=0,
                      help="CudaOptions::lanes of the programs that will use the table; without it, as many as the library takes")  # fmt: skip
    grid.add_argument("--threads", type=numbers(64, 512), default=(512, 256, 128))
    grid.add_argument("--packs", type=numbers(0, 8), help="packs in flight; 0: the library's own number")
    grid.add_argument("--let-go", type=some_of(("at_once", "when_sent", "when_met", "never")), default=("at_once", "when_sent", "when_met", "never"))
    grid.add_argument("--orderings", type=some_of(("formal", "relaxed_arrival", "relaxed")), default=("relaxed_arrival",),
                      help="relaxed has to be asked for: see docs/memory-model.md")  # fmt: skip
    grid.add_argument("--non-temporal", action="store_true", help="stores past the caches also on CPUs where the library makes none by itself")

    out = parser.add_argument_group("what comes of it")
    out.add_argument("-o", "--output", type=pathlib.Path, help="the header; what was measured goes to OUTPUT.journal")
    out.add_argument("--name", help="of the table (if not given: by the header's name)")
    out.add_argument("--namespace", default="", help="of the table")
    out.add_argument("--verify", metavar="TABLE", help="a header with a table: time the whole grid, and tell how far the table is from the best single policy at each size. The exit code is 1 if that is more than the limit anywhere")
    out.add_argument("--type", help="with --verify: the table's type, such as chevron::tables::Host")
    out.add_argument("--quiet", action="store_true", help="no progress")

    where = parser.add_argument_group("programs")
    where.add_argument("--program", help="the measuring program, with arguments if wished (chevron-perf or chevron-perf-cuda beside this one)")
    where.add_argument("--include", type=pathlib.Path, default=HERE.parents[1] / "include", help="where chevron's headers are")
    where.add_argument("--cxx", help="a C++ compiler, for --verify")
    options = parser.parse_args(arguments)
    if options.first > options.last:
        parser.error("--from must not be above --to")
    if (options.output is None) == (options.verify is None):
        parser.error("either -o or --verify says what to do")
    return options


# -- parts ------------------------------------------------------------------------------------------------------------


def grid_of(options: argparse.Namespace, library: header.Library) -> Grid:
    on_device = options.transport == "cuda_peer"
    lanes = options.lanes or tuple(n for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 132) if n <= (options.most_lanes or 132))
    packs = options.packs or ((0, 1, 2, 4) if library.packs else (0,))
    if any(packs) and not library.packs and options.verify is None:
        raise Failure("--packs: this chevron's tables can't say how many packs are in flight")
    return Grid(on_device, options.algorithms, lanes=lanes, threads=options.threads, packs=packs,
                orderings=options.orderings, let_go=options.let_go)  # fmt: skip


def measuring_program(options: argparse.Namespace) -> list[str]:
    if options.program:
        return shlex.split(options.program)
    name = "chevron-perf-cuda" if options.transport == "cuda_peer" else "chevron-perf"
    beside = pathlib.Path(os.environ.get("CHEVRON_TUNE_BUILD", "."))
    for folder in (beside, beside / "perf" / "cuda", pathlib.Path("build/bench"), pathlib.Path("build/bench/perf/cuda")):
        if (folder / name).exists():
            return [str((folder / name).resolve())]
    raise Failure(f"there is no {name} beside this program or in build/bench; --program says where it is")


def commands_of(options: argparse.Namespace) -> dict[solve.Context, list[str]]:
    """What measures each rank count and element."""
    program = measuring_program(options)
    commands = {}
    for ranks in sorted(set(options.ranks)):
        for element in options.elements:
            command = [*program, "all_reduce", "--ranks", str(ranks), "-d", element, "-e", str(options.last), "-b", str(options.first)]
            if options.transport == "cuda_peer":
                command += ["--graph", "--devices", ",".join(map(str, options.devices))]
                if options.most_lanes:
                    command += ["--most-lanes", str(options.most_lanes)]
            else:
                command += ["--transport", options.transport]
                command += ["--non-temporal"] if options.non_temporal else []
            commands[ranks, element] = [*command, "--policies", "-"]
    return commands


def settings_of(options: argparse.Namespace) -> dict:
    """What must be the same for a run to go on. More time is welcome."""
    kept = ("transport", "devices", "ranks", "elements", "first", "last", "place", "most_lanes", "non_temporal", "program", "verify")
    return {key: list(value) if isinstance(value := getattr(options, key), tuple) else value for key in kept}


class Run:
    """What tuning and verifying have in common."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.library = header.Library.at(options.include)
        self.grid = grid_of(options, self.library)
        path = options.output.with_name(options.output.name + ".journal") if options.output else None
        self.journal = Journal(path, settings_of(options), options.restart)
        self.bar = progress(options.budget, options.quiet)
        if len(self.journal):
            self.bar.write(f"going on with {len(self.journal)} heats of {path}")
        commands = commands_of(options)
        self.measurements = Measurements(commands, self.journal, options.place, warn=self.bar.write)
        self.contexts = list(commands)
        self.search = Search(self.measurements, self.grid, Sizes(options.first, options.last), options.tolerance, options.limit,
                             say=lambda text: self.bar.show(self.measurements.seconds, text))  # fmt: skip

    def each(self, work) -> None:
        """Every context with its share of what is left."""
        try:
            for place, context in enumerate(self.contexts):
                work(context, max(self.options.budget - self.measurements.seconds, 0.0) / (len(self.contexts) - place))
        finally:
            self.measurements.close()
            self.journal.close()
            self.bar.close()

    def machine(self) -> str:
        machine = self.measurements.greeting(self.contexts[0]).get("machine", {})
        if machine.get("gpu"):
            devices = len(set(self.options.devices[: max(self.options.ranks)]))
            return f"{machine['gpu']}, {devices} device{'s' if devices > 1 else ''}"
        return f"{machine.get('cpu', 'unknown')}, {machine.get('cores', 0)} cores"


def shown_command(arguments: list[str]) -> str:
    """Without where things are on this machine."""
    shown, skip = [], False
    for argument in arguments:
        skip_this, skip = skip, argument in ("-o", "--output", "--program", "--include", "--cxx", "--namespace", "--name")
        if not (skip or skip_this or argument in ("--restart", "--quiet")):
            shown.append(argument)
    return shlex.join(["chevron-tune", *shown])


# -- what is done -----------------------------------------------------------------------------------------------------


def tune(options: argparse.Namespace, arguments: list[str]) -> int:
    run = Run(options)
    run.each(run.search.run)
    measurements = run.measurements
    figures = {context: measurements.figures(context, FINAL) for context in run.contexts}
    if not all(figures.values()):
        raise Failure("nothing was measured")
    elsewhere = options.windows == "auto" and any(run.search.elsewhere(context) for context in run.contexts)
    neighbours = frozenset(options.neighbours)
    found = solve.plans(figures, run.search.allowance(*run.contexts), elsewhere, "ranks" in neighbours)
    rows = solve.rows_of(found, figures, elsewhere, neighbours)
    facts = []
    code = 1 if measurements.failed else 0
    for in_windows in (True, False) if elsewhere else (True,):
        ratio, context, size_bytes = solve.worst_ratio(rows, figures, in_windows)
        where = f" ({Search.name(context)}, {solve.text_of_size(size_bytes)})" if context else ""
        kind = "" if not elsewhere else "Buffers in windows: " if in_windows else "Other buffers, launched by rows of their own: "
        facts.append(f"{kind}{'at' if kind else 'At'} most {ratio:.3f} times as long as the best single policy at any measured size{where}.")
        if ratio > 1 + options.limit:
            code = 1
            print(f"chevron-tune: the table is {ratio:.3f} times the best single policy{where}; the limit is {1 + options.limit:.2f}", file=sys.stderr)
    if options.most_lanes:
        facts.append(f"For communicators with CudaOptions::lanes = {options.most_lanes}; others cut lanes down to what they have.")
    about = header.About(
        options.name or header.type_name(options.output), options.namespace, run.machine(),
        datetime.date.today().isoformat(), shown_command(arguments), tuple(facts),
        (tuple(sorted(set(options.ranks))), options.elements),
    )  # fmt: skip
    options.output.write_text(header.header(rows, about, run.grid.on_device, run.library))
    print(f"{options.output}: {len(rows)} rows, by {measurements.heats} heats in {clock_text(measurements.seconds)}")
    for fact in facts:
        print(fact)
    return code


def verify_table(options: argparse.Namespace, arguments: list[str]) -> int:
    run = Run(options)
    table = pathlib.Path(options.verify)
    sizes = run.search.sizes.all()
    questions = [
        verify.Question(ranks, element, size_bytes, in_windows)
        for ranks, element in run.contexts
        for size_bytes in sizes
        for in_windows in (True, False)
    ]
    chosen = verify.choices(table, options.type or verify.type_in(table), options.include, questions, options.cxx)
    by_question = dict(zip(questions, chosen))
    verdicts: list[verify.Verdict] = []

    def work(context: solve.Context, budget: float) -> None:
        mine = {
            (one.size_bytes, one.in_windows): policy
            for one, policy in by_question.items()
            if (one.ranks, one.element) == context
        }
        verdicts.extend(verify.verify(run.search, context, mine, budget))

    run.each(work)
    if options.windows == "only":
        verdicts = [one for one in verdicts if one.in_windows]
    for verdict in verdicts:
        print(verdict.line(run.grid.on_device))
    worst = max(verdicts, key=lambda one: one.ratio)
    print(
        f"worst: {worst.ratio:.3f} times the best single policy, {Search.name(worst.context)}, "
        f"{solve.text_of_size(worst.size_bytes)}; the limit is {1 + options.limit:.2f}"
    )
    return 1 if worst.ratio > 1 + options.limit or run.measurements.failed else 0


def main(arguments: list[str]) -> int:
    options = command_line(arguments)
    try:
        return verify_table(options, arguments) if options.verify else tune(options, arguments)
    except Failure as failure:
        print(f"chevron-tune: {failure}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:
        print("\nchevron-tune: stopped; the same command goes on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
