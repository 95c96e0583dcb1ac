//! The texts that limiters store, and the numbers in them: base 36, in digits and lower-case letters, as
//! `parseInt(text, 36)` of JavaScript and `int(text, 36)` of Python read them. In decimal an allowed call would send a
//! third more digits to the AOF and the replicas.

use smallvec::SmallVec;

/// The text of a string limiter, or an element of a log. Most are short enough to need no allocation.
pub type ShortText = SmallVec<[u8; 64]>;

const BASE: u8 = 36;
const DIGITS: &[u8; BASE as usize] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Any number of this many digits fits 128 bits.
const MAX_DIGITS: usize = 24;

/// The number of 1 to 24 digits at the start of a text, and what follows it; leading zeros are fine.
pub(super) fn leading(text: &[u8]) -> Option<(u128, &[u8])> {
    let mut value = 0_u128;
    let mut digits = 0;
    while let Some(digit) = text.get(digits).copied().and_then(digit).filter(|_| digits <= MAX_DIGITS) {
        value = value.wrapping_mul(BASE.into()).wrapping_add(digit.into());
        digits += 1;
    }
    (1..=MAX_DIGITS).contains(&digits).then(|| Some((value, text.get(digits..)?))).flatten()
}

/// The value of a digit; `None` for any other byte.
pub(super) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'z' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Removes the last digit of a number, and returns it.
fn pop_digit(number: &mut u128) -> u8 {
    let base = u64::from(BASE);
    // Nearly all numbers fit 64 bits.
    let (rest, digit) = match u64::try_from(*number) {
        Ok(number) => (u128::from(number / base), number % base),
        Err(_) => (*number / u128::from(base), (*number % u128::from(base)) as u64),
    };
    *number = rest;
    DIGITS.get(digit as usize).copied().unwrap_or(b'0')
}

/// Writes a number over a place, with zeros in front of it. Returns where the first digit is that changed, the width of the
/// place if none did; `None` if the number does not fit.
pub(super) fn fill(place: &mut [u8], mut number: u128) -> Option<usize> {
    let mut first = place.len();
    for (index, byte) in place.iter_mut().enumerate().rev() {
        let digit = pop_digit(&mut number);
        if *byte != digit {
            *byte = digit;
            first = index;
        }
    }
    (number == 0).then_some(first)
}

/// How many digits a number has.
pub(super) fn width(mut number: u128) -> usize {
    let mut width = 0;
    while width == 0 || number > 0 {
        pop_digit(&mut number);
        width += 1;
    }
    width
}

/// Appends a number without leading zeros.
pub(super) fn push(text: &mut ShortText, number: u64) {
    let start = text.len();
    text.resize(start.saturating_add(width(number.into())), b'0');
    fill(text.get_mut(start..).unwrap_or_default(), number.into());
}
