#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Asks the compiler whether it vectorises loops over conversions and operations of one constant length.
#
#   sh tests/core/vectorise_check.sh g++ [flag ...]
#
# Exit status: 0 all loops are vectorised; 1 one is not, or nothing compiles (it says what); 77 the compiler is
# neither g++ nor clang++, so there is nobody to ask.
set -u
if [ $# -eq 0 ]; then
  sed -n '4,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
compiler=$1
shift
include=$(cd "$(dirname "$0")/../../include" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

case $(echo | $compiler -x c++ -E -dM - 2>/dev/null) in
  *'__clang__ 1'*) report=-Rpass=loop-vectorize vectorised='remark: vectorized loop' ;;
  *'__GNUC__ '*) report=-fopt-info-vec-optimized vectorised='optimized: loop vectorized' ;;
  *) echo "vectorise_check: '$compiler' is neither g++ nor clang++"; exit 77 ;;
esac

# One loop a line: the reports name lines.
cat >"$folder/loops.cpp" <<'END'
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
using namespace chevron;
namespace {
constexpr int count = 1024;
template <class T> T encode(float a) { return ElementTraits<T>::narrow(a); }
template <class T> float decode(T a) { return ElementTraits<T>::widen(a); }
template <class Op, class T> T pair(T a, T b) { return ElementTraits<T>::narrow(Op::combine(ElementTraits<T>::widen(a), ElementTraits<T>::widen(b))); }
template <class T> T average(T a, T b, T c, T d) {
  using E = ElementTraits<T>;
  auto const sum = Avg::combine(Avg::combine(Avg::combine(E::widen(a), E::widen(b)), E::widen(c)), E::widen(d));
  return E::narrow(detail::finish<Avg>(sum, 4));
}
}
#define IN(T) T const* __restrict
#define OUT(T) T* __restrict
END
for type in half bfloat16 float8_e4m3 float8_e5m2; do
  cat <<END
void encode_$type(IN(float) a, OUT($type) to) { for (int i = 0; i < count; ++i) to[i] = encode<$type>(a[i]); }
void decode_$type(IN($type) a, OUT(float) to) { for (int i = 0; i < count; ++i) to[i] = decode<$type>(a[i]); }
void average_$type(IN($type) a, IN($type) b, IN($type) c, IN($type) d, OUT($type) to) { for (int i = 0; i < count; ++i) to[i] = average(a[i], b[i], c[i], d[i]); }
END
done >>"$folder/loops.cpp"
for pair in Sum:float Sum:double Sum:half Sum:bfloat16 Prod:float Min:float Max:float Min:half Max:bfloat16 \
  Sum:int8_t Prod:int8_t Min:int8_t Sum:int32_t Prod:uint32_t Max:int32_t Sum:uint64_t; do
  op=${pair%:*} type=${pair#*:}
  case $type in *_t) type=std::$type ;; esac
  echo "void ${op}_${pair#*:}(IN($type) a, IN($type) b, OUT($type) to) { for (int i = 0; i < count; ++i) to[i] = pair<$op>(a[i], b[i]); }"
done >>"$folder/loops.cpp"

failures=0
# check FLAGS...: every line with a loop is reported as vectorised
check() {
  if ! $compiler -std=c++20 -I"$include" "$@" $report -c "$folder/loops.cpp" -o "$folder/loops.o" >"$folder/report" 2>&1; then
    cat "$folder/report"
    echo "vectorise_check: does not compile with $*"
    failures=$((failures + 1))
    return
  fi
  loops=$(grep -c '^void ' "$folder/loops.cpp") missing=0
  for loop in $(sed -n 's/^void \([a-zA-Z0-9_]*\)(.*/\1/p' "$folder/loops.cpp"); do
    line=$(grep -n "^void $loop(" "$folder/loops.cpp" | cut -d: -f1)
    if ! grep -q "loops.cpp:$line:.*$vectorised" "$folder/report"; then
      echo "vectorise_check: $compiler $* does not vectorise the loop of $loop"
      missing=$((missing + 1))
    fi
  done
  echo "vectorise_check: $compiler $*: $((loops - missing)) of $loops loops vectorised"
  failures=$((failures + missing))
}

check -O3 "$@"
# g++ vectorises at -O2 since version 12.
case $report in
  -Rpass*) check -O2 "$@" ;;
  *) [ "$($compiler -dumpversion | cut -d. -f1)" -lt 12 ] || check -O2 "$@" ;;
esac
case $($compiler -dumpmachine) in
  x86_64* | i?86*) check -O3 -mavx2 "$@" ;;
esac
[ $failures -eq 0 ]
