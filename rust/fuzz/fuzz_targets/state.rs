//! Any bytes as `stream_state`: an answer or an error, and never a panic.
//!
//! Built with `--cfg fuzzing`, the state's tag is not checked, so that the decoder and the parsers behind it see what
//! the tag keeps out.

#![no_main]

use arbitrary::Arbitrary;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use dragoman_fuzz::calls::native;
use dragoman_fuzz::client::Asked;
use dragoman_fuzz::output::{Json, Output, Request};
use dragoman_fuzz::serving::Server;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

#[derive(Debug, Arbitrary)]
enum State<'a> {
    Odd(Json),
    Text(&'a str),
    /// What stands behind the tag.
    Bytes(&'a [u8]),
    /// The state after the output's first ids, with some bytes replaced.
    Altered(u8, Vec<(u16, u8)>),
    /// That state, cut or lengthened.
    Cut(u8, u16, &'a [u8]),
}

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    server: Server,
    state: State<'a>,
    output: Output<'a>,
    request: Request<'a>,
}

fn wrap(bytes: &[u8]) -> Value {
    json!({"v": 1, "s": BASE64.encode(bytes)})
}

/// The bytes of the state after the first ids.
fn after(asked: &Asked<'_>, count: u8) -> Option<Vec<u8>> {
    let ids = &asked.ids[..usize::from(count).min(asked.ids.len())];
    let answer = asked.chunk(ids, false, &Value::Null).ok()?;
    BASE64.decode(answer["stream_state"]["s"].as_str()?).ok()
}

fn state(asked: &Asked<'_>, state: &State<'_>) -> Option<Value> {
    Some(match state {
        State::Odd(json) => json.value(),
        State::Text(text) => json!({"v": 1, "s": text}),
        State::Bytes(bytes) => wrap(&[&[0; 16], *bytes].concat()),
        State::Altered(count, changes) => {
            let mut bytes = after(asked, *count)?;
            let length = bytes.len();
            for (place, byte) in changes {
                bytes[usize::from(*place) % length] = *byte;
            }
            wrap(&bytes)
        }
        State::Cut(count, length, more) => {
            let mut bytes = after(asked, *count)?;
            bytes.truncate(usize::from(*length) % (bytes.len() + 1));
            bytes.extend_from_slice(more);
            wrap(&bytes)
        }
    })
}

fuzz_target!(|input: Input| {
    let ids = input.output.ids(&native(input.server));
    let asked = Asked {
        derenderer: &input.server.derenderer(),
        request: input.request.value(),
        prompt: input.output.prompt(),
        ids: &ids,
        finish_reason: input.output.finish_reason(),
    };
    let Some(mut state) = state(&asked, &input.state) else { return };
    for (last, ids) in [(false, ids.as_slice()), (true, &ids[..ids.len() / 2])] {
        match asked.chunk(ids, last, &state) {
            Ok(answer) => state = answer["stream_state"].clone(),
            Err(error) => {
                assert_ne!(error.kind(), "internal", "{error}");
                return;
            }
        }
    }
});
