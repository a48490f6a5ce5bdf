#!/usr/bin/env bash
# nightly.sh [PART...]
#
# Runs what `make test` leaves out, one part after the other, whatever fails, and prints one table: part, result, seconds,
# log. Without arguments every part; with arguments those; `rest`: those that are not yet green at this commit. Results
# are kept in build/nightly, so that the table of a part shows the others too. OLD names the program to race against:
# without it that part is left out. Ends with status 1 unless all that was asked for is green.
set -uo pipefail
cd "$(dirname "$0")/.."
logs=build/nightly
mkdir -p "$logs"
parts=(layers format tidy measures asan tsan fuzz battery coverage adversary pairs forgeries kills faults docs-test race-compare)
commit=$(git rev-parse --short HEAD 2>/dev/null || echo none)
make=(make --no-print-directory)

command_of() {
  case $1 in
    layers) echo python3 tests/layers.py . ;;
    format) echo scripts/lint.sh format ;;
    tidy) echo "${make[@]}" tidy ALL=1 ;;
    asan | tsan) echo "${make[@]}" check "PRESET=$1" ;;
    fuzz) echo "${make[@]}" fuzz "SECONDS=${FUZZ_SECONDS:-60}" ;;
    battery) echo "${make[@]}" battery "SEEDS=${BATTERY_SEEDS:-5}" "TABLE=$logs/battery-table.md" ;;
    coverage) echo "${make[@]}" coverage "FIRST=${SEED:-$RANDOM}" ;;
    adversary) echo "${make[@]}" adversary "RUNS=${ADVERSARY_RUNS:-2000}" "SEED=${SEED:-$RANDOM}" ;;
    pairs) echo "${make[@]}" pairs "SEED=${SEED:-$RANDOM}" ;;
    measures | forgeries | kills | faults | docs-test) echo "${make[@]}" "$1" ;;
    race-compare) echo "${make[@]}" race-compare "OLD=${OLD:-}" ;;
  esac
}

# state PART: "result seconds" of its last run at this commit, or nothing.
state() {
  local at result seconds
  [[ -f $logs/$1.state ]] && read -r at result seconds <"$logs/$1.state" && [[ $at == "$commit" ]] && echo "$result $seconds"
}

wanted=("$@")
((${#wanted[@]})) || wanted=("${parts[@]}")
if [[ ${wanted[*]} == rest ]]; then
  wanted=()
  for part in "${parts[@]}"; do [[ $(state "$part") == green* ]] || wanted+=("$part"); done
fi
for part in "${wanted[@]}"; do
  if [[ " ${parts[*]} " != *" $part "* ]]; then
    echo "nightly: '$part' is none of ${parts[*]}, rest" >&2
    exit 2
  fi
done

scripts/setup.sh test lint fuzz || exit 1
red=0
for part in "${wanted[@]}"; do
  if [[ $part == race-compare && -z ${OLD:-} ]]; then continue; fi
  read -ra line <<<"$(command_of "$part")"
  echo "nightly: $part: ${line[*]}"
  began=$(date +%s)
  if "${line[@]}" >"$logs/$part.log" 2>&1; then result=green; else result=RED red=1; fi
  echo "$commit $result $(($(date +%s) - began))" >"$logs/$part.state"
done

printf '\n%-14s %-8s %8s  %s\n' part result seconds log
for part in "${parts[@]}"; do
  read -r result seconds <<<"$(state "$part")" || true
  if [[ -n ${result:-} ]]; then
    printf '%-14s %-8s %8s  %s\n' "$part" "$result" "$seconds" "$logs/$part.log"
  elif [[ $part == race-compare && -z ${OLD:-} ]]; then
    printf '%-14s %-8s %8s  %s\n' "$part" 'left out' - 'OLD= names the older program'
  else
    printf '%-14s %-8s %8s  %s\n' "$part" 'not run' - -
  fi
done
exit $red
