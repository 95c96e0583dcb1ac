#!/usr/bin/env bash
# Fetches servers to test with, newer than most machines have, as Debian packages them.
#
#   scripts/servers.sh                  all of them: redis-8.6, redis-8.0, valkey-9.1, valkey-8.1
#   scripts/servers.sh redis-8.6 …      these
#
# Prints a line for each, with the version that was found and the program:
#
#   redis-8.6 8.6.3 .servers/redis-8.6/redis-server
#   redis-8.0 none
#
# Each comes with its own C library, so nothing outside .servers changes, and root is not needed. apt checks the
# signatures. A server that is there is not fetched again: remove its directory to follow its suite.
#
# Suites move. A newer version than the name says is welcome; a server that cannot be had is named in a warning, and the
# others still come. On other systems than Debian, install debian-archive-keyring and set DEBIAN_MIRROR.
. "$(dirname "$0")/strict.sh"
. "$(dirname "$0")/debian.sh"
cd "$(dirname "$0")/.."

all=(redis-8.6 redis-8.0 valkey-9.1 valkey-8.1)

# What apt is asked for. Only of Redis, experimental has a newer version than sid; the libraries come from sid.
suite_of() {
    case $1 in
    redis-8.6) echo newest ;;
    valkey-9.1) echo sid ;;
    redis-8.0 | valkey-8.1) echo trixie ;;
    *) return 1 ;;
    esac
}

version_of() { { "$1" --version 2>/dev/null || true; } | sed -n 's/.* v=\([0-9.]*\).*/\1/p'; }

# Once, before the first package.
prepare() {
    [ ! -e "$own_state" ] || return 0
    prepare_apt "$own_state" 'trixie sid experimental' "$(dpkg --print-architecture 2>/dev/null || true)" || return 1
    printf '%s\n' 'Package: redis-server redis-tools' 'Pin: release a=experimental' 'Pin-Priority: 500' \
        >"$own_state/preferences"
}

# Runs with the libraries beside it. By its own name, since Debian's redis-server is a link to a program of many names.
wrap() { # a server's directory, and the program
    local loader
    loader=$(echo "$PWD/$1"/usr/lib/*-linux-gnu*/ld-linux*.so.*)
    printf '#!/bin/sh\nexec "%s" --library-path "%s" --argv0 %s "%s" "$@"\n' \
        "$loader" "$(dirname "$loader")" "$2" "$PWD/$1/usr/bin/$2" >"$1/$2"
    chmod +x "$1/$2"
}

fetch() { # a server's name
    local family=${1%%-*} directory=.servers/$1 suite packages
    prepare || return 1
    suite=$(suite_of "$1")
    packages=("$family-server" "$family-tools")
    if [ "$suite" != newest ]; then packages=("${packages[@]/%//$suite}"); fi
    say "fetching $1"
    rm -rf "$directory" "$archives"/*.deb
    apt --download-only install "${packages[@]}" || return 1
    unpack "$directory" || return 1
    wrap "$directory" "$family-cli"
    wrap "$directory" "$family-server"
}

is_at_least() { # a version, and another
    [ -n "$1" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

if [ $# = 0 ]; then set -- "${all[@]}"; fi
for name; do
    suite_of "$name" >/dev/null || { echo "usage: $0 [${all[*]}]" >&2 && exit 2; }
done

# Left by a run that was interrupted.
own_state=$PWD/.servers/.apt
rm -rf "$own_state"
trap 'rm -rf "$own_state"' EXIT
for name; do
    program=.servers/$name/${name%%-*}-server
    is_at_least "$(version_of "$program")" "${name#*-}" || fetch "$name" || true
    version=$(version_of "$program")
    if is_at_least "$version" "${name#*-}"; then
        echo "$name $version $program"
    else
        say "WARNING: $name CANNOT BE HAD${version:+: the newest version is $version}"
        rm -rf ".servers/$name"
        echo "$name none"
    fi
done
