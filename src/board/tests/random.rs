//! Random boards, compared step by step with a list that is sorted anew each time.

use proptest::prelude::*;

use super::points::check_points;
use super::*;
use crate::board::members::tests::split_entry;
use crate::board::{
    Board, FieldBound, Group, MemberChange, Order, Pair, RankKind, ReportLevel, Row, Update, Value, WriteMode,
    WriteRequest,
};
use crate::error::Error;
use crate::zset::{Condition, MemorySet, SortedSet};

#[derive(Clone, Debug)]
pub(super) enum Op {
    Set { name: u8, seeds: Vec<u64>, kept: u32, condition: Condition, update: Update, keep: Option<u64>, at: i64 },
    Remove(u8),
    Trim(u64),
    Clear,
}

fn field_type() -> impl Strategy<Value = FieldType> {
    prop_oneof![
        Just(FieldType::Float),
        Just(FieldType::Int),
        (1_u8..=62).prop_map(FieldType::Bits),
        (1_u8..=18).prop_map(FieldType::Digits),
        (any::<i64>(), any::<i64>())
            .prop_filter("lo < hi", |(a, b)| a != b)
            .prop_map(|(a, b)| FieldType::Range(a.min(b), a.max(b))),
        (-5_i64..5, 1_i64..9).prop_map(|(lo, width)| FieldType::Range(lo, lo + width)),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Ascending), Just(Order::Descending)]
}

fn ties() -> impl Strategy<Value = Ties> {
    let unit = prop_oneof![Just(TimeUnit::Milliseconds), Just(TimeUnit::Seconds)];
    let rule = prop_oneof![Just(TieRule::First), Just(TieRule::Last), Just(TieRule::Joined)];
    prop_oneof![Just(Ties::Shared), (rule, unit).prop_map(|(rule, unit)| Ties::ByTime(rule, unit))]
}

pub fn rules() -> impl Strategy<Value = Rules> {
    (prop::collection::vec((order(), field_type()), 1..5), ties()).prop_map(|(fields, ties)| Rules {
        fields: fields
            .into_iter()
            .enumerate()
            .map(|(i, (order, kind))| Field { name: format!("f{i}"), order, kind })
            .collect(),
        ties,
        keep: None,
        update: Update::Set,
        data: None,
        periods: Periods::default(),
        shard: None,
    })
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let condition = prop_oneof![4 => Just(Condition::Any), 1 => Just(Condition::New), 1 => Just(Condition::Existing)];
    let update = prop_oneof![3 => Just(Update::Set), 1 => Just(Update::Best)];
    let keep = prop_oneof![3 => Just(None), 1 => (1_u64..9).prop_map(Some)];
    let kept = prop_oneof![3 => Just(0), 1 => 0_u32..8];
    let set = (0_u8..12, prop::collection::vec(any::<u64>(), 4), kept, condition, update, keep, 0_i64..5000);
    prop_oneof![
        20 => set.prop_map(|(name, seeds, kept, condition, update, keep, at)| {
            Op::Set { name, seeds, kept, condition, update, keep, at }
        }),
        3 => (0_u8..12).prop_map(Op::Remove),
        1 => (0_u64..8).prop_map(Op::Trim),
        1 => Just(Op::Clear),
    ]
}

/// A value of a field: mostly one of few, so that ties happen, and the extremes of its type.
pub(super) fn value(kind: FieldType, seed: u64) -> Value {
    let pick = (seed % 7) as usize;
    match kind.bounds() {
        None => {
            let floats = [0.0, 1.5, -1.5, 5e-324, f64::MAX, f64::MIN, 1e16 + 2.0];
            Value::Float(floats[pick])
        }
        Some((lo, hi)) => {
            let middle = lo.midpoint(hi);
            let near = [lo, lo + 1, middle, middle.max(lo + 1) - 1, hi - 1, hi, 0.clamp(lo, hi)];
            Value::Integer(near[pick])
        }
    }
}

pub(super) fn name(index: u8) -> Vec<u8> {
    match index {
        0 => Vec::new(),
        1 => b"\0".to_vec(),
        2 => b"\x01\0\0\0\x01b".to_vec(),
        3 => vec![0xff; 9],
        4 => b"\x02\x80\0\0\0\0\0\0\0b".to_vec(),
        _ => vec![b'a' + index],
    }
}

