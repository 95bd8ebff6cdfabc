//! Runs: the rows of one vector, which follow each other in a field's table.
//!
//! A dense vector is a run of one row. The rows of a multi-vector are written, die and move together. So its point refers to
//! the first of them only, and a column has the place of each row in its run.

use crate::types::{PointOffset, Row, RowRange};

/// The first row of a run; the other bits of the upper half are the number of its rows.
const FIRST: u32 = 1 << 31;

/// Whose a row is, and its place in the run of its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPlace(u64);

impl RunPlace {
    /// The only row of a vector of the point at offset `owner`.
    pub fn alone(owner: PointOffset) -> RunPlace {
        RunPlace::first(owner, 1)
    }

    /// The places of a run of `rows` rows, fewer than 2³¹.
    pub fn run(owner: PointOffset, rows: u32) -> impl Iterator<Item = RunPlace> {
        let rest = (1..rows).map(move |rank| RunPlace::of(owner, rank));
        std::iter::once(RunPlace::first(owner, rows)).chain(rest)
    }

    fn first(owner: PointOffset, rows: u32) -> RunPlace {
        RunPlace::of(owner, FIRST | rows)
    }

    fn of(owner: PointOffset, upper: u32) -> RunPlace {
        RunPlace(u64::from(upper) << 32 | u64::from(owner.get()))
    }

    /// The place as the column and the files have it.
    pub fn word(self) -> u64 {
        self.0
    }

    /// Reads a [`RunPlace::word`]. A word of a dropped chunk is 0, which is not the beginning of a run.
    pub fn from_word(word: u64) -> RunPlace {
        RunPlace(word)
    }

    /// Offset of the point.
    #[inline(always)]
    pub fn owner(self) -> PointOffset {
        PointOffset::new(self.0 as u32)
    }

    /// Rows of the run that begins here; `None` at its other rows.
    pub fn begins(self) -> Option<u32> {
        let upper = (self.0 >> 32) as u32;
        (upper & FIRST != 0).then_some(upper & !FIRST)
    }

    /// Rows of the run before this one.
    pub fn rank(self) -> u32 {
        let upper = (self.0 >> 32) as u32;
        if upper & FIRST != 0 { 0 } else { upper }
    }
}

/// The rows of the run that `row`, which must be in a run, belongs to. `place` returns the place of a row.
pub fn run_of(row: Row, place: impl Fn(Row) -> RunPlace) -> RowRange {
    let first = Row::new(row.get() - place(row).rank());
    RowRange::of_len(first, place(first).begins().unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_every_row_is_known() {
        let places: Vec<RunPlace> = [(7, 1), (8, 3), (9, 2)]
            .into_iter()
            .flat_map(|(owner, rows)| RunPlace::run(PointOffset::new(owner), rows))
            .map(|place| RunPlace::from_word(place.word()))
            .collect();
        let run = |row: u32| run_of(Row::new(row), |row| places[row.index()]).numbers();
        let runs: Vec<_> = (0..6).map(run).collect();
        assert_eq!(runs, [0..1, 1..4, 1..4, 1..4, 4..6, 4..6]);
        assert_eq!(places.iter().map(|place| place.owner().get()).collect::<Vec<_>>(), [7, 8, 8, 8, 9, 9]);
        assert_eq!(places[0], RunPlace::alone(PointOffset::new(7)));
        let begins: Vec<Option<u32>> = places.iter().map(|place| place.begins()).collect();
        assert_eq!(begins, [Some(1), Some(3), None, None, Some(2), None]);
    }

    #[test]
    fn a_row_of_a_dropped_chunk_begins_no_run() {
        assert_eq!(RunPlace::from_word(0).begins(), None);
    }
}
