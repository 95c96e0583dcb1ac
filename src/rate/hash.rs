//! `FIXED`, `COUNTER` and `GCRA`: one hash, one field for each window.
//!
//! The field of a window is named after algorithm and window, `fixed:60000ms`, and holds a few decimal numbers with a
//! space between (see each algorithm). One more field, `rate`, says that the hash is a limiter: format version and
//! algorithm, `v1 fixed`. It is written once, and read only when a window of the call has no field yet or the limiter is to
//! be forgotten: whoever has the field has been through that, and to read it each time costs a tenth of a call.

use smallvec::SmallVec;

use super::clock::Clock;
use super::counter::Counter;
use super::error::RateError;
use super::fixed::Fixed;
use super::gcra::Gcra;
use super::request::{Algorithm, Request};
use super::rule::Rule;
use super::text::{push_number, Text};
use super::verdict::{Mode, Standing, Tally, Verdict, Wait};
use crate::error::Shown;

const HEADER: &str = "rate";
const HEADERS: [(&str, Algorithm); 3] =
    [("v1 fixed", Algorithm::Fixed), ("v1 counter", Algorithm::Counter), ("v1 gcra", Algorithm::Gcra)];

/// The hash under the key.
pub trait Fields {
    /// What `parse` makes of the field's value; `None` if there is no such field.
    fn read<T>(
        &mut self,
        field: &[u8],
        parse: impl FnOnce(&[u8]) -> Result<T, RateError>,
    ) -> Result<Option<T>, RateError>;
}

/// What a call that passed leaves in the hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashWrite {
    /// The hash holds a limiter of another algorithm: all its fields, and its expiry, are to go first.
    pub replace: bool,
    /// Names and values to set.
    pub fields: SmallVec<[(Text, Text); 2]>,
    /// Unix ms. Unless `replace`, an expiry the key has already stays if it is later: it is that of another window.
    /// `None` if every window was there and matters no longer than before.
    pub expire_at_ms: Option<i64>,
}

/// Judges a call of `FIXED`, `COUNTER` or `GCRA` by the hash under the key, `None` if there is no key.
pub fn check_hash<H: Fields>(
    request: &Request,
    mode: Mode,
    clock: Clock,
    hash: Option<&mut H>,
) -> Result<(Verdict, Option<HashWrite>), RateError> {
    match request.algorithm {
        Algorithm::Fixed => check_windows::<Fixed, H>(request, mode, clock, hash),
        Algorithm::Counter => check_windows::<Counter, H>(request, mode, clock, hash),
        Algorithm::Gcra => check_windows::<Gcra, H>(request, mode, clock, hash),
        // A sorted set's algorithm finds no limiter in any hash.
        Algorithm::Sliding => Err(RateError::NotAHashLimiter),
    }
}

/// An error unless the hash under the key is a limiter.
pub fn recognise_hash<H: Fields>(hash: &mut H) -> Result<(), RateError> {
    algorithm_of(hash).map(|_| ())
}

fn algorithm_of<H: Fields>(hash: &mut H) -> Result<Algorithm, RateError> {
    let known = hash.read(HEADER.as_bytes(), |value| {
        let known = HEADERS.iter().find(|(header, _)| header.as_bytes() == value);
        known.map(|(_, algorithm)| *algorithm).ok_or(RateError::NotAHashLimiter)
    })?;
    known.ok_or(RateError::NotAHashLimiter)
}

/// What an algorithm keeps for one window.
pub(super) trait Window: Copy {
    const ALGORITHM: Algorithm;
    const PREFIX: &'static str;

    /// Only what `push` writes, with numbers that are in range for the rule's window.
    fn parse(value: &[u8], rule: Rule) -> Option<Self>;

    fn push(&self, value: &mut Text);

    /// The latest time this state knows of, at which a clock behind it stands still.
    fn newest(&self) -> i64;

    /// What the rule says of a call at `at`, which is not before `newest`.
    fn judge(state: Option<Self>, call: &Call, at: i64) -> Result<Judged<Self>, RateError>;
}

/// A call as one rule sees it.
pub(super) struct Call {
    pub rule: Rule,
    pub burst: Option<u64>,
    pub cost: u64,
}

