# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the rows of a header that chevron-tune wrote, without a compiler."""

import functools
import pathlib
import re

from policies import ELEMENTS, MOST_RANKS, Policy
from solve import Row, choose as choose_row

UNITS = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


def size_of(text: str) -> int:
    number, *unit = text.split(" * ")
    return int(number) * (UNITS[unit[0]] if unit else 1)


@functools.cache
def rows(table: pathlib.Path) -> list[Row]:
    found = []
    for text in table.read_text().split("chevron::Row{")[1:]:
        text = text.split(".source")[0]

        def member(pattern: str, text=text):
            match = re.search(pattern, text)
            return match[1] if match else None

        ranks = member(r"\.ranks = \{(.*?)\}")
        sizes = (member(r"\.bytes = \{(.*?)\}") or "0").split(", ")
        kinds = re.findall(r"ElementKind::(\w+)", text)
        values = {"algorithm": member(r"\.algorithm = (\w+)")}
        for name in ("lanes", "threads", "packs"):
            if number := member(rf"\.{name} = (\d+)"):
                values[name] = int(number)
        for name, kind in (("stores", "Stores"), ("ordering", "Ordering"), ("let_go", "LetGo")):
            if value := member(rf"\.{name} = chevron::{kind}::(\w+)"):
                values[name] = value
        if ".dependent_launch = false" in text:
            values["let_go"] = "never"
        found.append(
            Row(
                Policy(**values),
                tuple(map(int, ranks.split(", "))) if ranks else (1, MOST_RANKS),
                size_of(sizes[0]),
                size_of(sizes[1]) if len(sizes) > 1 else None,
                frozenset(kinds) or None,
                ".in_windows_only = true" in text,
            )
        )
    return found


def choose(table: pathlib.Path, ranks: int, element: str, size: int, in_windows: bool) -> Policy:
    return choose_row(rows(table), ranks, ELEMENTS[element][0], size, in_windows)
