//! Order codes: a string of bits for each member that sorts as its values and its tie time do.
//!
//! Each value has a code of its own, and a member's code is the codes of its fields and then that of its time. Two
//! properties of these single codes are all that the rest of the board relies on. They keep the order: a smaller value
//! has the lexicographically smaller code. And they are prefix-free: no code is the beginning of another one of its
//! type. So two members compare as their values do, left to right, and neither code is the beginning of the other unless
//! all values are equal. A value that runs against the direction of the board is complemented, which reverses its order
//! and keeps it prefix-free.
//!
//! Codes are short for common values (a class of three bits, then as many bits as the class needs), and exact for all
//! others. The first 63 bits of a code, the *head*, are the score of the member. What is left, the *tail*, is written in
//! front of its name, in groups of seven bits. This file knows nothing of the server or of sorted sets.

use smallvec::SmallVec;

use crate::calendar::MAX_MS;

/// How many bits of a code fit the score.
pub const HEAD_BITS: u32 = 63;
/// Members have scores above this one. The elements at or below it are the marker and the index entries.
pub const TOP_OF_INDEX: f64 = -4.0;

/// How many bits follow the class of a natural number; class 7 is for all others.
const WIDTHS: [u32; 7] = [7, 10, 12, 17, 20, 24, 32];
/// The first number of each class.
const BASES: [u64; 8] = bases();
const CLASS_BITS: u32 = 3;
/// Of a number, or a double without its sign, in class 7.
const LAST_WIDTH: u32 = 63;

/// The bits that begin the codes of a time which is not before `SINCE`, and their number.
const TIME_CLASSES: [(u128, u32); 4] = [(0b001, 3), (0b01, 2), (0b10, 2), (0b110, 3)];
/// The code of a time that is before `SINCE`, or long after it.
const TIME_EXTREME: (u32, u32) = (3, 53);

const SIGN: u64 = 1 << 63;
/// The bits of the smallest normal double. Some encodings of sorted sets do not keep subnormal ones, or zeros, apart.
const NORMAL: u64 = 1 << 52;
/// The `u` of the lowest member: see [`score_of`].
pub const FIRST_MEMBER: u64 = 1 << 62;

const fn bases() -> [u64; 8] {
    let mut bases = [0; 8];
    let mut class = 0;
    while class < WIDTHS.len() {
        bases[class + 1] = bases[class] + (1 << WIDTHS[class]);
        class += 1;
    }
    bases
}

/// The score that stands for a number: finite, normal, and ordered like the numbers. A member's is 2^62 + head.
pub fn score_of(u: u64) -> f64 {
    match u.checked_sub(SIGN) {
        Some(above) => f64::from_bits(above + NORMAL),
        None => -f64::from_bits(SIGN - 1 - u + NORMAL),
    }
}

/// The number that a score stands for; `None` for scores that [`score_of`] does not return.
pub fn number_of(score: f64) -> Option<u64> {
    if !score.is_normal() {
        return None;
    }
    let magnitude = (score.to_bits() & !SIGN) - NORMAL;
    Some(if score > 0.0 { SIGN + magnitude } else { SIGN - 1 - magnitude })
}

/// The code of one value: at most 85 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    bits: u128,
    width: u32,
}

impl Piece {
    fn new(bits: impl Into<u128>, width: u32) -> Piece {
        Piece { bits: bits.into(), width }
    }

    fn then(self, bits: impl Into<u128>, width: u32) -> Piece {
        Piece { bits: self.bits << width | bits.into(), width: self.width + width }
    }

    /// Reverses the order.
    pub fn complement(self) -> Piece {
        Piece { bits: !self.bits & ((1 << self.width) - 1), width: self.width }
    }

    /// Of a natural number: its class, and its distance from the first number of the class. `None` in class 7.
    fn natural(n: u64) -> Option<Piece> {
        let class = BASES.iter().skip(1).position(|end| n < *end)?;
        Some(Piece::new(class as u64, CLASS_BITS).then(n - BASES.get(class)?, *WIDTHS.get(class)?))
    }

    /// Of a signed integer.
    pub fn integer(value: i64) -> Piece {
        let magnitude = if value < 0 { !value } else { value } as u64;
        let body = Piece::natural(magnitude).unwrap_or(Piece::new(7_u64, CLASS_BITS).then(magnitude, LAST_WIDTH));
        let body = if value < 0 { body.complement() } else { body };
        Piece::new(u64::from(value >= 0), 1).then(body.bits, body.width)
    }

