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

/// How many bits of a code a score holds.
pub const HEAD_BITS: u32 = 63;
/// Members have scores above this one. The elements at or below it are the marker and the index entries.
pub const TOP_OF_INDEX: f64 = -4.0;

/// How many bits follow the class of a natural number; class 7 is for all others.
const WIDTHS: [u32; 7] = [7, 10, 12, 17, 20, 24, 32];
const BASES: [u64; 8] = bases();
const CLASS_BITS: u32 = 3;
/// The sign bit of a number that is not negative, before its class.
const NOT_NEGATIVE: u64 = 1 << CLASS_BITS;
const LAST_CLASS: u64 = NOT_NEGATIVE | 7;
/// How many bits follow class 7: a number, or a double without its sign.
const LAST_WIDTH: u32 = 63;

/// For each class of times from `SINCE` on: the bits that begin its codes, and how many they are.
const TIME_CLASSES: [(u64, u32); 4] = [(0b001, 3), (0b01, 2), (0b10, 2), (0b110, 3)];
/// For times before `SINCE`, or long after it: how many bits begin the code (`000` or `111`), and how many follow.
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
    fn new(bits: u64, width: u32) -> Piece {
        Piece { bits: bits.into(), width }
    }

    fn then(self, bits: u64, width: u32) -> Piece {
        Piece { bits: self.bits << width | u128::from(bits), width: self.width + width }
    }

    pub fn complement(self) -> Piece {
        Piece { bits: !self.bits & ((1 << self.width) - 1), width: self.width }
    }

    /// The code of a natural number: 1, its class, and its distance from the first number of the class. `None` in class 7.
    fn natural(n: u64) -> Option<Piece> {
        let class = BASES.iter().skip(1).position(|end| n < *end)?;
        let (base, width) = (BASES.get(class)?, *WIDTHS.get(class)?);
        Some(Piece::new((NOT_NEGATIVE | class as u64) << width | (n - base), 1 + CLASS_BITS + width))
    }

    /// The code of a signed integer. That of a negative one, v, is the complement of the code of -v - 1.
    pub fn integer(value: i64) -> Piece {
        let magnitude = if value < 0 { !value } else { value } as u64;
        let piece = Piece::natural(magnitude)
            .unwrap_or_else(|| Piece::new(LAST_CLASS, 1 + CLASS_BITS).then(magnitude, LAST_WIDTH));
        if value < 0 {
            piece.complement()
        } else {
            piece
        }
    }

    /// The code of a double that is not NaN. Infinite ones sort outside all others.
    pub fn float(value: f64) -> Piece {
        if value < 0.0 {
            return Piece::float(-value).complement();
        }
        let value = value.abs();
        let whole = value as u64;
        let Some(piece) = Piece::natural(whole) else {
            return Piece::new(LAST_CLASS, 1 + CLASS_BITS).then(value.to_bits(), LAST_WIDTH);
        };
        if value == whole as f64 {
            return piece.then(0, 1);
        }
        let thousandths = thousandths(whole, value);
        let piece = piece.then(1, 1).then(thousandths, 10);
        if quotient(whole, thousandths) == value {
            return piece.then(0, 1);
        }
        let open = open_bits(whole);
        piece.then(1, 1).then(value.to_bits() & ((1 << open) - 1), open)
    }

    /// The code of an integer with bounds: its distance from the lower one.
    pub fn bounded(value: i64, (lo, hi): (i64, i64)) -> Piece {
        Piece::new(value.wrapping_sub(lo) as u64, bounded_width((lo, hi)))
    }

    /// The code of a time, from 0 to `MAX_MS` in Unix milliseconds.
    pub fn time(at: i64, since: i64, unit: TieTimeUnit) -> Piece {
        let distance = at / unit.ms - since / unit.ms;
        let (prefix_width, width) = TIME_EXTREME;
        if distance < 0 {
            return Piece::new(0, prefix_width).then((distance + (1 << width)).unsigned_abs(), width);
        }
        let mut rest = distance.unsigned_abs();
        for ((prefix, prefix_width), width) in TIME_CLASSES.iter().zip(unit.widths) {
            if rest < 1 << width {
                return Piece::new(*prefix << width | rest, *prefix_width + width);
            }
            rest -= 1 << width;
        }
        Piece::new(7, prefix_width).then(distance.unsigned_abs(), width)
    }
}

