#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that each folder of include/chevron includes only itself and the folders below it, by angle includes alone.

    check_layers.py INCLUDE_FOLDER     checks a tree
    check_layers.py --self-test        checks this script on small trees, good and bad
"""

import pathlib
import re
import sys
import tempfile

# Lowest first. An entry is a folder, or a file in one that stands elsewhere than the rest of it; the longest entry
# that a path begins with is the one that counts.
LAYERS = [
    "core",
    "sync",
    "host",
    "transport",
    "epilogue",
    "algorithm",
    "select",
    "collective",
    "nccl",
]

INCLUDE = re.compile(r"^\s*#\s*include\s*(?P<open>[<\"])(?P<file>[^>\"]+)[>\"]")


def layer_of(path: str) -> int | None:
    """The place in LAYERS of a path below chevron/; above them all for the headers in chevron/ itself."""
    if "/" not in path:
        return len(LAYERS)
    entries = [entry for entry in LAYERS if path == entry or path.startswith(entry + "/")]
    return LAYERS.index(max(entries, key=len)) if entries else None


def violations(include: pathlib.Path) -> list[str]:
    found = []
    root = include / "chevron"
    for file in sorted(path for path in root.rglob("*") if path.suffix in (".hpp", ".cuh", ".h", ".cu", ".inl")):
        name = file.relative_to(root).as_posix()
        own = layer_of(name)
        if own is None:
            found.append(f"{name}: its folder is not in the list of layers")
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            match = INCLUDE.match(line)
            if match is None:
                continue
            at, target = f"{name}:{number}", match["file"]
            if match["open"] == '"':
                found.append(f'{at}: "{target}" must be an angle include, from chevron/ on')
                continue
            if not target.startswith("chevron/"):
                continue
            if not (include / target).is_file():
                found.append(f"{at}: <{target}> does not exist")
                continue
            other = layer_of(target.removeprefix("chevron/"))
            if other is not None and other > own:
                above = LAYERS[other] if other < len(LAYERS) else "chevron/ itself"
                found.append(f"{at}: <{target}> is in a layer above ({LAYERS[own]} may not include {above})")
    return found


def violations_in(files: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, "chevron", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return violations(pathlib.Path(folder))


def self_test() -> int:
    good = {
        "core/a.hpp": "#include <cstdint>\n",
        "sync/b.hpp": "#include <chevron/core/a.hpp>\n",
        "sync/c.hpp": "#include <chevron/sync/b.hpp>\n",
        "chevron.hpp": "#include <chevron/sync/c.hpp>\n",
    }
    assert violations_in(good) == [], violations_in(good)
    bad = {
        "upward": {"core/a.hpp": "  #  include <chevron/sync/b.hpp>\n"},
        "all of it": {"sync/b.hpp": "#include <chevron/chevron.hpp>\n"},
        "quotes": {"sync/c.hpp": '#include "b.hpp"\n'},
        "no such file": {"sync/c.hpp": "#include <chevron/core/gone.hpp>\n"},
        "no such layer": {"attic/d.hpp": "\n"},
    }
    for what, change in bad.items():
        count = len(violations_in(good | change))
        assert count == 1, f"{what}: {count} violations were found where there is one"
    return 0


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        return self_test()
    found = violations(pathlib.Path(arguments[0]))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
