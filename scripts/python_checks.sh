#!/usr/bin/env bash
# Runs every tests/python/check_*.py with the test environment's Python; each gets the path of the exhume program
# and ends with status 0 if all is well.
set -euo pipefail
cd "$(dirname "$0")/.."
exhume=${1:?usage: scripts/python_checks.sh path/to/exhume}

shopt -s nullglob
checks=(tests/python/check_*.py)
if ((${#checks[@]} == 0)); then
  exit 0
fi
scripts/python_env.sh test tests/python/requirements.txt
for check in "${checks[@]}"; do
  echo "$check"
  .venv-test/bin/python "$check" "$exhume"
done
