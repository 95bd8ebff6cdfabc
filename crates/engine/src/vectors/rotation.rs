//! The random rotation of a field.

/// Random signs of a rotation of `dim` components, a byte each; see `CodingKernels::rotate`. The same seed gives the
/// same signs for ever: codes on disk depend on it.
pub(super) fn signs(dim: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut signs = Vec::with_capacity(dim.next_multiple_of(8));
    while signs.len() < dim {
        signs.extend(split_mix(&mut state).to_le_bytes());
    }
    signs.truncate(dim);
    signs
}

/// The next number of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#[inline(always)]
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A digest of some words, of 64 bits for each seed. Files and clients keep digests, so it never changes.
pub(crate) fn digest(words: &[u64], seeds: [u64; 2]) -> u128 {
    let [high, low] = seeds.map(|seed| words.iter().fold(seed, |state, word| split_mix(&mut (state ^ word))));
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signs_of_a_seed_never_change() {
        assert_eq!(signs(9, 7)[..], signs(20, 7)[..9]);
        assert_eq!(signs(4, 1), 0x910a_2dec_8902_5cc1u64.to_le_bytes()[..4]);
    }
}