#[cfg(test)]
impl std::fmt::Display for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:0width$b}", self.bits, width = self.width as usize)
    }
}

/// The unit that tie times are counted in, and how many bits follow each of `TIME_CLASSES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TieTimeUnit {
    pub ms: i64,
    widths: [u32; 4],
}

impl TieTimeUnit {
    /// The classes hold 12 days, then 99 days, then 2.2 years, then 8.7 years.
    pub const MILLISECONDS: TieTimeUnit = TieTimeUnit { ms: 1, widths: [30, 33, 36, 38] };
    pub const SECONDS: TieTimeUnit = TieTimeUnit { ms: 1000, widths: [20, 25, 27, 31] };
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

fn is_last_class(n: u64) -> bool {
    BASES.last().is_some_and(|base| n >= *base)
}

/// How many low bits of a double its whole part leaves open.
fn open_bits(whole: u64) -> u32 {
    whole.checked_ilog2().map_or(62, |log| 52 - log)
}

/// The tail of a code: seven bits in the upper part of each byte. The lowest bit is 1 in all bytes but the last.
pub type Tail = SmallVec<[u8; 24]>;

const GROUP_BITS: u32 = 7;

/// The code of a member, or the beginning of one, while it is written.
#[derive(Default)]
pub struct Code {
    /// Bits that are not yet in the head or the tail, the last one lowest.
    pending: u128,
    pending_width: u32,
    /// The first 63 bits, once there are as many.
    head: Option<u64>,
    /// Complete groups of seven bits. Each has its lowest bit set, as if another one followed.
    tail: Tail,
}

impl Code {
    #[inline]
    pub fn push(&mut self, piece: Piece) {
        // At most 62 bits are pending, so there is room for 64 more.
        match piece.width.checked_sub(u64::BITS) {
            Some(above) => {
                self.push_bits((piece.bits >> u64::BITS) as u64, above);
                self.push_bits(piece.bits as u64, u64::BITS);
            }
            None => self.push_bits(piece.bits as u64, piece.width),
        }
    }

    #[inline]
    fn push_bits(&mut self, bits: u64, width: u32) {
        self.pending = self.pending << width | u128::from(bits);
        self.pending_width += width;
        if self.head.is_none() && self.pending_width >= HEAD_BITS {
            self.head = Some(self.take(HEAD_BITS));
        }
        if self.head.is_some() {
            while self.pending_width >= GROUP_BITS {
                let group = self.take(GROUP_BITS);
                self.tail.push((group << 1) as u8 | 1);
            }
        }
    }

    /// Removes and returns the first of the pending bits.
    fn take(&mut self, width: u32) -> u64 {
        self.pending_width -= width;
        let bits = (self.pending >> self.pending_width) as u64;
        self.pending &= (1 << self.pending_width) - 1;
        bits
    }

    /// The score, and the tail if the score does not hold the whole code.
    #[inline]
    pub fn parts(self) -> (f64, Tail) {
        self.padded(false)
    }

    /// The lowest or the highest score and tail of the codes that begin with this one. Every tail that begins with the
    /// highest one is still inside.
    pub fn edge(self, highest: bool) -> (f64, Tail) {
        self.padded(highest)
    }

    #[inline]
    fn padded(mut self, ones: bool) -> (f64, Tail) {
        let fill = |width: u32| if ones { (1_u64 << width) - 1 } else { 0 };
        let Some(head) = self.head else {
            let missing = HEAD_BITS - self.pending_width;
            let head = (self.pending as u64) << missing | fill(missing);
            return (score_of(FIRST_MEMBER + head), self.tail);
        };
        if self.pending_width > 0 {
            let missing = GROUP_BITS - self.pending_width;
            let group = (self.pending as u64) << missing | fill(missing);
            self.tail.push((group << 1) as u8 | 1);
        }
        match self.tail.last_mut() {
            Some(last) if !ones => *last &= !1,
            _ => {}
        }
        (score_of(FIRST_MEMBER + head), self.tail)
    }
}

/// Reads values from a code, in the order in which they were pushed. Each value has one code: any other bits are refused.
pub struct Reader<'t> {
    /// Bits that were not taken yet, the last one lowest.
    pending: u128,
    pending_width: u32,
    tail: std::slice::Iter<'t, u8>,
    complement: bool,
    is_short: bool,
}

