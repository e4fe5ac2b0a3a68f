//! A Python `dict`: insertion order, and keys that are equal when Python says so (`1 == 1.0 == True`).

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{Value, equal};
use crate::error::{Outcome, type_error};

/// Up to here a scan is faster than a hash.
const SCAN_LENGTH: usize = 8;

/// A dict; see the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Dict {
    entries: Vec<(Value, Value)>,
    /// Positions by the hash of the key, once there are more than [`SCAN_LENGTH`] entries.
    index: Option<HashMap<u64, Vec<usize>>>,
    /// Depth of nesting, as [`Value::depth`].
    pub depth: u16,
}

impl Dict {
    /// An empty dict with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), index: None, depth: 1 }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in order.
    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    /// The value of a text key.
    pub fn get_str(&self, key: &str) -> Option<&Value> {
        if let Some(index) = &self.index {
            let positions = index.get(&hash_str(key))?;
            return positions
                .iter()
                .map(|&at| &self.entries[at])
                .find(|(k, _)| k.as_str() == Some(key))
                .map(|(_, v)| v);
        }
        self.entries.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// A `TypeError` if the key is not hashable.
    pub fn get(&self, key: &Value) -> Outcome<Option<&Value>> {
        Ok(self.position(key)?.map(|at| &self.entries[at].1))
    }

    /// Sets a key; the position of an existing one stays, and so does the key itself.
    ///
    /// # Errors
    /// A `TypeError` if the key is not hashable.
    pub fn set(&mut self, key: Value, value: Value) -> Outcome<()> {
        self.depth = self.depth.max(value.depth().max(key.depth()).saturating_add(1));
        if let Some(at) = self.position(&key)? {
            self.entries[at].1 = value;
            return Ok(());
        }
        if let Some(index) = &mut self.index {
            index.entry(hash(&key)?).or_default().push(self.entries.len());
        }
        self.entries.push((key, value));
        if self.index.is_none() && self.entries.len() > SCAN_LENGTH {
            let mut index: HashMap<u64, Vec<usize>> = HashMap::with_capacity(self.entries.len());
            for (at, (key, _)) in self.entries.iter().enumerate() {
                index.entry(hash(key)?).or_default().push(at);
            }
            self.index = Some(index);
        }
        Ok(())
    }

    /// Sets a text key, which cannot fail.
    pub fn set_str(&mut self, key: &Arc<str>, value: Value) {
        // A text is always hashable.
        let _ = self.set(Value::text(Arc::clone(key)), value);
    }

    /// Takes out all entries.
    pub fn take(&mut self) -> Vec<(Value, Value)> {
        self.index = None;
        std::mem::take(&mut self.entries)
    }

    fn position(&self, key: &Value) -> Outcome<Option<usize>> {
        let wanted = hash(key)?;
        if let Some(index) = &self.index {
            return Ok(index.get(&wanted).and_then(|positions| {
                positions.iter().copied().find(|&at| equal(&self.entries[at].0, key))
            }));
        }
        Ok(self.entries.iter().position(|(k, _)| equal(k, key)))
    }
}

fn hash_str(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A hash that is the same for keys that are equal.
///
/// # Errors
/// A `TypeError` for lists, dicts and namespaces.
pub(crate) fn hash(key: &Value) -> Outcome<u64> {
    let mut hasher = DefaultHasher::new();
    match key {
        Value::Str(text) => return Ok(hash_str(&text.text)),
        Value::Bool(value) => i64::from(*value).hash(&mut hasher),
        Value::Int(value) => value.hash(&mut hasher),
        Value::Big(value) => value.hash(&mut hasher),
        Value::Float(value) => match super::integer::exact_integer(*value) {
            Some(super::Integer::Small(value)) => value.hash(&mut hasher),
            Some(super::Integer::Big(value)) => value.hash(&mut hasher),
            None => value.to_bits().hash(&mut hasher),
        },
        Value::Tuple(items) => {
            for item in &items.items {
                hash(item)?.hash(&mut hasher);
            }
        }
        Value::List(_) | Value::Dict(_) | Value::View(..) => {
            return Err(type_error(format!("unhashable type: '{}'", key.type_name())));
        }
        // Undefined values, None and objects are few: equality alone tells them apart.
        _ => 0_u8.hash(&mut hasher),
    }
    Ok(hasher.finish())
}
