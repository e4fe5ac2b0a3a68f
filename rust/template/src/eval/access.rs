//! Attributes and items, with the rules of jinja2's sandbox.

use std::rc::Rc;
use std::sync::Arc;

use super::Interpreter;
use crate::error::Outcome;
use crate::value::{Function, LoopState, Object, Undefined, Value};

/// Methods that would change a list or dict, which the sandbox forbids.
const LIST_CHANGES: [&str; 8] = ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
const DICT_CHANGES: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];

/// Attributes that every Python object has; they are there and must not be touched.
const OBJECT_ATTRIBUTES: [&str; 21] = [
    "__class__",
    "__delattr__",
    "__dir__",
    "__doc__",
    "__eq__",
    "__format__",
    "__ge__",
    "__getattribute__",
    "__gt__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__le__",
    "__lt__",
    "__ne__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__str__",
];

/// `value.name`: an attribute, or else an item.
///
/// # Errors
/// An undefined value's own error.
pub(crate) fn attribute(interpreter: &mut Interpreter<'_>, owner: &Value, name: &Arc<str>) -> Outcome<Value> {
    if let Some(found) = python_attribute(interpreter, owner, name)? {
        return Ok(found);
    }
    if let Value::Dict(dict) = owner
        && let Some(value) = dict.get_str(name)
    {
        return Ok(value.clone());
    }
    Ok(no_attribute(owner, name))
}

/// `value[key]`: an item, or else an attribute.
///
/// # Errors
/// An undefined value's own error.
pub(crate) fn item(interpreter: &mut Interpreter<'_>, owner: &Value, key: &Value) -> Outcome<Value> {
    owner.require_defined()?;
    if let Some(found) = python_item(owner, key) {
        return Ok(found);
    }
    if let Value::Str(name) = key {
        if let Some(found) = python_attribute(interpreter, owner, &name.text)? {
            return Ok(found);
        }
        return Ok(no_attribute(owner, &name.text));
    }
    let mut text = String::new();
    key.write_repr(interpreter, &mut text)?;
    let owner = match owner {
        Value::None => "None".to_owned(),
        _ => format!("{} object", owner.type_name()),
    };
    Ok(Value::undefined(Undefined::Element { owner, key: text }))
}

/// The item, where Python finds one.
fn python_item(owner: &Value, key: &Value) -> Option<Value> {
    match owner {
        Value::Dict(dict) => match key.as_str() {
            Some(name) => dict.get_str(name).cloned(),
            None => dict.get(key).ok().flatten().cloned(),
        },
        Value::List(items) | Value::Tuple(items) => {
            items.items.get(position(key, items.items.len())?).cloned()
        }
        Value::Str(text) => {
            let at = position(key, crate::text::length(&text.text))?;
            let start = crate::text::byte_offset(&text.text, at);
            let character = text.text[start..].chars().next()?;
            Some(Value::text_like(text, character.encode_utf8(&mut [0; 4]) as &str))
        }
        Value::Bytes(bytes) => Some(Value::Int(i64::from(*bytes.get(position(key, bytes.len())?)?))),
        Value::Range(range) => Some(Value::Int(range.at(position(key, range.len())?))),
        _ => None,
    }
}

/// A position from an index, which counts from the end if negative.
fn position(key: &Value, length: usize) -> Option<usize> {
    let index = key.as_index()?;
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { index.checked_add(length)? } else { index };
    (0..length).contains(&index).then(|| usize::try_from(index).ok())?
}

