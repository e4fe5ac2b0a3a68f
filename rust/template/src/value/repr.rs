//! Python's `str()` and `repr()`.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Dict, Function, Items, Object, Text, Value, View};
use crate::error::{Outcome, value_error};
use crate::eval::Interpreter;
use crate::text::{float_text, quoted};

/// Stands where Python prints an address.
const ADDRESS: &str = "0x7f0000000000";

/// Python refuses to print longer integers.
const MAX_INTEGER_DIGITS: usize = 4300;

impl Value {
    /// Appends `str(self)`.
    ///
    /// # Errors
    /// Values nested too deeply, integers too long, an exceeded budget.
    pub fn write_str(&self, interpreter: &mut Interpreter<'_>, out: &mut String) -> Outcome<()> {
        match self {
            Self::Undefined(_) => Ok(()),
            Self::Str(text) => {
                interpreter.meter.allocate(out.len() + text.text.len())?;
                out.push_str(&text.text);
                Ok(())
            }
            _ => self.write_repr(interpreter, out),
        }
    }

    /// `str(self)` as a text; a text stays as it is.
    ///
    /// # Errors
    /// As [`Value::write_str`].
    pub fn to_text(&self, interpreter: &mut Interpreter<'_>) -> Outcome<Text> {
        if let Self::Str(text) = self {
            return Ok(text.clone());
        }
        let mut out = String::new();
        self.write_str(interpreter, &mut out)?;
        Ok(Text { text: Arc::from(out), markup: false })
    }

    /// Appends `repr(self)`.
    ///
    /// # Errors
    /// As [`Value::write_str`].
    pub fn write_repr(&self, interpreter: &mut Interpreter<'_>, out: &mut String) -> Outcome<()> {
        self.check_depth()?;
        stacker::maybe_grow(crate::eval::STACK_RED_ZONE, crate::eval::STACK_GROWTH, || {
            interpreter.meter.spend(1)?;
            interpreter.meter.allocate(out.len())?;
            self.write_repr_inner(interpreter, out)
        })
    }

    fn write_repr_inner(&self, interpreter: &mut Interpreter<'_>, out: &mut String) -> Outcome<()> {
        match self {
            Self::Undefined(_) => out.push_str("Undefined"),
            Self::None => out.push_str("None"),
            Self::Bool(true) => out.push_str("True"),
            Self::Bool(false) => out.push_str("False"),
            // Writing to a text does not fail.
            Self::Int(value) => {
                let _ = write!(out, "{value}");
            }
            Self::Big(value) => out.push_str(&big_text(value)?),
            Self::Float(value) => out.push_str(&float_text(*value)),
            Self::Str(text) if text.markup => {
                out.push_str("Markup(");
                quoted(&text.text, out);
                out.push(')');
            }
            Self::Str(text) => quoted(&text.text, out),
            Self::Bytes(bytes) => crate::text::quoted_bytes(bytes, out),
            Self::List(items) => {
                out.push('[');
                write_items(items, interpreter, out)?;
                out.push(']');
            }
            Self::Tuple(items) => {
                out.push('(');
                write_items(items, interpreter, out)?;
                out.push_str(if items.items.len() == 1 { ",)" } else { ")" });
            }
            Self::Dict(dict) => write_dict(dict, interpreter, out)?,
            Self::View(view, dict) => {
                out.push_str(self.type_name());
                out.push_str("([");
                for (at, (key, value)) in dict.entries().iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    match view {
                        View::Keys => key.write_repr(interpreter, out)?,
                        View::Values => value.write_repr(interpreter, out)?,
                        View::Items => {
                            out.push('(');
                            key.write_repr(interpreter, out)?;
                            out.push_str(", ");
                            value.write_repr(interpreter, out)?;
                            out.push(')');
                        }
                    }
                }
                out.push_str("])");
            }
            Self::Range(range) if range.step == 1 => {
                let _ = write!(out, "range({}, {})", range.start, range.stop);
            }
            Self::Range(range) => {
                let _ = write!(out, "range({}, {}, {})", range.start, range.stop, range.step);
            }
            Self::Generator(generator) if generator.name == "reversed" => {
                let _ = write!(out, "<list_reverseiterator object at {ADDRESS}>");
            }
            Self::Generator(generator) => {
                let _ = write!(out, "<generator object {} at {ADDRESS}>", generator.name);
            }
            Self::Object(object) => write_object(object, interpreter, out)?,
        }
        Ok(())
    }
}

fn write_items(items: &Items, interpreter: &mut Interpreter<'_>, out: &mut String) -> Outcome<()> {
    for (at, item) in items.items.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        item.write_repr(interpreter, out)?;
    }
    Ok(())
}

fn write_dict(dict: &Dict, interpreter: &mut Interpreter<'_>, out: &mut String) -> Outcome<()> {
    out.push('{');
    for (at, (key, value)) in dict.entries().iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        key.write_repr(interpreter, out)?;
        out.push_str(": ");
        value.write_repr(interpreter, out)?;
    }
    out.push('}');
    Ok(())
}

fn write_object(object: &Object, interpreter: &mut Interpreter<'_>, out: &mut String) -> Outcome<()> {
    match object {
        Object::Namespace(namespace) => {
            out.push_str("<Namespace ");
            // One that holds itself would be printed without end.
            match namespace.attributes.try_borrow_mut() {
                Ok(attributes) => {
                    interpreter.deeper(|interpreter| write_dict(&attributes, interpreter, out))?;
                }
                Err(_) => out.push_str("{...}"),
            }
            out.push('>');
        }
        Object::Macro(r#macro) => match &r#macro.definition.name {
            Some(name) => {
                out.push_str("<Macro ");
                quoted(name, out);
                out.push('>');
            }
            None => out.push_str("<Macro anonymous>"),
        },
        Object::Loop(state) => {
            let _ = write!(out, "<LoopContext {}/{}>", state.index.get() + 1, state.length());
        }
        Object::Method(value, name) => {
            let _ = write!(out, "<built-in method {name} of {} object at {ADDRESS}>", value.type_name());
        }
        Object::Function(Function::Lipsum) => {
            let _ = write!(out, "<function generate_lorem_ipsum at {ADDRESS}>");
        }
        Object::Function(_) => {
            let _ = write!(out, "<{}>", object.type_name());
        }
        Object::Cycler(_) => out.push_str("<jinja2.utils.Cycler object>"),
        Object::Joiner(..) => out.push_str("<jinja2.utils.Joiner object>"),
        Object::TemplateReference => out.push_str("<TemplateReference None>"),
        Object::Block(_) => out.push_str("<jinja2.runtime.BlockReference object>"),
    }
    Ok(())
}

/// The decimal text of a large integer.
pub(crate) fn big_text(value: &num_bigint::BigInt) -> Outcome<String> {
    // 10 digits take more than 33 bits: no need to convert what is far too long.
    if value.bits() / 33 * 10 > MAX_INTEGER_DIGITS as u64 * 2 {
        return Err(too_many_digits());
    }
    let text = value.to_string();
    if text.trim_start_matches('-').len() > MAX_INTEGER_DIGITS { Err(too_many_digits()) } else { Ok(text) }
}

fn too_many_digits() -> crate::error::TemplateError {
    value_error(format!("Exceeds the limit ({MAX_INTEGER_DIGITS} digits) for integer string conversion"))
}
