//! How long one command keeps everybody else waiting, on a large board.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use redis::Value;

use crate::client::{Client, Load};
use crate::comparison::keys::{CODED, OURS, OVERFLOWING, THOUSAND, TIED};
use crate::comparison::Key;
use crate::measure::quantile;
use crate::results::Stop;
use crate::session::Session;
use crate::support::{cmd, cmdv, reply};

/// How long the other client goes on after the reply, for what a command leaves to be done a moment later.
const AFTERMATH: Duration = Duration::from_millis(20);

pub const NEEDS: &[&Key] = &[&OURS, &THOUSAND, &CODED, &OVERFLOWING, &TIED];

pub struct Case {
    pub name: &'static str,
    /// What makes the keys that the command uses up.
    setup: &'static [&'static str],
    command: Words,
}

enum Words {
    /// `HUNDREDTHOUSANDTH` stands for the member at that position, `ALL` and `HALF` for numbers of members.
    Line(&'static str),
    /// The line and so many pairs of score and member.
    Pairs(&'static str, u64),
    /// The line and so many members.
    Members(&'static str, u64),
    /// The line again and again, with the cursor of the last reply.
    Steps(&'static str),
}

use Words::{Line, Members, Pairs, Steps};

const fn case(name: &'static str, setup: &'static [&'static str], command: Words) -> Case {
    Case { name, setup, command }
}

const COPY: &[&str] = &["DEL copy", "COPY ours copy"];
const NEW: &[&str] = &["DEL copy"];
/// The board without some of its index entries.
const COPY_OVERFLOWING: &[&str] = &["DEL copy", "COPY overflowing copy", "ZREMRANGEBYRANK copy 1 1000"];

/// From short to long, each beside the core command that is most like it.
pub const CASES: &[Case] = &[
    case("RANK.GET", &[], Line("RANK.GET ours player:1")),
    case("RANK.GET COMPETITION, coded, 1000 scores", &[], Line("RANK.GET tied player:1 COMPETITION")),
    case("RANK.PERCENTILE", &[], Line("RANK.PERCENTILE ours player:1")),
    case("RANK.SCOREAT 50", &[], Line("RANK.SCOREAT ours 50")),
    case("RANK.ROTATE", &["DEL archive copy", "COPY ours copy"], Line("RANK.ROTATE copy archive")),
    case("RANK.CLEAR", COPY, Line("RANK.CLEAR copy")),
    case("UNLINK", COPY, Line("UNLINK copy")),
    case("RANK.CREATE ADOPT", COPY, Line("RANK.CREATE copy FIELD a RANGE 0 2000000000 ADOPT")),
    case("RANK.CREATE KEEP, nothing to trim", COPY, Line("RANK.CREATE copy KEEP 100000000")),
    case("RANK.TOPN 1000", &[], Line("RANK.TOPN ours 1000")),
    case("ZREVRANGE 0 999 WITHSCORES", &[], Line("ZREVRANGE ours 0 999 WITHSCORES")),
    case("RANK.QUERY, 1000 scores", &[], Line("RANK.QUERY thousand player:1")),
    case("RANK.SCAN, a step of 1000", &[], Line("RANK.SCAN overflowing 0 COUNT 1000")),
    case("RANK.VERIFY, longest step of 1000", &[], Steps("RANK.VERIFY overflowing COUNT 1000")),
    case(
        "RANK.VERIFY REPAIR of 1000 entries, longest step",
        COPY_OVERFLOWING,
        Steps("RANK.VERIFY copy REPAIR COUNT 1000"),
    ),
    case("RANK.ADD of 10,000 members", NEW, Pairs("RANK.ADD copy", 10_000)),
    case("ZADD of 10,000 members", NEW, Pairs("ZADD copy", 10_000)),
    case("RANK.REM of 10,000 members", COPY, Members("RANK.REM copy", 10_000)),
    case("ZREM of 10,000 members", COPY, Members("ZREM copy", 10_000)),
    case("RANK.GET DENSE, 100,000 scores", &[], Line("RANK.GET ours HUNDREDTHOUSANDTH DENSE")),
    case("RANK.TRIM to half", COPY, Line("RANK.TRIM copy HALF")),
    case("ZREMRANGEBYRANK of half", COPY, Line("ZREMRANGEBYRANK copy 0 HALF")),
    case("RANK.STATS JSON, 1000 scores", &[], Line("RANK.STATS thousand JSON")),
    case("RANK.STATS JSON, distinct scores", &[], Line("RANK.STATS ours JSON")),
    case("RANK.STATS, distinct scores", &[], Line("RANK.STATS ours")),
    case("RANK.TOPN, all", &[], Line("RANK.TOPN ours ALL")),
    case("RANK.RANGE 1 -1 JSON, coded", &[], Line("RANK.RANGE coded 1 -1 JSON")),
    case("ZREVRANGE 0 -1 WITHSCORES", &[], Line("ZREVRANGE ours 0 -1 WITHSCORES")),
    case("DEL", COPY, Line("DEL copy")),
    case("COPY", NEW, Line("COPY ours copy")),
];

pub fn measure(session: &mut Session, case: &Case, repeats: usize) -> Stop {
    let runs: Vec<(f64, f64)> = (0..repeats).map(|_| case.once(session)).collect();
    Stop {
        server: session.name.clone(),
        command: case.name.into(),
        members: session.members(),
        executing: quantile(runs.iter().map(|run| run.0).collect(), 0.5),
        waiting: quantile(runs.iter().map(|run| run.1).collect(), 0.5),
    }
}

impl Case {
    fn line(&self) -> &'static str {
        match self.command {
            Line(line) | Pairs(line, _) | Members(line, _) | Steps(line) => line,
        }
    }

    /// What the server says that the command took, and how long another client waited, in ms.
    fn once(&self, session: &mut Session) -> (f64, f64) {
        for line in self.setup {
            let answer = reply(&mut session.con, line);
            assert!(answer.parse::<i64>().is_ok(), "{line}: {answer}");
        }
        // A deletion just now may still be freeing in the background.
        while session.info("lazyfree_pending_objects") != "0" {
            thread::sleep(Duration::from_millis(1));
        }
        let words = self.words(session);
        let bystander = session.another_client();
        watched_by(bystander, || match self.command {
            Steps(_) => self.longest_step(session, &words),
            _ => self.executing(session, |session| session.run(&words)),
        })
    }

    fn words(&self, session: &mut Session) -> Vec<String> {
        let members = session.members();
        let word = |word: &str| match word {
            "HUNDREDTHOUSANDTH" => hundred_thousandth(session),
            "ALL" => members.to_string(),
            "HALF" => (members / 2).to_string(),
            other => other.into(),
        };
        let mut words: Vec<String> = self.line().split(' ').map(word).collect();
        let member = |number: u64| format!("player:{number}");
        match self.command {
            Pairs(_, count) => words.extend((0..count).flat_map(|number| [(number * 7).to_string(), member(number)])),
            Members(_, count) => words.extend((0..count).map(member)),
            Line(_) | Steps(_) => {}
        }
        words
    }

    fn longest_step(&self, session: &mut Session, words: &[String]) -> f64 {
        let (mut cursor, mut longest) = (0, 0.0_f64);
        loop {
            let words = [words, &["CURSOR".into(), cursor.to_string()]].concat();
            let took = self.executing(session, |session| {
                let answer = cmdv(&mut session.con, &words);
                let Ok(Value::Array(map)) = &answer else { panic!("{words:?}: {answer:?}") };
                let Some(Value::Int(next)) = map.get(1) else { panic!("no cursor in {map:?}") };
                cursor = *next;
            });
            longest = longest.max(took);
            if cursor == 0 {
                return longest;
            }
        }
    }

    /// How much longer the server has spent on commands of this name afterwards, in ms.
    fn executing(&self, session: &mut Session, run: impl FnOnce(&mut Session)) -> f64 {
        let name = self.line().split(' ').next().unwrap_or_default().to_lowercase();
        let field = format!("cmdstat_{name}:");
        let spent = |session: &mut Session| -> f64 {
            let Ok(Value::BulkString(info)) = cmd(&mut session.con, "INFO commandstats") else { panic!("no INFO") };
            let info = String::from_utf8_lossy(&info);
            let line = info.lines().find_map(|line| line.strip_prefix(&field));
            let usec = line.and_then(|line| line.split("usec=").nth(1)?.split(',').next()?.parse().ok());
            usec.unwrap_or(0.0)
        };
        let before = spent(session);
        run(session);
        (spent(session) - before) / 1e3
    }
}

/// The member that is as far down as a `DENSE` rank may count by default; of a smaller board the last.
fn hundred_thousandth(session: &mut Session) -> String {
    let position = session.members().min(100_000) - 1;
    match cmd(&mut session.con, &format!("ZREVRANGE ours {position} {position}")) {
        Ok(Value::Array(members)) => match &members[..] {
            [Value::BulkString(name)] => String::from_utf8_lossy(name).into_owned(),
            other => panic!("one member, got {other:?}"),
        },
        other => panic!("ZRANGE: {other:?}"),
    }
}

/// What `act` returns, and the longest that another client waited for an answer meanwhile, in ms.
fn watched_by(mut bystander: Client, act: impl FnOnce() -> f64) -> (f64, f64) {
    let mut ping = Load::new(1, 1);
    ping.push(1, |bytes| bytes.extend_from_slice(b"PING\r\n"));
    let (longest, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                longest.fetch_max(bystander.run(&ping).as_nanos() as u64, Ordering::Relaxed);
            }
        });
        while longest.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        longest.store(0, Ordering::Relaxed);
        let result = act();
        thread::sleep(AFTERMATH);
        is_over.store(true, Ordering::Relaxed);
        (result, longest.load(Ordering::Relaxed) as f64 / 1e6)
    })
}
