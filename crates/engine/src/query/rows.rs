//! From points to their rows in one field.

use crate::collection::View;
use crate::field::FieldTable;
use crate::types::{PointOffset, Row};

/// Finds the rows of points. Ascending offsets are fastest.
///
/// Points and their rows are mostly written in the same order, so the difference between row and offset is usually that of
/// the previous point. Two nearly sequential reads of the field's columns check this guess. Only if it is wrong, the point
/// itself is read, from a tree of much larger entries.
pub struct RowFinder<'a> {
    view: &'a View,
    table: &'a FieldTable,
    field: usize,
    /// Number of the row minus offset of the last point that was read.
    shift: u32,
}

impl<'a> RowFinder<'a> {
    /// A finder for one field of a view.
    pub fn new(view: &'a View, field: usize) -> RowFinder<'a> {
        RowFinder { view, table: &view.fields[field], field, shift: 0 }
    }

    /// The row of the live point at an offset, if it has a vector in the field.
    #[inline]
    pub fn row(&mut self, offset: PointOffset) -> Option<Row> {
        let guess = Row::new(offset.get().wrapping_add(self.shift));
        if guess < self.table.end()
            && self.table.owner(guess) == offset
            && self.table.alive(guess, self.view.op)
        {
            return Some(guess);
        }
        self.read_point(offset)
    }

    #[cold]
    fn read_point(&mut self, offset: PointOffset) -> Option<Row> {
        let row = self.view.state.at(offset).row(self.field)?;
        self.shift = row.get().wrapping_sub(offset.get());
        Some(row)
    }
}
