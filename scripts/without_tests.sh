#!/usr/bin/env bash
# without_tests.sh BUILD
#
# What to configure BUILD with so that it needs no package of the tests: nothing where it was configured with them before,
# so that what is built stays in use.
set -euo pipefail
build=${1:?usage: scripts/without_tests.sh BUILD}
if [[ -f $build/build.ninja ]] && grep -qs '^EXHUME_TESTS:BOOL=ON' "$build/CMakeCache.txt"; then exit 0; fi
echo -DEXHUME_TESTS=OFF -DEXHUME_BENCH=OFF