    /// Of a double that is not NaN. Infinite ones sort outside all others.
    pub fn float(value: f64) -> Piece {
        if value < 0.0 {
            return Piece::float(-value).complement();
        }
        let value = value.abs();
        let whole = value as u64;
        let Some(natural) = Piece::natural(whole) else {
            return Piece::new(0b1111_u64, 1 + CLASS_BITS).then(value.to_bits(), LAST_WIDTH);
        };
        let piece = Piece::new(1_u64, 1).then(natural.bits, natural.width);
        if value == whole as f64 {
            return piece.then(0_u64, 1);
        }
        let thousandths = thousandths(whole, value);
        let piece = piece.then(1_u64, 1).then(thousandths, 10);
        if quotient(whole, thousandths) == value {
            return piece.then(0_u64, 1);
        }
        let open = open_bits(whole);
        piece.then(1_u64, 1).then(value.to_bits() & ((1 << open) - 1), open)
    }

    /// Of an integer with bounds: its distance from the lower one.
    pub fn bounded(value: i64, (lo, hi): (i64, i64)) -> Piece {
        Piece::new(value.wrapping_sub(lo) as u64, bounded_width((lo, hi)))
    }

    /// Of a time, from 0 to `MAX_MS` in Unix milliseconds.
    pub fn time(at: i64, since: i64, unit: Unit) -> Piece {
        let distance = at / unit.ms - since / unit.ms;
        let (prefix_width, width) = TIME_EXTREME;
        if distance < 0 {
            return Piece::new(0_u64, prefix_width).then((distance + (1 << width)).unsigned_abs(), width);
        }
        let mut rest = distance.unsigned_abs();
        for ((prefix, prefix_width), width) in TIME_CLASSES.iter().zip(unit.widths) {
            if rest < 1 << width {
                return Piece::new(*prefix, *prefix_width).then(rest, width);
            }
            rest -= 1 << width;
        }
        Piece::new(7_u64, prefix_width).then(distance.unsigned_abs(), width)
    }
}

/// What times are counted in, and how many bits follow each of `TIME_CLASSES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    pub ms: i64,
    widths: [u32; 4],
}

impl Unit {
    /// 12 days, 99 days more, 2.2 years more, 11 years in all.
    pub const MILLISECONDS: Unit = Unit { ms: 1, widths: [30, 33, 36, 38] };
    pub const SECONDS: Unit = Unit { ms: 1000, widths: [20, 25, 27, 31] };
}

fn bounded_width((lo, hi): (i64, i64)) -> u32 {
    u64::BITS - (hi.wrapping_sub(lo) as u64).leading_zeros()
}

/// The double nearest to `whole` and so many thousandths.
fn quotient(whole: u64, thousandths: u64) -> f64 {
    (whole * 1000 + thousandths) as f64 / 1000.0
}

/// The largest number of thousandths that does not exceed the value.
fn thousandths(whole: u64, value: f64) -> u64 {
    // The estimate may be off by one, because the product is rounded.
    let mut thousandths = (((value - whole as f64) * 1000.0) as u64).min(999);
    while thousandths > 0 && quotient(whole, thousandths) > value {
        thousandths -= 1;
    }
    while thousandths < 999 && quotient(whole, thousandths + 1) <= value {
        thousandths += 1;
    }
    thousandths
}

/// How many low bits of a double its whole part leaves open.
fn open_bits(whole: u64) -> u32 {
    whole.checked_ilog2().map_or(62, |log| 52 - log)
}

/// The code of a member, or the beginning of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// From the highest bit of the first word on; zeros fill the last one.
    words: SmallVec<[u64; 4]>,
    width: u32,
}

/// The tail of a code: seven bits in each byte, and below them 1 in all but the last.
pub type Tail = SmallVec<[u8; 24]>;

impl Code {
    pub fn push(&mut self, piece: Piece) {
        if let Some(above) = piece.width.checked_sub(u64::BITS) {
            self.push_word((piece.bits >> u64::BITS) as u64, above);
            self.push_word(piece.bits as u64, u64::BITS);
        } else {
            self.push_word(piece.bits as u64, piece.width);
        }
    }

    fn push_word(&mut self, bits: u64, width: u32) {
        let Some(bits) = bits.checked_shl(u64::BITS - width) else { return };
        let used = self.width % u64::BITS;
        match self.words.last_mut().filter(|_| used > 0) {
            Some(last) => {
                *last |= bits >> used;
                if used + width > u64::BITS {
                    self.words.push(bits << (u64::BITS - used));
                }
            }
            None => self.words.push(bits),
        }
        self.width += width;
    }

    /// The code that these parts of an element hold; zeros fill what the code does not need.
    pub fn from_parts(head: u64, tail: &[u8]) -> Code {
        let mut code = Code::default();
        code.push_word(head, HEAD_BITS);
        tail.iter().for_each(|group| code.push_word(u64::from(group >> 1), 7));
        code
    }

    /// Whether the score holds the whole code.
    pub fn fits(&self) -> bool {
        self.width <= HEAD_BITS
    }

    /// The score, and the tail if the code does not fit.
    pub fn parts(&self) -> (f64, Tail) {
        self.padded_parts(false)
    }

