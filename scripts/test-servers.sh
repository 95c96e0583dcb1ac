#!/usr/bin/env bash
# Runs the integration tests on several servers, one after the other, and then says how it went on each.
#
#   scripts/test-servers.sh                 this machine's own Redis, and every server of scripts/servers.sh
#   scripts/test-servers.sh redis-8.6 …     these servers of scripts/servers.sh
#
# A server that cannot be had is named at the end, and is no failure. The module must be built.
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

# Partitions of a cluster, more of them than in make test.
export RANK_PARTITION_ROUNDS=${RANK_PARTITION_ROUNDS:-20}
servers=$(scripts/servers.sh "$@")
printf '%s\n' "$servers"
report=() status=0

run() { # what to call the server, and the words of a command that runs its tests
    local name=$1 start=$SECONDS outcome=passed
    shift
    printf '\n%s\n' "$name"
    "$@" </dev/null || { outcome=FAILED && status=1; }
    report+=("$name: $outcome in $((SECONDS - start)) s")
}

if [ $# = 0 ]; then
    # With the tests that need no server, or always the same one.
    own=redis-server
    if [ -x .servers/redis-server ]; then own=.servers/redis-server; fi
    run "$("${REDIS_SERVER:-$own}" --version | sed 's/ sha=.*//')" cargo test --test integration -- --skip ::valkey
fi
while read -r name version program; do
    case $name,$version in
    *,none) report+=("WARNING: NOT TESTED ON $name, WHICH CANNOT BE HAD") ;;
    redis-*) run "Redis $version" env "REDIS_SERVER=$program" cargo test --test integration -- ::redis ;;
    valkey-*) run "Valkey $version" env "VALKEY_SERVER=$program" cargo test --test integration -- ::valkey ;;
    esac
done <<<"$servers"
printf '\n'
printf '%s\n' "${report[@]}"
exit "$status"
