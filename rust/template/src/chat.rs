//! A chat template and what it renders.

use std::rc::Rc;
use std::sync::Arc;

use chrono::NaiveDateTime;
use jiter::JsonValue;

use crate::budget::Budget;
use crate::error::{Outcome, TemplateError};
use crate::eval::Interpreter;
use crate::front::{self, ContentFormat, Program};
use crate::text::is_space;
use crate::value::{Dict, Value, from_json};

/// Marks the end of the message to continue while the template runs. With a trailing space, which tells whether
/// the template trimmed the message.
const CONTINUE_TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// A compiled chat template. Rendering does not change it, so one serves all threads.
pub struct ChatTemplate {
    program: Program,
    content_format: ContentFormat,
    special_tokens: Vec<(Arc<str>, JsonValue<'static>)>,
    /// Whether the source mentions `content`, without which there is nothing to continue.
    mentions_content: bool,
}

/// What a template is rendered with.
#[derive(Debug, Clone, Copy)]
pub struct TemplateInput<'a> {
    /// A list of objects.
    pub messages: &'a JsonValue<'a>,
    /// A list of tool schemas.
    pub tools: Option<&'a JsonValue<'a>>,
    /// A list of objects.
    pub documents: Option<&'a JsonValue<'a>>,
    pub add_generation_prompt: bool,
    /// Ends the text where the last message's content ends, so that a model continues it.
    pub continue_final_message: bool,
    /// More variables for the template. They win over special tokens of the same name.
    pub kwargs: &'a [(String, JsonValue<'a>)],
    /// The local time that `strftime_now` shows; the clock's if `None`.
    pub now: Option<NaiveDateTime>,
}

/// A rendered chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    /// What `{% generation %}` blocks wrote: code points `[start, end)`, in the order in which the blocks end.
    /// Empty with [`TemplateInput::continue_final_message`].
    pub assistant_spans: Vec<(usize, usize)>,
}

