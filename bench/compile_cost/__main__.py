# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What chevron costs whoever compiles it: seconds and bytes, by compiler and by what is used.

  python3 bench/compile_cost                               every compiler that is there
  python3 bench/compile_cost --compilers g++,nvcc --json costs.json --repeat 5

Seconds are CPU time, user and system, of the compiler and all that it starts; the least of --repeat compilations. A row
that begins with + is what one more use adds to the program above it.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import pathlib
import platform
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

import programs  # noqa: E402
from compile import ARCHITECTURES, Compiler, Cost, Failure, cost_of, find_nvcc, for_devices, on_host  # noqa: E402
from programs import GRID, Use  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    program: str
    less: str = ""  # the case that this one is told as an addition to
    few: bool = True  # also with many architectures


def host_cases() -> list[Case]:
    first = Use(2)
    base = f"{first.text()}, auto"
    further = [Use(4), Use(2, "bfloat16"), Use(2, "float", "Max")]
    return [
        Case("an empty file", programs.EMPTY),
        Case("chevron.hpp", programs.HOST_HEADERS),
        Case(base, programs.host([first])),
        *(Case(f"+ {use.text()}", programs.host([first, use]), less=base) for use in further),
        Case("TP={2,4,8} x {half, bf16, float}, auto", programs.host(GRID)),
    ]


def device_cases() -> list[Case]:
    first = Use(2, "bfloat16")
    base = f"{first.text()}, auto, Hopper"
    further = [Use(4, "bfloat16"), Use(2, "float"), Use(2, "bfloat16", "Max")]
    return [
        Case("an empty file", programs.EMPTY),
        Case("chevron.cuh", programs.CUDA_HEADERS),
        Case(base, programs.cuda([first], "Hopper")),
        Case(f"{first.text()}, auto, OneGpu", programs.cuda([first], "OneGpu")),
        *(Case(f"+ {use.text()}", programs.cuda([first, use], "Hopper"), less=base, few=False) for use in further),
        Case("TP={2,4,8} x {half, bf16, float}, auto, Hopper", programs.cuda(GRID, "Hopper")),
        Case("cub::DeviceReduce::Sum of float", programs.CUB),
    ]


def minus(cost: Cost, base: Cost) -> Cost:
    both = dataclasses.asdict(cost), dataclasses.asdict(base)
    return Cost(**{key: None if value is None or both[1][key] is None else value - both[1][key] for key, value in both[0].items()})


def print_row(name: str, cost: Cost, over_empty: float | None) -> None:
    def size(count: int | None) -> str:
        return "-" if count is None else f"{count:,}"

    over = "" if over_empty is None else f"{over_empty:.2f}"
    print(
        f"| {name} | {cost.cpu_seconds:.2f} | {over} | {size(cost.object_bytes)} | {size(cost.text_bytes)} | "
        f"{size(cost.device_bytes)} | {size(cost.instruction_bytes)} |",
        flush=True,
    )


def nccl_files(named: list[pathlib.Path]) -> list[pathlib.Path]:
    places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/cuda/lib64", "/usr/local/cuda/lib"]
    files = named or [pathlib.Path(place, "libnccl.so.2") for place in places]
    return list(dict.fromkeys(file.resolve() for file in files if file.exists()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="compile_cost", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compilers", help="of g++, clang++, nvcc and nvcc-5; all that are there if not given")
    parser.add_argument("--nvcc", default=find_nvcc(), help="where nvcc is")
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump"), help="where cuobjdump is, for the devices' instructions")
    parser.add_argument("--nccl", type=pathlib.Path, action="append", default=[], help="a libnccl.so to tell the size of")
    parser.add_argument("--include", type=pathlib.Path, default=HERE.parents[1] / "include", help="chevron's headers")
    parser.add_argument("--repeat", type=int, default=3, help="compilations of each program (3)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    options = parser.parse_args()

    there: dict[str, tuple[Compiler, list[Case]]] = {}
    for name in ("g++", "clang++"):
        if path := shutil.which(name):
            there[name] = on_host(path), host_cases()
    if options.nvcc:
        there["nvcc"] = for_devices(options.nvcc, (90,)), device_cases()
        there["nvcc-5"] = for_devices(options.nvcc, ARCHITECTURES), [case for case in device_cases() if case.few]
    names = options.compilers.split(",") if options.compilers else list(there)
    if missing := [name for name in names if name not in there]:
        parser.error(f"there is no {' and no '.join(missing)}; there are {', '.join(there) or 'no compilers'}")

    result: dict = {"machine": platform.platform(), "date": datetime.date.today().isoformat(), "compilers": []}
    for name in names:
        compiler, cases = there[name]
        print(f"\n{compiler.name} {compiler.version()}: {' '.join(compiler.command[1:])}\n")
        print("| program | s | over an empty file | object | host text | for devices | of it instructions |")
        print("|---|---|---|---|---|---|---|")
        costs: dict[str, Cost] = {}
        rows = []
        for case in cases:
            try:
                cost = cost_of(compiler, case.program, options.include, options.repeat, options.cuobjdump)
            except Failure as failure:
                print(f"compile_cost: {failure}", file=sys.stderr)
                return 1
            costs[case.name] = cost
            empty = next(iter(costs.values()))
            shown = minus(cost, costs[case.less]) if case.less else cost
            print_row(case.name, shown, None if case.less else cost.cpu_seconds - empty.cpu_seconds)
            rows.append({"program": case.name, "more_than": case.less or None, **dataclasses.asdict(shown)})
        result["compilers"].append(
            {"name": compiler.name, "version": compiler.version(), "command": list(compiler.command[1:]), "rows": rows}
        )
    libraries = {str(file): file.stat().st_size for file in nccl_files(options.nccl)}
    if libraries:
        print()
    for file, size in libraries.items():
        print(f"{file}: {size:,} bytes")
    result["nccl_bytes"] = libraries
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
