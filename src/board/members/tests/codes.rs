//! Order codes: order, prefix-freeness and decoding at every edge, and the format as another implementation has it.

use proptest::prelude::*;

use super::*;
use crate::board::members::code::{number_of, Code, Piece, Reader, TieTimeUnit, FIRST_MEMBER, HEAD_BITS};
use crate::board::tests::random::rules;
use crate::board::tests::{Field, Naive, Rules, Schema, Ties, Tuple};
use crate::board::Order;
use crate::calendar::MAX_MS;

/// The first number of each class of natural numbers.
fn bases() -> Vec<i64> {
    let mut bases = vec![0];
    for width in [7, 10, 12, 17, 20, 24, 32] {
        bases.push(bases[bases.len() - 1] + (1 << width));
    }
    bases
}

/// Numbers that are not negative: around class edges, powers of two and of ten.
fn edges() -> Vec<i64> {
    let powers = (0..63).map(|n| 1_i64 << n).chain((0..19).map(|n| 10_i64.pow(n)));
    let near = |n: i64| (-2..=2).filter_map(move |d| n.checked_add(d)).filter(|n| *n >= 0);
    let mut edges: Vec<i64> = bases().into_iter().chain(powers).chain([i64::MAX]).flat_map(near).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// A few pseudo-random numbers, the same in every run.
fn noise(count: usize) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(0x9E37_79B9_7F4A_7C15_u64), |state| {
        let mut next = *state;
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        Some(next)
    })
    .take(count)
}

fn integers() -> Vec<i64> {
    let mut all: Vec<i64> = edges().into_iter().flat_map(|n| [n, -n, !n]).collect();
    all.extend(noise(20_000).map(|n| (n as i64) >> (n % 64)));
    all.sort_unstable();
    all.dedup();
    all
}

fn near(x: f64) -> [f64; 3] {
    [x, x.next_up(), x.next_down()]
}

