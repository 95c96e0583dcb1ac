//! `RANK.SCAN`: all members, a step at a time.

use std::time::Duration;

use super::output::{Json, Output};
use super::rows::{AttributeSource, RowFormat};
use super::{open_hash, open_to_read};
use crate::board::{Row, ScanCursor, ScanStep};
use crate::command;
use crate::config;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Access, Call, Stopwatch, Text};
use crate::words::Word;

const DEFAULT_COUNT: u64 = 10;
/// A step that takes longer ends early. The reply to as many rows takes about as long again.
const MOST_TIME: Duration = Duration::from_millis(2);
/// Rows between two looks at the clock.
const STRIDE: u64 = 8;

command! { SCAN = scan;
    Doc::read("rank.scan", "key cursor [COUNT count] [WITHTIME] [WITHDATA] [JSON]",
    "Iterates over the members of a board.",
    "O(M) for a step of M members.")
}

fn scan<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let cursor = args.required()?.bytes();
    let cursor = ScanCursor::parse(cursor).ok_or_else(|| Error::bad_cursor(cursor))?;
    let (mut count, mut time, mut data, mut json) = (DEFAULT_COUNT, false, false, false);
    let mut options = call.options(args);
    while let Some(option) = options.next()? {
        match option {
            "COUNT" => count = options.value()?.count("COUNT", 1)?,
            "WITHTIME" => time = true,
            "WITHDATA" => data = true,
            "JSON" => json = true,
            _ => return Err(options.unknown()),
        }
    }
    let mut board = open_to_read(call, key)?;
    let wants_hash = data && board.exists();
    let hash = if wants_hash { Some(open_hash(call, &board, Access::Read)?) } else { None };
    let attributes = hash.as_ref().map_or(AttributeSource::None, AttributeSource::Hash);
    let schema = board.schema().clone();
    let format = RowFormat::new(&schema, attributes, time, None);

    let stopwatch = Stopwatch::start();
    let (mut rows, mut seen) = (Vec::new(), 0_u64);
    // Attributes are looked up here, so that the clock sees what they cost.
    let mut visit = |row: Row| {
        let attributes = format.attributes.of(row.member());
        rows.push((row, attributes));
        seen += 1;
        !seen.is_multiple_of(STRIDE) || stopwatch.elapsed() < MOST_TIME
    };
    let step = ScanStep { count, most: config::MAX_ROWS.bound() };
    let next = board.scan(&cursor, step, &mut visit)?;

    let reply = call.reply();
    reply.array(2);
    reply.bulk(next.to_string().as_bytes());
    if json {
        let lines: Vec<Vec<u8>> = rows.into_iter().map(|(row, attributes)| line(&format, &row, attributes)).collect();
        reply.bulk(&lines.join(&b'\n'));
        return Ok(());
    }
    let mut out = Output::Resp(&reply);
    out.list(rows.len() as u64);
    rows.into_iter().for_each(|(row, attributes)| format.unranked(&row, attributes, &mut out));
    Ok(())
}

/// A row as one line of JSON.
fn line(format: &RowFormat, row: &Row, attributes: Option<Option<Text>>) -> Vec<u8> {
    let mut out = Output::Json(Json::default());
    format.unranked(row, attributes, &mut out);
    let mut text = out.into_text();
    // Attributes are as a client wrote them. In JSON a line can only end between values, where a space does as well.
    text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    text
}
