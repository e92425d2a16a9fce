#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says what came out of a test run, from the testlog.json files that Meson wrote: names of the tests that failed, then
`N passed, N failed[, N skipped]`. Exits non-zero when one failed or none ran."""

import json
import pathlib
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def main(logs: list[str]) -> int:
    passed, skipped, failed = 0, 0, []
    for log in map(pathlib.Path, logs):
        if not log.is_file():
            failed.append(f"{log}: was not written, so the build or the test run broke off")
            continue
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            test = json.loads(line)
            if test["result"] in PASSED:
                passed += 1
            elif test["result"] in SKIPPED:
                skipped += 1
            else:
                failed.append(f"{log.parent.parent}: {test['name']}: {test['result']}")
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
