#!/usr/bin/env bash
# The main job on a real network: one that scikit-learn trained to read handwritten digits (64 inputs, 16 hidden
# units, 1 output; examples/data). Send it 50,000 random queries, keep only queries and answers, and bring its
# 1,057 weights back.
set -euo pipefail
exhume=${1:?usage: scripts/demo.sh path/to/exhume}
out=build/demo
rm -rf "$out"

step() {
  printf '\n$ exhume %s\n' "$*"
  "$exhume" "$@"
}

echo "1. Send the trained network 50,000 queries; keep the inputs and its answers."
step generate --network examples/data/digits_64_16_1.npz --samples 50000 --seed 1 --out "$out/asked"
echo
echo "2. Recover the network from them alone."
step recover "$out/asked/x.npy" "$out/asked/y.npy" --out "$out/recovered"
echo
echo "3. Compare with the network that was asked (up to the order and scale of its units)."
step compare "$out/asked/network.safetensors" "$out/recovered/network.safetensors"
echo
echo "Open $out/recovered/report.html in a browser for the pictures."
if "$exhume" extract --help | grep -q "which was not built"; then
  echo "This program is the core alone; \`make program\` builds the modules too (extract, memorize, lowest-layer, ...)."
fi
