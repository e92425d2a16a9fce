#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds and runs a small program that finds chevron one way: `meson` (as a subproject), or `pkg_config` or `cmake` (both
installed into a prefix of their own). Exits 77 where a tool is missing.

    check_consumer.py WAY SOURCE_ROOT
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
TOOLS = {"meson": ["meson", "ninja"], "pkg_config": ["meson", "ninja", "pkg-config"], "cmake": ["meson", "ninja", "cmake"]}


def run(*command: str | pathlib.Path, cwd: pathlib.Path | None = None, **variables: str) -> str:
    """The command's output; what it said goes out and the check ends when it fails."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        print("$", *command)
        print(done.stdout)
        sys.exit(1)
    return done.stdout


def install(source: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """Installs chevron with nothing of its own built, and gives the prefix."""
    build, prefix = work / "chevron-build", work / "prefix"
    parts = [f"-D{part}=disabled" for part in ("tests", "examples", "bench", "docs", "cuda")]
    run("meson", "setup", *parts, f"--prefix={prefix}", build, source)
    run("meson", "install", "-C", build)
    return prefix


def use_meson(source: pathlib.Path, consumer: pathlib.Path, build: pathlib.Path) -> None:
    (consumer / "subprojects").mkdir()
    (consumer / "subprojects" / "chevron").symlink_to(source)
    run("meson", "setup", build, consumer)
    commands = json.loads((build / "compile_commands.json").read_text())
    leaked = [flag for flag in ("-Wconversion", "-Werror") if any(flag in unit["command"].split() for unit in commands)]
    if leaked:
        sys.exit(f"chevron's own warning flags reach the project that uses it: {leaked}")
    run("ninja", "-C", build)


def use_pkg_config(source: pathlib.Path, consumer: pathlib.Path, build: pathlib.Path) -> None:
    prefix = install(source, build.parent)
    build.mkdir()
    run("sh", "build.sh", build, cwd=consumer, PKG_CONFIG_PATH=str(prefix / "share" / "pkgconfig"))


def use_cmake(source: pathlib.Path, consumer: pathlib.Path, build: pathlib.Path) -> None:
    # An installed tree may be moved.
    prefix = install(source, build.parent).rename(build.parent / "moved-prefix")
    run("cmake", "-G", "Ninja", "-S", consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)


WAYS = {"meson": use_meson, "pkg_config": use_pkg_config, "cmake": use_cmake}


def main(way: str, source: str) -> int:
    for tool in TOOLS[way]:
        if shutil.which(tool) is None:
            print(f"{tool} is not there")
            return SKIPPED
    root = pathlib.Path(source).resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        consumer = work / "consumer"
        shutil.copytree(root / "tests" / "consumer" / way, consumer)
        shutil.copy(root / "tests" / "consumer" / "main.cpp", consumer)
        WAYS[way](root, consumer, work / "build")
        print(run(work / "build" / "consumer"))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
