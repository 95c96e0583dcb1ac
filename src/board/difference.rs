//! How two schemas differ, for the error of `RANK.CREATE`.

use super::schema::{Data, Field, Rules};
use crate::error::{Error, Shown};

/// The error for a board whose own rules differ from those asked for.
pub fn other_schema(own: &Rules, asked: &Rules) -> Error {
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
    compare(keep(own), keep(asked));
    compare(format!("UPDATE {}", own.update), format!("UPDATE {}", asked.update));
    compare(data(own), data(asked));
    compare(periods(own), periods(asked));
    if differences.is_empty() {
        // Long names are cut above.
        differences.push("names that differ after 64 bytes".to_owned());
    }
    Error::OtherSchema { differences: differences.join("; "), can_alter: fixed == 0 }
}

fn field(field: &Field) -> String {
    format!("FIELD {} {} {}", field.name, field.order, field.kind)
}

fn fields(rules: &Rules) -> String {
    let fields = rules.fields.len();
    format!("{fields} {}", if fields == 1 { "field" } else { "fields" })
}

fn keep(rules: &Rules) -> String {
    rules.keep.map_or("no KEEP".to_owned(), |keep| format!("KEEP {keep}"))
}

fn shard(rules: &Rules) -> String {
    rules.shard.map_or("no SHARD".to_owned(), |shard| format!("SHARD {} {}", shard.index(), shard.count()))
}

fn data(rules: &Rules) -> String {
    match &rules.data {
        None => "no DATA".to_owned(),
        Some(Data { hash, owner: None }) => format!("DATA {}", Shown::new(hash)),
        Some(Data { hash, owner: Some(_) }) => format!("DATA {} OWNED", Shown::new(hash)),
    }
}

fn periods(rules: &Rules) -> String {
    let periods = rules.periods.to_string();
    if periods.is_empty() {
        "no PERIOD".to_owned()
    } else {
        Shown::new(periods.trim_start().as_bytes()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let rules = |text: &str| {
            let words: Vec<&[u8]> = text.split(' ').filter(|word| !word.is_empty()).map(str::as_bytes).collect();
            Rules::parse_create(b"board:2:{0}", &words).expect("a schema").0
        };
        let cases = [
            ("", "ASC", "FIELD score DESC FLOAT, asked for FIELD score ASC FLOAT", false),
            ("FIELD a FIELD b", "FIELD a", "2 fields, asked for 1 field", false),
            ("FIELD a FIELD b", "FIELD a FIELD b INT", "FIELD b DESC FLOAT, asked for FIELD b DESC INT", false),
            ("TIES FIRST", "TIES FIRST S", "TIES FIRST, asked for TIES FIRST S", false),
            ("KEEP 5", "", "KEEP 5, asked for no KEEP", true),
            ("", "UPDATE BEST", "UPDATE SET, asked for UPDATE BEST", true),
            ("DATA h", "DATA h OWNED", "DATA h, asked for DATA h OWNED", true),
            ("PERIOD DAY d:", "", "PERIOD DAY d:, asked for no PERIOD", true),
            ("PERIOD DAY d:", "PERIOD DAY d: PAST 7", "PERIOD DAY d:, asked for PERIOD DAY d: PAST 7", true),
            ("SHARD 1 2", "", "SHARD 1 2, asked for no SHARD", false),
            ("KEEP 5", "DATA h", "KEEP 5, asked for no KEEP; no DATA, asked for DATA h", true),
            ("KEEP 5", "TIES LAST", "TIES SHARED, asked for TIES LAST; KEEP 5, asked for no KEEP", false),
        ];
        for (own, asked, differences, can_alter) in cases {
            let expected = Error::OtherSchema { differences: differences.to_owned(), can_alter };
            assert_eq!(other_schema(&rules(own), &rules(asked)), expected, "{own} / {asked}");
        }
    }
}
