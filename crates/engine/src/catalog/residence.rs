//! Where a collection that is served is: in memory, asleep, or between the two (C24). See docs/residency.md.

use super::sleeping::Sleeping;
use super::waking::Wake;
use crate::collection::Collection;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The place of a collection in memory, and what outlives its sleep.
pub(super) struct Residence {
    pub(super) place: RwLock<Place>,
    /// How long its last opening took; `u64::MAX` before the first one of this process.
    opened_nanos: AtomicU64,
    /// Searches before its last sleep.
    past_searches: AtomicU64,
}

/// See [`Residence`].
pub(super) enum Place {
    Awake(Arc<Collection>),
    Asleep(Arc<Sleeping>),
    Waking(Arc<Sleeping>, Arc<Wake>),
}

/// What there is of a collection at a moment.
pub enum Presence {
    /// It is in memory.
    Awake(Arc<Collection>),
    /// It is asleep, or wakes.
    Asleep(Arc<Sleeping>),
    /// It is quarantined.
    Nothing,
}

/// Where a collection is, for who tells others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResidenceState {
    /// In memory.
    Awake,
    /// On the disk alone.
    Asleep,
    /// Being opened.
    Waking,
}

impl ResidenceState {
    /// Its name in the info.
    pub fn name(self) -> &'static str {
        match self {
            ResidenceState::Awake => "awake",
            ResidenceState::Asleep => "asleep",
            ResidenceState::Waking => "waking",
        }
    }
}

impl Residence {
    /// A collection in memory; how long its opening took, where it was not created just now.
    pub fn awake(collection: Arc<Collection>, opened: Option<Duration>) -> Residence {
        let residence = Residence::of(Place::Awake(collection));
        opened.into_iter().for_each(|took| residence.note_opened(took));
        residence
    }

    /// A collection that is asleep since the start.
    pub fn asleep(sleeping: Sleeping) -> Residence {
        Residence::of(Place::Asleep(Arc::new(sleeping)))
    }

    fn of(place: Place) -> Residence {
        Residence {
            place: RwLock::new(place),
            opened_nanos: AtomicU64::new(u64::MAX),
            past_searches: AtomicU64::new(0),
        }
    }

    /// The collection, or what is known of it while it is not in memory.
    pub fn presence(&self) -> Presence {
        match &*self.place.read() {
            Place::Awake(collection) => Presence::Awake(Arc::clone(collection)),
            Place::Asleep(sleeping) | Place::Waking(sleeping, _) => Presence::Asleep(Arc::clone(sleeping)),
        }
    }

    /// The collection, if it is in memory.
    pub fn collection(&self) -> Option<Arc<Collection>> {
        match self.presence() {
            Presence::Awake(collection) => Some(collection),
            Presence::Asleep(_) | Presence::Nothing => None,
        }
    }

    pub fn state(&self) -> ResidenceState {
        match &*self.place.read() {
            Place::Awake(_) => ResidenceState::Awake,
            Place::Asleep(_) => ResidenceState::Asleep,
            Place::Waking(..) => ResidenceState::Waking,
        }
    }

    /// Notes how long the opening of the collection took.
    pub fn note_opened(&self, took: Duration) {
        self.opened_nanos.store(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX - 1), Ordering::Relaxed);
    }

    /// How long its last opening took.
    pub fn opened(&self) -> Option<Duration> {
        let nanos = self.opened_nanos.load(Ordering::Relaxed);
        (nanos != u64::MAX).then(|| Duration::from_nanos(nanos))
    }

    /// Searches since the engine was opened.
    pub fn searches(&self) -> u64 {
        let now = self.collection().map_or(0, |collection| collection.searches());
        self.past_searches.load(Ordering::Relaxed) + now
    }

    /// Keeps the number of searches of a collection that leaves the memory and counts anew when it is opened again.
    pub fn keep_searches(&self, searches: u64) {
        self.past_searches.fetch_add(searches, Ordering::Relaxed);
    }
}
