//! Both sides of a comparison in turns, in one run: a busy machine slows both alike.

use std::time::Instant;

use redis::Value;

use crate::comparison::{Comparison, State};
use crate::results::{quantile, Record};
use crate::server::Setting;
use crate::session::{Effort, Session, Timing};
use crate::template::Template;

/// Pairs of replies that are compared before and after anything is timed.
const SAMPLES: u64 = 50;
const FEWEST_ROUNDS: usize = 3;
/// A job of the warm-up for so many members.
const MEMBERS_WARMED: u64 = 4;
/// Jobs whose bytes to a replica are counted.
const SENT: u64 = 200;

/// The error says how the sides differ.
pub fn compare(session: &mut Session, comparison: &Comparison, effort: Effort) -> Result<Record, String> {
    let (ours, theirs) = (session.template(comparison.ours), session.template(comparison.theirs));
    check(session, comparison, &ours, &theirs, effort)?;
    let batch = comparison.pipeline;
    let warm = if batch > 1 { session.members() / MEMBERS_WARMED } else { 1 };
    let sent = (session.setting == Setting::Replica).then(|| {
        let numbers = session.numbers(SENT);
        (session.sent_bytes(&ours, numbers.clone()), session.sent_bytes(&theirs, numbers))
    });
    let (our_jobs, their_jobs) = if comparison.reads_only {
        let mut jobs = |side: &Template| session.jobs_in_a_slice(&[side], batch, effort, warm);
        (jobs(&ours), jobs(&theirs))
    } else {
        let jobs = session.jobs_in_a_slice(&[&ours, &theirs], batch, effort, warm);
        (jobs, jobs)
    };
    let (start, patience) = (Instant::now(), effort.slice * 4 * effort.rounds as u32);
    let rounds: Vec<(Timing, Timing)> = (0..effort.rounds)
        // What takes longer than a slice has fewer rounds.
        .take_while(|round| *round < FEWEST_ROUNDS || start.elapsed() < patience)
        .map(|round| {
            let first = session.numbers(our_jobs.max(their_jobs)).start;
            let our_turn = |session: &mut Session| session.time(&ours, first..first + our_jobs, batch);
            let their_turn = |session: &mut Session| session.time(&theirs, first..first + their_jobs, batch);
            if round % 2 == 0 {
                let ours = our_turn(session);
                (ours, their_turn(session))
            } else {
                let theirs = their_turn(session);
                (our_turn(session), theirs)
            }
        })
        .collect();
    check(session, comparison, &ours, &theirs, effort)?;

    let of = |figure: &dyn Fn(&(Timing, Timing)) -> f64, q| quantile(rounds.iter().map(figure).collect(), q);
    let ratio = |(ours, theirs): &(Timing, Timing)| theirs.cpu_us() / ours.cpu_us();
    let mut figures = vec![
        ("ratio", of(&ratio, 0.5)),
        ("low", of(&ratio, 0.25)),
        ("high", of(&ratio, 0.75)),
        ("wall_ratio", of(&|(ours, theirs)| theirs.wall_us() / ours.wall_us(), 0.5)),
        ("ours_us", of(&|(ours, _)| ours.cpu_us(), 0.5)),
        ("theirs_us", of(&|(_, theirs)| theirs.cpu_us(), 0.5)),
    ];
    figures.extend(sent.into_iter().flat_map(|(ours, theirs)| [("ours_bytes", ours), ("theirs_bytes", theirs)]));
    Ok(Record {
        beside: comparison.beside.into(),
        setting: session.setting,
        ..Record::new(comparison.topic, &session.name, comparison.name, session.members(), &figures)
    })
}

/// What is measured must do the same job.
fn check(
    session: &mut Session,
    comparison: &Comparison,
    ours: &Template,
    theirs: &Template,
    effort: Effort,
) -> Result<(), String> {
    let start = Instant::now();
    for number in session.numbers(SAMPLES.min(comparison.pipeline)) {
        let (ours, theirs) = (session.ask(ours, number), session.ask(theirs, number));
        assert_same(comparison, (comparison.replies)(&ours, &theirs), &ours, &theirs)?;
        if start.elapsed() > effort.slice * effort.rounds as u32 {
            break;
        }
    }
    let Some(State { ours, theirs, same }) = &comparison.state else { return Ok(()) };
    let mut read = |text| session.ask(&session.template(text), 0);
    let (ours, theirs) = (read(ours), read(theirs));
    assert_same(comparison, same(&ours, &theirs), &ours, &theirs)
}

fn assert_same(comparison: &Comparison, is_same: bool, ours: &Value, theirs: &Value) -> Result<(), String> {
    let short = |value: &Value| format!("{value:?}").chars().take(500).collect::<String>();
    let differ = || format!("{}: replies differ:\n  {}\n  {}", comparison.name, short(ours), short(theirs));
    is_same.then_some(()).ok_or_else(differ)
}
