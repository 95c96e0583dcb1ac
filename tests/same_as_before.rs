//! Two builds of the module, side by side: the same random calls get the same replies, and have the same effects. Run by
//! hand, to show that a restructuring changed nothing:
//!
//! ```text
//! RANK_BASELINE_SO=before.so REDIS_RANK_SO=after.so cargo test --test integration -- --ignored --nocapture same_as_before
//! ```
//!
//! | variable | meaning |
//! |---|---|
//! | `RANK_CALLS` | how many calls; default 500000 |
//! | `RANK_SEED` | another run; default 1 |
//! | `RANK_SKIP` | leaves out calls that contain one of these words: `rank.verify,OWNED` |
//! | `RANK_ERRORS=codes` | errors may differ in their texts, but not in their codes |
//!
//! Both servers have a clock that stands still, and hash tables that are seeded alike, so that replies are compared byte
//! for byte, and the append-only files too. Each chapter of a few hundred calls begins with new data; after a difference
//! the rest of its chapter is left out, since it would follow from it.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use redis::{Connection, ConnectionLike, Value};
use tempfile::NamedTempFile;

use crate::calls::{begin_chapter, generator, learn, may_wait, Call, Unmet};
use crate::script::Dice;
use crate::support::*;

const CHAPTER: u64 = 250;
/// Calls that are sent at once.
const BATCH: usize = 25;
/// Of each kind of difference, so many are shown.
const SHOWN: usize = 3;
const YEAR_2023_MS: i64 = 1_700_000_000_000;

struct Side {
    server: Server,
    con: Connection,
    aof: File,
}

impl Side {
    fn start(kind: Kind, module: &Path, now: &NamedTempFile, library: &NamedTempFile) -> Side {
        let server = Server::builder(kind)
            .build(module.to_path_buf())
            .variable("LD_PRELOAD", library.path().to_str().expect("a path"))
            .variable("RANK_TEST_NOW", now.path().to_str().expect("a path"))
            .appendonly()
            .config("appendfsync no")
            .config("auto-aof-rewrite-percentage 0")
            .start();
        let mut con = server.connect();
        // Keys expire when a call meets them, not when the server has time.
        expect(&mut con, "DEBUG SET-ACTIVE-EXPIRE 0", "+OK");
        let files = std::fs::read_dir(server.dir().join("appendonlydir")).expect("a directory");
        let aof =
            files.flatten().find(|file| file.file_name().to_string_lossy().ends_with(".incr.aof")).expect("an AOF");
        let aof = File::open(aof.path()).expect("an AOF");
        Side { server, con, aof }
    }

    /// The replies to some calls, and what these have appended to the AOF.
    fn send(&mut self, calls: &[Call]) -> (Vec<Value>, Vec<u8>) {
        let mut pipeline = redis::Pipeline::with_capacity(calls.len());
        for call in calls {
            let mut command = redis::Cmd::new();
            for arg in &call.args {
                command.arg(arg.as_slice());
            }
            pipeline.add_command(command);
        }
        let packed = pipeline.get_packed_pipeline();
        let replies = self.con.req_packed_commands(&packed, 0, calls.len());
        let replies = replies.unwrap_or_else(|error| panic!("{error}:\n{}", self.server.log()));
        let mut effects = Vec::new();
        self.aof.read_to_end(&mut effects).expect("the AOF");
        (replies, effects)
    }
}

fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// What kind of difference it is: the command, and how both replies begin.
fn kind_of(call: &Call, before: &str, after: &str) -> String {
    let class = |reply: &str| match is_error(reply) {
        true => reply.split_whitespace().take(7).collect::<Vec<_>>().join(" "),
        false => "a reply".to_owned(),
    };
    format!("{}: {} / {}", call.command(), class(before), class(after))
}

