#!/usr/bin/env bash
# Builds a Python wheel with a module in it, for machines without a compiler, and has auditwheel check that it runs on
# all the systems that its name says.
#
#   scripts/wheel.sh MODULE DIRECTORY    prints the wheel's path
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

platform=manylinux2014_$(uname -m)
mkdir -p "$2"
directory=$(cd "$2" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp "$1" "$stage/libredis_rank.so"
strip --strip-unneeded "$stage/libredis_rank.so"
chmod 755 "$stage/libredis_rank.so"

export PYTHONPATH=$PWD/.servers/release
(cd packaging/wheel && REDIS_RANK_SO=$stage/libredis_rank.so WHEEL_PLATFORM=$platform \
    python3 -m hatchling build --target wheel --directory "$stage" >&2)
wheel=$(echo "$stage"/*.whl)
python3 -m auditwheel show "$wheel" >"$stage/audit"
if ! tr '\n' ' ' <"$stage/audit" | grep -q 'following platform tag: "manylinux_2_17_'; then
    cat "$stage/audit" >&2
    echo "wheel: $1 needs a newer system than manylinux2014" >&2
    exit 1
fi
cp "$wheel" "$directory/"
echo "$directory/${wheel##*/}"
