# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a program and tells what that took."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import sizes

ARCHITECTURES = (80, 90, 100, 103, 120)


class Failure(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Compiler:
    name: str  # as the tables and records have it
    command: tuple[str, ...]
    suffix: str

    @property
    def is_nvcc(self) -> bool:
        return self.suffix == ".cu"

    def version(self) -> str:
        """The release, as far as it decides what code comes out."""
        run = subprocess.run([self.command[0], "--version"], capture_output=True, text=True, check=True)
        lines = run.stdout.splitlines()
        if self.is_nvcc:
            return next(line for line in lines if "release" in line).rsplit(", ", 1)[-1].lstrip("V")
        dump = subprocess.run([self.command[0], "-dumpfullversion"], capture_output=True, text=True)
        return dump.stdout.strip() if dump.returncode == 0 and dump.stdout.strip() else lines[0].split("version ", 1)[-1].split()[0]


@dataclasses.dataclass(frozen=True)
class Cost:
    cpu_seconds: float
    wall_seconds: float
    object_bytes: int
    text_bytes: int
    device_bytes: int
    instruction_bytes: int | None


def on_host(path: str, name: str | None = None) -> Compiler:
    return Compiler(name or pathlib.Path(path).name, (path, "-std=c++20", "-O2"), ".cpp")


def for_devices(path: str, architectures: tuple[int, ...]) -> Compiler:
    which = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
    name = f"nvcc, sm_{architectures[0]}" if len(architectures) == 1 else f"nvcc, {len(architectures)} architectures"
    return Compiler(name, (path, "-std=c++20", "-O2", *which), ".cu")


def find_nvcc() -> str | None:
    places = ["/usr/local/cuda/bin/nvcc", str(pathlib.Path(__file__).resolve().parents[2] / ".venv/nvcc/nvcc")]
    return shutil.which("nvcc") or next((place for place in places if os.access(place, os.X_OK)), None)


def cost_of(compiler: Compiler, program: str, include: pathlib.Path, repeat: int = 1, cuobjdump: str | None = None) -> Cost:
    """The least of `repeat` compilations: what another process does at the same time can only add to one."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / f"program{compiler.suffix}"
        source.write_text(program)
        made = folder / "program.o"
        command = [*compiler.command, f"-I{include}", "-c", str(source), "-o", str(made)]
        cpu, wall = [], []
        for _ in range(repeat):
            before, started = os.times(), time.monotonic()
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            after = os.times()
            if run.returncode != 0:
                raise Failure(f"{' '.join(command)}\n{run.stdout}\nin the program\n{program}")
            wall.append(time.monotonic() - started)
            cpu.append(after.children_user + after.children_system - before.children_user - before.children_system)
        has_code = cuobjdump is not None and sizes.device_bytes(made) > 0
        return Cost(
            cpu_seconds=min(cpu),
            wall_seconds=min(wall),
            object_bytes=made.stat().st_size,
            text_bytes=sizes.text_bytes(made),
            device_bytes=sizes.device_bytes(made),
            instruction_bytes=sizes.instruction_bytes(made, cuobjdump) if has_code else None,
        )
