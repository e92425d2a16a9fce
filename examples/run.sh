#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds and runs the example that does real work: a sentence encoder whose layers several ranks share,
# GPUs where there are any, else threads and processes.
# What is named here goes to it:  sh examples/run.sh [ARGUMENT...]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=build
options=
# On GPUs where there are any, and nvcc to compile for them.
PATH=$PATH:/usr/local/cuda/bin
if command -v nvcc >/dev/null && gpu=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null); then
  build=build-cuda
  options="-Dcuda=enabled -Dgpu_archs=$(echo "$gpu" | head -n 1 | tr -d .)"
fi
weights=$root/build/weights/all-MiniLM-L6-v2

(
  cd "$root" && sh scripts/setup.sh examples && sh scripts/configure.sh "$build" $options || exit 1
  # The examples, not the tests and the benches.
  ninja -C "$build" $(for rule in cpp_LINKER cuda_LINKER; do
    ninja -C "$build" -t targets rule "$rule"
  done 2>/dev/null | grep '^examples/') || exit 1
  sh examples/tp2_encoder/get_weights.sh "$weights" || echo "examples/run.sh: going on with synthetic weights" >&2
) || exit 1

case " $* " in
  *' --weights'*) ;;
  *) set -- --weights "$weights" "$@" ;;
esac
exec "$root/$build/examples/tp2_encoder/tp2_encoder" "$@"
