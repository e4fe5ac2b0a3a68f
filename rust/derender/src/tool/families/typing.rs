//! Values that a format writes as bare text, typed by the tool's JSON schema.
//!
//! The order in which types are tried, and what a value without a schema is, are vLLM's: null, integer, number,
//! boolean, object, array, string.

use serde_json::Value;

use crate::parse::json::{Progress, Scanner};
use crate::parse::python::Literal;

/// Levels of `anyOf` and the like that are followed.
const MAX_DEPTH: u8 = 8;

/// Integers up to here are exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The types that a schema allows, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    const NULL: u8 = 1;
    const INTEGER: u8 = 2;
    const NUMBER: u8 = 4;
    const BOOLEAN: u8 = 8;
    const OBJECT: u8 = 16;
    const ARRAY: u8 = 32;
    const STRING: u8 = 64;

    /// No schema, and a value that is JSON where it can be read as such.
    pub const UNKNOWN: Self = Self(0);
    /// No schema, and a value that is text.
    pub const TEXT: Self = Self(Self::STRING);

    /// The types that a schema allows. One that names none allows strings.
    #[must_use]
    pub fn of(schema: &Value) -> Self {
        match Self::collect(schema, 0) {
            0 => Self::TEXT,
            types => Self(types),
        }
    }

    fn collect(schema: &Value, depth: u8) -> u8 {
        let Some(members) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return 0 };
        let mut types = match members.get("type") {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).fold(0, |types, name| types | Self::named(name))
            }
            _ => 0,
        };
        if types == 0 {
            let values = members.get("enum").and_then(Value::as_array).into_iter().flatten();
            types = values.chain(members.get("const")).fold(0, |types, value| types | Self::of_value(value));
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let branches = members.get(key).and_then(Value::as_array).into_iter().flatten();
            types = branches.fold(types, |types, branch| types | Self::collect(branch, depth + 1));
        }
        types
    }

    fn named(name: &str) -> u8 {
        match name.trim().to_ascii_lowercase().as_str() {
            "null" => Self::NULL,
            "integer" | "int" | "int32" | "int64" | "uint" | "uint32" | "uint64" | "long" | "short" => {
                Self::INTEGER
            }
            "number" | "float" | "float32" | "float64" | "double" => Self::NUMBER,
            "boolean" | "bool" => Self::BOOLEAN,
            "object" | "dict" => Self::OBJECT,
            "array" | "arr" | "list" | "sequence" => Self::ARRAY,
            _ => Self::STRING,
        }
    }

    fn of_value(value: &Value) -> u8 {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Whether every value is a string, whatever it looks like.
    #[must_use]
    pub fn is_string(self) -> bool {
        self.0 == Self::STRING
    }

    /// Whether a value that begins so may be more than a word or a number: it may be long and no string.
    #[must_use]
    pub fn may_open(self, text: &str) -> bool {
        let allows = |bit: u8| self.0 & bit != 0;
        match text.trim_start().chars().next() {
            Some('{' | '[' | '(') => allows(Self::OBJECT | Self::ARRAY) || !allows(Self::STRING),
            Some('"' | '\'') => !allows(Self::STRING),
            _ => false,
        }
    }

    /// Whether every value is a string, but for null.
    #[must_use]
    pub fn is_string_or_null(self) -> bool {
        self.0 == Self::STRING | Self::NULL
    }

    /// The value as JSON. `trimmed` is what it is as a string.
    #[must_use]
    pub fn write(self, text: &str, trimmed: &str) -> String {
        let bare = text.trim();
        let allows = |bit: u8| self.0 & bit != 0;
        if allows(Self::NULL) && (bare.eq_ignore_ascii_case("null") || bare == "None") {
            return "null".to_owned();
        }
        let typed = None
            .or_else(|| integer(bare).filter(|_| allows(Self::INTEGER)))
            .or_else(|| number(bare).filter(|_| allows(Self::NUMBER)))
            .or_else(|| boolean(bare).filter(|_| allows(Self::BOOLEAN)))
            .or_else(|| literal(bare).filter(|_| allows(Self::OBJECT | Self::ARRAY)));
        if let Some(typed) = typed {
            return typed;
        }
        let whole = || number(bare).filter(|number| allows(Self::INTEGER) && integer(number).is_some());
        match whole().or_else(|| literal(bare)).filter(|_| !allows(Self::STRING)) {
            Some(value) => value,
            None => quoted(trimmed),
        }
    }
}

