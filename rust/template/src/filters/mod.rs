//! jinja2's filters, with transformers' own `tojson`.

#![expect(clippy::needless_pass_by_value, reason = "all filters have the same signature")]

mod attribute;
mod collection;
mod json;
mod markup;
mod number;
mod select;
mod sequence;
mod sorting;
mod text;

use crate::error::{Outcome, TemplateError};
use crate::eval::Interpreter;
use crate::value::{Arguments, Value};

/// A filter: what it is applied to, then its arguments.
pub(crate) type Filter = fn(&mut Interpreter<'_>, Value, Arguments) -> Outcome<Value>;

/// The filter of a name.
pub(crate) fn find(name: &str) -> Option<Filter> {
    Some(match name {
        "abs" => number::abs,
        "attr" => attribute::attr,
        "batch" => collection::batch,
        "capitalize" => text::capitalize,
        "center" => text::center,
        "count" | "length" => sequence::length,
        "d" | "default" => sequence::default,
        "dictsort" => sorting::dictsort,
        "e" | "escape" => markup::escape,
        "filesizeformat" => number::filesizeformat,
        "first" => sequence::first,
        "float" => number::float,
        "forceescape" => markup::forceescape,
        "format" => text::format,
        "groupby" => sorting::groupby,
        "indent" => text::indent,
        "int" => number::int,
        "items" => sequence::items,
        "join" => sequence::join,
        "last" => sequence::last,
        "list" => sequence::list,
        "lower" => text::lower,
        "map" => select::map,
        "max" => sorting::max,
        "min" => sorting::min,
        "pprint" => text::pprint,
        "random" => sequence::random,
        "reject" => select::reject,
        "rejectattr" => select::rejectattr,
        "replace" => text::replace,
        "reverse" => sequence::reverse,
        "round" => number::round,
        "safe" => markup::safe,
        "select" => select::select,
        "selectattr" => select::selectattr,
        "slice" => collection::slice,
        "sort" => sorting::sort,
        "string" => text::string,
        "striptags" => markup::striptags,
        "sum" => number::sum,
        "title" => text::title,
        "tojson" => json::tojson,
        "trim" => text::trim,
        "truncate" => text::truncate,
        "unique" => sorting::unique,
        "upper" => text::upper,
        "urlencode" => markup::urlencode,
        "wordcount" => text::wordcount,
        "wordwrap" => text::wordwrap,
        "xmlattr" => markup::xmlattr,
        _ => return None,
    })
}

/// jinja2's `FilterArgumentError`.
fn argument_error(message: impl Into<String>) -> TemplateError {
    TemplateError::Operation { exception: "FilterArgumentError", message: message.into() }
}

/// A generator, unless the error is not one of the template but an exceeded budget.
fn generated(name: &'static str, made: Vec<Value>, failure: Option<TemplateError>) -> Outcome<Value> {
    match failure {
        Some(
            error @ (TemplateError::TooManySteps { .. }
            | TemplateError::OutputTooLarge { .. }
            | TemplateError::TooSlow { .. }
            | TemplateError::TooDeep { .. }),
        ) => Err(error),
        failure => Ok(Value::generator(name, made, failure)),
    }
}
