#!/usr/bin/env bash
# lint.sh format
# lint.sh tidy BUILD_DIR [--all] [--most N]
#
# format checks the layout of every C++ file with clang-format. tidy runs clang-tidy on the sources that were changed since
# the last landing: since HEAD and the main branch parted, or, on the main branch itself, by the last commit. With --all,
# or without git, on all sources. --most leaves what is beyond N files to `make nightly`, and says so.
set -euo pipefail
cd "$(dirname "$0")/.."

check_format() {
  git ls-files -z --cached --others --exclude-standard '*.cc' '*.cu' '*.h' | xargs -0 clang-format --dry-run -Werror
}

# The commit to compare with, empty where there is none.
last_landing() {
  local candidate base
  for candidate in origin/main origin/master main master; do
    base=$(git merge-base HEAD "$candidate" 2>/dev/null) || continue
    [[ $base == "$(git rev-parse HEAD)" ]] || { echo "$base"; return; }
  done
  git rev-parse --verify --quiet 'HEAD^' || true
}

check_tidy() {
  local build=$1 all=no most=1000000 base="" files
  shift
  while (($#)); do
    case $1 in
      --all) all=yes ;;
      --most) most=$2; shift ;;
      *) echo "lint: '$1' is neither --all nor --most" >&2; exit 2 ;;
    esac
    shift
  done
  local where=('src/*.cc' 'apps/*.cc' 'bench/*.cc' 'battery/*.cc' 'tests/*.cc')
  [[ $all == yes ]] || base=$(last_landing)
  if [[ -z $base ]]; then
    files=$(git ls-files -- "${where[@]}")
  else
    files=$( (git diff --name-only --diff-filter=d "$base" -- "${where[@]}"
              git ls-files --others --exclude-standard -- "${where[@]}") | sort -u)
  fi
  # Only what the build knows how to compile.
  files=$(grep -vE '^(tests/consumer|src/engine/cuda)/' <<<"$files" || true)
  if [[ -z $files ]]; then
    echo "lint: no changed sources for clang-tidy"
    return
  fi
  local count
  count=$(wc -l <<<"$files")
  if ((count > most)); then
    echo "lint: clang-tidy on $most of $count changed sources; make nightly has them all"
    files=$(head -n "$most" <<<"$files")
  fi
  xargs -r -n 1 -P "${JOBS:-$(nproc)}" clang-tidy -p "$build" --quiet --warnings-as-errors='*' <<<"$files"
}

what=${1:?usage: scripts/lint.sh format, or tidy BUILD_DIR [--all] [--most N]}
shift
"check_$what" "$@"
