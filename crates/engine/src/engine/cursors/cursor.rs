//! One cursor: a view, what is read of it, and for whom.

use super::ranking::Shared;
use crate::collection::{Collection, HeldBack, Snapshot};
use crate::engine::Operation;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::query::Prepared;
use crate::query::request::{CursorRequest, ScrollRequest, Selectors};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long the last page can be asked for again.
const AFTER_LAST_PAGE: Duration = Duration::from_secs(10);

/// Who asks for what.
#[derive(Clone, Copy)]
pub(super) struct Asked<'r> {
    pub caller: &'r str,
    pub operation: Operation,
    /// Bytes of the body: at least as many as a filter of it has.
    pub body_bytes: usize,
}

/// A view that is kept for further pages.
pub(in crate::engine) struct Cursor {
    pub(super) id: u128,
    /// The caller that opened it; empty for an anonymous one.
    caller: Box<str>,
    operation: Operation,
    /// The collection, which goes when it is deleted.
    collection: Weak<Collection>,
    pub(super) snapshot: Arc<Snapshot>,
    held_back: HeldBack,
    /// Bytes of what it asks for.
    query_bytes: u64,
    /// Hits of a page.
    pub(super) limit: usize,
    pub(super) with: Selectors,
    pub(super) source: Source,
    ttl: Duration,
    ends: Mutex<Instant>,
    /// Whether its last page was answered.
    is_read: AtomicBool,
}

/// Where pages come from.
pub(super) enum Source {
    /// A ranking.
    Ranked(RankedBy, Shared),
    /// Points by their ids.
    ById(ScrollRequest),
}

/// What makes a ranking.
pub(super) enum RankedBy {
    Query(Prepared),
    Field(ScrollRequest),
}

impl Cursor {
    /// One of a view that was just taken from a collection.
    ///
    /// # Errors
    /// `Internal` where the system gives no random numbers.
    pub(super) fn new(
        asked: Asked<'_>,
        request: CursorRequest,
        (collection, snapshot): (&Arc<Collection>, Arc<Snapshot>),
        (limit, with): (usize, Selectors),
        source: Source,
    ) -> Result<Cursor, Error> {
        // A client that guesses it could read the page.
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|_| Error::Internal("the system gives no random numbers".into()))?;
        let ttl = Duration::from_secs(request.seconds);
        let vectors = match &source {
            Source::Ranked(RankedBy::Query(prepared), _) => prepared.vector_bytes(),
            Source::Ranked(RankedBy::Field(_), _) | Source::ById(_) => 0,
        };
        Ok(Cursor {
            id: u128::from_be_bytes(id),
            caller: asked.caller.into(),
            operation: asked.operation,
            collection: Arc::downgrade(collection),
            held_back: collection.held_back_by(&snapshot),
            query_bytes: (vectors + asked.body_bytes) as u64,
            snapshot,
            limit,
            with,
            source,
            ttl,
            ends: Mutex::new(Instant::now() + ttl),
            is_read: AtomicBool::new(false),
        })
    }

    /// Whether it was opened by the same caller, for the same operation in the same collection, and has not ended.
    pub(super) fn is_for(&self, asked: &Asked<'_>, collection: &Arc<Collection>) -> bool {
        (*self.caller == *asked.caller || PlantedFault::CursorForAnyone.is_on())
            && (self.operation == asked.operation || PlantedFault::CursorOfAnyOperation.is_on())
            && std::ptr::eq(self.collection.as_ptr(), Arc::as_ptr(collection))
            && self.is_alive(Instant::now())
    }

    /// Whether its time has not come and its collection is there.
    pub(super) fn is_alive(&self, now: Instant) -> bool {
        (*self.ends.lock() > now || PlantedFault::CursorNeverEnds.is_on())
            && self.collection.upgrade().is_some_and(|collection| !collection.is_retired())
    }

    /// A page was answered: it lives on from here.
    pub(super) fn renew(&self) {
        *self.ends.lock() = Instant::now() + self.ttl;
    }

    /// The last page was answered: it lives on for a moment, in case that the answer was lost.
    pub(super) fn note_last_page(&self) {
        *self.ends.lock() = Instant::now() + self.ttl.min(AFTER_LAST_PAGE);
        self.is_read.store(true, Ordering::Relaxed);
    }

    /// Whether its last page was answered: it makes room for another one.
    pub(super) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }

    /// What it holds at most: its query, its hits, of which a ranking has at most `most`, and what its view keeps from being
    /// freed.
    pub(super) fn bytes(&self, most: usize) -> u64 {
        let hits = match &self.source {
            Source::Ranked(_, ranking) => {
                // In an order by a field a point may stand several times.
                let ranking = ranking.lock();
                ranking.bytes_of(self.snapshot.view.points_count().min(most).max(ranking.len()))
            }
            Source::ById(_) => 0,
        };
        let held_back = self
            .collection
            .upgrade()
            .map_or(0, |collection| collection.held_back(&self.snapshot, &self.held_back));
        self.query_bytes + hits + held_back
    }
}
