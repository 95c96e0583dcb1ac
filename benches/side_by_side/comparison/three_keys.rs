//! Leaderboards beside a ranking in three keys, kept in step by Lua scripts, as it is usually done where equals shall share
//! a rank and be listed together:
//!
//! - a hash of users: user → score
//! - a sorted set of the scores that somebody has
//! - a hash of lists: score → JSON array of its users
//!
//! A user's rank is found by going through the scores from the best on and adding up the lengths of their lists.

use super::core::PLAIN;
use super::{Comparison, Count, Key, Script, Sizes, State, Topic};
use crate::checks::{json_groups, json_query, rank_and_score};

/// With a thousand scores lists are long, with distinct ones there are many of them.
const TIED: Key = Key { create: None, fill: "RANK.ADD three:tied $tied $each", count: Count::Members };
const TIED_LUA: Key = Key {
    create: None,
    fill: "EVALSHA @three_add 3 tied:users tied:scores tied:lists $each $tied",
    count: Count::Members,
};
const DISTINCT: Key = Key { create: None, fill: "RANK.ADD three:distinct $score $each", count: Count::Members };
const DISTINCT_LUA: Key = Key {
    create: None,
    fill: "EVALSHA @three_add 3 distinct:users distinct:scores distinct:lists $each $score",
    count: Count::Members,
};

pub const SCRIPTS: &[Script] = &[
    Script {
        name: "three_add",
        text: "local old = redis.call('HGET', KEYS[1], ARGV[1])
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
    },
    Script {
        name: "three_query",
        text: "local score = redis.call('HGET', KEYS[1], ARGV[1])
if not score then return false end
local rank = 1
for _, better in ipairs(redis.call('ZREVRANGE', KEYS[2], 0, -1)) do
  local users = cjson.decode(redis.call('HGET', KEYS[3], better))
  if better == score then return cjson.encode({rank = rank, users = users}) end
  rank = rank + #users
end",
    },
    Script {
        name: "three_rank",
        text: "local score = redis.call('HGET', KEYS[1], ARGV[1])
if not score then return false end
local rank = 1
for _, better in ipairs(redis.call('ZREVRANGE', KEYS[2], 0, -1)) do
  if better == score then return {rank, score} end
  rank = rank + #cjson.decode(redis.call('HGET', KEYS[3], better))
end",
    },
    Script {
        name: "three_all",
        text: "local ranks, rank = {}, 1
for _, score in ipairs(redis.call('ZREVRANGE', KEYS[2], 0, -1)) do
  local users = cjson.decode(redis.call('HGET', KEYS[3], score))
  ranks[#ranks + 1] = {rank, users}
  rank = rank + #users
end
return cjson.encode(ranks)",
    },
];

const SAME_TIED: Option<State> = Some(State {
    ours: "RANK.STATS three:tied JSON",
    theirs: "EVALSHA @three_all 3 tied:users tied:scores tied:lists",
    same: json_groups,
});
const SAME_DISTINCT: Option<State> = Some(State {
    ours: "RANK.STATS three:distinct JSON",
    theirs: "EVALSHA @three_all 3 distinct:users distinct:scores distinct:lists",
    same: json_groups,
});

/// A board, and the same in three keys.
const THREE: Comparison =
    Comparison { topic: Topic::ThreeKeys, sizes: Sizes::Only(&[10_000, 100_000]), state: None, ..PLAIN };
const TIED_BOARD: Comparison = Comparison { needs: &[&TIED, &TIED_LUA], ..THREE };
const DISTINCT_BOARD: Comparison = Comparison { needs: &[&DISTINCT, &DISTINCT_LUA], ..THREE };

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "1000 scores: a user's rank, RANK.QUERY JSON",
        ours: "RANK.QUERY three:tied $member JSON",
        theirs: "EVALSHA @three_query 3 tied:users tied:scores tied:lists $member",
        reads_only: true,
        replies: json_query,
        ..TIED_BOARD
    },
    Comparison {
        name: "distinct scores: a user's rank, RANK.QUERY JSON",
        ours: "RANK.QUERY three:distinct $member JSON",
        theirs: "EVALSHA @three_query 3 distinct:users distinct:scores distinct:lists $member",
        reads_only: true,
        replies: json_query,
        ..DISTINCT_BOARD
    },
    Comparison {
        name: "1000 scores: a user's rank without its equals, RANK.GET",
        ours: "RANK.GET three:tied $member",
        theirs: "EVALSHA @three_rank 3 tied:users tied:scores tied:lists $member",
        reads_only: true,
        replies: rank_and_score,
        ..TIED_BOARD
    },
    Comparison {
        name: "distinct scores: a user's rank without its equals, RANK.GET",
        ours: "RANK.GET three:distinct $member",
        theirs: "EVALSHA @three_rank 3 distinct:users distinct:scores distinct:lists $member",
        reads_only: true,
        replies: rank_and_score,
        ..DISTINCT_BOARD
    },
    Comparison {
        name: "1000 scores: all ranks, RANK.STATS JSON",
        ours: "RANK.STATS three:tied JSON",
        theirs: "EVALSHA @three_all 3 tied:users tied:scores tied:lists",
        pipeline: 1,
        reads_only: true,
        replies: json_groups,
        ..TIED_BOARD
    },
    Comparison {
        name: "distinct scores: all ranks, RANK.STATS JSON",
        ours: "RANK.STATS three:distinct JSON",
        theirs: "EVALSHA @three_all 3 distinct:users distinct:scores distinct:lists",
        pipeline: 1,
        reads_only: true,
        replies: json_groups,
        ..DISTINCT_BOARD
    },
    Comparison {
        name: "1000 scores: a new score, RANK.ADD",
        ours: "RANK.ADD three:tied $tied $member",
        theirs: "EVALSHA @three_add 3 tied:users tied:scores tied:lists $member $tied",
        state: SAME_TIED,
        ..TIED_BOARD
    },
    Comparison {
        name: "distinct scores: a new score, RANK.ADD",
        ours: "RANK.ADD three:distinct $score $member",
        theirs: "EVALSHA @three_add 3 distinct:users distinct:scores distinct:lists $member $score",
        state: SAME_DISTINCT,
        ..DISTINCT_BOARD
    },
];
