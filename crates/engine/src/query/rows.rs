//! From points to their rows in one field.

use crate::collection::View;
use crate::field::FieldTable;
use crate::types::PointOffset;

/// Finds the rows of points, best in ascending order of their offsets.
///
/// Points and their rows are mostly written in the same order, so the difference between row and offset is mostly the same
/// for the next point. Two reads of the field's columns, which are nearly sequential, check this guess. Only where it is
/// wrong the point itself is read, from a tree of much larger entries.
pub struct RowFinder<'a> {
    view: &'a View,
    table: &'a FieldTable,
    field: usize,
    /// Row minus offset of the last point.
    shift: u32,
}

impl<'a> RowFinder<'a> {
    /// A finder for one field of a view.
    pub fn new(view: &'a View, field: usize) -> RowFinder<'a> {
        RowFinder { view, table: &view.fields[field], field, shift: 0 }
    }

    /// The row of the live point at an offset, if it has a vector in the field.
    #[inline]
    pub fn row(&mut self, offset: PointOffset) -> Option<u32> {
        let guess = offset.get().wrapping_add(self.shift);
        if guess < self.table.len()
            && self.table.owner(guess) == offset
            && self.table.alive(guess, self.view.op)
        {
            return Some(guess);
        }
        self.read_point(offset)
    }

    #[cold]
    fn read_point(&mut self, offset: PointOffset) -> Option<u32> {
        let row = self.view.state.at(offset).rows.row(self.field)?;
        self.shift = row.wrapping_sub(offset.get());
        Some(row)
    }
}
