//! Where the items of a list are.

use super::columns::Checked;
use std::ops::Range;

/// Offsets of 32 or 64 bits: the items of row `n` begin at the `n`th offset and end before the next one.
#[derive(Clone, Copy)]
pub(super) struct Offsets<'a> {
    bytes: &'a [u8],
    is_wide: bool,
}

/// The lists of a column: which items each list has.
pub(super) enum Lists<'a> {
    /// Every list has this many items.
    Fixed(usize),
    Offsets(Offsets<'a>),
}

impl<'a> Offsets<'a> {
    pub(super) fn new(bytes: &'a [u8], is_wide: bool) -> Offsets<'a> {
        Offsets { bytes, is_wide }
    }

    /// The range of the items of a row, within the first `items` items.
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
    /// The range of the items of a row; the column has `items` items.
    ///
    /// # Errors
    /// A sentence for offsets that descend, or go beyond the items.
    pub(super) fn range(&self, row: usize, items: usize) -> Checked<Range<usize>> {
        match self {
            // The column was refused if it had fewer items than its lists need.
            Lists::Fixed(length) => Ok(row * length..(row + 1) * length),
            Lists::Offsets(offsets) => offsets.range(row, items),
        }
    }
}