pub(super) const KINDS: [RankKind; 3] = [RankKind::Competition, RankKind::Dense, RankKind::Ordinal];

fn check(board: &mut Board<MemorySet>, naive: &Naive) {
    let sorted = naive.sorted();
    assert_eq!(board.members().unwrap(), sorted.len() as u64);
    for kind in KINDS {
        check_rows(board, naive, &sorted, kind);
        check_groups(board, naive, &sorted, kind);
    }
    let mut last: Option<&Member> = None;
    for (position, member) in sorted.iter().enumerate() {
        let found = board.find(&member.name).unwrap().expect("the member is there");
        assert_eq!(found.values, member.values);
        assert_eq!(board.position(&found.stored).unwrap(), position as u64);
        assert_eq!(board.rank(&found, RankKind::Ordinal).unwrap(), position as u64 + 1);
        for kind in [RankKind::Competition, RankKind::Dense] {
            assert_eq!(board.rank(&found, kind).unwrap(), naive.rank(&member.values, kind), "{kind:?}");
            assert_eq!(board.rank_for(&member.values, kind).unwrap(), naive.rank(&member.values, kind));
        }
        if let Some(last) = last.filter(|last| last.values != member.values) {
            assert_eq!(board.better_groups(&member.values, Some(&last.values)).unwrap(), 1);
        }
        last = Some(member);
        let worse = sorted.iter().filter(|other| naive.by_fields(&other.values, &member.values).is_gt()).count();
        assert_eq!(board.worse(&member.values).unwrap(), worse as u64);
        check_first_field(board, naive, &sorted, member.values[0]);
        check_points(board, naive, &sorted, member);
    }
    for stranger in 0..12 {
        let there = naive.get(&name(stranger)).is_some();
        assert_eq!(board.find(&name(stranger)).unwrap().is_some(), there);
    }
    check_entries(board, naive);
}

/// Members that do not fit, and only those, have their entries, and there are no others.
fn check_entries(board: &mut Board<MemorySet>, naive: &Naive) {
    if !board.schema().layout.is_coded() {
        return;
    }
    let is_entry = |element: &[u8]| split_entry(element).is_some();
    let all = board.set().elements().to_vec();
    let mut expected: Vec<(f64, Vec<u8>)> = Vec::new();
    let mut overflow = 0;
    for (score, element) in all.iter().filter(|(score, element)| *score > -4.0 || !is_entry(element)) {
        let Some((tail, name)) = split_wrapped(element) else {
            assert!(
                element.starts_with(MARKER_START) || !matches!(element.first(), Some(0..=2)),
                "{element:?} {score}"
            );
            continue;
        };
        expected.extend(entry_scores(tail).map(|(number, score)| (score, [&[1, number], name].concat())));
        overflow += 1;
        assert!(naive.get(name).is_some());
    }
    expected.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let entries: Vec<_> = all.iter().filter(|(score, element)| *score <= -4.0 && is_entry(element)).cloned().collect();
    assert_eq!(entries, expected, "no entry too many and none too few");
    assert_eq!(board.overflow().unwrap(), overflow);
}

fn check_rows(board: &mut Board<MemorySet>, naive: &Naive, sorted: &[Member], kind: RankKind) {
    for first in 0..=sorted.len() {
        let shown = |rows: Vec<Row>| -> Vec<_> {
            rows.iter().map(|row| (row.rank, row.member().to_vec(), row.values.clone(), row.time)).collect()
        };
        let rows = shown(board.rows(first as u64, 3, kind).unwrap());
        let is_timed = naive.rules.ties != Ties::Shared;
        let expected: Vec<_> = sorted
            .iter()
            .enumerate()
            .skip(first)
            .take(3)
            .map(|(i, member)| {
                let rank = if kind == RankKind::Ordinal { i as u64 + 1 } else { naive.rank(&member.values, kind) };
                (rank, member.name.clone(), member.values.clone(), is_timed.then(|| member.time * naive.unit_ms()))
            })
            .collect();
        assert_eq!(rows, expected, "{kind:?} from {first}");
        // The same rows, found from members before, at and behind the first of them.
        for (position, member) in sorted.iter().enumerate() {
            let found = board.find(&member.name).unwrap().unwrap();
            let rows = shown(board.rows_near((&found, position as u64), first as u64, 3, kind).unwrap());
            assert_eq!(rows, expected, "{kind:?} from {first} near {position}");
        }
    }
}

