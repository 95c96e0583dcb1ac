//! Thousands of random argument lists for every command: the server lives, and a call that ends in
//! an error, or only reads, has written nothing.

use crate::script::{script, Dice};
use crate::support::*;

/// Calls of every command with every option, as a start for what goes wrong.
const CALLS: &[&str] = &[
    "RANK.CREATE b",
    "RANK.CREATE new FIELD x DESC FLOAT TIES SHARED KEEP 3 UPDATE BEST",
    "RANK.CREATE new FIELD x ASC INT FIELD y BITS 5 FIELD z RANGE -5 5 FIELD w DIGITS 3 TIES FIRST MS ADOPT",
    "RANK.CREATE new LIKE asc",
    "RANK.CREATE new FIELD x INT KEEP 3 DATA players OWNED",
    "RANK.ALTER keep DATA players OWNED",
    "RANK.ALTER sp NODATA",
    "RANK.ALTER keep KEEP 3 UPDATE BEST",
    "RANK.ALTER keep NOKEEP",
    "RANK.INFO b",
    "RANK.CLEAR b",
    "RANK.ROTATE b new",
    "RANK.ROTATE sp new DATA new2",
    "RANK.ADD b XX SET KEEP 3 CH WITHRANK AT 1700000000000 5 a 6 b",
    "RANK.ADD asc NX 5 a",
    "RANK.ADD keep BEST CH 5 a 6 q",
    "RANK.ADD sp DATA {} 5 6 a",
    "RANK.ADD sp XX CH WITHRANK 5 6 a 7 8 q",
    "RANK.ADD sp BOARD 2 BEST 5 * a * 8 q",
    "RANK.MULTISET new 5 6 7 a",
    "RANK.MULTISET b CH 5 a",
    "RANK.INCR b WITHRANK AT 1700000000000 5 a",
    "RANK.REM b a q",
    "RANK.TRIM b 2 RETURN",
    "RANK.GET b a DENSE ASC JSON WITHDATA",
    "RANK.SCORE b a",
    "RANK.GET sp a DENSE WITHDATA JSON",
    "RANK.STATS sp LIMIT 0 5 WITHDATA",
    "RANK.SETDATA sp a NX k v l w",
    "RANK.PUTDATA sp a {}",
    "RANK.GETDATA sp a k l",
    "RANK.DELDATA sp a k l",
    "RANK.REM sp a q",
    "RANK.TRIM sp 1 RETURN",
    "RANK.VERIFY sp REPAIR CURSOR 0 COUNT 5",
    "RANK.QUERY b a LIMIT 0 5 ORDINAL DESC JSON",
    "RANK.STATS b LIMIT 0 5 DENSE JSON",
    "RANK.TOPN b 5 COMPETITION ASC WITHDATA JSON",
    "RANK.RANGE b 1 -1 DENSE JSON",
    "RANK.PAGE b 1 5 ORDINAL JSON",
    "RANK.AROUND b a 2 FILL DENSE JSON",
    "RANK.BYSCORE b (1 +inf LIMIT 0 5 DENSE JSON",
    "RANK.AMONG b 2 a b DENSE JSON",
    "RANK.AFTER b 2 5 MEMBER a WITHTIME ASC JSON",
    "RANK.BEFORE sp 2 5 AT 1700000000000 MEMBER a WITHDATA",
    "RANK.FORSCORE sp 5 AT 1700000000000 MEMBER a",
    "RANK.POP b 1 WORST DENSE WITHTIME JSON",
    "RANK.POP sp 1 WITHDATA",
    "RANK.SCAN b 0 COUNT 5 WITHTIME JSON",
    "RANK.SCAN sp 0 COUNT 1 WITHDATA",
    "RANK.LOAD b NX {\"member\":\"a\",\"score\":1}",
    "RANK.LOAD sp {\"member\":\"q\",\"score\":1,\"time\":1700000000000,\"data\":{}}",
    "RANK.COUNT b -inf (7",
    "RANK.FORSCORE b 5 DENSE",
    "RANK.PERCENTILE b a",
    "RANK.SCOREAT b 50",
];

