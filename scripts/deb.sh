#!/usr/bin/env bash
# Builds a Debian package from a module that is built already.
#
#   scripts/deb.sh MODULE VERSION DIRECTORY    prints the package's path
#
# The package puts the module where the unit of Debian's redis-server allows code to be loaded from, with its documents.
# It does not touch redis.conf: whoever wants the module adds one loadmodule line there.
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

module=$1 version=$2 directory=$3
architecture=$(dpkg --print-architecture)

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tree=$stage/tree
make --no-print-directory install-strip DESTDIR="$tree" PREFIX=/usr REDIS_RANK_SO="$module" >&2
cp "$tree/usr/share/doc/redis-rank/LICENSE" "$tree/usr/share/doc/redis-rank/copyright"

# The unit allows /usr/lib as it is; this keeps the module loadable if the distribution narrows that.
for server in redis-server redis-server@ valkey-server valkey-server@; do
    install -d "$tree/usr/lib/systemd/system/$server.service.d"
    printf '# From the package redis-rank: the server may load its modules.\n[Service]\nExecPaths=/usr/lib/redis/modules\n' \
        >"$tree/usr/lib/systemd/system/$server.service.d/redis-rank.conf"
done

# What the module is linked against, as Debian's own tool sees it, which wants a source package around it.
mkdir -p "$stage/source/debian"
printf 'Source: redis-rank\n\nPackage: redis-rank\nArchitecture: any\n' >"$stage/source/debian/control"
depends=$(cd "$stage/source" && dpkg-shlibdeps -O "$tree/usr/lib/redis/modules/libredis_rank.so" 2>/dev/null |
    sed -n 's/^shlibs:Depends=//p')

install -d "$tree/DEBIAN"
cat >"$tree/DEBIAN/control" <<CONTROL
Package: redis-rank
Version: $version
Architecture: $architecture
Maintainer: redis-rank maintainers
Section: database
Priority: optional
Depends: $depends
Recommends: redis-server (>= 5:7.0) | valkey-server
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f1)
Description: leaderboards, rate limits and timed release for Redis and Valkey
 A module that adds RANK.*, RATE.* and DUE.* commands over ordinary sorted sets,
 hashes and strings. To load it, add this line to redis.conf and restart:
 loadmodule /usr/lib/redis/modules/libredis_rank.so
CONTROL
for script in postinst postrm; do
    cat >"$tree/DEBIAN/$script" <<'SCRIPT'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl --system daemon-reload >/dev/null || true; fi
SCRIPT
    chmod 755 "$tree/DEBIAN/$script"
done
cat >>"$tree/DEBIAN/postinst" <<'SCRIPT'
if [ "$1" = configure ] && [ -z "$2" ]; then
    echo 'redis-rank: to load the module, add this line to redis.conf itself and restart the server:'
    echo '  loadmodule /usr/lib/redis/modules/libredis_rank.so'
fi
SCRIPT

mkdir -p "$directory"
dpkg-deb --root-owner-group --build "$tree" "$directory/redis-rank_${version}_$architecture.deb" >&2
echo "$directory/redis-rank_${version}_$architecture.deb"
