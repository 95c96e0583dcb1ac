# shellcheck shell=bash
# Read by every script here: a script ends with the first command that fails, and says which one that was.
set -Eeuo pipefail
trap 'printf "%s: line %s failed with exit code %s: %s\n" "$0" "$LINENO" "$?" "$BASH_COMMAND" >&2' ERR
