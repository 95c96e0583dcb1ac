//! The charts of the document: one message each, its figures beside the bars. Titles are made of the figures, so that
//! they are true of any run.

mod axis;
mod bars;
mod lines;
mod svg;

use std::fs;
use std::path::Path;

use crate::document::{ratio, size, sizes, span};
use crate::listener::{Listener, LISTENERS};
use crate::memory::{LAYOUTS, SORTED_SET};
use crate::results::{Mixed, Results};
use bars::{Bars, Group, Row};
use lines::{Line, Lines};

/// The members of boards in charts of ratios: large enough to be real, small enough for all comparisons.
const MEMBERS: u64 = 100_000;

/// A file, what a reader who cannot see it is told, and what draws it: nothing where there are no results.
pub struct Chart {
    pub file: &'static str,
    pub text: &'static str,
    pub draw: fn(&Results) -> Option<String>,
}

const fn chart(file: &'static str, text: &'static str, draw: fn(&Results) -> Option<String>) -> Chart {
    Chart { file, text, draw }
}

pub const CHARTS: &[Chart] = &[
    chart("scripts.svg", "Speed of redis-rank compared with Lua scripts", |results| scripts(results).draw()),
    chart("writes.svg", "Speed of writes compared with ZADD and ZINCRBY", |results| writes(results).draw()),
    chart("reads.svg", "Speed of reads compared with core commands", |results| reads(results).draw()),
    chart("limits.svg", "Speed of RATE.CHECK compared with INCR and Lua", |results| limits(results).draw()),
    chart("memory.svg", "Bytes per member of each layout", |results| memory(results).draw()),
    chart("growth.svg", "Microseconds per command as a board grows", |results| growth(results).draw()),
    chart("blocking.svg", "Longest blocking time of each command", |results| blocking(results).draw()),
    chart("latency.svg", "Latency percentiles of mixed traffic", |results| latency(results).draw()),
];

