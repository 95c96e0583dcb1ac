//! Names of companion keys.

use smallvec::SmallVec;

use super::store::Part;

pub type CompanionKey = SmallVec<[u8; 64]>;

/// What stands before a member's name in a companion, so that no member can take the place of `ID_ENTRY`.
pub const MEMBER_ENTRY: u8 = b':';
pub const ID_ENTRY: &[u8] = b"id";

impl Part {
    pub const ALL: [Part; 2] = [Part::Members, Part::Data];

    pub fn name(self) -> &'static str {
        match self {
            Part::Members => "members",
            Part::Data => "data",
        }
    }

    /// What the keys of this part start with.
    fn prefix(self) -> &'static [u8] {
        match self {
            Part::Members => b"rank:members:",
            Part::Data => b"rank:data:",
        }
    }

    /// The companion's key, in the board's slot; `None` where no such name exists.
    ///
    /// Two forms, so that the boards `a` and `{a}` never share one.
    pub fn key(self, board: &[u8]) -> Option<CompanionKey> {
        let mut key = CompanionKey::from_slice(self.prefix());
        if !board.is_empty() && !board.contains(&b'}') {
            key.push(b'{');
            key.extend_from_slice(board);
            key.push(b'}');
        } else if has_hash_tag(board) {
            key.push(b':');
            key.extend_from_slice(board);
        } else {
            return None;
        }
        Some(key)
    }

    /// The board that a companion's key belongs to.
    pub fn board_of(companion: &[u8]) -> Option<&[u8]> {
        Part::ALL.iter().find_map(|part| {
            let name = companion.strip_prefix(part.prefix())?;
            let board = match name {
                [b'{', board @ .., b'}'] if !board.contains(&b'}') => board,
                [b':', board @ ..] => board,
                _ => return None,
            };
            (part.key(board).as_deref() == Some(companion)).then_some(board)
        })
    }
}

/// The cluster's rule: something stands between the first `{` and the first `}` after it.
fn has_hash_tag(key: &[u8]) -> bool {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else { return false };
    key.iter().skip(open + 1).position(|byte| *byte == b'}').is_some_and(|length| length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let cases: [(&str, Option<&str>); 10] = [
            ("a", Some("rank:members:{a}")),
            ("{a}", Some("rank:members::{a}")),
            ("x{a}y", Some("rank:members::x{a}y")),
            ("a{b", Some("rank:members:{a{b}")),
            ("", None),
            ("a}b", None),
            ("{}x", None),
            ("{}{a}", None),
            ("}{a}", Some("rank:members::}{a}")),
            ("{a", Some("rank:members:{{a}")),
        ];
        for (board, key) in cases {
            let got = Part::Members.key(board.as_bytes());
            assert_eq!(got.as_deref(), key.map(str::as_bytes), "{board}");
            assert_eq!(key.and_then(|key| Part::board_of(key.as_bytes())), key.map(|_| board.as_bytes()));
        }
        for stranger in ["rank:members:", "rank:members:a", "rank:members::a", "rank:other:{a}", "rank:data:{a}b"] {
            assert_eq!(Part::board_of(stranger.as_bytes()), None, "{stranger}");
        }
        assert_eq!(Part::Data.key(b"a").as_deref(), Some(&b"rank:data:{a}"[..]));
    }
}
