#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a library exports each function of nccl.h, under both of its names, the host functions of
nccl_device.h, and nothing else.

    check_exports.py LIBRARY COMPILER INCLUDE_FOLDER...
"""

import re
import subprocess
import sys


def declared(compiler: str, folders: list[str]) -> set[str]:
    command = [compiler, "-x", "c++", "-E", *(f"-I{folder}" for folder in folders), "-"]
    text = subprocess.run(command, input="#include <nccl.h>\n", capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\b(p?nccl[A-Z]\w*)\s*\(", text))


# The host functions of nccl_device.h that are no inline functions, and one of 2.29 that nccl-tests asks for.
for_devices = {
    "ncclCommQueryProperties", "ncclDevCommCreate", "ncclDevCommDestroy", "ncclGinBarrierCreateRequirement",
    "ncclLLA2ACalcSlots", "ncclLLA2ACreateRequirement", "ncclLsaBarrierCreateRequirement", "ncclTeamLsa",
    "ncclTeamRail", "ncclTeamRankToLsa", "ncclTeamRankToWorld", "ncclTeamWorld",
}


def exported(library: str) -> set[str]:
    command = ["nm", "-D", "--defined-only", library]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].partition("@")[0] for line in text.splitlines() if line.split()[-2] != "A"}


def main() -> int:
    want, have = declared(sys.argv[2], sys.argv[3:]), exported(sys.argv[1])
    assert len(want) > 60, f"only {len(want)} functions were found in nccl.h"
    want |= for_devices
    missing, alien = sorted(want - have), sorted(have - want)
    for name in missing:
        print(f"not exported: {name}")
    for name in alien:
        print(f"exported, but not of nccl.h: {name}")
    return 1 if missing or alien else 0


if __name__ == "__main__":
    sys.exit(main())
