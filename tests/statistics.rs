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
        "damaged",
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
        // Calls that changed something, however many keys.
        counts(&server, "RANK.MULTISET m 1 2 x", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.MULTISET m 1 3 x", &[("calls", 1), ("writes", 1)]);
        expect(&mut server.connect(), "RANK.ALTER m DATA h OWNED", "+OK");
        counts(&server, "RANK.SETDATA m x k v", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.SETDATA m x k v", &[("calls", 1)]);
        counts(&server, "RANK.ADD m DATA {} 1 4 x", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.REM m x", &[("calls", 1), ("writes", 1)]);
        // A board whose index entry a core command removed.
        expect(&mut server.connect(), "RANK.ADD m 1 2 x", "1");
        expect(&mut server.connect(), "ZREMRANGEBYRANK m 1 1", "1");
        for call in ["RANK.GET m x", "RANK.ADD m 3 4 x", "RANK.ADD m 3 4 y", "RANK.REM m x", "RANK.COUNT m"] {
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

    /// The server asks these commands where their keys are before it runs them.
    fn to_be_asked_for_keys_is_no_call(server: Server) {
        counts(&server, "RANK.CREATE m DATA h OWNED", &[("calls", 1), ("writes", 1)]);
        counts(&server, "RANK.ALTER m KEEP 5 DATA h OWNED", &[("calls", 1), ("writes", 1)]);
        counts(&server, "COMMAND GETKEYS RANK.CREATE m DATA h", &[]);
    }
}
