#!/usr/bin/env bash
# deb.sh BUILD
#
# Makes a Debian package of the command line, the library and its headers from the finished build BUILD, in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:?usage: scripts/deb.sh BUILD}")
mkdir -p dist
(cd "$build" && cpack -G DEB -B "$OLDPWD/dist" >deb.log 2>&1) || { cat "$build/deb.log"; exit 1; }
rm -rf dist/_CPack_Packages
package=$(ls -t dist/exhume_*.deb | head -1)
dpkg-deb --info "$package" | sed -n '/Package:/,$p'
echo "deb: $package, $(du -h "$package" | cut -f1); sudo apt-get install ./$package"
