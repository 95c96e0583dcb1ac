//! Core commands that damage a board.

use super::truth::*;
use crate::script::Dice;
use crate::support::codes;

/// Commands as one would send them.
pub type Damage = (String, Vec<Vec<Vec<u8>>>);

pub fn command(words: &[&[u8]]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_vec()).collect()
}

/// What anybody can do to any board.
pub fn damages(all: &[Element]) -> Vec<Damage> {
    let mut damages: Vec<Damage> = Vec::new();
    let mut add = |words: &[&[u8]]| damages.push((words.join(&b' ').escape_ascii().to_string(), vec![command(words)]));
    let marker = all[0].0.as_slice();
    let member = &all[all.len() - 3].0;
    add(&[b"ZADD", b"b", b"1000", b"", b"1001", b"\0a"]);
    add(&[b"ZPOPMAX", b"b", b"2"]);
    for count in [b"1".as_slice(), b"2", b"3", b"4", b"100000"] {
        add(&[b"ZPOPMIN", b"b", count]);
    }
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"c"]);
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"c", b"AGGREGATE", b"MIN"]);
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"other"]);
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"long"]);
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"mixed"]);
    add(&[b"ZUNIONSTORE", b"b", b"1", b"b", b"WEIGHTS", b"2"]);
    add(&[b"ZINTERSTORE", b"b", b"2", b"b", b"c"]);
    add(&[b"ZDIFFSTORE", b"b", b"2", b"b", b"c"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"(-inf", b"+inf"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"-inf", b"-inf"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"-inf", b"-4"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"(-inf", b"-4"]);
    for score in [b"-inf".as_slice(), b"inf", b"1.5", b"30", b"-30", b"-4", b"0"] {
        for element in [b"".as_slice(), b"zzz", b"\0a", b"\x01\0a", b"\x02short", b"\x02\0zzz", member] {
            add(&[b"ZADD", b"b", score, element]);
        }
    }
    for text in [
        "0 x",
        "3 x",
        "1 FIELD a DESC INT",
        "2 A",
        "2 z",
        "2",
        "",
        "20 FIELD a DESC INT",
        "2 FIELD A DESC INT",
        "2 FIELD z DESC INT",
        "2 FIELD A DESC FLOAT",
    ] {
        add(&[b"ZADD", b"b", b"-inf", &[MARKER, text.as_bytes()].concat()]);
    }
    add(&[b"ZREM", b"b", member]);
    for before in [1, 15, 16, 17, 40] {
        let mut words = command(&[b"ZADD", b"b"]);
        (0..before).for_each(|at| words.extend(command(&[b"-inf", format!("\0{at}").as_bytes()])));
        damages.push((format!("{before} names before the marker"), vec![words]));
    }
    damages.push((
        "another marker".into(),
        vec![command(&[b"ZREM", b"b", marker]), command(&[b"ZADD", b"b", b"-inf", b"\0rank 3 x"])],
    ));
    damages.push((
        "another schema".into(),
        vec![command(&[b"ZREM", b"b", marker]), command(&[b"ZADD", b"b", b"-inf", b"\0rank 2 FIELD z ASC INT"])],
    ));
    damages
}

