//! Where the items of a list are.

use super::columns::Checked;
use std::ops::Range;

/// Offsets of 32 or 64 bits: those of row `n` begin at the `n`th and end before the next.
#[derive(Clone, Copy)]
pub(super) struct Offsets<'a> {
    bytes: &'a [u8],
    is_wide: bool,
}

/// The lists of a column, by the items that each has.
pub(super) enum Lists<'a> {
    /// So many each.
    Fixed(usize),
    Offsets(Offsets<'a>),
}

impl<'a> Offsets<'a> {
    pub(super) fn new(bytes: &'a [u8], is_wide: bool) -> Offsets<'a> {
        Offsets { bytes, is_wide }
    }

    /// The items of a row, which are among the first `items`.
    ///
    /// # Errors
    /// A sentence for offsets that descend, or go beyond the items.
    pub(super) fn range(self, row: usize, items: usize) -> Checked<Range<usize>> {
        let range = self.get(row).zip(self.get(row + 1)).filter(|(from, to)| from <= to && *to <= items);
        range.map(|(from, to)| from..to).ok_or("offsets that descend or go beyond the values")
    }

    fn get(self, at: usize) -> Option<usize> {
        if self.is_wide {
            let bytes = self.bytes.get(at * 8..)?.first_chunk::<8>()?;
            usize::try_from(i64::from_le_bytes(*bytes)).ok()
        } else {
            let bytes = self.bytes.get(at * 4..)?.first_chunk::<4>()?;
            usize::try_from(i32::from_le_bytes(*bytes)).ok()
        }
    }
}

impl Lists<'_> {
    /// The items of a row, of which the column has `items`.
    ///
    /// # Errors
    /// A sentence for offsets that descend, or go beyond the items.
    pub(super) fn range(&self, row: usize, items: usize) -> Checked<Range<usize>> {
        match self {
            // The column was read with as many items.
            Lists::Fixed(length) => Ok(row * length..(row + 1) * length),
            Lists::Offsets(offsets) => offsets.range(row, items),
        }
    }
}
