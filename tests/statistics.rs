//! What an operator graphs: the module's section of INFO.

use std::collections::BTreeMap;
use std::fs;

use redis::Value;

use crate::support::*;

/// What the module shows, in its order, without its name.
fn fields(server: &Server) -> Vec<(String, String)> {
    let Ok(Value::BulkString(info)) = cmd(&mut server.connect(), "INFO rank") else { panic!("no INFO rank") };
    let info = String::from_utf8(info).expect("text");
    let fields = info.lines().filter_map(|line| line.strip_prefix("rank_")?.split_once(':'));
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The counters as they stand. The others tell of a moment.
fn counters(server: &Server) -> BTreeMap<String, u64> {
    let is_counter = |(name, _): &(String, String)| !["waiters", "slowest_call", "slowest_call_us"].contains(&&**name);
    let counters = fields(server).into_iter().filter(is_counter);
    counters.map(|(name, value)| (name, value.parse().expect("a number"))).collect()
}

/// A call counts this much more. Calls, errors and denials also count for the family of the command.
#[track_caller]
fn counts(server: &Server, line: &str, expected: &[(&str, u64)]) {
    let before = counters(server);
    reply(&mut server.connect(), line);
    let after = counters(server);
    let changed: BTreeMap<&str, u64> = after
        .iter()
        .filter(|(name, after)| before[*name] != **after)
        .map(|(name, after)| (name.as_str(), after - before[name]))
        .collect();
    let family = line.split('.').next().unwrap_or_default().to_lowercase();
    let of_family: Vec<(String, u64)> = expected
        .iter()
        .filter_map(|(name, count)| match *name {
            "calls" | "errors" => Some((format!("{family}_{name}"), *count)),
            name if name.starts_with("rate_") && name.ends_with("_denied") => Some(("rate_denied".into(), *count)),
            _ => None,
        })
        .collect();
    let of_family = of_family.iter().map(|(name, count)| (name.as_str(), *count));
    assert_eq!(changed, expected.iter().copied().chain(of_family).collect(), "{line}");
}

on_every_server! {
    fn every_counter_counts(server: Server) {
        counts(&server, "RANK.COUNT none", &[("calls", 1)]);
        counts(&server, "RANK.ADD b x y", &[("calls", 1), ("errors", 1)]);
        counts(&server, "RANK.ADD b 5 a 6 b", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.ADD b KEEP 2 4 c", &[("calls", 1), ("members_refused", 1)]);
        counts(&server, "RANK.ADD b KEEP 2 9 d", &[("calls", 1), ("writes", 1), ("members_evicted", 1)]);
        // Calls that changed something, however many keys.
        counts(&server, "RANK.MULTISET m 1 2 x", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.MULTISET m 1 3 x", &[("calls", 1), ("writes", 1)]);
        expect(&mut server.connect(), "RANK.ALTER m DATA h OWNED", "+OK");
        counts(&server, "RANK.SETDATA m x k v", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.SETDATA m x k v", &[("calls", 1)]);
        counts(&server, "RANK.ADD m DATA {} 1 4 x", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.REM m x", &[("calls", 1), ("writes", 1)]);
        // Members that do not fit their score, each time they are written.
        counts(&server, "RANK.ADD m 1 9000000000000000000 x 2 2 y", &[("calls", 1), ("writes", 1), ("members_overflowed", 1)]);
        counts(&server, "RANK.INCR m 1 1 x", &[("calls", 1), ("writes", 1), ("members_overflowed", 1)]);
        counts(&server, "RANK.ADD m 1 1 x 2 9000000000000000000 y", &[("calls", 1), ("writes", 1), ("members_overflowed", 1)]);
        counts(&server, "RANK.LOAD m {\"member\":\"x\",\"scores\":{\"s1\":1,\"s2\":9000000000000000000}}",
            &[("calls", 1), ("writes", 1), ("members_overflowed", 1)]);
        counts(&server, "RANK.ADD m 1 9000000000000000000 x", &[("calls", 1)]);
        counts(&server, "RANK.REM m y", &[("calls", 1), ("writes", 1)]);
        // A board whose element a core command removed.
        expect(&mut server.connect(), "ZREMRANGEBYRANK m -1 -1", "1");
        for call in ["RANK.GET m x", "RANK.ADD m 3 4 x", "RANK.ADD m 3 4 y 5 6 x", "RANK.REM m x"] {
            counts(&server, call, &[("calls", 1), ("errors", 1), ("damaged", 1)]);
        }
        for (algorithm, name) in [("SLIDING", "sliding"), ("FIXED", "fixed"), ("COUNTER", "counter"), ("GCRA", "gcra")] {
            let (allowed, denied) = (format!("rate_{name}_allowed"), format!("rate_{name}_denied"));
            let check = format!("RATE.CHECK k:{name} 1/1h {algorithm} NOW 7200000");
            counts(&server, &check, &[("calls", 1), ("writes", 1), (&allowed, 1)]);
            counts(&server, &check, &[("calls", 1), (&denied, 1)]);
            counts(&server, &check.replace("CHECK", "PEEK"), &[("calls", 1)]);
        }
    }

    fn denials_and_refusals_are_counted(server: Server) {
        let mut con = server.connect();
        // Leases and redis-cell's command are limits too.
        counts(&server, "RATE.ACQUIRE lock 1 1h", &[("calls", 1), ("writes", 1), ("rate_leases_granted", 1)]);
        counts(&server, "RATE.ACQUIRE lock 1 1h", &[("calls", 1), ("rate_leases_denied", 1)]);
        counts(&server, "RATE.HELD lock", &[("calls", 1)]);
        counts(&server, "RATE.ALL 1 k 1/year CALENDAR", &[("calls", 1), ("writes", 1), ("rate_calendar_allowed", 1)]);
        counts(&server, "RATE.ALL 1 k 1/year CALENDAR", &[("calls", 1), ("rate_calendar_denied", 1)]);
        counts(&server, "RATE.CHECK k x", &[("calls", 1), ("errors", 1)]);
        // A token that is no longer held.
        counts(&server, "DUE.ADD jobs AT 5 a b", &[("calls", 1), ("writes", 1)]);
        counts(&server, "DUE.ACK jobs 1 a 2 b 3 c", &[("calls", 1), ("due_denied", 3)]);
        counts(&server, "DUE.MOVE jobs IN 1h 1 a", &[("calls", 1), ("due_denied", 1)]);
        counts(&server, "DUE.POP jobs COUNT 2", &[("calls", 1), ("writes", 1), ("due_elements", 2)]);
        counts(&server, "DUE.POP jobs COUNT 0", &[("calls", 1), ("errors", 1)]);
        // What the bounds of the configuration refuse, also on a period of a board.
        expect(&mut con, "RANK.CREATE b PERIOD YEAR y:", "+OK");
        expect(&mut con, "RANK.ADD b 1 a 2 b 3 c 4 d", "4");
        expect(&mut con, "CONFIG SET rank.max-rows 2 rank.max-hops 2", "+OK");
        for call in ["RANK.TOPN b 3", "RANK.TOPN b 3 PERIOD year", "RANK.ADD b WITHRANK 1 a 2 b 3 c"] {
            counts(&server, call, &[("calls", 1), ("errors", 1), ("too_big", 1)]);
        }
        for call in ["RANK.GET b a DENSE", "RANK.GET b a DENSE PERIOD year", "RANK.FORSCORE b 0 DENSE"] {
            counts(&server, call, &[("calls", 1), ("errors", 1), ("too_big", 1)]);
        }
        counts(&server, "DUE.POP jobs COUNT 3", &[("calls", 1), ("errors", 1), ("too_big", 1)]);
    }

    fn redis_cells_command_counts_as_a_limit(kind: Kind) {
        let server = Server::builder(kind).args(&["cl-throttle", "yes"]).start();
        for _ in 0..2 {
            reply(&mut server.connect(), "CL.THROTTLE k 0 1 3600");
        }
        for (field, value) in [("rank_rate_calls", "2"), ("rank_rate_gcra_allowed", "1"), ("rank_rate_denied", "1")] {
            assert_eq!(server.info(field), value, "{field}");
        }
    }

    fn clients_that_wait_are_shown_while_they_do(server: Server) {
        assert_eq!(server.info("rank_waiters"), "0");
        let waiting: Vec<_> = ["DUE.POP q BLOCK 0", "DUE.CLAIM r BLOCK 0"].into_iter().map(|line| {
            let mut con = server.connect();
            std::thread::spawn(move || reply(&mut con, line))
        }).collect();
        wait_until(|| server.info("rank_waiters") == "2");
        expect(&mut server.connect(), "DUE.ADD q AT 1 a", "1");
        wait_until(|| server.info("rank_waiters") == "1");
        expect(&mut server.connect(), "DUE.ADD r AT 1 a", "1");
        waiting.into_iter().for_each(|waiting| assert!(waiting.join().expect("a reply").starts_with("[[\"a\"")));
        assert_eq!(server.info("rank_waiters"), "0");
        // To wait holds nobody.
        assert_eq!(server.info("rank_slowest_call"), "none");
    }

    /// Of the calls that may hold the server. Counters start with the module, so each of these is the only one.
    fn the_slowest_call_is_named(server: Server) {
        let mut con = server.connect();
        let module = module_path();
        let load = format!("MODULE LOAD {}", module.to_str().expect("a UTF-8 path"));
        let pairs: String = (0..5000).map(|i| format!(" {i} m{i}")).collect();
        let times: String = (0..5000).map(|i| format!(" {i} t{i}")).collect();
        let claims: String = (0..500).map(|i| format!(" {i} t{i}")).collect();
        let cases = [
            // Fast ones with few arguments are not timed.
            ("RANK.ADD b 1 m1".into(), "none"),
            ("RANK.GET b m1".into(), "none"),
            ("COMMAND GETKEYS RANK.CREATE m DATA h".into(), "none"),
            (format!("RANK.ADD b{pairs}"), "rank.add"),
            ("RANK.TOPN b 5000".into(), "rank.topn"),
            ("RANK.GET b m0 DENSE".into(), "rank.get"),
            ("RANK.FORSCORE b -5 DENSE".into(), "rank.forscore"),
            ("RANK.ADD b KEEP 5 7 m7".into(), "rank.add"),
            ("RANK.CREATE p PERIOD YEAR y:".into(), "rank.create"),
            ("RANK.REM p x".into(), "rank.rem"),
            (format!("ZADD q{times}"), "none"),
            ("DUE.POP q COUNT 1000".into(), "due.pop"),
            (format!("DUE.ACK q{claims}"), "due.ack"),
        ];
        for (line, name) in cases {
            expect(&mut con, "MODULE UNLOAD rank", "+OK");
            expect(&mut con, &load, "+OK");
            assert_eq!(server.info("rank_slowest_call_us"), "0");
            // A call of less than a microsecond is not shown.
            wait_until(|| {
                reply(&mut con, &line);
                name == "none" || server.info("rank_slowest_call") != "none"
            });
            assert_eq!(server.info("rank_slowest_call"), name, "{}", &line[..line.len().min(40)]);
            assert_eq!(server.info("rank_slowest_call_us") == "0", name == "none");
        }
    }

    /// The monitoring guide has a row for every field, in the order in which they are shown.
    fn the_guide_explains_every_field(server: Server) {
        let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guides/monitoring.md")).expect("the guide");
        let listed: Vec<&str> = guide.lines().filter_map(|line| line.strip_prefix("| `rank_")?.split('`').next()).collect();
        let shown = fields(&server);
        assert_eq!(listed, shown.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
    }

    /// The server asks these commands where their keys are before it runs them.
    fn to_be_asked_for_keys_is_no_call(server: Server) {
        counts(&server, "RANK.CREATE m DATA h OWNED", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.ALTER m KEEP 5 DATA h OWNED", &[("calls", 1), ("writes", 1)]);
        counts(&server, "COMMAND GETKEYS RANK.CREATE m DATA h", &[]);
    }
}
