#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds and runs the example that does real work: a sentence encoder whose layers several ranks share.
# What is named here goes to it:  sh examples/run.sh [ARGUMENT...]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
weights=$root/build/weights/all-MiniLM-L6-v2

(
  cd "$root" && sh scripts/setup.sh examples && sh scripts/configure.sh build || exit 1
  # The examples, not the tests and the benches.
  ninja -C build $(ninja -C build -t targets rule cpp_LINKER | grep '^examples/') || exit 1
  sh examples/tp2_encoder/get_weights.sh "$weights" || echo "examples/run.sh: going on with synthetic weights" >&2
) || exit 1

case " $* " in
  *' --weights'*) ;;
  *) set -- --weights "$weights" "$@" ;;
esac
exec "$root/build/examples/tp2_encoder/tp2_encoder" "$@"
