//! One score of a member, and the scores of all its fields.

use std::cmp::Ordering;

use smallvec::SmallVec;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Float(f64),
    Integer(i64),
}

/// One value for each field of the board; boards with more than four fields are rare.
pub type Tuple = SmallVec<[Value; 4]>;

impl Value {
    pub fn as_f64(self) -> f64 {
        match self {
            Value::Float(value) => value,
            Value::Integer(value) => value as f64,
        }
    }

    /// Values of one field are of one type, and never NaN.
    pub fn compare(self, other: Value) -> Ordering {
        match (self, other) {
            (Value::Integer(a), Value::Integer(b)) => a.cmp(&b),
            (a, b) => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Float(value) => f.write_str(&crate::number::float_text(*value)),
            Value::Integer(value) => value.fmt(f),
        }
    }
}
