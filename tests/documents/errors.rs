//! Calls that fail in every way that the reference names.

use crate::support::*;

/// By family of commands: what is there beforehand, and the calls; each line is a command.
pub const CALLS: &[&str] = &[BOARDS, PERIODS, LIMITS, SCHEDULES];

const BOARDS: &str = r#"
SET text x
RANK.GET text ann
RANK.GET game
RANK.GET game ann X
RANK.GET game ann JSON JSON
RANK.GET game ann DENSE ORDINAL
RANK.CREATE new KEEP
RANK.CREATE new KEEP 0
RANK.CREATE new FIELD a.b
RANK.CREATE new FIELD gold FIELD gold
RANK.CREATE new FIELD gold BITS 63
RANK.CREATE new FIELD gold DIGITS 0
RANK.CREATE new FIELD gold RANGE 5 5
RANK.CREATE game:4:{0} SHARD 3 3
RANK.CREATE game:4:{0} SHARD 4 4
RANK.CREATE game SHARD 3 4
RANK.CREATE game:4:{0} SHARD 3 4
RANK.ADD game:4:{0} 1 ann
RANK.ROTATE game:4:{0} archive
RANK.GET game:4:{0} ann VERSUS game
RANK.SHARDS game 3
RANK.SHARDS {game} 4
RANK.SHARD game x ann
RANK.CREATE new TIES X
RANK.CREATE new UPDATE X
RANK.CREATE new ASC FIELD gold
RANK.CREATE new ASC DESC
RANK.CREATE new LIKE nothing
RANK.ALTER nothing NOKEEP
RANK.ROTATE nothing archive
ZADD plain 1 ann
RANK.CREATE new LIKE plain
ZADD half 0.5 x
RANK.CREATE half FIELD a DIGITS 3 ADOPT
RANK.CREATE new DATA LIKE
RANK.CREATE plain FIELD gold INT
ZADD infinite inf ann
RANK.CREATE infinite KEEP 5
RANK.CREATE one FIELD gold INT
RANK.CREATE one FIELD gold BITS 5
RANK.CREATE new ASC ASC
RANK.ADD plain 1 ann 2
RANK.INCR plain 1 2 ann
RANK.TOPN one 5 ASC
RANK.INCR one x ann
RANK.ROTATE plain one
RANK.CREATE two FIELD gold BITS 10 FIELD hearts BITS 3
RANK.ADD two 1 2 ann bob
RANK.ADD two 2000 2 ann
RANK.INCR two 1 ann
RANK.ADD two 1 5 ann
RANK.INCR two 0 3 ann
RANK.FORSCORE two 1
RANK.SCOREAT two 50
RANK.CREATE keeps KEEP 100
RANK.CREATE keeps KEEP 5
RANK.ADD keeps KEEP 5 1 ann
RANK.ADD plain KEEP 0 1 ann
RANK.ADD plain AT -1 1 ann
RANK.ADD plain NX XX 1 ann
RANK.ADD plain NX BEST 1 ann
RANK.ADD plain SET BEST 1 ann
RANK.ADD plain x ann
RANK.ADD plain 1 "\x00rank 1"
RANK.CREATE timed FIELD gold BITS 10 TIES FIRST
RANK.INCR plain x ann
RANK.TRIM plain -1
RANK.QUERY plain ann LIMIT -1 1
RANK.QUERY plain ann LIMIT 0 x
RANK.QUERY plain ann LIMIT 0
RANK.RANGE plain 0 1
RANK.PAGE plain 0 1
RANK.AFTER two 5 1
RANK.AFTER two 5 1 2 AT 1700000000
RANK.AFTER timed 5 1 AT -1
RANK.PAGE plain 1 0
RANK.AROUND plain ann -1
RANK.BYSCORE plain x 1
RANK.AMONG plain 0 ann
RANK.AMONG plain 3 ann bob
RANK.SCOREAT plain 101
RANK.SCAN plain x
RANK.SCAN plain 0 COUNT 0
RANK.LOAD plain x
RANK.LOAD plain {"member":"a","score":1,"name":"x"}
RANK.LOAD plain {"score":1}
RANK.LOAD plain {"member":5,"score":1}
RANK.LOAD plain {"member":"a","scores":{"score":1}}
RANK.LOAD plain {"member":"a","score":1,"scores":{}}
RANK.LOAD plain {"member":"a","score":1,"time":-1}
RANK.LOAD plain {"member":"a","score":1,"data":5}
RANK.CREATE medals FIELD gold BITS 10 FIELD silver BITS 10
RANK.ADD medals * * a
RANK.ADD medals BOARD 0 1 1 a
RANK.ADD new BOARD 2 1 1 a
RANK.MULTISET new * 1 a
RANK.CREATE three FIELD a FIELD b FIELD c
RANK.ADD three BOARD 2 1 1 a
RANK.LOAD medals {"member":"a","score":1}
RANK.LOAD medals {"member":"a","scores":[1]}
RANK.LOAD medals {"member":"a","scores":{"gold":1}}
RANK.LOAD medals {"member":"a","scores":{"gold":1,"silver":1,"bronze":1}}
RANK.LOAD medals {"member":"a","scores":{"gold":2000,"silver":1}}
RANK.VERIFY plain CURSOR -1
RANK.VERIFY plain COUNT 0
RANK.SETDATA plain ann name Ann
RANK.ROTATE plain plain:old DATA players
RANK.CREATE shared DATA players
RANK.ADD shared 1 ann
RANK.SETDATA shared ann "\xff" x
RANK.SETDATA shared ann x "\xff"
RANK.PUTDATA shared ann x
RANK.ADD shared DATA {} 1 ann 2 bob
HSET players ann x
RANK.SETDATA shared ann name Ann
ACL SETUSER guest on nopass +@all ~shared
AUTH guest x
RANK.GET shared ann WITHDATA
AUTH default x
SET players x
RANK.GET shared ann WITHDATA
RANK.CREATE owned DATA owned:data OWNED
RANK.SETDATA owned zoe name Zoe
RANK.ROTATE owned owned:old
RANK.ROTATE owned owned:old DATA owned:old
RANK.CREATE new TIES FIRST SINCE x
RANK.CREATE new SINCE 0
ZADD adopted 1 ann
RANK.CREATE adopted TIES FIRST ADOPT
ZADD older -inf "\x00rank 1 FIELD score DESC FLOAT"
RANK.COUNT older
ZADD newer -inf "\x00rank 3 FIELD score DESC FLOAT"
RANK.COUNT newer
ZADD marker -inf "\x00rank 2 no schema"
RANK.COUNT marker
ZADD two 0.5 x
RANK.TOPN two 5
RANK.MULTISET several 1 2 ann 3 4 bob
RANK.MULTISET three 1 2 3 ann
RANK.MULTISET three 1 2 ann
RANK.MULTISET popped 9000000000000000000 2 ann
ZPOPMIN popped
RANK.COUNT popped
RANK.CREATE before FIELD gold BITS 10
ZADD before -inf "\x00a"
RANK.COUNT before
RANK.CREATE behind FIELD gold BITS 10
ZADD behind -inf x
RANK.COUNT behind
RANK.MULTISET orphan 9000000000000000000 2 ann
ZREMRANGEBYRANK orphan -1 -1
RANK.GET orphan ann
EVAL "for i = 1, 100002 do redis.call('ZADD', KEYS[1], i, i) end" 1 large
CONFIG SET rank.max-rows 100
RANK.TOPN large 1000
CONFIG SET rank.max-rows 0
RANK.GET large 1 DENSE
"#;

