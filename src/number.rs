//! The only parser and printer of the numbers that clients write and read. It accepts and prints what the core does,
//! where Rust's own would not: no hexadecimal, no `nan`, and doubles as the core prints them.

#[cfg(test)]
mod tests;

/// An optional sign and decimal digits; leading zeros are fine. `None` also when the number does not fit.
///
/// Not by the standard library, which takes text: checking for UTF-8 first made `RATE.CHECK`, which reads four integers,
/// 2.5 % slower.
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = split_sign(text);
    digits.first()?;
    // As a negative number, because these reach one further.
    let mut value = 0_i64;
    for byte in digits {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value = value.checked_mul(10)?.checked_sub(digit.into())?;
    }
    if is_negative {
        Some(value)
    } else {
        value.checked_neg()
    }
}

/// Whether there is a minus, and what follows the sign.
fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
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
        let digit = char::from(*byte).to_digit(10)?;
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
