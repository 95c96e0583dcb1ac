//! Every error is in the reference, as a client gets it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{Error, ErrorKind, Escaped, NAMES};
use crate::shard::{Count, Shard};

/// Errors, each with the name of its function.
macro_rules! errors {
    ($($name:ident($($arg:expr),*);)*) => { vec![$((stringify!($name), Error::$name($($arg),*))),*] };
}

/// One of four.
fn shard(index: i64) -> Shard {
    Count::new(4).and_then(|count| count.shard(index)).expect("a shard")
}

/// An example of every error, with the values that the reference uses.
fn examples() -> Vec<(&'static str, Error)> {
    errors! {
        arity();
        unknown_option(b"X");
        given_twice("JSON");
        mutually_exclusive("DENSE", "ORDINAL");
        only_together("ATTEMPTS", "DEAD");
        without_value("KEEP");
        takes("KEEP", "1 or more", b"0");
        takes_between("limit", 1, 1_000_000_000, b"0");
        name_too_long("PERIOD", 512, 513);
        not_text("attr", b"\xff");
        shard_count(b"3");
        score_count(1, 3);
        score_count(2, 4);
        delta_count(1, 3);
        delta_count(2, 2);
        scores_alone(2, 1);
        member_count(3, 2);
        key_count(3, 2);
        range_order(5, 5);
        field_twice("gold");
        too_many_fields(32, "x");
        order_with_fields();
        since_without_times();
        adopt_without_since();
        not_the_shard(shard(3), b"game");
        period_twice("day");
        period_prefixes(b"a:1");
        past_together(1001);
        offset_without_period();
        all_kept();
        reserved_member();
        data_takes_one_member();
        data_takes_one_item();
        no_such_member(b"zoe");
        bad_attributes(b"ann");
        bad_cursor(b"x");
        no_such_key();
        archive_exists();
        archive_names();
        no_rule();
        limit_without_window(100);
        window_twice("1m");
        window_twice("day");
        burst_without_gcra();
        burst_of_several();
        offset_without_calendar();
        calendar_without_unit();
        unit_without_calendar("day");
        not_with_sliding("STAMP");
        wait_without_gcra();
        wait_for_all();
        upto_without_cost();
        incomplete_settlement();
        too_many_rules(100);
        too_many_windows(1_000);
        rule_count(2, 1);
        limiter_overflow(5);
        tokens_used_up();
        lease_ends_too_late(9_007_199_254_740);
        no_time(b"5");
        lease_end(1_577_836_800_000, 3_774_712_571_903, 31_000);
        refused_call("Operation not permitted");
        internal();
        wrong_type();
        hash_type(b"players");
        period_type(b"game:2023");
        holds_other("leases, a sorted set");
        not_a_log();
        not_a_string_limiter();
        not_leases();
        board_not_schedule();
        no_permission(b"players");
        no_longer_permitted();
        slot_is_moving();
        key_moved();
        other_slot(b"players");
        cluster_down();
        no_board();
        kept_on_new_board();
        several_members_of_new_board();
        marker_version(b"1");
        marker_version(b"3");
        other_schema("KEEP 100, asked for KEEP 5", true);
        other_schema("FIELD gold DESC INT, asked for FIELD gold DESC BITS 5", false);
        other_fields(3, 2);
        other_shard(b"ann", shard(2), Some(b"game"));
        has_members();
        infinite_scores();
        adopt_undecodable(b"x");
        has_schema();
        has_own_keep(100);
        one_field_only();
        at_without_times();
        no_data();
        owned_hash();
        no_owned_hash();
        no_such_period("day");
        periods_of_another(Some(b"{cup}"), "month, year");
        period_differs(b"game:2023");
        period_is_own_key(b"game:2023");
        offset_is_set();
        has_periods();
        is_shard();
        versus_on_shard();
        field_takes("gold", "0 to 1023", b"2000");
        increment_leaves("hearts", "0 to 7", "5", "3");
        marker_behind();
        marker_lost();
        stray_element();
        index_differs(b"ann");
        undecodable(b"x");
        bad_marker(b"2 no schema");
        too_many_rows(1000, 100);
        too_many_hops(100_000);
        limit_over_log(200_000, 100_000);
        server("OOM command not allowed when used memory > 'maxmemory'.");
        cell_integer(b"x");
    }
}

