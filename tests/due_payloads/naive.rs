//! A naive account of a schedule with payloads, and the random steps that it is held against.

use std::collections::{BTreeMap, BTreeSet};

use redis::{Connection, Value};

use crate::support::*;

/// The bulk strings of an array.
#[track_caller]
pub fn strings(value: &Result<Value, redis::RedisError>) -> BTreeSet<String> {
    let Ok(Value::Array(values)) = value else { panic!("no array: {value:?}") };
    values.iter().map(text).collect()
}

/// The commands of an AOF, transaction by transaction, without `MULTI` and `EXEC`.
pub fn transactions_of(aof: &[u8]) -> Vec<Vec<Vec<String>>> {
    let text = String::from_utf8_lossy(aof);
    let mut lines = text.split("\r\n");
    let (mut transactions, mut open) = (Vec::new(), None);
    while let Some(count) = lines.next().and_then(|line| line.strip_prefix('*')) {
        let words: Vec<String> =
            (0..count.parse().expect("a count")).filter_map(|_| lines.nth(1)).map(str::to_owned).collect();
        match (words[0].as_str(), &mut open) {
            ("SELECT", _) => {}
            ("MULTI", _) => open = Some(Vec::new()),
            ("EXEC", _) => transactions.extend(open.take()),
            (_, Some(commands)) => commands.push(words),
            (_, None) => transactions.push(vec![words]),
        }
    }
    transactions
}

/// xorshift64*.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// An item as a person would describe it.
#[derive(Clone, Debug)]
pub enum State {
    /// Due at this time; `None` is the server's own clock, which is after all others here.
    Waiting(Option<i64>),
    Claimed {
        until: i64,
        token: i64,
        attempt: i64,
        again: bool,
    },
}

/// What the schedule `q`, the dead `d` and the payloads `h` should be.
#[derive(Default)]
pub struct Naive {
    pub items: BTreeMap<String, State>,
    pub dead: BTreeMap<String, i64>,
    pub texts: BTreeMap<String, String>,
    /// The clock of the clients.
    pub now: i64,
    /// Old tokens too.
    pub tokens: Vec<(String, i64)>,
    /// Whether all commands name the hash.
    pub always_with_data: bool,
    pub serial: u64,
    pub buried: usize,
    pub marked: usize,
}

pub const MOST: i64 = 3;
/// The clock of `NOW`, from which the server's own clock is far away: what is due by that one is due last.
pub const LATE: i64 = 3_000_000_000_000;

impl Naive {
    pub fn step(&mut self, random: &mut Random) -> String {
        self.now = self.now.max(LATE) + random.below(30).cast_signed();
        self.serial += 1;
        let mut item = format!("i{}", random.below(6));
        if self.always_with_data && self.dead.contains_key(&item) {
            // Elsewhere an item that is dead may be scheduled again: then it shares its payload with the dead one.
            item = format!("n{}", self.serial);
        }
        let with_data = self.always_with_data || random.below(3) > 0;
        let data = if with_data { format!("DATA h t{} ", self.serial) } else { String::new() };
        let hash = if with_data { "DATA h " } else { "" };
        match random.below(10) {
            0..=2 => {
                let only = ["", "NX ", "XX "][random.below(3) as usize];
                format!("DUE.ADD q {only}{data}AT {} {item}", self.now + random.below(40).cast_signed())
            }
            3 => format!("DUE.ADD q {data}AGAIN {item}"),
            4 | 5 => {
                // Which of many dead items a claim meets depends on how far it looks. This one looks at all.
                let (count, giving_up) = match random.below(2) {
                    0 => (99, format!("ATTEMPTS {MOST} DEAD d ")),
                    _ => (1 + random.below(3), String::new()),
                };
                format!("DUE.CLAIM q COUNT {count} LEASE {}ms {giving_up}{hash}NOW {}", 1 + random.below(40), self.now)
            }
            6 => format!("DUE.POP {} {hash}NOW {}", ["q", "d"][random.below(2) as usize], self.now),
            7 | 8 if !self.tokens.is_empty() => {
                let (item, token) =
                    self.tokens[self.tokens.len() - 1 - random.below(self.tokens.len().min(8) as u64) as usize].clone();
                if random.below(3) == 0 {
                    format!("DUE.MOVE q AT {} {token} {item}", self.now + random.below(60).cast_signed())
                } else {
                    format!("DUE.ACK q {hash}{token} {item}")
                }
            }
            _ => format!("DUE.CLAIM q LEASE 20ms {hash}NOW {}", self.now),
        }
    }

