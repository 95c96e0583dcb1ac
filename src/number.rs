//! The only parser and printer of the numbers that clients write and read.

#[cfg(test)]
mod tests;

/// Below this, one more digit fits 64 bits.
const ROOM_FOR_A_DIGIT: u64 = 1_000_000_000_000_000_000;

/// Any number with this many decimal digits fits an i64.
const DIGITS_THAT_FIT: usize = 18;

fn digit(byte: &u8) -> Option<u8> {
    Some(byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9)
}

fn leading_digit(text: &[u8]) -> Option<(u8, &[u8])> {
    let (first, rest) = text.split_first()?;
    Some((digit(first)?, rest))
}

/// Parses eight digits at once: first pairs of digits (ten times the first, plus the second), then pairs of pairs, then
/// the two halves.
fn leading_eight_digits(text: &[u8]) -> Option<(u64, &[u8])> {
    const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    /// What lifts a byte over '9' to 0x80.
    const OVER_NINE: u64 = u64::from_le_bytes([0x7F - b'9'; 8]);
    let (eight, rest) = text.split_first_chunk()?;
    let bytes = u64::from_le_bytes(*eight);
    let digits = bytes.wrapping_sub(ZEROS);
    if (digits | bytes.wrapping_add(OVER_NINE) | bytes) & HIGH_BITS != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF, rest))
}

/// The decimal number that a text begins with, and what follows it; leading zeros are fine. `None` if it begins with
/// something else, or the number does not fit.
pub fn leading_number(text: &[u8]) -> Option<(u128, &[u8])> {
    let mut value: u64 = 0;
    let mut rest = text;
    // Limiters store long numbers. Twice eight digits leave room for more.
    for _ in 0..2 {
        let Some((eight, after)) = leading_eight_digits(rest) else { break };
        value = value.wrapping_mul(100_000_000).wrapping_add(eight);
        rest = after;
    }
    while let (true, Some((digit, after))) = (value < ROOM_FOR_A_DIGIT, leading_digit(rest)) {
        value = value.wrapping_mul(10).wrapping_add(digit.into());
        rest = after;
    }
    let mut value = u128::from(value);
    while let Some((digit, after)) = leading_digit(rest) {
        value = value.checked_mul(10)?.checked_add(digit.into())?;
        rest = after;
    }
    (rest.len() < text.len()).then_some((value, rest))
}

/// Whether there is a minus, and what follows the sign.
fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// An optional sign and decimal digits; leading zeros are fine. `None` also when the number does not fit.
#[inline]
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if (1..=DIGITS_THAT_FIT).contains(&digits.len()) {
        // A plain loop is the quickest for the few digits of most scores.
        let mut value: i64 = 0;
        for byte in digits {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        }
        return Some(if negative { -value } else { value });
    }
    parse_long_integer(negative, digits)
}

/// More digits than are sure to fit, or none.
#[cold]
fn parse_long_integer(negative: bool, digits: &[u8]) -> Option<i64> {
    let (value, rest) = leading_number(digits)?;
    if !rest.is_empty() {
        return None;
    }
    if negative {
        return 0_i64.checked_sub_unsigned(u64::try_from(value).ok()?);
    }
    i64::try_from(value).ok()
}

/// A finite double in decimal or exponent notation, never -0.
pub fn parse_finite(text: &[u8]) -> Option<f64> {
    // Most scores are integers, which need no general parser.
    if let Some(integer) = parse_integer(text) {
        return Some(integer as f64);
    }
    // Rust's parser also takes "nan", "inf" and "infinity"; it takes no hexadecimal.
    if !text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_finite().then_some(value + 0.0)
}

/// A decimal number, maybe with a fraction and an exponent, rounded down, and whether it was whole. `None` for anything
/// else, and for what is far beyond 64 bits.
pub fn floor_of_decimal(text: &[u8]) -> Option<(i128, bool)> {
    let (negative, text) = split_sign(text);
    let exponent_at = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = match exponent_at {
        Some(at) => (text.get(..at)?, parse_integer(text.get(at + 1..)?)?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
        None => (mantissa, &[][..]),
    };
    // The number of digits before the point.
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let mut value: i128 = 0;
    let mut is_whole = true;
    for (place, byte) in (0_i64..).zip(whole.iter().chain(fraction)) {
        let digit = digit(byte)?;
        if place < point {
            value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
        } else {
            is_whole &= digit == 0;
        }
    }
    let digits = i64::try_from(whole.len() + fraction.len()).ok()?;
    if value != 0 {
        // Zeros that the exponent adds.
        value = value.checked_mul(10_i128.checked_pow(u32::try_from(point.saturating_sub(digits).max(0)).ok()?)?)?;
    }
    Some((if negative { -value - i128::from(!is_whole) } else { value }, is_whole))
}

/// Like `parse_finite`, and `inf`, `+inf`, `-inf` as sorted sets take them.
pub fn parse_extended(text: &[u8]) -> Option<f64> {
    parse_finite(text).or_else(|| match text.to_ascii_lowercase().as_slice() {
        b"inf" | b"+inf" => Some(f64::INFINITY),
        b"-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    })
}

/// Every integer up to this one is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Room for one printed double; keep it outside of loops.
#[derive(Default)]
pub struct FloatText {
    integers: itoa::Buffer,
    floats: ryu_js::Buffer,
}

impl FloatText {
    /// Nothing is printed yet.
    pub fn new() -> FloatText {
        FloatText::default()
    }

    /// The shortest text that reads back equal, in JavaScript's notation (`100`, `0.1`, `1e+300`), with Redis's infinities.
    pub fn print(&mut self, value: f64) -> &str {
        if value.is_infinite() {
            return if value > 0.0 { "inf" } else { "-inf" };
        }
        let truncated = value as i64;
        if truncated as f64 == value && value.abs() < EXACT {
            return self.integers.format(truncated);
        }
        self.floats.format(value)
    }
}

/// `FloatText` where speed does not matter.
pub fn float_text(value: f64) -> String {
    FloatText::new().print(value).to_owned()
}
