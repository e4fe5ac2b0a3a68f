//! Any bytes as `stream_state`: an answer or an error, and never a panic.
//!
//! Altered states of chats are signed with the server's key, so that the decoder and the parsers behind the tag see them.
//! With any other tag, what was altered or belongs to another stream must be refused.

#![no_main]

use arbitrary::Arbitrary;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use dragoman_fuzz::case::Case;
use dragoman_fuzz::client::Asked;
use dragoman_fuzz::output::Json;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

#[derive(Debug, Arbitrary)]
enum State<'a> {
    Odd(Json),
    Text(&'a str),
    /// What stands behind the tag.
    Bytes(&'a [u8]),
    /// The state after the output's first ids, with some bytes behind the tag replaced.
    Altered(u8, Vec<(u16, u8)>),
    /// That state, cut or lengthened.
    Cut(u8, u16, &'a [u8]),
    /// That state with its tag, in which some bits were turned over.
    Tagged(u8, Vec<(u16, u8)>),
    /// That state, of another choice.
    Swapped(u8),
}

/// Bytes of the tag.
const TAG: usize = 16;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    state: State<'a>,
    case: Case<'a>,
}

fn wrap(bytes: &[u8]) -> Value {
    json!({"v": 1, "s": BASE64.encode(bytes)})
}

/// The state after the first ids of a choice: its tag, and what stands behind.
fn after(asked: &Asked<'_>, index: usize, count: u8) -> Option<(Vec<u8>, Vec<u8>)> {
    let ids = &asked.ids[..usize::from(count).min(asked.ids.len())];
    let answer = asked.chunk(index, ids, false, &Value::Null).ok()?;
    let mut tag = BASE64.decode(answer["stream_state"]["s"].as_str()?).ok()?;
    let state = tag.split_off(TAG);
    Some((tag, state))
}

/// A state, and whether it must be refused.
fn state(asked: &Asked<'_>, state: &State<'_>) -> Option<(Value, bool)> {
    let signed = |state: &[u8]| Some((asked.sign(0, state)?, false));
    Some(match state {
        State::Odd(json) => (json.value(), false),
        State::Text(text) => (json!({"v": 1, "s": text}), false),
        State::Bytes(bytes) => return signed(bytes),
        State::Altered(count, changes) => {
            let (_, mut state) = after(asked, 0, *count)?;
            let length = state.len();
            for (place, byte) in changes {
                state[usize::from(*place) % length] = *byte;
            }
            return signed(&state);
        }
        State::Cut(count, length, more) => {
            let (_, mut state) = after(asked, 0, *count)?;
            state.truncate(usize::from(*length) % (state.len() + 1));
            state.extend_from_slice(more);
            return signed(&state);
        }
        State::Tagged(count, flips) => {
            let (tag, state) = after(asked, 0, *count)?;
            let whole = [tag, state].concat();
            let mut turned = whole.clone();
            for (place, bits) in flips {
                turned[usize::from(*place) % whole.len()] ^= bits;
            }
            (wrap(&turned), turned != whole)
        }
        State::Swapped(count) => {
            let (tag, state) = after(asked, 1, *count)?;
            (wrap(&[tag, state].concat()), true)
        }
    })
}

fuzz_target!(|input: Input| {
    let (ids, derenderer) = (input.case.ids(), input.case.server.derenderer());
    let asked = input.case.asked(&derenderer, &ids, 2);
    let Some((mut state, refused)) = state(&asked, &input.state) else { return };
    for (last, ids) in [(false, ids.as_slice()), (true, &ids[..ids.len() / 2])] {
        match asked.chunk(0, ids, last, &state) {
            Ok(_) if refused => panic!("a state with a wrong tag was taken: {:?}", input.state),
            Ok(answer) => state = answer["stream_state"].clone(),
            Err(error) => {
                assert_ne!(error.kind(), "internal", "{error}");
                return;
            }
        }
    }
});