    /// When an item is due; those by the server's own clock are due long before the clients'.
    pub fn due(&self, item: &str) -> i64 {
        match &self.items[item] {
            State::Waiting(at) => at.unwrap_or(0),
            State::Claimed { until, .. } => *until,
        }
    }

    pub fn is_held(&self, item: &str, token: i64) -> bool {
        matches!(self.items.get(item), Some(State::Claimed { token: current, .. }) if *current == token)
    }

    pub fn store(&mut self, item: &str, words: &[&str]) {
        if let Some(at) = words.iter().position(|word| *word == "DATA") {
            self.texts.insert(item.into(), words[at + 2].into());
        }
    }

    /// Does what the command should have done, and compares what it said.
    #[track_caller]
    pub fn check(&mut self, line: &str, got: &Result<Value, redis::RedisError>) {
        let words: Vec<&str> = line.split(' ').collect();
        let shown = show_result(got);
        let value = |name: &str| words.iter().position(|word| *word == name).map(|at| words[at + 1]);
        let item = *words.last().expect("words");
        let has_data = words.contains(&"DATA");
        match words[0] {
            "DUE.ADD" if words.contains(&"AGAIN") => {
                assert_eq!(shown, i32::from(!self.items.contains_key(item)).to_string(), "{line}");
                let state = match self.items.remove(item) {
                    Some(State::Claimed { until, token, attempt, again: _ }) => {
                        self.marked += 1;
                        State::Claimed { until, token, attempt, again: true }
                    }
                    // All times of clients are after the server's clock.
                    _ => State::Waiting(None),
                };
                self.items.insert(item.into(), state);
                self.store(item, &words);
            }
            "DUE.ADD" => {
                let at = value("AT").and_then(|at| at.parse().ok());
                let refused = match self.items.get(item) {
                    None => words.contains(&"XX"),
                    // Leases end after the server's clock, which is the one that ADD goes by.
                    Some(State::Claimed { .. }) => true,
                    Some(State::Waiting(_)) => words.contains(&"NX"),
                };
                let new = !refused && !self.items.contains_key(item);
                assert_eq!(shown, i32::from(new).to_string(), "{line}");
                if !refused {
                    self.items.insert(item.into(), State::Waiting(at));
                    self.store(item, &words);
                }
            }
            "DUE.CLAIM" => self.check_claim(line, &value, has_data, got),
            "DUE.POP" => {
                let now: i64 = value("NOW").and_then(|now| now.parse().ok()).expect("a clock");
                let of_dead = words[1] == "d";
                let first = if of_dead {
                    self.dead.iter().map(|(item, at)| (*at, item.clone())).filter(|(at, _)| *at <= now).min()
                } else {
                    let due = self.items.keys().map(|item| (self.due(item), item.clone()));
                    due.filter(|(at, _)| *at <= now).min()
                };
                let rows = rows_of(got);
                assert_eq!(rows.len(), usize::from(first.is_some()), "{line}: {shown}");
                for row in rows {
                    let item = text(&row[0]);
                    if !of_dead {
                        assert_eq!(self.due(&item), first.as_ref().expect("one is due").0, "{line}: {shown}");
                    }
                    if has_data {
                        assert_eq!(optional(&row[2]), self.texts.remove(&item), "{line}: {shown}");
                    }
                    _ = if of_dead {
                        self.dead.remove(&item).map(|_| ())
                    } else {
                        self.items.remove(&item).map(|_| ())
                    };
                }
            }
            "DUE.ACK" => {
                let token = words[words.len() - 2].parse().expect("a token");
                let held = self.is_held(item, token);
                assert_eq!(shown, i32::from(held).to_string(), "{line}");
                match self.items.get(item) {
                    Some(State::Claimed { again: true, .. }) if held => {
                        _ = self.items.insert(item.into(), State::Waiting(None))
                    }
                    _ if held => {
                        self.items.remove(item);
                        if has_data {
                            self.texts.remove(item);
                        }
                    }
                    _ => {}
                }
            }
            "DUE.MOVE" => {
                let held = self.is_held(item, words[4].parse().expect("a token"));
                assert_eq!(shown != "0", held, "{line}: {shown}");
                if let (true, Some(State::Claimed { until, token, .. })) = (held, self.items.get_mut(item)) {
                    *until = words[3].parse().expect("a time");
                    *token = shown.parse().expect("a token");
                    self.tokens.push((item.into(), *token));
                }
            }
            _ => unreachable!(),
        }
    }

