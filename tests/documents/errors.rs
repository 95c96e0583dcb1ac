//! Calls that fail in every way that the reference names.

/// What is there beforehand, and the calls; each line is a command.
pub const CALLS: &str = r#"
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
RANK.CREATE new TIES X
RANK.CREATE new UPDATE X
RANK.CREATE new ASC FIELD gold
RANK.CREATE new ASC DESC
RANK.CREATE new LIKE nothing
RANK.ALTER nothing NOKEEP
ZADD plain 1 ann
RANK.CREATE new LIKE plain
ZADD half 0.5 x
RANK.CREATE half FIELD a DIGITS 3 ADOPT
EVAL "for i = 1, 20001 do redis.call('ZADD', KEYS[1], i, i) end" 1 large
EVAL "return redis.pcall('RANK.CREATE', KEYS[1], 'FIELD', 'a', 'DIGITS', 9, 'ADOPT')" 1 large
RANK.CREATE plain FIELD gold INT
ZADD infinite inf ann
RANK.CREATE infinite KEEP 5
RANK.CREATE one FIELD gold INT
RANK.CREATE one FIELD gold BITS 5
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
RANK.ADD keeps KEEP 5 1 ann
RANK.ADD plain KEEP 0 1 ann
RANK.ADD plain AT -1 1 ann
RANK.ADD plain NX XX 1 ann
RANK.ADD plain NX BEST 1 ann
RANK.ADD plain SET BEST 1 ann
RANK.ADD plain x ann
RANK.ADD plain -inf "\x00rank 1"
RANK.INCR plain x ann
RANK.TRIM plain -1
RANK.QUERY plain ann LIMIT -1 1
RANK.QUERY plain ann LIMIT 0 x
RANK.QUERY plain ann LIMIT 0
RANK.RANGE plain 0 1
RANK.PAGE plain x 1
RANK.PAGE plain 1 0
RANK.AROUND plain ann -1
RANK.BYSCORE plain x 1
RANK.AMONG plain 0 ann
RANK.AMONG plain 3 ann bob
RANK.SCOREAT plain 101
RANK.VERIFY plain CURSOR -1
RANK.VERIFY plain COUNT 0
RANK.SETDATA plain zoe name Zoe
RANK.SETDATA plain ann "\xff" x
RANK.SETDATA plain ann x "\xff"
RANK.SETDATA plain ann name Ann
HSET rank:data:{plain} :ann x
RANK.GETDATA plain ann
SET rank:data:{infinite} x
RANK.SETDATA infinite ann name Ann
ZADD version -inf "\x00rank 2 0123456789abcdef FIELD score DESC FLOAT"
RANK.COUNT version
ZADD marker -inf "\x00rank 1 no id"
RANK.COUNT marker
ZADD two 0.5 x
RANK.TOPN two 5
RANK.MULTISET a}b 1 2 ann
RANK.MULTISET spilled 1 2 ann
DEL rank:members:{spilled}
RANK.GET spilled ann
EVAL "for i = 1, 10001 do redis.call('RANK.ADD', KEYS[1], i, i, i) end" 1 spilled
DEL rank:members:{spilled}
RANK.ADD spilled 1 2 ann
CONFIG SET rank.max-rows 100
RANK.TOPN spilled 1000
CONFIG SET rank.max-rows 0
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
RATE.CHECK one 5/1s
HSET hash a b
RATE.CHECK hash 5/1s FIXED
"#;
