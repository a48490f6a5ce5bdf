#!/usr/bin/env bash
# setup.sh [PURPOSE...]
#
# Installs the Debian or Ubuntu packages that a purpose needs: build (the default), python, test, lint, deb, fuzz,
# spark. Asks nothing; does nothing, quickly, when all of them are there.
set -euo pipefail

build=(
  make g++ cmake ninja-build ccache pkg-config        # build
  libeigen3-dev libopenblas-dev liblapacke-dev        # linear algebra
  coinor-libclp-dev                                   # linear programs
  libzip-dev libfmt-dev nlohmann-json3-dev libssl-dev # files and reports
  libcli11-dev                                        # command line
  librandom123-dev libboost-dev                       # random numbers, quantiles
)
python=("${build[@]}" python3 python3-venv python3-dev ca-certificates)
test=("${python[@]}" git libgtest-dev librapidcheck-dev libbenchmark-dev chromium fonts-dejavu-core
  tmux libopenmpi-dev openmpi-bin)
lint=("${build[@]}" git clang-format clang-tidy libgtest-dev librapidcheck-dev libbenchmark-dev)
deb=("${build[@]}" dpkg-dev file)
fuzz=("${build[@]}" clang libclang-rt-dev) # libFuzzer and its sanitizers
spark=("${python[@]}" default-jre-headless)

packages=()
(($#)) || set -- build
for purpose in "$@"; do
  case $purpose in
    build | python | test | lint | deb | fuzz | spark)
      declare -n wanted=$purpose
      packages+=("${wanted[@]}")
      ;;
    *)
      echo "setup: '$purpose' is none of build, python, test, lint, deb, fuzz, spark" >&2
      exit 2
      ;;
  esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is not a Debian or Ubuntu system; install the equivalents of: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  [[ " ${missing[*]} " != *" $package "* ]] || continue
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

if ((EUID == 0)); then
  as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
else
  echo "setup: packages are missing and this user may not install them. Run this line, then try again:" >&2
  echo "sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

# Another apt may be at work: wait for it instead of failing.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600)
echo "setup: installing ${missing[*]}"
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