fn check_groups(board: &mut Board<MemorySet>, naive: &Naive, sorted: &[Member], kind: RankKind) {
    let mut expected: Vec<(u64, Vec<Vec<u8>>)> = Vec::new();
    for group in sorted.chunk_by(|a, b| a.values == b.values) {
        let first = sorted.iter().position(|member| member.name == group[0].name).unwrap() as u64;
        let rank = if kind == RankKind::Ordinal { first + 1 } else { naive.rank(&group[0].values, kind) };
        let mut names: Vec<Vec<u8>> = group.iter().map(|member| member.name.clone()).collect();
        if naive.rules.ties == Ties::Shared {
            names.sort();
        }
        let found = board.find(&group[0].name).unwrap().unwrap();
        let positions = board.group_positions(&found).unwrap();
        assert_eq!(positions, (first, first + group.len() as u64));
        let listed = board.group_names(positions, 1, 2, rank).unwrap();
        let listed: Vec<Vec<u8>> = listed.names().map(<[u8]>::to_vec).collect();
        assert_eq!(listed, names.iter().skip(1).take(2).cloned().collect::<Vec<_>>());
        expected.push((rank, names));
    }
    for skipped in 0..=expected.len() as u64 {
        let first = board.skip_groups(0, skipped).unwrap();
        let end = board.skip_groups(first, 2).unwrap();
        let mut groups: Vec<(u64, Vec<Vec<u8>>)> = Vec::new();
        let mut note = |group: &Group| groups.push((group.rank, group.names().map(<[u8]>::to_vec).collect()));
        board.groups(first, end, skipped, kind, &mut note).unwrap();
        let expected: Vec<_> = expected.iter().skip(skipped as usize).take(2).cloned().collect();
        assert_eq!(groups, expected, "{kind:?} behind {skipped} groups");
    }
}

fn check_first_field(board: &mut Board<MemorySet>, naive: &Naive, sorted: &[Member], value: Value) {
    for (exclude_min, exclude_max) in [(false, false), (true, false), (false, true)] {
        let infinite = |sign: f64| FieldBound::new(Value::Float(sign * f64::INFINITY), false);
        let from = FieldBound::new(value, exclude_min);
        let to = FieldBound::new(value, exclude_max);
        for (min, max) in [(from, infinite(1.0)), (infinite(-1.0), to), (from, to)] {
            let inside = |member: &&Member| {
                let low = match min.value {
                    Value::Float(f64::NEG_INFINITY) if !min.exclusive => true,
                    bound => {
                        let order = member.values[0].compare(bound);
                        order.is_gt() || order.is_eq() && !min.exclusive
                    }
                };
                let high = match max.value {
                    Value::Float(f64::INFINITY) if !max.exclusive => true,
                    bound => {
                        let order = member.values[0].compare(bound);
                        order.is_lt() || order.is_eq() && !max.exclusive
                    }
                };
                low && high
            };
            let (first, end) = board.first_field_positions(min, max).unwrap();
            let got: Vec<&Member> = sorted.iter().skip(first as usize).take((end - first) as usize).collect();
            let expected: Vec<&Member> = sorted.iter().filter(inside).collect();
            assert_eq!(got, expected, "{min:?} {max:?} {}", naive.rules);
        }
    }
}

