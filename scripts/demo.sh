#!/usr/bin/env bash
# Plants a network, hides it, recovers it from its inputs and outputs alone, and compares the two.
set -euo pipefail
exhume=${1:?usage: scripts/demo.sh path/to/exhume}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

step() {
  printf '\n$ exhume %s\n' "${*//$dir/demo}"
  "$exhume" "$@"
}

step generate --inputs 20 --hidden 20 --outputs 20 --samples 3000 --bias 0.5 --seed 1 --out "$dir/planted"
step recover "$dir/planted/x.npy" "$dir/planted/y.npy" --out "$dir/recovered"
step compare "$dir/planted/network.safetensors" "$dir/recovered/network.safetensors"
