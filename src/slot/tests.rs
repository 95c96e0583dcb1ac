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
    for number in 0..=u16::MAX {
        assert_eq!(slot_of_tag(number), slot_of(number.to_string().as_bytes()), "{number}");
    }
}
