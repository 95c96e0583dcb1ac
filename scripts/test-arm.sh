#!/usr/bin/env bash
# Builds the module for 64-bit ARM, and runs a part of the integration tests with emulated servers that load it.
#
#   scripts/test-arm.sh [filters of tests]
#
# Everything comes from packages, into .servers/arm: Rust with its ARM libraries and ARM servers from Debian, an emulator, and
# Zig, which links the module (setup.sh dist). If a package cannot be had, this says so, and fails only with ARM=required.
. "$(dirname "$0")/strict.sh"
. "$(dirname "$0")/debian.sh"
cd "$(dirname "$0")/.."

top=$PWD/.servers/arm
tools=$PWD/.servers/release
target=aarch64-unknown-linux-gnu
# What shows differences between processors: layouts and codes of numbers, files, panics, and other modules' calls.
if [ $# = 0 ]; then set -- smoke:: documents:: formats:: layouts:: exactness:: panics:: callers:: upgrade::; fi

give_up() {
    say "WARNING: NOT TESTED ON ARM: $*"
    [ "${ARM:-}" != required ] || exit 1
    exit 0
}

if [ "$(uname -sm)" != 'Linux x86_64' ]; then give_up 'the emulator is set up on x86-64 Linux only'; fi

program() { # a path, the command that it runs with further arguments, and what it does before
    # shellcheck disable=SC2016 # for the program's own shell
    printf '#!/bin/sh\n%s\nexec %s "$@"\n' "${3:-}" "$2" >"$1"
    chmod +x "$1"
}

fetch_tools() {
    local version
    rm -rf "$top"
    prepare_apt "$top/apt" 'trixie sid' 'amd64 arm64' || return 1
    say "fetching Rust's compiler with ARM libraries, an emulator and ARM servers, into .servers/arm (1 GB)"
    # The machine's own C compiler and binutils do.
    pretend amd64 gcc binutils
    printf '%s\n' 'Package: libc6-dev' 'Status: install ok installed' 'Architecture: amd64' 'Version: 999' 'Provides: libc-dev' \
        'Maintainer: nobody' 'Description: here' '' >>"$state/status"
    apt --download-only install rustc/sid libstd-rust-dev/sid || return 1
    unpack "$top/rust" || return 1
    version=$(dpkg-deb -f "$archives"/libstd-rust-dev_*_amd64.deb Version) || return 1
    rm "$archives"/*.deb
    (cd "$archives" && apt download "libstd-rust-dev:arm64=$version" qemu-user/sid) || return 1
    unpack "$top/rust-arm" 'libstd-rust-dev_*' || return 1
    mv "$top/rust-arm/usr/lib/rustlib/$target" "$top/rust/usr/lib/rustlib/" || return 1
    unpack "$top/qemu" 'qemu-user_*' || return 1
    rm -r "$top/rust-arm" "$archives"/*.deb
    # What only systemd's own programs need.
    pretend arm64 adduser init-system-helpers libblkid1 libmount1 libpcre2-8-0 libselinux1 libsystemd-shared procps systemd
    apt --download-only install redis-tools:arm64 valkey-tools:arm64 || return 1
    unpack "$top/root" '*_arm64' || return 1
    ln -s usr/lib "$top/root/lib" 2>/dev/null || true
    rm -rf "$state"
    program "$top/rustc" "'$top/rust/usr/lib64/ld-linux-x86-64.so.2' --library-path '$top/rust/usr/lib/x86_64-linux-gnu' \
        --argv0 rustc '$top/rust/usr/bin/rustc' --sysroot '$top/rust/usr'"
    for family in redis valkey; do
        # The emulator has a bug of old kernels that servers look for at start.
        # shellcheck disable=SC2016 # for the program's own shell
        program "$top/$family-server" "$emulator -0 $family-server '$top/root/usr/bin/$family-check-rdb'" \
            '[ "$1" = --version ] || set -- "$@" --ignore-warnings ARM64-COW-BUG'
    done
    program "$top/redis-cli" "$emulator '$top/root/usr/bin/redis-cli'"
    program "$top/cc" "'$tools/ziglang/zig' cc -target aarch64-linux-gnu"
    "$top/rustc" --version && "$top/redis-server" --version && "$top/valkey-server" --version && touch "$top/complete"
}

emulator="'$top/qemu/usr/bin/qemu-aarch64' -L '$top/root'"
if [ ! -e "$top/complete" ]; then
    fetch_tools >&2 || give_up 'a package cannot be had, or does not run here: see above'
fi
scripts/setup.sh dist

# In src, since Zig says where its headers are relative to a directory around them, and build scripts run elsewhere. A target
# directory of its own, since the compiler is another one.
module=$PWD/target/arm/$target/release/libredis_rank.so
(
    cd src
    PATH=$tools/bin:$PATH PYTHONPATH=$tools RUSTC=$top/rustc CARGO_TARGET_DIR=$PWD/../target/arm \
        ZIG_GLOBAL_CACHE_DIR=$PWD/../target/arm/zig CARGO_ZIGBUILD_CACHE_DIR=$PWD/../target/arm/zigbuild \
        cargo-zigbuild zigbuild --release --lib --target $target.2.17
)
# The tests run on this machine's processor; only the servers are emulated. The wrapper tells them that servers are slow.
REDIS_RANK_SO=$module REDIS_SERVER=$top/redis-server VALKEY_SERVER=$top/valkey-server REDIS_CLI=$top/redis-cli TEST_CC=$top/cc \
    RANK_SERVER_WRAPPER=env ZIG_GLOBAL_CACHE_DIR=$PWD/target/arm/zig \
    cargo test --test integration -- "$@"
