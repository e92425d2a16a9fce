#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a list in a meson.build names every file on disk that it should name.

    check_lists.py LIST FOLDER 'PATTERN PATTERN...' [FILE...]   LIST: where to add what is missing; FILE: what it names
    check_lists.py --self-test
"""

import pathlib
import sys
import tempfile


def unlisted(folder: pathlib.Path, patterns: list[str], listed: list[str]) -> list[str]:
    on_disk = {path.relative_to(folder).as_posix() for pattern in patterns for path in folder.glob(pattern)}
    return sorted(on_disk - set(listed))


def self_test() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "core").mkdir()
        for file in ("core/a.hpp", "core/b.cuh", "core/notes.txt"):
            (folder / file).touch()
        both = ["**/*.hpp", "**/*.cuh"]
        assert unlisted(folder, both, ["core/a.hpp", "core/b.cuh"]) == []
        assert unlisted(folder, both, ["core/a.hpp"]) == ["core/b.cuh"]
        assert unlisted(folder, ["**/*.hpp"], []) == ["core/a.hpp"]
    return 0


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        return self_test()
    where, folder, patterns, *listed = arguments
    missing = unlisted(pathlib.Path(folder), patterns.split(), listed)
    for file in missing:
        print(f"{file} is not in the list in {where}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
