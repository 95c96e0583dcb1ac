//! The one place that records what a command changed, propagates it as plain commands, and sends the core's events.

use std::collections::HashSet;
use std::ffi::CStr;
use std::mem::discriminant;

use smallvec::SmallVec;

use super::propagation;
use crate::number::FloatText;
use crate::server::api::{Ctx, EventClass, Text};
use crate::stats;

/// Up to this many changes are compared one by one.
const FEW: usize = 16;

/// Every command that the module propagates, here or by a call that propagates itself. `RM_Replicate` says nothing useful
/// about one that the server does not have, so the module is not loaded without them.
pub const PROPAGATED: [&CStr; 11] = [
    c"ZADD",
    c"ZREM",
    c"ZREMRANGEBYSCORE",
    c"ZREMRANGEBYRANK",
    c"SET",
    c"SETRANGE",
    c"HSET",
    c"HDEL",
    c"UNLINK",
    c"PEXPIREAT",
    c"RENAME",
];

/// A change of one key, named after the plain command that makes it.
pub enum Change<'a> {
    /// With the event that announces it.
    Zadd(f64, Text<'a>, &'static CStr),
    Zrem(Text<'a>),
    /// Everything from 0 up to and including a score.
    Zremrangebyscore(i64),
    /// A string and when it expires, in Unix milliseconds.
    Set(Text<'a>, i64),
    /// A part of a string, at this offset. Only for a key that is there: on a replica without it, it would make a string
    /// of zeros.
    Setrange(usize, SmallVec<[u8; 24]>),
    Hset(Text<'a>, Text<'a>),
    Hdel(Text<'a>),
    Unlink,
    Pexpireat(i64),
    /// The key was deleted with its last element: an event, and nothing to propagate.
    Vanish,
}

impl Change<'_> {
    fn event(&self) -> (EventClass, &'static CStr) {
        match self {
            Change::Zadd(_, _, event) => (EventClass::SortedSet, event),
            Change::Zrem(_) => (EventClass::SortedSet, c"zrem"),
            Change::Zremrangebyscore(_) => (EventClass::SortedSet, c"zremrangebyscore"),
            Change::Set(..) => (EventClass::String, c"set"),
            Change::Setrange(..) => (EventClass::String, c"setrange"),
            Change::Hset(..) => (EventClass::Hash, c"hset"),
            Change::Hdel(_) => (EventClass::Hash, c"hdel"),
            Change::Unlink | Change::Vanish => (EventClass::Generic, c"del"),
            Change::Pexpireat(_) => (EventClass::Generic, c"expire"),
        }
    }

    fn is_propagated(&self) -> bool {
        !matches!(self, Change::Vanish)
    }
}

struct Noted<'a> {
    key: Text<'a>,
    change: Change<'a>,
}

impl Noted<'_> {
    fn is_of(&self, other: &Noted) -> bool {
        self.key.is_same(&other.key)
    }

    /// Whether both changes fit in one command.
    fn joins(&self, other: &Noted) -> bool {
        let takes_several =
            matches!(self.change, Change::Zadd(..) | Change::Zrem(_) | Change::Hset(..) | Change::Hdel(_));
        takes_several && discriminant(&self.change) == discriminant(&other.change) && self.is_of(other)
    }
}

#[derive(Default)]
pub struct Effects<'a> {
    noted: SmallVec<[Noted<'a>; 4]>,
}

impl<'a> Effects<'a> {
    pub fn note(&mut self, key: &Text<'a>, change: Change<'a>) {
        self.noted.push(Noted { key: key.clone(), change });
    }

    /// Propagates all of them and sends their events.
    #[inline]
    pub fn propagate_and_notify(&mut self, ctx: Ctx) {
        if self.noted.is_empty() {
            return;
        }
        // Should something panic, no change is propagated again.
        let effects = ClearOnDrop(self);
        stats::WRITES.add(1);
        if propagation::is_unneeded(ctx) {
            effects.0.noted.iter().filter(|noted| noted.change.is_propagated()).for_each(|_| ctx.count_change());
        } else {
            effects.0.propagate(ctx);
        }
        effects.0.notify(ctx);
    }

