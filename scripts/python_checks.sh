#!/usr/bin/env bash
# python_checks.sh EXHUME | --packages
#
# --packages: only makes the test environment, with its packages from PyPI.
# What is tested from Python, with the command line EXHUME of a finished build: every tests/python/check_*.py, which
# gets the path of the program and ends with status 0 if all is well; then the Python package, linked with the library
# of that build and installed into the test environment. TORCH=1 installs PyTorch too, for the tests that need it.
set -euo pipefail
cd "$(dirname "$0")/.."
requirements=(tests/python/requirements.txt python/tests/requirements.txt)
[[ -z ${TORCH:-} ]] || requirements+=(python/tests/requirements-torch.txt)
scripts/python_env.sh test "${requirements[@]}"
[[ ${1:-} != --packages ]] || exit 0
exhume=$(realpath "${1:?usage: scripts/python_checks.sh path/to/exhume}")
build=$(dirname "$(dirname "$exhume")")
shopt -s nullglob
for check in tests/python/check_*.py; do
  echo "$check"
  .venv-test/bin/python "$check" "$exhume"
done

echo "python/tests"
cmake --install "$build" --prefix "$build/stage" >/dev/null
.venv-test/bin/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
  --config-settings=build-dir=build/python-test "--config-settings=cmake.define.EXHUME_INSTALLED=$build/stage" .
EXHUME_CLI=$exhume .venv-test/bin/python -m pytest python/tests
