//! Numbers as clients write and read them: the one parser and the one printer.

/// So many decimal digits are an i64 whatever they are.
const DIGITS_THAT_FIT: usize = 18;

/// An optional sign and decimal digits; leading zeros are fine. `None` also when it does not fit.
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    if digits.len() <= DIGITS_THAT_FIT {
        for byte in digits {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        }
        return Some(if negative { -value } else { value });
    }
    // Counting down from zero reaches i64::MIN, counting up would not.
    for byte in digits {
        let digit = i64::from(byte.checked_sub(b'0').filter(|digit| *digit <= 9)?);
        value = value.checked_mul(10)?;
        value = if negative { value.checked_sub(digit)? } else { value.checked_add(digit)? };
    }
    Some(value)
}

/// A few digits and nothing else.
fn short_integer(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    let mut value: u32 = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(u32::from(digit));
    }
    Some(value)
}

/// A finite double in decimal or exponent notation, never -0.
pub fn parse_finite(text: &[u8]) -> Option<f64> {
    // Short integers are most of what arrives, and need no general parser.
    if let Some(integer) = short_integer(text) {
        return Some(integer as f64);
    }
    if text.len() <= DIGITS_THAT_FIT {
        if let Some(integer) = parse_integer(text) {
            return Some(integer as f64);
        }
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
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let exponent_at = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = match exponent_at {
        Some(at) => (text.get(..at)?, parse_integer(text.get(at + 1..)?)?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
        None => (mantissa, &[][..]),
    };
    // So many digits are in front of the point.
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let mut value: i128 = 0;
    let mut is_whole = true;
    for (place, byte) in (0_i64..).zip(whole.iter().chain(fraction)) {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        if place < point {
            value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
        } else {
            is_whole &= digit == 0;
        }
    }
    let digits = i64::try_from(whole.len() + fraction.len()).ok()?;
    if value != 0 {
        // Zeros that only the exponent knows of.
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

/// Integers up to here are doubles without a gap.
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

/// `FloatText` for where speed plays no part.
pub fn float_text(value: f64) -> String {
    FloatText::new().print(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        let cases: [(&str, Option<i64>); 14] = [
            ("0", Some(0)),
            ("007", Some(7)),
            ("+5", Some(5)),
            ("-5", Some(-5)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("00009223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("", None),
            ("-", None),
            ("1.0", None),
            ("0x10", None),
            (" 1", None),
        ];
        for (text, value) in cases {
            assert_eq!(parse_integer(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn floats() {
        let cases: [(&str, Option<f64>); 22] = [
            ("100", Some(100.0)),
            ("0100", Some(100.0)),
            ("-0", Some(0.0)),
            ("-0.0", Some(0.0)),
            ("1e3", Some(1000.0)),
            ("1E+3", Some(1000.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1e-400", Some(0.0)),
            ("4.9e-324", Some(5e-324)),
            ("1.7976931348623157e308", Some(f64::MAX)),
            ("9007199254740993", Some(9007199254740992.0)),
            ("1e400", None),
            ("nan", None),
            ("inf", None),
            ("infinity", None),
            ("0x10", None),
            ("1e", None),
            ("", None),
            (" 1", None),
            ("1 ", None),
            ("--1", None),
        ];
        for (text, value) in cases {
            let got = parse_finite(text.as_bytes());
            assert_eq!(got.map(f64::to_bits), value.map(f64::to_bits), "{text}");
        }
        assert_eq!(parse_extended(b"+Inf"), Some(f64::INFINITY));
        assert_eq!(parse_extended(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_extended(b"infinity"), None);
    }

    #[test]
    fn rounded_down() {
        let cases: [(&str, Option<(i128, bool)>); 18] = [
            ("9007199254740993.0", Some((9_007_199_254_740_993, true))),
            ("9007199254740993.5", Some((9_007_199_254_740_993, false))),
            ("-9007199254740993.5", Some((-9_007_199_254_740_994, false))),
            ("9.007199254740993e15", Some((9_007_199_254_740_993, true))),
            ("9.007199254740993E+15", Some((9_007_199_254_740_993, true))),
            ("90071992547409935e-1", Some((9_007_199_254_740_993, false))),
            ("1e3", Some((1000, true))),
            ("1.25e1", Some((12, false))),
            ("-1.25e1", Some((-13, false))),
            ("-0.5", Some((-1, false))),
            (".5", Some((0, false))),
            ("5.", Some((5, true))),
            ("1e-400", Some((0, false))),
            ("0e99999", Some((0, true))),
            ("1e40", None),
            ("inf", None),
            ("1e", None),
            ("1.2.3", None),
        ];
        for (text, value) in cases {
            assert_eq!(floor_of_decimal(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn printed() {
        let cases = [
            (100.0, "100"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (1e300, "1e+300"),
            (1e-7, "1e-7"),
            (1.5, "1.5"),
            (123456.789012345, "123456.789012345"),
            (9007199254740993.0, "9007199254740992"),
            (1e17, "100000000000000000"),
            (1e21, "1e+21"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in cases {
            assert_eq!(float_text(value), text);
        }
    }
}
