//! How the values and the tie time of a member become a score, and bytes in front of its name.
//!
//! There are three layouts, and the schema alone decides between them. `plain`: the score is the value. `packed`: the
//! score is an integer with a place for each field, which a person can read. `coded`: the score is the first 63 bits of
//! the member's order code (`code.rs`), and what is left of a longer code stands in front of the name.

use smallvec::SmallVec;

use super::code::{number_of, Code, Piece, Reader, Tail, TieTimeUnit, FIRST_MEMBER};
use super::index::{needs_wrapping, split_wrapped, WRAPPED_TAG};
use crate::board::schema::{FieldType, Order, Rules, TieRule, Ties, TimeUnit};
use crate::board::value::{Tuple, Value};
use crate::calendar::MAX_MS;

/// The largest integer up to which every integer is a double.
const MAX_EXACT: i128 = 1 << 53;

/// Where members are in the sorted set: their score, and the bytes between their tag and their name.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    pub score: f64,
    /// The tail of the code. Empty if the score holds the whole code, as it always does in other layouts.
    pub tail: Tail,
}

/// How the values of one field are encoded.
#[derive(Clone, Copy, Debug)]
struct FieldEncoding {
    kind: Encoding,
    /// The field sorts against the direction of the board, which is that of the first field.
    inverted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Float,
    Int,
    Bounded(i64, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Packed,
    Coded,
}

#[derive(Debug)]
pub struct Layout {
    form: Form,
    fields: Vec<FieldEncoding>,
    /// For each field of a packed layout but the first, how many values it takes.
    radixes: Vec<i64>,
    /// The unit of tie times, and whether they are complemented.
    tie_time: Option<(TieTimeUnit, bool)>,
}

/// What an element says.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub values: Tuple,
    pub time: Option<i64>,
    /// Where the member's name begins in the element.
    pub name_at: usize,
}

impl FieldEncoding {
    fn piece(self, value: Value) -> Piece {
        let piece = match (self.kind, value) {
            (Encoding::Bounded(lo, hi), Value::Integer(value)) => Piece::bounded(value, (lo, hi)),
            (_, Value::Integer(value)) => Piece::integer(value),
            (_, Value::Float(value)) => Piece::float(value),
        };
        if self.inverted {
            piece.complement()
        } else {
            piece
        }
    }

    fn read(self, reader: &mut Reader) -> Option<Value> {
        let reader = reader.complemented(self.inverted);
        match self.kind {
            Encoding::Float => reader.float().map(Value::Float),
            Encoding::Int => reader.integer().map(Value::Integer),
            Encoding::Bounded(lo, hi) => reader.bounded((lo, hi)).map(Value::Integer),
        }
    }

    /// The place of a value in a packed score.
    fn digit(self, value: Value) -> i64 {
        match (self.kind, value) {
            (Encoding::Bounded(_, hi), Value::Integer(v)) if self.inverted => hi.wrapping_sub(v),
            (Encoding::Bounded(lo, _), Value::Integer(v)) => v.wrapping_sub(lo),
            _ => 0,
        }
    }

    fn value_of_digit(self, digit: i64) -> Option<Value> {
        let Encoding::Bounded(lo, hi) = self.kind else { return None };
        self.checked(if self.inverted { hi.checked_sub(digit) } else { lo.checked_add(digit) }?)
    }

    fn checked(self, value: i64) -> Option<Value> {
        match self.kind {
            Encoding::Bounded(lo, hi) if (lo..=hi).contains(&value) => Some(Value::Integer(value)),
            _ => None,
        }
    }

    fn size(self) -> Option<i128> {
        match self.kind {
            Encoding::Bounded(lo, hi) => Some(i128::from(hi) - i128::from(lo) + 1),
            _ => None,
        }
    }
}

