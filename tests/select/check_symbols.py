#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a program holds the algorithms that it asked for and no others: what is unused is not compiled.

    check_symbols.py --include FOLDER --nm NM COMPILER...
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Without optimisation every instantiated function is a symbol of its own.
FLAGS = ["-std=c++20", "-O0", "-c"]
ALGORITHM = re.compile(r"chevron::(OneShotPush|OneShotPull|TwoShotPush|ReduceScatterAllGather(?:ZeroCopy|Push)?)<(\d+), ([\w:]+), ([\w:]+)")
PUSH, STAGED, ZERO_COPY = "OneShotPush", "ReduceScatterAllGather", "ReduceScatterAllGatherZeroCopy"
PULL, TWO_SHOT, PUSH_RSAG = "OneShotPull", "TwoShotPush", "ReduceScatterAllGatherPush"

PROGRAM = """
#include <chevron/chevron.hpp>
#include <array>
using namespace chevron;
struct PushOnly {
  static constexpr auto rows() { return std::array{Row{.policy = {AllReduceAlgorithm::one_shot_push}}}; }
};
using Ours = Selector<tables::Host, RankCounts<2, 4>, Elements<float, double>, Operations<Sum, Max>>;
using Pushing = Selector<PushOnly, RankCounts<2>, Elements<float>>;
auto call(Communicator<TRANSPORT<2>> const& ranks, float* data) { return CALL; }
"""

# On which transport what is called, and which algorithms may be there for it.
CASES = [
    # Among threads every buffer lies in a window, so nothing is there for others.
    ("HostThreads", "all_reduce<Ours>(ranks, data, data, 100)", {PUSH, ZERO_COPY}),
    ("HostThreads", "all_reduce<Ours, Count<16>>(ranks, data, data)", {PUSH}),
    ("HostThreads", "all_reduce<Ours, Count<(16 << 20)>>(ranks, data, data)", {ZERO_COPY}),
    ("HostThreads", "all_reduce<Pushing>(ranks, data, data, 100)", {PUSH}),
    ("HostThreads", "all_reduce<ReduceScatterAllGather<2, float>>(ranks, data, data, 100)", {STAGED}),
    ("HostThreads", "all_reduce<TwoShotPush<2, float>>(ranks, data, data, 100)", {TWO_SHOT}),
    ("HostThreads", "all_reduce<ReduceScatterAllGatherPush<2, float>>(ranks, data, data, 100)", {PUSH_RSAG}),
    # What a pull does where a rank is in place.
    ("HostThreads", "all_reduce<OneShotPull<2, float>>(ranks, data, data, 100)", {PULL, ZERO_COPY}),
    ("HostThreads", "ranks.status()", set()),
    # Among processes whether the buffers lie in windows is known only when the program runs.
    ("HostSharedMemory", "all_reduce<Ours>(ranks, data, data, 100)", {PUSH, STAGED, ZERO_COPY}),
    ("HostSharedMemory", "all_reduce<Ours, Count<16>>(ranks, data, data)", {PUSH}),
    ("HostSharedMemory", "all_reduce<Ours, Count<(16 << 20)>>(ranks, data, data)", {STAGED, ZERO_COPY}),
]


def algorithms_in(program: str, compiler: list[str], nm: str, include: pathlib.Path) -> set[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.cpp")
        source.write_text(program)
        object_file = pathlib.Path(folder, "program.o")
        subprocess.run([*compiler, *FLAGS, f"-I{include}", str(source), "-o", str(object_file)], check=True, timeout=120)
        symbols = subprocess.run([nm, "-C", str(object_file)], check=True, stdout=subprocess.PIPE, text=True).stdout
    # Only functions of an algorithm's own: others may have one among their template arguments.
    own = [line for line in symbols.splitlines() if "::run<" in line or "::move<" in line]
    return {match.groups() for line in own for match in ALGORITHM.finditer(line)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--nm", required=True)
    parser.add_argument("compiler", nargs="+")
    options = parser.parse_args()
    failed = False
    for transport, call, allowed in CASES:
        program = PROGRAM.replace("TRANSPORT", transport).replace("CALL", call)
        found = algorithms_in(program, options.compiler, options.nm, options.include)
        wanted = {(name, "2", "float", "chevron::Sum") for name in allowed}
        if found != wanted:
            failed = True
            print(f"{transport}: {call}\n  should hold {sorted(wanted)}\n  but holds   {sorted(found)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
