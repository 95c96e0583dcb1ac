//! Bytes of a fuzzer as values. What is missing at the end reads as zero, so that any bytes are an input.

use crate::board::tests::{DataHash, Field, FieldType, Rules, Schema, TieRule, Ties, TimeUnit, Tuple};
use crate::board::{Order, Periods, Update, Value};

pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    pub fn bool(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// Below a bound of at most 256.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// As many bytes as the first of them says, but no more than there are.
    pub fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.rest.len());
        let (bytes, rest) = self.rest.split_at(length);
        self.rest = rest;
        bytes
    }

    pub fn order(&mut self) -> Order {
        self.pick(&[Order::Descending, Order::Ascending])
    }

    fn field_type(&mut self) -> FieldType {
        match self.below(6) {
            0 => FieldType::Float,
            1 => FieldType::Int,
            2 => FieldType::Bits(1 + self.below(62) as u8),
            3 => FieldType::Digits(1 + self.below(18) as u8),
            4 => {
                let lo = self.byte() as i8;
                FieldType::Range(i64::from(lo), i64::from(lo) + 1 + i64::from(self.byte()))
            }
            _ => {
                let (a, b) = (self.word() as i64, self.word() as i64);
                if a == b {
                    FieldType::Range(-1, 1)
                } else {
                    FieldType::Range(a.min(b), a.max(b))
                }
            }
        }
    }

    pub fn rules(&mut self) -> Rules {
        let fields = 1 + self.below(6);
        let units = [TimeUnit::Milliseconds, TimeUnit::Seconds];
        Rules {
            fields: (0..fields)
                .map(|i| Field { name: format!("f{i}"), order: self.order(), kind: self.field_type() })
                .collect(),
            ties: match self.below(4) {
                0 => Ties::Shared,
                1 => Ties::ByTime(TieRule::First, self.pick(&units)),
                2 => Ties::ByTime(TieRule::Last, self.pick(&units)),
                _ => Ties::ByTime(TieRule::Joined, self.pick(&units)),
            },
            keep: self.bool().then(|| 1 + u64::from(self.byte())),
            data: (self.byte() == 1).then(|| DataHash { hash: self.bytes().to_vec(), owner: None }),
            update: self.pick(&[Update::Set, Update::Best]),
            periods: Periods::default(),
            shard: None,
        }
    }

    /// Any value of the field, the extremes often.
    fn value(&mut self, kind: FieldType) -> Value {
        let pick = self.below(8);
        match kind.bounds() {
            None => {
                let any = f64::from_bits(self.word());
                let any = if any.is_finite() { any + 0.0 } else { 0.0 };
                Value::Float([any, any, 0.0, 5e-324, f64::MAX, f64::MIN, 9_007_199_254_740_993.0, -1.5][pick])
            }
            Some((lo, hi)) => {
                let size = (i128::from(hi) - i128::from(lo) + 1).unsigned_abs();
                let any = i128::from(lo) + (u128::from(self.word()) % size) as i128;
                let any = i64::try_from(any).unwrap_or(lo);
                Value::Integer([any, any, lo, lo + 1, hi - 1, hi, 0.clamp(lo, hi), lo.midpoint(hi)][pick])
            }
        }
    }

    pub fn tuple(&mut self, schema: &Schema) -> Tuple {
        schema.fields().iter().map(|field| self.value(field.kind)).collect()
    }

    /// A score as anybody may put it into a sorted set, which takes no NaN.
    pub fn score(&mut self, near: f64) -> f64 {
        let score = match self.below(8) {
            0 => near,
            1 => near.next_up(),
            2 => near.next_down(),
            3 => near + 0.5,
            4 => self.word() as i64 as f64,
            5 => f64::INFINITY,
            6 => f64::NEG_INFINITY,
            _ => f64::from_bits(self.word()),
        };
        if score.is_nan() {
            0.0
        } else {
            score
        }
    }
}
