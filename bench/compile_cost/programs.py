# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs whose compilation is measured."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Use:
    """An all-reduce that a program makes, its algorithm chosen by a table."""

    ranks: int
    element: str = "float"
    operation: str = "Sum"

    @property
    def type(self) -> str:
        return self.element if self.element in ("float", "double") else f"chevron::{self.element}"

    def text(self) -> str:
        return f"TP={self.ranks} {self.element} {self.operation.lower()}"


ELEMENTS = {"half": "half", "bf16": "bfloat16", "float": "float"}
GRID = [Use(ranks, element) for ranks in (2, 4, 8) for element in ELEMENTS.values()]


def _by_ranks(uses: list[Use]) -> dict[int, list[tuple[int, Use]]]:
    grouped: dict[int, list[tuple[int, Use]]] = {}
    for number, use in enumerate(uses):
        grouped.setdefault(use.ranks, []).append((number, use))
    return grouped


def _selectors(uses: list[Use], table: str) -> list[str]:
    return [
        f"using Selector{number} = chevron::Selector<chevron::tables::{table}, chevron::RankCounts<{use.ranks}>, "
        f"chevron::Elements<{use.type}>, chevron::Operations<chevron::{use.operation}>>;"
        for number, use in enumerate(uses)
    ]


def host(uses: list[Use]) -> str:
    """A rank that joins threads, makes a window and reduces in it: all that a first use takes."""
    lines = ["#include <chevron/chevron.hpp>", *_selectors(uses, "Host")]
    for ranks, numbered in _by_ranks(uses).items():
        lines += [
            f"bool run_on_{ranks}(chevron::HostThreads<{ranks}>& group, int rank) {{",
            f"  auto communicator = group.join<{', '.join(f'Selector{number}' for number, _ in numbered)}>(rank);",
            "  if (!communicator) return false;",
        ]
        for number, use in numbered:
            lines += [
                f"  auto window{number} = communicator->allocate<{use.type}>(1000);",
                f"  if (!window{number} || !chevron::all_reduce<Selector{number}>(*communicator, window{number}->data(), "
                f"window{number}->data(), 1000, chevron::{use.operation}{{}}))",
                "    return false;",
            ]
        lines += ["  return true;", "}"]
    return "\n".join(lines) + "\n"


def cuda(uses: list[Use], table: str) -> str:
    """The ranks of one process, a device each, that make windows and reduce in them."""
    lines = ["#include <chevron/chevron.cuh>", *_selectors(uses, table)]
    for ranks, numbered in _by_ranks(uses).items():
        devices = ", ".join(map(str, range(ranks)))
        lines += [
            f"bool run_on_{ranks}() {{",
            f"  auto made = chevron::CudaPeer<{ranks}>::create<{', '.join(f'Selector{number}' for number, _ in numbered)}>({{{devices}}});",
            "  if (!made) return false;",
            "  for (auto& communicator : *made) {",
        ]
        for number, use in numbered:
            lines += [
                f"    auto window{number} = communicator.template allocate<{use.type}>(1000);",
                f"    if (!window{number} || !chevron::all_reduce<Selector{number}>(communicator, window{number}->data(), "
                f"window{number}->data(), 1000, nullptr, chevron::{use.operation}{{}}))",
                "      return false;",
            ]
        lines += ["  }", "  return true;", "}"]
    return "\n".join(lines) + "\n"


# A reduction within one device, to compare with.
CUB = """#include <cub/device/device_reduce.cuh>
cudaError_t reduce(void* storage, size_t& storage_bytes, float const* in, float* out, int count) {
  return cub::DeviceReduce::Sum(storage, storage_bytes, in, out, count);
}
"""
EMPTY = ""
HOST_HEADERS = "#include <chevron/chevron.hpp>\n"
CUDA_HEADERS = "#include <chevron/chevron.cuh>\n"