/// Does the same to both, and compares all that can be asked of them.
pub(super) fn apply(op: Op, board: &mut Board<MemorySet>, naive: &mut Naive, values: impl Fn(&[u64]) -> Tuple) {
    match op {
        Op::Set { name: index, seeds, kept, condition, update, keep, at } => {
            let write =
                WriteRequest { condition, update, keep, now: EPOCH + at, report: ReportLevel::Ranks, ..PLAIN_WRITE };
            // Not all fields can be kept.
            let kept = kept & ((1 << (naive.rules.fields.len() - 1)) - 1);
            let pair = Pair { kept, ..Pair::new(values(&seeds), name(index)) };
            let before = naive.get(&name(index)).map(|member| member.values.clone());
            let old = before.clone().unwrap_or_else(|| board.schema().origin());
            let is_kept = |i: usize| kept >> i & 1 == 1;
            let merged: Tuple =
                pair.values.iter().enumerate().map(|(i, new)| if is_kept(i) { old[i] } else { *new }).collect();
            let written = board.write(&write, &[pair]).unwrap();
            let expected = naive.set(&name(index), &merged, &write);
            assert_eq!((written.added, written.changed, written.refused), expected);
            let MemberChange { before: had, after } = written.changes[0].clone();
            assert_eq!(had.map(|shown| shown.values), before);
            assert_eq!(after.map(|shown| shown.values), naive.get(&name(index)).map(|it| it.values.clone()));
        }
        Op::Remove(index) => {
            let there = naive.get(&name(index)).is_some();
            let found = board.prepare_removal(&[name(index)]).unwrap();
            assert_eq!(board.commit_removal(&found), u64::from(there));
            naive.members.retain(|member| member.name != name(index));
        }
        Op::Trim(keep) => {
            let mut kept = naive.sorted();
            let left = kept.split_off((keep as usize).min(kept.len()));
            let (count, elements) = board.trim(keep, true).unwrap();
            let names: Vec<_> = elements.iter().map(|member| member.name().to_vec()).collect();
            assert_eq!(count, left.len() as u64);
            assert_eq!(names, left.into_iter().map(|member| member.name).collect::<Vec<_>>());
            naive.members = kept;
        }
        Op::Clear => {
            assert_eq!(board.clear(EPOCH).unwrap(), naive.members.len() as u64);
            naive.members.clear();
        }
    }
    // As a read opens it, which counts what the write took from the size.
    check(&mut Board::open(board.set().clone()).unwrap(), naive);
}

