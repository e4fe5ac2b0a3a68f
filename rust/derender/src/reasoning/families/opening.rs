//! What the last turn of a prompt leaves open.

use crate::parse::Build;
use crate::reasoning::Opening;

/// Ids of the prompt's end that are looked at where no special token bounds the last turn.
pub const TAIL: usize = 64;

/// Reads the end of the prompt backwards to its last marker. The last turn ends, backwards, at the first special token
/// that is no marker; where the vocabulary has no such tokens, only a marker that ends the prompt counts, for then a
/// marker further up may have been typed by a user.
#[must_use]
pub fn of_prompt(prompt: &[u32], open: &str, close: &str, build: Build<'_>) -> Opening {
    let marker_ids = [build.tokenizer.id(open), build.tokenizer.id(close)];
    let mut turn = Vec::new();
    let mut bounded = false;
    for &id in prompt.iter().rev().take(TAIL) {
        if build.vocabulary.is_special(id) && !marker_ids.contains(&Some(id)) {
            bounded = true;
            break;
        }
        turn.push(id);
    }
    turn.reverse();
    let bytes: Vec<u8> = turn.iter().flat_map(|&id| build.vocabulary.bytes(id)).copied().collect();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end();
    if !bounded {
        return match (text.ends_with(open), text.ends_with(close)) {
            (true, _) => Opening::Open,
            (_, true) => Opening::Closed,
            _ => Opening::Neutral,
        };
    }
    match (text.rfind(open), text.rfind(close)) {
        (Some(opened), Some(closed)) if closed > opened => Opening::Closed,
        (Some(_), _) => Opening::Open,
        (None, Some(_)) => Opening::Closed,
        (None, None) => Opening::Neutral,
    }
}