/// What can be done to an index.
pub fn index_damages(shape: &Shape, all: &[Element]) -> Vec<Damage> {
    let members: Vec<(&Element, Member)> = all.iter().filter_map(|it| Some((it, shape.decode(&it.0, it.1)?))).collect();
    let mut damages: Vec<Damage> = Vec::new();
    let mut add = |what: &str, commands: Vec<Vec<Vec<u8>>>| damages.push((what.into(), commands));
    let text = |score: f64| score.to_string().into_bytes();
    let remove = |elements: &[&[u8]]| command(&[&[b"ZREM".as_slice(), b"b"], elements].concat());
    let put = |score: f64, element: &[u8]| command(&[b"ZADD", b"b", &text(score), element]);
    let tail = |element: &Element| codes::split(&element.0).map(|it| it.0.to_vec());
    // Another element of the same name: with another's code, which is worse or better.
    let two = members.iter().find(|it| it.1 .1 == b"m2").expect("the member");
    for ((end, _), kind) in [members.first(), members.last()].into_iter().flatten().zip(["lowest", "highest"]) {
        let (name, tail) = (two.1 .1.as_slice(), tail(end));
        let element = tail.as_ref().map_or(name.to_vec(), |tail| codes::wrap(tail, name));
        if element == two.0 .0 {
            continue;
        }
        let second = put(end.1, &element);
        let entries: Vec<_> = tail
            .iter()
            .flat_map(|tail| codes::entries_of(tail, name))
            .map(|(entry, score)| put(score, &entry))
            .collect();
        add(&format!("a second element, {kind}"), vec![second.clone()]);
        add(&format!("the entries of a second element, {kind}"), entries.clone());
        add(&format!("a second element and its entries, {kind}"), [vec![second], entries].concat());
    }
    let wrapped: Vec<(&Element, Vec<Element>)> = members
        .iter()
        .filter_map(|(element, member)| Some((*element, codes::entries_of(&tail(element)?, &member.1))))
        .collect();
    let [(one, its), (other, others), ..] = wrapped.as_slice() else { return damages };
    let (first, last) = (&its[0], &its[its.len() - 1]);
    let all_of_it: Vec<&[u8]> = its.iter().map(|entry| entry.0.as_slice()).collect();
    add("an element gone", vec![remove(&[&one.0])]);
    add("two elements gone", vec![remove(&[&one.0, &other.0])]);
    add("an entry gone", vec![remove(&[&first.0])]);
    add("the last entry gone", vec![remove(&[&last.0])]);
    add("all entries of a member gone", vec![remove(&all_of_it)]);
    add("entries of two gone", vec![remove(&[&first.0, &others[0].0])]);
    add("an element and another's entry gone", vec![remove(&[&one.0, &others[0].0])]);
    add("the marker above -inf", vec![put(5.0, &all[0].0)]);
    add("the marker at -5", vec![put(-5.0, &all[0].0)]);
    add("a marker above -inf", vec![put(3.0, b"\0rank 2 x")]);
    for score in [3.0, -4.0, -5.0, -1e300, f64::NEG_INFINITY, f64::INFINITY, others[0].1, last.1] {
        add(&format!("an entry at {score}"), vec![put(score, &first.0)]);
        add(&format!("the last entry at {score}"), vec![put(score, &last.0)]);
        add(&format!("an entry at {score}, another gone"), vec![put(score, &first.0), remove(&[&others[0].0])]);
        add(&format!("an element at {score}"), vec![put(score, &one.0)]);
    }
    let name = &first.0[2..];
    add("one entry more", vec![put(codes::score_of((1 << 61) + 5), &[b"\x01\x07", name].concat())]);
    add("an entry of nobody", vec![put(first.1, b"\x01\0nobody")]);
    add("a later entry of nobody", vec![put(codes::score_of((1 << 61) + 5), b"\x01\x01nobody")]);
    add("half an entry", vec![put(first.1, b"\x01")]);
    damages
}

/// Removes, adds or moves an element of the board, or one that is nearly the same.
pub fn any_damage(dice: &mut Dice, shape: &Shape, all: &[Element]) -> Vec<Vec<u8>> {
    let mut element = all[dice.roll(all.len())].0.clone();
    if dice.once_in(3) {
        let at = dice.roll(element.len());
        element[at] = element[at].wrapping_add(u8::try_from(1 + dice.roll(3)).expect("a byte"));
    }
    let other = all[dice.roll(all.len())].1.to_string();
    let mut score = dice.pick(&["-inf", "inf", "5", "-10", &other, &other, &other]);
    // Whether a marker's name may be a member's, where names are elements, is not asked here.
    if !shape.coded && element.starts_with(b"\0") {
        score = "-inf";
    }
    let rank = (dice.roll(8) as i64 - 4).to_string();
    let [rank, score] = [rank.as_bytes(), score.as_bytes()];
    match dice.roll(18) {
        0..=4 => command(&[b"ZREM", b"b", &element]),
        5 => command(&[b"ZINCRBY", b"b", score, &element]),
        // Where the marker is gone too, a plain board with another's index entries in it can be no board again.
        6 if shape.coded => {
            command(&[b"ZUNIONSTORE", b"b", b"2", b"b", dice.pick(&[b"c".as_slice(), b"long", b"mixed"])])
        }
        7 => command(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"c", b"AGGREGATE", b"MAX"]),
        8 => command(&[b"ZREMRANGEBYRANK", b"b", rank, rank]),
        9 => command(&[if dice.once_in(2) { b"ZPOPMIN" } else { b"ZPOPMAX" }, b"b"]),
        _ => command(&[b"ZADD", b"b", score, &element]),
    }
}
