//! The model's vocabulary: tokens by id and ids by token, in one arena.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// The tokens of a model, as its file writes them.
#[derive(Default)]
pub struct Lexicon {
    arena: String,
    /// Start and end in the arena by id; an absent id has the start `u32::MAX`.
    spans: Vec<(u32, u32)>,
    ids: HashTable<u32>,
}

const ABSENT: (u32, u32) = (u32::MAX, u32::MAX);
/// The most that ids may be apart for the table by id to be worth its memory.
const HIGHEST_ID: u32 = 1 << 24;

impl Lexicon {
    /// Adds a token. False where the token or its id is there already, or the id is out of all proportion.
    pub fn insert(&mut self, token: &str, id: u32) -> bool {
        if id > HIGHEST_ID || self.id(token).is_some() || self.token(id).is_some() {
            return false;
        }
        let Ok(start) = u32::try_from(self.arena.len()) else { return false };
        let Ok(end) = u32::try_from(self.arena.len() + token.len()) else { return false };
        self.arena.push_str(token);
        let index = id as usize;
        if self.spans.len() <= index {
            self.spans.resize(index + 1, ABSENT);
        }
        self.spans[index] = (start, end);
        let (arena, spans) = (&self.arena, &self.spans);
        self.ids.insert_unique(hash(token), id, |&id| hash(text(arena, spans, id).unwrap_or_default()));
        true
    }

    /// The id of a token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.ids.find(hash(token), |&id| self.token(id) == Some(token)).copied()
    }

    /// The token of an id.
    pub fn token(&self, id: u32) -> Option<&str> {
        text(&self.arena, &self.spans, id)
    }

    /// One more than the highest id.
    pub fn bound(&self) -> usize {
        self.spans.len()
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The ids and their tokens, by id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).take(self.spans.len()).filter_map(|id| Some((id, self.token(id)?)))
    }
}

fn hash(token: &str) -> u64 {
    FxBuildHasher.hash_one(token)
}

fn text<'a>(arena: &'a str, spans: &[(u32, u32)], id: u32) -> Option<&'a str> {
    let &(start, end) = spans.get(id as usize)?;
    arena.get(start as usize..end as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_ids_find_each_other() {
        let mut lexicon = Lexicon::default();
        assert!(lexicon.insert("a", 3));
        assert!(lexicon.insert("", 0));
        assert!(!lexicon.insert("a", 4), "a token has one id");
        assert!(!lexicon.insert("b", 3), "an id has one token");
        assert!(!lexicon.insert("c", u32::MAX), "a wild id does not make a wild table");
        assert_eq!((lexicon.id("a"), lexicon.id("b"), lexicon.id("")), (Some(3), None, Some(0)));
        assert_eq!((lexicon.token(3), lexicon.token(1), lexicon.token(9)), (Some("a"), None, None));
        assert_eq!((lexicon.len(), lexicon.bound()), (2, 4));
    }
}
