//! Leaderboards beside a ranking in three keys, kept in step by Lua scripts, as it is usually done where equals shall share
//! a rank and be listed together:
//!
//! - a hash of users: user → score
//! - a sorted set of the scores that somebody has
//! - a hash of lists: score → JSON array of its users
//!
//! A user's rank is found by going through the scores from the best on and adding up the lengths of their lists.

use super::core::PLAIN;
use super::{Comparison, Key, Script};
use crate::checks::json_query;

/// With a thousand scores lists are long, with distinct ones there are many of them.
const TIED: Key = Key::filled("RANK.ADD three:tied $tied $each");
const TIED_LUA: Key = Key::filled("EVALSHA @three_add 3 tied:users tied:scores tied:lists $each $tied");
const DISTINCT: Key = Key::filled("RANK.ADD three:distinct $score $each");
const DISTINCT_LUA: Key =
    Key::filled("EVALSHA @three_add 3 distinct:users distinct:scores distinct:lists $each $score");

pub const SCRIPTS: &[Script] = &[
    (
        "three_add",
        "local old = redis.call('HGET', KEYS[1], ARGV[1])
if old == ARGV[2] then return 0 end
if old then
  local users = cjson.decode(redis.call('HGET', KEYS[3], old))
  for i, user in ipairs(users) do
    if user == ARGV[1] then table.remove(users, i) break end
  end
  if #users == 0 then
    redis.call('HDEL', KEYS[3], old)
    redis.call('ZREM', KEYS[2], old)
  else
    redis.call('HSET', KEYS[3], old, cjson.encode(users))
  end
end
local list = redis.call('HGET', KEYS[3], ARGV[2])
local users = list and cjson.decode(list) or {}
users[#users + 1] = ARGV[1]
redis.call('HSET', KEYS[3], ARGV[2], cjson.encode(users))
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return old and 0 or 1",
    ),
    (
        "three_query",
        "local score = redis.call('HGET', KEYS[1], ARGV[1])
if not score then return false end
local rank = 1
for _, better in ipairs(redis.call('ZREVRANGE', KEYS[2], 0, -1)) do
  local users = cjson.decode(redis.call('HGET', KEYS[3], better))
  if better == score then return cjson.encode({rank = rank, users = users}) end
  rank = rank + #users
end",
    ),
];

/// A board, and the same in three keys.
const THREE: Comparison =
    Comparison { topic: "three-keys", beside: "Lua: three keys", sizes: &[10_000], state: None, ..PLAIN };
const TIED_BOARD: Comparison = Comparison { needs: &[&TIED, &TIED_LUA], ..THREE };
const DISTINCT_BOARD: Comparison = Comparison { needs: &[&DISTINCT, &DISTINCT_LUA], ..THREE };

/// First the writes: that both sides did the same is seen by the queries after them.
pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RANK.ADD, 1,000 scores",
        ours: "RANK.ADD three:tied $tied $member",
        theirs: "EVALSHA @three_add 3 tied:users tied:scores tied:lists $member $tied",
        ..TIED_BOARD
    },
    Comparison {
        name: "RANK.ADD, distinct scores",
        ours: "RANK.ADD three:distinct $score $member",
        theirs: "EVALSHA @three_add 3 distinct:users distinct:scores distinct:lists $member $score",
        ..DISTINCT_BOARD
    },
    Comparison {
        name: "RANK.QUERY JSON, 1,000 scores",
        ours: "RANK.QUERY three:tied $member JSON",
        theirs: "EVALSHA @three_query 3 tied:users tied:scores tied:lists $member",
        reads_only: true,
        replies: json_query,
        ..TIED_BOARD
    },
    Comparison {
        name: "RANK.QUERY JSON, distinct scores",
        ours: "RANK.QUERY three:distinct $member JSON",
        theirs: "EVALSHA @three_query 3 distinct:users distinct:scores distinct:lists $member",
        reads_only: true,
        replies: json_query,
        ..DISTINCT_BOARD
    },
];
