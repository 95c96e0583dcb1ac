#!/bin/sh
# Runs a workload of every command against a server under valgrind, and fails on any error or leak in the module's code.
#   scripts/valgrind.sh path/to/libredis_rank.so
# Needs a server whose allocator valgrind can replace: one that is linked to it dynamically, as Debian's is.
set -eu

module=$(realpath "$1")
server=${REDIS_SERVER:-redis-server}
dir=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null || true; rm -rf "$dir"' EXIT

LC_ALL=C valgrind --tool=memcheck --num-callers=20 --error-exitcode=0 --log-file="$dir/valgrind" --track-origins=yes \
    --leak-check=full --show-leak-kinds=definite --undef-value-errors=yes \
    "$server" --port 0 --unixsocket "$dir/s" --dir "$dir" --save '' --appendonly yes --enable-debug-command yes \
    --enable-module-command yes --loadmodule "$module" >"$dir/log" 2>&1 &
pid=$!
cli="redis-cli -s $dir/s"
tries=0
until [ "$($cli PING 2>/dev/null)" = PONG ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { cat "$dir/log"; exit 1; }
    sleep 0.1
done

# Every command, on boards of every layout, right and wrong, in transactions and with boards that come and go.
awk -v calls="${CALLS:-4000}" 'BEGIN {
    srand(1)
    schemas[0] = ""; fields[0] = 1
    schemas[1] = "KEEP 7"; fields[1] = 1
    schemas[2] = "FIELD a DIGITS 3 FIELD b ASC DIGITS 3"; fields[2] = 2
    schemas[3] = "FIELD a RANGE -50 50 TIES FIRST S"; fields[3] = 1
    schemas[4] = "FIELD a BITS 30 FIELD b BITS 30"; fields[4] = 2
    schemas[5] = "FIELD a INT FIELD b ASC INT"; fields[5] = 2
    schemas[6] = "FIELD a FLOAT FIELD b INT TIES LAST KEEP 9 UPDATE BEST"; fields[6] = 2
    n = split("GET k m|SCORE k m|QUERY k m JSON|STATS k|TOPN k 9 WITHDATA|RANGE k 1 -1 DENSE JSON|PAGE k 1 5 WITHDATA JSON|AROUND k m 2 FILL|BYSCORE k -inf inf LIMIT 1 5|AMONG k 3 m m1 m2|COUNT k|FORSCORE k 1 2|PERCENTILE k m|SCOREAT k 50|INFO k|GETDATA k m|DELDATA k m|SETDATA k m a v b w|SETDATA k m NX a z|REM k m m1|TRIM k 6 RETURN|CLEAR k|ALTER k KEEP 5 UPDATE BEST|ALTER k NOKEEP|ROTATE k k.old|VERIFY k REPAIR|VERIFY k COUNT 2|CREATE c LIKE k|INCR k nonsense m|ADD k 1|TOPN k -1|RANGE k 0 0", commands, "|")
    for (i = 0; i < 7; i++) print "RANK.CREATE b" i, schemas[i]
    for (i = 0; i < calls; i++) {
        b = int(rand() * 7); key = "b" b; member = "m" int(rand() * 12)
        scores = int(rand() * 40); if (fields[b] == 2) scores = scores " " int(rand() * 40)
        r = rand()
        if (r < 0.3) print "RANK.ADD", key, rand() < 0.3 ? "WITHRANK" : "CH", scores, member
        else if (r < 0.35) print "RANK.INCR", key, scores, member
        else if (r < 0.4) print "RANK.MULTISET new" int(rand() * 9), scores, member
        else if (r < 0.43) print "DEL new" int(rand() * 9), key ".old"
        else if (r < 0.45) { print "RANK.MULTISET r 1 2 m"; print "RANK.SETDATA r m a b"; print "RENAME r s"; print "ZADD s 1 short" ; print "RANK.VERIFY s REPAIR"; print "DEL s" }
        else if (r < 0.46) { print "MULTI"; print "RANK.ADD", key, scores, member; print "RANK.REM", key, member; print "EXEC" }
        else if (r < 0.5) print "RATE.CHECK limit" int(rand() * 8), "5/1s 50/1m", substr("SLIDINGFIXED  COUNTERGCRA   ", 1 + 7 * int(rand() * 4), 7)
        else if (r < 0.51) { print "RATE.PEEK limit1 5/1s"; print "RATE.RESET limit1" }
        else { c = commands[1 + int(rand() * n)]; gsub(/ k/, " " key, c); gsub(/ m/, " " member, c); print "RANK." c }
    }
    print "DEBUG RELOAD"; print "MODULE UNLOAD rank"
}' | $cli >"$dir/answers" 2>&1
echo "$(wc -l <"$dir/answers") lines of answers, $(grep -c 'internal error' "$dir/answers" || true) internal errors"
$cli SHUTDOWN NOSAVE >/dev/null 2>&1 || true
wait "$pid" || true

# Reports of the server's own are the server's; ours have a frame in our file. The crate's registration of options keeps
# a few bytes for each, once a load.
awk -v name="$(basename "$module")" '
    /^==[0-9]+== *$/ { if (ours && !known) printf "%s\n", block; block = ""; ours = known = 0; next }
    { block = block $0 "\n" }
    index($0, name) || /redis_rank|redis_module::|src\/(board|command|server|rate)\// { ours = 1 }
    /register_i64_configuration|Command: / { known = 1 }
    END { if (ours && !known) printf "%s\n", block }' "$dir/valgrind" >"$dir/ours"
grep "ERROR SUMMARY" "$dir/valgrind" || { tail -40 "$dir/valgrind" "$dir/log"; exit 1; }
if [ -s "$dir/ours" ]; then
    cat "$dir/ours"
    exit 1
fi
echo "valgrind: nothing in the module's code"