/// The errors in a line of `RANK.LOAD`.
fn line_examples() -> Vec<(&'static str, Error)> {
    let examples = errors! {
        not_an_object(b"x");
        unknown_name(b"name");
        missing("member");
        bad_member(b"5");
        score_and_scores();
        bad_scores(b"[1]");
        bad_time(b"-1");
        bad_data(b"5");
        scores_without_schema();
        several_fields(2);
        no_field(b"bronze");
        field_without_score("silver");
        field_takes("gold", "0 to 1023", b"2000");
    };
    examples.into_iter().map(|(name, error)| (name, error.in_line(1))).collect()
}

fn all() -> Vec<(&'static str, Error)> {
    let mut all = examples();
    all.extend(line_examples());
    all.push(("stray_element", Error::stray_element().in_period(b"game:2023")));
    all
}

/// The reference has a list of codes and tables of messages.
fn reference() -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let pages = fs::read_dir(docs.join("commands")).expect("a folder").map(|page| page.expect("a page").path());
    let pages = pages.chain([docs.join("commands.md")]);
    pages.map(|page| fs::read_to_string(page).expect("a text")).collect()
}

/// The server's own words, and what no client can bring about.
const NOT_IN_THE_REFERENCE: [&str; 4] = ["server", "refused_call", "limiter_overflow", "internal"];

#[test]
fn every_error_has_an_example() {
    let examples: BTreeSet<&str> = all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(examples, NAMES.iter().copied().collect());
}

/// What the syntax and the list of arguments say: the reference explains such errors once.
fn restates_the_syntax(text: &str) -> bool {
    let values = text.contains(" takes ") && (text.contains(", got ") || text.starts_with("OUTOFRANGE "));
    let words = [" needs a value", " is specified more than once", " are mutually exclusive", " only valid together"];
    values || text.contains("is only valid with ") || words.iter().any(|end| text.ends_with(end))
}

#[test]
fn every_error_is_in_the_reference() {
    let reference = reference();
    let is_documented = |text: &str| {
        reference.split('`').any(|span| match span.strip_suffix('…') {
            Some(start) => start.starts_with(char::is_uppercase) && start.contains(' ') && text.starts_with(start),
            // The server adds the command's name to this one.
            None if text.ends_with("wrong number of arguments") => span.starts_with(text),
            // What follows a colon may be left out.
            None => span == text || text.strip_prefix(span).is_some_and(|detail| detail.starts_with(": ")),
        })
    };
    let errors = all().into_iter().filter(|(name, _)| !NOT_IN_THE_REFERENCE.contains(name));
    let missing: Vec<String> = errors
        .map(|(_, error)| error.to_string())
        .filter(|text| !is_documented(text) && !restates_the_syntax(text))
        .collect();
    assert!(missing.is_empty(), "not in docs/commands: {missing:#?}");
}

#[test]
fn every_error_is_one_line_that_starts_with_its_code() {
    for (_, error) in all().into_iter().filter(|(_, error)| error.kind() != ErrorKind::Verbatim) {
        let text = error.to_string();
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text}");
        let (code, message) = text.split_once(' ').expect("a code and a message");
        assert!(code.bytes().all(|byte| byte.is_ascii_uppercase()), "{text}");
        assert!(!message.ends_with('.'), "{text}");
        let first = message.split(' ').next().unwrap_or_default();
        // An option keeps its case, and so does the core's own text.
        let is_word = first.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'.' | b':'));
        assert!(error == Error::wrong_type() || is_word || !first.starts_with(char::is_uppercase), "{text}");
    }
}

#[test]
fn the_code_stays_in_front_of_what_is_added() {
    let in_period = |error: Error| error.in_period(b"day:1").to_string();
    assert!(in_period(Error::stray_element()).starts_with("DAMAGED in the board's period 'day:1': the board is"));
    assert_eq!(in_period(Error::server("OOM no memory")), "OOM in the board's period 'day:1': no memory");
    assert_eq!(in_period(Error::wrong_type()), "WRONGTYPE 'day:1', a period of the board, holds another type of value");
    let refused = Error::field_takes("gold", "0 to 7", b"9").in_line(2);
    assert_eq!(refused.to_string(), "OUTOFRANGE line 2: field 'gold' takes 0 to 7, got 9");
}

#[test]
fn bytes_of_a_client_are_escaped_and_cut() {
    let cases: [(&[u8], &str, &str); 3] =
        [(b"", "''", "''"), (b"a\n\xff'", "a\\n\\xff\\'", "'a\\n\\xff\\''"), (b"ann", "ann", "'ann'")];
    for (bytes, plain, quoted) in cases {
        assert_eq!((format!("{}", Escaped(bytes)), format!("{:?}", Escaped(bytes))), (plain.into(), quoted.into()));
    }
    assert_eq!(format!("{}", Escaped(&[b'x'; 65])), format!("{}...", "x".repeat(64)));
}
