//! Documents that are about to be read from data files that do not fit into memory.

use super::{PayloadRef, State};
use crate::storage::{maps_fit, will_need};
use crate::types::PointOffset;
use std::ops::Range;

/// Documents that are asked for at once.
const STEP: usize = 256;
/// Documents whose bytes are not farther from each other are read as one piece.
const GAP_BYTES: usize = 32 << 10;

impl State {
    /// Asks the system to read the documents of some points, where the files do not fit into memory: all at once, and not one
    /// after the other as they are read.
    #[inline]
    pub fn expect_documents(&self, offsets: impl Iterator<Item = PointOffset>) {
        if !maps_fit() {
            self.request_documents(offsets);
        }
    }

    #[cold]
    fn request_documents(&self, offsets: impl Iterator<Item = PointOffset>) {
        let mut piece: Range<usize> = 0..0;
        for bytes in offsets.filter_map(|offset| self.at(offset).payload().addresses()) {
            if (piece.start..=piece.end + GAP_BYTES).contains(&bytes.start) {
                piece.end = piece.end.max(bytes.end);
            } else {
                will_need(std::mem::replace(&mut piece, bytes));
            }
        }
        will_need(piece);
    }

    /// The same offsets, whose documents the caller reads in this order.
    pub fn reading<I: Iterator<Item = PointOffset>>(&self, offsets: I) -> Reading<'_, I> {
        Reading { state: self, offsets, step: Vec::new(), next: 0 }
    }
}

impl PayloadRef<'_> {
    /// Where the document lies in a map.
    fn addresses(self) -> Option<Range<usize>> {
        match self {
            PayloadRef::Stored { map, offset, len, .. } => {
                let start = map.as_ptr().addr() + offset as usize;
                Some(start..start + len as usize)
            }
            PayloadRef::Empty | PayloadRef::Memory(_) => None,
        }
    }
}

/// Offsets of points whose documents are read one after the other. See [`State::reading`].
pub struct Reading<'a, I> {
    state: &'a State,
    offsets: I,
    /// Those whose documents were asked for last.
    step: Vec<PointOffset>,
    next: usize,
}

impl<I: Iterator<Item = PointOffset>> Iterator for Reading<'_, I> {
    type Item = PointOffset;

    #[inline]
    fn next(&mut self) -> Option<PointOffset> {
        if let Some(&offset) = self.step.get(self.next) {
            self.next += 1;
            return Some(offset);
        }
        if maps_fit() {
            return self.offsets.next();
        }
        self.step.clear();
        self.step.extend(self.offsets.by_ref().take(STEP));
        self.state.expect_documents(self.step.iter().copied());
        self.next = 1;
        self.step.first().copied()
    }
}
