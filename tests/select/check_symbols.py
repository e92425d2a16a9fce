#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a program holds the algorithms that it asked for and no others: what is unused is not compiled.

    check_symbols.py --include FOLDER --nm NM COMPILER...

With nvcc: that there is a kernel for each body and number of packs in flight that a table reaches, and no other.
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
struct Particular {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    return std::array{Row{.architectures = {90}, .in_windows_only = true, .policy = {one_shot_pull}},
                      Row{.operations = OperationSet::of(OperationKind::max), .policy = {two_shot_push}},
                      Row{.elements = ElementSet::of(ElementKind::float64), .policy = {reduce_scatter_all_gather}},
                      Row{.policy = {one_shot_push}}};
  }
};
using Particularly = Selector<Particular, RankCounts<2>, Elements<float, double>, Operations<Sum, Max>>;
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
    # Neither what is for devices, nor for another operation, nor for another element.
    ("HostThreads", "all_reduce<Particularly>(ranks, data, data, 100)", {PUSH}),
    ("HostThreads", "ranks.status()", set()),
    # Among processes whether the buffers lie in windows is known only when the program runs.
    ("HostSharedMemory", "all_reduce<Ours>(ranks, data, data, 100)", {PUSH, STAGED, ZERO_COPY}),
    ("HostSharedMemory", "all_reduce<Ours, Count<16>>(ranks, data, data)", {PUSH}),
    ("HostSharedMemory", "all_reduce<Ours, Count<(16 << 20)>>(ranks, data, data)", {STAGED, ZERO_COPY}),
]

KERNELS = """
#include <chevron/chevron.cuh>
#include <array>
using namespace chevron;
struct Table {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    constexpr auto with = [](AllReduceAlgorithm algorithm, int packs) {
      return Policy{.algorithm = algorithm, .cuda = {.packs = packs}};
    };
    return std::array{
        Row{.architectures = {0, 1}, .policy = with(two_shot_push, 0)},
        Row{.bytes = {0, 10}, .policy = with(one_shot_push, 4)},
        Row{.bytes = {10, 20}, .policy = with(one_shot_push, 0)},
        Row{.bytes = {20, 30}, .in_windows_only = true, .policy = with(one_shot_pull, 2)},
        Row{.bytes = {30, 40}, .in_windows_only = true, .policy = with(one_shot_pull, 0)},
        Row{.bytes = {40, 50}, .in_windows_only = true, .policy = with(one_shot_pull, 4)},
        Row{.architectures = {100}, .policy = with(reduce_scatter_all_gather, 0)},
        Row{.policy = with(one_shot_push, 0)},
    };
  }
};
using Chosen = Selector<Table, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<ARCHITECTURE>>;
using OneDevice = CudaPeer<2, cuda::thread_scope_device>;
auto call(Communicator<OneDevice> const& ranks, float* data) { return all_reduce<Chosen>(ranks, data, data, 10, nullptr); }
"""
# For which architecture, and the kernels: algorithm and packs in flight, of which two are usual.
KERNEL_CASES = [
    ("90", {(PUSH, 2), (PULL, 2), (PULL, 4)}),
    ("100", {(PUSH, 2), (PULL, 2), (PULL, 4), (STAGED, 2)}),
]
KERNEL = re.compile(r"run_lanes<chevron::detail::Anywhere<(?:chevron::InFlight<)?chevron::(\w+)<.*chevron::CudaLane<2, [^<>]*, (\d+)>")


def kernels_in(program: str, compiler: list[str], nm: str, include: pathlib.Path) -> set[tuple[str, int]]:
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.cu")
        source.write_text(program)
        object_file = pathlib.Path(folder, "program.o")
        subprocess.run([*compiler, "-std=c++20", "-arch=sm_90", "-c", f"-I{include}", str(source), "-o", str(object_file)],
                       check=True, timeout=240)
        symbols = subprocess.run([nm, "-C", str(object_file)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {(match[1], int(match[2])) for match in KERNEL.finditer(symbols)}


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
    if "nvcc" in pathlib.Path(options.compiler[-1]).name:
        for architecture, wanted in KERNEL_CASES:
            found = kernels_in(KERNELS.replace("ARCHITECTURE", architecture), options.compiler, options.nm, options.include)
            if found != wanted:
                failed = True
                print(f"architecture {architecture}\n  should hold {sorted(wanted)}\n  but holds   {sorted(found)}")
        return 1 if failed else 0
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
