#!/usr/bin/env bash
# Runs the integration tests with every server under valgrind, and fails on any error or leak in the module's code.
#   scripts/valgrind.sh path/to/libredis_rank.so [arguments of the test binary, such as a filter]
# Needs servers whose allocator valgrind can replace: linked dynamically, as Debian's is, or the C library's.
. "$(dirname "$0")/strict.sh"

if ! command -v valgrind >/dev/null; then
    echo 'valgrind is missing; please install it and try again (Debian: apt-get install valgrind)' >&2
    exit 1
fi
module=$(realpath "$1")
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# What is left out measures time or memory, or has so many members that it would take hours: adoption and verify have
# smaller boards that go the same ways, and the fuzzer makes fewer calls.
skipped=(memory:: soak:: verify::a_million packaging:: container:: servers:: artifact:: documents:: clients:: support::harness)
options=(--num-callers=25 --leak-check=full --show-leak-kinds=definite --child-silent-after-fork=yes)
status=0
RANK_SERVER_WRAPPER="valgrind ${options[*]} --log-file=$dir/%p" RANK_FUZZ_CALLS=${RANK_FUZZ_CALLS:-2000} \
    REDIS_RANK_SO=$module cargo test --test integration -- "${skipped[@]/#/--skip=}" "$@" || status=$?

# Reports of the server's own are the server's; ours have a frame in our file. Once a load, the crate's registration of
# options keeps a few bytes for each, and an unloaded module leaves the one schema that boards without one share.
awk -v name="$(basename "$module")" '
    /^==[0-9]+== *$/ { if (ours && !known) printf "%s\n", block; block = ""; ours = known = 0; next }
    { block = block $0 "\n" }
    index($0, name) || /redis_rank|redis_module::|src\/(board|command|server|rate|due)\// { ours = 1 }
    /register_i64_configuration|make_implicit|Command: / { known = 1 }
    END { if (ours && !known) printf "%s\n", block }' "$dir"/* >"$dir/ours"
servers=$(grep -l 'ERROR SUMMARY' "$dir"/[0-9]* | wc -l)
if [ -s "$dir/ours" ]; then
    cat "$dir/ours"
    echo "valgrind: something in the module's code, see above" >&2
    exit 1
fi
echo "valgrind: nothing in the module's code, in $servers runs of servers"
exit "$status"
