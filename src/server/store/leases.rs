//! The key of leases: a sorted set of tokens, and `last`.

use super::ends::{element_above, is_leases, End};
use super::limiter::{not_leases, Limiter};
use crate::error::{Error, Result};
use crate::rate::{self, last_token, lease_end, Grant, Renewal};
use crate::server::api::{Access, Ctx, Key, KeyType, Text};
use crate::server::Call;

/// Below this score there is only the last token.
const BELOW_ALL_ENDS: f64 = -0.5;

pub struct LeaseKey<'c> {
    limiter: Limiter<'c>,
}

impl<'c> LeaseKey<'c> {
    /// An error if something else is there.
    pub fn open(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Result<LeaseKey<'c>> {
        let mut limiter = Limiter::open(call, name, access);
        match limiter.holding(KeyType::SortedSet)? {
            Some(key) if !is_leases(key) => Err(not_leases(key)),
            _ => Ok(LeaseKey { limiter }),
        }
    }

    /// What is there; `None` if there is no key.
    pub fn leases(&self) -> Option<LeasesOf<'_>> {
        let key = self.limiter.key().filter(|key| key.kind() != KeyType::Empty);
        key.map(|key| LeasesOf { ctx: self.limiter.call().ctx, name: self.limiter.name(), key })
    }

    /// Adds before it drops: a key that vanished in between would lose its expiry.
    pub fn grant(&mut self, grant: &Grant) {
        self.limiter.add(grant.end as f64, token_text(grant.token));
        self.limiter.add(-(grant.token as f64), Text::new(rate::LAST));
        self.limiter.drop_through(grant.drop_through);
        self.limiter.last_until(grant.expire_at_ms);
    }

    pub fn renew(&mut self, token: i64, renewal: &Renewal) {
        self.limiter.add(renewal.end as f64, token_text(token));
        self.limiter.last_until(renewal.expire_at_ms);
    }

    /// Removes leases that are there. The last token stays until the key expires.
    pub fn release(&mut self, tokens: &[i64]) {
        let tokens: Vec<Text> = tokens.iter().map(|token| token_text(*token)).collect();
        self.limiter.remove_all(&tokens);
    }
}

fn token_text<'a>(token: i64) -> Text<'a> {
    Text::new(itoa::Buffer::new().format(token).as_bytes())
}

/// A sorted set of leases, open at least for reading.
pub struct LeasesOf<'a> {
    ctx: Ctx<'a>,
    name: &'a Text<'a>,
    key: &'a Key<'a>,
}

impl LeasesOf<'_> {
    fn end_above(&self, micros: f64, end: End) -> Result<Option<i64>> {
        let element = element_above(self.key, micros, end);
        element.map(|(score, _)| lease_end(score).ok_or_else(Error::not_leases)).transpose()
    }
}

impl rate::Leases for LeasesOf<'_> {
    fn last(&mut self) -> Result<i64> {
        let first = element_above(self.key, f64::NEG_INFINITY, End::First);
        first.and_then(|(score, element)| last_token(score, element.bytes())).ok_or_else(Error::not_leases)
    }

    fn held_after(&mut self, micros: i64) -> Result<u64> {
        // Mostly no lease has ended, and the first one tells.
        if self.end_above(BELOW_ALL_ENDS, End::First)?.is_none_or(|end| end > micros) {
            return Ok(self.key.len().saturating_sub(1));
        }
        Ok(self.key.len().saturating_sub(self.ctx.zcount_below(self.name, micros as f64, true)?))
    }

    fn next_end(&mut self, micros: i64) -> Result<Option<i64>> {
        self.end_above(micros as f64, End::First)
    }

    fn latest_end(&mut self) -> Result<Option<i64>> {
        self.end_above(BELOW_ALL_ENDS, End::Last)
    }

    fn end_of(&mut self, token: i64) -> Result<Option<i64>> {
        self.key.zset_score(&token_text(token)).map(|score| lease_end(score).ok_or_else(Error::not_leases)).transpose()
    }
}
