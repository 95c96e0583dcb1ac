#!/usr/bin/env bash
# Installs, loads, upgrades and removes a Debian package in a copy of this system that is gone afterwards.
#
#   scripts/test-deb.sh OLDER.deb NEWER.deb
#
# Needs root. The copy is an overlay in a mount namespace of its own: nothing here changes. The server runs under what
# the unit of Debian's redis-server says and this machine can do without systemd: only ExecPaths can be executed
# (NoExecPaths=/), the system is read-only (ProtectSystem=strict), /tmp is its own (PrivateTmp), no memory is both
# writable and executable (MemoryDenyWriteExecute), and the user is redis, with no way to more privileges.
. "$(dirname "$0")/strict.sh"

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
# The server's user has to reach its files.
chmod 755 "$stage"
mkdir "$stage"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$stage/upper,workdir=$stage/work" "$stage/root"
root=$stage/root
module=/usr/lib/redis/modules/libredis_rank.so
socket=$root/tmp/redis-rank.sock
units=$root/usr/lib/systemd/system

fail() { echo "test-deb: $*" >&2 && exit 1; }
in_root() { chroot "$root" "$@"; }

install_package() { # its file
    cp "$1" "$root/package.deb"
    in_root dpkg --install --force-depends /package.deb
    # shellcheck disable=SC2016 # dpkg-query's own variable
    [ "$(in_root dpkg-query --show --showformat '${Version}' redis-rank)" = "$(dpkg-deb --field "$1" Version)" ] ||
        fail "$1 is not what is installed"
    in_root dpkg --verify redis-rank
    [ -x "$root$module" ] || fail "$1 did not install $module"
    [ -s "$root/usr/share/doc/redis-rank/redis.conf.example" ] || fail "$1 has no example configuration"
    for unit in redis-server redis-server@; do
        grep -qx 'ExecPaths=/usr/lib/redis/modules' "$units/$unit.service.d/redis-rank.conf" || fail "no drop-in for $unit"
    done
    if command -v systemd-analyze >/dev/null; then
        if systemd-analyze --root="$root" verify redis-server.service 2>&1 | grep redis-rank; then
            fail 'systemd does not take the drop-in'
        fi
    fi
}

# What the unit says may be executed; where only redis-tools is installed, what Debian's unit says.
unit=$units/redis-server.service
[ -e "$unit" ] || unit=/dev/null
paths=$(sed -n 's/^ExecPaths=//p' "$unit" | tr '\n' ' ')
paths=${paths:-/usr/bin/redis-server /usr/lib}
restrict() {
    mount -t tmpfs -o noexec,mode=1777 tmpfs "$root/tmp"
    mount --bind "$root" "$root"
    for path in $paths; do
        path=$(realpath --canonicalize-missing "$root$path")
        case $path in "$root"/*) mount --bind "$path" "$path" ;; esac
    done
    mount --bind "$root/tmp" "$root/tmp"
    mount -o remount,bind,noexec,ro "$root"
}
allow() {
    mount -o remount,bind,exec,rw "$root"
}

# PR_SET_MDWE, from Linux 6.3 on; older kernels refuse it, and nothing is denied.
no_write_execute='import ctypes, os, sys; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0); os.execvp(sys.argv[1], sys.argv[1:])'

serve() { # a module
    python3 -c "$no_write_execute" setpriv --no-new-privs chroot --userspec=redis:redis "$root" /usr/bin/redis-server --port 0 \
        --unixsocket /tmp/redis-rank.sock --unixsocketperm 777 --save '' --dir /tmp --loadmodule "$1" \
        >"$stage/log" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        if redis-cli -s "$socket" PING >/dev/null 2>&1; then return 0; fi
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
stop() {
    kill "$server" && wait "$server" || true
    server=''
}
ask() { redis-cli -s "$socket" "$@"; }

# Where only Debian's redis-tools are installed, which have the program but neither its name nor its user.
[ -e "$root/usr/bin/redis-server" ] || ln -s redis-check-rdb "$root/usr/bin/redis-server"
in_root id redis >/dev/null 2>&1 || in_root useradd --system redis
install_package "$older"
# A copy where the unit forbids it, to see that the restrictions are in force.
forbidden=/usr/local/lib/redis/modules/libredis_rank.so
install -D -m 755 "$root$module" "$root$forbidden"
restrict
if touch "$root/var/forbidden" 2>/dev/null; then fail 'the system is not read-only'; fi
if serve "$forbidden"; then fail 'the restriction is not in force'; fi
server=''
grep -q 'Permission denied\|failed to map segment' "$stage/log" || fail "another failure than expected: $(cat "$stage/log")"
serve "$module" || fail "the module does not load: $(cat "$stage/log")"
[ "$(ps -o user= -p "$server")" = redis ] || fail "the server is not run by its user"
[ "$(ask RANK.ADD board 5 ann)" = 1 ] || fail 'the module does not work'

# An upgrade replaces the file under a server that runs: it goes on, and the next start takes the new one.
allow
install_package "$newer"
[ "$(ask RANK.SCORE board ann)" = 5 ] || fail 'the server did not survive the upgrade'
stop
mount -o remount,bind,noexec,ro "$root"
serve "$module" || fail "the module does not load after an upgrade: $(cat "$stage/log")"
[ "$(ask RANK.ADD board 5 ann)" = 1 ] || fail 'the module does not work after an upgrade'
stop

allow
in_root dpkg --purge redis-rank
left=$(find "$root/usr/lib/redis" "$root/usr/share/doc/redis-rank" "$units"/*-server*.service.d 2>/dev/null || true)
[ -z "$left" ] || fail "left behind: $left"
echo 'installed, loaded, upgraded and removed'
