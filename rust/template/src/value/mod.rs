//! The values of the Python world that a chat template can see.
//!
//! A value is cheap to clone: texts and containers are shared. Containers never change once made, since the
//! sandbox forbids it; only namespaces do.

mod bound;
mod compare;
mod dict;
mod from_json;
mod integer;
mod iterate;
mod object;
mod repr;
mod undefined;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use num_bigint::BigInt;

pub(crate) use bound::{Arguments, Parameters};
pub(crate) use compare::{contains, equal, identical, less_than, order};
pub(crate) use dict::Dict;
pub(crate) use from_json::from_json;
pub(crate) use integer::{Integer, truncated};
pub(crate) use object::{Activation, Cycler, Function, LoopState, Macro, Namespace, Object};
pub(crate) use repr::big_text;
pub(crate) use undefined::Undefined;

use crate::error::{Outcome, TemplateError, type_error};

/// Containers nested deeper than this are refused, as Python refuses to print them.
pub(crate) const MAX_VALUE_DEPTH: u16 = 500;

/// A Python `str`; `markup` marks markupsafe's subclass for text that is safe as HTML.
///
/// A lone surrogate U+D800..U+DFFF, which a Rust text cannot hold, is kept as the private-use character
/// U+10F800..U+10FFFF (see [`crate::text::surrogate`]).
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub text: Arc<str>,
    pub markup: bool,
}

/// The items of a list or tuple, with the depth of nesting below it.
#[derive(Debug)]
pub(crate) struct Items {
    pub items: Vec<Value>,
    pub depth: u16,
}

/// Which view of a dict: `keys()`, `values()` or `items()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Keys,
    Values,
    Items,
}

/// A Python `range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub start: i64,
    pub stop: i64,
    pub step: i64,
}

impl Range {
    /// The number of integers in the range.
    pub fn len(self) -> usize {
        let (low, high) = if self.step > 0 { (self.start, self.stop) } else { (self.stop, self.start) };
        if low >= high {
            return 0;
        }
        let distance = low.abs_diff(high);
        usize::try_from((distance - 1) / self.step.unsigned_abs() + 1).unwrap_or(usize::MAX)
    }

    /// The integer at `index`, which must be below [`Range::len`].
    pub fn at(self, index: usize) -> i64 {
        let offset = i64::try_from(index).unwrap_or(i64::MAX).wrapping_mul(self.step);
        self.start.wrapping_add(offset)
    }
}

/// A generator: items not yet consumed, then perhaps the error that computing the next one gave.
#[derive(Debug)]
pub(crate) struct Generator {
    /// The name of the Python function that makes it, shown when it is printed.
    pub name: &'static str,
    pub items: RefCell<VecDeque<Value>>,
    pub error: RefCell<Option<TemplateError>>,
    pub depth: u16,
}

/// A Python value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Undefined(Rc<Undefined>),
    None,
    Bool(bool),
    Int(i64),
    /// An integer outside the range of `i64`; never one inside it.
    Big(Arc<BigInt>),
    Float(f64),
    Str(Text),
    Bytes(Rc<[u8]>),
    List(Rc<Items>),
    Tuple(Rc<Items>),
    Dict(Rc<Dict>),
    View(View, Rc<Dict>),
    Range(Range),
    Generator(Rc<Generator>),
    Object(Rc<Object>),
}

