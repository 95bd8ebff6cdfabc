//! Numbers that are as good as random and follow from a seed.

use crate::vectors::split_mix;

/// The numbers of [`split_mix`].
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// A number below `bound`, which is not 0. Its bias is below 2⁻³² of the bound.
    #[inline(always)]
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A number below `bound`, which is not 0.
    pub fn below_u64(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from −1 to 1.
    pub fn signed(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }
}