pub(super) const PLAIN_WRITE: WriteRequest = WriteRequest {
    mode: WriteMode::Set,
    condition: Condition::Any,
    update: Update::Set,
    keep: None,
    now: EPOCH,
    report: ReportLevel::Nothing,
    names_removed: true,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn boards_agree_with_the_naive_one(rules in rules(), ops in prop::collection::vec(op(), 1..40)) {
        let mut board = Board::open(MemorySet::default()).unwrap();
        create(&mut board, &rules);
        let mut naive = Naive { rules: rules.clone(), members: Vec::new() };
        for op in ops {
            let values = |seeds: &[u64]| rules.fields.iter().zip(seeds).map(|(field, seed)| value(field.kind, *seed)).collect();
            apply(op, &mut board, &mut naive, values);
        }
    }

    /// Whatever a core command does to a board: no command answers wrongly about a member that it finds, and a
    /// repair leaves a sound board.
    #[test]
    fn damage_is_met_and_repaired(rules in rules(), ops in prop::collection::vec(op(), 1..20),
                                  strays in prop::collection::vec((any::<u64>(), 0_u8..12, 0_u8..6), 1..4)) {
        let mut board = Board::open(MemorySet::default()).unwrap();
        create(&mut board, &rules);
        let mut naive = Naive { rules: rules.clone(), members: Vec::new() };
        for op in ops {
            let values = |seeds: &[u64]| rules.fields.iter().zip(seeds).map(|(field, seed)| value(field.kind, *seed)).collect();
            apply(op, &mut board, &mut naive, values);
        }
        let mut store = board.into_set();
        for (seed, index, what) in strays {
            let elements = store.elements().to_vec();
            let picked = elements.get(seed as usize % elements.len().max(1)).cloned().unwrap_or_default();
            match what {
                0 => store.insert(seed as f64, &name(index)),
                1 => store.insert(f64::NEG_INFINITY, &name(index)),
                2 => { store.remove(&picked.1); }
                3 => store.insert(seed as f64, &picked.1),
                4 => store.insert(seed as f64, b""),
                _ => store.insert(picked.0, &[&picked.1, name(index).as_slice()].concat()),
            }
        }
        let before = store.elements().to_vec();
        // A lost marker is another matter: without it nobody knows what the sorted set was.
        let marked = before.iter().any(|(score, name)| *score == f64::NEG_INFINITY && name.starts_with(MARKER_START));
        prop_assume!(marked);
        for index in 0..12 {
            let Ok(mut board) = Board::open(store.clone()) else { continue };
            let values: Tuple = rules.fields.iter().map(|field| value(field.kind, 5)).collect();
            if board.write(&WriteRequest { keep: Some(3), ..PLAIN_WRITE }, &[Pair::new(values.clone(), name(index)), Pair::new(values, name(3))]).is_err() {
                prop_assert_eq!(board.set().elements(), before.as_slice(), "an error that wrote");
            }
        }
        let Ok(mut board) = Board::open_damaged(store) else { return Ok(()) };
        for _ in 0..3 {
            board.verify(0, u64::MAX, true, || false).unwrap();
        }
        let mut board = Board::open_damaged(board.into_set()).unwrap();
        let report = board.verify(0, u64::MAX, false, || false).unwrap();
        prop_assert_eq!((report.missing, report.orphaned, report.duplicated), (0, 0, 0), "{:?}", board.set().elements());
        let sound = Board::open(board.into_set());
        prop_assert!(sound.is_ok());
        let mut sound = sound.unwrap();
        if report.undecodable == 0 {
            let members = sound.members();
            prop_assert!(members.is_ok(), "{:?}", members);
            for row in sound.rows(0, u64::MAX, RankKind::Ordinal).unwrap() {
                let found = sound.find(&row.member().to_vec()).unwrap();
                prop_assert!(found.is_some_and(|found| found.values == row.values));
            }
        }
    }

    /// Sorted sets without a schema, with infinite scores, attributes or not, read from either end.
    #[test]
    fn plain_sets_are_boards(scores in prop::collection::vec(0_usize..6, 0..12), order in order()) {
        let infinities = [f64::NEG_INFINITY, -1.5, 0.0, 7.0, f64::MAX, f64::INFINITY];
        let mut model = MemorySet::default();
        let mut rules = Rules::implicit();
        rules.fields[0].order = order;
        let mut naive = Naive { rules, members: Vec::new() };
        for (i, score) in scores.into_iter().enumerate() {
            let (name, score) = (name(i as u8), infinities[score]);
            model.insert(score, &name);
            naive.members.push(Member { name, values: Tuple::from_slice(&[Value::Float(score)]), time: 0 });
        }
        let mut board = Board::open(model).unwrap();
        board.read_from(order).unwrap();
        check(&mut board, &naive);
        let keep = naive.members.len() as u64 / 2;
        board.trim(keep, false).unwrap();
        let mut kept = naive.sorted();
        kept.truncate(keep as usize);
        naive.members = kept;
        let mut board = Board::open(board.into_set()).unwrap();
        board.read_from(order).unwrap();
        check(&mut board, &naive);
    }

    #[test]
    fn schemas_read_back(rules in rules(), keep in prop::option::of(1_u64..1000), best in any::<bool>(),
                         data in prop::option::of((any::<Vec<u8>>(), prop::option::of(any::<Vec<u8>>())))) {
        let data = data.map(|(hash, owner)| DataHash { hash, owner });
        let rules = Rules { keep, update: if best { Update::Best } else { Update::Set }, data, ..rules };
        let text = rules.to_string();
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        prop_assert_eq!(Rules::parse(&words).unwrap(), rules);
    }
}

#[test]
fn layouts_follow_from_the_schema() {
    let cases = [
        ("ASC", "plain"),
        ("FIELD a FLOAT", "plain"),
        ("FIELD a FLOAT TIES FIRST", "coded"),
        ("FIELD a FLOAT FIELD b FLOAT", "coded"),
        ("FIELD a INT", "coded"),
        ("FIELD a BITS 20 FIELD b BITS 20 FIELD c BITS 13", "packed"),
        ("FIELD a BITS 20 FIELD b BITS 20 FIELD c BITS 14", "coded"),
        ("FIELD a BITS 62", "coded"),
        ("FIELD a DIGITS 3 FIELD b DIGITS 3 FIELD c DIGITS 3", "packed"),
        ("FIELD a BITS 1 TIES FIRST", "coded"),
        ("FIELD a RANGE -9007199254740992 9007199254740992", "packed"),
        ("FIELD a RANGE -9007199254740993 0", "coded"),
        ("FIELD a RANGE 9007199254740993 9007199254740994", "coded"),
        ("FIELD a RANGE -1 1 FIELD b INT", "coded"),
    ];
    for (text, layout) in cases {
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        assert_eq!(Schema::new(Rules::parse(&words).unwrap()).layout.name(), layout, "{text}");
    }
}

