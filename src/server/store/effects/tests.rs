use super::*;
use crate::server::tests::absent;

/// How many changes each propagated command makes.
fn commands(changes: Vec<(&'static str, Effect<'static>)>) -> Vec<usize> {
    absent::install();
    let mut effects = Effects::default();
    for (key, change) in changes {
        effects.note(&Text::new(key.as_bytes()), change);
    }
    effects.noted.chunk_by(Noted::joins).map(<[_]>::len).collect()
}

fn text(bytes: &[u8]) -> Text<'static> {
    absent::install();
    Text::new(bytes)
}

fn zadd(score: f64) -> Effect<'static> {
    Effect::Zadd(score, text(b"x"), c"zadd")
}

#[test]
fn changes_that_one_command_can_make_are_joined() {
    assert_eq!(commands(vec![("a", zadd(1.0)), ("a", zadd(2.0)), ("b", zadd(3.0))]), [2, 1]);
    assert_eq!(commands(vec![("a", Effect::Zrem(text(b"x"))), ("a", Effect::Zrem(text(b"y")))]), [2]);
    let hset = || Effect::Hset(text(b"f"), text(b"v"));
    assert_eq!(commands(vec![("h", hset()), ("h", hset()), ("h", Effect::Hdel(text(b"f")))]), [2, 1]);
    // The order of changes stays.
    assert_eq!(commands(vec![("a", zadd(1.0)), ("a", Effect::Zrem(text(b"x"))), ("a", zadd(2.0))]), [1, 1, 1]);
    assert_eq!(commands(vec![("a", zadd(1.0)), ("b", zadd(1.0)), ("a", zadd(2.0))]), [1, 1, 1]);
}

#[test]
fn no_other_changes_are_joined() {
    let others: [fn() -> Effect<'static>; 6] = [
        || Effect::Pexpireat(5),
        || Effect::Unlink,
        || Effect::Zremrangebyscore(5),
        || Effect::Set(text(b"v"), 5),
        || Effect::Setrange(5, SmallVec::from_slice(b"v")),
        || Effect::Vanish,
    ];
    for other in others {
        assert_eq!(commands(vec![("a", other()), ("a", other())]), [1, 1], "{:?}", other().command());
    }
}
