#!/usr/bin/env bash
# docs.sh BUILD [--test]
#
# Makes the documentation as a site in build/site from the finished build BUILD: the Python package is installed into an
# environment of its own, the notebooks of the gallery are run, pages are built with every warning an error, links are checked.
# --test runs the notebooks even where they were run before, and every block of code of every page.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:?usage: scripts/docs.sh BUILD [--test]}")
scripts/python_env.sh docs scripts/docs/requirements.txt
python=.venv-docs/bin/python

cmake --install "$build" --prefix "$build/stage" >/dev/null
.venv-docs/bin/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
  --config-settings=build-dir=build/python-docs "--config-settings=cmake.define.EXHUME_INSTALLED=$build/stage" .
echo "docs: notebooks"
$python scripts/docs/notebooks.py ${2:+--again}
echo "docs: pages"
# The theme speaks of the future of its own parts; that is no warning about these pages.
EXHUME_CLI=$build/apps/exhume NO_MKDOCS_2_WARNING=1 $python -m mkdocs build --quiet
$python scripts/docs/links.py build/site
if [[ ${2:-} == --test ]]; then
  $python scripts/docs/blocks.py "$build/apps/exhume"
fi
echo "docs: build/site/index.html; to search it too: python3 -m http.server -d build/site"
