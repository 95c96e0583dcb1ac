//! Values into places and back.

use std::cmp::Ordering;

use super::input::Input;
use crate::board::tests::{Codec, Naive, Schema, SortKey, Ties};
use crate::board::Order;
use crate::calendar::MAX_MS;

/// Places sort like the tuples they encode, and decode to the same tuples. Any other element of a sorted set does not
/// decode, or decodes to exactly one tuple.
pub fn codec(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let schema = Schema::new(input.rules());
    let (layout, rules) = (&schema.layout, &schema.rules);
    let naive = Naive { rules: rules.clone(), members: Vec::new() };
    let (a, b) = (input.tuple(&schema), input.tuple(&schema));
    let time = |input: &mut Input| (input.word() & MAX_MS as u64) as i64 / naive.unit_ms() * naive.unit_ms();
    let (since, time_a, time_b) = (time(&mut input), time(&mut input), time(&mut input));
    let (at_a, at_b) = (layout.encode(&a, time_a, since), layout.encode(&b, time_b, since));

    let by_fields = naive.by_fields(&a, &b);
    let order = by_fields.then(naive.by_time(time_a, time_b));
    let best_first = |stored: Ordering| if schema.order() == Order::Descending { stored.reverse() } else { stored };
    assert_eq!(best_first(compare(&at_a, &at_b)), order, "{rules}: {a:?} at {time_a}, {b:?} at {time_b}");
    assert_eq!(schema.better(&a, &b), by_fields.is_lt(), "{rules}: {a:?} {b:?}");

    let name = input.bytes();
    let mut element = element_of(&schema, &at_a, name);
    let decoded = layout.decode(at_a.score, &element, since).expect("a place that was encoded");
    assert_eq!(decoded.values, a, "{rules}");
    assert_eq!(decoded.time, (rules.ties != Ties::Shared).then_some(time_a), "{rules}");

    for (highest, outside) in [(false, Ordering::Greater), (true, Ordering::Less)] {
        let edge = layout.edge(&a, None, since, highest);
        let own = SortKey { score: at_a.score, tail: at_a.tail.iter().copied().take(edge.tail.len()).collect() };
        assert_ne!(compare(&edge, &own), outside, "{rules}: {a:?} is outside its group");
    }
    assert!(layout.score_only(&a).is_none_or(|score| score == at_a.score), "{rules}: {a:?}");

    let score = input.score(at_a.score);
    for _ in 0..input.below(4) {
        let at = input.below(256);
        if let Some(byte) = element.get_mut(at) {
            *byte ^= input.byte();
        }
    }
    element.truncate(element.len().saturating_sub(input.below(32)));
    if let Some(decoded) = layout.decode(score, &element, since) {
        for (field, value) in schema.fields().iter().zip(&decoded.values) {
            let text = value.to_string();
            // A plain board may hold infinities: nobody asked its schema when they came.
            let known =
                score.is_infinite() || schema.parse_value(field, text.as_bytes()).is_ok_and(|read| read == *value);
            assert!(known, "{rules}: {score} is {text}");
        }
        let again = layout.encode(&decoded.values, decoded.time.unwrap_or(0), since);
        assert_eq!(again.score, score, "{rules}: two scores for {decoded:?}");
        let name = crate::board::tests::split_wrapped(&element).filter(|_| layout.is_coded());
        let name = name.map_or(element.as_slice(), |(_, name)| name);
        assert_eq!(element_of(&schema, &again, name), element, "{rules}: two elements for {decoded:?}");
    }
}

/// The element of a member.
pub fn element_of(schema: &Schema, key: &SortKey, name: &[u8]) -> Vec<u8> {
    match key.tail_before(name) {
        tail @ [_, ..] if schema.layout.is_coded() => [&[2], tail, name].concat(),
        _ => name.to_vec(),
    }
}

fn compare(a: &SortKey, b: &SortKey) -> Ordering {
    a.score.partial_cmp(&b.score).expect("never NaN").then_with(|| a.tail.cmp(&b.tail))
}