    /// The lowest or the highest score and tail of the codes that begin with this one. Every tail that begins with the
    /// highest one is still inside.
    pub fn edge(&self, highest: bool) -> (f64, Tail) {
        self.padded_parts(highest)
    }

    fn padded_parts(&self, ones: bool) -> (f64, Tail) {
        let mut head = self.words.first().map_or(0, |word| word >> 1);
        if ones && self.width < HEAD_BITS {
            head |= (1 << (HEAD_BITS - self.width)) - 1;
        }
        let mut tail = Tail::new();
        let mut at = HEAD_BITS;
        while at < self.width {
            let missing = (at + 7).saturating_sub(self.width);
            let group = self.bits(at, 7) | if ones { (1 << missing) - 1 } else { 0 };
            at += 7;
            tail.push((group << 1) as u8 | u8::from(ones || at < self.width));
        }
        (score_of(FIRST_MEMBER + head), tail)
    }

    /// Some of the bits, at most 64; zeros behind the end.
    fn bits(&self, at: u32, width: u32) -> u64 {
        let word = |index: u32| self.words.get(index as usize).copied().unwrap_or(0);
        let (index, used) = (at / u64::BITS, at % u64::BITS);
        let first = word(index) << used;
        let both = if used == 0 { first } else { first | word(index + 1) >> (u64::BITS - used) };
        both.checked_shr(u64::BITS - width).unwrap_or(0)
    }
}

#[cfg(test)]
impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (0..self.width).try_for_each(|at| write!(f, "{}", self.bits(at, 1)))
    }
}

/// Reads values from a code, in the order in which they were pushed. It reads anything, also what nobody wrote: the caller
/// encodes what it read, and compares.
pub struct Reader<'c> {
    code: &'c Code,
    at: u32,
    complement: bool,
}

impl<'c> Reader<'c> {
    pub fn new(code: &'c Code) -> Reader<'c> {
        Reader { code, at: 0, complement: false }
    }

    /// Whether the next value was complemented.
    pub fn complemented(&mut self, complement: bool) -> &mut Reader<'c> {
        self.complement = complement;
        self
    }

    fn take(&mut self, width: u32) -> u64 {
        let bits = self.code.bits(self.at, width);
        self.at += width;
        if self.complement {
            !bits & (u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0))
        } else {
            bits
        }
    }

    /// A number of classes 0 to 6; `None` in class 7, whose bits follow.
    fn natural(&mut self) -> Option<u64> {
        let class = self.take(CLASS_BITS) as usize;
        let width = *WIDTHS.get(class)?;
        Some(BASES.get(class)? + self.take(width))
    }

    pub fn integer(&mut self) -> i64 {
        let negative = self.take(1) == 0;
        self.complement ^= negative;
        let magnitude = match self.natural() {
            Some(magnitude) => magnitude,
            None => self.take(LAST_WIDTH),
        };
        let value = magnitude as i64;
        if negative {
            !value
        } else {
            value
        }
    }

    /// `None` for what is not a finite double.
    pub fn float(&mut self) -> Option<f64> {
        let negative = self.take(1) == 0;
        self.complement ^= negative;
        let value = match self.natural() {
            None => f64::from_bits(self.take(LAST_WIDTH)),
            Some(whole) if self.take(1) == 0 => whole as f64,
            Some(whole) => {
                let thousandths = self.take(10);
                if self.take(1) == 0 {
                    quotient(whole, thousandths)
                } else {
                    let open = open_bits(whole);
                    f64::from_bits((whole as f64).to_bits() & !((1 << open) - 1) | self.take(open))
                }
            }
        };
        value.is_finite().then_some(if negative { -value } else { value })
    }

    pub fn bounded(&mut self, (lo, hi): (i64, i64)) -> Option<i64> {
        let distance = self.take(bounded_width((lo, hi)));
        let value = lo.wrapping_add_unsigned(distance);
        (value >= lo && value <= hi).then_some(value)
    }

    /// Unix milliseconds; `None` for what is not a time.
    pub fn time(&mut self, since: i64, unit: Unit) -> Option<i64> {
        let (_, width) = TIME_EXTREME;
        let class = match (self.take(1), self.take(1)) {
            (0, 0) => self.take(1).checked_sub(1),
            (0, _) => Some(1),
            (_, 0) => Some(2),
            (..) => Some(3 + self.take(1)),
        };
        let distance = match class {
            None => self.take(width) as i64 - (1 << width),
            Some(4) => self.take(width) as i64,
            Some(class) => {
                let before: i64 = unit.widths.iter().take(class as usize).map(|width| 1_i64 << width).sum();
                before + self.take(*unit.widths.get(class as usize)?) as i64
            }
        };
        let at = (since / unit.ms + distance).checked_mul(unit.ms)?;
        (0..=MAX_MS).contains(&at).then_some(at)
    }
}
