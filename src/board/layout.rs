//! Where a member's values and tie time are in the sorted set: in the score, and in bytes before the name.
//!
//! The values of a member, then its time, are its *slots*. The score holds as many leading slots as it can; the rest
//! is *spilled* in front of the member's name. Comparing (score, spilled bytes) compares the slots, because a slot
//! that runs against the direction of the board is stored inverted.

use std::ops::RangeInclusive;

use byteorder::{BigEndian, ByteOrder};
use smallvec::SmallVec;

use super::schema::{Order, Rules, TieRule, Ties, TimeUnit};
use super::store::Direction;
use super::value::{Tuple, Value};
use crate::calendar::MAX_MS;

/// 2020-01-01T00:00:00Z in Unix milliseconds: tie times count from here.
const TIME_ORIGIN_MS: i64 = 1_577_836_800_000;
/// The largest integer up to which every integer is a double.
const MAX_EXACT: i128 = 1 << 53;
/// How many bit patterns from 2^52 on are finite doubles.
const MAX_BITS63: u128 = 0x7FE0_0000_0000_0000;
/// The bit pattern that stands for 0 in `packed63`: smaller ones would be subnormal.
const BITS63_ORIGIN: u64 = 1 << 52;
const SIGN: u64 = 1 << 63;
const SLOT_BYTES: usize = 8;
/// The first byte of every member's element on a spilled board. It sorts after markers and index entries.
pub(super) const MEMBER_TAG: u8 = 2;

/// The bytes in front of a member's name: a tag, then its spilled slots.
pub type Spill = SmallVec<[u8; 36]>;

/// A place in the sorted set: a score, and the bytes before the name.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The score.
    pub score: f64,
    /// What comes before the name.
    pub spill: Spill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotType {
    Float,
    Integer { lo: i64, hi: i64 },
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    kind: SlotType,
    inverted: bool,
    /// The number of values, for a slot that shares a score with others. It is below 2^63 there.
    radix: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScoreForm {
    /// The first slot itself, as the nearest double.
    Value,
    /// `first · M + rest`, an exact integer.
    Packed,
    /// The double with these bits.
    Bits63,
}

/// How tie times are counted.
#[derive(Clone, Copy, Debug)]
struct Clock {
    unit: TimeUnit,
    /// Unix milliseconds of time 0.
    origin_ms: i64,
    max: i64,
}

/// Where each slot of a schema goes.
#[derive(Debug)]
pub struct Layout {
    slots: Vec<Slot>,
    form: ScoreForm,
    /// How many leading slots make up the score.
    scored: usize,
    /// The first slot that is spilled. Less than `scored` when the score is only the nearest double.
    spilled_from: usize,
    /// For the tie time, whose slot is the last one.
    clock: Option<Clock>,
    fields: usize,
    plain: bool,
}

/// What an element says about its member.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// One value for each field.
    pub values: Tuple,
    /// The tie time, in the units of the layout.
    pub time: Option<u64>,
}

impl Slot {
    fn new(kind: SlotType, inverted: bool) -> Slot {
        let slot = Slot { kind, inverted, radix: 1 };
        Slot { radix: slot.size().and_then(|size| i64::try_from(size).ok()).unwrap_or(1), ..slot }
    }

    fn size(self) -> Option<u128> {
        match self.kind {
            SlotType::Float => None,
            SlotType::Integer { lo, hi } => Some((i128::from(hi) - i128::from(lo) + 1).unsigned_abs()),
        }
    }

    fn digit(self, value: Value) -> i64 {
        match (self.kind, value) {
            (SlotType::Integer { hi, .. }, Value::Integer(v)) if self.inverted => hi.wrapping_sub(v),
            (SlotType::Integer { lo, .. }, Value::Integer(v)) => v.wrapping_sub(lo),
            _ => 0,
        }
    }

    fn value_of_digit(self, digit: i64) -> Option<Value> {
        let SlotType::Integer { lo, hi } = self.kind else { return None };
        self.checked(if self.inverted { hi.checked_sub(digit) } else { lo.checked_add(digit) }?)
    }

    fn checked(self, value: i64) -> Option<Value> {
        match self.kind {
            SlotType::Integer { lo, hi } if (lo..=hi).contains(&value) => Some(Value::Integer(value)),
            _ => None,
        }
    }

