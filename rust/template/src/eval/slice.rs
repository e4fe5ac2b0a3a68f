//! Slices.

use super::Interpreter;
use crate::error::{Outcome, type_error, value_error};
use crate::value::{Range, Value};

impl Interpreter<'_> {
    /// `owner[start:stop:step]`.
    ///
    /// # Errors
    /// A `TypeError` for what cannot be sliced, a `ValueError` for a step of 0.
    pub(super) fn slice(&mut self, owner: &Value, bounds: &[Value; 3]) -> Outcome<Value> {
        owner.require_defined()?;
        let [start, end, step] = [bound(&bounds[0])?, bound(&bounds[1])?, bound(&bounds[2])?];
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(value_error("slice step cannot be zero"));
        }
        match owner {
            Value::Str(text) => {
                let length = crate::text::length(&text.text);
                let indices = Indices::new(length, start, end, step);
                self.meter.allocate(text.text.len())?;
                if step == 1 {
                    let Some((first, end)) = indices.contiguous() else {
                        return Ok(Value::text_like(text, ""));
                    };
                    let from = crate::text::byte_offset(&text.text, first);
                    let to = from + crate::text::byte_offset(&text.text[from..], end - first);
                    return Ok(Value::text_like(text, &text.text[from..to]));
                }
                let characters: Vec<char> = text.text.chars().collect();
                let sliced: String = indices.filter_map(|at| characters.get(at)).collect();
                Ok(Value::text_like(text, sliced))
            }
            Value::List(items) | Value::Tuple(items) => {
                let indices = Indices::new(items.items.len(), start, end, step);
                self.meter.allocate_items(items.items.len())?;
                let sliced = indices.filter_map(|at| items.items.get(at).cloned()).collect();
                Ok(if matches!(owner, Value::List(_)) { Value::list(sliced) } else { Value::tuple(sliced) })
            }
            Value::Bytes(bytes) => {
                let indices = Indices::new(bytes.len(), start, end, step);
                Ok(Value::Bytes(indices.filter_map(|at| bytes.get(at).copied()).collect()))
            }
            Value::Range(range) => {
                let (first, last) = clamp(range.len(), start, end, step);
                let at = |index: i64| range.start.wrapping_add(range.step.wrapping_mul(index));
                Ok(Value::Range(Range {
                    start: at(first),
                    stop: at(last),
                    step: range.step.wrapping_mul(step),
                }))
            }
            Value::Dict(_) => Err(type_error("unhashable type: 'slice'")),
            _ => Err(type_error(format!("'{}' object is not subscriptable", owner.type_name()))),
        }
    }
}

fn bound(value: &Value) -> Outcome<Option<i64>> {
    match value {
        Value::None => Ok(None),
        _ => value
            .as_index()
            .map(Some)
            .ok_or_else(|| type_error("slice indices must be integers or None or have an __index__ method")),
    }
}

/// Start and stop as Python's `slice.indices` gives them.
fn clamp(length: usize, start: Option<i64>, end: Option<i64>, step: i64) -> (i64, i64) {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let (low, high) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let place = |index: i64| {
        if index < 0 { (index.saturating_add(length)).max(low) } else { index.min(high) }
    };
    let (first, last) = if step < 0 { (high, low) } else { (low, high) };
    (start.map_or(first, place), end.map_or(last, place))
}

/// The positions that a slice takes.
struct Indices {
    next: i64,
    stop: i64,
    step: i64,
}

impl Indices {
    fn new(length: usize, start: Option<i64>, end: Option<i64>, step: i64) -> Self {
        let (next, last) = clamp(length, start, end, step);
        Self { next, stop: last, step }
    }

    /// First position and end, for a step of 1. `None` if there is no position.
    fn contiguous(&self) -> Option<(usize, usize)> {
        if self.next >= self.stop {
            return None;
        }
        Some((usize::try_from(self.next).ok()?, usize::try_from(self.stop).ok()?))
    }
}

impl Iterator for Indices {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let within = if self.step > 0 { self.next < self.stop } else { self.next > self.stop };
        if !within {
            return None;
        }
        let at = self.next;
        self.next = self.next.saturating_add(self.step);
        usize::try_from(at).ok()
    }
}
