# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes rows as a header. What the library's structs are called, and which fields they have, is known here alone."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import textwrap

from policies import ELEMENTS, MOST_RANKS, Policy
from solve import Row

UNITS = (("gib", 1 << 30), ("mib", 1 << 20), ("kib", 1 << 10))


@dataclasses.dataclass(frozen=True)
class Library:
    """What the chevron at hand can say in a row."""

    packs: bool  # CudaGeometry::packs

    @staticmethod
    def at(include: pathlib.Path) -> Library:
        policy = include / "chevron" / "select" / "policy.hpp"
        return Library(packs=policy.exists() and re.search(r"^\s*int packs\b", policy.read_text(), re.MULTILINE) is not None)


@dataclasses.dataclass(frozen=True)
class About:
    """What stands in the header beside the rows."""

    name: str
    namespace: str
    machine: str
    date: str
    command: str
    facts: tuple[str, ...]  # sentences about how good the table is
    proven: tuple[tuple[int, ...], tuple[str, ...]]  # rank counts and elements that it must cover


def size_text(size_bytes: int) -> str:
    for name, unit in UNITS:
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} * {name}"
    return str(size_bytes)


def policy_text(policy: Policy, on_device: bool, library: Library) -> str:
    """A designated initialiser of chevron::Policy; what is the default is not said."""
    members = [f".algorithm = {policy.algorithm}"]
    if not on_device:
        if policy.stores != "temporal":
            members.append(f".stores = chevron::Stores::{policy.stores}")
        return "{" + ", ".join(members) + "}"
    geometry = [f".lanes = {policy.lanes}", f".threads = {policy.threads}"]
    if policy.packs:
        if not library.packs:
            raise ValueError("this chevron's tables can't say how many packs are in flight")
        geometry.append(f".packs = {policy.packs}")
    if policy.ordering != "relaxed_arrival":
        geometry.append(f".ordering = chevron::Ordering::{policy.ordering}")
    if policy.let_go == "never":
        geometry.append(".dependent_launch = false")
    elif policy.let_go != "at_once":
        geometry.append(f".let_go = chevron::LetGo::{policy.let_go}")
    members.append(".cuda = {" + ", ".join(geometry) + "}")
    return "{" + ", ".join(members) + "}"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def row_text(row: Row, about: About, on_device: bool, library: Library) -> str:
    """A designated initialiser of chevron::Row."""
    members = []
    if row.ranks != (1, MOST_RANKS):
        members.append(f".ranks = {{{row.ranks[0]}, {row.ranks[1]}}}")
    if row.begin or row.end is not None:
        ends = [size_text(row.begin)] + ([size_text(row.end)] if row.end is not None else [])
        members.append(f".bytes = {{{', '.join(ends)}}}")
    if row.elements is not None:
        kinds = ", ".join(f"chevron::ElementKind::{kind}" for kind in sorted(row.elements))
        members.append(f".elements = chevron::ElementSet::of({kinds})")
    if row.in_windows_only:
        members.append(".in_windows_only = true")
    members.append(f".policy = {policy_text(row.policy, on_device, library)}")
    origin = f"{about.machine}; {about.date}; {about.command}; {row.score}"
    lines = textwrap.wrap(origin, 96, break_long_words=False, break_on_hyphens=False, drop_whitespace=False)
    source = ("\n" + " " * 22).join(quoted(line) for line in lines)
    members.append(f".source = {source}")
    return "        chevron::Row{\n            " + ",\n            ".join(members) + "},"


def comment(text: str) -> str:
    return "\n".join("//! " + line for line in textwrap.wrap(text, 112, break_long_words=False, break_on_hyphens=False))


def header(rows: list[Row], about: About, on_device: bool, library: Library) -> str:
    guard = re.sub(r"\W", "_", f"{about.namespace}_{about.name}").strip("_").upper() + "_HPP"
    ranks, elements = about.proven
    types = ", ".join(ELEMENTS[element][2] for element in elements)
    kib = "".join(f"    [[maybe_unused]] constexpr std::size_t {name} = {unit};\n" for name, unit in reversed(UNITS))
    begin = f"namespace {about.namespace} {{\n\n" if about.namespace else ""
    end = f"\n}}  // namespace {about.namespace}\n" if about.namespace else ""
    body = "\n".join(row_text(row, about, on_device, library) for row in rows)
    facts = "\n//!\n".join(comment(fact) for fact in (f"Measured on {about.machine}, {about.date}, with `{about.command}`.", *about.facts))
    return f"""// Written by chevron-tune; run it again rather than edit this.
#ifndef {guard}
#define {guard}

#include <chevron/core/element.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

{begin}//! @brief A selection table.
//!
{facts}
struct {about.name} {{
  static constexpr auto rows() {{
    using enum chevron::AllReduceAlgorithm;
{kib}    return std::array{{
{body}
    }};
  }}
}};

//! Every size of what was measured reaches a row, or this does not compile.
static_assert(chevron::Selector<{about.name}, chevron::RankCounts<{', '.join(map(str, ranks))}>,
                                chevron::Elements<{types}>>::total);
{end}
#endif
"""


def type_name(path: pathlib.Path) -> str:
    """my_table.hpp holds MyTable."""
    words = [word for word in re.split(r"\W|_", path.stem) if word]
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name if name[:1].isalpha() else "Table" + name