    fn spill(self, value: Value, bytes: &mut Spill) {
        let ordered = match value {
            Value::Integer(v) => v as u64 ^ SIGN,
            Value::Float(v) if v.is_sign_negative() => !v.to_bits(),
            Value::Float(v) => v.to_bits() ^ SIGN,
        };
        let mut buffer = [0; SLOT_BYTES];
        BigEndian::write_u64(&mut buffer, if self.inverted { !ordered } else { ordered });
        bytes.extend_from_slice(&buffer);
    }

    fn unspill(self, bytes: &[u8]) -> Option<Value> {
        let stored = BigEndian::read_u64(bytes);
        let ordered = if self.inverted { !stored } else { stored };
        match self.kind {
            SlotType::Integer { .. } => self.checked((ordered ^ SIGN) as i64),
            SlotType::Float => {
                let value = f64::from_bits(if ordered & SIGN != 0 { ordered ^ SIGN } else { !ordered });
                (value.is_finite() && value.to_bits() != SIGN).then_some(Value::Float(value))
            }
        }
    }
}

impl Layout {
    /// The schema alone determines the layout.
    pub fn choose(rules: &Rules) -> Layout {
        let direction = rules.fields.first().map_or(Order::Descending, |field| field.order);
        let mut slots: Vec<Slot> = rules
            .fields
            .iter()
            .map(|field| {
                let kind = field.kind.bounds().map_or(SlotType::Float, |(lo, hi)| SlotType::Integer { lo, hi });
                Slot::new(kind, field.order != direction)
            })
            .collect();
        let mut clock = Clock::packed(rules.ties);
        slots.extend(clock.map(|clock| clock.slot(rules.ties, direction)));
        let (form, scored, spilled_from) = choose_score(&slots);
        let spills = spilled_from < slots.len();
        if let (true, Some(clock), Some(slot)) = (spills, &mut clock, slots.last_mut()) {
            clock.widen();
            *slot = clock.slot(rules.ties, direction);
        }
        Layout {
            plain: form == ScoreForm::Value && !spills,
            form,
            scored,
            spilled_from,
            clock,
            fields: rules.fields.len(),
            slots,
        }
    }

    /// Whether the score is the value itself.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether elements carry bytes in front of the name, and the board an index of names.
    pub fn spills(&self) -> bool {
        self.spilled_from < self.slots.len()
    }

    /// Whether the board orders equal members by time.
    pub fn has_time(&self) -> bool {
        self.clock.is_some()
    }

