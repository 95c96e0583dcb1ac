//! Values into places and back.

use std::cmp::Ordering;

use super::input::Input;
use crate::board::tests::{Naive, Place, Schema, Ties};
use crate::board::{Direction, Order};

/// Places sort like the tuples they encode, and decode to the same tuples. Any other element of a sorted set does not
/// decode, or decodes to exactly one tuple.
pub fn codec(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let schema = Schema::new(input.rules());
    let (layout, rules) = (&schema.layout, &schema.rules);
    let (a, b) = (input.tuple(&schema), input.tuple(&schema));
    let time_a = layout.time_at(input.word() as i64);
    let time_b = layout.time_at(input.word() as i64);
    let (at_a, at_b) = (layout.encode(&a, time_a), layout.encode(&b, time_b));

    let naive = Naive { rules: rules.clone(), members: Vec::new() };
    let by_fields = naive.by_fields(&a, &b);
    let order = by_fields.then(naive.by_time(time_a as i64, time_b as i64));
    let best_first = |stored: Ordering| if schema.order() == Order::Descending { stored.reverse() } else { stored };
    assert_eq!(best_first(compare(&at_a, &at_b)), order, "{rules}: {a:?} at {time_a}, {b:?} at {time_b}");
    assert_eq!(schema.better(&a, &b), by_fields.is_lt(), "{rules}: {a:?} {b:?}");

    let element = [at_a.spill.as_slice(), input.bytes()].concat();
    let decoded = layout.decode(at_a.score, &element).expect("a place that was encoded");
    assert_eq!(decoded.values, a, "{rules}");
    assert_eq!(decoded.time, (rules.ties != Ties::Shared).then_some(time_a), "{rules}");

    for (direction, outside) in [(Direction::Up, Ordering::Greater), (Direction::Down, Ordering::Less)] {
        let start = layout.group_start(&a, direction);
        let own = Place { score: at_a.score, spill: at_a.spill[..start.spill.len()].into() };
        assert_ne!(compare(&start, &own), outside, "{rules}: {a:?} is outside its group");
    }
    assert!(layout.lone_score(&a).is_none_or(|score| score == at_a.score), "{rules}: {a:?}");

    let score = input.score(at_a.score);
    let mut element = element;
    for _ in 0..input.below(4) {
        let at = input.below(256);
        if let Some(byte) = element.get_mut(at) {
            *byte ^= input.byte();
        }
    }
    element.truncate(element.len().saturating_sub(input.below(32)));
    if let Some(decoded) = layout.decode(score, &element) {
        for (field, value) in schema.fields().iter().zip(&decoded.values) {
            let text = value.to_string();
            // A plain board may hold infinities: nobody asked its schema when they came.
            let known =
                score.is_infinite() || schema.parse_value(field, text.as_bytes()).is_ok_and(|read| read == *value);
            assert!(known, "{rules}: {score} is {text}");
        }
        let again = layout.encode(&decoded.values, decoded.time.unwrap_or(0));
        assert_eq!(again.score, score, "{rules}: two scores for {decoded:?}");
        assert_eq!(again.spill.as_slice(), &element[..layout.spill_len()], "{rules}: two elements for {decoded:?}");
    }
}

fn compare(a: &Place, b: &Place) -> Ordering {
    a.score.partial_cmp(&b.score).expect("never NaN").then_with(|| a.spill.cmp(&b.spill))
}
