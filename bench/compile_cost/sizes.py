# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many bytes of which kind an object file holds."""

from __future__ import annotations

import pathlib
import struct
import subprocess
import tempfile

EXECUTABLE = 0x4  # SHF_EXECINSTR
WITHOUT_BYTES = 8  # SHT_NOBITS


def sections(file: pathlib.Path) -> list[tuple[str, int, bool]]:
    """Name, size in bytes and whether it is code, of each section of a 64-bit little-endian ELF file."""
    data = file.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{file} is no 64-bit little-endian ELF file")
    table = struct.unpack_from("<Q", data, 0x28)[0]
    entry_bytes, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    if table == 0:
        return []

    def header(index: int) -> tuple[int, ...]:
        return struct.unpack_from("<IIQQQQIIQQ", data, table + index * entry_bytes)

    if count == 0:  # more sections than 16 bits count: the first header says how many
        count = header(0)[5]
    if names_at == 0xFFFF:
        names_at = header(0)[6]
    names = header(names_at)[4]
    found = []
    for index in range(count):
        name, kind, flags, _, _, size, *_ = header(index)
        end = data.index(b"\0", names + name)
        if kind != WITHOUT_BYTES:
            found.append((data[names + name : end].decode(), size, bool(flags & EXECUTABLE)))
    return found


def text_bytes(file: pathlib.Path) -> int:
    """The host's instructions."""
    return sum(size for _, size, is_code in sections(file) if is_code)


def device_bytes(file: pathlib.Path) -> int:
    """What is there for devices, for every architecture, as it comes to lie in a program."""
    return sum(size for name, size, _ in sections(file) if name in (".nv_fatbin", "__nv_relfatbin"))


def instruction_bytes(file: pathlib.Path, cuobjdump: str) -> int:
    """The devices' instructions, uncompressed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([cuobjdump, "-xelf", "all", str(file.resolve())], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return sum(text_bytes(cubin) for cubin in pathlib.Path(folder).iterdir())
