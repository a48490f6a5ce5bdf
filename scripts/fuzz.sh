#!/usr/bin/env bash
# fuzz.sh SECONDS JOBS [TARGET...]
#
# Builds the fuzzers and runs each target for so many seconds, one after the other, starting from fuzz/corpus. New inputs go
# to build/fuzz/found/TARGET, findings to build/fuzz/findings/TARGET. Ends with status 1 where there was a finding.
# Targets behind which stand the solvers (moments, sums, checkpoint, log) are changed by `make forgeries`.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1 jobs=$2
shift 2
targets=("$@")
((${#targets[@]})) || targets=(npy npz csv safetensors onnx nnet certificate report)

mkdir -p build
cmake --preset fuzz > build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
cmake --build build/fuzz -j "$jobs" --target fuzzers

export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
failed=()
for target in "${targets[@]}"; do
  found=build/fuzz/found/$target findings=build/fuzz/findings/$target log=build/fuzz/$target.log
  mkdir -p "$found" "$findings"
  # A page is long, a table of numbers need not be.
  case $target in certificate | report) longest=16384 ;; *) longest=4096 ;; esac
  if build/fuzz/fuzz/fuzz_"$target" -max_total_time="$seconds" -max_len="$longest" -timeout=10 -rss_limit_mb=2048 \
    -dict=fuzz/dictionaries/"$target".dict -artifact_prefix="$findings/" -print_final_stats=1 \
    "$found" fuzz/corpus/"$target" > "$log" 2>&1; then
    echo "$target: no finding, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
  else
    failed+=("$target")
    echo "$target: a finding; see $log and $findings"
  fi
done
((${#failed[@]} == 0))
