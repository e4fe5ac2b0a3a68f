//! Reading the fields of an object: coercions and refusals as pydantic makes them.
//!
//! Whole-number strings, whole floats and booleans pass as integers, numeric strings as floats, and
//! `"true"`/`"yes"`/`1` as booleans. Null is absent. The first field at fault is the one reported.

use std::borrow::Cow;

use num_bigint::BigInt;

use crate::{Error, Json, Result, json};

/// An object being read, with its path below the body.
#[derive(Clone)]
pub struct Fields<'v, 'a> {
    value: &'v Json<'a>,
    path: Cow<'v, str>,
}

/// Joins a path and a key or an index.
#[must_use]
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { [path, ".", key].concat() }
}

impl<'v, 'a> Fields<'v, 'a> {
    /// The fields of the request body.
    ///
    /// # Errors
    /// A validation error where the body is not an object.
    pub fn of_body(value: &'v Json<'a>) -> Result<Self> {
        crate::bounds::is_object(value)?;
        Ok(Self { value, path: Cow::Borrowed("") })
    }

    /// The fields of an object inside the body.
    ///
    /// # Errors
    /// A validation error where the value is not an object.
    pub fn of(value: &'v Json<'a>, path: String) -> Result<Self> {
        match value {
            Json::Object(_) => Ok(Self { value, path: Cow::Owned(path) }),
            other => Err(wrong(&path, "an object", other)),
        }
    }

    /// The object itself.
    #[must_use]
    pub fn value(&self) -> &'v Json<'a> {
        self.value
    }

    /// The path of one of the fields.
    #[must_use]
    pub fn path(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The path of the object itself.
    #[must_use]
    pub fn own_path(&self) -> &str {
        &self.path
    }

    /// A field as it stands, null included.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&'v Json<'a>> {
        json::get(self.value, key)
    }

    /// A field that is there and not null.
    #[must_use]
    pub fn some(&self, key: &str) -> Option<&'v Json<'a>> {
        json::get_some(self.value, key)
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// A validation error where it is absent.
    pub fn required(&self, key: &str) -> Result<&'v Json<'a>> {
        self.raw(key)
            .ok_or_else(|| Error::validation(&self.path(key), format!("Field required: {}", self.path(key))))
    }

    /// A string, or nothing.
    ///
    /// # Errors
    /// A validation error where it is of another type.
    pub fn string(&self, key: &str) -> Result<Option<&'v str>> {
        self.some(key).map(|value| string(value, &self.path(key))).transpose()
    }

    /// A boolean, or nothing.
    ///
    /// # Errors
    /// A validation error where it is of another type.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.some(key).map(|value| boolean(value, &self.path(key))).transpose()
    }

    /// A boolean with a default, where null is refused.
    ///
    /// # Errors
    /// A validation error where it is null or of another type.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool> {
        self.raw(key).map_or(Ok(default), |value| boolean(value, &self.path(key)))
    }

    /// An integer of 64 bits, or nothing.
    ///
    /// # Errors
    /// A validation error where it is of another type or does not fit.
    pub fn integer(&self, key: &str) -> Result<Option<i64>> {
        self.some(key).map(|value| integer(value, &self.path(key))).transpose()
    }

    /// An integer with a default, where null is refused.
    ///
    /// # Errors
    /// A validation error where it is null, of another type or does not fit.
    pub fn integer_or(&self, key: &str, default: i64) -> Result<i64> {
        self.raw(key).map_or(Ok(default), |value| integer(value, &self.path(key)))
    }

    /// A number, or nothing.
    ///
    /// # Errors
    /// A validation error where it is of another type or not finite.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.some(key).map(|value| number(value, &self.path(key))).transpose()
    }

    /// The items of a list, or nothing.
    ///
    /// # Errors
    /// A validation error where it is of another type.
    pub fn list(&self, key: &str) -> Result<Option<&'v [Json<'a>]>> {
        self.some(key).map(|value| list(value, &self.path(key))).transpose()
    }

    /// An object, or nothing.
    ///
    /// # Errors
    /// A validation error where it is of another type.
    pub fn object(&self, key: &str) -> Result<Option<Fields<'v, 'a>>> {
        self.some(key).map(|value| Fields::of(value, self.path(key))).transpose()
    }

    /// Token ids, or nothing.
    ///
    /// # Errors
    /// A validation error with the index of the first item that is no id.
    pub fn token_ids(&self, key: &str) -> Result<Option<Vec<u32>>> {
        self.some(key).map(|value| token_ids(value, &self.path(key))).transpose()
    }

    /// Strings, or nothing.
    ///
    /// # Errors
    /// A validation error with the index of the first item that is no string.
    pub fn strings(&self, key: &str) -> Result<Option<Vec<String>>> {
        let Some(items) = self.list(key)? else { return Ok(None) };
        let path = self.path(key);
        let item = |(index, value)| string(value, &join(&path, &usize::to_string(&index))).map(str::to_owned);
        items.iter().enumerate().map(item).collect::<Result<_>>().map(Some)
    }
}

