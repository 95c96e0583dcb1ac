//! `RANK.VERIFY`: the options, the steps and the reply. What is damage, and how it is repaired, is in `board/verify.rs`.

use std::time::Duration;

use crate::board::Board;
use crate::command;
use crate::docs::Doc;
use crate::error::Result;
use crate::server::{Access, Call, Stopwatch, ZSet};
use crate::words::Word;

const DEFAULT_COUNT: u64 = 1000;
/// A step that takes longer ends early, and its cursor says where to continue. This is less than the documented 5 ms,
/// because the elements after the last look at the clock take time too.
const MOST_TIME: Duration = Duration::from_millis(3);
command! { VERIFY = verify;
    Doc::write("rank.verify", "key [REPAIR] [CURSOR cursor] [COUNT count]",
    "Checks a board incrementally, optionally repairing it.",
    "O(M*log(N)) for a step of M elements.")
}

fn verify<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, args) = call.key_and_args()?;
    let (mut repair, mut cursor, mut count) = (false, 0, DEFAULT_COUNT);
    let mut options = call.options(args);
    while let Some(option) = options.next()? {
        match option {
            "REPAIR" => repair = true,
            "CURSOR" => cursor = options.value()?.count("CURSOR", 0)?,
            "COUNT" => count = options.value()?.count("COUNT", 1)?,
            _ => return Err(options.unknown()),
        }
    }
    let mut board = Board::open_damaged(ZSet::open(call, key, Access::Write)?)?;
    let stopwatch = Stopwatch::start();
    let late = || stopwatch.elapsed() > MOST_TIME;
    let report = board.verify(cursor, count, repair, late)?;
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