impl ChatTemplate {
    /// Compiles a template. Special tokens (`bos_token`, …) become variables of it.
    ///
    /// # Errors
    /// [`TemplateError::Syntax`], and [`TemplateError::Unknown`] for an unknown filter or test outside of any
    /// condition.
    pub fn new(source: &str, special_tokens: &[(String, JsonValue<'static>)]) -> Result<Self, TemplateError> {
        let compiled = front::compile(source)?;
        Ok(Self {
            program: compiled.program,
            content_format: compiled.content_format,
            special_tokens: special_tokens
                .iter()
                .map(|(name, value)| (Arc::from(name.as_str()), value.clone()))
                .collect(),
            mentions_content: source.contains("content"),
        })
    }

    /// Whether the template marks what the assistant generates.
    #[must_use]
    pub fn has_generation_blocks(&self) -> bool {
        self.program.has_generation
    }

    /// The form of message content that the template takes, by vLLM's rule.
    #[must_use]
    pub fn content_format(&self) -> ContentFormat {
        self.content_format
    }

    /// Renders a chat.
    ///
    /// # Errors
    /// [`TemplateError::Raised`] with the template's own message, whatever Python would raise, or what of the
    /// budget was exceeded.
    pub fn render(&self, input: &TemplateInput<'_>, budget: &Budget) -> Result<Rendered, TemplateError> {
        let (messages, continued) = if input.continue_final_message {
            let (messages, continued) = self.tag_final_message(&from_json(input.messages))?;
            (messages, Some(continued))
        } else {
            (from_json(input.messages), None)
        };
        if let Some(JsonValue::Array(documents)) = input.documents
            && !documents.iter().all(|document| matches!(document, JsonValue::Object(_)))
        {
            return Err(TemplateError::Input(
                "Documents should be a list of dicts with 'title' and 'text' keys!".to_owned(),
            ));
        }
        let optional = |json: Option<&JsonValue<'_>>| json.map_or(Value::None, from_json);
        let mut variables: Vec<(Arc<str>, Value)> = vec![
            (Arc::from("messages"), messages),
            (Arc::from("tools"), optional(input.tools)),
            (Arc::from("documents"), optional(input.documents)),
            (Arc::from("add_generation_prompt"), Value::Bool(input.add_generation_prompt)),
        ];
        // The last of a name wins.
        variables
            .extend(self.special_tokens.iter().map(|(name, value)| (Arc::clone(name), from_json(value))));
        variables
            .extend(input.kwargs.iter().map(|(name, value)| (Arc::from(name.as_str()), from_json(value))));
        for (_, value) in &variables {
            value.check_depth()?;
        }
        let (mut text, mut assistant_spans) =
            Interpreter::new(&self.program, variables, budget, input.now).run()?;
        if let Some(continued) = continued {
            text = cut_after(text, &continued)?;
            // They would count the tag; transformers refuses to give both.
            assistant_spans.clear();
        }
        Ok(Rendered { text, assistant_spans })
    }

    /// Appends the tag to the last message's content, and gives that content as it was.
    fn tag_final_message(&self, messages: &Value) -> Outcome<(Value, Arc<str>)> {
        let refused = |message: &str| Err(TemplateError::ContinueFinalMessage(message.to_owned()));
        let Value::List(all) = messages else {
            return refused("messages must be a list");
        };
        let Some(last) = all.items.last() else {
            return refused("continue_final_message is set but the conversation is empty!");
        };
        let Value::Dict(last) = last else {
            return Err(TemplateError::Input("Chat messages should be dicts".to_owned()));
        };
        let content = match last.get_str("content") {
            None | Some(Value::None) => {
                return refused(
                    "continue_final_message is set but the final message has no \"content\" to continue!",
                );
            }
            Some(content) => content,
        };
        if !self.mentions_content {
            return refused(
                "continue_final_message is set to \"content\" but this is not an accepted field in the chat_template",
            );
        }
        let (tagged, continued) = match content {
            Value::Str(text) => (Value::text(format!("{}{CONTINUE_TAG}", text.text)), Arc::clone(&text.text)),
            Value::List(parts) => {
                let with_text =
                    |part: &Value| matches!(part, Value::Dict(part) if part.get_str("text").is_some());
                let Some(at) = parts.items.iter().rposition(with_text) else {
                    return refused(
                        "continue_final_message is set but we could not find any text to continue in the final message!",
                    );
                };
                let mut parts = parts.items.clone();
                let Value::Dict(part) = &parts[at] else {
                    return refused("the last text is not one");
                };
                let Some(Value::Str(text)) = part.get_str("text").cloned() else {
                    return refused("the last text of the final message is not a string");
                };
                parts[at] = with_entry(part, "text", Value::text(format!("{}{CONTINUE_TAG}", text.text)))?;
                (Value::list(parts), text.text)
            }
            _ => return refused("the content of the final message is neither a string nor a list"),
        };
        let mut items = all.items.clone();
        if let Some(item) = items.last_mut() {
            *item = with_entry(last, "content", tagged)?;
        }
        Ok((Value::list(items), continued))
    }
}

/// A dict with one entry changed.
fn with_entry(dict: &Rc<Dict>, key: &str, value: Value) -> Outcome<Value> {
    let mut changed = Dict::with_capacity(dict.len());
    for (key, value) in dict.entries() {
        changed.set(key.clone(), value.clone())?;
    }
    changed.set_str(&Arc::from(key), value);
    Ok(Value::dict(changed))
}

/// Cuts a rendered chat where the continued message ends.
fn cut_after(mut text: String, continued: &str) -> Outcome<String> {
    let tag = CONTINUE_TAG.trim_end();
    let at = text.rfind(tag).filter(|_| text.contains(continued.trim_matches(is_space)));
    let Some(at) = at else {
        return Err(TemplateError::ContinueFinalMessage(
            "continue_final_message is set but the final message does not appear in the chat after applying the chat \
             template! This can happen if the chat template deletes portions of the final message. Please verify the \
             chat template and final message in your chat to ensure they are compatible."
                .to_owned(),
        ));
    };
    let kept_spacing = text[at..].starts_with(CONTINUE_TAG);
    text.truncate(at);
    if !kept_spacing {
        text.truncate(text.trim_end_matches(is_space).len());
    }
    Ok(text)
}
