#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds and runs every test that this machine can run. The last line says `N passed, N failed`.
#
#   sh tests/run.sh                 all suites
#   sh tests/run.sh --quick         only the suites that need no further compiler runs: host, layering, odr
#   sh tests/run.sh --full          the whole property matrix, with ten times the time
#   sh tests/run.sh --sanitize address|thread|undefined|all
#                                   the host suite under sanitizers, in build directories of its own
set -u
cd "$(dirname "$0")/.."

sanitizers= suites= timeout_factor=1
while [ $# -gt 0 ]; do
  case $1 in
    --full) export CHEVRON_TEST_FULL=1; timeout_factor=10 ;;
    --quick) suites='--suite host --suite layering --suite odr' ;;
    --sanitize)
      shift
      case ${1:-} in
        address | undefined) sanitizers="$sanitizers address" ;;
        thread) sanitizers="$sanitizers thread" ;;
        all) sanitizers='address thread' ;;
        *) echo "tests/run.sh: --sanitize takes address, thread, undefined or all" >&2; exit 2 ;;
      esac ;;
    -h | --help) sed -n '4,/^set/{/^#/s/^# \{0,1\}//p}' tests/run.sh; exit 0 ;;
    *) echo "tests/run.sh: unknown option '$1' (there are --quick, --full, --sanitize)" >&2; exit 2 ;;
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
  # What the host suite needs, with lines in the reports, optimised no further than compiles quickly.
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
        -Dcpp_args=-fno-sanitize=null,object-size,vptr "$@" ;;
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
      run build-tsan '--suite host' $((timeout_factor * 10)) "$in_front" -Db_sanitize=thread "$@" ;;
  esac
done
[ -n "$sanitizers" ] || run build "$suites" $timeout_factor ''

python3 scripts/count_tests.py $logs
