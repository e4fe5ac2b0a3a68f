//! Arithmetic and concatenation.

use num_bigint::BigInt;

use super::Interpreter;
use crate::error::{Outcome, TemplateError, overflow_error, type_error, zero_division};
use crate::front::BinaryOperator;
use crate::text::escape;
use crate::value::{Arguments, Integer, Text, Value};

/// Integers with more bits are refused: Python cannot print them anyway (4300 digits are 14285 bits).
const MAX_INTEGER_BITS: u64 = 1 << 17;

impl Interpreter<'_> {
    /// A binary operation.
    ///
    /// # Errors
    /// What Python raises: type errors, division by zero, overflow of floats.
    pub fn binary(&mut self, operator: BinaryOperator, left: &Value, right: &Value) -> Outcome<Value> {
        left.require_defined()?;
        if let (BinaryOperator::Remainder, Value::Str(format)) = (operator, left) {
            return percent_text(self, format, right);
        }
        right.require_defined()?;
        if let (Some(a), Some(b)) = (Integer::of(left), Integer::of(right)) {
            return integers(operator, &a, &b);
        }
        if let (Some(a), Some(b)) = (float_operand(left), float_operand(right)) {
            return floats(operator, a?, b?);
        }
        match operator {
            BinaryOperator::Add => self.add(left, right),
            BinaryOperator::Multiply => self.repeat(left, right),
            _ => Err(unsupported(operator, left, right)),
        }
    }

    fn add(&mut self, left: &Value, right: &Value) -> Outcome<Value> {
        match (left, right) {
            (Value::Str(a), Value::Str(b)) => {
                self.meter.allocate(a.text.len() + b.text.len())?;
                let markup = a.markup || b.markup;
                let mut text = String::with_capacity(a.text.len() + b.text.len());
                for part in [a, b] {
                    if markup && !part.markup {
                        text.push_str(&escape(&part.text));
                    } else {
                        text.push_str(&part.text);
                    }
                }
                Ok(if markup { Value::markup(text) } else { Value::text(text) })
            }
            (Value::List(a), Value::List(b)) => {
                self.meter.allocate_items(a.items.len() + b.items.len())?;
                Ok(Value::list(a.items.iter().chain(&b.items).cloned().collect()))
            }
            (Value::Tuple(a), Value::Tuple(b)) => {
                self.meter.allocate_items(a.items.len() + b.items.len())?;
                Ok(Value::tuple(a.items.iter().chain(&b.items).cloned().collect()))
            }
            (Value::Bytes(a), Value::Bytes(b)) => {
                self.meter.allocate(a.len() + b.len())?;
                Ok(Value::Bytes(a.iter().chain(b.iter()).copied().collect()))
            }
            (Value::Str(_) | Value::List(_) | Value::Tuple(_), _) => Err(type_error(format!(
                "can only concatenate {0} (not \"{1}\") to {0}",
                left.type_name(),
                right.type_name()
            ))),
            _ => Err(unsupported(BinaryOperator::Add, left, right)),
        }
    }

    fn repeat(&mut self, left: &Value, right: &Value) -> Outcome<Value> {
        let (sequence, times) = match (left.as_index(), right.as_index()) {
            (_, Some(times)) => (left, times),
            (Some(times), None) => (right, times),
            (None, None) => return Err(unsupported(BinaryOperator::Multiply, left, right)),
        };
        let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
        match sequence {
            Value::Str(text) => {
                self.meter.allocate(text.text.len().saturating_mul(times))?;
                Ok(Value::text_like(text, text.text.repeat(times)))
            }
            Value::List(items) | Value::Tuple(items) => {
                let length = items.items.len().saturating_mul(times);
                self.meter.allocate_items(length)?;
                let repeated = items.items.iter().cycle().take(length).cloned().collect();
                Ok(if matches!(sequence, Value::List(_)) {
                    Value::list(repeated)
                } else {
                    Value::tuple(repeated)
                })
            }
            _ => Err(unsupported(BinaryOperator::Multiply, left, right)),
        }
    }
}