/// The error for a value of the wrong type.
#[must_use]
pub fn wrong(path: &str, wanted: &str, got: &Json<'_>) -> Error {
    Error::validation(path, format!("{path} must be {wanted}, not {}", json::preview(got)))
}

/// A string.
///
/// # Errors
/// A validation error where it is of another type.
pub fn string<'v>(value: &'v Json<'_>, path: &str) -> Result<&'v str> {
    json::as_str(value).ok_or_else(|| wrong(path, "a string", value))
}

/// A list.
///
/// # Errors
/// A validation error where it is of another type.
pub fn list<'v, 'a>(value: &'v Json<'a>, path: &str) -> Result<&'v [Json<'a>]> {
    match value {
        Json::Array(items) => Ok(items),
        other => Err(wrong(path, "a list", other)),
    }
}

/// A boolean, from `true`/`false`, 0/1 and the words that pydantic takes for them.
///
/// # Errors
/// A validation error for anything else.
pub fn boolean(value: &Json<'_>, path: &str) -> Result<bool> {
    let found = match value {
        Json::Bool(flag) => Some(*flag),
        Json::Int(0) => Some(false),
        Json::Int(1) => Some(true),
        Json::Float(float) if *float == 0.0 => Some(false),
        Json::Float(float) if (*float - 1.0).abs() < f64::EPSILON => Some(true),
        Json::Str(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| wrong(path, "a boolean", value))
}

/// An integer of 64 bits.
///
/// # Errors
/// A validation error for a fraction, for text that is no integer, and for what does not fit.
pub fn integer(value: &Json<'_>, path: &str) -> Result<i64> {
    match whole(value) {
        Some(Whole::Fits(number)) => Ok(number),
        Some(Whole::Big) => {
            let range = format!("an integer between {} and {}", i64::MIN, i64::MAX);
            Err(wrong(path, &range, value))
        }
        None => Err(wrong(path, "an integer", value)),
    }
}

enum Whole {
    Fits(i64),
    Big,
}

fn whole(value: &Json<'_>) -> Option<Whole> {
    match value {
        Json::Int(number) => Some(Whole::Fits(*number)),
        Json::Bool(flag) => Some(Whole::Fits(i64::from(*flag))),
        Json::BigInt(_) => Some(Whole::Big),
        Json::Float(float) if float.is_finite() && float.fract() == 0.0 => {
            // 2^63 is exact as a float; the cast is checked by the comparison.
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
            let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
                .contains(float)
                .then_some(*float as i64);
            Some(fits.map_or(Whole::Big, Whole::Fits))
        }
        Json::Str(text) => {
            let digits = text.trim();
            let digits = digits.strip_suffix(".0").unwrap_or(digits);
            match digits.parse::<i64>() {
                Ok(number) => Some(Whole::Fits(number)),
                Err(_) => digits
                    .len()
                    .lt(&4300)
                    .then(|| digits.parse::<BigInt>().ok())
                    .flatten()
                    .map(|_| Whole::Big),
            }
        }
        _ => None,
    }
}

/// A finite number.
///
/// # Errors
/// A validation error for anything else.
pub fn number(value: &Json<'_>, path: &str) -> Result<f64> {
    let found = match value {
        #[expect(clippy::cast_precision_loss, reason = "Python's float(int) rounds the same way")]
        Json::Int(number) => Some(*number as f64),
        Json::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Json::Float(float) => Some(*float),
        Json::BigInt(number) => number.to_string().parse().ok(),
        Json::Str(text) => text.trim().parse().ok(),
        _ => None,
    };
    found.filter(|float| float.is_finite()).ok_or_else(|| wrong(path, "a finite number", value))
}

/// Token ids: integers from 0 up.
///
/// # Errors
/// A validation error with the index of the first item that is none.
pub fn token_ids(value: &Json<'_>, path: &str) -> Result<Vec<u32>> {
    let items = list(value, path)?;
    let mut ids = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        ids.push(token_id(item, || join(path, &index.to_string()))?);
    }
    Ok(ids)
}

/// One token id; its path is only made where it is needed.
///
/// # Errors
/// A validation error for what is no integer, below 0 or above what an id can be.
pub fn token_id(value: &Json<'_>, path: impl Fn() -> String) -> Result<u32> {
    if let Json::Int(number) = value
        && let Ok(id) = u32::try_from(*number)
    {
        return Ok(id);
    }
    let path = path();
    let number = integer(value, &path)?;
    u32::try_from(number).map_err(|_| {
        let wanted = if number < 0 { "greater than or equal to 0" } else { "a token id (below 2^32)" };
        wrong(&path, wanted, value)
    })
}
