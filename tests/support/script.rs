//! Tests as scripts: what one types, and what the server answers.

use redis::Connection;

use super::*;

/// Runs each line `command => reply`, the reply as [`show`] renders it; what starts with `#` is a
/// remark. Tells about every line that differs, not only about the first.
#[track_caller]
pub fn script(con: &mut Connection, text: &str) {
    let mut differences = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (command, expected) = line.rsplit_once(" => ").unwrap_or_else(|| panic!("a line without a reply: {line}"));
        let got = reply(con, command.trim());
        if got != expected.trim() {
            differences += &format!("\n command: {}\n     got: {got}\nexpected: {}\n", command.trim(), expected.trim());
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Numbers that look random and are the same in every run: a failure can be repeated.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// 0 … `sides` − 1.
    pub fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.bits() % sides as u64).expect("less than a usize")
    }

    /// SplitMix64.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }

    /// True once in `sides` times.
    pub fn once_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}
