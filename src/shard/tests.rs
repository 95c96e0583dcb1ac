use super::*;
use crate::slot::slot_of;

fn counts() -> impl Iterator<Item = Count> {
    (1..=10).filter_map(|power| Count::new(1 << power))
}

#[test]
fn counts_are_powers_of_two() {
    let taken: Vec<i64> = (-3000..3000).filter(|count| Count::new(*count).is_some()).collect();
    assert_eq!(taken, [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
}

/// Finds the tag as the rule says, by trying one number after the other.
#[test]
fn tags_are_the_smallest_numbers_in_their_part() {
    for count in counts() {
        let width = SLOTS / count.get();
        for shard in count.shards() {
            let part = shard.index() * width..(shard.index() + 1) * width;
            let smallest = (0_u32..).find(|number| part.contains(&slot_of(number.to_string().as_bytes())));
            assert_eq!(Some(u32::from(shard.tag())), smallest, "{shard:?}");
            assert!(part.contains(&slot_of(&shard.key(b"game"))), "{shard:?}");
        }
    }
}

#[test]
fn keys_and_names() {
    let shard = Count::new(16).and_then(|count| count.shard(5)).expect("a shard");
    let key = shard.key(b"a:b");
    assert_eq!(shard.name_in(&key), Some(&b"a:b"[..]));
    assert_eq!(shard.name_in(&shard.key(b"")), Some(&b""[..]));
    let other = Count::new(32).and_then(|count| count.shard(5)).expect("a shard");
    for key in [&b"game"[..], b"", &other.key(b"game"), &shard.key(b"{game}"), &shard.key(b"ga}me")] {
        assert_eq!(shard.name_in(key), None, "{}", key.escape_ascii());
    }
    assert_eq!(Count::new(16).and_then(|count| count.shard(16)), None);
    assert_eq!(Count::new(16).and_then(|count| count.shard(-1)), None);
}

#[test]
fn a_member_belongs_to_one_shard() {
    for count in counts() {
        for number in 0..2000 {
            let member = format!("{{tag}}player:{number}");
            let homes: Vec<Shard> = count.shards().filter(|shard| shard.has(member.as_bytes())).collect();
            assert_eq!(homes, [count.shard_of(member.as_bytes())]);
        }
    }
}