const WORDS: &str =
    "b asc keep empty none new string list set hash stream bad-marker a q 0 1 -1 2 3 5 007 +4 -0 1.5 1e300 \
    1e400 inf -inf +inf nan 0x10 (5 ( (inf 9223372036854775807 -9223372036854775808 18446744073709551616 4294967296 1e \
    %s%n NX XX SET BEST KEEP NOKEEP CH WITHRANK BOARD * AT RETURN LIMIT FILL JSON WITHDATA WITHTIME MEMBER WORST ASC DESC COMPETITION DENSE ORDINAL \
    FIELD FLOAT INT BITS DIGITS RANGE TIES SHARED FIRST LAST JOINED MS S UPDATE LIKE ADOPT \
    DATA OWNED NODATA sp players {} {\"k\":1} REPAIR CURSOR COUNT";

const ODD_WORDS: [&str; 6] = ["", "\n", "\0", "\u{7f}é", "\0rank ", "\0rank 2 FIELD score DESC FLOAT"];

const LISTS_PER_CALL: usize = 1000;

/// Few members, since every step compares a digest of all keys; but both encodings.
const KEYS: &str = r#"
    FLUSHALL => +OK
    CONFIG SET zset-max-listpack-entries 3 => +OK
    RANK.ADD b 5 a 7 b 7 c -inf d => 4
    RANK.CREATE asc ASC UPDATE BEST => +OK
    RANK.ADD asc 5 a 7 b 7 c => 3
    RANK.CREATE keep KEEP 2 => +OK
    RANK.ADD keep 5 a 7 b => 2
    RANK.CREATE empty => +OK
    RANK.CREATE sp FIELD x INT FIELD y INT DATA players OWNED => +OK
    RANK.ADD sp DATA {"k":"v"} 5 6 a => 1
    RANK.ADD sp 7 8 b => 1
    SET string x => +OK
    RPUSH list x => 1
    SADD set x => 1
    HSET hash f v => 1
    XADD stream 1-1 f v => "1-1"
    ZADD bad-marker -inf "\x00rank 2 zzz" 5 a => 2"#;

/// The call with a few of its words changed, lost, added or doubled; or no such call at all.
fn garbled(call: &str, vocabulary: &[&str], dice: &mut Dice) -> Vec<String> {
    let mut words: Vec<String> = call.split(' ').map(String::from).collect();
    if dice.once_in(6) {
        words.truncate(1);
        words.extend((0..dice.roll(9)).map(|_| dice.pick(vocabulary).to_string()));
        return words;
    }
    for _ in 0..dice.roll(4) {
        let at = 1 + dice.roll(words.len());
        match dice.roll(4) {
            _ if at >= words.len() => words.push(dice.pick(vocabulary).into()),
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[at].clone()),
            2 => words.insert(at, dice.pick(vocabulary).into()),
            _ => words[at] = dice.pick(vocabulary).into(),
        }
    }
    words
}

on_every_server! {
    fn no_argument_list_harms(server: Server) {
        let mut con = server.connect();
        let mut dice = Dice::new(7);
        let vocabulary: Vec<&str> = WORDS.split(' ').chain(ODD_WORDS).collect();
        let (mut errors, mut successes) = (0, 0);
        for call in CALLS {
            let info = reply(&mut con, &format!("COMMAND INFO {}", call.split(' ').next().unwrap_or_default()));
            let reads_only = info.contains("+readonly");
            assert!(reads_only || info.contains("+write"), "{call}: {info}");
            script(&mut con, KEYS);
            let mut digest = reply(&mut con, "DEBUG DIGEST");
            for _ in 0..LISTS_PER_CALL {
                let words = garbled(call, &vocabulary, &mut dice);
                let got = cmdv(&mut con, &words);
                let after = reply(&mut con, "DEBUG DIGEST");
                let shown = show_result(&got);
                assert!(!shown.starts_with("CLIENT") && !shown.contains("internal error"), "{words:?}: {shown}");
                if got.is_err() || reads_only {
                    assert!(after == digest, "{words:?} replied {shown} and wrote");
                }
                if let Err(error) = got {
                    errors += 1;
                    let code = error.code().unwrap_or_default();
                    assert!(["ERR", "WRONGTYPE", "NOBOARD", "SCHEMA", "OUTOFRANGE", "DAMAGED", "TOOBIG"].contains(&code), "{words:?}: {shown}");
                    assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{words:?}: {shown}");
                } else {
                    successes += 1;
                }
                digest = after;
                if dice.once_in(50) {
                    script(&mut con, KEYS);
                    digest = reply(&mut con, "DEBUG DIGEST");
                }
            }
        }
        assert!(errors > 15_000 && successes > 8_000, "{errors} errors, {successes} successes");
    }
}
