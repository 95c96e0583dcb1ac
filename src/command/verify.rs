//! `RANK.VERIFY`: the options, the steps and the reply. What is damage, and how it is repaired, is in `board/verify.rs`.

use std::time::Duration;

use crate::board::Board;
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Access, Call, Stopwatch, ZSet};
use crate::words::{Setting, Word};

const DEFAULT_COUNT: u64 = 1000;
/// A step that takes longer ends early, and its cursor says where to continue. This is less than the documented 5 ms,
/// because the elements after the last look at the clock take time too.
const MOST_TIME: Duration = Duration::from_millis(3);
command! { VERIFY = verify;
    Doc::write("rank.verify", "key [REPAIR] [CURSOR cursor] [COUNT count]",
    "Checks the elements and the index of a board in steps, and repairs them.",
    "O(M*log(N)) for a step of M elements.")
}

fn verify<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let (mut repair, mut cursor, mut step) = (Setting::default(), Setting::default(), Setting::default());
    while let Some(word) = args.next() {
        match word.upper().as_slice() {
            b"REPAIR" => repair.set((), "REPAIR")?,
            b"CURSOR" => cursor.set(args.value_of("CURSOR")?.count("CURSOR", 0)?, "CURSOR")?,
            b"COUNT" => step.set(args.value_of("COUNT")?.count("COUNT", 1)?, "COUNT")?,
            _ => return Err(Error::unknown_option(word.bytes())),
        }
    }
    let mut board = Board::open_damaged(ZSet::open(call, key, Access::Write)?)?;
    let stopwatch = Stopwatch::start();
    let late = || stopwatch.elapsed() > MOST_TIME;
    let report = board.verify(cursor.get().unwrap_or(0), step.get().unwrap_or(DEFAULT_COUNT), repair.is_set(), late)?;
    let reply = call.reply();
    reply.map(8);
    let counts = [
        ("cursor", report.cursor),
        ("checked", report.checked),
        ("undecodable", report.undecodable),
        ("missing", report.missing),
        ("orphaned", report.orphaned),
        ("duplicated", report.duplicated),
        ("repaired", report.repaired),
    ];
    for (name, value) in counts {
        reply.bulk(name.as_bytes());
        reply.count(value);
    }
    reply.bulk(b"examples");
    reply.array(report.examples.len() as u64);
    report.examples.iter().for_each(|name| reply.bulk(name));
    Ok(())
}
