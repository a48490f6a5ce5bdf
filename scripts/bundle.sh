#!/usr/bin/env bash
# bundle.sh BUILD OUT [--without-cuda-libraries]
#
# Makes OUT, one folder that runs where nothing is installed but, for devices, their driver: the programs of BUILD that
# are there (exhume, exhume_tests, exhume_wide_rates), the module for CUDA, every shared library they need, the C library among
# them, and a small script a program that starts it with those. The libraries of the CUDA toolkit are large; a machine that has
# them needs no second copy.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 out=$2 toolkit=${3:-}

rm -rf "$out"
mkdir -p "$out/lib"
programs=()
for program in "$build"/apps/exhume "$build"/tests/exhume_tests "$build"/bench/exhume_wide_rates; do
  [[ -x $program ]] && programs+=("$program")
done
((${#programs[@]})) || { echo "bundle: $build holds no program; build it first" >&2; exit 1; }

objects=("${programs[@]}")
module=$build/libexhume_cuda.so
if [[ -e $module ]]; then
  cp "$module" "$out/lib/"
  objects+=("$module")
fi
# Names and places of all libraries; the driver's own (libcuda) stays where it is.
ldd "${objects[@]}" | awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\// && NF == 2 {print $1}' | sort -u |
  while read -r library; do
    case $library in
      *libcuda.so*) continue ;;
      *cublas* | *cusolver* | *cusparse* | *nvJitLink* | *cudart*)
        [[ $toolkit == --without-cuda-libraries ]] && continue ;;
    esac
    cp -L "$library" "$out/lib/"
  done

for program in "${programs[@]}"; do
  name=$(basename "$program")
  cp "$program" "$out/lib/$name"
  strip "$out/lib/$name"
  cat > "$out/$name" << 'START'
#!/bin/sh
# Starts the program of the same name with the libraries beside it; those of the CUDA toolkit, where they are not, are
# looked for in their usual place.
EXHUME_START=$(readlink -f "$0")
export EXHUME_START
here=$(dirname "$EXHUME_START")
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib:${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64" \
  "$here/lib/$(basename "$0")" "$@"
START
  chmod +x "$out/$name"
done
echo "$out: $(du -sh "$out" | cut -f1), $(basename -a "${programs[@]}" | paste -sd, | sed 's/,/, /g')"
