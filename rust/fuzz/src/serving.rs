//! Derenderers and renderers of the small tokenizer, each made once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use dragoman_derender::{Derenderer, reasoning, tool};
use dragoman_protocol::ServingConfig;
use dragoman_render::{Parts, Renderer, Template};
use dragoman_tokenizer::Tokenizer;
use serde_json::json;

use crate::tokenizer::{EOS, SIZE, Vocabulary, tokenizer};

static TOKENIZERS: LazyLock<[Arc<Tokenizer>; 2]> = LazyLock::new(|| {
    [Vocabulary::Markers, Vocabulary::Bytes].map(|vocabulary| Arc::new(tokenizer(vocabulary)))
});

/// A server's parsers: any two of the registries, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, arbitrary::Arbitrary)]
pub struct Server {
    pub vocabulary: Vocabulary,
    tool: u8,
    reasoning: u8,
}

/// The name of a number; the number after the last stands for none.
fn name(names: &'static [&'static str], number: u8) -> Option<&'static str> {
    names.get(usize::from(number) % (names.len() + 1)).copied()
}

fn small(vocabulary: Vocabulary) -> Arc<Tokenizer> {
    Arc::clone(&TOKENIZERS[usize::from(vocabulary == Vocabulary::Bytes)])
}

fn config(tool: Option<&str>, reasoning: Option<&str>) -> Arc<ServingConfig> {
    let settings = json!({
        "served_model_names": ["m"], "max_model_len": 100_000, "vocab_size": SIZE, "max_logprobs": 20,
        "default_sampling": {}, "eos_token_ids": [EOS], "chat_template_content_format": "auto",
        "default_chat_template_kwargs": {}, "trust_request_chat_template": false, "tool_call_parser": tool,
        "reasoning_parser": reasoning, "enable_auto_tool_choice": true, "tokens_only": false, "stream_state_key": vec![7u8; 16],
        "bounds": {"template_steps": 100_000, "template_bytes": 1 << 20, "template_milliseconds": 1000},
    });
    Arc::new(ServingConfig::from_json(settings.to_string().as_bytes()).expect("settings"))
}

impl Server {
    /// The names of the tool-call parser and of the reasoning parser.
    #[must_use]
    pub fn names(&self) -> (Option<&'static str>, Option<&'static str>) {
        (name(tool::NAMES, self.tool), name(reasoning::NAMES, self.reasoning))
    }

    /// The same without a reasoning parser.
    #[must_use]
    pub fn without_reasoning(self) -> Self {
        Self { reasoning: u8::try_from(reasoning::NAMES.len()).unwrap_or(u8::MAX), ..self }
    }

    /// The derenderer.
    ///
    /// # Panics
    /// Where a parser of the registry cannot be built for the tokenizer: a fault to find.
    #[must_use]
    pub fn derenderer(&self) -> Rc<Derenderer> {
        type Key = (Vocabulary, Option<&'static str>, Option<&'static str>);
        thread_local! {
            static MADE: RefCell<HashMap<Key, Rc<Derenderer>>> = RefCell::default();
        }
        let (tool, reasoning) = self.names();
        MADE.with_borrow_mut(|made| {
            let made = made.entry((self.vocabulary, tool, reasoning)).or_insert_with(|| {
                let derenderer = Derenderer::new(small(self.vocabulary), config(tool, reasoning));
                Rc::new(derenderer.expect("a parser of the registry"))
            });
            Rc::clone(made)
        })
    }
}

const CHATML: &str = "{% if tools %}{{ tools | tojson }}\n{% endif %}{% for message in messages %}<|im_start|>\
    {{ message.role }}\n{% if message.role == 'assistant' %}{% generation %}{{ message.content }}\
    {% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}\
    <|im_end|>{% endgeneration %}{% else %}{% if message.content is string %}{{ message.content }}{% else %}\
    {% for part in message.content or [] %}{{ part.text }}{% endfor %}{% endif %}<|im_end|>{% endif %}\n{% endfor %}\
    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// A renderer with a template that reads all parts of a conversation and marks what the assistant wrote.
///
/// # Panics
/// Where the template does not compile: a fault to find.
#[must_use]
pub fn renderer() -> Renderer {
    let template = Template::new(CHATML, &[], None).expect("a template");
    let parts = Parts { template: Some(template), ..Parts::default() };
    Renderer::new(small(Vocabulary::Markers), config(Some("hermes"), None), parts)
}
