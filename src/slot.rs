//! Where a Redis Cluster keeps a key.

const SLOTS: u16 = 16384;

/// The key's slot: CRC16 of its hash tag, or of all of it.
pub fn slot_of(key: &[u8]) -> u16 {
    crc16(hash_tag(key).unwrap_or(key)) % SLOTS
}

/// The slot of every key that begins with this prefix and has no braces behind it; `None` if they are in several.
pub fn slot_of_all(prefix: &[u8]) -> Option<u16> {
    hash_tag(prefix).map(|tag| crc16(tag) % SLOTS)
}

/// What is between the first `{` and the first `}` after it, if that is not empty.
fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let rest = key.get(open + 1..)?;
    let length = rest.iter().position(|byte| *byte == b'}')?;
    rest.get(..length).filter(|tag| !tag.is_empty())
}

/// CRC16 as XMODEM has it: polynomial 0x1021, most significant bit first, starting from 0.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(
            crc ^ u16::from(*byte) << 8,
            |crc: u16, _| {
                if crc & 0x8000 == 0 {
                    crc << 1
                } else {
                    crc << 1 ^ 0x1021
                }
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `CLUSTER KEYSLOT` answers.
    #[test]
    fn slots() {
        let cases = [("", 0), ("123456789", 0x31C3), ("foo", 12182), ("{foo}bar", 12182), ("a{foo}{bar}", 12182)];
        for (key, slot) in cases {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
        assert_eq!(slot_of(b"{}foo"), crc16(b"{}foo") % SLOTS);
        assert_eq!(slot_of(b"foo{"), crc16(b"foo{") % SLOTS);
        assert_eq!(slot_of_all(b"{foo}:day:"), Some(12182));
        assert_eq!([slot_of_all(b"foo"), slot_of_all(b"{foo"), slot_of_all(b"{}foo")], [None; 3]);
    }
}
