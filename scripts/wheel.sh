#!/usr/bin/env bash
# wheel.sh BUILD
#
# Makes a wheel from the finished build BUILD, with every library that it needs inside, and tries it in an environment of
# its own that holds nothing but NumPy. The wheel lies in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:?usage: scripts/wheel.sh BUILD}")
scripts/python_env.sh wheel scripts/wheel_requirements.txt
bin=$PWD/.venv-wheel/bin

echo "wheel: linking the library of $build into the Python module"
cmake --install "$build" --prefix "$build/stage" >/dev/null
rm -rf build/wheel && mkdir -p build/wheel dist
PATH=$bin:$PATH "$bin/pip" wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir build/wheel \
  --config-settings=build-dir=build/python-wheel "--config-settings=cmake.define.EXHUME_INSTALLED=$build/stage" \
  --config-settings=install.strip=true .
echo "wheel: putting OpenBLAS and the other libraries inside"
PATH=$bin:$PATH "$bin/auditwheel" repair --wheel-dir build/wheel/repaired build/wheel/*.whl >build/wheel/auditwheel.log 2>&1 ||
  { cat build/wheel/auditwheel.log; exit 1; }
wheel=$(echo build/wheel/repaired/*.whl)
PATH=$bin:$PATH "$bin/auditwheel" show "$wheel"

echo "wheel: trying it"
rm -rf build/wheel/try && python3 -m venv build/wheel/try
build/wheel/try/bin/pip install --quiet --disable-pip-version-check "$wheel"
(
  cd build/wheel/try
  bin/exhume --version
  bin/python -m exhume generate --inputs 5 --hidden 4 --outputs 2 --samples 2000 --out planted
  bin/exhume recover planted/x.npy planted/y.npy --quiet --out result
  bin/python -c 'import exhume
planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000)
assert exhume.recover(planted.x, planted.y).status == "certified"'
)
cp "$wheel" dist/
echo "wheel: dist/$(basename "$wheel"), $(du -h "$wheel" | cut -f1)"