impl Value {
    /// A plain text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Str(Text { text: text.into(), markup: false })
    }

    /// A text that is safe as HTML.
    pub fn markup(text: impl Into<Arc<str>>) -> Self {
        Self::Str(Text { text: text.into(), markup: true })
    }

    /// A text like `model`: safe as HTML if that is.
    pub fn text_like(model: &Text, text: impl Into<Arc<str>>) -> Self {
        Self::Str(Text { text: text.into(), markup: model.markup })
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Self {
        let depth = depth_of(&items);
        Self::List(Rc::new(Items { items, depth }))
    }

    /// A tuple.
    pub fn tuple(items: Vec<Value>) -> Self {
        let depth = depth_of(&items);
        Self::Tuple(Rc::new(Items { items, depth }))
    }

    /// A dict.
    pub fn dict(dict: Dict) -> Self {
        Self::Dict(Rc::new(dict))
    }

    /// A generator of `items`, and then of the error if there is one.
    pub fn generator(name: &'static str, items: Vec<Value>, error: Option<TemplateError>) -> Self {
        let depth = depth_of(&items);
        Self::Generator(Rc::new(Generator {
            name,
            items: RefCell::new(items.into()),
            error: RefCell::new(error),
            depth,
        }))
    }

    /// Any integer that fits the machine; lengths and positions.
    pub fn size(size: usize) -> Self {
        Self::Int(i64::try_from(size).unwrap_or(i64::MAX))
    }

    /// An undefined value.
    pub fn undefined(undefined: Undefined) -> Self {
        Self::Undefined(Rc::new(undefined))
    }

    /// How deeply containers are nested in it; 0 for a scalar.
    pub fn depth(&self) -> u16 {
        match self {
            Self::List(items) | Self::Tuple(items) => items.depth,
            Self::Dict(dict) | Self::View(_, dict) => dict.depth,
            Self::Generator(generator) => generator.depth,
            Self::Object(object) => object.depth(),
            _ => 0,
        }
    }

    /// Refuses values nested so deeply that walking them could exhaust the stack.
    pub fn check_depth(&self) -> Outcome<()> {
        if self.depth() > MAX_VALUE_DEPTH {
            return Err(TemplateError::TooDeep { limit: usize::from(MAX_VALUE_DEPTH) });
        }
        Ok(())
    }

    /// The name of its Python type, as `type(x).__name__`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Undefined(_) => "Undefined",
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Big(_) => "int",
            Self::Float(_) => "float",
            Self::Str(text) => {
                if text.markup {
                    "Markup"
                } else {
                    "str"
                }
            }
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::View(View::Keys, _) => "dict_keys",
            Self::View(View::Values, _) => "dict_values",
            Self::View(View::Items, _) => "dict_items",
            Self::Range(_) => "range",
            Self::Generator(generator) => match generator.name {
                "reversed" => "reversed",
                _ => "generator",
            },
            Self::Object(object) => object.type_name(),
        }
    }

    /// Python's truth value.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Undefined(_) | Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Str(text) => !text.text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(items) | Self::Tuple(items) => !items.items.is_empty(),
            Self::Dict(dict) | Self::View(_, dict) => !dict.is_empty(),
            Self::Range(range) => range.len() > 0,
            Self::Big(_) | Self::Generator(_) | Self::Object(_) => true,
        }
    }

    /// The text, of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(&text.text),
            _ => None,
        }
    }

    /// Python's `len()`.
    pub fn length(&self) -> Outcome<usize> {
        Ok(match self {
            Self::Undefined(_) => 0,
            Self::Str(text) => crate::text::length(&text.text),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(items) | Self::Tuple(items) => items.items.len(),
            Self::Dict(dict) | Self::View(_, dict) => dict.len(),
            Self::Range(range) => range.len(),
            Self::Object(object) => match &**object {
                Object::Loop(state) => state.length(),
                _ => {
                    return Err(type_error(format!("object of type '{}' has no len()", self.type_name())));
                }
            },
            _ => {
                return Err(type_error(format!("object of type '{}' has no len()", self.type_name())));
            }
        })
    }

    /// The value as Python's `__index__` gives it, as far as it fits: a larger one saturates, as slices do.
    pub fn as_index(&self) -> Option<i64> {
        match self {
            Self::Bool(value) => Some(i64::from(*value)),
            Self::Int(value) => Some(*value),
            Self::Big(value) => {
                Some(if value.sign() == num_bigint::Sign::Minus { i64::MIN } else { i64::MAX })
            }
            _ => None,
        }
    }

    /// The error that using it gives, where it is undefined; `Ok` otherwise.
    pub fn require_defined(&self) -> Outcome<()> {
        match self {
            Self::Undefined(undefined) => Err(undefined.error()),
            _ => Ok(()),
        }
    }
}

/// One more than the depth of the deepest item.
fn depth_of(items: &[Value]) -> u16 {
    items.iter().map(Value::depth).max().unwrap_or(0).saturating_add(1)
}
