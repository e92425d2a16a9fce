#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a program of several files compiles its algorithms and kernels in one of them, and works.

    check_instantiate.py --include FOLDER --nm NM COMPILER...

`user.cpp` calls, `one.cpp` has CHEVRON_INSTANTIATE. With nvcc both are for devices; without one the program only looks
its kernels up.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# Functions of algorithms' own, and kernels with their stubs.
BODY = re.compile(r"chevron::(?:OneShot|TwoShot|ReduceScatter)\w*<[^()]*>::(?:run|move)<|\brun_lanes\b|9run_lanes")


def bodies_in(object_file: pathlib.Path, nm: str) -> list[str]:
    symbols = subprocess.run([nm, "-C", str(object_file)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line for line in symbols.splitlines() if BODY.search(line)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--nm", required=True)
    parser.add_argument("compiler", nargs="+")
    options = parser.parse_args()
    is_nvcc = "nvcc" in pathlib.Path(options.compiler[-1]).name
    language = ["-x", "cu", "-arch=sm_90"] if is_nvcc else []
    flags = ["-std=c++20", f"-I{options.include}"] + ([] if is_nvcc else ["-pthread"])
    failed = False
    # Compilers that optimise instantiate inline functions anew, whoever declares them elsewhere.
    for level in ["-O2"] if is_nvcc else ["-O0", "-O2"]:
        with tempfile.TemporaryDirectory() as folder:
            objects = {name: pathlib.Path(folder, name + ".o") for name in ("user", "one")}
            for name, file in objects.items():
                subprocess.run(
                    [*options.compiler, *flags, *language, level, "-c", str(HERE / (name + ".cpp")), "-o", str(file)],
                    check=True, timeout=300)
            program = pathlib.Path(folder, "program")
            subprocess.run([*options.compiler, *flags, *map(str, objects.values()), "-o", str(program)], check=True, timeout=120)
            if found := bodies_in(objects["user"], options.nm):
                failed = True
                print(f"{level}: the file that only uses has", *found, sep="\n  ")
            if level == "-O0" or is_nvcc:  # else they may all be inlined
                if not bodies_in(objects["one"], options.nm):
                    failed = True
                    print(f"{level}: the one file has no bodies: this test would see none")
            if subprocess.run([str(program)], timeout=120).returncode != 0:
                failed = True
                print(f"{level}: the program fails")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