fn floats() -> Vec<f64> {
    let mut all: Vec<f64> = vec![5e-324, f64::MIN_POSITIVE, f64::MIN_POSITIVE.next_down(), f64::MAX];
    all.extend(edges().into_iter().flat_map(|n| [0.0, 0.5, 0.001, 0.999].map(|d| n as f64 + d)).flat_map(near));
    all.extend((-2000..=2000).map(|n| f64::from(n) / 1000.0).flat_map(near));
    all.extend((-1074..1024).map(|n| 2.0_f64.powi(n)).flat_map(near));
    all.extend((-323..309).map(|n| 10.0_f64.powi(n)).flat_map(near));
    // Thousandths of random whole parts, and any doubles.
    all.extend(noise(5_000).map(|n| ((n >> 20) % (1 << 33)) as f64 + (n % 1000) as f64 / 1000.0).flat_map(near));
    all.extend(noise(5_000).map(|n| ((n >> 20) % (1 << 33) * 1000 + n % 1000) as f64 / 1000.0).flat_map(near));
    all.extend(noise(20_000).map(f64::from_bits).filter(|x| x.is_finite()));
    all = all.into_iter().filter(|x| x.is_finite()).flat_map(|x| [x + 0.0, -x + 0.0]).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// The bits of a code, as text.
fn text(piece: Piece) -> String {
    piece.to_string()
}

/// The values are sorted. Their codes must be too, and no code may begin another one.
fn check_order<T: Copy + PartialEq + std::fmt::Debug>(
    values: &[T],
    encode: impl Fn(T) -> Piece,
    decode: impl Fn(&mut Reader) -> Option<T>,
) {
    let mut last: Option<String> = None;
    for value in values {
        for complement in [false, true] {
            let piece = if complement { encode(*value).complement() } else { encode(*value) };
            let mut code = Code::default();
            code.push(piece);
            let (score, tail) = code.parts();
            let head = number_of(score).expect("a normal score") - FIRST_MEMBER;
            assert_eq!(decode(Reader::new(head, &tail).complemented(complement)), Some(*value));
        }
        let own = text(encode(*value));
        if let Some(last) = last {
            assert!(last < own && !own.starts_with(&last), "{value:?}: {last} {own}");
        }
        last = Some(own);
    }
}

#[test]
fn codes_keep_the_order_are_prefix_free_and_decode() {
    let (integers, floats) = (integers(), floats());
    assert!(integers.len() > 15_000 && floats.len() > 50_000);
    check_order(&integers, Piece::integer, |reader| reader.integer());
    check_order(&floats, Piece::float, |reader| reader.float());
    for bounds in [(0, 1), (-5, 5), (0, 999), (i64::MIN, i64::MAX - 1), (i64::MIN, i64::MAX), (i64::MAX - 1, i64::MAX)]
    {
        let (lo, hi) = bounds;
        let mut values = vec![lo, lo + 1, lo.midpoint(hi), hi - 1, hi];
        values.sort_unstable();
        values.dedup();
        check_order(&values, |value| Piece::bounded(value, bounds), |reader| reader.bounded(bounds));
    }
}

#[test]
fn infinite_bounds_lie_outside_all_floats() {
    for float in floats() {
        assert!(text(Piece::float(f64::NEG_INFINITY)) < text(Piece::float(float)));
        assert!(text(Piece::float(float)) < text(Piece::float(f64::INFINITY)));
    }
    assert_eq!(Piece::float(-0.0), Piece::float(0.0));
}

#[test]
fn times_keep_the_order_before_and_after_since() {
    for (unit, widths) in [(TieTimeUnit::MILLISECONDS, [30, 33, 36, 38]), (TieTimeUnit::SECONDS, [20, 25, 27, 31])] {
        for since in [0, 999, 1_700_000_000_123, MAX_MS] {
            let mut distances = vec![0, 1];
            let mut end = 0;
            for width in widths {
                end += 1_i64 << width;
                distances.extend([end - 2, end - 1, end, end + 1]);
            }
            distances.extend(distances.clone().iter().map(|distance| -distance));
            let start = since / unit.ms;
            let last = MAX_MS / unit.ms;
            let times = distances.into_iter().map(|distance| start + distance).chain([0, 1, last - 1, last]);
            let mut times: Vec<i64> =
                times.filter(|time| (0..=last).contains(time)).map(|time| time * unit.ms).collect();
            times.sort_unstable();
            times.dedup();
            check_order(&times, |at| Piece::time(at, since, unit), |reader| reader.time(since, unit));
        }
    }
}

/// What people store fits: every bound of these, and 100,000 random values of each.
#[test]
fn usual_values_fit() {
    let day = 86_400_000;
    type Make = fn(&Vec<u64>) -> Vec<Piece>;
    let cases: Vec<(Vec<u64>, Make)> = vec![
        (vec![99_999; 3], |n| n.iter().map(|n| Piece::integer(*n as i64)).collect()),
        (vec![9_999_999; 2], |n| n.iter().map(|n| Piece::integer(*n as i64)).collect()),
        (vec![1_000_000, 730 * day], |n| vec![Piece::integer(n[0] as i64), at(n[1])]),
        (vec![100_000, 11 * 365 * day], |n| vec![Piece::integer(n[0] as i64), at(n[1])]),
        (vec![16_000_000, 99 * day], |n| vec![Piece::integer(n[0] as i64), at(n[1])]),
        (vec![1_000_000, 730 * day], |n| vec![Piece::float(n[0] as f64), at(n[1])]),
        (vec![999_999, 99 * day], |n| vec![Piece::float(n[0] as f64 / 1000.0), at(n[1])]),
        (vec![(1 << 22) - 1, 11 * 365 * day], |n| vec![Piece::bounded(n[0] as i64, (0, (1 << 22) - 1)), at(n[1])]),
    ];
    for (most, make) in cases {
        let mut noise = noise(100_000 * most.len());
        let check = |numbers: Vec<u64>| {
            let mut code = Code::default();
            make(&numbers).into_iter().for_each(|piece| code.push(piece));
            assert!(code.parts().1.is_empty(), "{numbers:?}: more than {HEAD_BITS} bits");
        };
        check(most.clone());
        check(vec![0; most.len()]);
        for _ in 0..100_000 {
            check(most.iter().map(|most| noise.next().expect("enough") % (most + 1)).collect());
        }
    }
}

fn at(ms: u64) -> Piece {
    Piece::time(ms as i64, 0, TieTimeUnit::MILLISECONDS)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

/// The element of a member of a coded board.
fn element_of(key: &SortKey, name: &[u8]) -> Vec<u8> {
    match key.tail_before(name) {
        [] => name.to_vec(),
        tail => [&[2], tail, name].concat(),
    }
}

#[test]
fn scores_elements_and_entries_are_those_of_the_format() {
    let lines = include_str!("codes.txt").lines().filter(|line| !line.starts_with('#'));
    let mut compared = 0;
    for line in lines {
        let [schema, since, time, values, name, score, element, entries] =
            line.split('|').collect::<Vec<_>>().try_into().expect("eight parts");
        let words: Vec<&[u8]> = schema.split(' ').map(str::as_bytes).collect();
        let schema = Schema::new(Rules::parse(&words).expect("a schema"));
        assert!(schema.layout.is_coded(), "{line}");
        let (since, time) = (since.parse().expect("a time"), time.parse::<i64>().expect("a time"));
        let values = schema.parse_tuple(values.split(' ').map(str::as_bytes)).expect("values");
        let name = unhex(name);
        let key = schema.layout.encode(&values, time, since);
        let ours = element_of(&key, &name);
        assert_eq!((format!("{:016x}", key.score.to_bits()), hex(&ours)), (score.into(), element.into()), "{line}");
        let tail = split_wrapped(&ours).map_or(&[][..], |(tail, _)| tail);
        let ours_entries: Vec<String> = entry_scores(tail)
            .map(|(number, score)| format!("{}={:016x}", hex(&[&[1, number], &name[..]].concat()), score.to_bits()))
            .collect();
        assert_eq!(ours_entries.join(" "), entries, "{line}");
        let decoded = schema.layout.decode(key.score, &ours, since).expect("what was encoded decodes");
        assert_eq!(decoded.values, values, "{line}");
        compared += 1;
    }
    assert_eq!(compared, 600);
}

/// A range over all integers has 64 bits, and not the code of an `INT`.
#[test]
fn the_widest_range_is_a_range() {
    let words = "FIELD a RANGE -9223372036854775808 9223372036854775807".split(' ').map(str::as_bytes);
    let schema = Schema::new(Rules::parse(&words.collect::<Vec<_>>()).expect("a schema"));
    let key = schema.layout.encode(&[Value::Integer(5)], 0, 0);
    assert_eq!((key.score, key.tail.as_slice()), (2.2250738585072024e-308, &[0x80][..]));
    let decoded = schema.layout.decode(key.score, b"\x02\x80bob", 0).expect("it was encoded");
    assert_eq!(decoded.values.as_slice(), [Value::Integer(5)]);
}

fn tuple(schema: &Schema, seeds: &[u64]) -> Tuple {
    let value = |(field, seed): (&Field, &u64)| match field.kind.bounds() {
        None if seed % 3 == 0 => Value::Float((*seed >> 8) as i32 as f64 / 1000.0),
        None if seed % 3 == 1 => Value::Float((seed % 5) as f64),
        None => Value::Float(Some(f64::from_bits(*seed)).filter(|x| x.is_finite()).unwrap_or(0.0) + 0.0),
        Some((lo, hi)) if seed % 3 == 0 => Value::Integer(lo.saturating_add((seed % 5) as i64).min(hi)),
        Some((lo, hi)) if seed % 3 == 1 => Value::Integer(((*seed >> 8) as i32 as i64).clamp(lo, hi)),
        Some((lo, hi)) => Value::Integer((*seed as i64).clamp(lo, hi)),
    };
    schema.fields().iter().zip(seeds).map(value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    /// Tuples of mixed fields compare as their places do, decode to themselves, and lie between the edges of their group and
    /// of their first field. No bytes decode to a tuple that has other bytes.
    #[test]
    fn places_sort_as_tuples_do(
        rules in rules(),
        seeds in prop::collection::vec(prop::collection::vec(any::<u64>(), 6), 2..4),
        times in prop::collection::vec((0_u32..50, any::<i64>()), 4),
        since in prop_oneof![Just(0_i64), Just(1_700_000_000_000), 0..MAX_MS],
        flip in (0_usize..8, any::<u8>(), 0_u32..64),
    ) {
        let schema = Schema::new(rules.clone());
        let naive = Naive { rules: rules.clone(), members: Vec::new() };
        let unit = naive.unit_ms();
        let time = |i: usize| since.saturating_add(times[i].1 >> times[i].0.min(62)).clamp(0, MAX_MS) / unit * unit;
        let members: Vec<(Tuple, i64, SortKey)> = seeds.iter().enumerate().map(|(i, seeds)| {
            let values = tuple(&schema, seeds);
            let key = schema.layout.encode(&values, time(i), since);
            (values, time(i), key)
        }).collect();
        let is_timed = rules.ties != Ties::Shared;
        for (a, at_a, key_a) in &members {
            let element = if schema.layout.is_coded() { element_of(key_a, b"\x01name") } else { b"name".to_vec() };
            let decoded = schema.layout.decode(key_a.score, &element, since).expect("it was encoded");
            prop_assert_eq!(&decoded.values, a);
            prop_assert_eq!(decoded.time, is_timed.then_some(*at_a));
            for (b, at_b, key_b) in &members {
                let expected = naive.by_fields(a, b).then(naive.by_time(*at_a, *at_b));
                let stored = key_a.score.total_cmp(&key_b.score).then_with(|| key_a.tail.cmp(&key_b.tail));
                let stored = if schema.order() == Order::Descending { stored.reverse() } else { stored };
                prop_assert_eq!(stored, expected, "{}: {:?} {} / {:?} {}", rules, a, at_a, b, at_b);
                // The one that is equal on the fields, or on the first, is inside; all others are outside.
                let inside = naive.by_fields(a, b).is_eq();
                let first_inside = a[0].compare(b[0]).is_eq();
                let edges = [false, true].map(|highest| schema.layout.edge(a, None, since, highest));
                prop_assert_eq!(is_between(key_b, &edges), inside, "{}: {:?} {:?}", rules, a, b);
                let edges = [false, true].map(|highest| schema.layout.edge(&a[..1], None, since, highest));
                prop_assert_eq!(is_between(key_b, &edges), first_inside, "{}: {:?} {:?}", rules, a, b);
            }
            // A changed score or tail decodes to something that has exactly these bytes, or not at all.
            let mut changed = element.clone();
            if let Some(byte) = changed.get_mut(flip.0) {
                *byte ^= flip.1;
            }
            let score = f64::from_bits(key_a.score.to_bits() ^ (1 << flip.2));
            for (score, element) in [(key_a.score, &changed), (score, &element), (score, &changed)] {
                if score.is_nan() || schema.layout.is_plain() {
                    continue;
                }
                if let Some(decoded) = schema.layout.decode(score, element, since) {
                    let again = schema.layout.encode(&decoded.values, decoded.time.unwrap_or(0), since);
                    prop_assert_eq!(again.score, score);
                    if schema.layout.is_coded() {
                        let name = split_wrapped(element).map_or(&element[..], |(_, name)| name);
                        prop_assert_eq!(&element_of(&again, name), element);
                    }
                }
            }
        }
    }
}

/// Whether a place is not before the first edge and not after the second, as boards compare elements with edges.
fn is_between(key: &SortKey, [low, high]: &[SortKey; 2]) -> bool {
    let start = |edge: &SortKey| key.tail.get(..edge.tail.len()).unwrap_or(&key.tail).to_vec();
    let above = key.score > low.score || key.score == low.score && start(low).as_slice() >= low.tail.as_slice();
    let below = key.score < high.score || key.score == high.score && start(high).as_slice() <= high.tail.as_slice();
    above && below
}
