//! What the demo shows.

use std::thread;
use std::time::{Duration, Instant};

use redis::{Connection, RedisResult};

use super::bulk::{load, Dice};
use super::cli::Cli;
use super::support::Server;
use super::Outcome;

pub const ALL: &[fn(&Server, &mut Cli) -> Outcome] =
    &[sorted_set, medals, game, periods, request_log, limiter, schedule, ending];

const PLAYERS: usize = 100_000;
const REQUESTS: usize = 100_000;

fn sorted_set(_: &Server, cli: &mut Cli) -> Outcome {
    cli.title("Every sorted set is a leaderboard")?;
    cli.run("ZADD quiz 50 ann 70 bob 50 eve 30 dan 30 cid")?;
    cli.run("RANK.TOPN quiz 3")?;
    cli.say("Members with equal scores share a rank, so the rank after two members at 2 is 4:")?;
    cli.run_raw("RANK.STATS quiz JSON")?;
    cli.run("RANK.GET quiz dan")?;
    cli.run("RANK.GET quiz dan DENSE")
}

fn medals(_: &Server, cli: &mut Cli) -> Outcome {
    cli.title("Several fields: the medals of Paris 2024")?;
    cli.run("RANK.CREATE medals FIELD gold DIGITS 3 FIELD silver DIGITS 3 FIELD bronze DIGITS 3 DATA countries")?;
    cli.run("RANK.ADD medals 16 26 22 France 40 27 24 China 20 12 13 Japan 40 44 42 USA 18 19 16 Australia")?;
    cli.say("The USA and China have the same number of gold medals, so silver decides:")?;
    cli.run("RANK.TOPN medals 2")?;
    cli.say("Attributes are stored in a hash that you name, here 'countries'. Other boards can share it:")?;
    cli.run("RANK.SETDATA medals Japan code JPN capital Tokyo")?;
    cli.run_raw("RANK.GET medals Japan WITHDATA JSON")?;
    cli.say("A new member with 17 gold medals would have this rank:")?;
    cli.run("RANK.FORSCORE medals 17 0 0")?;
    cli.say("Three more gold medals for France. The reply has the new and the previous rank and medals:")?;
    cli.run("RANK.INCR medals WITHRANK 3 0 0 France")?;
    cli.say("The board is still a sorted set that any client can read:")?;
    cli.run("ZREVRANGE medals 0 1 WITHSCORES")
}

fn game(_: &Server, cli: &mut Cli) -> Outcome {
    cli.title("A game with many players and many ties")?;
    cli.run("RANK.CREATE game FIELD score BITS 20 TIES FIRST UPDATE BEST")?;
    let mut dice = Dice::new(1);
    let time = load(cli.connection(), "players", PLAYERS, |pipeline, index| {
        let score = 1 + dice.roll(1000) * dice.roll(1000) / 1000;
        pipeline.cmd("RANK.ADD").arg("game").arg(score).arg(format!("player-{index}")).ignore();
    })?;
    cli.say(&format!(
        "{PLAYERS} players with at most 1,000 different scores, written in {:.1} s\n",
        time.as_secs_f64()
    ))?;
    cli.say("The player who reaches a score first is ahead:")?;
    cli.run("RANK.ADD game 1500 ann")?;
    cli.run("RANK.ADD game WITHRANK 1500 bob")?;
    cli.run("RANK.TOPN game 3")?;
    cli.say("Only the best score counts:")?;
    cli.run("RANK.ADD game WITHRANK 1200 bob")?;
    cli.say("A player further down, and the neighbours of this player:")?;
    cli.run("RANK.GET game player-4711")?;
    cli.run("RANK.AROUND game player-4711 1")?;
    cli.run("RANK.PERCENTILE game player-4711")?;
    cli.say("The ranking among friends:")?;
    cli.run("RANK.AMONG game 3 player-4711 player-42 bob")?;
    cli.say("A page of the table:")?;
    cli.run_raw("RANK.PAGE game 1000 2 JSON")
}

fn periods(_: &Server, cli: &mut Cli) -> Outcome {
    cli.title("Today, this week and all time with one write")?;
    cli.run("RANK.CREATE {quiz} UPDATE BEST PERIOD DAY {quiz}:day: PAST 7 PERIOD WEEK {quiz}:week:")?;
    cli.run("RANK.ADD {quiz} 70 ann 50 bob")?;
    cli.run_raw("RANK.TOPN {quiz} 3 PERIOD day JSON")?;
    cli.say("Each period is a board with its own key, which expires by itself:")?;
    cli.run_raw("RANK.PERIODS {quiz} WEEK JSON")?;
    cli.say("RANK.REM removes a player from all of them:")?;
    cli.run("RANK.REM {quiz} ann")?;
    cli.run_raw("RANK.TOPN {quiz} 3 PERIOD week JSON")
}

fn request_log(_: &Server, cli: &mut Cli) -> Outcome {
    const PATHS: [&str; 4] = ["GET /", "GET /search", "POST /login", "GET /report"];
    cli.title("Only the slowest requests of a log")?;
    cli.run("RANK.CREATE slowest FIELD ms BITS 32 TIES LAST S KEEP 3")?;
    let mut dice = Dice::new(2);
    let time = load(cli.connection(), "requests", REQUESTS, |pipeline, index| {
        // Most are fast.
        let ms = 3 + 900_000 / (100 + dice.roll(100_000));
        let path = PATHS[index % PATHS.len()];
        pipeline.cmd("RANK.ADD").arg("slowest").arg(ms).arg(format!("{path} #{index}")).ignore();
    })?;
    cli.say(&format!("{REQUESTS} requests, written in {:.1} s\n", time.as_secs_f64()))?;
    cli.run("RANK.COUNT slowest")?;
    cli.run("RANK.TOPN slowest 10")?;
    cli.say("A request that is too fast is refused without a write:")?;
    cli.run("RANK.ADD slowest WITHRANK 3 \"GET /fast\"")
}

