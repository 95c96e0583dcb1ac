//! A sorted set as a schedule.

use std::cell::RefCell;

use super::zset::ZSet;
use crate::board::MARKER_START;
use crate::due::{Items, ReadItems};
use crate::error::{Error, Result};
use crate::server::api::{Access, Ctx, Text};
use crate::server::Call;
use crate::zset::{Direction, Only, Put, SortedSet};

pub struct ScheduleReader<'c>(RefCell<ZSet<'c>>);

impl<'c> ScheduleReader<'c> {
    pub fn open(ctx: Ctx<'c>, name: &Text<'c>) -> Result<ScheduleReader<'c>> {
        Ok(ScheduleReader(RefCell::new(ZSet::look_at(ctx, name.clone())?)))
    }
}

impl<'c> ReadItems for ScheduleReader<'c> {
    type Item = Text<'c>;

    fn walk(&self, (low, high): (f64, f64), visit: &mut dyn FnMut(Text<'c>, f64) -> bool) {
        let mut set = self.0.borrow_mut();
        let _ = set.cursor(low..high, Direction::Up).all(|(item, score)| visit(item, score));
    }
}

pub struct Schedule<'c>(ScheduleReader<'c>);

impl<'c> Schedule<'c> {
    pub fn open(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Result<Schedule<'c>> {
        let mut set = ZSet::open(call, name, access)?;
        match set.first(..=f64::NEG_INFINITY) {
            Some((element, _)) if element.bytes().starts_with(MARKER_START) => Err(Error::BoardNotSchedule),
            _ => Ok(Schedule(ScheduleReader(RefCell::new(set)))),
        }
    }
}

impl<'c> ReadItems for Schedule<'c> {
    type Item = Text<'c>;

    fn walk(&self, scores: (f64, f64), visit: &mut dyn FnMut(Text<'c>, f64) -> bool) {
        self.0.walk(scores, visit);
    }
}

impl<'c> Items for Schedule<'c> {
    fn card(&self) -> u64 {
        self.0 .0.borrow().len()
    }

    fn score(&self, item: &Text<'c>) -> Option<f64> {
        self.0 .0.borrow().score(item)
    }

    fn count_below(&self, score: f64) -> Result<u64> {
        self.0 .0.borrow_mut().count_below(score, false)
    }

    fn put(&mut self, item: &Text<'c>, score: f64) -> bool {
        self.0 .0.get_mut().put(item, score, Only::Any) != Put::Nothing
    }

    fn remove(&mut self, item: &Text<'c>) {
        self.0 .0.get_mut().remove(item);
    }
}
