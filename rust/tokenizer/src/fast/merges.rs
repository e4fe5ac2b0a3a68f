//! The merge rules of a BPE model: which two tokens become which, and in which order.

/// A merge: the rank in the upper half (the lower goes first), the id of the product in the lower half.
pub type Merge = u64;

/// The rank and the product of two tokens that do not merge: after all that do.
pub const NO_MERGE: Merge = Merge::MAX;

const EMPTY: u64 = u64::MAX;

/// A table from pairs of ids to merges: open addressing, at most half full.
pub struct Merges {
    slots: Box<[(u64, Merge)]>,
    shift: u32,
}

/// A merge of a rank and a product.
pub fn merge(rank: u32, product: u32) -> Merge {
    u64::from(rank) << 32 | u64::from(product)
}

/// The id of a merge's product.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is the id")]
pub fn product(merge: Merge) -> u32 {
    merge as u32
}

impl Merges {
    /// A table with room for `count` pairs.
    pub fn with_capacity(count: usize) -> Self {
        let slots = (count.max(8) * 2).next_power_of_two();
        Self { slots: vec![(EMPTY, NO_MERGE); slots].into(), shift: 64 - slots.trailing_zeros() }
    }

    /// Whether every merge comes after those that make its two tokens, of which `made` tells the ranks of the last, by
    /// id. Then merges are done in the order of their ranks, whatever the word.
    pub fn are_ordered(&self, made: &[Option<u32>]) -> bool {
        let before = |id: u64, rank: u64| {
            let made = usize::try_from(id).ok().and_then(|id| *made.get(id)?);
            made.is_none_or(|made| u64::from(made) < rank)
        };
        let merges = self.slots.iter().filter(|(pair, _)| *pair != EMPTY);
        merges.into_iter().all(|&(pair, merge)| {
            before(pair >> 32, merge >> 32) && before(pair & u64::from(u32::MAX), merge >> 32)
        })
    }

    /// Adds a merge; one of the same pair takes the place of an earlier one. There must be room.
    pub fn insert(&mut self, left: u32, right: u32, merge: Merge) {
        let pair = pair(left, right);
        let slot = self.slot(pair);
        self.slots[slot] = (pair, merge);
    }

    /// The merge of two tokens, [`NO_MERGE`] where there is none.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Merge {
        self.slots[self.slot(pair(left, right))].1
    }

    /// The slot of a pair, or the empty one where it would go.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the shift leaves as many bits as there are slots")]
    fn slot(&self, pair: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize & mask;
        while self.slots[slot].0 != pair && self.slots[slot].0 != EMPTY {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

#[inline]
fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_ordered_if_their_tokens_are_made_before() {
        let mut merges = Merges::with_capacity(2);
        merges.insert(0, 1, merge(0, 2));
        merges.insert(2, 1, merge(1, 3));
        assert!(merges.are_ordered(&[None, None, Some(0), Some(1)]));
        merges.insert(2, 1, merge(0, 3));
        assert!(!merges.are_ordered(&[None, None, Some(0), Some(0)]));
    }

    #[test]
    fn a_later_merge_of_a_pair_wins_and_others_are_absent() {
        let mut merges = Merges::with_capacity(1000);
        for left in 0..1000 {
            merges.insert(left, left / 3, merge(left, left + 7));
        }
        merges.insert(5, 1, merge(9, 2));
        assert_eq!(merges.get(5, 1), merge(9, 2));
        assert_eq!(product(merges.get(900, 300)), 907);
        assert_eq!(merges.get(300, 900), NO_MERGE);
    }
}
