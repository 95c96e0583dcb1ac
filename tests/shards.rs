//! The shards of a board: their keys, who belongs where, and a guard against writes to the wrong one.

use redis::Value;

use crate::script::{script, Dice};
use crate::support::boards::{replyv, scores, BARE, SCHEMAS};
use crate::support::*;

const SLOTS: usize = 16384;
const COUNTS: &[usize] = &[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// CRC16 as the cluster specification defines it, bit by bit: a member's shard is this modulo their number.
pub fn crc16(bytes: &[u8]) -> usize {
    let mut crc = 0_u16;
    for byte in bytes {
        for bit in (0..8).rev() {
            let carry = crc >> 15 ^ u16::from(byte >> bit & 1);
            crc = (crc << 1) ^ (carry * 0x1021);
        }
    }
    usize::from(crc)
}

/// The key of a shard, as the reference defines it.
pub fn key_of(name: &str, shard: usize, count: usize) -> String {
    let part = SLOTS / count;
    let is_in_part = |number: &usize| crc16(number.to_string().as_bytes()) % SLOTS / part == shard;
    let tag = (0..).find(is_in_part).expect("a tag");
    format!("{name}:{count}:{{{tag}}}")
}

fn texts(value: &Value) -> Vec<String> {
    let Value::Array(items) = value else { panic!("no array: {}", show(value)) };
    items.iter().map(|item| show(item).trim_matches('"').to_owned()).collect()
}

/// Names as they are in use, a hundred thousand of each kind.
fn kinds_of_names() -> Vec<(&'static str, Vec<String>)> {
    let mut dice = Dice::new(17);
    let mut hex = |digits: usize| (0..digits).map(|_| format!("{:x}", dice.roll(16))).collect::<String>();
    let uuids = (0..100_000).map(|_| format!("{}-{}-4{}-a{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12))).collect();
    vec![
        ("numbers", (0..100_000).map(|n| n.to_string()).collect()),
        ("numbers from 5,000,000,000 on", (0..100_000).map(|n| (5_000_000_000_u64 + n).to_string()).collect()),
        ("prefixed numbers", (0..100_000).map(|n| format!("user:{n}")).collect()),
        ("tagged numbers", (0..100_000).map(|n| format!("{{eu}}:player-{n:08}")).collect()),
        ("addresses", (0..100_000).map(|n| format!("player.{n}@example.com")).collect()),
        ("uuids", uuids),
    ]
}

on_every_server! {
    fn keys_are_as_the_rule_says(server: Server) {
        let mut con = server.connect();
        for count in COUNTS {
            let keys = cmd(&mut con, &format!("RANK.SHARDS game {count}")).expect("keys");
            let expected: Vec<String> = (0..*count).map(|shard| key_of("game", shard, *count)).collect();
            assert_eq!(texts(&keys), expected);
        }
        // A name is any bytes, even none.
        for name in ["", "a b", "\\x00\\xff", "a:16"] {
            let key = key_of(name, 0, 2);
            assert_eq!(reply(&mut con, &format!("RANK.SHARDS \"{name}\" 2")).split(", ").next(), Some(format!("[\"{key}\"").as_str()));
        }
        expect(&mut con, "DBSIZE", "0");
    }

    fn a_member_belongs_to_the_shard_that_its_bytes_say(server: Server) {
        let mut con = server.connect();
        let names: [&[u8]; 8] = [b"", b"ann", b"{ann}", b"a{b}c", b"\0", b"\xff\xfe", b"1", &[b'x'; 5000]];
        for name in names {
            for count in COUNTS {
                let key = key_of("game", crc16(name) % count, *count);
                let got = cmdv(&mut con, &[b"RANK.SHARD".as_slice(), b"game", count.to_string().as_bytes(), name]);
                assert_eq!(show_result(&got), format!("\"{key}\""), "{}", name.escape_ascii());
            }
        }
    }

    fn a_shard_is_a_board_with_a_part_of_the_members(server: Server) {
        let mut con = server.connect();
        let keys: Vec<String> = (0..4).map(|shard| key_of("game", shard, 4)).collect();
        for (shard, key) in keys.iter().enumerate() {
            expect(&mut con, &format!("RANK.CREATE {key} FIELD a INT FIELD b INT KEEP 50 SHARD {shard} 4"), "+OK");
            // The same again changes nothing, another shard is another schema, or another key.
            expect(&mut con, &format!("RANK.CREATE {key} FIELD a INT FIELD b INT KEEP 50 SHARD {shard} 4"), "+OK");
            let text = format!("FIELD a DESC INT FIELD b DESC INT KEEP 50 SHARD {shard} 4");
            expect(&mut con, &format!("RANK.CREATE {key} FIELD a INT FIELD b INT KEEP 50"), &format!("SCHEMA the board has a different schema: SHARD {shard} 4, asked for no SHARD: use another key (fields, ties, SHARD and SINCE cannot change)"));
            let info = reply(&mut con, &format!("RANK.INFO {key}"));
            assert!(info.ends_with(&format!(r#""shard", [{shard}, 4], "schema", "2 {text}"]"#)), "{info}");
        }
        for number in 0..100 {
            let member = format!("m{number}");
            let home = crc16(member.as_bytes()) % 4;
            for (shard, key) in keys.iter().enumerate() {
                let other = format!("SCHEMA '{member}' belongs to shard {home} of 4: write to '{}'", keys[home]);
                let is_home = shard == home;
                let writes = [
                    format!("RANK.ADD {key} 1 2 {member}"), format!("RANK.ADD {key} XX 1 2 {member}"), format!("RANK.MULTISET {key} 1 3 {member}"),
                    format!("RANK.INCR {key} 1 1 {member}"), format!("RANK.INCR {key} WITHRANK 1 1 {member}"), format!("RANK.ADD {key} WITHRANK 1 2 {member}"),
                ];
                for write in writes {
                    let got = reply(&mut con, &write);
                    assert!(if is_home { !is_error(&got) } else { got == other }, "{write}: {got}");
                }
                // What is not there can be asked for, and removed.
                if !is_home {
                    expect(&mut con, &format!("RANK.GET {key} {member}"), "nil");
                    expect(&mut con, &format!("RANK.REM {key} {member}"), "0");
                }
            }
        }
        // All or nothing: one stranger among many.
        let members = |shard: usize| (0..).map(|n| format!("p{n}")).filter(move |name| crc16(name.as_bytes()) % 4 == shard);
        let own: Vec<String> = members(2).take(5).map(|name| format!("1 1 {name}")).collect();
        let stranger = members(3).next().expect("a stranger");
        let before = reply(&mut con, &format!("DEBUG DIGEST-VALUE {}", keys[2]));
        expect(&mut con, &format!("RANK.ADD {} {} 1 1 {stranger}", keys[2], own.join(" ")), &format!("SCHEMA '{stranger}' belongs to shard 3 of 4: write to '{}'", keys[3]));
        assert_eq!(reply(&mut con, &format!("DEBUG DIGEST-VALUE {}", keys[2])), before);
        expect(&mut con, &format!("RANK.ADD {} {}", keys[2], own.join(" ")), "5");
        // The same for lines of JSON.
        let line = |member: &str| format!(r#"{{"member":"{member}","scores":{{"a":1,"b":1}}}}"#);
        let load = [b"RANK.LOAD".to_vec(), keys[2].clone().into_bytes()];
        let lines = [line("new 0"), line(&stranger)].map(String::into_bytes);
        assert_eq!(crc16(b"new 0") % 4, 2);
        let refused = format!("SCHEMA '{stranger}' belongs to shard 3 of 4: write to '{}'", keys[3]);
        assert_eq!(replyv(&mut con, &[load.as_slice(), &lines].concat()), refused);
        expect(&mut con, &format!("RANK.GET {} \"new 0\"", keys[2]), "nil");
        let counts: Vec<String> = keys.iter().map(|key| reply(&mut con, &format!("RANK.COUNT {key}"))).collect();
        assert_eq!(counts.iter().map(|count| count.parse::<usize>().expect("a number")).sum::<usize>(), 105, "{counts:?}");
    }

    fn every_layout_guards_its_shard(server: Server) {
        let mut con = server.connect();
        let key = key_of("game", 1, 2);
        for schema in SCHEMAS.iter().filter(|schema| **schema != BARE) {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE {key} {schema} SHARD 1 2"), "+OK");
            for number in 0..20 {
                let member = format!("m{number}");
                let mut args = vec![b"RANK.ADD".to_vec(), key.clone().into_bytes()];
                args.extend(scores(schema, number, number));
                args.push(member.clone().into_bytes());
                let expected = match crc16(member.as_bytes()) % 2 {
                    1 => "1".to_owned(),
                    _ => format!("SCHEMA '{member}' belongs to shard 0 of 2: write to '{}'", key_of("game", 0, 2)),
                };
                assert_eq!(replyv(&mut con, &args), expected, "{schema}");
            }
        }
    }

    fn a_shard_needs_its_key(server: Server) {
        let mut con = server.connect();
        let key = key_of("game", 5, 16);
        let suffix = key.strip_prefix("game").expect("the suffix");
        for wrong in ["game", "game:16", "game:32:{0}", &key_of("game", 6, 16), &format!("{{game}}{suffix}"), &format!("ga}}me{suffix}"), &format!("{key}x")] {
            let got = reply(&mut con, &format!("RANK.CREATE {wrong} SHARD 5 16"));
            assert_eq!(got, format!("ERR SHARD 5 16 takes a key name{suffix}, where name has no braces, got {wrong}"));
        }
        expect(&mut con, "DBSIZE", "0");
        script(&mut con, &format!(r#"
            RANK.CREATE {key} SHARD 16 16 => ERR SHARD takes a shard from 0 to n - 1, got 16
            RANK.CREATE {key} SHARD -1 16 => ERR SHARD takes a shard from 0 to n - 1, got -1
            RANK.CREATE {key} SHARD x 16 => ERR SHARD takes a shard from 0 to n - 1, got x
            RANK.CREATE {key} SHARD 5 15 => ERR n takes a power of two from 2 to 1024, got 15
            RANK.CREATE {key} SHARD 0 1 => ERR n takes a power of two from 2 to 1024, got 1
            RANK.CREATE {key} SHARD 0 2048 => ERR n takes a power of two from 2 to 1024, got 2048
            RANK.CREATE {key} SHARD 5 => ERR SHARD needs a value
            RANK.CREATE {key} SHARD => ERR SHARD needs a value
            RANK.CREATE {key} SHARD 5 16 SHARD 5 16 => ERR SHARD is specified more than once
            RANK.SHARDS game 3 => ERR n takes a power of two from 2 to 1024, got 3
            RANK.SHARDS game 1 => ERR n takes a power of two from 2 to 1024, got 1
            RANK.SHARDS game 2048 => ERR n takes a power of two from 2 to 1024, got 2048
            RANK.SHARDS game -2 => ERR n takes a power of two from 2 to 1024, got -2
            RANK.SHARDS game 99999999999999999999 => ERR n takes a power of two from 2 to 1024, got 99999999999999999999
            RANK.SHARDS {{game}} 16 => ERR name takes a name without braces, got {{game}}
            RANK.SHARD a}}b 16 ann => ERR name takes a name without braces, got a}}b
            RANK.SHARD game x ann => ERR n takes a power of two from 2 to 1024, got x
            RANK.SHARDS game => ERR wrong number of arguments for 'rank.shards' command
            RANK.SHARDS game 16 x => ERR wrong number of arguments for 'rank.shards' command
            RANK.SHARD game 16 => ERR wrong number of arguments for 'rank.shard' command
            DBSIZE => 0
            RANK.CREATE {key} SHARD 5 16 => +OK
        "#));
    }

    fn what_is_done_to_boards_fits_shards(server: Server) {
        let mut con = server.connect();
        let key = key_of("game", 5, 16);
        let member = (0..).map(|n| format!("m{n}")).find(|name| crc16(name.as_bytes()) % 16 == 5).expect("a member");
        let stranger = (0..).map(|n| format!("m{n}")).find(|name| crc16(name.as_bytes()) % 16 == 6).expect("a stranger");
        let refused = format!("SCHEMA '{stranger}' belongs to shard 6 of 16: write to '{}'", key_of("game", 6, 16));
        let renamed = format!("SCHEMA '{stranger}' belongs to shard 6 of 16: write to the board with that SHARD, whose key ends with '{}'", key_of("", 6, 16));
        script(&mut con, &format!(r#"
            RANK.CREATE {key} UPDATE BEST SHARD 5 16 => +OK
            RANK.ADD {key} 5 {member} => 1
            # A copy of the schema is a board of its own.
            RANK.CREATE copy LIKE {key} => +OK
            RANK.ADD copy 5 {stranger} => 1
            RANK.ROTATE {key} archive => SCHEMA a shard cannot be rotated: create a board with another name
            EXISTS archive => 0
            RANK.ALTER {key} KEEP 10 => +OK
            RANK.ADD {key} 5 {stranger} => {refused}
            RANK.CLEAR {key} => 1
            RANK.ADD {key} 5 {stranger} => {refused}
            # Under another name it stays a shard.
            RENAME {key} other => +OK
            RANK.ADD other 5 {stranger} => {renamed}
            RANK.ADD other 5 {member} => 1
            # A sorted set becomes a shard only with members that belong there.
            ZADD {key} 1 {member} => 1
            RANK.CREATE {key} SHARD 5 16 => +OK
            DEL {key} => 1
            ZADD {key} 1 {member} 2 {stranger} => 2
            RANK.CREATE {key} SHARD 5 16 => {refused}
            ZCARD {key} => 2
            RANK.CREATE {key} FIELD a DIGITS 3 SHARD 5 16 ADOPT => {refused}
            ZREM {key} {stranger} => 1
            RANK.CREATE {key} FIELD a DIGITS 3 SHARD 5 16 ADOPT => +OK
        "#));
    }
}

/// However slots are spread over nodes in equal ranges, as `redis-cli --cluster create` does it.
#[test]
fn shards_are_spread_evenly_over_nodes() {
    for count in [16, 64, 256] {
        let slots: Vec<usize> = (0..count)
            .map(|shard| {
                let key = key_of("game", shard, count);
                let tag = key.split(['{', '}']).nth(1).expect("a tag");
                crc16(tag.as_bytes()) % SLOTS
            })
            .collect();
        for nodes in [3, 6, 16] {
            let mut shards = vec![0; nodes];
            slots.iter().for_each(|slot| shards[slot * nodes / SLOTS] += 1);
            let most = *shards.iter().max().expect("a node");
            let part = count as f64 / nodes as f64;
            assert!(most as f64 <= 1.35 * part, "{count} shards on {nodes} nodes: {shards:?}");
        }
    }
}

#[test]
fn names_fill_shards_evenly() {
    for (kind, names) in kinds_of_names() {
        let mut members = [0_i64; 16];
        names.iter().for_each(|name| members[crc16(name.as_bytes()) % 16] += 1);
        let (least, most) = (members.iter().min().expect("a shard"), members.iter().max().expect("a shard"));
        assert!(most - least <= most / 10, "{kind}: {members:?}");
    }
}
