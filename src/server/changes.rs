//! What a command changed in a sorted set: propagated as plain commands, announced as the core's would be, at its end.

use std::ffi::CStr;
use std::mem::discriminant;

use smallvec::SmallVec;

use super::context::{Ctx, EventClass};
use super::text::Text;
use crate::number::FloatText;
use crate::stats;

enum Change<'a> {
    Put(f64, Text<'a>),
    Remove(Text<'a>),
}

pub struct Changes<'a> {
    /// In their order.
    changes: SmallVec<[Change<'a>; 2]>,
    put_event: &'static CStr,
}

impl<'a> Changes<'a> {
    pub fn none() -> Changes<'a> {
        Changes { changes: SmallVec::new(), put_event: c"zadd" }
    }

    /// The event that a changed score is announced by, `zadd` unless said otherwise.
    pub fn announce_as(&mut self, event: &'static CStr) {
        self.put_event = event;
    }

    pub fn put(&mut self, element: &Text<'a>, score: f64) {
        self.changes.push(Change::Put(score, element.clone()));
    }

    pub fn remove(&mut self, element: &Text<'a>) {
        self.changes.push(Change::Remove(element.clone()));
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Makes them known, all there are, and forgets them: the one place where writes become known.
    pub fn commit(&mut self, ctx: Ctx, key: &Text, key_is_left: bool) {
        if !ctx.changed_unheard() {
            self.propagate(ctx, key);
        }
        let put = self.changes.iter().any(|change| matches!(change, Change::Put(..)));
        let removed = self.changes.iter().any(|change| matches!(change, Change::Remove(_)));
        self.changes.clear();
        stats::WRITES.add(1);
        ctx.signal_modified(key);
        if put {
            ctx.notify(EventClass::SortedSet, self.put_event, key);
        }
        if removed {
            ctx.notify(EventClass::SortedSet, c"zrem", key);
        }
        if !key_is_left {
            ctx.notify(EventClass::Generic, c"del", key);
        }
    }

    /// Runs of one kind as one command.
    fn propagate(&self, ctx: Ctx, key: &Text) {
        let mut number = FloatText::new();
        let mut rest = self.changes.as_slice();
        while let Some(first) = rest.first() {
            let same = |change: &&Change| discriminant(*change) == discriminant(first);
            let (run, others) = rest.split_at(rest.iter().take_while(same).count());
            match run {
                [Change::Put(score, element)] => ctx.replicate_zadd(key, number.print(*score), element),
                _ => replicate_run(ctx, key, run, &mut number),
            }
            rest = others;
        }
    }
}

/// Several changes of one kind as one command.
fn replicate_run(ctx: Ctx, key: &Text, run: &[Change], number: &mut FloatText) {
    let mut scores = Vec::new();
    let mut args = vec![key.raw()];
    let mut command = c"ZREM";
    for change in run {
        match change {
            Change::Put(score, element) => {
                let score = Text::new(number.print(*score).as_bytes());
                args.extend([score.raw(), element.raw()]);
                scores.push(score);
                command = c"ZADD";
            }
            Change::Remove(element) => args.push(element.raw()),
        }
    }
    ctx.replicate(command, &mut args);
}
