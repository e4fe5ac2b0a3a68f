//! The functions that every template finds: jinja2's, and those that transformers adds.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Outcome, TemplateError, overflow_error, runtime_error, type_error, value_error};
use crate::eval::Interpreter;
use crate::strftime::strftime;
use crate::value::{Arguments, Cycler, Dict, Function, Object, Range, Value};

/// The longest range that the sandbox allows.
const MAX_RANGE: usize = 100_000;

/// Calls a function.
pub(crate) fn call(
    interpreter: &mut Interpreter<'_>,
    function: Function,
    arguments: Arguments,
) -> Outcome<Value> {
    match function {
        Function::Range => range(arguments),
        Function::Dict => Ok(Value::dict(dict(interpreter, arguments)?)),
        Function::Namespace => {
            let attributes = dict(interpreter, arguments)?;
            for (key, value) in attributes.entries() {
                value.check_depth()?;
                if let Value::Str(name) = key {
                    crate::eval::check_namespace_name(&name.text)?;
                }
            }
            interpreter.meter.spend(1)?;
            Ok(interpreter.namespace(attributes))
        }
        Function::RaiseException => {
            let mut parameters = arguments.bind("raise_exception", &["message"], 1)?;
            let message = parameters.take_or(0, Value::None).to_text(interpreter)?;
            Err(TemplateError::Raised(message.text.to_string()))
        }
        Function::StrftimeNow => {
            let mut parameters = arguments.bind("strftime_now", &["format"], 1)?;
            let format = parameters.take_or(0, Value::None);
            format.require_defined()?;
            let Value::Str(format) = format else {
                return Err(type_error(format!(
                    "strftime() argument 1 must be str, not {}",
                    format.type_name()
                )));
            };
            interpreter.meter.allocate(format.text.len().saturating_mul(16))?;
            Ok(Value::text(strftime(&interpreter.now(), &format.text)))
        }
        Function::Lipsum => {
            // jinja2 makes up other words each time.
            Ok(Value::text("Lorem ipsum dolor sit amet, consectetur adipiscing elit."))
        }
        Function::Cycler => {
            if arguments.positional.is_empty() {
                return Err(runtime_error("at least one item has to be provided"));
            }
            let items = arguments.positional;
            Ok(Value::Object(Rc::new(Object::Cycler(Cycler { items, position: Cell::new(0) }))))
        }
        Function::Joiner => {
            let mut parameters = arguments.bind("Joiner", &["sep"], 0)?;
            let separator = parameters.take_or(0, Value::text(", "));
            Ok(Value::Object(Rc::new(Object::Joiner(separator, Cell::new(false)))))
        }
        Function::DictFromKeys => {
            let mut parameters = arguments.bind_positional("fromkeys", 2, 1)?;
            let keys = parameters.take_or(0, Value::None).iterate(interpreter)?;
            let value = parameters.take_or(1, Value::None);
            let mut dict = Dict::with_capacity(keys.len());
            for key in keys {
                dict.set(key, value.clone())?;
            }
            Ok(Value::dict(dict))
        }
    }
}

fn range(arguments: Arguments) -> Outcome<Value> {
    let given = arguments.positional.len();
    let mut parameters = arguments.bind_positional("range", 3, 1)?;
    let first = parameters.integer(0, 0)?;
    let (start, end) = if given == 1 { (0, first) } else { (first, parameters.integer(1, 0)?) };
    let step = parameters.integer(2, 1)?;
    if step == 0 {
        return Err(value_error("range() arg 3 must not be zero"));
    }
    let range = Range { start, stop: end, step };
    if range.len() > MAX_RANGE {
        return Err(overflow_error(format!(
            "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({MAX_RANGE})."
        )));
    }
    Ok(Value::Range(range))
}

/// Python's `dict(...)`: of a dict or of pairs, then of named arguments.
fn dict(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Outcome<Dict> {
    if arguments.positional.len() > 1 {
        return Err(type_error(format!(
            "dict expected at most 1 argument, got {}",
            arguments.positional.len()
        )));
    }
    let mut dict = Dict::with_capacity(arguments.named.len());
    match arguments.positional.into_iter().next() {
        None => {}
        Some(Value::Dict(source)) => {
            interpreter.meter.allocate_items(source.len() * 2)?;
            for (key, value) in source.entries() {
                dict.set(key.clone(), value.clone())?;
            }
        }
        Some(other) => {
            for pair in other.iterate(interpreter)? {
                match <[Value; 2]>::try_from(pair.iterate(interpreter)?) {
                    Ok([key, value]) => dict.set(key, value)?,
                    Err(items) => {
                        return Err(value_error(format!(
                            "dictionary update sequence element has length {}; 2 is required",
                            items.len()
                        )));
                    }
                }
            }
        }
    }
    for (name, value) in arguments.named {
        dict.set_str(&Arc::clone(&name), value);
    }
    Ok(dict)
}
