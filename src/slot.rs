//! The hash slot of a key in Redis Cluster.

/// How many slots a cluster has.
pub const SLOTS: u16 = 16384;

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

/// The slot of a hash tag that is this number in decimal digits.
pub const fn slot_of_tag(number: u16) -> u16 {
    let mut divisor = 10_000;
    while divisor > 1 && number / divisor == 0 {
        divisor /= 10;
    }
    let mut crc = 0;
    while divisor > 0 {
        crc = next(crc, b'0' + (number / divisor % 10) as u8);
        divisor /= 10;
    }
    crc % SLOTS
}

/// CRC16 as XMODEM has it: polynomial 0x1021, most significant bit first, starting from 0.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| next(crc, *byte))
}

const fn next(crc: u16, byte: u8) -> u16 {
    crc << 8 ^ TABLE[(crc >> 8) as usize ^ byte as usize]
}

/// What eight steps of the division make of each leading byte.
static TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests;
