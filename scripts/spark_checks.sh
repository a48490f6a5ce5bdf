#!/usr/bin/env bash
# spark_checks.sh EXHUME
#
# The tests that need Spark, which needs Java: the Python package, linked with the library of the build that EXHUME belongs to,
# in an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
exhume=$(realpath "${1:?usage: scripts/spark_checks.sh path/to/exhume}")
build=$(dirname "$(dirname "$exhume")")
scripts/python_env.sh spark python/tests/requirements.txt python/tests/requirements-spark.txt
cmake --install "$build" --prefix "$build/stage" >/dev/null
.venv-spark/bin/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
  --config-settings=build-dir=build/python-spark "--config-settings=cmake.define.EXHUME_INSTALLED=$build/stage" .
EXHUME_CLI=$exhume .venv-spark/bin/python -m pytest python/tests/test_spark.py
