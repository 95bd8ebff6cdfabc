//! A set of offsets that answers in a nanosecond or two whether it has one.

use super::PointSet;
use super::piece::{WORDS, Words, has};
use std::sync::Arc;

/// The bits of a [`PointSet`], for loops that ask for so many offsets in random order that the search for a piece, and in
/// its list, counts. Pieces that are bits are shared with the set.
pub struct Bits {
    /// By the upper half of the offsets.
    pieces: Vec<Arc<Words>>,
    none: Arc<Words>,
}

impl PointSet {
    /// The set as bits.
    pub fn bits(&self) -> Bits {
        let none = Arc::new([0; WORDS]);
        let keys = self.pieces.last().map_or(0, |piece| usize::from(piece.key) + 1);
        let mut pieces = vec![Arc::clone(&none); keys];
        self.pieces.iter().for_each(|piece| pieces[usize::from(piece.key)] = piece.to_words());
        Bits { pieces, none }
    }
}

impl Bits {
    /// Whether the offset is in the set.
    #[inline(always)]
    pub fn contains(&self, offset: u32) -> bool {
        let words = self.pieces.get((offset >> 16) as usize).unwrap_or(&self.none);
        has(words, offset as u16)
    }
}
