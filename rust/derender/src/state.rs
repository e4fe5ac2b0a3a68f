//! `stream_state`: what a client carries from chunk to chunk.
//!
//! `{"v": 1, "s": "…"}`, where `s` is base64 of a tag and the choice's state. The tag is a message authentication code
//! over the state and all that it is bound to: the tokenizer, the parsers, the tools and stop strings of the request,
//! the request id and the choice's index. Its key is the server's `stream_state_key`. A state that no server with this
//! key wrote, that was altered, or that is of another request, choice or model does not verify.
//!
//! Behind the tag the state is still decoded as untrusted input: each part checks itself ([`crate::parse::State`]).

use std::hash::Hasher;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use dragoman_protocol::{Bounds, Error, Fields, Result, bounds};
use serde_json::{Value, json};
use siphasher::sip128::{Hasher128, SipHasher24};

/// The version of the layout.
const VERSION: i64 = 1;
const TAG: usize = 16;

/// What a state belongs to.
pub struct Binding<'b> {
    /// The key of the authentication code.
    pub key: &'b [u8; 16],
    /// Tokenizer and parsers of the server.
    pub server: u64,
    /// What the client asked for: [`crate::options::Options::binding`].
    pub request: &'b [u8],
    pub request_id: &'b str,
    pub endpoint: &'b str,
    pub index: i64,
    /// What the fields of a foreign state are bounded by.
    pub max_model_len: usize,
}

impl Binding<'_> {
    fn tag(&self, state: &[u8]) -> [u8; TAG] {
        let mut hasher = SipHasher24::new_with_key(self.key);
        hasher.write_i64(VERSION);
        hasher.write_u64(self.server);
        for part in [self.request, self.request_id.as_bytes(), self.endpoint.as_bytes(), state] {
            hasher.write_u64(part.len() as u64);
            hasher.write(part);
        }
        hasher.write_i64(self.index);
        hasher.finish128().as_bytes()
    }

    /// Writes a state.
    #[must_use]
    pub fn write(&self, state: &[u8]) -> Value {
        let mut bytes = self.tag(state).to_vec();
        bytes.extend_from_slice(state);
        json!({"v": VERSION, "s": BASE64.encode(bytes)})
    }

    /// Reads a state back. None: the object holds no state of ours, and the stream begins.
    ///
    /// # Errors
    /// A bad-request error for a state that is too long, of another version, altered, or not of this stream.
    pub fn read(&self, state: &Fields<'_, '_>, limits: &Bounds) -> Result<Option<Vec<u8>>> {
        let refuse = |why: &str| Err(Error::bad_parameter("stream_state", format!("stream_state {why}")));
        let begun = check_foreign(state, self.max_model_len)?;
        let Some(text) = state.string("s")? else {
            if begun {
                return refuse(
                    "is another server's, in the middle of a stream: finish the stream there, or send its token ids so \
                     far as one chunk with stream_state null",
                );
            }
            return Ok(None);
        };
        bounds::state_bytes(text.len(), limits)?;
        if state.integer("v")? != Some(VERSION) {
            return refuse("is of another version: start the stream again");
        }
        let Ok(bytes) = BASE64.decode(text) else { return refuse("is damaged: it is no base64") };
        let Some((tag, state)) = bytes.split_first_chunk::<TAG>() else {
            return refuse("is damaged: it is cut short");
        };
        // All bits are compared at once: the time tells nothing of the tag.
        let same = u128::from_le_bytes(self.tag(state)) == u128::from_le_bytes(*tag);
        if !same {
            return refuse("does not belong to this server, model, request and choice, or was altered");
        }
        Ok(Some(state.to_vec()))
    }
}

/// Checks the fields of vLLM's own state as vLLM does. Whether they say that the stream has begun.
fn check_foreign(state: &Fields<'_, '_>, max_model_len: usize) -> Result<bool> {
    for key in ["prefix_offset", "read_offset", "logprob_text_offset"] {
        if let Some(number) = state.integer(key)? {
            bounds::token_count(&state.path(key), number)?;
        }
    }
    let mut begun = false;
    for key in ["role_sent", "tools_streamed"] {
        begun |= state.boolean(key)?.unwrap_or_default();
    }
    for key in ["prev_tokens", "last_tool_call_ids", "output_token_ids", "output_chunk_lens"] {
        if let Some(items) = state.list(key)? {
            bounds::id_count(&state.path(key), items.len(), max_model_len)?;
            begun |= !items.is_empty();
        }
    }
    state.strings("prev_tokens")?;
    state.strings("last_tool_call_ids")?;
    let context = state.list("logprob_context_token_ids")?.unwrap_or_default();
    bounds::count(&state.path("logprob_context_token_ids"), context.len(), 4)?;
    let ids = state.token_ids("output_token_ids")?.unwrap_or_default();
    let lengths = state.token_ids("output_chunk_lens")?.unwrap_or_default();
    let sum: u64 = lengths.iter().copied().map(u64::from).sum();
    if lengths.contains(&0) || sum != ids.len() as u64 {
        let path = state.path("output_chunk_lens");
        let count = ids.len();
        return Err(Error::validation(
            &path,
            format!("{path} must be above 0 and sum up to the {count} output_token_ids"),
        ));
    }
    Ok(begun)
}
