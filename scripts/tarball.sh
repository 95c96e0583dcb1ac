#!/usr/bin/env bash
# Builds a tarball of a module and its documents, and a file of its debug symbols.
#
#   scripts/tarball.sh MODULE VERSION DIRECTORY    prints the tarball's path
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

module=$1 version=$2 directory=$3
name=redis-rank-$version-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)

mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tree=$stage/$name
make --no-print-directory install MODULE_DIR="$tree" DOC_DIR="$tree" REDIS_RANK_SO="$module" >&2

module=$(echo "$tree"/libredis_rank.*)
objcopy --only-keep-debug "$module" "$stage/$name.debug"
strip --strip-unneeded "$module"
# A debugger looks for the symbols under this name.
(cd "$stage" && objcopy --add-gnu-debuglink="$name.debug" "$module")
cp "$stage/$name.debug" "$directory/"

# In order, without owners and with one date: the same files give the same bytes.
tar --create --directory "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" "$name" | gzip --no-name >"$directory/$name.tar.gz"
echo "$directory/$name.tar.gz"
