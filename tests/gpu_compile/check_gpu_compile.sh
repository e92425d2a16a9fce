#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Two files that use chevron on devices compile for every architecture and link, with -rdc=true and without. The program
# also runs, but needs no device for what it must show: that both files mean the same kernel. Without nvcc the check is
# skipped (77).
#
#   sh check_gpu_compile.sh INCLUDE_DIRECTORY
set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$1
architectures='80 90 100 103 120'

nvcc=$(command -v nvcc || true)
for place in /usr/local/cuda/bin/nvcc "$here/../../.venv/nvcc/nvcc"; do
  [ -n "$nvcc" ] || [ ! -x "$place" ] || nvcc=$place
done
if [ -z "$nvcc" ]; then
  echo "skipped: there is no nvcc"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
every=
for architecture in $architectures; do
  every="$every -gencode=arch=compute_$architecture,code=sm_$architecture"
done
one='-gencode=arch=compute_90,code=sm_90'  # enough to see that two files with the same headers link

try() {
  "$nvcc" -std=c++20 -I "$include" -Werror all-warnings -rdc="$relocatable" "$@" && return
  echo "failed, with -rdc=$relocatable: $*"
  exit 1
}
for relocatable in false true; do
  try $every -c "$here/one.cu" -o "$folder/one.o"
  try $one -c "$here/other.cu" -o "$folder/other.o"
  try $one "$folder/one.o" "$folder/other.o" -o "$folder/program"
  said=$("$folder/program")
  case $? in
    0 | 77) ;;  # 77: there is no device
    *) echo "failed, with -rdc=$relocatable: $said"; exit 1 ;;
  esac
done
echo "compiled and linked for $architectures, relocatable and not"