    fn propagate(&self, ctx: Ctx) {
        let mut number = FloatText::new();
        for run in runs(&self.noted) {
            match run {
                [Noted { key, change: Change::Zadd(score, element, _) }] => {
                    ctx.replicate_zadd(key, number.print(*score), element);
                }
                [Noted { key, change: Change::Set(text, at_ms) }] => ctx.replicate_set(key, text, *at_ms),
                [Noted { key, change: Change::Setrange(offset, bytes) }] => ctx.replicate_setrange(key, *offset, bytes),
                [first, ..] if first.change.is_propagated() => replicate_run(ctx, &first.key, run, &mut number),
                _ => {}
            }
        }
    }

    /// Each key is signalled once, and each event of a key is sent once.
    fn notify(&self, ctx: Ctx) {
        if let [noted] = self.noted.as_slice() {
            let (class, event) = noted.change.event();
            ctx.signal_modified(&noted.key);
            ctx.notify(class, event, &noted.key);
            if let Change::Set(..) = noted.change {
                ctx.notify(EventClass::Generic, c"expire", &noted.key);
            }
            return;
        }
        let mut sent = Sent::room_for(self.noted.len());
        for noted in &self.noted {
            let (class, event) = noted.change.event();
            if !sent.insert(noted, Some(event)) {
                continue;
            }
            if sent.insert(noted, None) {
                ctx.signal_modified(&noted.key);
            }
            ctx.notify(class, event, &noted.key);
            if let Change::Set(..) = noted.change {
                ctx.notify(EventClass::Generic, c"expire", &noted.key);
            }
        }
    }
}

struct ClearOnDrop<'e, 'a>(&'e mut Effects<'a>);

impl Drop for ClearOnDrop<'_, '_> {
    fn drop(&mut self) {
        // A call is never dropped, so a list on the heap is freed here.
        if self.0.noted.spilled() {
            self.0.noted = SmallVec::new();
        } else {
            self.0.noted.clear();
        }
    }
}

/// Changes that one command can make together.
fn runs<'n, 'a>(noted: &'n [Noted<'a>]) -> impl Iterator<Item = &'n [Noted<'a>]> {
    noted.chunk_by(Noted::joins)
}

/// What was sent about each key: its events, and `None` for the signal.
enum Sent<'n> {
    /// A list, which is fastest for a few entries.
    Few(SmallVec<[(&'n Text<'n>, Option<&'static CStr>); 8]>),
    /// A removal from a thousand periods makes thousands of changes.
    Many(HashSet<(&'n [u8], Option<&'static CStr>)>),
}

impl<'n> Sent<'n> {
    fn room_for(changes: usize) -> Sent<'n> {
        if changes > FEW {
            Sent::Many(HashSet::new())
        } else {
            Sent::Few(SmallVec::new())
        }
    }

    /// Whether this is the first time.
    fn insert(&mut self, noted: &'n Noted<'n>, sent: Option<&'static CStr>) -> bool {
        match self {
            Sent::Few(known) => {
                let is_new = !known.iter().any(|(key, other)| *other == sent && key.is_same(&noted.key));
                if is_new {
                    known.push((&noted.key, sent));
                }
                is_new
            }
            Sent::Many(known) => known.insert((noted.key.bytes(), sent)),
        }
    }
}

fn replicate_run<'a>(ctx: Ctx, key: &Text<'a>, run: &[Noted<'a>], number: &mut FloatText) {
    let mut args: SmallVec<[Text<'a>; 8]> = SmallVec::new();
    args.push(key.clone());
    let mut command = c"UNLINK";
    for noted in run {
        match &noted.change {
            Change::Zadd(score, element, _) => {
                command = c"ZADD";
                args.extend([Text::new(number.print(*score).as_bytes()), element.clone()]);
            }
            Change::Zrem(element) => {
                command = c"ZREM";
                args.push(element.clone());
            }
            Change::Zremrangebyscore(through) => {
                command = c"ZREMRANGEBYSCORE";
                args.extend([Text::new(b"0"), Text::new(through.to_string().as_bytes())]);
            }
            // `Set` and `Setrange` have functions of their own.
            Change::Set(..) | Change::Setrange(..) | Change::Unlink | Change::Vanish => {}
            Change::Hset(field, value) => {
                command = c"HSET";
                args.extend([field.clone(), value.clone()]);
            }
            Change::Hdel(field) => {
                command = c"HDEL";
                args.push(field.clone());
            }
            Change::Pexpireat(at_ms) => {
                command = c"PEXPIREAT";
                args.push(Text::new(at_ms.to_string().as_bytes()));
            }
        }
    }
    ctx.replicate(command, args.iter());
}
