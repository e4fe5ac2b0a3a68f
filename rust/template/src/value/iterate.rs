//! Iteration, as Python's `iter()`.

use std::rc::Rc;

use super::{Object, Value, View};
use crate::error::{Outcome, type_error};
use crate::eval::Interpreter;

impl Value {
    /// All items, in order. A generator is left empty.
    ///
    /// # Errors
    /// A `TypeError` if it cannot be iterated over, the generator's own error, or an exceeded budget.
    pub fn iterate(&self, interpreter: &mut Interpreter<'_>) -> Outcome<Vec<Value>> {
        match self {
            Self::List(items) | Self::Tuple(items) => {
                interpreter.meter.allocate_items(items.items.len())?;
                Ok(items.items.clone())
            }
            Self::Str(text) => {
                interpreter.meter.allocate_items(text.text.len())?;
                Ok(text.text.chars().map(|c| Self::text(c.encode_utf8(&mut [0; 4]) as &str)).collect())
            }
            Self::Bytes(bytes) => Ok(bytes.iter().map(|&byte| Self::Int(i64::from(byte))).collect()),
            Self::Dict(dict) => {
                interpreter.meter.allocate_items(dict.len())?;
                Ok(dict.entries().iter().map(|(key, _)| key.clone()).collect())
            }
            Self::View(view, dict) => {
                interpreter.meter.allocate_items(dict.len() * 3)?;
                Ok(dict
                    .entries()
                    .iter()
                    .map(|(key, value)| match view {
                        View::Keys => key.clone(),
                        View::Values => value.clone(),
                        View::Items => Self::tuple(vec![key.clone(), value.clone()]),
                    })
                    .collect())
            }
            Self::Range(range) => {
                interpreter.meter.spend(range.len())?;
                interpreter.meter.allocate_items(range.len())?;
                Ok((0..range.len()).map(|index| Self::Int(range.at(index))).collect())
            }
            Self::Generator(generator) => {
                let items = generator.items.take();
                interpreter.meter.spend(items.len())?;
                match generator.error.take() {
                    Some(error) => Err(error),
                    None => Ok(items.into()),
                }
            }
            Self::Undefined(_) => Ok(Vec::new()),
            Self::Object(object) => match &**object {
                Object::Loop(state) => Ok(state.remaining()),
                _ => Err(not_iterable(self)),
            },
            _ => Err(not_iterable(self)),
        }
    }

    /// The next item alone: `next(iter(x))`. `None` when there is none.
    ///
    /// # Errors
    /// As [`Value::iterate`].
    pub fn first(&self, interpreter: &mut Interpreter<'_>) -> Outcome<Option<Value>> {
        match self {
            Self::List(items) | Self::Tuple(items) => Ok(items.items.first().cloned()),
            Self::Generator(generator) => match generator.items.borrow_mut().pop_front() {
                Some(item) => Ok(Some(item)),
                None => generator.error.take().map_or(Ok(None), Err),
            },
            Self::Str(text) => {
                Ok(text.text.chars().next().map(|c| Self::text(c.encode_utf8(&mut [0; 4]) as &str)))
            }
            Self::Dict(dict) => Ok(dict.entries().first().map(|(key, _)| key.clone())),
            _ => Ok(self.iterate(interpreter)?.into_iter().next()),
        }
    }

    /// Whether `iter()` accepts it.
    pub fn is_iterable(&self) -> bool {
        match self {
            Self::None | Self::Bool(_) | Self::Int(_) | Self::Big(_) | Self::Float(_) => false,
            Self::Object(object) => matches!(**object, Object::Loop(_)),
            _ => true,
        }
    }

    /// Whether it is the very same list, so that a copy can be saved.
    pub fn into_items(self, interpreter: &mut Interpreter<'_>) -> Outcome<Vec<Value>> {
        match self {
            Self::List(items) => match Rc::try_unwrap(items) {
                Ok(owned) => Ok(owned.items),
                Err(shared) => Self::List(shared).iterate(interpreter),
            },
            other => other.iterate(interpreter),
        }
    }
}

fn not_iterable(value: &Value) -> crate::error::TemplateError {
    type_error(format!("'{}' object is not iterable", value.type_name()))
}
