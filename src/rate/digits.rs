//! The texts that limiters store, and the numbers in them: base 36, in digits and lower-case letters, as
//! `parseInt(text, 36)` of JavaScript and `int(text, 36)` of Python read them. In decimal an allowed call would send a
//! third more digits to the AOF and the replicas.

use smallvec::SmallVec;

/// The text of a string limiter, or an element of a log. Most are short enough to need no allocation.
pub type ShortText = SmallVec<[u8; 64]>;

const BASE: u64 = 36;
const DIGITS: &[u8; BASE as usize] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// 36^12 fits 64 bits, and 36^24 fits 128.
const DIGITS_IN_U64: usize = 12;
const HALF: u128 = (BASE as u128).pow(DIGITS_IN_U64 as u32);

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
    let (mut value, mut digits) = (0_u64, 0);
    for byte in text.get(..DIGITS_IN_U64).unwrap_or(text) {
        let Some(digit) = digit(byte) else { break };
        value = value.wrapping_mul(BASE).wrapping_add(digit.into());
        digits += 1;
    }
    (value, text.get(digits..).unwrap_or_default())
}

fn digit(byte: &u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'z' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Writes a number over a place, with zeros in front of it. Returns where the first digit is that changed, the width of the
/// place if none did; `None` if the number does not fit.
pub(super) fn fill(place: &mut [u8], number: u128) -> Option<usize> {
    match u64::try_from(number) {
        Ok(number) => fill_few(place, number),
        Err(_) => {
            let (high, low) = (u64::try_from(number / HALF).ok()?, u64::try_from(number % HALF).ok()?);
            let (front, back) = place.split_at_mut_checked(place.len().checked_sub(DIGITS_IN_U64)?)?;
            let (width, first) = (front.len(), fill_few(front, high)?);
            let later = fill_few(back, low)?;
            Some(if first < width { first } else { width.saturating_add(later) })
        }
    }
}

fn fill_few(place: &mut [u8], mut number: u64) -> Option<usize> {
    let mut first = place.len();
    for (index, byte) in place.iter_mut().enumerate().rev() {
        // The remainder is a digit.
        let digit = DIGITS.get((number % BASE) as usize).copied().unwrap_or(b'0');
        if *byte != digit {
            *byte = digit;
            first = index;
        }
        number /= BASE;
    }
    (number == 0).then_some(first)
}

pub(super) fn width(number: u128) -> usize {
    match u64::try_from(number) {
        Ok(number) => width_of_few(number),
        Err(_) => u64::try_from(number / HALF).map_or(0, width_of_few).saturating_add(DIGITS_IN_U64),
    }
}

fn width_of_few(mut number: u64) -> usize {
    let mut width = 1;
    while number >= BASE {
        number /= BASE;
        width += 1;
    }
    width
}

/// The number of a digit; `None` for any other byte.
pub(super) fn of_digit(byte: u8) -> Option<usize> {
    digit(&byte).map(usize::from)
}

/// Appends a number without leading zeros.
pub(super) fn push(text: &mut ShortText, number: u64) {
    let start = text.len();
    text.resize(start.saturating_add(width(number.into())), b'0');
    fill_few(text.get_mut(start..).unwrap_or_default(), number);
}
