#!/usr/bin/env bash
# Runs the demo in a directory of its own, which is gone afterwards whatever ended it.
#
# The demo ends its server itself, also when it is killed; but Ctrl-C reaches every process here at
# once, and then nobody would be left to remove the directory.
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

cargo build --quiet --example demo

dir=$(mktemp -d)
demo=''
# shellcheck disable=SC2329 # called by the trap
clean_up() {
    if [ -n "$demo" ]; then
        kill "$demo" 2>/dev/null || true
        wait "$demo" 2>/dev/null || true
    fi
    rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# In the background, since a shell acts on signals only between commands or while it waits.
TMPDIR=$dir "${CARGO_TARGET_DIR:-target}/debug/examples/demo" &
demo=$!
status=0
wait "$demo" || status=$?
demo=''
exit "$status"
