#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds and runs every test that this machine can run. The last line says `N passed, N failed`.
#
#   sh tests/run.sh                 all suites
#   sh tests/run.sh --quick         only the suites that need no further compiler runs: host, layering, odr
#   sh tests/run.sh --full          the whole property matrix, with ten times the time, in a build directory of its own
#   sh tests/run.sh --sanitize address|thread|undefined|all
#                                   the host suite under sanitizers, in build directories of its own
#   sh tests/run.sh --gpu           the gpu suite alone
#   sh tests/run.sh --few-benches   chevron-perf compiled for no more than what its tests run
#
# The gpu suite has a build directory of its own, build-gpu, and runs along where there are nvcc and a GPU.
# CHEVRON_TEST_GPU=1 builds it where there is nvcc alone (its tests are skipped then), CHEVRON_TEST_GPU=0 leaves it out;
# CHEVRON_GPU_ARCHS=90,100 says what to compile for, else it is what the first GPU is.
set -u
cd "$(dirname "$0")/.."

sanitizers= suites= timeout_factor=1 gpu=${CHEVRON_TEST_GPU:-auto} others=yes build=build
bench_scope=all all_groups=
while [ $# -gt 0 ]; do
  case $1 in
    --full) export CHEVRON_TEST_FULL=1; timeout_factor=10 build=build-full all_groups=-Dcpp_args=-DCHEVRON_TEST_GROUPS=1 ;;
    --few-benches) bench_scope=few ;;
    --gpu) gpu=1 others=no ;;
    --quick) suites='--suite host --suite layering --suite odr' gpu=0 ;;
    --sanitize)
      shift
      case ${1:-} in
        address | undefined) sanitizers="$sanitizers address" ;;
        thread) sanitizers="$sanitizers thread" ;;
        all) sanitizers='address thread' ;;
        *) echo "tests/run.sh: --sanitize takes address, thread, undefined or all" >&2; exit 2 ;;
      esac ;;
    -h | --help) sed -n '4,/^set/{/^#/s/^# \{0,1\}//p}' tests/run.sh; exit 0 ;;
    *) echo "tests/run.sh: unknown option '$1' (there are --quick, --full, --gpu, --few-benches, --sanitize)" >&2; exit 2 ;;
  esac
  shift
done

if ! sh scripts/setup.sh tests; then
  echo "0 passed, 1 failed"
  exit 1
fi

logs=
# run DIRECTORY 'SUITES' 'TIMEOUT FACTOR' 'COMMAND IN FRONT' [-Doption=value ...]
run() {
  directory=$1 chosen=$2 factor=$3 in_front=$4
  shift 4
  log=$directory/meson-logs/testlog.json
  logs="$logs $log"
  rm -f "$log"
  # Meson builds what the chosen suites need.
  sh scripts/configure.sh "$directory" "$@" && { [ -n "$chosen" ] || ninja -C "$directory"; } &&
    $in_front meson test -C "$directory" --print-errorlogs --timeout-multiplier "$factor" $chosen </dev/null
}

# try NAME 'COMPILER FLAGS' 'COMMAND IN FRONT': builds the program on standard input, runs it, prints its output.
try() {
  probe=$(mktemp -d)
  if ${CXX:-c++} -x c++ -std=c++20 $2 - -o "$probe/$1" >"$probe/output" 2>&1; then
    $3 "$probe/$1" >"$probe/output" 2>&1
  else
    false
  fi
  status=$?
  cat "$probe/output"
  rm -rf "$probe"
  return $status
}

for sanitizer in $sanitizers; do
  # What the host suite needs, with lines in the reports (-g1 alone: what debuggers need besides takes a third of the
  # compilers' time), optimised no further than compiles quickly.
  set -- -Dbuildtype=debugoptimized -Doptimization=1 -Dbench=disabled -Ddocs=disabled -Db_lundef=false
  case $sanitizer in
    address)
      # Finding leaks needs ptrace, which some containers do not have.
      leaks=0
      if echo 'int main() { volatile auto p = new int[9]; p = nullptr; }' |
        ASAN_OPTIONS=detect_leaks=1 try leaks -fsanitize=address '' | grep -q 'detected memory leaks'; then
        leaks=1
      else
        echo "tests/run.sh: LeakSanitizer does not work here, so leaks are not looked for" >&2
      fi
      export ASAN_OPTIONS="detect_leaks=$leaks:detect_stack_use_after_return=1:abort_on_error=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
      export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
      # The checks that are left out take long to compile, and the address sanitizer finds what they would.
      run build-asan '--suite host' $((timeout_factor * 5)) '' -Db_sanitize=address,undefined \
        -Dcpp_args='-g1 -fno-sanitize=null,object-size,vptr' "$@" ;;
    thread)
      # Kernels that scatter a process's addresses widely need it told not to.
      in_front=none
      for command in '' "setarch $(uname -m) -R"; do
        if echo 'int main() {}' | try threads -fsanitize=thread "$command" >/dev/null; then
          in_front=$command
          break
        fi
      done
      if [ "$in_front" = none ]; then
        echo "tests/run.sh: ThreadSanitizer does not work here" >&2
        logs="$logs build-tsan/meson-logs/testlog.json"
        rm -f build-tsan/meson-logs/testlog.json
        continue
      fi
      export TSAN_OPTIONS="halt_on_error=1:die_after_fork=0${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
      run build-tsan '--suite host' $((timeout_factor * 10)) "$in_front" -Db_sanitize=thread -Dcpp_args=-g1 "$@" ;;
  esac
done
if [ -z "$sanitizers" ]; then
  [ "$others" = no ] || run $build "$suites" $timeout_factor '' -Dbench_scope=$bench_scope $all_groups
  # Meson looks for nvcc in PATH; the Toolkit's installer leaves that to the user.
  command -v nvcc >/dev/null 2>&1 || [ ! -x /usr/local/cuda/bin/nvcc ] || PATH=$PATH:/usr/local/cuda/bin
  archs=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n '1{s/\.//;/^[0-9][0-9]*$/p}')
  if [ "$gpu" = auto ]; then
    gpu=0
    [ -z "$archs" ] || ! command -v nvcc >/dev/null 2>&1 || gpu=1
  fi
  [ "$gpu" = 0 ] || run build-gpu '--suite gpu' $timeout_factor '' -Dcuda=enabled \
    -Dgpu_archs="${CHEVRON_GPU_ARCHS:-${archs:-90}}" -Dbench=disabled -Dexamples=disabled -Ddocs=disabled
fi

python3 scripts/count_tests.py $logs
