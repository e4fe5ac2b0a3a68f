//! `==`, `<`, `in` and `is`, as in Python.

use std::cmp::Ordering;
use std::rc::Rc;

use super::integer::exact_integer;
use super::{Dict, Integer, Items, Object, Value, View};
use crate::error::{Outcome, type_error};
use crate::eval::Interpreter;

/// Python's `==`, which never fails for the values there are.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => a.text == b.text,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::None, Value::None) | (Value::Undefined(_), Value::Undefined(_)) => true,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            Rc::ptr_eq(a, b) || items_equal(a, b)
        }
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b) || dicts_equal(a, b),
        (Value::View(View::Keys, a), Value::View(View::Keys, b)) => {
            a.len() == b.len() && a.entries().iter().all(|(key, _)| matches!(b.get(key), Ok(Some(_))))
        }
        (Value::View(View::Items, a), Value::View(View::Items, b)) => dicts_equal(a, b),
        (Value::Range(a), Value::Range(b)) => {
            let length = a.len();
            length == b.len() && (length == 0 || a.start == b.start && (length == 1 || a.step == b.step))
        }
        (Value::Generator(a), Value::Generator(b)) => Rc::ptr_eq(a, b),
        (Value::Object(a), Value::Object(b)) => Rc::ptr_eq(a, b) || a.same_function(b),
        _ => compare_numbers(left, right) == Some(Numbers::Ordered(Ordering::Equal)),
    }
}

fn items_equal(left: &Items, right: &Items) -> bool {
    // Python compares items by identity first, which only matters for NaN; equality is enough here otherwise.
    left.items.len() == right.items.len() && left.items.iter().zip(&right.items).all(|(a, b)| equal(a, b))
}

fn dicts_equal(left: &Dict, right: &Dict) -> bool {
    left.len() == right.len()
        && left.entries().iter().all(|(key, value)| match right.get(key) {
            Ok(Some(other)) => equal(value, other),
            _ => false,
        })
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Ordered(Ordering),
    /// One of them is NaN.
    Unordered,
}

impl From<Option<Ordering>> for Numbers {
    fn from(order: Option<Ordering>) -> Self {
        order.map_or(Self::Unordered, Self::Ordered)
    }
}

/// The order of two numbers; `None` if one is no number.
fn compare_numbers(left: &Value, right: &Value) -> Option<Numbers> {
    let (left_float, right_float) = (as_float(left), as_float(right));
    match (left_float, right_float) {
        (Some(a), Some(b)) => Some(a.partial_cmp(&b).into()),
        (Some(a), None) => Some(compare_integer_float(&Integer::of(right)?, a).map(Ordering::reverse).into()),
        (None, Some(b)) => Some(compare_integer_float(&Integer::of(left)?, b).into()),
        (None, None) => match (Integer::of(left)?, Integer::of(right)?) {
            (Integer::Small(a), Integer::Small(b)) => Some(Numbers::Ordered(a.cmp(&b))),
            (a, b) => Some(Numbers::Ordered(a.to_big().cmp(&b.to_big()))),
        },
    }
}

fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

/// Exactly, without rounding the integer.
fn compare_integer_float(integer: &Integer, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let floor = exact_integer(float.floor())?.to_big();
    Some(match integer.to_big().cmp(&floor) {
        Ordering::Equal if float.fract() != 0.0 => Ordering::Less,
        order => order,
    })
}

/// The order of two values; `operator` is for the message. `None` for NaN.
///
/// # Errors
/// A `TypeError` if Python has no order for them, and an undefined value's own error.
pub(crate) fn order(left: &Value, right: &Value, operator: &str) -> Outcome<Option<Ordering>> {
    match (left, right) {
        (Value::Undefined(undefined), _) | (_, Value::Undefined(undefined)) => {
            return Err(undefined.error());
        }
        (Value::Str(a), Value::Str(b)) => return Ok(Some(a.text.cmp(&b.text))),
        (Value::Bytes(a), Value::Bytes(b)) => return Ok(Some(a.cmp(b))),
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            for (x, y) in a.items.iter().zip(&b.items) {
                if !equal(x, y) {
                    return order(x, y, operator);
                }
            }
            return Ok(Some(a.items.len().cmp(&b.items.len())));
        }
        _ => {}
    }
    match compare_numbers(left, right) {
        Some(Numbers::Ordered(order)) => Ok(Some(order)),
        Some(Numbers::Unordered) => Ok(None),
        None => Err(type_error(format!(
            "'{operator}' not supported between instances of '{}' and '{}'",
            left.type_name(),
            right.type_name()
        ))),
    }
}

/// Python's `<`, which sorting uses.
pub(crate) fn less_than(left: &Value, right: &Value) -> Outcome<bool> {
    Ok(order(left, right, "<")? == Some(Ordering::Less))
}

/// Python's `needle in haystack`.
///
/// # Errors
/// A `TypeError` if the haystack holds nothing or only texts can be looked for in it.
pub(crate) fn contains(interpreter: &mut Interpreter<'_>, haystack: &Value, needle: &Value) -> Outcome<bool> {
    match haystack {
        Value::Str(text) => match needle {
            Value::Str(part) => {
                interpreter.meter.spend(text.text.len() / 64)?;
                Ok(text.text.contains(&*part.text))
            }
            Value::Undefined(undefined) => Err(undefined.error()),
            _ => Err(type_error(format!(
                "'in <string>' requires string as left operand, not {}",
                needle.type_name()
            ))),
        },
        Value::List(items) | Value::Tuple(items) => {
            interpreter.meter.spend(items.items.len())?;
            Ok(items.items.iter().any(|item| equal(item, needle)))
        }
        Value::Dict(dict) | Value::View(View::Keys, dict) => match needle.as_str() {
            Some(key) => Ok(dict.get_str(key).is_some()),
            None => Ok(dict.get(needle)?.is_some()),
        },
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => {
            Err(type_error(format!("argument of type '{}' is not iterable", haystack.type_name())))
        }
        _ if haystack.is_iterable() => {
            Ok(haystack.iterate(interpreter)?.iter().any(|item| equal(item, needle)))
        }
        _ => Err(type_error(format!("argument of type '{}' is not iterable", haystack.type_name()))),
    }
}

/// Python's `is`, as far as values keep an identity: small scalars by value, containers by place.
pub(crate) fn identical(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::None, Value::None) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Str(a), Value::Str(b)) => a.markup == b.markup && a.text == b.text,
        (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
        (Value::Tuple(a), Value::Tuple(b)) => Rc::ptr_eq(a, b) || a.items.is_empty() && b.items.is_empty(),
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
        (Value::Generator(a), Value::Generator(b)) => Rc::ptr_eq(a, b),
        (Value::Object(a), Value::Object(b)) => Rc::ptr_eq(a, b) || a.same_function(b),
        (Value::Undefined(a), Value::Undefined(b)) => Rc::ptr_eq(a, b),
        _ => false,
    }
}

impl Object {
    /// Whether both are the same built-in function, which has no place of its own.
    fn same_function(&self, other: &Object) -> bool {
        matches!((self, other), (Object::Function(a), Object::Function(b)) if a == b)
    }
}