impl Layout {
    pub fn choose(rules: &Rules) -> Layout {
        let direction = rules.fields.first().map_or(Order::Descending, |field| field.order);
        let fields: Vec<FieldEncoding> = rules
            .fields
            .iter()
            .map(|field| {
                let kind = match (field.kind, field.kind.bounds()) {
                    (FieldType::Int, _) => Encoding::Int,
                    (_, Some((lo, hi))) => Encoding::Bounded(lo, hi),
                    (_, None) => Encoding::Float,
                };
                FieldEncoding { kind, inverted: field.order != direction }
            })
            .collect();
        let tie_time = match rules.ties {
            Ties::Shared => None,
            Ties::ByTime(rule, unit) => {
                let better_first = if rule == TieRule::Last { Order::Descending } else { Order::Ascending };
                let unit = match unit {
                    TimeUnit::Milliseconds => TieTimeUnit::MILLISECONDS,
                    TimeUnit::Seconds => TieTimeUnit::SECONDS,
                };
                Some((unit, better_first != direction))
            }
        };
        let form = match fields.as_slice() {
            _ if tie_time.is_some() => Form::Coded,
            [FieldEncoding { kind: Encoding::Float, .. }] => Form::Plain,
            fields if fits_exact_integers(fields) => Form::Packed,
            _ => Form::Coded,
        };
        let radix = |field: &FieldEncoding| field.size().and_then(|size| i64::try_from(size).ok()).unwrap_or(1);
        let radixes = if form == Form::Packed { fields.iter().skip(1).map(radix).collect() } else { Vec::new() };
        Layout { form, fields, radixes, tie_time }
    }

    pub(super) fn is_plain(&self) -> bool {
        self.form == Form::Plain
    }

    /// Whether scores are codes, and the board may have index entries.
    pub(super) fn is_coded(&self) -> bool {
        self.form == Form::Coded
    }

    pub fn has_time(&self) -> bool {
        self.tie_time.is_some()
    }

