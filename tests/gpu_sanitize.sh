#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the tests of a build with a GPU under compute-sanitizer's tools, each program with CHEVRON_TEST_SMALL=1 and a limit of
# its own. The last line says `N passed, N failed[, N skipped]`.
#
#   sh tests/gpu_sanitize.sh [BUILD_DIRECTORY] [TOOL...]    build-gpu; memcheck racecheck synccheck
#
# CHEVRON_SANITIZE_SECONDS limits each program (300). A tool that lets kernels only run one after the other can't run ranks
# that wait for each other, so it is skipped.
set -u
cd "$(dirname "$0")/.."

build=${1:-build-gpu}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- memcheck racecheck synccheck
limit=${CHEVRON_SANITIZE_SECONDS:-300}
programs='core_device_arithmetic collective_cuda_calls transport_cuda_failure transport_cuda_ordering
  collective_cuda_matrix_float32_2_to_6 collective_cuda_matrix_bfloat16_2_to_6 collective_cuda_matrix_int8_2_and_4'

sanitizer=$(command -v compute-sanitizer || true)
[ -n "$sanitizer" ] || [ ! -x /usr/local/cuda/bin/compute-sanitizer ] || sanitizer=/usr/local/cuda/bin/compute-sanitizer
if [ -z "$sanitizer" ]; then
  echo "skipped: there is no compute-sanitizer"
  exit 77
fi
export CHEVRON_TEST_SMALL=1

passed=0 failed=0 skipped=0
# try TOOL PROGRAM [ARGUMENT...]: the status of the program, 99 where the tool has found something, 124 at the limit. Errors
# that a test provokes from CUDA's own functions are its own business.
try() {
  tool=$1 program=$2
  shift 2
  timeout --kill-after=20 "$limit" "$sanitizer" --tool "$tool" --report-api-errors no --error-exitcode 99 \
    "$build/tests/${program}_test" "$@"
}

for tool in "$@"; do
  if ! output=$(try "$tool" collective_cuda_calls '[concurrent]' 2>&1); then
    if printf '%s\n' "$output" | grep -q 'within the deadline'; then
      echo "skipped: under $tool kernels do not run at the same time"
      skipped=$((skipped + 1))
      continue
    fi
    printf '%s\n' "$output" | tail -n 40
    echo "failed: $tool: two ranks' call"
    failed=$((failed + 1))
    continue
  fi
  for program in $programs; do
    if [ ! -x "$build/tests/${program}_test" ]; then
      echo "failed: $build/tests/${program}_test was not built"
      failed=$((failed + 1))
      continue
    fi
    output=$(try "$tool" "$program" 2>&1)
    case $? in
      0)
        passed=$((passed + 1))
        echo "passed: $tool: $program" ;;
      77)
        skipped=$((skipped + 1))
        echo "skipped: $tool: $program" ;;
      124 | 137)
        skipped=$((skipped + 1))
        echo "skipped: $tool: $program has not ended within $limit seconds; nothing was found until then" ;;
      *)
        failed=$((failed + 1))
        printf '%s\n' "$output" | tail -n 60
        echo "failed: $tool: $program" ;;
    esac
  done
done
echo "$passed passed, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
