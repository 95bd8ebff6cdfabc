//! The column of places: whose each row is, and its place in the run of its vector.

use super::arena::clear_dropped;
use super::run::RunPlace;
use crate::arena::{AtomicColumn32, AtomicColumn64, ColumnTable32, ColumnTable64};
use crate::types::PointOffset;

/// The place of each row. That of a dense vector, which is one row, is its owner.
pub(super) enum Places {
    Owners(AtomicColumn32),
    Runs(AtomicColumn64),
}

/// A reader's handle on [`Places`].
#[derive(Clone)]
pub(super) enum PlacesTable {
    Owners(ColumnTable32),
    Runs(ColumnTable64),
}

impl Places {
    pub(super) fn new(is_multi: bool) -> Places {
        if is_multi { Places::Runs(AtomicColumn64::new()) } else { Places::Owners(AtomicColumn32::new()) }
    }

    pub(super) fn push(&mut self, place: RunPlace) {
        match self {
            Places::Owners(owners) => owners.push(place.owner().get()),
            Places::Runs(runs) => runs.push(place.word()),
        };
    }

    pub(super) fn load(&self, row: u32) -> RunPlace {
        match self {
            Places::Owners(owners) => RunPlace::alone(PointOffset::new(owners.load(row))),
            Places::Runs(runs) => RunPlace::from_word(runs.load(row)),
        }
    }

    pub(super) fn truncate(&mut self, rows: u32) {
        match self {
            Places::Owners(owners) => owners.truncate(rows),
            Places::Runs(runs) => runs.truncate(rows),
        }
    }

    /// As [`clear_dropped`]. The owner of a row that was dropped is then 0.
    pub(super) fn clear_dropped(&mut self, chunk: u32, chunk_rows: u32, is_dropped: impl Fn(u32) -> bool) {
        match self {
            Places::Owners(owners) => clear_dropped(owners, chunk, chunk_rows, is_dropped),
            Places::Runs(runs) => clear_dropped(runs, chunk, chunk_rows, is_dropped),
        }
    }

    pub(super) fn table(&self) -> PlacesTable {
        match self {
            Places::Owners(owners) => PlacesTable::Owners(owners.table()),
            Places::Runs(runs) => PlacesTable::Runs(runs.table()),
        }
    }
}

impl PlacesTable {
    #[inline(always)]
    pub(super) fn load(&self, row: u32) -> RunPlace {
        match self {
            PlacesTable::Owners(owners) => RunPlace::alone(PointOffset::new(owners.load(row))),
            PlacesTable::Runs(runs) => RunPlace::from_word(runs.load(row)),
        }
    }

    #[inline(always)]
    pub(super) fn owner(&self, row: u32) -> PointOffset {
        match self {
            PlacesTable::Owners(owners) => PointOffset::new(owners.load(row)),
            PlacesTable::Runs(runs) => RunPlace::from_word(runs.load(row)).owner(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            PlacesTable::Owners(owners) => owners.memory_bytes(),
            PlacesTable::Runs(runs) => runs.memory_bytes(),
        }
    }
}
