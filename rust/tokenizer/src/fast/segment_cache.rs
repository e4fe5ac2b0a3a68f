//! The encodings of stretches of text seen lately.
//!
//! Text between two added tokens encodes on its own, so the next turn of a conversation costs only what is new in
//! it. The cache is a pure function's memory: what it gives is what encoding gives, and a hit is told by comparing
//! the whole text. It says nothing about other requests but, by its speed, that a text was seen. Hashes are keyed, so
//! that nobody can aim at one place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ahash::RandomState;

/// Shorter stretches are encoded faster than they are looked up.
pub const SHORTEST: usize = 96;

/// The bytes that a cache may hold, where nothing else is asked for.
pub const DEFAULT_BYTES: usize = 64 << 20;

const SHARDS: usize = 8;

/// What an entry takes beside its contents: the map's slot and the allocations' heads, roughly.
const OVERHEAD: usize = 128;

/// The encoding of a stretch of text.
pub struct Segment {
    /// The text.
    pub text: Box<str>,
    /// Its ids.
    pub ids: Box<[u32]>,
    /// Ranges of code points from its start, `(ids,)`, where they were asked for.
    pub offsets: Option<Box<[[u32; 2]]>>,
}

impl Segment {
    fn bytes(&self) -> usize {
        let offsets = self.offsets.as_ref().map_or(0, |offsets| size_of_val::<[_]>(offsets));
        self.text.len() + size_of_val::<[_]>(&self.ids) + offsets + OVERHEAD
    }
}

/// Two generations of entries: the young one is filled; when it is full, it becomes the old one, whose entries go
/// unless they are asked for again.
#[derive(Default)]
struct Shard {
    young: HashMap<u64, Arc<Segment>, RandomState>,
    old: HashMap<u64, Arc<Segment>, RandomState>,
    young_bytes: usize,
}

/// A bounded map from stretches of text to their encodings, for many threads.
pub struct SegmentCache {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    /// What a generation of a shard may hold.
    generation_bytes: usize,
}

impl SegmentCache {
    /// A cache that holds at most about `bytes` bytes; 0 switches it off.
    pub fn new(bytes: usize) -> Self {
        Self { shards: Default::default(), hasher: RandomState::new(), generation_bytes: bytes / SHARDS / 2 }
    }

    /// The encoding of a text, with its offsets where they are asked for.
    pub fn get(&self, text: &str, offsets: bool) -> Option<Arc<Segment>> {
        if self.generation_bytes == 0 {
            return None;
        }
        let hash = self.hasher.hash_one(text);
        let mut shard = self.shard(hash);
        let found = shard.young.get(&hash).or_else(|| shard.old.get(&hash))?;
        if *found.text != *text || (offsets && found.offsets.is_none()) {
            return None;
        }
        let found = Arc::clone(found);
        if shard.old.remove(&hash).is_some() {
            self.keep(&mut shard, hash, Arc::clone(&found));
        }
        Some(found)
    }

    /// Keeps the encoding of a text.
    pub fn put(&self, segment: Segment) {
        if segment.bytes() > self.generation_bytes {
            return;
        }
        let hash = self.hasher.hash_one(&*segment.text);
        let mut shard = self.shard(hash);
        shard.old.remove(&hash);
        self.keep(&mut shard, hash, Arc::new(segment));
    }

    fn keep(&self, shard: &mut Shard, hash: u64, segment: Arc<Segment>) {
        if shard.young_bytes + segment.bytes() > self.generation_bytes {
            shard.old = std::mem::take(&mut shard.young);
            shard.young_bytes = 0;
        }
        shard.young_bytes += segment.bytes();
        if let Some(before) = shard.young.insert(hash, segment) {
            shard.young_bytes -= before.bytes();
        }
    }

    fn shard(&self, hash: u64) -> std::sync::MutexGuard<'_, Shard> {
        let index = (hash >> 60) as usize % SHARDS;
        // A panic elsewhere leaves at worst an entry unkept.
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        let held = |shard: &Shard| {
            let entries = shard.young.values().chain(shard.old.values());
            entries.map(|segment| segment.bytes()).sum::<usize>()
        };
        self.shards.iter().map(|shard| held(&shard.lock().unwrap())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(text: &str, offsets: bool) -> Segment {
        let ids: Box<[u32]> = text.bytes().map(u32::from).collect();
        let offsets = offsets.then(|| ids.iter().map(|_| [0, 1]).collect());
        Segment { text: text.into(), ids, offsets }
    }

    #[test]
    fn a_text_is_found_with_offsets_only_if_it_was_kept_with_them() {
        let cache = SegmentCache::new(1 << 20);
        cache.put(segment("text", false));
        assert!(cache.get("text", false).is_some_and(|found| *found.ids == [116, 101, 120, 116]));
        assert!(cache.get("text", true).is_none());
        assert!(cache.get("texts", false).is_none());
        cache.put(segment("text", true));
        assert!(cache.get("text", true).is_some());
    }

    #[test]
    fn memory_is_bounded_and_what_is_used_stays() {
        let bytes = 1 << 18;
        let cache = SegmentCache::new(bytes);
        cache.put(segment("used all the time", true));
        for number in 0..20_000 {
            cache.put(segment(&format!("text number {number}"), true));
            assert!(cache.get("used all the time", true).is_some(), "at {number}");
        }
        let held = cache.held();
        assert!(held <= bytes && held > bytes / 4, "{held}");
        cache.put(segment(&"x".repeat(bytes), false));
        assert!(cache.held() <= bytes);
    }

    #[test]
    fn zero_bytes_switch_it_off() {
        let cache = SegmentCache::new(0);
        cache.put(segment("text", true));
        assert!(cache.get("text", false).is_none());
    }
}
