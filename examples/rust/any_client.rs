//! The Rust program of docs/guides/any-client.md.

use redis::{cmd, Client, RedisResult};

fn main() -> RedisResult<()> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1:6379".to_owned());
    let mut connection = Client::open(url)?.get_connection()?;
    cmd("RANK.ADD").arg("game").arg(50).arg("ann").arg(70).arg("bob").exec(&mut connection)?;
    let rows: Vec<(u64, String, f64)> = cmd("RANK.TOPN").arg("game").arg(10).query(&mut connection)?;
    for (rank, member, score) in rows {
        println!("{rank} {member} {score}");
    }
    let (limited, ..): (bool, u64, u64, i64, u64, u64) =
        cmd("RATE.CHECK").arg("login:ann").arg("5/1m").query(&mut connection)?;
    println!("{}", if limited { "denied" } else { "allowed" });
    Ok(())
}
