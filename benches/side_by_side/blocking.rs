//! How long one command keeps everybody else waiting, on a large board: what the server says that it executed.

use redis::{cmd, Value};

use crate::comparison::keys::{CODED, INDEXED, OURS};
use crate::comparison::Key;
use crate::results::{quantile, Record};
use crate::session::{Effort, Session};

pub const NEEDS: &[&Key] = &[&OURS, &CODED, &INDEXED];

struct Case {
    name: &'static str,
    /// What makes the keys that the command uses up.
    setup: &'static str,
    command: &'static str,
    /// What is repeated at the end of the command, and how often.
    tail: (&'static str, u64),
}

const fn case(name: &'static str, command: &'static str) -> Case {
    Case { name, setup: "", command, tail: ("", 0) }
}

const fn after(setup: &'static str, name: &'static str, command: &'static str) -> Case {
    Case { setup, ..case(name, command) }
}

const COPY: &str = "DEL copy ; COPY ours copy";
const COPY_INDEXED: &str = "DEL copy ; COPY indexed copy";
/// Without a thousand of its index entries.
const DAMAGED: &str = "DEL copy ; COPY indexed copy ; ZREMRANGEBYRANK copy 1 1000";

/// From short to long. `ALL`, `MOST` and `HUNDREDTHOUSANDTH` stand for numbers of members and a member.
const CASES: &[Case] = &[
    case("RANK.GET", "RANK.GET ours $member"),
    case("RANK.PERCENTILE", "RANK.PERCENTILE ours $member"),
    after("DEL archive copy ; COPY ours copy", "RANK.ROTATE", "RANK.ROTATE copy archive"),
    after(COPY, "RANK.CLEAR", "RANK.CLEAR copy"),
    after(COPY, "UNLINK", "UNLINK copy"),
    case("RANK.TOPN 1000", "RANK.TOPN ours 1000"),
    case("ZREVRANGE 0 999 WITHSCORES", "ZREVRANGE ours 0 999 WITHSCORES"),
    Case { tail: ("$member", 1000), ..case("RANK.AMONG of 1,000 members", "RANK.AMONG ours 1000") },
    case("RANK.SCAN COUNT 1000", "RANK.SCAN indexed 0 COUNT 1000"),
    case("RANK.VERIFY COUNT 1000", "RANK.VERIFY indexed COUNT 1000"),
    after(DAMAGED, "RANK.VERIFY REPAIR COUNT 1000", "RANK.VERIFY copy REPAIR COUNT 1000"),
    after(COPY, "RANK.CREATE ADOPT", "RANK.CREATE copy FIELD a RANGE 0 2000000000 ADOPT"),
    Case { tail: ("$score $member", 1000), ..case("RANK.ADD of 1,000 members", "RANK.ADD ours") },
    Case { tail: ("$score $member", 1000), ..case("ZADD of 1,000 members", "ZADD ours") },
    Case { tail: ("$wide $member", 1000), ..case("RANK.ADD of 1,000 members with index entries", "RANK.ADD indexed") },
    Case { tail: ("$member", 1000), ..after(COPY, "RANK.REM of 1,000 members", "RANK.REM copy") },
    Case { tail: ("$member", 1000), ..after(COPY, "ZREM of 1,000 members", "ZREM copy") },
    after(COPY, "RANK.POP 1000", "RANK.POP copy 1000"),
    case("RANK.GET DENSE, 100,000 scores", "RANK.GET ours HUNDREDTHOUSANDTH DENSE"),
    after(COPY, "RANK.TRIM, 100,000 members leave", "RANK.TRIM copy MOST"),
    after(COPY_INDEXED, "RANK.TRIM, 100,000 members with index entries leave", "RANK.TRIM copy MOST"),
    after(COPY, "ZREMRANGEBYRANK, 100,000 members leave", "ZREMRANGEBYRANK copy 0 99999"),
    case("RANK.STATS JSON, all scores", "RANK.STATS ours JSON"),
    case("RANK.RANGE 1 -1 JSON, three INT", "RANK.RANGE coded 1 -1 JSON"),
    case("RANK.TOPN, all members", "RANK.TOPN ours ALL"),
    case("ZREVRANGE 0 -1 WITHSCORES", "ZREVRANGE ours 0 -1 WITHSCORES"),
    after(COPY, "DEL", "DEL copy"),
    after("DEL copy", "COPY", "COPY ours copy"),
];

/// What needs other keys than boards: filled by the setup, which runs a hundred thousand times.
const OTHERS: &[Case] = &[
    after(
        "RATE.CHECK log 100000/1h NOW 1700000000000",
        "RATE.CHECK SLIDING, 100,000 calls leave the window",
        "RATE.CHECK log 100000/1h NOW 1700007200000",
    ),
    after("DUE.ADD jobs AT $number $number", "DUE.CLAIM COUNT 10000", "DUE.CLAIM jobs COUNT 10000"),
    case("DUE.INFO, 10,000 items claimed", "DUE.INFO jobs"),
    case("DUE.POP COUNT 10000", "DUE.POP jobs COUNT 10000"),
];
const FILLS: u64 = 100_000;

pub fn measure(session: &mut Session, effort: Effort, mut put: impl FnMut(Record)) {
    let repeats = effort.rounds.div_ceil(5);
    let mut record = |session: &Session, case: &Case, runs: Vec<f64>| {
        let figures = [("ms", quantile(runs, 0.5)), ("members", session.members() as f64)];
        put(Record::new("blocking", &session.name, case.name, session.members(), &figures));
    };
    for case in CASES {
        let runs = (0..repeats).map(|_| {
            if !case.setup.is_empty() {
                run(session, case.setup);
            }
            case.time(session)
        });
        let runs = runs.collect();
        record(session, case, runs);
    }
    for case in OTHERS {
        if !case.setup.is_empty() {
            session.fill(&[&Key::times(FILLS, case.setup)]);
        }
        let run = case.time(session);
        record(session, case, vec![run]);
    }
}

fn run(session: &mut Session, text: &str) -> Value {
    let number = session.numbers(1).start;
    session.ask(&session.template(text), number)
}

impl Case {
    fn time(&self, session: &mut Session) -> f64 {
        let members = session.members();
        let mut text = self.command.to_owned();
        if text.contains("HUNDREDTHOUSANDTH") {
            let place = members.min(100_000) - 1;
            let found: Vec<String> =
                cmd("ZREVRANGE").arg("ours").arg(place).arg(place).query(&mut session.con).expect("a member");
            text = text.replace("HUNDREDTHOUSANDTH", &found[0]);
        }
        text = text.replace("ALL", &members.to_string()).replace("MOST", &members.saturating_sub(100_000).to_string());
        let (tail, times) = self.tail;
        (0..times).for_each(|_| text += &format!(" {tail}"));
        let spent = |session: &mut Session| -> f64 {
            let info: String = cmd("INFO").arg("commandstats").query(&mut session.con).expect("INFO");
            let name = format!("cmdstat_{}:", self.command.split(' ').next().unwrap_or_default().to_lowercase());
            let line = info.lines().find_map(|line| line.strip_prefix(&name)?.split("usec=").nth(1));
            line.map_or(0.0, |line| line.split(',').next().and_then(|usec| usec.parse().ok()).unwrap_or(0.0))
        };
        let before = spent(session);
        run(session, &text);
        (spent(session) - before) / 1e3
    }
}