/// `-operand`.
pub(super) fn negative(operand: &Value) -> Outcome<Value> {
    operand.require_defined()?;
    if let Value::Float(value) = operand {
        return Ok(Value::Float(-value));
    }
    match Integer::of(operand) {
        Some(Integer::Small(value)) => Ok(Integer::from(-i128::from(value)).into()),
        Some(Integer::Big(value)) => Ok(Integer::from(-value).into()),
        None => Err(type_error(format!("bad operand type for unary -: '{}'", operand.type_name()))),
    }
}

/// `a ~ b ~ c`: the texts one after the other, escaped only where that is on.
pub(crate) fn concatenated(interpreter: &mut Interpreter<'_>, parts: &[Value]) -> Outcome<Value> {
    let markup =
        interpreter.autoescape() && parts.iter().any(|part| matches!(part, Value::Str(t) if t.markup));
    let mut out = String::new();
    for part in parts {
        match part {
            Value::Str(text) if markup && !text.markup => out.push_str(&escape(&text.text)),
            _ if markup && !matches!(part, Value::Str(_)) => {
                let text = part.to_text(interpreter)?;
                out.push_str(&escape(&text.text));
            }
            _ => part.write_str(interpreter, &mut out)?,
        }
    }
    interpreter.meter.allocate(out.len())?;
    Ok(if markup { Value::markup(out) } else { Value::text(out) })
}

/// `format % value`: a tuple gives several values, a dict named ones.
pub(crate) fn percent_text(
    interpreter: &mut Interpreter<'_>,
    format: &Text,
    right: &Value,
) -> Outcome<Value> {
    let arguments = match right {
        Value::Tuple(items) => items.items.clone(),
        other => vec![other.clone()],
    };
    let single = !matches!(right, Value::Tuple(_));
    crate::methods::percent_format(interpreter, format, Arguments::positional(arguments), single)
}

/// The float that a number is for arithmetic with floats.
fn float_operand(value: &Value) -> Option<Outcome<f64>> {
    if let Value::Float(value) = value {
        return Some(Ok(*value));
    }
    let float = Integer::of(value)?.to_float();
    Some(if float.is_finite() { Ok(float) } else { Err(overflow_error("int too large to convert to float")) })
}

fn floats(operator: BinaryOperator, a: f64, b: f64) -> Outcome<Value> {
    Ok(Value::Float(match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        BinaryOperator::Multiply => a * b,
        BinaryOperator::Divide if b == 0.0 => return Err(zero_division("float division by zero")),
        BinaryOperator::FloorDivide if b == 0.0 => {
            return Err(zero_division("float floor division by zero"));
        }
        BinaryOperator::Remainder if b == 0.0 => return Err(zero_division("float modulo")),
        BinaryOperator::Divide => a / b,
        BinaryOperator::FloorDivide => floor_divide(a, b).0,
        BinaryOperator::Remainder => floor_divide(a, b).1,
        BinaryOperator::Power if a == 0.0 && b < 0.0 => {
            return Err(zero_division("0.0 cannot be raised to a negative power"));
        }
        BinaryOperator::Power if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 => {
            return Err(type_error("complex results are not supported"));
        }
        BinaryOperator::Power => {
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return Err(overflow_error("(34, 'Numerical result out of range')"));
            }
            power
        }
    }))
}

