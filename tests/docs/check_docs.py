#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the C++ programs in the documentation.

    check_docs.py --pages ROOT                       prints the pages that hold a program
    check_docs.py --include FOLDER PAGE COMPILER...  compiles and links each ```cpp block of a page that has a main
    check_docs.py --same PAGE FILE                   the page's first program is the text of the file
    check_docs.py --self-test
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^( *)```cpp\n(.*?)^\1```\s*$", re.MULTILINE | re.DOTALL)
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror", "-pthread"]


def programs(text: str) -> list[tuple[int, str]]:
    """Each block that is a whole program, with the line it begins at."""
    return [
        (text.count("\n", 0, match.start(2)) + 1, match[2])
        for match in FENCE.finditer(text)
        if re.search(r"\bint main\b", match[2])
    ]


def pages(root: pathlib.Path) -> list[str]:
    candidates = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [page.relative_to(root).as_posix() for page in candidates if page.is_file() and programs(page.read_text(encoding="utf-8"))]


def compile_page(include: str, page: pathlib.Path, compiler: list[str]) -> int:
    failed = 0
    for line, program in programs(page.read_text(encoding="utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "program.cpp")
            source.write_text(f'#line {line} "{page}"\n{program}', encoding="utf-8")
            command = [*compiler, *FLAGS, f"-I{include}", str(source), "-o", str(pathlib.Path(folder, "program"))]
            if subprocess.run(command).returncode != 0:
                print(f"{page}:{line}: this program does not build")
                failed = 1
    return failed


def without_license(text: str) -> list[str]:
    lines = text.strip().splitlines()
    return lines[1:] if lines and "SPDX-License-Identifier" in lines[0] else lines


def differences(page: str, file: str) -> list[str]:
    found = programs(page)
    if not found:
        return ["the page holds no program"]
    return list(difflib.unified_diff(without_license(file), without_license(found[0][1]), "file", "page", lineterm=""))


def self_test() -> int:
    program = "int main() { return 0; }"
    page = f"# Title\n\n```cpp\nint x;\n```\nthen\n```cpp\n{program}\n```\nand\n```sh\nint main\n```\n"
    assert programs(page) == [(8, program + "\n")], programs(page)
    assert differences(page, f"// SPDX-License-Identifier: x\n{program}\n") == []
    assert differences(page, "int main() { return 1; }") != []
    assert differences("no program", program) != []
    return 0


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--self-test"]:
            return self_test()
        case ["--pages", root]:
            print("\n".join(pages(pathlib.Path(root))))
            return 0
        case ["--same", page, file]:
            found = differences(*(pathlib.Path(name).read_text(encoding="utf-8") for name in (page, file)))
            print("\n".join(found))
            return 1 if found else 0
        case ["--include", include, page, *compiler] if compiler:
            return compile_page(include, pathlib.Path(page), compiler)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
