#!/usr/bin/env bash
# race_envs.sh
#
# The environments of the races: .venv-race for most contestants, .venv-race-torch and .venv-race-art for those whose packages are
# large or pull in others. One that cannot be made is left out with a sentence, and its contestants are then skipped by
# name. WITHOUT="torch art" leaves them out on purpose. PyTorch from PyPI brings its CUDA libraries: six gigabytes.
set -euo pipefail
cd "$(dirname "$0")/.."
torch_needs_gb=10

scripts/python_env.sh race bench/race/requirements/race.txt
for name in torch art; do
  if [[ " ${WITHOUT:-} " == *" $name "* ]]; then
    continue
  fi
  free=$(df --output=avail -BG . | tail -1 | tr -dc 0-9)
  if [[ $name == torch && ! -d .venv-race-torch ]] && ((free < torch_needs_gb)); then
    echo "race: $free GB are free and PyTorch needs $torch_needs_gb; its contestants are skipped" >&2
    continue
  fi
  if ! scripts/python_env.sh "race-$name" "bench/race/requirements/race-$name.txt"; then
    rm -rf ".venv-race-$name"
    echo "race: .venv-race-$name could not be made; its contestants are skipped" >&2
  fi
done