/// The attribute, where Python finds one; a forbidden one is undefined.
fn python_attribute(
    interpreter: &mut Interpreter<'_>,
    owner: &Value,
    name: &Arc<str>,
) -> Outcome<Option<Value>> {
    if let Value::Undefined(undefined) = owner {
        // Of an undefined value only what every Python object has can be named, and that is forbidden.
        if OBJECT_ATTRIBUTES.contains(&&**name) {
            return Ok(Some(Value::undefined(Undefined::Unsafe {
                owner: "Undefined",
                name: Arc::clone(name),
            })));
        }
        return Err(undefined.error());
    }
    let forbidden = match owner {
        Value::List(_) => LIST_CHANGES.contains(&&**name),
        Value::Dict(_) => DICT_CHANGES.contains(&&**name),
        _ => false,
    };
    if forbidden || name.starts_with("__") && has_special(owner, name) {
        let undefined = Undefined::Unsafe { owner: owner.type_name(), name: Arc::clone(name) };
        return Ok(Some(Value::undefined(undefined)));
    }
    if name.starts_with('_') {
        return Ok(None);
    }
    if crate::methods::exists(owner, name) {
        return Ok(Some(Value::Object(Rc::new(Object::Method(owner.clone(), Arc::clone(name))))));
    }
    Ok(match owner {
        Value::Object(object) => object_attribute(interpreter, object, name),
        Value::Int(_) | Value::Big(_) | Value::Bool(_) => match &**name {
            "real" | "numerator" => crate::value::Integer::of(owner).map(Value::from),
            "imag" => Some(Value::Int(0)),
            "denominator" => Some(Value::Int(1)),
            _ => None,
        },
        Value::Float(value) => match &**name {
            "real" => Some(Value::Float(*value)),
            "imag" => Some(Value::Float(0.0)),
            _ => None,
        },
        // The groups that `groupby` gives are named tuples.
        Value::Tuple(items) => match (&**name, items.items.as_slice()) {
            ("grouper", [grouper, Value::List(_)]) => Some(grouper.clone()),
            ("list", [_, list @ Value::List(_)]) => Some(list.clone()),
            _ => None,
        },
        Value::Range(range) => match &**name {
            "start" => Some(Value::Int(range.start)),
            "stop" => Some(Value::Int(range.stop)),
            "step" => Some(Value::Int(range.step)),
            _ => None,
        },
        _ => None,
    })
}

/// Whether a value has a special attribute, which is then forbidden.
fn has_special(owner: &Value, name: &str) -> bool {
    if OBJECT_ATTRIBUTES.contains(&name) {
        return true;
    }
    let container = !matches!(
        owner,
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Object(_)
    );
    container && matches!(name, "__len__" | "__iter__" | "__contains__" | "__getitem__")
}

fn object_attribute(
    interpreter: &mut Interpreter<'_>,
    object: &Rc<Object>,
    name: &Arc<str>,
) -> Option<Value> {
    match &**object {
        Object::Namespace(namespace) => namespace.attributes.borrow().get_str(name).cloned(),
        Object::Loop(state) => loop_attribute(state, name),
        Object::Macro(r#macro) => {
            let definition = &r#macro.definition;
            Some(match &**name {
                "name" => definition.name.as_ref().map_or(Value::None, |name| Value::text(Arc::clone(name))),
                "arguments" => Value::tuple(
                    definition.parameters.iter().map(|p| Value::text(Arc::clone(&p.name))).collect(),
                ),
                "catch_kwargs" => Value::Bool(definition.kwargs.is_some()),
                "catch_varargs" => Value::Bool(definition.varargs.is_some()),
                "caller" => Value::Bool(definition.caller.is_some() || definition.explicit_caller),
                "explicit_caller" => Value::Bool(definition.explicit_caller),
                _ => return None,
            })
        }
        Object::Function(Function::Dict) if &**name == "fromkeys" => {
            Some(Value::Object(Rc::new(Object::Function(Function::DictFromKeys))))
        }
        Object::Cycler(cycler) => match &**name {
            "current" => cycler.items.get(cycler.position.get()).cloned(),
            "items" => Some(Value::tuple(cycler.items.clone())),
            "pos" => Some(Value::size(cycler.position.get())),
            _ => None,
        },
        Object::Joiner(separator, _) if &**name == "sep" => Some(separator.clone()),
        Object::TemplateReference => {
            interpreter.block_named(name).map(|at| Value::Object(Rc::new(Object::Block(at))))
        }
        _ => None,
    }
}

fn loop_attribute(state: &LoopState, name: &str) -> Option<Value> {
    let index = state.index.get();
    let last = state.length() - 1;
    let missing = |reason: &str| Value::undefined(Undefined::Reason(reason.to_owned()));
    Some(match name {
        "index" => Value::size(index + 1),
        "index0" => Value::size(index),
        "revindex" => Value::size(last - index + 1),
        "revindex0" => Value::size(last - index),
        "first" => Value::Bool(index == 0),
        "last" => Value::Bool(index == last),
        "length" => Value::size(state.length()),
        "depth" => Value::size(state.depth + 1),
        "depth0" => Value::size(state.depth),
        "previtem" => match index.checked_sub(1) {
            Some(before) => state.items[before].clone(),
            None => missing("there is no previous item"),
        },
        "nextitem" => state.items.get(index + 1).cloned().unwrap_or_else(|| missing("there is no next item")),
        _ => return None,
    })
}

fn no_attribute(owner: &Value, name: &Arc<str>) -> Value {
    let owner = match owner {
        Value::None => "None".to_owned(),
        _ => format!("{} object", owner.type_name()),
    };
    Value::undefined(Undefined::Attribute { owner, name: Arc::clone(name) })
}
