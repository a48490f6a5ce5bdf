#!/usr/bin/env bash
# lint.sh [--all] [BUILD_DIR]
#
# Checks the layout of every C++ file with clang-format, then runs clang-tidy on the sources that differ from the
# main branch (with --all, or where nothing is known of a main branch, on all of them).
set -euo pipefail
cd "$(dirname "$0")/.."
all=no
failed=no
if [[ ${1:-} == --all ]]; then
  all=yes
  shift
fi
build=${1:-build/lint}

git ls-files -z --cached --others --exclude-standard '*.cc' '*.cu' '*.h' | xargs -0 clang-format --dry-run -Werror || failed=yes

base=
for candidate in origin/main origin/master main master; do
  if base=$(git merge-base HEAD "$candidate" 2>/dev/null); then break; fi
done
sources=(src apps bench tests)
if [[ $all == yes || -z $base ]]; then
  files=$(git ls-files -- "${sources[@]/%//*.cc}")
else
  files=$( (git diff --name-only --diff-filter=d "$base" -- "${sources[@]/%//*.cc}"
            git ls-files --others --exclude-standard -- "${sources[@]/%//*.cc}") | sort -u)
fi
# Only what the build knows how to compile.
files=$(grep -vE '^tests/(consumer|fuzz)/' <<<"$files" || true)
if [[ -z $files ]]; then
  echo "lint: no changed sources for clang-tidy"
else
  xargs -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet --warnings-as-errors='*' <<<"$files" || failed=yes
fi
[[ $failed == no ]]