pub fn draw(dir: &Path, results: &Results) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for Chart { file, draw, .. } in CHARTS {
        let path = dir.join(file);
        if let Some(text) = draw(results) {
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// A label, and the comparison whose ratio it is.
type Labelled = (&'static str, &'static str);

pub const SCRIPTS: &[Labelled] = &[
    ("RANK.GET", "RANK.GET / Lua ZSCORE, ZCOUNT"),
    ("RANK.INCR WITHRANK", "RANK.INCR WITHRANK / Lua ZSCORE, ZCOUNT, ZINCRBY, ZCOUNT"),
    ("RANK.AROUND 5", "RANK.AROUND 5 / Lua ZREVRANK, ZREVRANGE"),
    ("RANK.ADD, three scores", "coded: RANK.ADD, three INT / Lua, the same by hand"),
    ("RANK.ADD, best 500 of a stream", "a stream into KEEP 500: RANK.ADD / Lua ZADD, ZREMRANGEBYRANK"),
    ("RATE.CHECK FIXED", "RATE.CHECK FIXED / Lua INCR, PEXPIRE"),
    ("RATE.CHECK COUNTER", "RATE.CHECK COUNTER / Lua GET, GET, INCR, PEXPIRE"),
    ("RATE.CHECK GCRA", "RATE.CHECK GCRA / Lua GET, SET"),
    ("RATE.CHECK SLIDING", "RATE.CHECK SLIDING / Lua with a sorted set"),
    ("DUE.CLAIM, DUE.ACK", "DUE.CLAIM, DUE.ACK / Lua ZRANGEBYSCORE, ZREM, ZADD, then ZREM"),
];

pub const WRITES: &[Labelled] = &[
    ("RANK.ADD / ZADD", "RANK.ADD / ZADD"),
    ("RANK.INCR / ZINCRBY", "RANK.INCR / ZINCRBY"),
    ("RANK.ADD, packed / ZADD", "packed: RANK.ADD, DIGITS 7 and 6 / ZADD"),
    ("RANK.ADD, coded / ZADD", "coded: RANK.ADD, three INT / ZADD"),
];

pub const READS: &[Labelled] = &[
    ("RANK.SCORE / ZSCORE", "RANK.SCORE / ZSCORE"),
    ("RANK.GET / ZSCORE + ZCOUNT", "RANK.GET / ZSCORE, ZCOUNT in a pipeline"),
    ("RANK.TOPN 100 / ZREVRANGE", "RANK.TOPN 100 / ZREVRANGE 0 99 WITHSCORES"),
    ("RANK.STATS JSON / ZREVRANGE", "RANK.STATS JSON, 100k members, distinct scores / ZREVRANGE 0 -1"),
];

pub const LIMITS_INCR: &[Labelled] = &[
    ("FIXED", "RATE.CHECK FIXED / INCR"),
    ("CALENDAR", "RATE.CHECK CALENDAR / INCR"),
    ("COUNTER", "RATE.CHECK COUNTER / INCR"),
    ("GCRA", "RATE.CHECK GCRA / INCR"),
    ("SLIDING", "RATE.CHECK SLIDING / INCR"),
];

pub const LIMITS_LUA: &[Labelled] = &[
    ("FIXED", "RATE.CHECK FIXED / Lua INCR, PEXPIRE"),
    ("COUNTER", "RATE.CHECK COUNTER / Lua GET, GET, INCR, PEXPIRE"),
    ("GCRA", "RATE.CHECK GCRA / Lua GET, SET"),
    ("SLIDING", "RATE.CHECK SLIDING / Lua with a sorted set"),
];

/// Commands that may take long, or that people fear do, and the core's likest ones.
pub const BLOCKING: &[&str] = &[
    "RANK.GET",
    "RANK.CLEAR",
    "RANK.ROTATE",
    "RANK.TOPN 1000",
    "ZREVRANGE 0 999 WITHSCORES",
    "RANK.VERIFY, longest step of 1000",
    "RANK.ADD of 10,000 members",
    "ZADD of 10,000 members",
    "RANK.GET DENSE, 100,000 scores",
    "RANK.TRIM to half",
    "ZREMRANGEBYRANK of half",
    "RANK.STATS JSON, distinct scores",
    "RANK.TOPN, all",
    "ZREVRANGE 0 -1 WITHSCORES",
];

fn servers(results: &Results) -> Vec<String> {
    results.servers().into_iter().map(String::from).collect()
}

fn row(results: &Results, label: &str, comparison: &str, listener: Listener) -> Row {
    let value = |server: &&str| results.ratio(server, comparison, MEMBERS, listener).map(|it| it.ratio);
    Row { label: label.into(), is_ours: true, values: results.servers().iter().map(value).collect() }
}

fn rows(results: &Results, of: &[Labelled]) -> Vec<Row> {
    of.iter().map(|(label, comparison)| row(results, label, comparison, Listener::Nobody)).collect()
}

/// Ratios, with a line at 1.
fn ratios(results: &Results, groups: Vec<Group>) -> Bars {
    let is_measured = |row: &Row| row.values.iter().any(Option::is_some);
    let groups: Vec<Group> = groups
        .into_iter()
        .map(|group| Group { rows: group.rows.into_iter().filter(is_measured).collect(), ..group })
        .filter(|group| !group.rows.is_empty())
        .collect();
    Bars {
        title: String::new(),
        subtitle: String::new(),
        axis: "times as fast; longer is better for redis-rank".into(),
        is_log: false,
        reference: Some((1.0, "same speed")),
        panels: servers(results),
        groups,
        figure: ratio,
    }
}

/// The least and the greatest of all bars.
fn range(bars: &Bars) -> String {
    let values = bars.groups.iter().flat_map(|group| &group.rows).flat_map(|row| row.values.iter().flatten().copied());
    span(values)
}

fn scripts(results: &Results) -> Bars {
    let bars = ratios(results, vec![Group { rows: rows(results, SCRIPTS), ..Group::default() }]);
    Bars {
        title: format!("One command instead of a Lua script: {} times as fast", range(&bars)),
        subtitle: "Both on the same server, pipelined, 100k members or limiters; scripts are cached (EVALSHA)".into(),
        reference: Some((1.0, "the script")),
        ..bars
    }
}

fn writes(results: &Results) -> Bars {
    let group = |(heading, comparison): &Labelled| Group {
        heading: (*heading).into(),
        rows: LISTENERS.iter().map(|listener| row(results, listener.label(), comparison, *listener)).collect(),
    };
    let bars = ratios(results, WRITES.iter().map(group).collect());
    Bars {
        title: format!("Writes run at {} times the speed of core commands", range(&bars)),
        subtitle: "Pipelined updates of 100k members; an AOF synced every second, a replica on the same machine".into(),
        reference: Some((1.0, "the core command")),
        ..bars
    }
}

fn reads(results: &Results) -> Bars {
    let bars = ratios(results, vec![Group { rows: rows(results, READS), ..Group::default() }]);
    Bars {
        title: format!("Reads run at {} times the speed of core commands", range(&bars)),
        subtitle: "Pipelined, 100k members; + is two commands in a pipeline, STATS and its ZREVRANGE read everything"
            .into(),
        reference: Some((1.0, "the core command")),
        ..bars
    }
}

fn limits(results: &Results) -> Bars {
    let group = |heading: &str, of| Group { heading: heading.into(), rows: rows(results, of) };
    let groups = vec![group("RATE.CHECK / INCR", LIMITS_INCR), group("RATE.CHECK / Lua", LIMITS_LUA)];
    let bars = ratios(results, groups);
    Bars {
        title: format!("A rate limit: {} times the speed of INCR or a script", range(&bars)),
        subtitle: "Allowed calls, pipelined, on random ones of 100k limiters; INCR only counts and decides nothing"
            .into(),
        ..bars
    }
}

fn memory(results: &Results) -> Bars {
    let servers = results.servers();
    let row = |layout: &crate::memory::Layout| {
        let bytes = |server: &&str| {
            results
                .memory
                .iter()
                .find(|it| it.server == *server && it.layout == layout.name)
                .map(|it| it.bytes_a_member)
        };
        Row { label: layout.label.into(), is_ours: !layout.is_core, values: servers.iter().map(bytes).collect() }
    };
    let group = |heading: &str, is_limiter| Group {
        heading: heading.into(),
        rows: LAYOUTS.iter().filter(|it| it.is_limiter == is_limiter && !it.label.is_empty()).map(row).collect(),
    };
    let members = sizes(results.memory.iter().map(|memory| memory.members));
    let of_a_sorted_set = |name: &str| {
        let bytes = |server: &str, layout: &str| {
            results.memory.iter().find(|it| it.server == server && it.layout == layout).map(|it| it.bytes_a_member)
        };
        span(servers.iter().filter_map(|server| Some(bytes(server, name)? / bytes(server, SORTED_SET)?)))
    };
    let (coded, overflowing) =
        (of_a_sorted_set("coded, three INT"), of_a_sorted_set("coded, one entry: INT of 63 bits, TIES FIRST"));
    Bars {
        title: format!("Memory: members that fit take {coded} times a sorted set, others {overflowing}"),
        subtitle: format!("Bytes of server memory, {members} names of about 13 characters; grey: without redis-rank",),
        axis: "bytes per member or limiter; shorter is better".into(),
        is_log: false,
        reference: None,
        panels: self::servers(results),
        groups: vec![group("Boards", false), group("Limiters, one key each", true)],
        figure: |bytes| format!("{bytes:.0}"),
    }
}

fn growth(results: &Results) -> Lines {
    const PANELS: &[(&str, &[(&str, &str)])] = &[
        ("a write, µs", &[("ZADD", "ZADD"), ("RANK.ADD", "RANK.ADD"), ("coded", "RANK.ADD, coded")]),
        ("a rank, µs", &[("ZREVRANK", "ZREVRANK"), ("RANK.GET", "RANK.GET"), ("coded", "RANK.GET, coded")]),
    ];
    let servers = results.servers();
    let points = |server: &str, operation: &str| {
        let measured = results.growth.iter().filter(|it| it.server == server && it.operation == operation);
        let mut points: Vec<_> = measured.map(|it| (it.members as f64, it.micros)).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    };
    let panel = |server: &str, lines: &[(&'static str, &str)]| {
        let line = |(name, operation): &(&'static str, &str)| Line {
            name,
            is_ours: !name.starts_with('Z'),
            is_dashed: *name == "coded",
            points: points(server, operation),
        };
        lines.iter().map(line).collect()
    };
    let most = results.growth.iter().map(|it| it.members).max().unwrap_or(0);
    let is_largest = |(members, _): &(f64, f64)| *members == most as f64;
    let largest = servers.iter().filter_map(|server| points(server, "RANK.ADD").into_iter().find(is_largest));
    Lines {
        title: format!("With {} members a RANK.ADD takes {} µs", size(most), span(largest.map(|(_, micros)| micros))),
        subtitle: "Microseconds per command, pipelined; dashed: a coded board with three scores; grey: core commands"
            .into(),
        across: "members (each step is ten times as many)",
        columns: self::servers(results),
        rows: PANELS
            .iter()
            .map(|(what, lines)| (*what, servers.iter().map(|server| panel(server, lines)).collect()))
            .collect(),
    }
}

fn blocking(results: &Results) -> Bars {
    let servers = results.servers();
    let row = |command: &&str| {
        let found = |server: &&str| results.stops.iter().find(|it| it.server == *server && it.command == *command);
        Row {
            label: (*command).into(),
            is_ours: command.starts_with("RANK."),
            // What takes less than the clock shows.
            values: servers.iter().map(|server| found(server).map(|it| it.executing.max(0.01))).collect(),
        }
    };
    let members = sizes(results.stops.iter().map(|stop| stop.members));
    let ours = results.stops.iter().filter(|stop| stop.command.starts_with("RANK."));
    let longest = ours.map(|stop| stop.executing).fold(0.0, f64::max);
    Bars {
        title: format!("No RANK command held the server longer than {longest:.0} ms"),
        subtitle: format!(
            "A board of {members} members, distinct scores unless it says otherwise; grey: core commands"
        ),
        axis: "milliseconds of blocking (logarithmic axis); further left is better".into(),
        is_log: true,
        reference: None,
        panels: self::servers(results),
        groups: vec![Group { rows: BLOCKING.iter().map(row).collect(), ..Group::default() }],
        figure: |ms| match ms {
            ..=0.01 => "≤ 0.01".into(),
            ..1.0 => format!("{ms:.2}"),
            ..10.0 => format!("{ms:.1}"),
            _ => format!("{ms:.0}"),
        },
    }
}

fn latency(results: &Results) -> Bars {
    let servers = results.servers();
    let side = |server: &str, is_ours| results.mixed.iter().find(|it| it.server == server && it.is_ours == is_ours);
    let group = |heading: &str, figure: fn(&Mixed) -> f64| {
        let row = |label: &str, is_ours| Row {
            label: label.into(),
            is_ours,
            values: servers.iter().map(|server| side(server, is_ours).map(figure)).collect(),
        };
        Group { heading: heading.into(), rows: vec![row("redis-rank", true), row("core commands, scripts", false)] }
    };
    let tails = servers.iter().filter_map(|server| Some(side(server, true)?.p999 / side(server, false)?.p999));
    let members = sizes(results.mixed.iter().map(|mixed| mixed.members));
    Bars {
        title: format!("Mixed traffic: p99.9 latency is {} times that of scripts", span(tails)),
        subtitle: format!("{members} members, four clients, a third writes; medians of rounds that alternate"),
        axis: "microseconds from request to reply; shorter is better".into(),
        is_log: false,
        reference: None,
        panels: self::servers(results),
        groups: vec![
            group("Half of the requests (p50)", |it| it.p50),
            group("99 of a hundred (p99)", |it| it.p99),
            group("999 of a thousand (p99.9)", |it| it.p999),
        ],
        figure: |micros| format!("{micros:.0}"),
    }
}

/// 2.1 µs, 38 µs
fn micros(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1} µs")
    } else {
        format!("{value:.0} µs")
    }
}
