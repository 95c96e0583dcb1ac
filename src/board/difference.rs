//! How two schemas differ, for the error of `RANK.CREATE`.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::periods::{Period, PeriodUnit};
use super::schema::{DataHash, Field, Rules};
use crate::calendar::Cycle;
use crate::error::{Error, Escaped};

/// The error for a board whose rules differ from those that the client asked for.
pub fn other_schema((own, own_since): (&Rules, Option<i64>), (asked, since): (&Rules, Option<i64>)) -> Error {
    let mut differences = Vec::new();
    let mut compare = |own: String, asked: String| {
        if own != asked {
            differences.push(format!("{own}, asked for {asked}"));
        }
        differences.len()
    };
    let fixed = if own.fields.len() == asked.fields.len() {
        let differing = own.fields.iter().zip(&asked.fields).find(|(own, asked)| own != asked);
        differing.map_or(0, |(own, asked)| compare(field(own), field(asked)))
    } else {
        compare(fields(own), fields(asked))
    };
    let fixed = fixed.max(compare(format!("TIES {}", own.ties), format!("TIES {}", asked.ties)));
    let fixed = fixed.max(compare(shard(own), shard(asked)));
    let fixed = match (own_since, since) {
        (Some(own), Some(asked)) => fixed.max(compare(format!("SINCE {own}"), format!("SINCE {asked}"))),
        _ => fixed,
    };
    compare(keep(own), keep(asked));
    compare(format!("UPDATE {}", own.update), format!("UPDATE {}", asked.update));
    compare(data(own), data(asked));
    let units = own.periods.iter().chain(asked.periods.iter()).map(Period::unit).collect::<BTreeSet<_>>();
    for unit in units {
        compare(period(own, unit), period(asked, unit));
    }
    if !own.periods.is_empty() && !asked.periods.is_empty() {
        compare(format!("OFFSET {}", own.periods.offset()), format!("OFFSET {}", asked.periods.offset()));
    }
    if differences.is_empty() {
        // Long names are shortened above, so they can look the same.
        differences.push("names that differ after 64 bytes".to_owned());
    }
    Error::other_schema(&differences.join("; "), fixed == 0)
}

/// A part of a schema as a client writes it, or that it is missing.
fn part(name: &str, value: Option<String>) -> String {
    value.map_or_else(|| format!("no {name}"), |value| format!("{name} {value}"))
}

fn field(field: &Field) -> String {
    format!("FIELD {} {} {}", field.name, field.order, field.kind)
}

fn fields(rules: &Rules) -> String {
    let fields = rules.fields.len();
    format!("{fields} {}", if fields == 1 { "field" } else { "fields" })
}

fn keep(rules: &Rules) -> String {
    part("KEEP", rules.keep.map(|keep| keep.to_string()))
}

fn shard(rules: &Rules) -> String {
    part("SHARD", rules.shard.map(|shard| format!("{} {}", shard.index(), shard.count())))
}

fn data(rules: &Rules) -> String {
    let owned = |data: &DataHash| if data.owner.is_some() { " OWNED" } else { "" };
    part("DATA", rules.data.as_ref().map(|data| format!("{}{}", Escaped(&data.hash), owned(data))))
}

fn period(rules: &Rules, unit: PeriodUnit) -> String {
    let name = unit.name().to_ascii_uppercase();
    let Ok(Period { cycle, prefix, past }) = rules.periods.of(unit) else { return format!("no PERIOD {name}") };
    let every = match cycle {
        Cycle::Calendar(..) => String::new(),
        Cycle::Every { length_ms, from_ms } => format!(" {}m FROM {from_ms}", length_ms / 60_000),
    };
    format!("PERIOD {name}{every} {} PAST {past}", Escaped(prefix))
}
