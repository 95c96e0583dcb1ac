//! A board as a list of members that is sorted anew each time.

use std::cmp::Ordering;

use super::{Rules, TieRule, Ties, TimeUnit, Tuple};
use crate::board::{Order, RankKind, Update, Value, WriteRequest};
use crate::zset::Condition;

/// A time that every layout can keep, in Unix milliseconds.
pub const EPOCH: i64 = 1_577_836_800_000;

/// The naive board: a list of members.
#[derive(Clone)]
pub struct Naive {
    pub rules: Rules,
    pub members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: Vec<u8>,
    pub values: Tuple,
    pub time: i64,
}

impl Naive {
    /// Best first, by the fields alone.
    pub fn by_fields(&self, a: &[Value], b: &[Value]) -> Ordering {
        for (field, (a, b)) in self.rules.fields.iter().zip(a.iter().zip(b)) {
            let order = match (a, b) {
                (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
                (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap(),
                _ => unreachable!("one type in a field"),
            };
            let order = if field.order == Order::Descending { order.reverse() } else { order };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Best first, by the time alone.
    pub fn by_time(&self, a: i64, b: i64) -> Ordering {
        match self.rules.ties {
            Ties::Shared => Ordering::Equal,
            Ties::ByTime(TieRule::Last, _) => b.cmp(&a),
            Ties::ByTime(..) => a.cmp(&b),
        }
    }

    /// The members, best first.
    pub fn sorted(&self) -> Vec<Member> {
        let mut sorted = self.members.clone();
        sorted.sort_by(|a, b| {
            let names = match self.rules.fields[0].order {
                Order::Descending => b.name.cmp(&a.name),
                Order::Ascending => a.name.cmp(&b.name),
            };
            self.by_fields(&a.values, &b.values).then(self.by_time(a.time, b.time)).then(names)
        });
        sorted
    }

    /// A member.
    pub fn get(&self, name: &[u8]) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// What the rules count times in, in milliseconds.
    pub fn unit_ms(&self) -> i64 {
        match self.rules.ties {
            Ties::ByTime(_, TimeUnit::Seconds) => 1000,
            _ => 1,
        }
    }

    /// Where a member stands beside a point: scores, then a time, then a name. It is equal to what the point leaves out.
    pub fn beside(&self, member: &Member, values: &[Value], time: Option<i64>, name: Option<&[u8]>) -> Ordering {
        let by_fields = self.by_fields(&member.values, values);
        let is_timed = self.rules.ties != Ties::Shared;
        let by_time = match time {
            None if is_timed => return by_fields,
            time => time.map_or(Ordering::Equal, |time| self.by_time(member.time, time)),
        };
        let by_name = match (name, self.rules.fields[0].order) {
            (None, _) => Ordering::Equal,
            (Some(name), Order::Descending) => name.cmp(&member.name),
            (Some(name), Order::Ascending) => member.name.as_slice().cmp(name),
        };
        by_fields.then(by_time).then(by_name)
    }

    /// The rank of a tuple.
    pub fn rank(&self, values: &[Value], kind: RankKind) -> u64 {
        let mut better: Vec<&Tuple> = self.members.iter().map(|member| &member.values).collect();
        better.retain(|other| self.by_fields(other, values).is_lt());
        if kind == RankKind::Dense {
            better.sort_by(|a, b| self.by_fields(a, b));
            better.dedup();
        }
        better.len() as u64 + 1
    }

    /// What a write of one member does: how many were added, changed and refused.
    pub fn set(&mut self, name: &[u8], values: &Tuple, write: &WriteRequest) -> (u64, u64, u64) {
        let time = write.now / self.unit_ms();
        let there = self.get(name).is_some();
        let before = self.get(name).map(|member| member.values.clone());
        let old = self.members.iter().position(|member| member.name == name);
        let mut refused = 0;
        match old {
            Some(_) if write.condition == Condition::New => {}
            None if write.condition == Condition::Existing => {}
            Some(i) => {
                let old = &self.members[i];
                let better = self.by_fields(values, &old.values).is_lt();
                if !(write.update == Update::Best && !better || old.values == *values) {
                    let joined = matches!(self.rules.ties, Ties::ByTime(TieRule::Joined, _));
                    let time = if joined { old.time } else { time };
                    self.members[i] = Member { name: name.to_vec(), values: values.clone(), time };
                }
            }
            None => {
                let last = write.keep.and_then(|keep| self.sorted().get(keep as usize - 1).cloned());
                let worse = last.is_some_and(|last| {
                    !self.by_fields(values, &last.values).then(self.by_time(time, last.time)).is_lt()
                });
                if worse {
                    refused = 1;
                } else {
                    self.members.push(Member { name: name.to_vec(), values: values.clone(), time });
                }
            }
        }
        if let Some(keep) = write.keep {
            let mut sorted = self.sorted();
            sorted.truncate(keep as usize);
            self.members = sorted;
        }
        let after = self.get(name).map(|member| member.values.clone());
        let changed = there && after.is_some() && before != after;
        (u64::from(!there && after.is_some()), u64::from(changed), refused)
    }
}
