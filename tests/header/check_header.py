#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a header alone, included twice, with all warnings as errors and with no CUDA Toolkit to be found."""

import argparse
import os
import pathlib
import subprocess
import sys

FLAGS = [
    *("-std=c++20", "-fsyntax-only", "-Werror"),
    *("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wno-sign-conversion", "-Wundef"),
]
# These lead to a Toolkit without the command saying so.
VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")


def search_path(compiler: list[str], environment: dict[str, str]) -> list[str]:
    """The folders that the compiler looks for headers in by itself, in its order."""
    run = subprocess.run(
        [*compiler, "-x", "c++", "-E", "-v", "/dev/null"], env=environment, capture_output=True, text=True, check=True
    )
    folders = run.stderr.partition("#include <...> search starts here:")[2].partition("End of search list.")[0]
    return [line.strip() for line in folders.splitlines() if line.strip()]


def holds_toolkit(folder: str) -> bool:
    # A distribution's own package shares /usr/include with everything else, which nothing does without.
    return folder != "/usr/include" and pathlib.Path(folder, "cuda_runtime.h").exists()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True)
    parser.add_argument("header")
    parser.add_argument("compiler", nargs="+")
    options = parser.parse_args()

    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | {"LC_ALL": "C"}
    folders = [folder for folder in search_path(options.compiler, environment) if not holds_toolkit(folder)]
    path = ["-nostdinc", "-nostdinc++", *(f"-isystem{folder}" for folder in folders)]
    command = [*options.compiler, *FLAGS, *path, f"-I{options.include}", "-x", "c++", "-"]
    return subprocess.run(command, env=environment, input=f"#include <{options.header}>\n" * 2, text=True).returncode


if __name__ == "__main__":
    sys.exit(main())
