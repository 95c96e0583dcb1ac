#!/usr/bin/env bash
# Builds a server from its source, for a version that scripts/servers.sh does not have as a package.
#
#   scripts/build-server.sh redis-7.4 [REPOSITORY]    builds .servers/redis-7.4/redis-server, and prints its path
#   scripts/build-server.sh valkey-9.0                a branch or a tag of the server's repository
#
# A server that is built already is not built again: remove its directory to follow a branch.
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

name=${1:-} family=${1%%-*} version=${1#*-}
case $name in
redis-?*) repository=${2:-https://github.com/redis/redis} ;;
valkey-?*) repository=${2:-https://github.com/valkey-io/valkey} ;;
*) echo "usage: $0 redis-VERSION|valkey-VERSION [REPOSITORY]" >&2 && exit 2 ;;
esac

directory=$PWD/.servers/$name
if [ ! -x "$directory/$family-server" ]; then
    source=$(mktemp -d)
    trap 'rm -rf "$source"' EXIT
    git clone --quiet --depth 1 --branch "$version" "$repository" "$source" >&2
    make -C "$source/src" -j "$(nproc 2>/dev/null || sysctl -n hw.ncpu)" "$family-server" "$family-cli" >&2
    mkdir -p "$directory"
    # The server last: it tells that all of it is there.
    mv "$source/src/$family-cli" "$source/src/$family-server" "$directory"
fi
echo "$directory/$family-server"