    pub fn name(&self) -> &'static str {
        match self.form {
            Form::Plain => "plain",
            Form::Packed => "packed",
            Form::Coded => "coded",
        }
    }

    /// The place of members with these values and this time, which is ignored where ties are shared.
    #[inline]
    pub(super) fn encode(&self, values: &[Value], at: i64, since: i64) -> SortKey {
        if let Some(score) = self.uncoded_score(values) {
            return SortKey { score, tail: Tail::new() };
        }
        let mut code = self.code(values);
        if let Some((unit, inverted)) = self.tie_time {
            let piece = Piece::time(at.clamp(0, MAX_MS), since, unit);
            code.push(if inverted { piece.complement() } else { piece });
        }
        code.parts().into()
    }

    fn code(&self, values: &[Value]) -> Code {
        let mut code = Code::default();
        self.fields.iter().zip(values).for_each(|(field, value)| code.push(field.piece(*value)));
        code
    }

    fn uncoded_score(&self, values: &[Value]) -> Option<f64> {
        match (self.form, values) {
            (Form::Plain, [value]) => Some(value.as_f64()),
            (Form::Packed, [Value::Integer(first), rest @ ..]) => {
                let fields = self.fields.iter().skip(1).zip(&self.radixes).zip(rest);
                Some(fields.fold(*first, |number, ((field, radix), value)| number * radix + field.digit(*value)) as f64)
            }
            _ => None,
        }
    }

    /// The score of members with these values, if the score alone identifies the values.
    pub(super) fn score_only(&self, values: &[Value]) -> Option<f64> {
        if self.form != Form::Coded {
            return self.uncoded_score(values);
        }
        if self.has_time() {
            return None;
        }
        let (score, tail) = self.code(values).parts();
        tail.is_empty().then_some(score)
    }

    /// The lowest or the highest place of members whose first fields have these values, and this time where it is given.
    pub(super) fn edge(&self, values: &[Value], time: Option<i64>, since: i64, highest: bool) -> SortKey {
        if values.len() == self.fields.len() && time.is_some() == self.has_time() {
            return self.encode(values, time.unwrap_or(0), since);
        }
        match (self.form, values) {
            (Form::Packed, [Value::Integer(first)]) => {
                let others: i64 = self.radixes.iter().product();
                let number = first * others + if highest { others - 1 } else { 0 };
                SortKey { score: number as f64, tail: Tail::new() }
            }
            _ => self.code(values).edge(highest).into(),
        }
    }

    /// `None` for an element that no member of this layout could have.
    #[inline]
    pub(super) fn decode(&self, score: f64, element: &[u8], since: i64) -> Option<Decoded> {
        match self.form {
            Form::Plain => {
                Some(Decoded { values: Tuple::from_slice(&[Value::Float(score + 0.0)]), time: None, name_at: 0 })
            }
            Form::Packed => self.unpack(score).map(|values| Decoded { values, time: None, name_at: 0 }),
            Form::Coded => self.decode_code(score, element, since),
        }
    }

    /// Reads a code. Returns values only if encoding them would give exactly this score and element.
    fn decode_code(&self, score: f64, element: &[u8], since: i64) -> Option<Decoded> {
        let head = number_of(score)?.checked_sub(FIRST_MEMBER).filter(|head| *head < 1 << 63)?;
        let (tail, name) = match element.first() {
            Some(&WRAPPED_TAG) => split_wrapped(element)?,
            _ => (&[][..], element),
        };
        let mut reader = Reader::new(head, tail);
        let mut values = Tuple::new();
        for field in &self.fields {
            values.push(field.read(&mut reader)?);
        }
        let time = match self.tie_time {
            Some((unit, inverted)) => Some(reader.complemented(inverted).time(since, unit)?),
            None => None,
        };
        let rest = reader.rest()?;
        let own = if rest.len() == tail.len() { fitting_tail(name) } else { &[] };
        // Comparing lengths first saves a call of `memcmp` for two empty slices, with which lists take half as long again.
        let is_own = rest.len() == own.len() && (own.is_empty() || rest == own);
        is_own.then_some(Decoded { values, time, name_at: element.len() - name.len() })
    }

    fn unpack(&self, score: f64) -> Option<Tuple> {
        // Comparing first keeps infinities out, for which the cast would saturate.
        if score.abs() > MAX_EXACT as f64 || score.fract() != 0.0 {
            return None;
        }
        let mut number = score as i64;
        let mut values: Tuple = SmallVec::from_elem(Value::Integer(0), self.fields.len());
        let fields = self.fields.iter().zip(values.iter_mut()).skip(1).zip(&self.radixes);
        for ((field, value), radix) in fields.rev() {
            *value = field.value_of_digit(number.rem_euclid(*radix))?;
            number = number.div_euclid(*radix);
        }
        *values.first_mut()? = self.fields.first()?.checked(number)?;
        Some(values)
    }
}

impl SortKey {
    /// The tail in the element of a member of this name on a coded board: a name that looks like an element of the index
    /// needs one even if the code fits.
    pub fn tail_before(&self, name: &[u8]) -> &[u8] {
        if self.tail.is_empty() {
            fitting_tail(name)
        } else {
            &self.tail
        }
    }
}

/// The tail before a name whose code fits.
fn fitting_tail(name: &[u8]) -> &'static [u8] {
    if needs_wrapping(name) {
        &[0]
    } else {
        &[]
    }
}

impl From<(f64, Tail)> for SortKey {
    fn from((score, tail): (f64, Tail)) -> SortKey {
        SortKey { score, tail }
    }
}

/// Whether all fields together fit an integer of at most 2^53. The first field keeps its value there, and may be negative; each
/// other field counts from the lower of its bounds.
fn fits_exact_integers(fields: &[FieldEncoding]) -> bool {
    let Some((FieldEncoding { kind: Encoding::Bounded(lo, hi), .. }, others)) = fields.split_first() else {
        return false;
    };
    let others = others.iter().try_fold(1_i128, |product, field| Some(product.saturating_mul(field.size()?)));
    others.is_some_and(|others| {
        let highest = i128::from(*hi).saturating_mul(others).saturating_add(others - 1);
        highest <= MAX_EXACT && i128::from(*lo).saturating_mul(others) >= -MAX_EXACT
    })
}
