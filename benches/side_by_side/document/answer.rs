//! What a reader came for, in a few sentences with figures.

use super::markdown::{ratio, size, sizes, span, span_as};
use crate::charts::{LIMITS_INCR, LIMITS_LUA, READS, SCRIPTS};
use crate::listener::Listener;
use crate::memory::SORTED_SET;
use crate::results::Results;

const MEMBERS: u64 = 100_000;

pub fn answer(results: &Results) -> String {
    let lines = [beside_scripts, beside_core, listened_to, limits, memory, growth, blocking, latency];
    let lines: Vec<String> = lines.iter().filter_map(|line| line(results)).collect();
    lines.iter().map(|line| wrapped(line)).collect::<Vec<_>>().join("\n")
}

/// A bullet in lines of at most 100 characters, as the rest of the document has them.
fn wrapped(bullet: &str) -> String {
    let mut lines = vec![String::new()];
    for word in bullet.split(' ') {
        let line = lines.last_mut().expect("a line");
        if !line.is_empty() && line.chars().count() + word.chars().count() >= 100 {
            lines.push(format!("  {word}"));
        } else {
            *line = if line.is_empty() { word.into() } else { format!("{line} {word}") };
        }
    }
    lines.join("\n")
}

/// The ratios of some comparisons on all servers; `None` if there is none.
fn ratios<'a>(
    results: &Results,
    comparisons: impl IntoIterator<Item = &'a str>,
    listeners: &[Listener],
) -> Option<String> {
    let servers = results.servers();
    let mut values = Vec::new();
    for comparison in comparisons {
        for (server, listener) in servers.iter().flat_map(|server| listeners.iter().map(move |it| (server, it))) {
            values.extend(results.ratio(server, comparison, MEMBERS, *listener).map(|it| it.ratio));
        }
    }
    (!values.is_empty()).then(|| span(values.into_iter()))
}

