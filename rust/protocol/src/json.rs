//! JSON values as the wire carries them: integers of any size, floats, keys in order.

use std::borrow::Cow;

use jiter::{JsonErrorType, JsonValue};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::{Error, Result, bounds};

/// A JSON value that borrows its strings from the request where it can.
pub type Json<'a> = JsonValue<'a>;

/// Parses a request body.
///
/// # Errors
/// The bounds on bytes and depth, and the syntax: `param` is then `body.N` with the byte of the fault.
pub fn parse<'a>(body: &'a [u8], limits: &bounds::Bounds) -> Result<Json<'a>> {
    bounds::body_bytes(body, limits)?;
    if body.trim_ascii().is_empty() {
        return Err(Error::validation("", "Field required: the request has no body"));
    }
    bounds::json_depth(body, limits)?;
    // NaN and Infinity are accepted here as Python's parser does, and refused by the fields that cannot hold them.
    Json::parse(body, true).map_err(|error| {
        let mut at = error.index.min(body.len());
        if matches!(error.error_type, JsonErrorType::ExpectedSomeIdent | JsonErrorType::ExpectedSomeValue) {
            while at > 0 && body[at - 1].is_ascii_alphabetic() {
                at -= 1;
            }
        }
        Error::validation(&at.to_string(), format!("JSON decode error at byte {at}: {}", error.error_type))
    })
}

/// The value of `key` in an object: the last one where the key stands more than once.
#[must_use]
pub fn get<'v, 'a>(object: &'v Json<'a>, key: &str) -> Option<&'v Json<'a>> {
    match object {
        Json::Object(members) => members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value),
        _ => None,
    }
}

/// As [`get`], with null taken for absent.
#[must_use]
pub fn get_some<'v, 'a>(object: &'v Json<'a>, key: &str) -> Option<&'v Json<'a>> {
    get(object, key).filter(|value| !matches!(value, Json::Null))
}

/// The text of a string.
#[must_use]
pub fn as_str<'v>(value: &'v Json<'_>) -> Option<&'v str> {
    match value {
        Json::Str(text) => Some(text),
        _ => None,
    }
}

/// An object from its members.
#[must_use]
pub fn object<'a>(members: Vec<(Cow<'a, str>, Json<'a>)>) -> Json<'a> {
    Json::Object(members.into())
}

/// An array from its items.
#[must_use]
pub fn array(items: Vec<Json<'_>>) -> Json<'_> {
    Json::Array(items.into())
}

/// A short text of a value for a message: scalars as they are, containers by their size.
#[must_use]
pub fn preview(value: &Json<'_>) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(flag) => flag.to_string(),
        Json::Int(number) => number.to_string(),
        Json::BigInt(number) => {
            let text = number.to_string();
            if text.len() > 40 { format!("an integer of {} digits", text.len()) } else { text }
        }
        Json::Float(number) => format!("{number:?}"),
        Json::Str(text) if text.chars().count() <= 80 => format!("{text:?}"),
        Json::Str(text) => format!("a string of {} characters", text.chars().count()),
        Json::Array(items) => format!("a list of {} items", items.len()),
        Json::Object(members) => format!("an object of {} keys", members.len()),
    }
}

/// At most 80 characters of a client's text, for a message.
#[must_use]
pub fn clip(text: &str) -> String {
    if text.chars().count() <= 80 { text.to_owned() } else { text.chars().take(79).chain(['…']).collect() }
}

/// Serialises a [`Json`] value: repeated keys once, with the last value, at the first one's place.
pub struct Serialized<'v, 'a>(pub &'v Json<'a>);

impl Serialize for Serialized<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(flag) => serializer.serialize_bool(*flag),
            Json::Int(number) => serializer.serialize_i64(*number),
            Json::BigInt(number) => match serde_json::value::RawValue::from_string(number.to_string()) {
                Ok(raw) => raw.serialize(serializer),
                Err(error) => Err(serde::ser::Error::custom(error)),
            },
            Json::Float(number) => serializer.serialize_f64(*number),
            Json::Str(text) => serializer.serialize_str(text),
            Json::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items.iter() {
                    sequence.serialize_element(&Serialized(item))?;
                }
                sequence.end()
            }
            Json::Object(members) => {
                let unique = unique_members(members);
                let mut map = serializer.serialize_map(Some(unique.len()))?;
                for (key, value) in unique {
                    map.serialize_entry(key, &Serialized(value))?;
                }
                map.end()
            }
        }
    }
}

/// The members of an object as a Python dict keeps them.
#[must_use]
pub fn unique_members<'v, 'a>(members: &'v [(Cow<'a, str>, Json<'a>)]) -> Vec<(&'v str, &'v Json<'a>)> {
    let mut unique: Vec<(&str, &Json<'a>)> = Vec::with_capacity(members.len());
    let mut places = std::collections::HashMap::with_capacity(members.len());
    for (key, value) in members {
        match places.entry(key.as_ref()) {
            std::collections::hash_map::Entry::Occupied(entry) => {
                let place: usize = *entry.get();
                unique[place].1 = value;
            }
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(unique.len());
                unique.push((key, value));
            }
        }
    }
    unique
}

/// A value as compact JSON. [`Text`](crate::text::Text)s are strings.
///
/// # Errors
/// None that a parsed value can cause.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8192);
    match value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, crate::text::Texts)) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(Error::Internal { message: format!("the response could not be written: {error}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reparse(text: &str) -> String {
        let limits = bounds::Bounds::default();
        String::from_utf8(to_bytes(&Serialized(&parse(text.as_bytes(), &limits).unwrap())).unwrap()).unwrap()
    }

    #[test]
    fn integers_of_any_size_keep_their_digits() {
        let text = r#"{"a":123456789012345678901234567890,"b":-9223372036854775809,"c":[1,1.5]}"#;
        assert_eq!(reparse(text), text);
    }

    #[test]
    fn a_repeated_key_keeps_its_place_and_takes_the_last_value() {
        assert_eq!(reparse(r#"{"a":1,"b":2,"a":3}"#), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn a_syntax_error_names_its_byte() {
        for (body, param) in [("{nope", "body.1"), ("nojson", "body.0"), ("", "body"), ("[1,]", "body.3")] {
            let error = parse(body.as_bytes(), &bounds::Bounds::default()).unwrap_err();
            assert_eq!(error.param(), Some(param), "{body}: {error}");
        }
    }
}
