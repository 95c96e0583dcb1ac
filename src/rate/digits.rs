//! Numbers of string limiters: base 36, in digits and lower-case letters, as `parseInt(text, 36)` of JavaScript and
//! `int(text, 36)` of Python read them. In decimal an allowed call would need half as many bytes more in the AOF.

use super::line::LineText;

const BASE: u64 = 36;
const DIGITS: &[u8; BASE as usize] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// 36^12 fits 64 bits.
const DIGITS_THAT_FIT: usize = 12;
const HALF: u128 = (BASE as u128).pow(DIGITS_THAT_FIT as u32);
/// 36^24 fits 128 bits.
const MOST_DIGITS: usize = 24;

/// A number of 1 to 24 digits; leading zeros are fine.
pub(super) fn parse(text: &[u8]) -> Option<u128> {
    if text.is_empty() || text.len() > MOST_DIGITS {
        return None;
    }
    let (head, tail) = text.split_at(text.len().saturating_sub(DIGITS_THAT_FIT));
    let low = parse_few(tail)?;
    if head.is_empty() {
        return Some(u128::from(low));
    }
    Some(u128::from(parse_few(head)?) * HALF + u128::from(low))
}

fn parse_few(text: &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for byte in text {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'z' => byte - b'a' + 10,
            _ => return None,
        };
        value = value.wrapping_mul(BASE).wrapping_add(u64::from(digit));
    }
    Some(value)
}

/// Appends a number in at least so many digits.
pub(super) fn push(text: &mut LineText, number: u128, width: usize) {
    let mut buffer = [b'0'; MOST_DIGITS];
    match u64::try_from(number) {
        Ok(number) => fill(&mut buffer, number),
        Err(_) => {
            let (high, low) = (number / HALF, number % HALF);
            let (front, back) = buffer.split_at_mut(MOST_DIGITS - DIGITS_THAT_FIT);
            fill(front, u64::try_from(high).unwrap_or(u64::MAX));
            fill(back, u64::try_from(low).unwrap_or(u64::MAX));
        }
    }
    let zeros = buffer.iter().take_while(|digit| **digit == b'0').count();
    let shown = buffer.get(zeros.min(MOST_DIGITS.saturating_sub(width.max(1)))..);
    text.extend_from_slice(shown.unwrap_or_default());
}

/// Writes a number to the end of a place that is full of zeros.
fn fill(place: &mut [u8], mut number: u64) {
    for byte in place.iter_mut().rev() {
        if number == 0 {
            break;
        }
        // The remainder is a digit.
        *byte = DIGITS.get((number % BASE) as usize).copied().unwrap_or(b'0');
        number /= BASE;
    }
}

/// How many digits a number has.
pub(super) fn width(number: u128) -> usize {
    std::iter::successors(Some(number), |rest| Some(rest / u128::from(BASE)).filter(|rest| *rest > 0)).count()
}
