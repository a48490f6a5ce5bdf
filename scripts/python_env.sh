#!/usr/bin/env bash
# python_env.sh NAME REQUIREMENTS...
#
# Makes the virtual environment .venv-NAME at the root of the repository with the packages of the requirements
# files, from PyPI. Does nothing where it was made from the same files before.
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# < 2)); then
  echo "usage: scripts/python_env.sh NAME REQUIREMENTS..." >&2
  exit 2
fi
env=.venv-$1
shift

stamp=$env/requirements.sha256
wanted=$( (python3 --version; pwd; cat "$@") | sha256sum)
if [[ -x $env/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]]; then
  exit 0
fi

rm -rf "$env"
python3 -m venv "$env"
requirements=()
for file in "$@"; do
  requirements+=(--requirement "$file")
done
"$env/bin/pip" install --quiet --disable-pip-version-check "${requirements[@]}"
echo "$wanted" >"$stamp"