fn integer(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match digits.trim_start_matches('0') {
        "" => Some("0".to_owned()),
        digits => Some(format!("{sign}{digits}")),
    }
}

fn number(text: &str) -> Option<String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite())?;
    if value.fract() == 0.0 && value.abs() < EXACT && !text.contains(['e', 'E']) {
        return integer(&format!("{value:.0}"));
    }
    // As the model wrote it, where that is JSON: a double may not hold all of its digits.
    json(text).or_else(|| serde_json::Number::from_f64(value).map(|number| number.to_string()))
}

fn boolean(text: &str) -> Option<String> {
    let is = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(["true", "1"]) {
        Some("true".to_owned())
    } else if is(["false", "0"]) {
        Some("false".to_owned())
    } else {
        None
    }
}

/// The text as JSON, where it is a value of JSON's or of Python's.
fn literal(text: &str) -> Option<String> {
    json(text).or_else(|| python(text))
}

fn python(text: &str) -> Option<String> {
    let (mut literal, mut out) = (Literal::default(), String::new());
    let whole = literal.feed(text, &mut out) == (text.len(), Progress::More) && literal.is_complete();
    whole.then_some(out)
}

/// The text, where it is JSON. Line breaks inside strings, which models write, become their escapes.
#[must_use]
pub fn json(text: &str) -> Option<String> {
    let (mut scanner, mut out) = (Scanner::default(), String::new());
    let (read, progress) = scanner.scan(text, &mut out);
    let whole = progress != Progress::Malformed && scanner.is_complete() && text[read..].trim().is_empty();
    whole.then_some(out)
}

/// A JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The inside of a JSON string, which may go on.
#[must_use]
pub fn escaped(text: &str) -> String {
    let quoted = quoted(text);
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Expectations: JSON schema for the types, vLLM's `coerce_to_schema_type` for the order in which they are tried.
    #[test]
    fn values_follow_the_schema() {
        let cases = [
            (json!({"type": "integer"}), "5.0", "5"),
            (json!({"type": "integer"}), "\n-007\n", "-7"),
            (json!({"type": "integer"}), "9007199254740993", "9007199254740993"),
            (json!({"type": "integer"}), "many", "\"many\""),
            (json!({"type": "number"}), "1e3", "1e3"),
            (json!({"type": "number"}), "+.5", "0.5"),
            (json!({"type": "number"}), "nan", "\"nan\""),
            (json!({"type": "boolean"}), "True", "true"),
            (json!({"type": ["integer", "null"]}), "null", "null"),
            (json!({"type": ["string", "null"]}), "4", "\"4\""),
            (json!({"anyOf": [{"type": "string"}, {"type": "boolean"}]}), "false", "false"),
            (json!({"anyOf": [{"type": "string"}, {"type": "boolean"}]}), "LIS", "\"LIS\""),
            (json!({"type": "object"}), "{\"a\": [1]}", "{\"a\": [1]}"),
            (json!({"type": "array"}), "[\"a\nb\"]", "[\"a\\nb\"]"),
            (json!({"type": "array"}), "[1", "\"[1\""),
            (json!({"type": "array"}), "[1, True, None,]", "[1, true, null]"),
            (json!({"type": "array"}), "('a', 1)", "[\"a\", 1]"),
            (json!({"type": "object"}), "{'a': 'it\\'s'}", "{\"a\": \"it's\"}"),
            (json!({"type": ["integer", "null"]}), "None", "null"),
            (json!({"enum": ["1", "2"]}), "2", "\"2\""),
            (json!({}), "null", "\"null\""),
        ];
        for (schema, text, expected) in cases {
            assert_eq!(Types::of(&schema).write(text, text), expected, "{schema} {text}");
        }
        assert_eq!(Types::UNKNOWN.write("3", "3"), "3");
        assert_eq!(Types::UNKNOWN.write("me", "me"), "\"me\"");
    }
}