fn limiter(server: &Server, cli: &mut Cli) -> Outcome {
    cli.title("A rate limiter under load")?;
    cli.say(
        "Three calls in ten seconds are allowed: [limited, limit, remaining, retry_after_ms, reset_after_ms, rule]",
    )?;
    for _ in 0..3 {
        cli.run("RATE.CHECK api:ann 3/10s")?;
    }
    cli.say("The fourth is denied. The reply says how long to wait:")?;
    cli.run("RATE.CHECK api:ann 3/10s")?;

    let connections: Vec<Connection> = (0..CLIENTS).map(|_| server.connect()).collect();
    let start = Instant::now();
    let clients: Vec<_> = connections.into_iter().map(|connection| thread::spawn(|| fire(connection))).collect();
    let mut passed = 0;
    for client in clients {
        passed += client.join().map_err(|_| "a client of the limiter panicked")??;
    }
    let time = start.elapsed();
    let calls = CLIENTS * CALLS_OF_EACH;
    cli.say(&format!("Now {CLIENTS} clients send {calls} calls in {:.1} s, each of them", time.as_secs_f64()))?;
    cli.say("  RATE.CHECK api:all 100/1h 5000/1d")?;
    cli.say(&format!("{passed} passed, {} were denied.\n", calls - passed))?;
    cli.run("RATE.PEEK api:all 100/1h 5000/1d")?;

    cli.say("A bucket that refills: five calls at once, then one every 200 ms. After the wait, the call passes:")?;
    cli.run("RATE.CHECK mail 5/1s GCRA COST 5")?;
    cli.run("RATE.CHECK mail 5/1s GCRA")?;
    let verdict: Vec<i64> = redis::cmd("RATE.PEEK").arg("mail").arg("5/1s").arg("GCRA").query(cli.connection())?;
    let wait = verdict.get(3).copied().unwrap_or_default();
    thread::sleep(Duration::from_millis(wait.unsigned_abs()));
    cli.run("RATE.CHECK mail 5/1s GCRA")
}

const CLIENTS: usize = 4;
const CALLS_OF_EACH: usize = 5000;

/// How many calls passed.
fn fire(mut connection: Connection) -> RedisResult<usize> {
    let mut pipeline = redis::pipe();
    for _ in 0..CALLS_OF_EACH {
        pipeline.cmd("RATE.CHECK").arg("api:all").arg("100/1h").arg("5000/1d");
    }
    let verdicts: Vec<Vec<i64>> = pipeline.query(&mut connection)?;
    Ok(verdicts.iter().filter(|verdict| verdict.first() == Some(&0)).count())
}

fn schedule(server: &Server, cli: &mut Cli) -> Outcome {
    const CLAIM: &str = "DUE.CLAIM jobs LEASE 2s ATTEMPTS 2 DEAD jobs:dead DATA jobs:data BLOCK 2s";
    cli.title("Delayed jobs")?;
    cli.say("A job with a payload:")?;
    cli.run("DUE.ADD jobs DATA jobs:data \"Hello Ann\" IN 500ms mail:ann")?;
    cli.say("Three workers wait. One of them gets the job when it is due, and dies. Each of them sends")?;
    cli.say(&format!("  {CLAIM}"))?;
    let start = Instant::now();
    let waiting: Vec<_> = (0..3)
        .map(|_| server.connect())
        .map(|mut connection| {
            thread::spawn(move || {
                let mut claim = redis::Cmd::new();
                CLAIM.split(' ').for_each(|word| {
                    claim.arg(word);
                });
                claim.query::<Vec<(String, i64, i64, i64, String)>>(&mut connection)
            })
        })
        .collect();
    let mut claims = Vec::new();
    for worker in waiting {
        claims.extend(worker.join().map_err(|_| "a worker panicked")??);
    }
    let (item, token, _, _, text) = claims.first().ok_or("nobody got the job")?;
    cli.say(&format!(
        "After {:.1} s, one worker has {item} with the token {token}: {text}\n",
        start.elapsed().as_secs_f64()
    ))?;
    cli.say("When its lease ends, the next worker gets the job. The third number is the attempt:")?;
    cli.run(CLAIM)?;
    cli.say("The token of the dead worker is no longer valid:")?;
    cli.run(&format!("DUE.ACK jobs DATA jobs:data {token} {item}"))?;
    cli.say("The second worker dies too. After two attempts the job is put aside, with its payload:")?;
    cli.run("DUE.CLAIM jobs ATTEMPTS 2 DEAD jobs:dead DATA jobs:data BLOCK 3s")?;
    cli.run("ZRANGE jobs:dead 0 -1")?;
    cli.run("HGET jobs:data mail:ann")
}

fn ending(_: &Server, cli: &mut Cli) -> Outcome {
    cli.title("The end")?;
    cli.say("The server and its data are gone. Start one of your own with `make run`.")
}
