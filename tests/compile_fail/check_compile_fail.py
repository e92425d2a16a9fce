#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that wrong uses are refused with the right sentence. A file holds parts like

    #if defined(CASE_no_row)  // expect-error: chevron: the table has no row for .* elements
    ...
    #endif

It compiles as it is; with -DCASE_x it does not, and the compiler's output matches the expression beside the case, and
those in the lines `// and: regex` that follow it. A sentence of chevron's own must be the first error, and no mistake may
cause more than a dozen. nvcc compiles for the device alone, which is where it looks at everything.

    check_compile_fail.py --include FOLDER FILE COMPILER...
    check_compile_fail.py --self-test COMPILER...
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Messages alone, without the source lines they are about, and never wrapped.
SYNTAX = ["-std=c++20", "-fsyntax-only", "-fno-diagnostics-color"]
FLAGS = {
    "g++": [*SYNTAX, "-fdiagnostics-plain-output"],
    "clang++": [*SYNTAX, "-ferror-limit=0", "-fno-caret-diagnostics", "-fmessage-length=0"],
    "nvcc": ["-std=c++20", "-arch=sm_90", "-x", "cu", "-ptx", "-o", "/dev/null"],
}

MOST_ERRORS = 12
ERROR = re.compile(r"\berror(?: #\S+)?: ")

CASE = re.compile(r"\bdefined\s*\(?\s*(CASE_\w+)|^\s*#\s*ifdef\s+(CASE_\w+)")
EXPECTATION = re.compile(r"//\s*expect-error:\s*(.*\S)")
MORE = re.compile(r"^\s*//\s*and:\s*(.*\S)")


def cases_of(text: str) -> tuple[dict[str, list[str]], list[str]]:
    """Each case's expressions, that of the error first, and what is wrong with how the file is written."""
    expected: dict[str, list[str]] = {}
    wrong = []
    latest = None
    for number, line in enumerate(text.splitlines(), start=1):
        more = MORE.match(line)
        if more is not None and latest is not None:
            expected[latest].append(more[1])
            continue
        if more is not None:
            wrong.append(f"line {number}: an `and:` that follows no expectation")
            continue
        latest = None
        match = CASE.search(line)
        if match is None:
            if EXPECTATION.search(line):
                wrong.append(f"line {number}: an expectation with no case on its line")
            continue
        name = match[1] or match[2]
        expectation = EXPECTATION.search(line)
        if expectation is not None:
            if name in expected:
                wrong.append(f"line {number}: {name} has two expectations")
            expected[name] = [expectation[1]]
            latest = name
        elif name not in expected:
            wrong.append(f"line {number}: {name} has no `// expect-error: regex` where it is first named")
    if not expected:
        wrong.append("no case in it")
    return expected, wrong


# nvcc names a class by its parameters and says their arguments behind it; the expressions are of the others' form.
WITH = re.compile(r'"(?P<name>[\w:]+)<(?P<parameters>[\w, ]+)> \[with (?P<arguments>[^\]]+)\]"')


def with_arguments(output: str) -> str:
    """Adds a line with the class's arguments in their places for each class that nvcc tells of."""
    lines = []
    for match in WITH.finditer(output):
        value = dict(one.split("=", 1) for one in re.split(r", (?=\w+=)", match["arguments"]))
        places = [value.get(parameter, parameter) for parameter in match["parameters"].split(", ")]
        lines.append(f"{match['name']}<{', '.join(places)}>")
    return "\n".join([output, *lines])


def command_of(compiler: list[str], include: pathlib.Path | None) -> list[str]:
    program = pathlib.Path(compiler[-1]).name
    name = "clang++" if "clang" in program else "nvcc" if "nvcc" in program else "g++"
    return [*compiler, *FLAGS[name], *([f"-I{include}"] if include else [])]


