//! Methods of everything but text.

use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Outcome, runtime_error, type_error, value_error};
use crate::eval::Interpreter;
use crate::value::{Arguments, Dict, Function, Integer, Items, Object, Value, View, equal};

/// Calls a method.
pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    owner: &Value,
    name: &Arc<str>,
    arguments: Arguments,
) -> Outcome<Value> {
    match owner {
        Value::Dict(dict) => dict_method(interpreter, dict, name, arguments),
        Value::List(items) | Value::Tuple(items) => {
            sequence_method(interpreter, owner, items, name, arguments)
        }
        Value::Range(_) => {
            let items = Items { items: owner.iterate(interpreter)?, depth: 1 };
            sequence_method(interpreter, owner, &items, name, arguments)
        }
        Value::Int(_) | Value::Big(_) | Value::Bool(_) => integer_method(owner, name, arguments),
        Value::Float(value) => {
            arguments.bind_positional(name, 0, 0)?;
            Ok(match &**name {
                "is_integer" => Value::Bool(value.is_finite() && value.fract() == 0.0),
                _ => Value::Float(*value),
            })
        }
        Value::Bytes(bytes) => match &**name {
            "hex" => {
                interpreter.meter.allocate(bytes.len() * 2)?;
                Ok(Value::text(hexadecimal(bytes)))
            }
            _ => std::str::from_utf8(bytes).map(Value::text).map_err(|error| value_error(error.to_string())),
        },
        Value::Object(object) => object_method(object, name, arguments),
        _ => Err(no_method(owner, name)),
    }
}

fn no_method(owner: &Value, name: &str) -> crate::error::TemplateError {
    type_error(format!("'{}' object has no method '{name}'", owner.type_name()))
}

fn dict_method(
    interpreter: &mut Interpreter<'_>,
    dict: &Rc<Dict>,
    name: &str,
    arguments: Arguments,
) -> Outcome<Value> {
    match name {
        "get" => {
            let mut parameters = arguments.bind_positional("get", 2, 1)?;
            let key = parameters.take_or(0, Value::None);
            let found = match key.as_str() {
                Some(key) => dict.get_str(key),
                None => dict.get(&key)?,
            };
            Ok(found.cloned().unwrap_or_else(|| parameters.take_or(1, Value::None)))
        }
        "fromkeys" => crate::globals::call(interpreter, Function::DictFromKeys, arguments),
        _ => {
            arguments.bind_positional(name, 0, 0)?;
            Ok(match name {
                "items" => Value::View(View::Items, Rc::clone(dict)),
                "keys" => Value::View(View::Keys, Rc::clone(dict)),
                "values" => Value::View(View::Values, Rc::clone(dict)),
                _ => Value::Dict(Rc::clone(dict)),
            })
        }
    }
}

fn sequence_method(
    interpreter: &mut Interpreter<'_>,
    owner: &Value,
    items: &Items,
    name: &str,
    arguments: Arguments,
) -> Outcome<Value> {
    interpreter.meter.spend(items.items.len())?;
    match name {
        "copy" => {
            arguments.bind_positional(name, 0, 0)?;
            Ok(owner.clone())
        }
        "count" => {
            let wanted = arguments.bind_positional(name, 1, 1)?.take_or(0, Value::None);
            Ok(Value::size(items.items.iter().filter(|item| equal(item, &wanted)).count()))
        }
        "index" => {
            let mut parameters = arguments.bind_positional(name, 3, 1)?;
            let wanted = parameters.take_or(0, Value::None);
            let length = i64::try_from(items.items.len()).unwrap_or(i64::MAX);
            let place = |at: i64| {
                usize::try_from(if at < 0 { at.saturating_add(length).max(0) } else { at.min(length) })
            };
            let start = place(parameters.integer(1, 0)?).unwrap_or(0);
            let stop = place(parameters.integer(2, i64::MAX)?).unwrap_or(0);
            let found =
                items.items.iter().enumerate().take(stop).skip(start).find(|(_, item)| equal(item, &wanted));
            match found {
                Some((at, _)) => Ok(Value::size(at)),
                None => Err(value_error(format!("{}.index(x): x not in {0}", owner.type_name()))),
            }
        }
        _ => Err(no_method(owner, name)),
    }
}

fn integer_method(owner: &Value, name: &str, arguments: Arguments) -> Outcome<Value> {
    arguments.bind_positional(name, 0, 0)?;
    let Some(integer) = Integer::of(owner) else {
        return Err(no_method(owner, name));
    };
    Ok(match name {
        "bit_length" => Value::Int(i64::try_from(integer.bits()).unwrap_or(i64::MAX)),
        "bit_count" => {
            let ones = integer
                .to_big()
                .magnitude()
                .iter_u64_digits()
                .map(|digit| i64::from(digit.count_ones()))
                .sum();
            Value::Int(ones)
        }
        "as_integer_ratio" => Value::tuple(vec![integer.into(), Value::Int(1)]),
        _ => integer.into(),
    })
}

fn object_method(object: &Rc<Object>, name: &str, arguments: Arguments) -> Outcome<Value> {
    match (&**object, name) {
        (Object::Loop(state), "changed") => Ok(Value::Bool(state.changed(arguments.positional))),
        (Object::Loop(state), "cycle") => {
            if arguments.positional.is_empty() {
                return Err(type_error("no items for cycling given"));
            }
            let at = state.index.get() % arguments.positional.len();
            arguments
                .positional
                .into_iter()
                .nth(at)
                .ok_or_else(|| runtime_error("no items for cycling given"))
        }
        (Object::Cycler(cycler), "next") => {
            let at = cycler.position.get();
            cycler.position.set((at + 1) % cycler.items.len());
            Ok(cycler.items[at].clone())
        }
        (Object::Cycler(cycler), "reset") => {
            cycler.position.set(0);
            Ok(Value::None)
        }
        _ => Err(type_error(format!("'{}' object has no method '{name}'", object.type_name()))),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