#[test]
fn medals_are_readable() {
    let words: Vec<&[u8]> =
        "FIELD gold DIGITS 3 FIELD silver DIGITS 3 FIELD bronze DIGITS 3".split(' ').map(str::as_bytes).collect();
    let schema = Schema::new(Rules::parse(&words).unwrap());
    let values = [46, 37, 38].map(Value::Integer);
    assert_eq!(schema.layout.encode(&values, 0, 0).score, 46_037_038.0);
}

#[test]
fn markers_are_found_read_and_refused() {
    let cases: [(&[u8], bool); 14] = [
        (b"\0rank 2 FIELD a DESC INT", true),
        (b"\0rank 2 FIELD a DESC INT DATA a%20b OWNED %", true),
        (b"\0rank 2 FIELD a DESC INT DATA a%2", false),
        (b"\0rank 2 FIELD a DESC INT DATA SINCE", true),
        (b"\0rank 2 FIELD a DESC INT TIES FIRST SINCE 1", true),
        (b"\0rank 2 FIELD a DESC INT TIES FIRST DATA SINCE SINCE 1", true),
        (b"\0rank 2 FIELD a DESC INT TIES FIRST", false),
        (b"\0rank 2 FIELD a DESC INT TIES FIRST SINCE -1", false),
        (b"\0rank 2 FIELD a DESC INT SINCE 1", false),
        (b"\0rank 1 FIELD a DESC INT", false),
        (b"\0rank 3 FIELD a DESC INT", false),
        (b"\0rank 2 FIELD a DESC HUGE", false),
        (b"\0rank 2", false),
        (b"\0rank ", false),
    ];
    for (marker, valid) in cases {
        let mut model = MemorySet::default();
        model.insert(f64::NEG_INFINITY, marker);
        let board = Board::open(model);
        assert_eq!(board.is_ok(), valid, "{}", marker.escape_ascii());
    }
}

#[test]
fn a_marker_is_the_first_element_or_the_board_is_damaged() {
    let marker = b"\0rank 2 FIELD a DESC DIGITS 3";
    let open_model = |model: MemorySet| Board::open(model).map(|board| board.schema().explicit);
    let open = |elements: &[&[u8]]| {
        let mut model = MemorySet::default();
        elements.iter().for_each(|element| model.insert(f64::NEG_INFINITY, element));
        open_model(model)
    };
    assert_eq!(open(&[marker]), Ok(true));
    assert_eq!(open(&[b"a", b"b"]), Ok(false));
    assert_eq!(open(&[b"", marker]), Err(Error::marker_behind()));
    assert_eq!(open(&[marker, b"z"]), Err(Error::stray_element()));
    // Entries without a marker are damage only if they lead to a member.
    let mut board = Board::open(MemorySet::default()).unwrap();
    create(&mut board, &Rules::integers(2).unwrap());
    let values = Tuple::from_slice(&[Value::Integer(i64::MAX), Value::Integer(i64::MIN)]);
    board.write(&PLAIN_WRITE, &[Pair::new(values, b"ann".to_vec())]).unwrap();
    let elements = board.set().elements().to_vec();
    let without = |gone: &dyn Fn(&[u8]) -> bool| {
        let mut model = MemorySet::default();
        elements
            .iter()
            .filter(|(_, element)| !gone(element))
            .for_each(|(score, element)| model.insert(*score, element));
        open_model(model)
    };
    let is_marker = |element: &[u8]| element.starts_with(MARKER_START);
    assert_eq!(without(&|_| false), Ok(true));
    assert_eq!(without(&|element| is_marker(element)), Err(Error::marker_lost()));
    assert_eq!(without(&|element| is_marker(element) || element.starts_with(b"\x02")), Ok(false));
    assert_eq!(without(&|element| is_marker(element) || element.starts_with(b"\x01\0")), Ok(false));
    // Not further than seventeen elements are looked at.
    let names: Vec<Vec<u8>> = (0..17).map(|i| vec![0, b'a' + i]).collect();
    let mut elements: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    elements.push(marker);
    assert_eq!(open(&elements), Ok(false));
    elements.remove(0);
    assert_eq!(open(&elements), Err(Error::marker_behind()));
}
