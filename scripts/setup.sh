#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what this machine lacks to build and run chevron's examples, tests or benches, with apt-get.
#
#   sh scripts/setup.sh [GROUP...]    GROUP: examples tests bench, all of them when none is named; and devices: an nvcc
#                                     and nccl.h in .venv/, from wheels, where there is none
#   sh scripts/setup.sh --state       only says what is there, one line each
#
# Whatever is there already, from wherever, is found by trying it; when nothing is missing, nothing is
# fetched. CHEVRON_NO_INSTALL=1 never installs. Exits non-zero when something needed is still missing.
set -u
export LC_ALL=C

# What each group cannot do without, and what it only makes use of. To add a thing: name it here, say how
# to find it in has(), and which packages bring it in packages_of().
base='cxx meson ninja pkg-config python3'
needs_of() {
  case $1 in
    examples) echo "$base" json cli11 icu eigen ;;
    tests) echo "$base" catch2 ;;
    bench) echo "$base" cli11 ;;
    devices) echo python3 ;;
    *) echo "setup: unknown group '$1'; there are: examples tests bench devices" >&2; exit 2 ;;
  esac
}
wants_of() {
  case $1 in
    examples) echo pip venv ;;
    tests) echo clang cmake json cli11 icu eigen ;;
    bench) echo openmpi mpich gloo plots ;;
    devices) echo pip venv ;;
  esac
}

# The Debian and Ubuntu packages that bring a thing.
packages_of() {
  case $1 in
    cxx) echo g++ ;;
    ninja) echo ninja-build ;;
    json) echo nlohmann-json3-dev ;;
    cli11) echo libcli11-dev ;;
    icu) echo libicu-dev ;;
    eigen) echo libeigen3-dev ;;
    pip) echo python3-pip ;;
    venv) echo python3-venv ;;
    plots) echo python3-matplotlib python3-numpy ;;
    openmpi) echo openmpi-bin libopenmpi-dev ;;
    mpich) echo mpich libmpich-dev ;;
    gloo) echo libgloo-dev ;;
    *) echo "$1" ;;
  esac
}

found() { command -v "$1" >/dev/null 2>&1; }

compiler() {
  for candidate in "${CXX:-}" c++ g++ clang++; do
    [ -n "$candidate" ] || continue
    # CXX may hold arguments, so it is split.
    echo '#include <concepts>' | $candidate -std=c++20 -x c++ -fsyntax-only - >/dev/null 2>&1 || continue
    echo "$candidate"
    return 0
  done
  return 1
}

# header NAME [PKG_CONFIG_NAME]: the compiler finds it, where pkg-config says or by itself.
header() {
  flags=$(pkg-config --cflags "${2:-none}" 2>/dev/null)
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | ${cxx:-false} $flags -std=c++20 -x c++ -E - >/dev/null 2>&1
}

library() {
  echo 'int main() {}' | ${cxx:-false} -x c++ - $(pkg-config --libs-only-L "$1" 2>/dev/null) "-l$1" -o /dev/null 2>/dev/null
}

at_least() {  # at_least WANTED HAVE
  [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

has() {
  case $1 in
    cxx) cxx=$(compiler) ;;
    meson) found meson && at_least 1.0 "$(meson --version)" ;;
    clang) found clang++ ;;
    catch2) header catch2/catch_session.hpp catch2 || header catch2/catch.hpp catch2 ;;
    json) header nlohmann/json.hpp nlohmann_json ;;
    cli11) header CLI/CLI.hpp CLI11 ;;
    icu) header unicode/uchar.h icu-uc && library icuuc ;;
    eigen) header Eigen/Core eigen3 ;;
    pip) python3 -c 'import pip' 2>/dev/null ;;
    venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    plots) python3 -c 'import matplotlib, numpy' 2>/dev/null || /usr/bin/python3 -c 'import matplotlib, numpy' 2>/dev/null ;;
    openmpi) found mpicc.openmpi || found ompi_info ;;
    mpich) found mpicc.mpich || found mpichversion ;;
    gloo) header gloo/allreduce.h && library gloo ;;
    *) found "$1" ;;
  esac
}

cxx=$(compiler)

if [ "${1:-}" = --state ]; then
  echo "cxx: $cxx, $(${cxx:-echo none} --version 2>/dev/null | head -n 1)"
  for thing in meson ninja clang cmake catch2 json cli11 icu eigen openmpi mpich gloo nvcc; do
    if has "$thing"; then echo "$thing: yes"; else echo "$thing: no"; fi
  done
  exit 0
fi

missing() {  # those of the things named that are not there
  for thing in "$@"; do has "$thing" || echo "$thing"; done | sort -u
}

