//! `structured_outputs`: the grammar that an output must follow.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::sampling::to_raw;
use crate::{Error, Fields, Json, Result, fields};

/// A grammar that the output must follow. At most one kind is set.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StructuredOutputs {
    pub json: Option<Box<RawValue>>,
    pub regex: Option<String>,
    pub choice: Option<Vec<String>>,
    pub grammar: Option<String>,
    pub json_object: Option<bool>,
    pub disable_any_whitespace: bool,
    pub disable_additional_properties: bool,
    pub whitespace_pattern: Option<String>,
    pub structural_tag: Option<String>,
}

impl StructuredOutputs {
    /// Reads `structured_outputs`.
    ///
    /// # Errors
    /// A validation error on the first field of a wrong type, and where not exactly one grammar is given.
    pub fn parse(from: &Fields<'_, '_>) -> Result<Self> {
        let owned = |key: &str| from.string(key).map(|text| text.map(str::to_owned));
        let outputs = Self {
            json: match from.some("json") {
                None => None,
                Some(value @ (Json::Str(_) | Json::Object(_))) => Some(to_raw(value)?),
                Some(other) => return Err(fields::wrong(&from.path("json"), "a JSON schema", other)),
            },
            regex: owned("regex")?,
            choice: from.strings("choice")?,
            grammar: owned("grammar")?,
            json_object: from.boolean("json_object")?,
            disable_any_whitespace: from.flag("disable_any_whitespace", false)?,
            disable_additional_properties: from.flag("disable_additional_properties", false)?,
            whitespace_pattern: owned("whitespace_pattern")?,
            structural_tag: owned("structural_tag")?,
        };
        let given = outputs.kinds();
        if given != 1 {
            let message = format!(
                "structured_outputs needs exactly one of json, regex, choice, grammar, json_object and \
                 structural_tag; {given} are given"
            );
            return Err(Error::bad_parameter("structured_outputs", message));
        }
        if outputs.choice.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::bad_parameter(
                "structured_outputs",
                "structured_outputs.choice is an empty list",
            ));
        }
        Ok(outputs)
    }

    /// How many grammars are set.
    #[must_use]
    pub fn kinds(&self) -> usize {
        [
            self.json.is_some(),
            self.regex.is_some(),
            self.choice.is_some(),
            self.grammar.is_some(),
            self.json_object.is_some(),
            self.structural_tag.is_some(),
        ]
        .into_iter()
        .filter(|set| *set)
        .count()
    }
}
