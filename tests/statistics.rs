//! What an operator graphs: the module's section of INFO.

use crate::support::*;

/// The counters as they stand, in the order INFO shows them.
fn counters(server: &Server) -> Vec<(String, u64)> {
    let names = [
        "calls",
        "errors",
        "writes",
        "members_refused",
        "members_evicted",
        "companions_rebuilt",
        "companions_dropped",
        "companions_followed",
        "rate_sliding_allowed",
        "rate_sliding_denied",
        "rate_fixed_allowed",
        "rate_fixed_denied",
        "rate_counter_allowed",
        "rate_counter_denied",
        "rate_gcra_allowed",
        "rate_gcra_denied",
    ];
    let value = |name: &str| server.info(&format!("rank_{name}")).parse().expect("a number");
    names.iter().map(|name| ((*name).to_string(), value(name))).collect()
}

#[track_caller]
fn counts(server: &Server, line: &str, expected: &[(&str, u64)]) {
    let before = counters(server);
    reply(&mut server.connect(), line);
    let after = counters(server);
    let changed: Vec<(&str, u64)> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before.1 != after.1)
        .map(|(before, after)| (after.0.as_str(), after.1 - before.1))
        .collect();
    assert_eq!(changed, expected, "{line}");
}

on_every_server! {
    fn every_counter_counts(server: Server) {
        counts(&server, "RANK.COUNT none", &[("calls", 1)]);
        counts(&server, "RANK.ADD b x y", &[("calls", 1), ("errors", 1)]);
        counts(&server, "RANK.ADD b 5 a 6 b", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.ADD b KEEP 2 4 c", &[("calls", 1), ("members_refused", 1)]);
        counts(&server, "RANK.ADD b KEEP 2 9 d", &[("calls", 1), ("writes", 1), ("members_evicted", 1)]);
        counts(&server, "RANK.MULTISET m 1 2 x", &[("calls", 1), ("writes", 2)]);
        reply(&mut server.connect(), "DEL rank:members:{m}");
        counts(&server, "RANK.ADD m 3 4 y", &[("calls", 1), ("writes", 2), ("companions_rebuilt", 1)]);
        for (algorithm, name) in [("SLIDING", "sliding"), ("FIXED", "fixed"), ("COUNTER", "counter"), ("GCRA", "gcra")] {
            let (allowed, denied) = (format!("rate_{name}_allowed"), format!("rate_{name}_denied"));
            let check = format!("RATE.CHECK k:{name} 1/1h {algorithm} NOW 7200000");
            counts(&server, &check, &[("calls", 1), (&allowed, 1)]);
            counts(&server, &check, &[("calls", 1), (&denied, 1)]);
            counts(&server, &check.replace("CHECK", "PEEK"), &[("calls", 1)]);
        }
    }

    fn companions_that_follow_or_go_are_counted(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.MULTISET m 1 2 x", "1");
        expect(&mut con, "RENAME m n", "+OK");
        wait_until(|| server.info("rank_companions_followed") == "1");
        expect(&mut con, "DEL n", "1");
        wait_until(|| server.info("rank_companions_dropped") == "1");
    }
}