const PERIODS: &str = r#"
RANK.CREATE {cup} PERIOD MONTH {cup}:month: PERIOD YEAR {cup}:year:
COPY {cup} {cup}:backup
RANK.ADD {cup}:backup 50 ann
RANK.CREATE fresh PERIOD fortnight p:
RANK.CREATE fresh PERIOD DAY LIKE
RANK.CREATE fresh PERIOD DAY a: PERIOD DAY b:
RANK.CREATE fresh PERIOD DAY a: PERIOD WEEK a:1
RANK.CREATE fresh PERIOD DAY a: PAST 1001
RANK.CREATE fresh PERIOD DAY a: PAST 1000 PERIOD WEEK b:
RANK.CREATE fresh PERIOD EVERY 90s FROM 0 a:
RANK.CREATE fresh PERIOD EVERY 1d FROM 500 a:
RANK.CREATE fresh PERIOD DAY a: OFFSET 1:00
RANK.CREATE fresh OFFSET +01:00
RANK.CREATE yearly FIELD gold BITS 10 PERIOD YEAR game: PAST 50
RANK.ALTER yearly NOPERIOD x
RANK.ALTER yearly OFFSET +01:00
RANK.ROTATE yearly yearly:old
RANK.PERIODS yearly MONTH
RANK.PERIODS yearly NOW -1
RANK.TOPN yearly 5 PERIOD day
RANK.TOPN yearly 5 PERIOD year 2023-13
RANK.ADD yearly AT 1700000000000 5 ann
RANK.ADD game:2023 1023 ann
RANK.INCR yearly AT 1700000000000 1 ann
ZADD game:2023 -inf x
RANK.ADD yearly AT 1700000000000 6 ann
ZREM game:2023 x
ACL SETUSER guest on nopass +@all ~yearly
AUTH guest x
RANK.ADD yearly AT 1700000000000 6 ann
AUTH default x
RANK.ALTER yearly DATA game:2023
RANK.ADD yearly AT 1700000000000 6 ann
RANK.ALTER yearly NODATA
RENAME game:2023 elsewhere
SET game:2023 x
RANK.ADD yearly AT 1700000000000 6 ann
DEL game:2023
RANK.CREATE game:2023 FIELD silver BITS 10
RANK.ADD yearly AT 1700000000000 6 ann
"#;

