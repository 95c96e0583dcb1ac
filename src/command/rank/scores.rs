//! `RANK.COUNT`, `RANK.FORSCORE` and `RANK.SCOREAT`: reads about scores, not about members.

use super::options::{open_board_or_period, period_option, Read, RANK_COST};
use crate::board::FieldBound;
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::number::parse_finite;
use crate::server::Call;
use crate::words::Word;

command! { COUNT = count;
    Doc::read("rank.count", concat!("key range:[min max]", period_option!()),
    "Counts members, optionally within a range.",
    "O(1), or O(log(N)) with bounds or where members overflow.").fast()
}

command! { FORSCORE = forscore;
    Doc::read("rank.forscore", concat!("key score ... kind:[COMPETITION|DENSE|ORDINAL] [AT time:ms] [MEMBER name]", period_option!()),
    "Returns the rank that a new member with these scores would get.", RANK_COST).fast()
}

command! { SCOREAT = scoreat;
    Doc::read("rank.scoreat", concat!("key percentile", period_option!()),
    "Returns the score at a percentile of a board.", "O(log(N))")
    .fast()
}

fn count<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let bounds = match args.peek() {
        None => None,
        Some(word) if word.is("PERIOD") => None,
        _ => Some((
            FieldBound::parse(args.required()?.bytes(), "min")?,
            FieldBound::parse(args.required()?.bytes(), "max")?,
        )),
    };
    let mut board = open_board_or_period(call, key, args)?;
    let members = match bounds {
        None => board.members()?,
        Some((min, max)) => {
            let (first, end) = board.first_field_positions(min, max)?;
            end - first
        }
    };
    call.reply().count(members);
    Ok(())
}

fn forscore<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, args) = call.key_and_args()?;
    let (mut read, point) = Read::open_at_point(call, key, args)?;
    let kind = read.kind();
    let rank = if read.board.exists() { read.board.rank_at_point(&point, kind)? } else { 1 };
    call.reply().count(rank);
    Ok(())
}

fn scoreat<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let word = args.required()?;
    let percentile = parse_finite(word.bytes()).filter(|value| (0.0..=100.0).contains(value));
    let percentile = percentile.ok_or_else(|| word.refuse("percentile", "0 to 100"))?;
    let mut board = open_board_or_period(call, key, args)?;
    if board.schema().fields().len() != 1 {
        return Err(Error::one_field_only());
    }
    let Some(worst) = board.members()?.checked_sub(1) else {
        call.reply().null();
        return Ok(());
    };
    // Multiply before dividing, so that the result is exact if it is a whole number.
    let exact = percentile * worst as f64 / 100.0;
    let below = (exact.floor() as u64).min(worst);
    let above = (exact.ceil() as u64).min(worst);
    let mut score = |from_worst: u64| -> Result<f64> {
        let values = board.values_at(worst - from_worst)?;
        Ok(values.and_then(|values| values.first().map(|value| value.as_f64())).unwrap_or_default())
    };
    let low = score(below)?;
    let high = if above == below { low } else { score(above)? };
    call.reply().float(between(low, high, exact - exact.floor()));
    Ok(())
}

/// Interpolates linearly between two scores, either of which may be infinite or huge.
fn between(low: f64, high: f64, share: f64) -> f64 {
    if low == high || share == 0.0 {
        return low;
    }
    let span = high - low;
    if span.is_finite() {
        low + span * share
    } else if low.is_finite() || high.is_finite() {
        low * (1.0 - share) + high * share
    } else if share < 0.5 {
        // There is no value between two infinities: take the nearer one.
        low
    } else {
        high
    }
}
