//! Filters that apply a filter or a test to each item.

use std::sync::Arc;

use super::attribute::Getter;
use super::{Filter, argument_error, find, generated};
use crate::error::{Outcome, TemplateError};
use crate::eval::Interpreter;
use crate::tests::Test;
use crate::value::{Arguments, Value};

/// Runs `step` on each item as a generator would: what it kept before an error can still be consumed.
fn generate(
    interpreter: &mut Interpreter<'_>,
    name: &'static str,
    value: &Value,
    mut step: impl FnMut(&mut Interpreter<'_>, Value) -> Outcome<Option<Value>>,
) -> Outcome<Value> {
    let mut made = Vec::new();
    let mut failure = None;
    let items = match value.iterate(interpreter) {
        Ok(items) => items,
        Err(error) => return generated(name, made, Some(error)),
    };
    for item in items {
        interpreter.meter.spend(1)?;
        match step(interpreter, item) {
            Ok(result) => made.extend(result),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    generated(name, made, failure)
}

/// `map`: an attribute of each item, or a filter applied to each.
pub(super) fn map(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    mut arguments: Arguments,
) -> Outcome<Value> {
    const NAME: &str = "sync_do_map";
    if !value.is_true() {
        return Ok(Value::generator(NAME, Vec::new(), None));
    }
    if arguments.positional.is_empty()
        && let Some(attribute) = arguments.take_named("attribute")
    {
        let default = arguments.take_named("default");
        if let Some((name, _)) = arguments.named.first() {
            return generated(
                NAME,
                Vec::new(),
                Some(argument_error(format!("Unexpected keyword argument '{name}'"))),
            );
        }
        let getter = Getter::new(Some(&attribute), default, false);
        return generate(interpreter, NAME, &value, |interpreter, item| {
            getter.get(interpreter, &item).map(Some)
        });
    }
    let filter = match named_filter(&mut arguments) {
        Ok(filter) => filter,
        Err(error) => return generated(NAME, Vec::new(), Some(error)),
    };
    generate(interpreter, NAME, &value, |interpreter, item| {
        filter(interpreter, item, arguments.clone()).map(Some)
    })
}

fn named_filter(arguments: &mut Arguments) -> Outcome<Filter> {
    if arguments.positional.is_empty() {
        return Err(argument_error("map requires a filter argument"));
    }
    let name = arguments.positional.remove(0);
    let name = name.as_str().unwrap_or_default();
    find(name).ok_or_else(|| TemplateError::Unknown { kind: "filter", name: name.to_owned() })
}

/// `select`.
pub(super) fn select(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    filtered(interpreter, &value, arguments, true, false)
}

/// `reject`.
pub(super) fn reject(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    filtered(interpreter, &value, arguments, false, false)
}

/// `selectattr`.
pub(super) fn selectattr(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    filtered(interpreter, &value, arguments, true, true)
}

/// `rejectattr`.
pub(super) fn rejectattr(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    filtered(interpreter, &value, arguments, false, true)
}

/// The items for which a test gives `wanted`; without a test, their truth value.
fn filtered(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    mut arguments: Arguments,
    wanted: bool,
    by_attribute: bool,
) -> Outcome<Value> {
    let name = "select_or_reject";
    if !value.is_true() {
        return Ok(Value::generator(name, Vec::new(), None));
    }
    let mut getter = Getter::default();
    if by_attribute {
        if arguments.positional.is_empty() {
            return generated(name, Vec::new(), Some(argument_error("Missing parameter for attribute name")));
        }
        let attribute = arguments.positional.remove(0);
        getter = Getter::new(Some(&attribute), None, false);
    }
    let test: Option<Test> = if arguments.positional.is_empty() {
        None
    } else {
        let named = arguments.positional.remove(0).to_text(interpreter)?.text;
        match crate::tests::find(&named) {
            Some(test) => Some(test),
            None => return generated(name, Vec::new(), Some(unknown_test(&named))),
        }
    };
    generate(interpreter, name, value, |interpreter, item| {
        let subject = getter.get(interpreter, &item)?;
        let result = match test {
            Some(test) => test(interpreter, &subject, arguments.clone())?,
            None => subject.is_true(),
        };
        Ok((result == wanted).then_some(item))
    })
}

fn unknown_test(name: &Arc<str>) -> TemplateError {
    TemplateError::Unknown { kind: "test", name: name.to_string() }
}
