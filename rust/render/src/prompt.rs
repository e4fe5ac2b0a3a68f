//! Prompt text to token ids, within the model's context.

use dragoman_protocol::{Error, Generation, Result, TruncationSide, bounds};

use crate::{Renderer, error};

/// The ids of a prompt, and their places in its text where those were asked for.
pub struct Prompt {
    pub ids: Vec<u32>,
    pub offsets: Option<Vec<[u32; 2]>>,
    /// Ids of the post-processor at the start and at the end: a cut spares them, as HF's truncation does.
    spared: [usize; 2],
}

/// What the context leaves for a prompt, and how a longer one is cut.
struct Room {
    /// Tokens of prompt that are accepted.
    tokens: usize,
    /// Tokens that are kept, where the request asks for a cut.
    keep: Option<usize>,
    side: TruncationSide,
}

impl Renderer {
    /// Encodes a prompt.
    ///
    /// # Errors
    /// A bad-request error for a prompt that is empty, or too long for the context.
    pub(crate) fn encode(
        &self,
        text: &str,
        generation: &Generation,
        max_tokens: Option<i64>,
        offsets: bool,
    ) -> Result<Prompt> {
        let room = self.room(generation, max_tokens)?;
        if room.keep.is_none() {
            bounds::prompt_characters(text, room.tokens, self.tokenizer.longest_token(), &self.config)?;
        }
        let encoding = self
            .tokenizer
            .encode(text, generation.add_special_tokens, offsets)
            .map_err(|fault| error::tokenizer(&fault))?;
        let offsets = offsets.then_some(encoding.offsets);
        let spared = [encoding.added_before, encoding.added_after];
        self.fit(Prompt { ids: encoding.ids, offsets, spared }, &room, max_tokens)
    }

    /// Takes a prompt that is ids already.
    ///
    /// # Errors
    /// As [`Self::encode`], and for ids out of vocabulary.
    pub(crate) fn take_ids(
        &self,
        ids: Vec<u32>,
        generation: &Generation,
        max_tokens: Option<i64>,
    ) -> Result<Prompt> {
        for id in &ids {
            bounds::token_id("prompt", *id, self.config.vocab_size)?;
        }
        let room = self.room(generation, max_tokens)?;
        self.fit(Prompt { ids, offsets: None, spared: [0, 0] }, &room, max_tokens)
    }

    fn room(&self, generation: &Generation, max_tokens: Option<i64>) -> Result<Room> {
        let context = self.config.max_model_len;
        let output = max_tokens.unwrap_or(0).max(0);
        let output = usize::try_from(output).ok().filter(|output| *output <= context).ok_or_else(|| {
            let message = format!("max_tokens={output} is more than the context length of {context} tokens");
            Error::bad_parameter("max_tokens", message)
        })?;
        let tokens = context - output;
        let keep = match generation.truncate_prompt_tokens {
            None => None,
            Some(-1) => Some(tokens),
            Some(asked) => match usize::try_from(asked) {
                Ok(asked) if asked <= context => Some(asked.min(tokens)),
                _ => {
                    let message = format!(
                        "truncate_prompt_tokens={asked} is more than the context length of {context} tokens"
                    );
                    return Err(Error::bad_parameter("truncate_prompt_tokens", message));
                }
            },
        };
        Ok(Room { tokens, keep, side: generation.truncation_side })
    }

    fn fit(&self, mut prompt: Prompt, room: &Room, max_tokens: Option<i64>) -> Result<Prompt> {
        if let Some(keep) = room.keep {
            cut(&mut prompt.ids, keep, room.side, prompt.spared);
            if let Some(offsets) = &mut prompt.offsets {
                cut(offsets, keep, room.side, prompt.spared);
            }
        }
        if prompt.ids.is_empty() {
            return Err(Error::bad_request("No token_ids rendered: the prompt is empty"));
        }
        bounds::prompt_length(prompt.ids.len(), room.tokens, max_tokens, &self.config)?;
        Ok(prompt)
    }

    /// `max_tokens` of the generate request: what was asked for, at most what the context leaves and what the
    /// generation config allows.
    pub(crate) fn output_tokens(&self, prompt: usize, asked: Option<i64>) -> i64 {
        let left = self.config.max_model_len.saturating_sub(prompt);
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        [asked, self.config.default_sampling.max_tokens].into_iter().flatten().fold(left, i64::min)
    }
}

/// Cuts `items` to `keep`: from the chosen side, but inside of what is spared at both ends.
fn cut<T>(items: &mut Vec<T>, keep: usize, side: TruncationSide, spared: [usize; 2]) {
    let Some(surplus) = items.len().checked_sub(keep).filter(|surplus| *surplus > 0) else { return };
    let [before, after] = spared;
    let text = items.len() - before - after;
    if surplus > text {
        // Not even the spared ones fit.
        items.drain(before..before + text);
        items.truncate(keep);
        return;
    }
    let start = match side {
        TruncationSide::Left => before,
        TruncationSide::Right => before + text - surplus,
    };
    items.drain(start..start + surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_takes_from_the_chosen_side_and_spares_added_ids() {
        let after = |keep, side, spared| {
            let mut items = vec![1, 2, 3, 4, 5];
            cut(&mut items, keep, side, spared);
            items
        };
        assert_eq!(after(9, TruncationSide::Left, [0, 0]), [1, 2, 3, 4, 5]);
        assert_eq!(after(2, TruncationSide::Left, [0, 0]), [4, 5]);
        assert_eq!(after(2, TruncationSide::Right, [0, 0]), [1, 2]);
        assert_eq!(after(3, TruncationSide::Left, [1, 0]), [1, 4, 5]);
        assert_eq!(after(3, TruncationSide::Right, [1, 1]), [1, 2, 5]);
        assert_eq!(after(1, TruncationSide::Left, [1, 1]), [1]);
    }
}
