//! Cursors (C22): views that are kept for the further pages of a read. `docs/cursors.md` has the design.

mod cursor;
mod paging;
mod ranking;
mod token;

pub(super) use cursor::Cursor;

use crate::collection::Collection;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::limits::{Limits, MAX_CURSOR_BYTES};
use cursor::Asked;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// All that are open.
pub(super) struct Cursors {
    open: Mutex<HashMap<u128, Arc<Cursor>>>,
    most: usize,
    /// Hits of a ranking, at most.
    most_hits: usize,
}

/// What the open cursors are and hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CursorFigures {
    /// How many there are.
    pub open: usize,
    /// Bytes that they hold, hits and what their views keep from being freed, at most.
    pub bytes: u64,
}

/// The cursor that a read has opened. It ends with a read that fails: its client was never told of it.
pub(super) struct Opened<'c> {
    cursors: &'c Cursors,
    pub id: Option<u128>,
}

impl<'c> Opened<'c> {
    /// None yet.
    pub fn none(cursors: &'c Cursors) -> Opened<'c> {
        Opened { cursors, id: None }
    }

    /// The read has not failed.
    pub fn keep(mut self) {
        self.id = None;
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.cursors.end_of(id);
        }
    }
}

impl Cursors {
    pub fn new(limits: &Limits) -> Cursors {
        let (most, most_hits) = (limits.max_cursors, limits.max_result_window);
        Cursors { open: Mutex::default(), most, most_hits }
    }

    /// Keeps a cursor, whose id is new.
    ///
    /// # Errors
    /// `Overloaded` where there are too many, or where they hold too much. Those that are open stay.
    pub fn keep(&self, cursor: Arc<Cursor>) -> Result<(), Error> {
        self.sweep();
        if self.open.lock().len() >= self.most {
            self.end(|one| one.is_read());
        }
        let mut open = self.open.lock();
        if open.len() >= self.most && !PlantedFault::CursorsNotLimited.is_on() {
            let most = self.most;
            return Err(Error::Overloaded(format!(
                "{most} cursors are open, the most at a time (max_cursors)"
            )));
        }
        let held: u64 = open.values().map(|one| one.bytes(self.most_hits)).sum();
        let held = PlantedFault::CursorBytesNotLimited.forgets(held);
        if held.saturating_add(cursor.bytes(self.most_hits)) > MAX_CURSOR_BYTES {
            let most = MAX_CURSOR_BYTES >> 20;
            return Err(Error::Overloaded(format!(
                "the open cursors hold {most} MiB back, the most at a time"
            )));
        }
        open.insert(cursor.id, cursor);
        Ok(())
    }

    /// The open cursor of that id, for whom and for what it was opened.
    ///
    /// # Errors
    /// `CursorNotFound`, whatever is not as it was then.
    fn find(&self, id: u128, asked: &Asked<'_>, collection: &Arc<Collection>) -> Result<Arc<Cursor>, Error> {
        let found = self.open.lock().get(&id).cloned();
        found.filter(|cursor| cursor.is_for(asked, collection)).ok_or(Error::CursorNotFound)
    }

    /// Ends one, if it is open.
    fn end_of(&self, id: u128) {
        let ended = self.open.lock().remove(&id);
        drop(ended);
    }

    /// Ends those whose time has come, and those of collections that are gone.
    pub fn sweep(&self) {
        let now = Instant::now();
        self.end(|cursor| !cursor.is_alive(now));
    }

    /// Ends some. What they hold is freed behind the lock.
    fn end(&self, is_over: impl Fn(&Cursor) -> bool) {
        let ended: Vec<_> = self.open.lock().extract_if(|_, cursor| is_over(cursor)).collect();
        drop(ended);
    }

    pub fn figures(&self) -> CursorFigures {
        let open: Vec<Arc<Cursor>> = self.open.lock().values().cloned().collect();
        CursorFigures { open: open.len(), bytes: open.iter().map(|one| one.bytes(self.most_hits)).sum() }
    }
}
