//! Filters that compare items.

use std::cmp::Ordering;

use super::attribute::{Getter, without_case};
use super::{argument_error, generated};
use crate::error::{Outcome, type_error};
use crate::eval::Interpreter;
use crate::value::{Arguments, Dict, Undefined, Value, equal, less_than};

/// Sorts by key as Python does: stable also in reverse.
fn sort_pairs(interpreter: &mut Interpreter<'_>, pairs: &mut [(Value, Value)], reverse: bool) -> Outcome<()> {
    interpreter.meter.spend(pairs.len().saturating_mul(pairs.len().max(2).ilog2() as usize))?;
    let mut failure = None;
    let mut compare = |a: &Value, b: &Value| match (less_than(a, b), less_than(b, a)) {
        (Ok(true), _) => Ordering::Less,
        (_, Ok(true)) => Ordering::Greater,
        (Ok(false), Ok(false)) => Ordering::Equal,
        (Err(error), _) | (_, Err(error)) => {
            failure.get_or_insert(error);
            Ordering::Equal
        }
    };
    if reverse {
        pairs.sort_by(|a, b| compare(&b.0, &a.0));
    } else {
        pairs.sort_by(|a, b| compare(&a.0, &b.0));
    }
    failure.map_or(Ok(()), Err)
}

/// `sort`.
pub(super) fn sort(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("sort", &["reverse", "case_sensitive", "attribute"], 0)?;
    let reverse = parameters.flag(0, false);
    let ignore_case = !parameters.flag(1, false);
    let attribute = parameters.take(2);
    let getters = Getter::several(attribute.as_ref(), ignore_case);
    let mut pairs = Vec::new();
    for item in value.into_items(interpreter)? {
        let mut key = Vec::with_capacity(getters.len());
        for getter in &getters {
            key.push(getter.get(interpreter, &item)?);
        }
        pairs.push((Value::list(key), item));
    }
    sort_pairs(interpreter, &mut pairs, reverse)?;
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

/// `dictsort`.
pub(super) fn dictsort(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("dictsort", &["case_sensitive", "by", "reverse"], 0)?;
    let ignore_case = !parameters.flag(0, false);
    let by_value = match parameters.take(1) {
        None => false,
        Some(by) => match by.as_str() {
            Some("key") => false,
            Some("value") => true,
            _ => {
                return Err(argument_error("You can only sort by either \"key\" or \"value\""));
            }
        },
    };
    let reverse = parameters.flag(2, false);
    value.require_defined()?;
    let Value::Dict(dict) = &value else {
        return Err(type_error(format!("'{}' object has no attribute 'items'", value.type_name())));
    };
    let mut pairs: Vec<(Value, Value)> = dict
        .entries()
        .iter()
        .map(|(key, value)| {
            let by = if by_value { value.clone() } else { key.clone() };
            let by = if ignore_case { without_case(by) } else { by };
            (by, Value::tuple(vec![key.clone(), value.clone()]))
        })
        .collect();
    sort_pairs(interpreter, &mut pairs, reverse)?;
    Ok(Value::list(pairs.into_iter().map(|(_, pair)| pair).collect()))
}

/// `groupby`.
pub(super) fn groupby(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("groupby", &["attribute", "default", "case_sensitive"], 1)?;
    let attribute = parameters.take(0);
    let default = parameters.take(1);
    let ignore_case = !parameters.flag(2, false);
    let getter = Getter::new(attribute.as_ref(), default.clone(), ignore_case);
    let shown = Getter::new(attribute.as_ref(), default, false);
    let mut pairs = Vec::new();
    for item in value.into_items(interpreter)? {
        pairs.push((getter.get(interpreter, &item)?, item));
    }
    sort_pairs(interpreter, &mut pairs, false)?;
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (key, item) in pairs {
        match groups.last_mut() {
            Some((known, items)) if equal(known, &key) => items.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let mut tuples = Vec::with_capacity(groups.len());
    for (key, items) in groups {
        let key = match items.first() {
            Some(first) if ignore_case => shown.get(interpreter, first)?,
            _ => key,
        };
        tuples.push(Value::tuple(vec![key, Value::list(items)]));
    }
    Ok(Value::list(tuples))
}

/// `unique`.
pub(super) fn unique(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let mut parameters = arguments.bind("unique", &["case_sensitive", "attribute"], 0)?;
    let ignore_case = !parameters.flag(0, false);
    let attribute = parameters.take(1);
    let getter = Getter::new(attribute.as_ref(), None, ignore_case);
    let mut seen = Dict::default();
    let mut kept = Vec::new();
    let items = match value.into_items(interpreter) {
        Ok(items) => items,
        Err(error) => return generated("sync_do_unique", kept, Some(error)),
    };
    for item in items {
        interpreter.meter.spend(1)?;
        let key = match getter.get(interpreter, &item) {
            Ok(key) => key,
            Err(error) => return generated("sync_do_unique", kept, Some(error)),
        };
        match seen.get(&key).map(|found| found.is_some()) {
            Ok(true) => continue,
            Ok(false) => seen.set(key, Value::None)?,
            Err(error) => return Ok(Value::generator("sync_do_unique", kept, Some(error))),
        }
        kept.push(item);
    }
    Ok(Value::generator("sync_do_unique", kept, None))
}

/// `min`.
pub(super) fn min(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    extreme(interpreter, value, arguments, "min")
}

/// `max`.
pub(super) fn max(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    extreme(interpreter, value, arguments, "max")
}

fn extreme(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    arguments: Arguments,
    name: &str,
) -> Outcome<Value> {
    let mut parameters = arguments.bind(name, &["case_sensitive", "attribute"], 0)?;
    let ignore_case = !parameters.flag(0, false);
    let attribute = parameters.take(1);
    let getter = Getter::new(attribute.as_ref(), None, ignore_case);
    let mut best: Option<(Value, Value)> = None;
    for item in value.into_items(interpreter)? {
        interpreter.meter.spend(1)?;
        let key = getter.get(interpreter, &item)?;
        let better = match &best {
            None => true,
            Some((known, _)) if name == "min" => less_than(&key, known)?,
            Some((known, _)) => less_than(known, &key)?,
        };
        if better {
            best = Some((key, item));
        }
    }
    let reason = || Value::undefined(Undefined::Reason("No aggregated item, sequence was empty.".to_owned()));
    Ok(best.map_or_else(reason, |(_, item)| item))
}