    /// What `RANK.INFO` calls it.
    pub fn name(&self) -> &'static str {
        match self.form {
            _ if self.spills() => "spilled",
            ScoreForm::Value => "plain",
            ScoreForm::Packed => "packed",
            ScoreForm::Bits63 => "packed63",
        }
    }

    /// ⌈log2⌉ of the number of packed values.
    pub fn bits(&self) -> Option<u32> {
        if self.form == ScoreForm::Value || self.spills() {
            return None;
        }
        let values = product(&self.slots)?;
        Some(u128::BITS - (values - 1).leading_zeros())
    }

    /// How many bytes come before the member's name.
    pub fn spill_len(&self) -> usize {
        match self.slots.len() - self.spilled_from {
            0 => 0,
            slots => 1 + slots * SLOT_BYTES,
        }
    }

    /// The tie time for a clock, the nearest one that can be kept; 0 where ties are shared.
    pub fn time_at(&self, unix_ms: i64) -> u64 {
        let Some(clock) = self.clock else { return 0 };
        let since = unix_ms.saturating_sub(clock.origin_ms).max(0);
        (since / clock.unit_ms()).min(clock.max).unsigned_abs()
    }

    /// The Unix milliseconds of a tie time.
    pub fn unix_ms(&self, time: u64) -> i64 {
        let Some(clock) = self.clock else { return 0 };
        let units = i64::try_from(time).unwrap_or(i64::MAX);
        units.saturating_mul(clock.unit_ms()).saturating_add(clock.origin_ms)
    }

    /// The Unix milliseconds that can be kept exactly; all where ties are shared.
    pub fn times(&self) -> RangeInclusive<i64> {
        let Some(clock) = self.clock else { return 0..=MAX_MS };
        let last = clock.max.saturating_mul(clock.unit_ms()).saturating_add(clock.unit_ms() - 1);
        clock.origin_ms..=clock.origin_ms.saturating_add(last).min(MAX_MS)
    }

    /// The place of members with these values and this time.
    pub fn encode(&self, values: &[Value], time: u64) -> Place {
        if let Some(score) = self.lone_score(values) {
            return Place { score, spill: Spill::new() };
        }
        let time = self.clock.map(|_| Value::Integer(time as i64));
        let slots = self.slots.iter().zip(values.iter().copied().chain(time));
        let mut spill = Spill::new();
        if self.spills() {
            spill.push(MEMBER_TAG);
        }
        for (slot, value) in slots.clone().skip(self.spilled_from) {
            slot.spill(value, &mut spill);
        }
        Place { score: self.score(slots.map(|(_, value)| value)), spill }
    }

    /// The score of members with these values, if the score alone identifies the values: `None` on a board with
    /// spilled bytes or tie times.
    pub fn lone_score(&self, values: &[Value]) -> Option<f64> {
        match values {
            [value] if self.plain => Some(value.as_f64()),
            _ if self.has_lone_scores() => Some(self.score(values.iter().copied())),
            _ => None,
        }
    }

    /// Whether members have the same score if, and only if, they have the same values.
    pub fn has_lone_scores(&self) -> bool {
        !self.spills() && !self.has_time()
    }

    /// The lowest (`Up`) or highest (`Down`) place of members with these values, whatever their time and name: where a
    /// walk in that direction meets the first of them.
    pub fn group_start(&self, values: &[Value], direction: Direction) -> Place {
        let Some(clock) = self.clock else { return self.encode(values, 0) };
        if self.spills() {
            // The time is the last slot. Without its bytes, the place is a prefix of the whole group.
            let mut place = self.encode(values, 0);
            place.spill.truncate(place.spill.len().saturating_sub(SLOT_BYTES));
            return place;
        }
        let (a, b) = (self.encode(values, 0), self.encode(values, clock.max.unsigned_abs()));
        if (a.score <= b.score) == (direction == Direction::Up) {
            a
        } else {
            b
        }
    }

    /// The lowest and the highest place of members whose first field has this value.
    pub fn first_field(&self, value: Value) -> (Place, Place) {
        let mut spill = Spill::new();
        match self.form {
            ScoreForm::Value => {
                if self.spilled_from == 0 {
                    if let Some(slot) = self.slots.first() {
                        spill.push(MEMBER_TAG);
                        slot.spill(value, &mut spill);
                    }
                }
                let place = Place { score: value.as_f64(), spill };
                (place.clone(), place)
            }
            ScoreForm::Packed | ScoreForm::Bits63 => {
                let others: i64 = self.slots.iter().take(self.scored).skip(1).map(|slot| slot.radix).product();
                let first = match (self.form, value) {
                    (ScoreForm::Packed, Value::Integer(v)) => v,
                    _ => self.slots.first().map_or(0, |slot| slot.digit(value)),
                };
                let low = first * others;
                let place = |number| Place { score: self.score_of(number), spill: Spill::new() };
                (place(low), place(low + (others - 1)))
            }
        }
    }

    fn score(&self, values: impl Iterator<Item = Value>) -> f64 {
        let mut slots = self.slots.iter().zip(values).take(self.scored);
        let first = match (self.form, slots.next()) {
            (ScoreForm::Value, Some((_, value))) => return value.as_f64(),
            (ScoreForm::Packed, Some((_, Value::Integer(v)))) => v,
            (_, Some((slot, value))) => slot.digit(value),
            (_, None) => 0,
        };
        self.score_of(slots.fold(first, |number, (slot, value)| number * slot.radix + slot.digit(value)))
    }

    fn score_of(&self, number: i64) -> f64 {
        match self.form {
            ScoreForm::Bits63 => f64::from_bits((number as u64).wrapping_add(BITS63_ORIGIN)),
            _ => number as f64,
        }
    }

    /// `None` for an element that no member of this layout could have.
    pub fn decode(&self, score: f64, element: &[u8]) -> Option<Decoded> {
        if self.is_plain() {
            return Some(Decoded { values: Tuple::from_slice(&[Value::Float(score + 0.0)]), time: None });
        }
        let mut values: Tuple = SmallVec::from_elem(Value::Integer(0), self.slots.len());
        match self.form {
            ScoreForm::Value if self.spilled_from > 0 => *values.first_mut()? = self.first_value(score)?,
            ScoreForm::Value => {}
            ScoreForm::Packed | ScoreForm::Bits63 => self.unpack(score, &mut values)?,
        }
        let spilled = match element.get(..self.spill_len())? {
            [] => &[][..],
            [MEMBER_TAG, spilled @ ..] => spilled,
            _ => return None,
        };
        let spilled = spilled.chunks_exact(SLOT_BYTES);
        let slots = self.slots.iter().zip(values.iter_mut()).skip(self.spilled_from);
        for ((slot, value), bytes) in slots.zip(spilled) {
            *value = slot.unspill(bytes)?;
        }
        if self.form == ScoreForm::Value && values.first()?.as_f64() != score {
            return None;
        }
        let time = match values.get(self.fields) {
            Some(Value::Integer(time)) => Some(time.unsigned_abs()),
            _ => None,
        };
        values.truncate(self.fields);
        Some(Decoded { values, time })
    }

    fn first_value(&self, score: f64) -> Option<Value> {
        match self.slots.first()?.kind {
            SlotType::Float => score.is_finite().then_some(Value::Float(score)),
            SlotType::Integer { .. } => None,
        }
    }

    fn unpack(&self, score: f64, values: &mut [Value]) -> Option<()> {
        let mut number: i64 = match self.form {
            // Negative doubles have the bits of negative integers.
            ScoreForm::Bits63 => (score.to_bits() as i64).checked_sub(BITS63_ORIGIN as i64)?,
            // Comparing first keeps infinities out, for which the cast would saturate.
            _ if score.abs() <= MAX_EXACT as f64 && score.fract() == 0.0 => score as i64,
            _ => return None,
        };
        let first_digits = usize::from(self.form == ScoreForm::Packed);
        let slots = self.slots.iter().zip(values.iter_mut()).take(self.scored);
        for (slot, value) in slots.skip(first_digits).rev() {
            *value = slot.value_of_digit(number.rem_euclid(slot.radix))?;
            number = number.div_euclid(slot.radix);
        }
        if self.form == ScoreForm::Packed {
            *values.first_mut()? = self.slots.first()?.checked(number)?;
        } else if number != 0 {
            return None;
        }
        Some(())
    }
}

