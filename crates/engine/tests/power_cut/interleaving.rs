//! Background work interleaved with other work: the seed decides what happens between any two of its steps.
//!
//! Everything is on one thread. A step of background work ends where it calls the disk or says that it holds nothing
//! ([`Storage::yield_point`](kithdb_engine::storage::Storage::yield_point)); there requests, and steps of other
//! background work, run to their end. So a checkpoint, a build, a rewriting or a vacuum meets writes at each of its steps.

use crate::common::{Client, TestEngine};
use crate::expiry;
use crate::session::Session;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{
    checkpoint_everything, index_everything, run_housekeeping, shorten_idle_log, sleep_idle,
};
use kithdb_engine::field::IndexScratch;
use kithdb_engine::storage::OtherWork;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Collections that fell asleep in all programs.
pub static SLEPT: AtomicU64 = AtomicU64::new(0);

/// Kinds of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Field indexes and graphs.
    Index,
    /// Vacuum, checkpoints that are due, cutting the log.
    Housekeeping,
    /// What is done once writes have ended: all is checkpointed, and the log begins anew.
    IdleLog,
    /// Checkpoints of everything, graphs included.
    Checkpoint,
    /// A little of one collection's graphs.
    Rows,
    /// Puts to sleep what may sleep, and notes what a start needs to leave it asleep.
    Sleep,
}

impl Work {
    /// Does it, without other work in between.
    pub fn run(self, client: &Client) {
        let catalog = client.0.catalog();
        match self {
            Work::Index => index_everything(catalog, &mut IndexScratch::default()),
            Work::Housekeeping => run_housekeeping(catalog),
            Work::IdleLog => shorten_idle_log(catalog),
            Work::Checkpoint => checkpoint_everything(catalog),
            Work::Sleep => {
                index_everything(catalog, &mut IndexScratch::default());
                SLEPT.fetch_add(sleep_idle(catalog) as u64, Ordering::Relaxed);
                // Without them a start opens more.
                let _ = catalog.write_summaries();
            }
            Work::Rows => {
                for collection in catalog.collections() {
                    collection.index_some(&mut IndexScratch::default());
                }
            }
        }
    }

    /// Another kind of work that needs no lock which this one holds at its yield points.
    fn beside(self, session: &mut Session, client: &Client) {
        let other = session.random.below(3);
        match (self, other) {
            // Two checkpoints of one collection would wait for each other.
            (Work::Housekeeping | Work::IdleLog | Work::Checkpoint | Work::Sleep, 0) => {
                Work::Rows.run(client)
            }
            (Work::Housekeeping | Work::IdleLog | Work::Checkpoint | Work::Sleep, _) => {
                Work::Index.run(client)
            }
            (_, 0) => Work::Housekeeping.run(client),
            (_, 1) => Work::Checkpoint.run(client),
            (_, _) => {
                for collection in client.0.catalog().collections() {
                    // It fails with the disk, and is tried again later.
                    let _ = collection.checkpoint(GraphPolicy::Always);
                }
            }
        }
    }
}

/// Pieces of other work during one piece of work, at most.
const MAX_INTERLEAVED: u64 = 6;

/// Does a piece of background work, and lets the session act in between as its seed decides.
pub fn work(engine: &TestEngine, session: &Arc<Mutex<Session>>, work: Work) {
    let client = engine.client();
    let percent = {
        let session = &mut session.lock().unwrap();
        session.may_be_poisoned |= session.armed;
        [0, 4, 15, 50][session.random.below(4) as usize]
    };
    if percent > 0 {
        engine.disk.interleave(Some(interleaved(work, percent, &client, session)));
    }
    let before = client.0.status().expired_points;
    work.run(&client);
    engine.disk.interleave(None);
    expiry::REMOVED.fetch_add(client.0.status().expired_points - before, Ordering::Relaxed);
    let mut session = session.lock().unwrap();
    session.rethrow();
    if percent == 0 && !session.may_be_poisoned && !session.poisoned && work == Work::Housekeeping {
        // What is asleep keeps them until it is woken.
        let entries = client.0.catalog().entries();
        let awake = entries.iter().filter(|entry| entry.sleeping().is_none()).map(|entry| entry.name.clone());
        session.expired_are_removed(&awake.collect());
    }
    if work == Work::Checkpoint && percent == 0 && !session.may_be_poisoned && !session.poisoned {
        // Nothing was written meanwhile: every collection is in its checkpoint, or in a log that was synced.
        session.synced();
    }
}

fn interleaved(work: Work, percent: u64, client: &Client, session: &Arc<Mutex<Session>>) -> OtherWork {
    let (client, session) = (client.clone(), Arc::clone(session));
    let left = Mutex::new(MAX_INTERLEAVED);
    Arc::new(move |place: &str| {
        // At calls for the log's and the catalog's own files their locks are held. Places that are not paths have a
        // space.
        let is_locked = !place.starts_with("collections/") || place.starts_with("collections/CATALOG");
        if is_locked && !place.contains(' ') {
            return;
        }
        // Other work is not interleaved itself.
        let Ok(mut session) = session.try_lock() else { return };
        // Most races are between two locks. There are fewer such places than disk calls, so other work is likelier there.
        let percent = if place.contains(' ') { (3 * percent).min(90) } else { percent };
        let mut left = left.lock().unwrap();
        if *left == 0 || session.failure.is_some() || !session.random.chance(percent) {
            return;
        }
        *left -= 1;
        session.is_interleaved = true;
        let act = AssertUnwindSafe(|| {
            if session.random.chance(75) {
                session.random_request(&client);
            } else {
                work.beside(&mut session, &client);
            }
        });
        if let Err(failure) = catch_unwind(act) {
            session.failure = Some(failure);
        }
        session.is_interleaved = false;
    })
}