fn compare(kind: Kind) {
    let Some(baseline) = setting("RANK_BASELINE_SO") else {
        skip("same_as_before", "RANK_BASELINE_SO names no module");
        return;
    };
    let calls: u64 = setting("RANK_CALLS").map_or(500_000, |text| text.parse().expect("a number"));
    let seed: u64 = setting("RANK_SEED").map_or(1, |text| text.parse().expect("a number"));
    let skipped: Vec<String> =
        setting("RANK_SKIP").map_or(Vec::new(), |text| text.split(',').map(str::to_owned).collect());
    let only_codes = setting("RANK_ERRORS").as_deref() == Some("codes");

    let library = compiled(Path::new("tests/fixtures/stopped.c"));
    let clock = NamedTempFile::new().expect("a temporary file");
    let set_clock = |ms: i64| clock.as_file().write_all_at(&(ms * 1000 + 7).to_ne_bytes(), 0).expect("the clock");
    set_clock(YEAR_2023_MS);
    let modules = [Path::new(&baseline).canonicalize().expect("RANK_BASELINE_SO"), module_path()];
    let mut sides = modules.map(|module| Side::start(kind, &module, &clock, &library));
    // What only one of them knows is not called.
    let mut generator = generator(&mut sides[0].con);
    generator.garbled = 6;

    let shown = |value: &Value| {
        let text = show(value);
        let is_code = only_codes && is_error(&text);
        if is_code {
            text.split(' ').next().unwrap_or_default().to_owned()
        } else {
            text
        }
    };
    let mut differences: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    let (mut sent, mut errors, mut appended) = (0, 0, 0);
    let mut unmet = Unmet::new(&generator);
    let mut chapter = 0;
    while sent < calls {
        chapter += 1;
        let mut dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(chapter));
        let mut now = YEAR_2023_MS;
        set_clock(now);
        for side in &mut sides {
            begin_chapter(&mut generator, &mut side.con);
            side.aof.read_to_end(&mut Vec::new()).expect("the AOF");
        }
        let mut history: Vec<String> = Vec::new();
        for _ in 0..CHAPTER / BATCH as u64 {
            if dice.once_in(3) {
                now += [1, 40, 999, 61_000, 3_600_000, 86_400_000][dice.roll(6)];
                set_clock(now);
            }
            generator.now = now;
            let mut batch = Vec::new();
            while batch.len() < BATCH {
                let call = generator.call(&mut dice);
                let is_skipped = |word: &String| call.args.iter().any(|arg| arg.eq_ignore_ascii_case(word.as_bytes()));
                if !may_wait(&call) && !skipped.iter().any(is_skipped) {
                    batch.push(call);
                }
            }
            let [(before, effects_before), (after, effects_after)] = [0, 1].map(|side: usize| sides[side].send(&batch));
            sent += BATCH as u64;
            appended += effects_before.len();
            let mut difference = None;
            for (at, call) in batch.iter().enumerate() {
                let (one, other) = (shown(&before[at]), shown(&after[at]));
                if is_error(&one) {
                    errors += 1;
                } else {
                    unmet.met(&generator, call, &before[at]);
                }
                if one != other {
                    difference = Some((
                        kind_of(call, &one, &other),
                        format!("{}\n     before: {one}\n      after: {other}", call.text()),
                    ));
                    break;
                }
                history.push(format!("{} -> {one}", call.text()));
                learn(&mut generator, call, &before[at]);
            }
            if difference.is_none() && effects_before != effects_after {
                difference = Some(effects_differ(&batch, &effects_before, &effects_after));
            }
            if let Some((kind, text)) = difference {
                let (count, examples) = differences.entry(kind).or_default();
                *count += 1;
                if examples.len() < SHOWN {
                    let path = env::temp_dir().join(format!("same-as-before-{chapter}.txt"));
                    std::fs::write(&path, history.join("\n")).expect("a file");
                    examples.push(format!("{text}\n     the calls before it: {}", path.display()));
                }
                break;
            }
        }
    }
    println!("{unmet:?}");
    println!("{kind:?}: {sent} calls, of which {errors} were errors; {appended} bytes of effects; {chapter} chapters");
    let report: Vec<String> = differences
        .iter()
        .map(|(kind, (count, examples))| format!("{count} x {kind}\n  {}\n", examples.join("\n  ")))
        .collect();
    assert!(report.is_empty(), "{} kinds of difference:\n\n{}", report.len(), report.join("\n"));
}

/// Which of a batch it was is not known: the first place at which the streams differ is shown.
fn effects_differ(batch: &[Call], before: &[u8], after: &[u8]) -> (String, String) {
    let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let around =
        |bytes: &[u8]| bytes[same.saturating_sub(150)..(same + 150).min(bytes.len())].escape_ascii().to_string();
    let writes: Vec<String> = batch.iter().map(Call::text).collect();
    let text = format!(
        "the effects of a batch\n     before: {}\n      after: {}\n     the batch:\n       {}",
        around(before),
        around(after),
        writes.join("\n       ")
    );
    ("effects".to_owned(), text)
}

/// On Redis alone: Valkey's clock goes on by the processor's counter. `REDIS_SERVER` names a server.
#[test]
#[ignore = "compares two builds of the module: see the top of this file"]
fn two_builds_answer_and_write_alike() {
    compare(Kind::Redis);
}
