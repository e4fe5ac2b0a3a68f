//! Arguments of a call, and how they bind to the parameters of a built-in function.

use std::sync::Arc;

use super::Value;
use crate::error::{Outcome, type_error};

/// What a call passes.
#[derive(Debug, Default, Clone)]
pub(crate) struct Arguments {
    pub positional: Vec<Value>,
    pub named: Vec<(Arc<str>, Value)>,
}

/// Arguments in the order of the parameters; `None` where nothing was passed.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<Option<Value>>);

impl Arguments {
    /// Only positional arguments.
    pub fn positional(positional: Vec<Value>) -> Self {
        Self { positional, named: Vec::new() }
    }

    /// Takes out a named argument.
    pub fn take_named(&mut self, name: &str) -> Option<Value> {
        let at = self.named.iter().position(|(given, _)| &**given == name)?;
        Some(self.named.remove(at).1)
    }

    /// Binds to parameters of which the first `required` must be given.
    ///
    /// # Errors
    /// A `TypeError` for a missing, surplus, unknown or repeated argument.
    pub fn bind(self, function: &str, names: &[&str], required: usize) -> Outcome<Parameters> {
        if self.positional.len() > names.len() {
            return Err(type_error(format!(
                "{function}() takes at most {} arguments ({} given)",
                names.len(),
                self.positional.len()
            )));
        }
        let mut values: Vec<Option<Value>> = self.positional.into_iter().map(Some).collect();
        values.resize(names.len(), None);
        for (name, value) in self.named {
            let Some(at) = names.iter().position(|known| **known == *name) else {
                return Err(type_error(format!("{function}() got an unexpected keyword argument '{name}'")));
            };
            if values[at].is_some() {
                return Err(type_error(format!("{function}() got multiple values for argument '{name}'")));
            }
            values[at] = Some(value);
        }
        if let Some(missing) = values.iter().take(required).position(Option::is_none) {
            return Err(type_error(format!("{function}() missing required argument: '{}'", names[missing])));
        }
        Ok(Parameters(values))
    }

    /// Binds to parameters that Python only takes by position.
    ///
    /// # Errors
    /// A `TypeError` for a missing, surplus or named argument.
    pub fn bind_positional(self, function: &str, most: usize, required: usize) -> Outcome<Parameters> {
        if !self.named.is_empty() {
            return Err(type_error(format!("{function}() takes no keyword arguments")));
        }
        if self.positional.len() > most || self.positional.len() < required {
            return Err(type_error(format!(
                "{function}() takes {required} to {most} arguments ({} given)",
                self.positional.len()
            )));
        }
        let mut values: Vec<Option<Value>> = self.positional.into_iter().map(Some).collect();
        values.resize(most, None);
        Ok(Parameters(values))
    }
}

impl Parameters {
    /// The value at a position, if it was passed.
    pub fn take(&mut self, at: usize) -> Option<Value> {
        self.0.get_mut(at).and_then(Option::take)
    }

    /// The value at a position, or a default.
    pub fn take_or(&mut self, at: usize, default: Value) -> Value {
        self.take(at).unwrap_or(default)
    }

    /// Whether the value at a position is true; `default` where it was not passed.
    pub fn flag(&mut self, at: usize, default: bool) -> bool {
        self.take(at).map_or(default, |value| value.is_true())
    }

    /// The integer at a position.
    ///
    /// # Errors
    /// A `TypeError` if it is no integer.
    pub fn integer(&mut self, at: usize, default: i64) -> Outcome<i64> {
        match self.take(at) {
            None => Ok(default),
            Some(value) => {
                value.require_defined()?;
                value.as_index().ok_or_else(|| {
                    type_error(format!("'{}' object cannot be interpreted as an integer", value.type_name()))
                })
            }
        }
    }

    /// The integer at a position, `None` where it is None or was not passed.
    ///
    /// # Errors
    /// A `TypeError` if it is something else.
    pub fn optional_integer(&mut self, at: usize) -> Outcome<Option<i64>> {
        match self.take(at) {
            None | Some(Value::None) => Ok(None),
            Some(value) => {
                value.require_defined()?;
                value.as_index().map(Some).ok_or_else(|| {
                    type_error(format!("'{}' object cannot be interpreted as an integer", value.type_name()))
                })
            }
        }
    }
}
