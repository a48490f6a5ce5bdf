#!/usr/bin/env bash
# release.sh TAG
#
# Makes the packages of a release from the tag TAG (v0.2.0) and nothing else: the files of that commit are exported to
# build/release-TAG, where sdist, wheel and deb are made and tried. They lie in dist/ with their SHA-256 sums. JOBS=N compiles
# with so many jobs. Publishes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:?usage: scripts/release.sh TAG}
version=${tag#v}
fail() {
  echo "release: $*" >&2
  exit 1
}

[[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "'$tag' is no tag of a release; they look like v0.2.0"
git rev-parse --quiet --verify "refs/tags/$tag" >/dev/null || fail "there is no tag $tag; make it with git tag -a $tag"
root=$PWD/build/release-$tag
rm -rf "$root/dist" "$root/check"
mkdir -p "$root" dist
git archive "$tag" | tar -x -C "$root"
cd "$root"

echo "release: is $version the version everywhere?"
grep -q "project(exhume VERSION $version " CMakeLists.txt || fail "CMakeLists.txt has another version"
grep -qx "version: $version" CITATION.cff || fail "CITATION.cff has another version"
[[ $(grep -m1 '^## \[' CHANGELOG.md) == "## [$version] - "????-??-?? ]] || fail "CHANGELOG.md does not begin with $version and its date"

make --no-print-directory wheel deb ${JOBS:+"JOBS=$JOBS"}

echo "release: source distribution"
.venv-wheel/bin/python -m build --sdist --no-isolation --outdir dist . >build/sdist.log 2>&1 || { cat build/sdist.log; exit 1; }
sdist=dist/exhume-$version.tar.gz
mkdir -p check/sdist
tar -xzf "$sdist" -C check/sdist --strip-components=1
for needed in CMakeLists.txt LICENSE README.md PKG-INFO pyproject.toml python/CMakeLists.txt python/package/exhume/__init__.py; do
  [[ -s check/sdist/$needed ]] || fail "$sdist lacks $needed"
done
# The extension from the unpacked sources, linked with the library that was just built from the same commit.
PATH=$PWD/.venv-wheel/bin:$PATH .venv-wheel/bin/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --wheel-dir check/from_sdist "--config-settings=cmake.define.EXHUME_INSTALLED=$PWD/build/release/stage" check/sdist

echo "release: trying them"
wheels=(dist/exhume-"$version"-*.whl check/from_sdist/exhume-"$version"-*.whl)
for wheel in "${wheels[@]}"; do
  [[ -f $wheel ]] || fail "there is no wheel of version $version"
  rm -rf check/venv && python3 -m venv check/venv
  check/venv/bin/pip install --quiet --disable-pip-version-check "$wheel"
  [[ $(check/venv/bin/python -c 'import exhume; print(exhume.__version__)') == "$version" ]] || fail "$wheel has another version"
  (cd check && venv/bin/python ../python/tutorial.py >tutorial.log 2>&1) || { cat check/tutorial.log; fail "the tutorial fails with $wheel"; }
done
size=$(stat -c %s "${wheels[0]}")
((size <= 40 * 1024 * 1024)) || fail "${wheels[0]} has $size bytes, more than 40 MiB"

deb=$(ls dist/exhume_"$version"_*.deb)
[[ $(dpkg-deb --field "$deb" Version) == "$version" ]] || fail "$deb has another version"
dpkg-deb --extract "$deb" check/deb
[[ $(check/deb/usr/bin/exhume --version) == *"$version"* ]] || fail "the program of $deb has another version"
check/deb/usr/bin/exhume generate --inputs 5 --hidden 4 --outputs 2 --samples 2000 --quiet --out check/planted
check/deb/usr/bin/exhume recover check/planted/x.npy check/planted/y.npy --require certified --quiet --out check/result
check/deb/usr/bin/exhume verify check/result --quiet
[[ -s check/deb/usr/share/man/man1/exhume.1 || -s check/deb/usr/share/man/man1/exhume.1.gz ]] || fail "$deb lacks the manual pages"

cp "$sdist" "${wheels[0]}" "$deb" "$OLDPWD/dist/"
cd "$OLDPWD/dist"
sha256sum "$(basename "$sdist")" "$(basename "${wheels[0]}")" "$(basename "$deb")" | tee "SHA256SUMS-$version"
