//! `RANK.SCAN`: all members, a step at a time.

use std::time::Duration;

use super::rows::{Data, RowFormat};
use super::{open_hash, open_to_read};
use crate::board::{Row, ScanCursor, ScanStep};
use crate::command;
use crate::config;
use crate::docs::Doc;
use crate::error::set_once as once;
use crate::error::{Error, Result};
use crate::server::{Access, Call, Stopwatch};
use crate::words::Word;

const DEFAULT_COUNT: u64 = 10;
/// A step that takes longer ends early. The reply to as many rows takes about as long again.
const MOST_TIME: Duration = Duration::from_millis(2);
/// Rows between two looks at the clock.
const STRIDE: u64 = 8;

command! { SCAN = scan;
    Doc::read("rank.scan", "key cursor [COUNT count] [WITHTIME] [WITHDATA] [JSON]",
    "Returns all members and their scores in steps.",
    "O(M) for a step of M members.").since("0.2.0")
}

fn scan<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let cursor = args.required()?.bytes();
    let cursor = ScanCursor::parse(cursor).ok_or_else(|| Error::bad_cursor(cursor))?;
    let (mut step, mut time, mut data, mut json) = (None, None, None, None);
    while let Some(arg) = args.next() {
        match arg.bytes().to_ascii_uppercase().as_slice() {
            b"COUNT" => once(&mut step, args.value_of("COUNT")?.count("COUNT", 1)?, "COUNT")?,
            b"WITHTIME" => once(&mut time, (), "WITHTIME")?,
            b"WITHDATA" => once(&mut data, (), "WITHDATA")?,
            b"JSON" => once(&mut json, (), "JSON")?,
            _ => return Err(Error::unknown_option(arg.bytes())),
        }
    }
    let mut board = open_to_read(call, key)?;
    let wants_hash = data.is_some() && board.store.exists();
    let hash = if wants_hash { Some(open_hash(call, &board, Access::Read)?) } else { None };
    let data = hash.as_ref().map_or(Data::Unwanted, Data::Hash);
    let schema = board.schema().clone();
    let shown = RowFormat { schema: &schema, data, time: time.is_some(), json: json.is_some() };

    let stopwatch = Stopwatch::start();
    let (mut lines, mut rows, mut seen) = (Vec::new(), Vec::new(), 0_u64);
    // What costs time is done here, attributes included, so that the clock sees it.
    let mut visit = |row: Row| {
        if shown.json {
            if seen > 0 {
                lines.push(b'\n');
            }
            shown.json_line(&row, &mut lines);
        } else {
            let record = shown.record(row.member());
            rows.push((row, record));
        }
        seen += 1;
        !seen.is_multiple_of(STRIDE) || stopwatch.elapsed() < MOST_TIME
    };
    let step = ScanStep { count: step.unwrap_or(DEFAULT_COUNT), most: config::MAX_ROWS.bound() };
    let next = board.scan(&cursor, step, &mut visit)?;

    let reply = call.reply();
    reply.array(2);
    reply.bulk(next.to_string().as_bytes());
    if shown.json {
        reply.bulk(&lines);
        return Ok(());
    }
    reply.array(rows.len() as u64);
    rows.iter().for_each(|(row, record)| shown.resp_unranked(row, record.as_ref(), &reply));
    Ok(())
}
