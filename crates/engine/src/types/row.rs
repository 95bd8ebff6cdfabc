//! Rows of the vector fields' tables.

use std::ops::Range;

/// Number of a row in the table of one vector field, from 0 on. A dense or sparse vector is one row, a multi-vector a run
/// of them.
///
/// A row is neither the offset of the point that owns it nor the node that stands for it in a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Row(u32);

impl Row {
    /// The first row of a table.
    pub const FIRST: Row = Row(0);

    /// The row of that number.
    #[inline(always)]
    pub const fn new(number: u32) -> Row {
        Row(number)
    }

    /// Its number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its number as an index into a slice that has an entry for each row.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The row that many rows after it.
    #[inline(always)]
    pub const fn plus(self, rows: u32) -> Row {
        Row(self.0 + rows)
    }
}

/// The rows from `start` to the one before `end`. [`Range`] iterates over the standard library's own types only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRange {
    /// The first of them.
    pub start: Row,
    /// The row after the last of them.
    pub end: Row,
}

impl RowRange {
    /// The rows from `start` to the one before `end`.
    #[inline(always)]
    pub const fn new(start: Row, end: Row) -> RowRange {
        RowRange { start, end }
    }

    /// The `rows` rows from `start` on.
    #[inline(always)]
    pub const fn of_len(start: Row, rows: u32) -> RowRange {
        RowRange { start, end: start.plus(rows) }
    }

    /// The rows of a full chunk of `chunk_rows` rows.
    pub const fn of_chunk(chunk: u32, chunk_rows: u32) -> RowRange {
        RowRange::of_len(Row(chunk * chunk_rows), chunk_rows)
    }

    /// The part of the range before `end`.
    #[must_use]
    pub fn before(self, end: Row) -> RowRange {
        RowRange { end: self.end.min(end), ..self }
    }

    /// How many there are.
    #[inline(always)]
    pub const fn len(self) -> usize {
        self.end.0.saturating_sub(self.start.0) as usize
    }

    /// Whether there are none.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.start.0 >= self.end.0
    }

    /// The rows, ascending.
    #[inline(always)]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Row> + ExactSizeIterator + Clone + use<> {
        self.numbers().map(Row)
    }

    /// Their numbers.
    #[inline(always)]
    pub const fn numbers(self) -> Range<u32> {
        self.start.0..self.end.0
    }
}
