#!/usr/bin/env bash
# Installs, loads, upgrades and removes a Debian package in a copy of this system that is gone afterwards.
#
#   scripts/test-deb.sh OLDER.deb NEWER.deb
#
# Needs root. The copy is an overlay in a mount namespace of its own: nothing here changes. The server runs under what
# the unit of Debian's redis-server says of executable files: NoExecPaths=/, ExecPaths=/usr/bin/redis-server /usr/lib.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    exec unshare --mount --fork --kill-child bash "$0" --inside "$@"
fi
older=$2 newer=$3

stage=$(mktemp -d)
server=''
# shellcheck disable=SC2329 # called by the trap
clean_up() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    umount --recursive --lazy "$stage" 2>/dev/null || true
    rm -rf "$stage"
}
trap clean_up EXIT

mount -t tmpfs tmpfs "$stage"
mkdir "$stage"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$stage/upper,workdir=$stage/work" "$stage/root"
root=$stage/root
module=/usr/lib/redis/modules/libredis_rank.so

fail() { echo "test-deb: $*" >&2 && exit 1; }
in_root() { chroot "$root" "$@"; }

for package in "$older" "$newer"; do
    cp "$package" "$root/tmp/package.deb"
    in_root dpkg --install --force-depends /tmp/package.deb
    [ -x "$root$module" ] || fail "$package did not install $module"
    in_root dpkg --verify redis-rank
done
[ "$(in_root dpkg-query --show --showformat '${Version}' redis-rank)" = "$(dpkg-deb --field "$newer" Version)" ] ||
    fail 'the upgrade did not replace the older version'

# A copy where the unit forbids it, to see that the restriction is in force.
install -D -m 755 "$root$module" "$root/usr/local/lib/redis/modules/libredis_rank.so"
mount --bind "$root/usr/lib" "$root/usr/lib"
mount --bind "$root/usr/bin/redis-server" "$root/usr/bin/redis-server"
mount -o remount,noexec "$root" 2>/dev/null || mount -o remount,bind,noexec "$root"

serve() { # a module
    chroot "$root" /usr/bin/redis-server --port 0 --unixsocket /tmp/redis-rank.sock --save '' --dir /tmp --loadmodule "$1" \
        >"$stage/log" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        if redis-cli -s "$root/tmp/redis-rank.sock" PING >/dev/null 2>&1; then return 0; fi
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
if serve /usr/local/lib/redis/modules/libredis_rank.so; then fail 'the restriction is not in force'; fi
grep -q 'Permission denied\|failed to map segment' "$stage/log" || fail "another failure than expected: $(cat "$stage/log")"
serve "$module" || fail "the module does not load: $(cat "$stage/log")"
[ "$(redis-cli -s "$root/tmp/redis-rank.sock" RANK.ADD board 5 ann)" = 1 ] || fail 'the module does not work'
kill "$server" && wait "$server" || true
server=''

mount -o remount,exec "$root" 2>/dev/null || mount -o remount,bind,exec "$root"
in_root dpkg --purge redis-rank
left=$(find "$root/usr/lib/redis" "$root/usr/share/doc/redis-rank" "$root"/usr/lib/systemd/system/*-server.service.d 2>/dev/null || true)
[ -z "$left" ] || fail "left behind: $left"
echo 'installed, loaded, upgraded and removed'
