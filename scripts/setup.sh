#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that Exhume is built, tested and measured with. Asks nothing; does
# nothing, quickly, when all of them are there. `setup.sh fuzz` also installs those of `make fuzz`.
set -euo pipefail

packages=(
  git make g++ cmake ninja-build ccache pkg-config    # build
  libeigen3-dev libopenblas-dev liblapacke-dev        # linear algebra
  coinor-libclp-dev                                   # linear programs
  libzip-dev libfmt-dev nlohmann-json3-dev libssl-dev # files and reports
  libcli11-dev                                        # command line
  librandom123-dev libboost-dev                       # random numbers, quantiles
  libgtest-dev librapidcheck-dev libbenchmark-dev     # tests and benchmarks
  python3 python3-venv python3-dev ca-certificates    # checks from Python
  chromium fonts-dejavu-core                         # the report as it is seen
  clang-format clang-tidy                             # style
)
[[ ${1:-} != fuzz ]] || packages+=(clang libclang-rt-dev) # libFuzzer and its sanitizers

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is not a Debian or Ubuntu system; install the equivalents of: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
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
