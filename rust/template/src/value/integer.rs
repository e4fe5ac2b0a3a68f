//! Python's unbounded integers.

use std::sync::Arc;

use num_bigint::BigInt;

use super::Value;

/// An integer: in a machine word as long as it fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    Small(i64),
    Big(BigInt),
}

impl From<BigInt> for Integer {
    fn from(value: BigInt) -> Self {
        match i64::try_from(&value) {
            Ok(small) => Self::Small(small),
            Err(_) => Self::Big(value),
        }
    }
}

impl From<i128> for Integer {
    fn from(value: i128) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Big(BigInt::from(value)), Self::Small)
    }
}

impl From<Integer> for Value {
    fn from(value: Integer) -> Self {
        match value {
            Integer::Small(value) => Self::Int(value),
            Integer::Big(value) => Self::Big(Arc::new(value)),
        }
    }
}

impl Integer {
    /// The integer that a value is; bools are integers.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Small(i64::from(*value))),
            Value::Int(value) => Some(Self::Small(*value)),
            Value::Big(value) => Some(Self::Big((**value).clone())),
            _ => None,
        }
    }

    /// As an unbounded integer.
    pub fn to_big(&self) -> BigInt {
        match self {
            Self::Small(value) => BigInt::from(*value),
            Self::Big(value) => value.clone(),
        }
    }

    /// The nearest float; infinite when out of range.
    pub fn to_float(&self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "Python rounds to nearest too")]
            Self::Small(value) => *value as f64,
            // The decimal text is parsed with correct rounding.
            Self::Big(value) => value.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// Number of bits of the magnitude.
    pub fn bits(&self) -> u64 {
        match self {
            Self::Small(value) => u64::from(64 - value.unsigned_abs().leading_zeros()),
            Self::Big(value) => value.bits(),
        }
    }
}

/// The integer that a float is equal to, if there is one.
pub(crate) fn exact_integer(value: f64) -> Option<Integer> {
    if !value.is_finite() || value.fract() != 0.0 {
        return None;
    }
    Some(truncated(value))
}

/// The integer part of a finite float; 0 for others.
pub(crate) fn truncated(value: f64) -> Integer {
    if value.abs() < 1e18 {
        #[expect(clippy::cast_possible_truncation, reason = "inside the range of i64")]
        return Integer::Small(value as i64);
    }
    if !value.is_finite() {
        return Integer::Small(0);
    }
    // A large float is an integer, and its decimal text is exact.
    Integer::from(format!("{value:.0}").parse::<BigInt>().unwrap_or_default())
}