def compile_file(command: list[str], file: pathlib.Path, *extra: str) -> tuple[bool, str]:
    run = subprocess.run([*command, *extra, str(file)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return run.returncode == 0, with_arguments(run.stdout)


def precompile(compiler: list[str], include: pathlib.Path, output: pathlib.Path) -> int:
    """Makes what lets a compiler begin a case with the library's headers already read, which take most of the time."""
    header = output.with_suffix("")
    header.write_text("#include <chevron/chevron.hpp>\n")
    command = [word for word in command_of(compiler, include) if word != "-fsyntax-only"]
    made = ["-o", str(output), "-MMD", "-MF", f"{output}.d", "-MT", str(output)]
    return subprocess.run([*command, "-x", "c++-header", str(header), *made]).returncode


def beginning_with(precompiled: pathlib.Path) -> list[str]:
    if precompiled.suffix == ".gch":  # g++ looks for it beside the header
        return ["-include", str(precompiled.with_suffix(""))]
    return ["-include-pch", str(precompiled)]


def failures(compiler: list[str], include: pathlib.Path | None, file: pathlib.Path, precompiled: pathlib.Path | None = None) -> list[str]:
    expected, wrong = cases_of(file.read_text(encoding="utf-8"))
    found = [f"{file.name}: {what}" for what in wrong]
    command = command_of(compiler, include)
    compiles, output = compile_file(command, file)  # reads its headers by itself
    if not compiles:
        found.append(f"{file.name}: without a case it must compile, but says:\n{output}")
    if precompiled:
        command += beginning_with(precompiled)
    for case, (expression, *more) in expected.items():
        compiles, output = compile_file(command, file, f"-D{case}")
        if compiles:
            found.append(f"{file.name}: {case} compiles")
            continue
        errors = [line for line in output.splitlines() if ERROR.search(line)]
        if not re.search(expression, output):
            found.append(f"{file.name}: {case}: nothing matches `{expression}` in:\n{output}")
        elif expression.startswith("chevron:") and not (errors and re.search(expression, errors[0])):
            found.append(f"{file.name}: {case}: the first error is another one:\n{output}")
        found += [f"{file.name}: {case}: nothing matches `{one}` in:\n{output}" for one in more if not re.search(one, output)]
        if len(errors) > MOST_ERRORS:
            found.append(f"{file.name}: {case}: {len(errors)} errors:\n{output}")
    return found


def self_test(compiler: list[str]) -> int:
    good = """
        template <int N> struct Ranks { static_assert(N > 1, "chevron: too few ranks"); };
        Ranks<2> two;
        #if defined(CASE_one)  // expect-error: chevron: too few .anks
        // and: Ranks<1>
        Ranks<1> one;
        #elif defined(CASE_none)  // expect-error: chevron: too few ranks
        Ranks<0> none;
        #endif
        """
    bad = {
        "a case that compiles": good.replace("Ranks<1>", "Ranks<3>"),
        "another sentence": good.replace("too few .anks", "too many ranks"),
        "nothing compiles": good.replace("Ranks<2> two;", "Ranks<0> two;"),
        "no expectation": good.replace("// expect-error: chevron: too few .anks", ""),
        "no case": "int main() {}",
        "something else beside the sentence": good.replace("and: Ranks<1>", "and: Ranks<7>"),
        "more, but of nothing": good + "\n// and: Ranks<1>",
        "an expectation off its line": good + "// expect-error: chevron",
        "another error first": good.replace("Ranks<2> two;", "Ranks<2> two;\n#if defined(CASE_one)\nint x = y;\n#endif"),
        "too many errors": good.replace("Ranks<1> one;", "Ranks<1> one;" + "int x = y;" * (MOST_ERRORS + 1)),
    }
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "rule.cpp")
        file.write_text(good)
        found = failures(compiler, None, file)
        assert found == [], found
        for what, text in bad.items():
            file.write_text(text)
            assert failures(compiler, None, file), f"{what}: was not noticed"
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=pathlib.Path)
    parser.add_argument("--precompiled", type=pathlib.Path, help="what --precompile made with the same compiler")
    parser.add_argument("--precompile", type=pathlib.Path, metavar="HEADERS")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("words", nargs="+")
    options = parser.parse_args()
    if options.self_test:
        return self_test(options.words)
    if options.precompile:
        return precompile(options.words, options.include, options.precompile)
    found = failures(options.words[1:], options.include, pathlib.Path(options.words[0]), options.precompiled)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