const LIMITS: &str = r#"
RATE.CHECK limit 0/1s
RATE.CHECK limit 100
RATE.CHECK limit 5/x
RATE.CHECK limit 5/1m 6/60
RATE.CHECK limit FIXED
RATE.CHECK limit 200000/1s
RATE.CHECK limit 5/1s X
RATE.CHECK limit 5/1s FIXED GCRA
RATE.CHECK limit 5/1s BURST 5
RATE.CHECK limit 5/1s COST -1
RATE.CHECK limit 5/1s NOW -1
RATE.CHECK limit 1/1ms 1/2ms 1/3ms 1/4ms 1/5ms 1/6ms 1/7ms 1/8ms 1/9ms 1/10ms 1/11ms 1/12ms 1/13ms 1/14ms 1/15ms 1/16ms 1/17ms 1/18ms 1/19ms 1/20ms 1/21ms 1/22ms 1/23ms 1/24ms 1/25ms 1/26ms 1/27ms 1/28ms 1/29ms 1/30ms 1/31ms 1/32ms 1/33ms 1/34ms 1/35ms 1/36ms 1/37ms 1/38ms 1/39ms 1/40ms 1/41ms 1/42ms 1/43ms 1/44ms 1/45ms 1/46ms 1/47ms 1/48ms 1/49ms 1/50ms 1/51ms 1/52ms 1/53ms 1/54ms 1/55ms 1/56ms 1/57ms 1/58ms 1/59ms 1/60ms 1/61ms 1/62ms 1/63ms 1/64ms 1/65ms 1/66ms 1/67ms 1/68ms 1/69ms 1/70ms 1/71ms 1/72ms 1/73ms 1/74ms 1/75ms 1/76ms 1/77ms 1/78ms 1/79ms 1/80ms 1/81ms 1/82ms 1/83ms 1/84ms 1/85ms 1/86ms 1/87ms 1/88ms 1/89ms 1/90ms 1/91ms 1/92ms 1/93ms 1/94ms 1/95ms 1/96ms 1/97ms 1/98ms 1/99ms 1/100ms 1/101ms
EVAL "local r for i = 1, 1001 do r = redis.pcall('RATE.CHECK', KEYS[1], '5', i .. 'h', 'FIXED') end return r" 1 windows
RATE.CHECK limit 5/day 6/day CALENDAR
RATE.CHECK limit 5/1s 6/1m GCRA BURST 5
RATE.CHECK limit 5/1s/0 GCRA
RATE.CHECK limit 5/1s CALENDAR
RATE.CHECK limit 5/day
RATE.CHECK limit 5/day CALENDAR OFFSET 2
RATE.CHECK limit 5/1s OFFSET +02:00
RATE.CHECK limit 5/1s PENALTY 5
RATE.CHECK limit 5/1s STAMP
RATE.CHECK limit 5/1s FIXED WAIT 1s
RATE.CHECK limit 5/1s UPTO
RATE.ALL 1 limit 5/1s GCRA WAIT 1s
RATE.SETTLE limit 5/1s GCRA COST 1 ACTUAL 1 NOW 5
RATE.SETTLE limit 5/1s COST 1 ACTUAL 1 AT 1
RATE.ALL 0 limit 5/1s
RATE.ALL 3 limit 5/1s
RATE.ALL 2 limit other 5/1s
ZADD spent 1 d3w5e11264sgsa+3/1s
RATE.CHECK spent 5/1s COST 3
RANK.CREATE board FIELD gold INT
RATE.CHECK board 5/1s
RATE.ACQUIRE board 5 1s
SET string x
RATE.CHECK string 5/1s FIXED
HSET hash a b
RATE.CHECK hash 5/1s FIXED
RATE.CHECK log 5/1h
RATE.CHECK log 5/1h FIXED
RATE.CHECK numbers 5/1h FIXED
RATE.CHECK numbers 5/1h
RATE.ACQUIRE leases 1 1h
RATE.CHECK leases 5/1h
RATE.ACQUIRE leases 0 1h
RATE.ACQUIRE leases 1 x
RATE.ACQUIRE leases 1 366d NOW 9007199254740
RATE.ACQUIRE log 1 1h
RATE.RENEW leases x 1h
ZADD last -9007199254740992 last
RATE.ACQUIRE last 1 1h
"#;

