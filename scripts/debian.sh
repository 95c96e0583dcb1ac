# shellcheck shell=bash
# Read by scripts that fetch Debian packages and unpack them here, whatever this machine has installed:
#
#   prepare_apt DIRECTORY 'trixie sid' 'amd64 arm64' || …    before the first package; once
#   apt --download-only install …                             then the packages are in "$archives"
#   unpack DIRECTORY
#
# apt checks the signatures. On other systems than Debian, install debian-archive-keyring and set DEBIAN_MIRROR.

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# Where this machine gets its own packages from.
mirror() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then echo "$DEBIAN_MIRROR" && return; fi
    (
        # shellcheck disable=SC1091 # a file of the system
        . /etc/os-release
        [ "$ID" = debian ] || exit 0
        # shellcheck disable=SC2016 # apt's own variables
        apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
            sed -n "s/^$VERSION_CODENAME main //p" | head -n 1
    )
}

prepare_apt() { # a directory for what apt knows, suites, and architectures, the machine's own first
    local address suite keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    state=$1 archives=$1/cache/archives
    [ ! -e "$state" ] || return 0
    if ! have apt-get || ! have dpkg-deb || [ ! -e "$keyring" ]; then
        say 'apt-get, dpkg-deb and the keys in debian-archive-keyring are needed'
        return 1
    fi
    address=$(mirror)
    if [ -z "$address" ]; then
        say 'this is not Debian, or its sources name no mirror: set DEBIAN_MIRROR'
        return 1
    fi
    mkdir -p "$state"/{lists,cache/archives}/partial
    for suite in $2; do echo "deb [arch=${3// /,} signed-by=$keyring] $address $suite main"; done >"$state/sources.list"
    # A system on which nothing is installed, so that apt fetches every library that a program needs.
    : >"$state/status"
    : >"$state/preferences"
    cat >"$state/apt.conf" <<END
APT::Architecture "${3%% *}";
APT::Architectures { "${3// /\"; \"}"; };
Dir::State "$state";
Dir::State::status "$state/status";
Dir::Cache "$state/cache";
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "$state/preferences";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
// The user that apt downloads as may have no right to write here.
APT::Sandbox::User "root";
// What the machine does after an update is meant for its own packages.
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
    say "reading the lists of packages at $address"
    # One suite that does not answer is no reason to give up.
    apt update || say 'apt-get update failed; trying with what is known'
}

apt() { apt-get -qq -c "$state/apt.conf" "$@" >&2; }

# Treats a package as installed.
pretend() { # architecture, and names
    local name
    for name in "${@:2}"; do
        printf 'Package: %s\nStatus: install ok installed\nArchitecture: %s\nMulti-Arch: foreign\nVersion: 999\nMaintainer: nobody\nDescription: here\n\n' \
            "$name" "$1"
    done >>"$state/status"
}

unpack() { # a directory, and a pattern of packages
    local package
    mkdir -p "$1"
    for package in "$archives"/${2:-*}.deb; do dpkg-deb -x "$package" "$1" || return 1; done
}
