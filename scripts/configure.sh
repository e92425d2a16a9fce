#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Configures a build directory, again only when the options or what this machine has came to differ.
#
#   sh scripts/configure.sh DIRECTORY [-Doption=value ...]
set -eu
cd "$(dirname "$0")/.."
directory=$1
shift
stamp=$directory/configured-for
wanted=$(sh scripts/setup.sh --state; printf 'option: %s\n' "$@")

if [ -f "$directory/build.ninja" ] && [ -f "$stamp" ]; then
  [ "$(cat "$stamp")" != "$wanted" ] || exit 0
  # Another compiler needs a fresh start; something newly installed only needs another look.
  if [ "$(head -n 1 "$stamp")" = "$(printf '%s\n' "$wanted" | head -n 1)" ]; then
    meson setup --reconfigure "$@" "$directory"
  else
    meson setup --wipe "$@" "$directory"
  fi
elif [ -f "$directory/build.ninja" ]; then
  meson setup --reconfigure "$@" "$directory"
else
  meson setup "$@" "$directory"
fi
printf '%s\n' "$wanted" >"$stamp"