impl<'t> Reader<'t> {
    pub fn new(head: u64, tail: &'t [u8]) -> Reader<'t> {
        Reader { pending: head.into(), pending_width: HEAD_BITS, tail: tail.iter(), complement: false, is_short: false }
    }

    /// Whether the next value was complemented.
    pub fn complemented(&mut self, complement: bool) -> &mut Reader<'t> {
        self.complement = complement;
        self
    }

    #[inline]
    fn take(&mut self, width: u32) -> u64 {
        while self.pending_width < width {
            let group = self.tail.next();
            self.is_short |= group.is_none();
            self.pending = self.pending << GROUP_BITS | group.map_or(0, |group| u128::from(group >> 1));
            self.pending_width += GROUP_BITS;
        }
        self.pending_width -= width;
        let mask = u64::MAX >> (u64::BITS - width);
        let bits = (self.pending >> self.pending_width) as u64;
        (if self.complement { !bits } else { bits }) & mask
    }

    /// The part of the tail that no value needed; `None` if the code was too short, or if its padding is not all zeros.
    pub fn rest(self) -> Option<&'t [u8]> {
        let is_padding = self.pending & ((1 << self.pending_width) - 1) == 0;
        (is_padding && !self.is_short).then_some(self.tail.as_slice())
    }

    /// Reads a number of class 0 to 6. For class 7 it returns `None`, and the caller reads the bits that follow.
    fn natural(&mut self) -> Option<u64> {
        let class = self.take(CLASS_BITS) as usize;
        let width = *WIDTHS.get(class)?;
        Some(BASES.get(class)? + self.take(width))
    }

    pub fn integer(&mut self) -> Option<i64> {
        let negative = self.take(1) == 0;
        self.complement ^= negative;
        let magnitude = match self.natural() {
            Some(magnitude) => magnitude,
            None => Some(self.take(LAST_WIDTH)).filter(|magnitude| is_last_class(*magnitude))?,
        };
        let value = magnitude as i64;
        Some(if negative { !value } else { value })
    }

    pub fn float(&mut self) -> Option<f64> {
        let negative = self.take(1) == 0;
        self.complement ^= negative;
        let value = match self.natural() {
            None => {
                let value = f64::from_bits(self.take(LAST_WIDTH));
                Some(value).filter(|value| value.is_finite() && is_last_class(*value as u64))?
            }
            Some(whole) if self.take(1) == 0 => whole as f64,
            Some(whole) => self.fraction(whole)?,
        };
        // Zero is not negative.
        (!negative || value != 0.0).then_some(if negative { -value } else { value })
    }

    fn fraction(&mut self, whole: u64) -> Option<f64> {
        let in_thousandths = self.take(10);
        let nearest = quotient(whole, in_thousandths);
        let is_irregular = self.take(1) == 1;
        let value = if is_irregular {
            let open = open_bits(whole);
            f64::from_bits((whole as f64).to_bits() & !((1 << open) - 1) | self.take(open))
        } else {
            nearest
        };
        let is_own = value as u64 == whole && value != whole as f64 && thousandths(whole, value) == in_thousandths;
        (is_own && is_irregular == (nearest != value)).then_some(value)
    }

    pub fn bounded(&mut self, (lo, hi): (i64, i64)) -> Option<i64> {
        let distance = self.take(bounded_width((lo, hi)));
        let value = lo.wrapping_add_unsigned(distance);
        (value >= lo && value <= hi).then_some(value)
    }

    /// Unix milliseconds; `None` for what is not a time.
    pub fn time(&mut self, since: i64, unit: TieTimeUnit) -> Option<i64> {
        let (_, width) = TIME_EXTREME;
        let class = match (self.take(1), self.take(1)) {
            (0, 0) => self.take(1).checked_sub(1),
            (0, _) => Some(1),
            (_, 0) => Some(2),
            (..) => Some(3 + self.take(1)),
        };
        let distance = match class {
            None => self.take(width) as i64 - (1 << width),
            Some(4) => {
                let distance = self.take(width) as i64;
                Some(distance).filter(|distance| *distance >= unit.widths.iter().map(|width| 1_i64 << width).sum())?
            }
            Some(class) => {
                let before: i64 = unit.widths.iter().take(class as usize).map(|width| 1_i64 << width).sum();
                before + self.take(*unit.widths.get(class as usize)?) as i64
            }
        };
        let at = (since / unit.ms + distance).checked_mul(unit.ms)?;
        (0..=MAX_MS).contains(&at).then_some(at)
    }
}