fn names(of: &'static [(&'static str, &'static str)]) -> impl Iterator<Item = &'static str> {
    of.iter().map(|(_, comparison)| *comparison)
}

fn beside_scripts(results: &Results) -> Option<String> {
    let scripts = ratios(results, names(SCRIPTS), &[Listener::Nobody])?;
    Some(format!("- **Compared with a Lua script** that does the same, redis-rank is {scripts} times as fast."))
}

fn beside_core(results: &Results) -> Option<String> {
    let of = |comparison| ratios(results, [comparison], &[Listener::Nobody]);
    Some(format!(
        "- **Compared with a core command**, `RANK.ADD` has {} times the speed of `ZADD`, `RANK.INCR` {} times that of \
         `ZINCRBY`, and reads {} times that of theirs. A `coded` board (several exact scores, or ties by time, in one \
         number) writes at {} times the speed of `ZADD`.",
        of("RANK.ADD / ZADD")?,
        of("RANK.INCR / ZINCRBY")?,
        ratios(results, names(READS), &[Listener::Nobody])?,
        of("coded: RANK.ADD, three INT / ZADD")?,
    ))
}

fn listened_to(results: &Results) -> Option<String> {
    let of = |comparison, listener| ratios(results, [comparison], &[listener]);
    let with = |listener| {
        Some(format!(
            "`RANK.ADD` {}, `RANK.INCR` {}, a `packed` board {}, a `coded` one {}",
            of("RANK.ADD / ZADD", listener)?,
            of("RANK.INCR / ZINCRBY", listener)?,
            of("packed: RANK.ADD, DIGITS 7 and 6 / ZADD", listener)?,
            of("coded: RANK.ADD, three INT / ZADD", listener)?,
        ))
    };
    Some(format!(
        "- **With an AOF**, times the speed of the core command: {}. **With a replica**: {}.",
        with(Listener::Aof)?,
        with(Listener::Replica)?
    ))
}

fn limits(results: &Results) -> Option<String> {
    Some(format!(
        "- **Rate limits**: `RATE.CHECK` has {} times the speed of `INCR`, which only counts, and {} times that of \
         Lua scripts.",
        ratios(results, names(LIMITS_INCR), &[Listener::Nobody])?,
        ratios(results, names(LIMITS_LUA), &[Listener::Nobody])?,
    ))
}

fn memory(results: &Results) -> Option<String> {
    let of_a_sorted_set = |layouts: &[&str]| {
        let bytes = |server: &str, layout: &str| {
            results.memory.iter().find(|it| it.server == server && it.layout == layout).map(|it| it.bytes_a_member)
        };
        let mut values = Vec::new();
        for server in results.servers() {
            for layout in layouts {
                values.extend(bytes(server, layout).zip(bytes(server, SORTED_SET)).map(|(ours, set)| ours / set));
            }
        }
        (!values.is_empty()).then(|| span(values.into_iter()))
    };
    Some(format!(
        "- **Memory**: boards whose members fit their score take {} times the bytes of a sorted set, members that do not fit {} times.",
        of_a_sorted_set(&["plain, with a schema", "packed, DIGITS 7 and 6", "coded, three INT"])?,
        of_a_sorted_set(&["coded, one entry: INT of 63 bits, TIES FIRST", "coded, three entries: three INT of 63 bits"])?,
    ))
}

fn growth(results: &Results) -> Option<String> {
    let least = results.growth.iter().map(|it| it.members).min()?;
    let most = results.growth.iter().map(|it| it.members).max()?;
    let of = |operation: &str, members: u64| {
        let measured = results.growth.iter().filter(|it| it.operation == operation && it.members == members);
        span_as(|micros| format!("{micros:.1}"), measured.map(|it| it.micros))
    };
    let from_to = |operation| format!("from {} to {} µs", dashed(&of(operation, least)), dashed(&of(operation, most)));
    Some(format!(
        "- **Growth**, from {} to {} members: `RANK.ADD` goes {}, `ZADD` {}; `RANK.GET` {}, `ZREVRANK` {}.",
        size(least),
        size(most),
        from_to("RANK.ADD"),
        from_to("ZADD"),
        from_to("RANK.GET"),
        from_to("ZREVRANK"),
    ))
}

fn dashed(span: &str) -> String {
    span.replace(" to ", "–")
}

fn blocking(results: &Results) -> Option<String> {
    let ours = results.stops.iter().filter(|stop| stop.command.starts_with("RANK."));
    let longest = ours.max_by(|one, other| one.executing.total_cmp(&other.executing))?;
    let whole = results.stops.iter().filter(|stop| stop.command == "ZREVRANGE 0 -1 WITHSCORES");
    Some(format!(
        "- **Blocking**: on {} members the longest command was `{}`, {:.0} ms on {}; `ZREVRANGE 0 -1 WITHSCORES` took \
         {} ms. Commands about one member take microseconds.",
        size(longest.members),
        longest.command,
        longest.executing,
        longest.server,
        span_as(|ms| format!("{ms:.0}"), whole.map(|stop| stop.executing)),
    ))
}

fn latency(results: &Results) -> Option<String> {
    let side = |server: &str, is_ours| results.mixed.iter().find(|it| it.server == server && it.is_ours == is_ours);
    let line = |server: &str| {
        let (ours, theirs) = (side(server, true)?, side(server, false)?);
        Some(format!(
            "{:.0} µs instead of {:.0} on {server} ({})",
            ours.p999,
            theirs.p999,
            ratio(ours.p999 / theirs.p999)
        ))
    };
    let lines: Vec<String> = results.servers().into_iter().filter_map(line).collect();
    results.mixed.first()?;
    Some(format!(
        "- **Latency** under mixed traffic on {} members: the slowest of a thousand requests takes {}.",
        sizes(results.mixed.iter().map(|it| it.members)),
        lines.join(", ")
    ))
}
