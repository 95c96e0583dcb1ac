//! A leaderboard with a limiter: three scores a minute from each player, the best one counts.
//!
//! ```text
//! cargo run --example leaderboard [URL]
//! ```
//!
//! URL is `redis://127.0.0.1:6379`, or `$REDIS_URL`, unless given.

use std::collections::HashMap;
use std::env;

use redis::{cmd, Client, ConnectionLike, IntoConnectionInfo, ProtocolVersion, RedisResult};

const COUNTRIES: [(&str, &str); 5] =
    [("ann", "Austria"), ("bob", "Brazil"), ("cid", "Chile"), ("dan", "Denmark"), ("eve", "Estonia")];

const SCORES: [(&str, u32); 8] =
    [("ann", 310), ("bob", 270), ("eve", 310), ("cid", 180), ("bob", 320), ("dan", 250), ("bob", 290), ("bob", 350)];

/// What became of a score.
enum Outcome {
    Counted { best: u32, rank: u64, previous_rank: Option<u64> },
    TooMany,
}

/// Rank, player, score and attributes.
type Row = (u64, String, u32, HashMap<String, String>);

struct Leaderboard<C> {
    connection: C,
    name: &'static str,
}

impl<C: ConnectionLike> Leaderboard<C> {
    fn start(&mut self) -> RedisResult<()> {
        cmd("DEL").arg(self.name).arg(self.data()).exec(&mut self.connection)?;
        for (player, _) in COUNTRIES {
            cmd("RATE.RESET").arg(self.limit_of(player)).exec(&mut self.connection)?;
        }
        cmd("RANK.CREATE")
            .arg(self.name)
            .arg("FIELD score BITS 32 UPDATE BEST DATA".split(' ').collect::<Vec<_>>())
            .arg(self.data())
            .exec(&mut self.connection)
    }

    fn submit(&mut self, player: &str, score: u32) -> RedisResult<Outcome> {
        type Verdict = (bool, u64, u64, i64, u64, u64);
        let (limited, _limit, _remaining, _retry_after_ms, _reset_after_ms, _rule): Verdict =
            cmd("RATE.CHECK").arg(self.limit_of(player)).arg("3/1m").query(&mut self.connection)?;
        if limited {
            return Ok(Outcome::TooMany);
        }
        type Change = (u64, Option<u64>, String, u32, Option<u32>);
        let [(rank, previous_rank, _player, best, _previous_score)]: [Change; 1] =
            cmd("RANK.ADD").arg(self.name).arg("WITHRANK").arg(score).arg(player).query(&mut self.connection)?;
        Ok(Outcome::Counted { best, rank, previous_rank })
    }

    /// One round trip for all of them.
    fn describe(&mut self) -> RedisResult<()> {
        let mut pipeline = redis::pipe();
        for (player, country) in COUNTRIES {
            pipeline.cmd("RANK.SETDATA").arg(self.name).arg(player).arg("country").arg(country).ignore();
        }
        pipeline.exec(&mut self.connection)
    }

    fn top(&mut self, count: usize) -> RedisResult<Vec<Row>> {
        cmd("RANK.TOPN").arg(self.name).arg(count).arg("WITHDATA").query(&mut self.connection)
    }

    fn around(&mut self, player: &str, distance: usize) -> RedisResult<Vec<(u64, String, u32)>> {
        cmd("RANK.AROUND").arg(self.name).arg(player).arg(distance).query(&mut self.connection)
    }

    /// The place among these, the rank on the whole board, the player and the score.
    fn among(&mut self, players: &[&str]) -> RedisResult<Vec<(u64, u64, String, u32)>> {
        cmd("RANK.AMONG").arg(self.name).arg(players.len()).arg(players).query(&mut self.connection)
    }

    fn percentile(&mut self, player: &str) -> RedisResult<f64> {
        cmd("RANK.PERCENTILE").arg(self.name).arg(player).query(&mut self.connection)
    }

    /// The hash with the attributes. In a cluster, the tag puts it in the slot of the board.
    fn data(&self) -> String {
        format!("{{{}}}:players", self.name)
    }

    fn limit_of(&self, player: &str) -> String {
        format!("{}:limit:{player}", self.name)
    }
}

fn main() -> RedisResult<()> {
    let url =
        env::args().nth(1).or_else(|| env::var("REDIS_URL").ok()).unwrap_or_else(|| "redis://127.0.0.1:6379".into());
    // RESP3, so that attributes arrive as a map and a percentile as a double.
    let info = url.into_connection_info()?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    let connection = Client::open(info.set_redis_settings(settings))?.get_connection()?;
    let mut board = Leaderboard { connection, name: "example:rust" };
    board.start()?;

    for (player, score) in SCORES {
        match board.submit(player, score)? {
            Outcome::TooMany => println!("{player} {score}: too many scores, wait a minute"),
            Outcome::Counted { best, rank, previous_rank } => {
                let was = previous_rank.map_or(String::new(), |previous| format!(", was {previous}"));
                println!("{player} {score}: best {best}, rank {rank}{was}");
            }
        }
    }

    board.describe()?;
    for (rank, player, score, data) in board.top(4)? {
        println!("#{rank} {player} of {}: {score}", data["country"]);
    }
    let neighbours: Vec<String> = board.around("eve", 1)?.into_iter().map(|(_, player, _)| player).collect();
    println!("around eve: {}", neighbours.join(" "));
    let friends = board.among(&["cid", "ann", "nobody"])?;
    let places: Vec<String> = friends.iter().map(|(place, _, player, _)| format!("{place}.{player}")).collect();
    println!("among friends: {}", places.join(" "));
    println!("ann is ahead of {:.0}%", board.percentile("ann")?);
    Ok(())
}
