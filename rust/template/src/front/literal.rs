//! The table of literals, and the names by which rewritten source refers to it.
//!
//! `MiniJinja`'s literals are narrower than Python's: no integer beyond 128 bits, fewer escapes, no lone surrogate.
//! Texts between tags go the same way, since jinja2 cuts whitespace differently.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::value::Value;

/// A constant of a template; unlike a [`Value`] it can be shared between threads.
#[derive(Debug, Clone)]
pub(crate) enum Constant {
    None,
    Bool(bool),
    Int(i64),
    Big(Arc<BigInt>),
    Float(f64),
    Str(Arc<str>),
}

impl Constant {
    /// The value.
    pub fn value(&self) -> Value {
        match self {
            Self::None => Value::None,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Big(value) => Value::Big(Arc::clone(value)),
            Self::Float(value) => Value::Float(*value),
            Self::Str(text) => Value::text(Arc::clone(text)),
        }
    }
}

/// An entry of the table.
#[derive(Debug)]
pub(crate) enum Literal {
    /// Text between tags, printed as it is.
    Text(Arc<str>),
    /// A literal in an expression.
    Constant(Constant),
}

/// The literals of a template in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Literals(Vec<Literal>);

/// `MiniJinja` takes the middle dot for part of a name and jinja2 does not, so that no template can use such a name.
const PREFIX: &str = "literal·";

impl Literals {
    /// Adds a literal and gives the name that stands for it.
    pub fn add(&mut self, literal: Literal) -> String {
        self.0.push(literal);
        format!("{PREFIX}{}", self.0.len() - 1)
    }

    /// The literal that a name stands for.
    pub fn get(&self, name: &str) -> Option<&Literal> {
        self.0.get(name.strip_prefix(PREFIX)?.parse::<usize>().ok()?)
    }
}
