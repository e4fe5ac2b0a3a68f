//! Filters that cut a sequence into several.

use super::generated;
use crate::error::{Outcome, value_error, zero_division};
use crate::eval::Interpreter;
use crate::value::{Arguments, Value};

/// `batch`: lists of a given length.
pub(super) fn batch(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("batch", &["linecount", "fill_with"], 1)?;
    let length = usize::try_from(parameters.integer(0, 0)?).unwrap_or(0);
    let fill = parameters.take(1).filter(|fill| !matches!(fill, Value::None));
    let mut batches = Vec::new();
    let mut current = Vec::new();
    let items = match value.into_items(interpreter) {
        Ok(items) => items,
        Err(error) => return generated("do_batch", Vec::new(), Some(error)),
    };
    for item in items {
        if current.len() == length {
            batches.push(Value::list(std::mem::take(&mut current)));
        }
        current.push(item);
    }
    if !current.is_empty() {
        if let Some(fill) = fill
            && current.len() < length
        {
            interpreter.meter.allocate_items(length)?;
            current.resize(length, fill);
        }
        batches.push(Value::list(current));
    }
    Ok(Value::generator("do_batch", batches, None))
}

/// `slice`: a given number of lists.
pub(super) fn slice(interpreter: &mut Interpreter<'_>, value: Value, arguments: Arguments) -> Outcome<Value> {
    let mut parameters = arguments.bind("slice", &["slices", "fill_with"], 1)?;
    let slices = parameters.integer(0, 0)?;
    let fill = parameters.take(1).filter(|fill| !matches!(fill, Value::None));
    if slices == 0 {
        return Ok(Value::generator(
            "sync_do_slice",
            Vec::new(),
            Some(zero_division("integer division or modulo by zero")),
        ));
    }
    let slices = usize::try_from(slices).map_err(|_| value_error("slices must be positive"))?;
    let items = match value.into_items(interpreter) {
        Ok(items) => items,
        Err(error) => return generated("sync_do_slice", Vec::new(), Some(error)),
    };
    interpreter.meter.allocate_items(slices)?;
    let (each, extra) = (items.len() / slices, items.len() % slices);
    let mut items = items.into_iter();
    let mut cut = Vec::with_capacity(slices);
    for at in 0..slices {
        let mut part: Vec<Value> = items.by_ref().take(each + usize::from(at < extra)).collect();
        if at >= extra {
            part.extend(fill.clone());
        }
        cut.push(Value::list(part));
    }
    Ok(Value::generator("sync_do_slice", cut, None))
}