# Without colour and questions; another apt-get at work is waited for, for up to five minutes.
apt() {
  log=$(mktemp)
  tries=0
  while :; do
    DEBIAN_FRONTEND=noninteractive $as_root apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null
    status=$?
    if [ $status -ne 0 ] && [ $tries -lt 30 ] && grep -q 'Could not get lock' "$log"; then
      tries=$((tries + 1))
      sleep 10
      continue
    fi
    [ $status -eq 0 ] || tail -n 3 "$log" >&2
    rm -f "$log"
    return $status
  done
}

install() {  # install PACKAGE...: the lists of packages are only fetched when the ones here do not do
  echo "setup: installing $*" >&2
  apt install --no-install-recommends "$@" 2>/dev/null && return 0
  [ -n "${lists_are_new:-}" ] || apt update || return 1
  lists_are_new=yes
  apt install --no-install-recommends "$@"
}

as_root=
may_install() {
  [ "${CHEVRON_NO_INSTALL:-}" != 1 ] && found apt-get || return 1
  [ "$(id -u)" -eq 0 ] && return 0
  found sudo && sudo -n true 2>/dev/null || return 1
  as_root='sudo -n -E'
}

# nvcc, of which Debian's package is too old. It only compiles: that takes no driver and no device.
get_nvcc() {
  here=$(cd "$(dirname "$0")/.." && pwd)/.venv/nvcc
  ! found nvcc && [ ! -x /usr/local/cuda/bin/nvcc ] && [ ! -x "$here/nvcc" ] || return 0
  [ "${CHEVRON_NO_INSTALL:-}" != 1 ] || return 1
  echo "setup: installing nvcc 13.0 into .venv/" >&2
  log=$(mktemp)
  if python3 -m venv "$here" >"$log" 2>&1 && "$here/bin/pip" install -q nvidia-cuda-nvcc==13.0.* nvidia-cuda-crt==13.0.* \
    nvidia-nvvm==13.0.* nvidia-cuda-runtime==13.0.* nvidia-cuda-cccl==13.0.* >"$log" 2>&1 &&
    program=$(ls "$here"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc 2>"$log"); then
    ln -sfn "${program%/bin/nvcc}/include" "$here/cuda" &&
      printf '#!/bin/sh\nexec "%s" "$@"\n' "$program" >"$here/nvcc" && chmod +x "$here/nvcc"
  else
    tail -n 3 "$log" >&2
  fi
  rm -f "$log"
  [ -x "$here/nvcc" ]
}

# nccl.h, for the library that has NCCL's interface: from the wheel that brings NCCL, of which nothing else is kept.
get_nccl_header() {
  here=$(cd "$(dirname "$0")/.." && pwd)/.venv/nccl
  for place in /usr/local/cuda/include /usr/include "$here/include"; do
    [ ! -f "$place/nccl.h" ] || return 0
  done
  [ "${CHEVRON_NO_INSTALL:-}" != 1 ] || return 1
  echo "setup: getting nccl.h into .venv/" >&2
  log=$(mktemp)
  scratch=$(mktemp -d)
  if python3 -m venv "$scratch" >"$log" 2>&1 &&
    "$scratch/bin/pip" install -q --no-deps 'nvidia-nccl-cu13==2.28.*' >"$log" 2>&1; then
    mkdir -p "$here" && cp -r "$scratch"/lib/python3*/site-packages/nvidia/nccl/include "$here/"
  else
    tail -n 3 "$log" >&2
  fi
  rm -rf "$log" "$scratch"
  [ -f "$here/include/nccl.h" ]
}

[ $# -gt 0 ] || set -- examples tests bench
needs= wants=
for group in "$@"; do
  needs="$needs $(needs_of "$group")" || exit 2
  wants="$wants $(wants_of "$group")"
done

missing_needs=$(missing $needs)
missing_wants=$(missing $wants)

if [ -n "$missing_needs$missing_wants" ] && may_install; then
  packages=
  for thing in $missing_needs $missing_wants; do packages="$packages $(packages_of "$thing")"; done
  # All in one go is quickest; a package that this system does not have must not take the others with it.
  if ! install $packages; then
    for thing in $missing_needs $missing_wants; do install $(packages_of "$thing"); done
  fi
  cxx=$(compiler)
  missing_needs=$(missing $needs)
  missing_wants=$(missing $wants)
fi

case " $* " in
  *' devices '*)
    get_nvcc || echo "setup: without nvcc: what only compiles with it is not compiled" >&2
    get_nccl_header || echo "setup: without nccl.h: the tests of NCCL's interface are left out" >&2 ;;
esac
for thing in $missing_wants; do
  echo "setup: without $thing ($(packages_of "$thing")): what uses it is left out" >&2
done
if [ -n "$missing_needs" ]; then
  echo "setup: missing and not installed:" $missing_needs "(packages:" $(for thing in $missing_needs; do packages_of "$thing"; done)")" >&2
  exit 1
fi
