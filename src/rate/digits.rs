//! Numbers of string limiters: base 36, in digits and lower-case letters, as `parseInt(text, 36)` of JavaScript and
//! `int(text, 36)` of Python read them. In decimal an allowed call would need half as many bytes more in the AOF.

const BASE: u64 = 36;
const DIGITS: &[u8; BASE as usize] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// 36^12 fits 64 bits, and 36^24 fits 128.
const DIGITS_THAT_FIT: usize = 12;
const HALF: u128 = (BASE as u128).pow(DIGITS_THAT_FIT as u32);

/// The number of 1 to 24 digits at the start of a text, and what follows it; leading zeros are fine.
pub(super) fn leading(text: &[u8]) -> Option<(u128, &[u8])> {
    let (first, rest) = leading_few(text);
    let (more, after) = leading_few(rest);
    let number = match rest.len().saturating_sub(after.len()) {
        0 => first.into(),
        digits => u128::from(first) * u128::from(BASE).pow(u32::try_from(digits).ok()?) + u128::from(more),
    };
    let is_number = after.len() < text.len() && after.first().and_then(digit).is_none();
    is_number.then_some((number, after))
}

/// As many digits as are sure to fit.
fn leading_few(text: &[u8]) -> (u64, &[u8]) {
    let mut value: u64 = 0;
    let mut rest = text;
    for _ in 0..DIGITS_THAT_FIT {
        let Some((digit, after)) = rest.split_first().and_then(|(byte, after)| Some((digit(byte)?, after))) else {
            break;
        };
        value = value.wrapping_mul(BASE).wrapping_add(digit.into());
        rest = after;
    }
    (value, rest)
}

fn digit(byte: &u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'z' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Writes a number over a place, with zeros in front of it. Returns whether it fits.
pub(super) fn fill(place: &mut [u8], number: u128) -> bool {
    match u64::try_from(number) {
        Ok(number) => fill_few(place, number),
        Err(_) => {
            let (high, low) = (number / HALF, number % HALF);
            let (front, back) = place.split_at_mut(place.len().saturating_sub(DIGITS_THAT_FIT));
            let (Ok(high), Ok(low)) = (u64::try_from(high), u64::try_from(low)) else { return false };
            fill_few(front, high) && fill_few(back, low)
        }
    }
}

fn fill_few(place: &mut [u8], mut number: u64) -> bool {
    for byte in place.iter_mut().rev() {
        // The remainder is a digit.
        *byte = DIGITS.get((number % BASE) as usize).copied().unwrap_or(b'0');
        number /= BASE;
    }
    number == 0
}

/// How many digits a number has.
pub(super) fn width(number: u128) -> usize {
    std::iter::successors(Some(number), |rest| Some(rest / u128::from(BASE)).filter(|rest| *rest > 0)).count()
}