    #[track_caller]
    pub fn check_claim<'w>(
        &mut self,
        line: &str,
        value: &dyn Fn(&str) -> Option<&'w str>,
        has_data: bool,
        got: &Result<Value, redis::RedisError>,
    ) {
        let number = |name: &str| value(name).and_then(|word| word.trim_end_matches("ms").parse::<i64>().ok());
        let (now, lease) = (number("NOW").expect("a clock"), number("LEASE").expect("a lease"));
        let (count, most) = (number("COUNT").unwrap_or(1), number("ATTEMPTS").unwrap_or(i64::MAX));
        let mut due: Vec<(i64, String)> =
            self.items.keys().map(|item| (self.due(item), item.clone())).filter(|(at, _)| *at <= now).collect();
        due.sort();
        let failed =
            |naive: &Naive, item: &str| matches!(naive.items[item], State::Claimed { attempt, .. } if attempt >= most);
        let alive = due.iter().filter(|(_, item)| !failed(self, item)).count();
        let rows = rows_of(got);
        assert_eq!(rows.len(), alive.min(count as usize), "{line}: {}", show_result(got));
        let mut previous = i64::MIN;
        for row in &rows {
            let item = text(&row[0]);
            assert!(!failed(self, &item) && previous <= self.due(&item), "{line}: {}", show_result(got));
            previous = self.due(&item);
            let before = match self.items[&item] {
                State::Claimed { attempt, .. } => attempt,
                State::Waiting(_) => 0,
            };
            let (token, attempt) = (integer(&row[1]), integer(&row[2]));
            assert_eq!(attempt, before + 1, "{line}: {}", show_result(got));
            if has_data {
                assert_eq!(optional(&row[4]), self.texts.get(&item).cloned(), "{line}: {}", show_result(got));
            }
            self.items.insert(item.clone(), State::Claimed { until: now + lease, token, attempt, again: false });
            self.tokens.push((item, token));
        }
        for (_, item) in due {
            if let State::Claimed { attempt, until, .. } = self.items[&item] {
                if attempt >= most && until <= now {
                    self.items.remove(&item);
                    self.dead.insert(item, now);
                    self.buried += 1;
                }
            }
        }
    }

    /// The three keys are as they should be.
    #[track_caller]
    pub fn compare(&self, con: &mut Connection, after: &str) {
        let scores = |con: &mut Connection, key: &str| -> BTreeMap<String, f64> {
            let rows = pairs_of(&cmd(con, &format!("ZRANGE {key} 0 -1 WITHSCORES")));
            rows.into_iter().map(|(item, score)| (item, score.parse().expect("a score"))).collect()
        };
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_millis() as f64;
        let stored = scores(con, "q");
        assert_eq!(stored.keys().collect::<Vec<_>>(), self.items.keys().collect::<Vec<_>>(), "after {after}");
        for (item, state) in &self.items {
            let score = stored[item];
            let right = match state {
                State::Waiting(Some(at)) => score == *at as f64,
                State::Waiting(None) => (now - 600_000.0..=now + 1000.0).contains(&score),
                State::Claimed { token, again, .. } => score == (2 * token - (1 << 53) + i64::from(*again)) as f64,
            };
            assert!(right, "after {after}: {item} is {state:?}, its score {score}");
        }
        let dead = self.dead.iter().map(|(item, at)| (item.clone(), *at as f64)).collect();
        assert_eq!(scores(con, "d"), dead, "after {after}");
        let texts: BTreeMap<String, String> = pairs_of(&cmd(con, "HGETALL h")).into_iter().collect();
        assert_eq!(texts, self.texts, "after {after}");
    }
}

/// The cells of the rows of a reply.
#[track_caller]
pub fn rows_of(value: &Result<Value, redis::RedisError>) -> Vec<Vec<Value>> {
    let Ok(Value::Array(rows)) = value else { panic!("no rows: {value:?}") };
    let cells = |row: &Value| match row {
        Value::Array(cells) => cells.clone(),
        _ => panic!("no row: {row:?}"),
    };
    rows.iter().map(cells).collect()
}

#[track_caller]
pub fn text(cell: &Value) -> String {
    optional(cell).unwrap_or_else(|| panic!("no string: {cell:?}"))
}

#[track_caller]
pub fn optional(cell: &Value) -> Option<String> {
    match cell {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Nil => None,
        _ => panic!("no string: {cell:?}"),
    }
}

#[track_caller]
pub fn integer(cell: &Value) -> i64 {
    let Value::Int(number) = cell else { panic!("no integer: {cell:?}") };
    *number
}

/// A flat array as pairs.
#[track_caller]
pub fn pairs_of(value: &Result<Value, redis::RedisError>) -> Vec<(String, String)> {
    let Ok(Value::Array(cells)) = value else { panic!("no array: {value:?}") };
    cells.chunks(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}
