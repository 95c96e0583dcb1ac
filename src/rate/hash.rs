//! `FIXED`, `COUNTER` and `GCRA`: one hash, one field for each window.
//!
//! The field of a window is named after algorithm and window, `fixed:60000ms`, and holds a few decimal numbers with a
//! space between (see each algorithm). One more field, `rate`, says that the hash is a limiter: format version and
//! algorithm, `v1 fixed`. It is written once, and read only when a window of the call has no field yet or the limiter is to
//! be forgotten: whoever has the field has been through that, and to read it each time costs a tenth of a call.

use smallvec::SmallVec;

use super::clock::Clock;
use super::counter::Counter;
use super::fixed::Fixed;
use super::gcra::Gcra;
use super::request::{Algorithm, Request};
use super::rule::Rule;
use super::text::Text;
use super::verdict::{Mode, Standing, Tally, Verdict, Wait};
use crate::error::{Error, Result, Shown};

const HEADER_FIELD: &[u8] = b"rate";

/// The hash under the key.
pub trait Fields {
    /// What `parse` makes of the field's value; `None` if there is no such field.
    fn read<T>(&mut self, field: &[u8], parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>>;
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
) -> Result<(Verdict, Option<HashWrite>)> {
    match request.algorithm {
        Algorithm::Fixed => check_windows::<Fixed, H>(request, mode, clock, hash),
        Algorithm::Counter => check_windows::<Counter, H>(request, mode, clock, hash),
        Algorithm::Gcra => check_windows::<Gcra, H>(request, mode, clock, hash),
        // A sorted set's algorithm finds no limiter in any hash.
        Algorithm::Sliding => Err(Error::NotAHashLimiter),
    }
}

/// An error unless the hash under the key is a limiter.
pub fn recognise_hash<H: Fields>(hash: &mut H) -> Result<()> {
    header_of(hash).map(|_| ())
}

fn header_of<H: Fields>(hash: &mut H) -> Result<&'static str> {
    let headers = [Fixed::HEADER, Counter::HEADER, Gcra::HEADER];
    let header = hash.read(HEADER_FIELD, |value| Ok(headers.into_iter().find(|header| header.as_bytes() == value)))?;
    header.flatten().ok_or(Error::NotAHashLimiter)
}

/// What an algorithm keeps for one window.
pub(super) trait Window: Copy {
    const HEADER: &'static str;
    const PREFIX: &'static str;

    /// Only what `push` writes, with numbers that are in range for the rule's window.
    fn parse(value: &[u8], rule: Rule) -> Option<Self>;

    /// Writes the value of the window's field.
    fn push(&self, value: &mut Text);

    /// The latest time this state knows of, at which a clock behind it stands still.
    fn newest(&self) -> i64;

    /// What a rule of the request says of it at `at`, which is not before `newest`.
    fn judge(state: Option<Self>, request: &Request, rule: Rule, at: i64) -> Result<Judged<Self>>;
}

/// What a rule says of a call, and what the call leaves.
pub(super) struct Judged<S> {
    /// Waits in here count from `at`.
    pub standing: Standing,
    /// The state if the call is taken; of no meaning if this rule denies it.
    pub taken: S,
    /// Whether the state then matters no longer than it did.
    pub ends_as_before: bool,
}

fn check_windows<S: Window, H: Fields>(
    request: &Request,
    mode: Mode,
    clock: Clock,
    mut hash: Option<&mut H>,
) -> Result<(Verdict, Option<HashWrite>)> {
    // Texts are written where they will stay: moving them about costs more than making them.
    let mut fields: SmallVec<[(Text, Text); 2]> = SmallVec::from_elem((Text::new(), Text::new()), request.rules.len());
    let mut states: SmallVec<[Option<S>; 2]> = SmallVec::new();
    for (rule, (name, _)) in request.rules.iter().zip(&mut fields) {
        name.push(S::PREFIX.as_bytes());
        name.push_number(rule.window_ms);
        name.push(b"ms");
        states.push(match &mut hash {
            Some(hash) => hash.read(name, |value| {
                let foreign = || Error::LimiterField { name: Shown::new(name), value: Shown::new(value) };
                S::parse(value, *rule).ok_or_else(foreign)
            })?,
            None => None,
        });
    }
    let replace = match &mut hash {
        Some(hash) if states.iter().any(Option::is_none) => header_of(*hash)? != S::HEADER,
        _ => false,
    };

    let mut tally = Tally::new(request.cost);
    // With a clock of its own a call may come much later on the server's, by which keys expire.
    let mut ends_as_before = request.now.is_none();
    for (rule, state) in request.rules.iter().zip(&mut states) {
        let known = state.filter(|_| !replace);
        // Each window by its own newest time: what another window has seen must not let a call through here.
        let at = clock.not_before(known.as_ref().map(Window::newest));
        let judged = S::judge(known, request, *rule, at)?;
        tally.add(seen_from_behind(judged.standing, clock.until(at)));
        *state = Some(judged.taken);
        ends_as_before &= judged.ends_as_before;
    }
    let (verdict, consumes) = tally.verdict(mode).ok_or(Error::NoRule)?;
    if !consumes {
        return Ok((verdict, None));
    }

    for ((_, value), state) in fields.iter_mut().zip(states.iter().flatten()) {
        state.push(value);
    }
    if hash.is_none() || replace {
        let (mut name, mut header) = (Text::new(), Text::new());
        name.push(HEADER_FIELD);
        header.push(S::HEADER.as_bytes());
        fields.push((name, header));
    }
    let expire_at_ms = (!ends_as_before).then(|| clock.expire_at_ms(tally.longest_reset()));
    Ok((verdict, Some(HashWrite { replace, fields, expire_at_ms })))
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
