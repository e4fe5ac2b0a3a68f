//! Byte-pair encoding of one word: of all neighbours that merge, the pair of the lowest rank is merged first, the
//! leftmost where several are the same, until none merges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::merges::{Merges, NO_MERGE, product};

/// Up to this many symbols, looking through all pairs beats a heap.
const SHORT: usize = 48;

const NONE: u32 = u32::MAX;

/// Buffers that are kept from word to word.
#[derive(Default)]
pub struct MergeBuffers {
    /// The symbols of the word, then of its tokens.
    pub symbols: Vec<u32>,
    merges: Vec<u64>,
    links: Vec<(u32, u32)>,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

impl MergeBuffers {
    /// Merges `symbols` in place.
    pub fn run(&mut self, merges: &Merges) {
        if self.symbols.len() <= SHORT { self.scan(merges) } else { self.drain(merges) }
    }

    /// Quadratic, for short words.
    fn scan(&mut self, merges: &Merges) {
        let symbols = &mut self.symbols;
        let found = &mut self.merges;
        found.clear();
        found.extend(symbols.windows(2).map(|pair| merges.get(pair[0], pair[1])));
        loop {
            let (mut best, mut place) = (NO_MERGE, 0);
            for (index, &merge) in found.iter().enumerate() {
                if merge < best {
                    (best, place) = (merge, index);
                }
            }
            if best == NO_MERGE {
                return;
            }
            symbols[place] = product(best);
            symbols.remove(place + 1);
            found.remove(place);
            if place > 0 {
                found[place - 1] = merges.get(symbols[place - 1], symbols[place]);
            }
            if place < found.len() {
                found[place] = merges.get(symbols[place], symbols[place + 1]);
            }
        }
    }

    /// n log n, for words of any length: a queue of (rank and place, product), of which outdated entries are left
    /// out as they come.
    fn drain(&mut self, merges: &Merges) {
        let Self { symbols, links, queue, .. } = self;
        let Ok(count) = u32::try_from(symbols.len()) else { return };
        links.clear();
        links.extend(
            (0..count).map(|place| (place.wrapping_sub(1), if place + 1 < count { place + 1 } else { NONE })),
        );
        queue.clear();
        let entry = |merge: u64, place: u32| Reverse((merge >> 32 << 32 | u64::from(place), product(merge)));
        for (place, pair) in (0..).zip(symbols.windows(2)) {
            let merge = merges.get(pair[0], pair[1]);
            if merge != NO_MERGE {
                queue.push(entry(merge, place));
            }
        }
        while let Some(Reverse((key, made))) = queue.pop() {
            #[expect(clippy::cast_possible_truncation, reason = "the lower half is the place")]
            let place = key as u32;
            let (left, right) = (symbols[place as usize], links[place as usize].1);
            if left == NONE || right == NONE {
                continue;
            }
            let merge = merges.get(left, symbols[right as usize]);
            if merge == NO_MERGE || product(merge) != made {
                continue;
            }
            let after = links[right as usize].1;
            symbols[place as usize] = made;
            symbols[right as usize] = NONE;
            links[place as usize].1 = after;
            if after != NONE {
                links[after as usize].0 = place;
                let merge = merges.get(made, symbols[after as usize]);
                if merge != NO_MERGE {
                    queue.push(entry(merge, place));
                }
            }
            let before = links[place as usize].0;
            if before != NONE {
                let merge = merges.get(symbols[before as usize], made);
                if merge != NO_MERGE {
                    queue.push(entry(merge, before));
                }
            }
        }
        symbols.retain(|&symbol| symbol != NONE);
        // A huge word leaves no huge buffers behind.
        if links.capacity() > 1 << 16 {
            links.shrink_to(1 << 16);
            *queue = BinaryHeap::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::merges::merge;
    use super::*;

    /// Both ways give what the definition gives, computed naively, for all words of a small alphabet.
    #[test]
    fn scan_and_drain_agree_with_the_definition() {
        let rules = [(0, 1, 3), (3, 0, 4), (1, 1, 5), (4, 1, 6), (0, 0, 7), (7, 7, 8), (2, 3, 9), (5, 9, 10)];
        let mut merges = Merges::with_capacity(rules.len());
        for (rank, &(left, right, made)) in (0..).zip(&rules) {
            merges.insert(left, right, merge(rank, made));
        }
        for number in 0..3_u32.pow(9) {
            let word: Vec<u32> = (0..9).map(|digit| number / 3_u32.pow(digit) % 3).collect();
            let mut expected = word.clone();
            for _ in 0..9 {
                let pairs = expected.windows(2).enumerate();
                let ranked = pairs.filter_map(|(place, pair)| {
                    let rank = rules.iter().position(|rule| (rule.0, rule.1) == (pair[0], pair[1]))?;
                    Some((rank, place))
                });
                let Some((rank, place)) = ranked.min() else { break };
                expected.splice(place..place + 2, [rules[rank].2]);
            }
            let mut buffers = MergeBuffers { symbols: word.clone(), ..MergeBuffers::default() };
            buffers.scan(&merges);
            assert_eq!(buffers.symbols, expected);
            buffers.symbols.clone_from(&word);
            buffers.drain(&merges);
            assert_eq!(buffers.symbols, expected);
        }
    }
}
