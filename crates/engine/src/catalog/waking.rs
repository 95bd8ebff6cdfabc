//! Opening a collection that sleeps, for the first request that needs it (C24).

use super::entry::{Entry, Use};
use super::residence::{Place, Residence};
use super::sleeping::Sleeping;
use super::{Catalog, Mode};
use crate::collection::{Cause, Collection, Opening, OpeningOptions, Unopened};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::scheduling::lane;
use crate::supervision::{Failed, Task};
use crate::types::Lsn;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a request that waits checks its deadline.
const LOOK: Duration = Duration::from_millis(10);

/// A collection that is being opened, for all requests that wait for it.
#[derive(Default)]
pub(super) struct Wake {
    outcome: Mutex<Option<Result<Arc<Collection>, Error>>>,
    ended: Condvar,
}

impl Wake {
    fn settle(&self, outcome: Result<Arc<Collection>, Error>) {
        *self.outcome.lock() = Some(outcome);
        self.ended.notify_all();
    }

    /// Waits for the outcome, as long as the deadline allows.
    fn wait(&self, deadline: Option<&Deadline>) -> Result<Arc<Collection>, Error> {
        let mut found = None;
        lane::wait_aside(|most| {
            let until = most.map(|most| Instant::now() + most);
            let mut outcome = self.outcome.lock();
            while outcome.is_none()
                && until.is_none_or(|until| Instant::now() < until)
                && !deadline.is_some_and(Deadline::has_come)
            {
                self.ended.wait_for(&mut outcome, most.unwrap_or(LOOK).min(LOOK));
            }
            found.clone_from(&outcome);
            found.is_some() || deadline.is_some_and(Deadline::has_come)
        });
        match (found, deadline) {
            (Some(outcome), _) => outcome,
            (None, Some(deadline)) => Err(deadline.error()),
            (None, None) => Err(Error::Internal("a collection that wakes was given up".into())),
        }
    }
}

/// The collection of an entry, opened if it sleeps. All who ask meanwhile wait for one opening, each until its deadline;
/// it goes on without them.
pub(super) fn awake(
    catalog: &Arc<Catalog>,
    entry: &Arc<Entry>,
    residence: &Residence,
    deadline: Option<&Deadline>,
) -> Result<Arc<Collection>, Error> {
    if let Some(collection) = residence.collection() {
        return Ok(collection);
    }
    let (wake, begins) = {
        let mut place = residence.place.write();
        match &*place {
            Place::Awake(collection) => return Ok(Arc::clone(collection)),
            Place::Waking(_, wake) => (Arc::clone(wake), None),
            Place::Asleep(sleeping) => {
                let (sleeping, wake) = (Arc::clone(sleeping), Arc::<Wake>::default());
                *place = Place::Waking(Arc::clone(&sleeping), Arc::clone(&wake));
                (wake, Some(sleeping))
            }
        }
    };
    if let Some(sleeping) = begins {
        begin(catalog, entry, &sleeping, &wake);
    }
    wake.wait(deadline)
}

/// Opens the collection on a thread of its own, or on this one where there are no others.
fn begin(catalog: &Arc<Catalog>, entry: &Arc<Entry>, sleeping: &Arc<Sleeping>, wake: &Arc<Wake>) {
    // Its files are not removed while they are read.
    let held = Use::new(Arc::clone(catalog), Arc::clone(entry));
    let (sleeping, wake) = (Arc::clone(sleeping), Arc::clone(wake));
    let Some(held) = held else {
        let gone = Error::CollectionDeleted(entry.name.clone());
        return end(entry, Err(&sleeping), &wake, Err(gone));
    };
    if catalog.mode != Mode::Threaded {
        return open(&held, &sleeping, &wake);
    }
    let held = Arc::new(held);
    let work = {
        let (held, sleeping, wake) = (Arc::clone(&held), Arc::clone(&sleeping), Arc::clone(&wake));
        move || open(&held, &sleeping, &wake)
    };
    let supervisor = &catalog.shared().supervisor;
    if supervisor.spawn_once("kith-wake", Task::Request, work, || ()).is_err() {
        // Where the system refuses a thread, the request does it.
        open(&held, &sleeping, &wake);
    }
}

fn open(held: &Use, sleeping: &Arc<Sleeping>, wake: &Wake) {
    let (catalog, entry) = (held.catalog(), held.entry());
    let supervisor = &catalog.shared().supervisor;
    let opened = supervisor.catch(Task::Request, Some(entry.id), || load(catalog, entry, sleeping));
    let outcome = match opened {
        Ok(Ok(collection)) => Ok(collection),
        Ok(Err(fault)) if fault.cause == Cause::Exhausted => Err(Error::MemoryLimit),
        Ok(Err(fault)) => Err(catalog.quarantine_sleeping(entry, sleeping, fault)),
        Err(Failed::NoMemory) => Err(Error::MemoryLimit),
        Err(Failed::Panicked(_)) => Err(Error::Panic),
    };
    end(entry, outcome.as_ref().map_err(|_| sleeping), wake, outcome.clone());
    if let Ok(collection) = &outcome {
        // Field indexes are not in its files.
        catalog.shared().indexer.push(collection);
    }
}

/// Puts the collection in its place, or back to sleep, and answers who waits.
fn end(
    entry: &Entry,
    place: Result<&Arc<Collection>, &Arc<Sleeping>>,
    wake: &Wake,
    outcome: Result<Arc<Collection>, Error>,
) {
    if let Some(residence) = entry.residence() {
        *residence.place.write() = match place {
            Ok(collection) => Place::Awake(Arc::clone(collection)),
            Err(sleeping) => Place::Asleep(Arc::clone(sleeping)),
        };
    }
    wake.settle(outcome);
}

/// Opens the files as a start does.
fn load(catalog: &Catalog, entry: &Entry, sleeping: &Sleeping) -> Result<Arc<Collection>, Unopened> {
    let shared = catalog.shared();
    let summary = &sleeping.summary;
    if !shared.memory.has_room_for(summary.resident_bytes) {
        let what = "little memory is left".to_string();
        return Err(Unopened { what, cause: Cause::Exhausted });
    }
    // Its bytes count from here on, so that collections that wake together do not use the same free memory.
    let _held = shared.memory.hold(summary.resident_bytes);
    let started = Instant::now();
    shared.storage.yield_point("waking a collection");
    let is_large = summary.disk_bytes >= shared.thresholds.residency.large_bytes;
    let options = OpeningOptions {
        threads: if is_large { catalog.mode.threads() } else { 1 },
        row_chunk_bytes: shared.thresholds.row_chunk_bytes,
    };
    let opening = Opening::load(entry.id, &*shared.storage, &sleeping.config, options)?;
    if let Some(what) = opening.missing(Lsn::NONE) {
        return Err(what.into());
    }
    // It went to sleep with all of its records in the checkpoint, so the manifest must be of that operation.
    if !sleeping.is_at(opening.op(), opening.lsn()) && !PlantedFault::WakeTakesOlderState.is_on() {
        return Err("the file MANIFEST is not the one that it went to sleep with".into());
    }
    catalog.note_damaged_graphs(&entry.name, opening.damaged_graphs());
    let collection = Collection::open(opening, Arc::clone(shared), Lsn::NONE);
    sleeping.restore(&collection);
    let took = started.elapsed();
    shared.wakes.add(took);
    if let Some(residence) = entry.residence() {
        residence.note_opened(took);
    }
    entry.note_use();
    Ok(Arc::new(collection))
}
