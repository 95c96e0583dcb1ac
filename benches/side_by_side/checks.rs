//! Whether two replies mean the same: what is measured must do the same job.

use redis::Value;

/// Takes our reply, then theirs.
pub type Same = fn(&Value, &Value) -> bool;

pub fn equal(ours: &Value, theirs: &Value) -> bool {
    ours == theirs
}

/// Two jobs that are not the same, such as one command on two layouts: both must have done theirs.
pub fn both_answer(ours: &Value, theirs: &Value) -> bool {
    *ours != Value::Nil && *theirs != Value::Nil
}

/// `[1, [[item, due]]]` and `[1, [item], …, 1, 0, …]`: of all that see the item one removes it.
pub fn one_taken(ours: &Value, theirs: &Value) -> bool {
    let ([_, rows], [_, seen, rest @ ..]) = (items(ours), items(theirs)) else { return false };
    let removed = rest.iter().filter(|reply| **reply == Value::Int(1)).count();
    matches!((items(rows), items(seen)), ([row], [item]) if items(row).first() == Some(item)) && removed == 1
}

/// `[1, [[item, token, …]], 0, 1]` and `[1, [item], 1]`: what was taken has been acknowledged.
pub fn acknowledged(ours: &Value, theirs: &Value) -> bool {
    let ([_, rows, _, Value::Int(1)], [_, taken, Value::Int(1)]) = (items(ours), items(theirs)) else { return false };
    matches!((items(rows), items(taken)), ([row], [item]) if items(row).first() == Some(item))
}

/// `[rank, member, score]` and `[rank, score]`
pub fn rank_and_score(ours: &Value, theirs: &Value) -> bool {
    matches!((items(ours), items(theirs)), ([rank, _, score], [their_rank, their_score])
        if equal(rank, their_rank) && equal(score, their_score))
}

/// `[rank, member, score]` and the number of members before, of which some may be equals
pub fn same_position(ours: &Value, theirs: &Value) -> bool {
    matches!((items(ours), theirs), ([Value::Int(rank), ..], Value::Int(before)) if (*before + 1 - rank).abs() < 10)
}

/// `[rank, previous rank, member, score, …]` and `[rank, previous rank, score]`
pub fn standing(ours: &Value, theirs: &Value) -> bool {
    matches!((items(ours), items(theirs)), ([rank, before, _, score, ..], [their_rank, their_before, their_score])
        if equal(rank, their_rank) && equal(before, their_before) && equal(score, their_score))
}

/// `[[rank, member, score], …]` and `[member, score, …]`
pub fn rows(ours: &Value, theirs: &Value) -> bool {
    let (ours, theirs) = (items(ours), items(theirs));
    !ours.is_empty()
        && ours.len() * 2 == theirs.len()
        && ours.iter().zip(theirs.chunks(2)).all(|(row, pair)| items(row).get(1..) == Some(pair))
}

/// `[[rank, [member, …]], …]` in JSON and `[member, score, …]`
pub fn groups(ours: &Value, theirs: &Value) -> bool {
    let mut expected: Vec<(usize, Vec<String>)> = Vec::new();
    let mut last = None;
    for (position, pair) in items(theirs).chunks(2).enumerate() {
        if last.replace(&pair[1]) != Some(&pair[1]) {
            expected.push((position + 1, Vec::new()));
        }
        expected.last_mut().expect("a group").1.push(text(&pair[0]));
    }
    expected.iter_mut().for_each(|(_, names)| names.sort());
    let got: Option<Vec<(usize, Vec<String>)>> = serde_json::from_str(&text(ours)).ok().and_then(tuples);
    !expected.is_empty() && got == Some(expected)
}

/// `{"rank": 1, "users": […]}`, both of them, with the users in any order
pub fn json_query(ours: &Value, theirs: &Value) -> bool {
    let parse = |value| -> Option<(u64, Vec<String>)> {
        let json: serde_json::Value = serde_json::from_str(&text(value)).ok()?;
        let mut users = names(json.get("users")?)?;
        users.sort();
        Some((json.get("rank")?.as_u64()?, users))
    };
    let ours = parse(ours);
    ours.is_some() && ours == parse(theirs)
}

fn tuples(json: serde_json::Value) -> Option<Vec<(usize, Vec<String>)>> {
    let group = |group: &serde_json::Value| Some((group.get(0)?.as_u64()? as usize, names(group.get(1)?)?));
    json.as_array()?.iter().map(group).collect()
}

fn names(json: &serde_json::Value) -> Option<Vec<String>> {
    json.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

/// `[limited, …]` and 1 for a call that may pass, 0 for one that may not
pub fn verdict(ours: &Value, theirs: &Value) -> bool {
    matches!((items(ours), theirs), ([Value::Int(limited), ..], Value::Int(passed)) if limited + passed == 1)
}

/// `[limited, …]`, not limited, and anything
pub fn passes(ours: &Value, theirs: &Value) -> bool {
    matches!(items(ours), [Value::Int(0), ..]) && *theirs != Value::Nil
}

/// `[limited, …]`, limited, and anything
pub fn denied(ours: &Value, theirs: &Value) -> bool {
    matches!(items(ours), [Value::Int(1), ..]) && *theirs != Value::Nil
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        _ => &[],
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}