const SCHEDULES: &str = r#"
DUE.ADD jobs 5 a b
DUE.ADD jobs product:7 5m
DUE.ADD jobs AT -1 a
DUE.ADD jobs IN x a
DUE.ADD jobs NX XX AT 5 a
DUE.ADD text AT 5 a
RANK.CREATE leaders TIES FIRST
DUE.ADD leaders AT 5 a
DUE.CLAIM jobs COUNT 0
DUE.CLAIM jobs LEASE 0
DUE.CLAIM jobs BLOCK x
DUE.CLAIM jobs NOW -1
DUE.CLAIM jobs NOW 1000
DUE.ACK jobs x a
DUE.ADD jobs NX AGAIN a
DUE.ADD jobs DATA payloads x AT 5 a b
DUE.ADD jobs DATA jobs x AT 5 a
DUE.CLAIM jobs ATTEMPTS 31 DEAD failed
DUE.CLAIM jobs ATTEMPTS 5
DUE.CLAIM jobs ATTEMPTS 5 DEAD jobs
"#;

/// What a client is told that waits while its user loses the permission to.
pub fn of_a_wait(server: &Server) -> String {
    let mut con = server.connect();
    expect(&mut con, "ACL SETUSER worker on nopass +due.pop ~awaited", "+OK");
    let mut worker = server.connect();
    expect(&mut worker, "AUTH worker x", "+OK");
    let waiting = std::thread::spawn(move || reply(&mut worker, "DUE.POP awaited BLOCK 0"));
    wait_until(|| server.info("blocked_clients") == "1");
    expect(&mut con, "ACL SETUSER worker -due.pop", "+OK");
    expect(&mut con, "DUE.ADD awaited AT 1 a", "1");
    waiting.join().expect("a reply")
}