/// Python's `divmod` of floats: the remainder has the sign of the divisor.
fn floor_divide(a: f64, b: f64) -> (f64, f64) {
    let mut remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder == 0.0 {
        remainder = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (remainder < 0.0) {
        remainder += b;
        quotient -= 1.0;
    }
    let floored = if quotient == 0.0 {
        0.0_f64.copysign(a / b)
    } else {
        let floor = quotient.floor();
        if quotient - floor > 0.5 { floor + 1.0 } else { floor }
    };
    (floored, remainder)
}

fn integers(operator: BinaryOperator, a: &Integer, b: &Integer) -> Outcome<Value> {
    let zero = matches!(b, Integer::Small(0));
    match operator {
        BinaryOperator::Divide if zero => return Err(zero_division("division by zero")),
        BinaryOperator::FloorDivide if zero => {
            return Err(zero_division("integer division or modulo by zero"));
        }
        BinaryOperator::Remainder if zero => return Err(zero_division("integer modulo by zero")),
        BinaryOperator::Divide => return true_divide(a, b),
        BinaryOperator::Power => return power(a, b),
        _ => {}
    }
    if let (Integer::Small(a), Integer::Small(b)) = (a, b) {
        let (a, b) = (i128::from(*a), i128::from(*b));
        let remainder = ((a % b.abs().max(1)) + b.abs()) % b.abs().max(1);
        let value = match operator {
            BinaryOperator::Add => a + b,
            BinaryOperator::Subtract => a - b,
            BinaryOperator::Multiply => a * b,
            BinaryOperator::FloorDivide => a.div_euclid(b) - i128::from(b < 0 && remainder != 0),
            _ => {
                if b < 0 && remainder != 0 {
                    remainder + b
                } else {
                    remainder
                }
            }
        };
        return Ok(Integer::from(value).into());
    }
    if a.bits() + b.bits() > MAX_INTEGER_BITS {
        return Err(too_large(a.bits() + b.bits()));
    }
    let (a, b) = (a.to_big(), b.to_big());
    Ok(Integer::from(match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        BinaryOperator::Multiply => a * b,
        BinaryOperator::FloorDivide => big_divide(&a, &b).0,
        _ => big_divide(&a, &b).1,
    })
    .into())
}

/// Quotient rounded down, and the remainder with the sign of the divisor.
fn big_divide(a: &BigInt, b: &BigInt) -> (BigInt, BigInt) {
    let quotient = a / b;
    let remainder = a - &quotient * b;
    let zero = BigInt::ZERO;
    if remainder != zero && (remainder < zero) != (*b < zero) {
        return (quotient - 1, remainder + b);
    }
    (quotient, remainder)
}

/// `a / b` of integers, correctly rounded as long as both are exact as floats.
fn true_divide(a: &Integer, b: &Integer) -> Outcome<Value> {
    let (numerator, denominator) = (a.to_float(), b.to_float());
    if numerator.is_finite() && denominator.is_finite() {
        return Ok(Value::Float(numerator / denominator));
    }
    Err(overflow_error("integer division result too large for a float"))
}

fn power(base: &Integer, exponent: &Integer) -> Outcome<Value> {
    if let Integer::Small(exponent) = exponent
        && *exponent >= 0
    {
        let exponent = u32::try_from(*exponent).unwrap_or(u32::MAX);
        // 0, 1 and -1 stay small however high the exponent.
        let bits = if base.bits() <= 1 { 1 } else { base.bits().saturating_mul(u64::from(exponent)) };
        if bits > MAX_INTEGER_BITS {
            return Err(too_large(bits));
        }
        if base.bits() <= 1 {
            let odd = exponent % 2 == 1;
            return Ok(match base {
                Integer::Small(0) => Value::Int(i64::from(exponent == 0)),
                Integer::Small(-1) if odd => Value::Int(-1),
                _ => Value::Int(1),
            });
        }
        return Ok(Integer::from(base.to_big().pow(exponent)).into());
    }
    let negative = !matches!(exponent, Integer::Big(value) if value.sign() == num_bigint::Sign::Plus);
    if negative {
        return floats(BinaryOperator::Power, base.to_float(), exponent.to_float());
    }
    Err(too_large(u64::MAX))
}

fn too_large(bits: u64) -> TemplateError {
    overflow_error(format!("integer of {bits} bits, limit {MAX_INTEGER_BITS}"))
}

fn unsupported(operator: BinaryOperator, left: &Value, right: &Value) -> TemplateError {
    let symbol = match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::FloorDivide => "//",
        BinaryOperator::Remainder => "%",
        BinaryOperator::Power => "** or pow()",
    };
    type_error(format!(
        "unsupported operand type(s) for {symbol}: '{}' and '{}'",
        left.type_name(),
        right.type_name()
    ))
}
