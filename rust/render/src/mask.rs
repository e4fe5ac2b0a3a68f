//! The assistant mask: which tokens an assistant wrote.

/// 1 for every token that overlaps one of `spans`, 0 for the others.
///
/// `spans` and `offsets` are half-open ranges of code points. The mask is as long as `length`, the number of ids:
/// missing offsets count as 0, surplus ones are cut off.
#[must_use]
pub fn assistant_mask(spans: &[(usize, usize)], offsets: &[[u32; 2]], length: usize) -> Vec<u8> {
    let mut mask = Vec::with_capacity(length);
    // Inner blocks end, and so come, before the ones around them.
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let mut next = 0;
    for &[start, end] in offsets.iter().take(length) {
        let (start, end) = (start as usize, end as usize);
        while next < spans.len() && spans[next].1 <= start {
            next += 1;
        }
        let inside = next < spans.len() && spans[next].0 < end && start < end;
        mask.push(u8::from(inside));
    }
    mask.resize(length, 0);
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_touches_a_span_counts() {
        let offsets = [[0, 2], [2, 5], [5, 5], [5, 9], [9, 12]];
        assert_eq!(assistant_mask(&[(4, 8)], &offsets, 5), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn the_mask_is_as_long_as_the_ids() {
        assert_eq!(assistant_mask(&[(0, 9)], &[[0, 1], [1, 2]], 4), [1, 1, 0, 0]);
        assert_eq!(assistant_mask(&[(0, 9)], &[[0, 1], [1, 2]], 1), [1]);
    }
}