impl Clock {
    /// A clock with few enough bits to share a score with fields.
    fn packed(ties: Ties) -> Option<Clock> {
        let Ties::ByTime(_, unit) = ties else { return None };
        let max = match unit {
            TimeUnit::Milliseconds => (1 << 41) - 1,
            TimeUnit::Seconds => (1 << 32) - 1,
        };
        Some(Clock { unit, origin_ms: TIME_ORIGIN_MS, max })
    }

    /// In eight bytes of its own it counts from 1970.
    fn widen(&mut self) {
        (self.origin_ms, self.max) = (0, MAX_MS / self.unit_ms());
    }

    fn unit_ms(self) -> i64 {
        match self.unit {
            TimeUnit::Milliseconds => 1,
            TimeUnit::Seconds => 1000,
        }
    }

    fn slot(self, ties: Ties, direction: Order) -> Slot {
        let better_time = match ties {
            Ties::ByTime(TieRule::Last, _) => Order::Descending,
            _ => Order::Ascending,
        };
        Slot::new(SlotType::Integer { lo: 0, hi: self.max }, better_time != direction)
    }
}

/// The form of the score, how many slots it holds, and which is the first to be spilled.
fn choose_score(slots: &[Slot]) -> (ScoreForm, usize, usize) {
    let all = slots.len();
    let packed = packable(slots);
    match slots.first().map(|slot| slot.kind) {
        Some(SlotType::Float) | None => (ScoreForm::Value, 1, 1),
        _ if packed == all => (ScoreForm::Packed, all, all),
        _ if product(slots).is_some_and(|values| values <= MAX_BITS63) => (ScoreForm::Bits63, all, all),
        _ if packed == 0 => (ScoreForm::Value, 1, 0),
        _ => (ScoreForm::Packed, packed, packed),
    }
}

/// How many leading slots fit an integer of at most 2^53, the first one as it is.
fn packable(slots: &[Slot]) -> usize {
    let Some(Slot { kind: SlotType::Integer { lo, hi }, .. }) = slots.first() else { return 0 };
    let (lo, hi) = (i128::from(*lo), i128::from(*hi));
    let mut others: i128 = 1;
    let mut fitting = 0;
    for (i, slot) in slots.iter().enumerate() {
        if i > 0 {
            let Some(size) = slot.size() else { break };
            others = others.saturating_mul(i128::try_from(size).unwrap_or(i128::MAX));
        }
        let highest = hi.saturating_mul(others).saturating_add(others - 1);
        if highest > MAX_EXACT || lo.saturating_mul(others) < -MAX_EXACT {
            break;
        }
        fitting = i + 1;
    }
    fitting
}

fn product(slots: &[Slot]) -> Option<u128> {
    slots.iter().try_fold(1_u128, |values, slot| values.checked_mul(slot.size()?))
}
