#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the code that a reference program makes a compiler write to a recorded size in bytes: of the host's
instructions, and of what nvcc writes for sm_90.

    check_sizes.py RECORD COMPILER             fails when more than a tenth over the record of the compiler's version
    check_sizes.py RECORD COMPILER --write     records what is there now: with a reason, in the change that needs it
    check_sizes.py --self-test COMPILER

COMPILER is g++, clang++ or nvcc. A version of which nothing is recorded is told, and skipped (77).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench" / "compile_cost"))

import programs  # noqa: E402
from compile import Compiler, cost_of, find_nvcc, for_devices, on_host  # noqa: E402
from programs import Use  # noqa: E402

MOST = 1.10  # of what is recorded
SKIPPED = 77
HOST_PROGRAMS = {"TP=2 float sum, auto": programs.host([Use(2)])}
DEVICE_PROGRAMS = {f"TP=2 bfloat16 sum, auto, {table}": programs.cuda([Use(2, "bfloat16")], table) for table in ("Hopper", "OneGpu")}


def family(compiler: Compiler) -> str:
    """The part of a version within which code changes little: g++ 12.2, clang++ 14.0, nvcc 13.0."""
    kind = "nvcc" if compiler.is_nvcc else "clang++" if "clang" in compiler.name else "g++"
    return f"{kind} {'.'.join(compiler.version().split('.')[:2])}"


def sizes_of(compiler: Compiler, include: pathlib.Path, host_programs: dict[str, str] = HOST_PROGRAMS) -> dict[str, int]:
    found = {}
    for name, program in (DEVICE_PROGRAMS if compiler.is_nvcc else host_programs).items():
        cost = cost_of(compiler, program, include)
        # nvcc's host code is another compiler's.
        found[name] = cost.device_bytes if compiler.is_nvcc else cost.text_bytes
    return found


def faults(recorded: dict[str, int], found: dict[str, int]) -> list[str]:
    said = [f"{name}: {size} bytes, recorded are {recorded[name]}" for name, size in found.items() if size > MOST * recorded.get(name, size)]
    return said + [f"{name}: nothing is recorded" for name in found if name not in recorded]


def check(record: pathlib.Path, compiler: Compiler, include: pathlib.Path) -> int:
    recorded = json.loads(record.read_text()).get(family(compiler))
    if recorded is None:
        print(f"skipped: {record.name} has nothing for {family(compiler)}; check_sizes.py --write records it")
        return SKIPPED
    found = sizes_of(compiler, include)
    for name, size in found.items():
        share = f", {size / recorded[name]:.0%} of what is recorded" if name in recorded else ""
        print(f"{family(compiler)}, {name}: {size} bytes{share}")
    wrong = faults(recorded, found)
    if wrong:
        print("\n".join(["", *wrong, f"More than {MOST - 1:.0%} over the record: make it smaller, or change {record} and say why."]))
    return 1 if wrong else 0


def write(record: pathlib.Path, compiler: Compiler, include: pathlib.Path) -> int:
    all_recorded = json.loads(record.read_text()) if record.exists() else {}
    all_recorded[family(compiler)] = sizes_of(compiler, include)
    record.write_text(json.dumps(dict(sorted(all_recorded.items())), indent=2) + "\n")
    return 0


def self_test(compiler: Compiler) -> int:
    """What compiles in a second and has some code, against records that it keeps and that it does not."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        small = {"one": "int one(int x) { return x * x + 1; }\n"}
        large = {"one": small["one"] + "int two(int x, int y) { return x * y / (x + 1) + (y << 2); }\n"}
        recorded = sizes_of(compiler, folder, small)
        assert all(size > 0 for size in recorded.values()), recorded
        assert faults(recorded, sizes_of(compiler, folder, small)) == []
        assert len(faults(recorded, sizes_of(compiler, folder, large))) == 1, "growth was not noticed"
        assert faults({}, recorded) == ["one: nothing is recorded"]
        assert faults({"one": 100}, {"one": 110}) == []
        assert faults({"one": 100}, {"one": 111}) != []

        record = folder / "record.json"
        record.write_text("{}")
        assert check(record, compiler, folder) == SKIPPED, "an unknown version is no failure"
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", metavar="RECORD COMPILER")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--include", type=pathlib.Path, default=ROOT / "include")
    options = parser.parse_args()
    named = options.words[-1]
    path = find_nvcc() if named == "nvcc" else shutil.which(named)
    if path is None:
        print(f"skipped: there is no {named}")
        return SKIPPED
    compiler = for_devices(path, (90,)) if named == "nvcc" else on_host(path)
    if options.self_test:
        return self_test(compiler)
    record = pathlib.Path(options.words[0])
    return (write if options.write else check)(record, compiler, options.include)


if __name__ == "__main__":
    sys.exit(main())