pub(super) struct Judged<S> {
    /// Waits in here count from `at`.
    pub standing: Standing,
    /// The state if the call is taken; of no meaning if this rule denies it.
    pub taken: S,
    /// Whether the state then matters no longer than it did.
    pub ends_as_before: bool,
}

struct Stored<S> {
    windows: SmallVec<[Option<S>; 2]>,
    header_is_missing: bool,
    replace: bool,
}

fn check_windows<S: Window, H: Fields>(
    request: &Request,
    mode: Mode,
    clock: Clock,
    hash: Option<&mut H>,
) -> Result<(Verdict, Option<HashWrite>), RateError> {
    // Names are written where they will stay, and once: moving small texts about costs more than making them.
    let mut fields = SmallVec::from_elem((Text::new(), Text::new()), request.rules.len());
    for (rule, (name, _)) in request.rules.iter().zip(&mut fields) {
        push_field_name::<S>(name, rule);
    }
    let stored = read_windows::<S, H>(request, &fields, hash)?;
    let mut tally = Tally::new(request.cost);
    let mut taken: SmallVec<[S; 2]> = SmallVec::new();
    // With a clock of its own a call may come much later on the server's, by which keys expire.
    let mut ends_as_before = request.now.is_none();
    for (rule, state) in request.rules.iter().zip(&stored.windows) {
        let call = Call { rule, burst: request.burst, cost: request.cost };
        // Each window by its own newest time: what another window has seen must not let a call through here.
        let at = clock.not_before(state.as_ref().map(Window::newest));
        let judged = S::judge(*state, &call, at)?;
        tally.add(seen_from_behind(judged.standing, clock.until(at)));
        taken.push(judged.taken);
        ends_as_before &= judged.ends_as_before;
    }
    let (verdict, consumes) = tally.verdict(mode).ok_or(RateError::NoRule)?;
    if !consumes {
        return Ok((verdict, None));
    }

    for ((_, value), state) in fields.iter_mut().zip(&taken) {
        state.push(value);
    }
    if stored.header_is_missing {
        fields.push(header_field(S::ALGORITHM));
    }
    let expire_at_ms = (!ends_as_before).then(|| clock.expire_at_ms(tally.longest_reset()));
    Ok((verdict, Some(HashWrite { replace: stored.replace, fields, expire_at_ms })))
}

fn read_windows<S: Window, H: Fields>(
    request: &Request,
    fields: &[(Text, Text)],
    hash: Option<&mut H>,
) -> Result<Stored<S>, RateError> {
    let nothing =
        |replace| Stored { windows: request.rules.iter().map(|_| None).collect(), header_is_missing: true, replace };
    let Some(hash) = hash else {
        return Ok(nothing(false));
    };
    let mut windows: SmallVec<[Option<S>; 2]> = SmallVec::new();
    for (rule, (name, _)) in request.rules.iter().zip(fields) {
        windows.push(hash.read(name, |value| {
            S::parse(value, rule).ok_or_else(|| RateError::Field { name: Shown::new(name), value: Shown::new(value) })
        })?);
    }
    if windows.iter().any(Option::is_none) && algorithm_of(hash)? != S::ALGORITHM {
        return Ok(nothing(true));
    }
    Ok(Stored { windows, header_is_missing: false, replace: false })
}

/// Waits count from the caller's clock, which may be behind the one that decides.
fn seen_from_behind(standing: Standing, behind: u128) -> Standing {
    let later = |wait: u128| if wait == 0 { 0 } else { wait.saturating_add(behind) };
    Standing {
        wait: match standing.wait {
            Wait::Micros(wait) => Wait::Micros(later(wait)),
            other => other,
        },
        reset: later(standing.reset),
        reset_if_taken: later(standing.reset_if_taken),
        ..standing
    }
}

fn header_field(algorithm: Algorithm) -> (Text, Text) {
    let header = HEADERS.iter().find(|(_, named)| *named == algorithm).map_or("", |(header, _)| header);
    (Text::of(HEADER), Text::of(header))
}

fn push_field_name<S: Window>(name: &mut Text, rule: Rule) {
    name.push(S::PREFIX.as_bytes());
    push_number(name, rule.window_ms());
    name.push(b"ms");
}

/// The first number of every state. Times are never negative.
pub(super) fn push_micros(value: &mut Text, micros: i64) {
    push_number(value, micros.unsigned_abs());
}
