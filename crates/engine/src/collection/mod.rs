//! A collection: the writer's head, the view that readers hold, the graphs, and what is on disk.
//!
//! `checkpoint` is what is on disk: writing it, opening, verifying and salvaging it. `indexing` is what happens behind
//! the writes: graphs and indexes of fields are built and built anew. What stands beside the two is the data itself.
//!
//! A write goes queue → [`Head`] → log → view. One thread at a time takes what is queued (a *group*), resolves
//! and applies each operation to the private head, appends the group's records to the log, and goes on; when
//! the log has synced them, the view is published and the callers are answered. Readers take the view and
//! never wait.

mod bell;
pub(crate) mod change;
mod checkpoint;
mod declared_index;
mod digest;
mod edited_payloads;
mod editing;
mod fault;
mod head;
mod indexing;
mod memory;
mod point;
mod resolve;
mod state;
pub mod update;
mod vacuum;
mod view;
mod write;
mod write_queue;

pub use bell::Bell;
pub use change::{Change, PayloadEdit, operation_of};
pub use checkpoint::cause::{Cause, Unopened};
pub(crate) use checkpoint::extents::{Extent, ExtentWriter};
pub use checkpoint::inspection::{FileFault, Inspection, Part, inspect, is_manifest_damaged};
pub(crate) use checkpoint::manifest::Manifest;
pub use checkpoint::opening::{Opening, OpeningOptions};
pub use checkpoint::salvage::Losses;
pub use checkpoint::staging::link_folder;
pub use checkpoint::{CheckpointError, GraphPolicy, directory};
pub use declared_index::{DeclaredIndex, IndexDraft};
pub use head::{Allowance, Head, Unapplied};
pub use indexing::IndexTurn;
pub use indexing::queue::IndexQueue;
pub use indexing::waiters::BuiltReply;
pub use memory::MemoryReport;
pub use point::{Payload, Point, Rows};
pub use resolve::not_found;
pub use state::{State, Subject};
pub use view::View;
pub use write::{CHANGES, Write, WriteDone, WriteReply, WriteRequest, refused};

use crate::config::CollectionConfig;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::field::FieldGraph;
use crate::limits::{Limits, Thresholds};
use crate::payload::JsonPath;
use crate::storage::{Reserve, Storage};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex};
use crate::wal::GroupCommit;
use arc_swap::ArcSwap;
use checkpoint::Checkpoints;
use checkpoint::unsaved::Unsaved;
use fault::Faults;
use indexing::waiters::IndexWaiters;
use indexing::{GraphSlot, Indexers};
use memory::IndexBytes;
use std::sync::Arc;
use write::Writer;
use write_queue::Queue;

/// What the collections of one engine share.
pub struct Shared {
    /// The disk.
    pub storage: Arc<dyn Storage>,
    /// The log.
    pub log: GroupCommit,
    /// Collections that were written since an indexer last looked at them.
    pub indexer: IndexQueue,
    /// Limits on requests.
    pub limits: Limits,
    /// Sizes at which work in the background starts.
    pub thresholds: Thresholds,
    /// Space for the moment when the disk is full.
    pub reserve: Arc<Reserve>,
    /// Work that a start would have to do with the log, over all collections, in bytes.
    pub unsaved_work: Arc<AtomicUsize>,
    /// Writes that wait for the writers of their collections.
    pub waiting_writes: Arc<AtomicUsize>,
}

impl Shared {
    /// Whether a write that makes the data grow may be accepted.
    ///
    /// # Errors
    /// `StorageFull` while a full disk has not been given room again, or a checkpoint would not fit; `Overloaded` when
    /// checkpoints are so far behind that a start would take too long.
    pub fn admit_growth(&self) -> Result<(), Error> {
        let unsaved = self.unsaved_work.load(Ordering::Relaxed);
        if !self.reserve.admits_growth(unsaved as u64) {
            return Err(Error::StorageFull);
        }
        if unsaved > self.limits.max_unsaved_work {
            return Err(Error::Overloaded("the log waits for a checkpoint".into()));
        }
        Ok(())
    }
}

/// A collection that cannot be checkpointed may have one part in so many of the replay that the log may hold.
const SHARE_OF_UNSAVED: usize = 2;

/// One collection.
pub struct Collection {
    /// Number of the collection; its folder and its records carry it. Never used twice.
    pub id: u64,
    shared: Arc<Shared>,
    view: ArcSwap<View>,
    /// One slot for each vector field.
    graphs: Box<[GraphSlot]>,
    indexers: Indexers,
    index_waiters: IndexWaiters,
    /// Stands in [`Shared::indexer`].
    queued: AtomicBool,
    queue: Queue,
    writer: Mutex<Writer>,
    /// Groups that are appended and not yet synced or failed.
    in_flight: Mutex<usize>,
    landed: Condvar,
    /// A group failed: the head is ahead of what is durable and must be restored before the next write.
    head_is_stale: AtomicBool,
    faults: Mutex<Faults>,
    checkpoints: Mutex<Checkpoints>,
    /// Log sequence of the last record that belongs to this collection.
    last_lsn: AtomicU64,
    /// Log sequence up to which the data checkpoint holds everything of this collection.
    checkpointed_lsn: AtomicU64,
    /// Log sequence of the record that created it; 0 when the log does not hold it any more.
    created_lsn: u64,
    /// Whether there is a checkpoint, be it of nothing.
    has_checkpoint: AtomicBool,
    /// Log records since the last data checkpoint.
    unsaved: Unsaved,
    /// The collection was deleted: long work is to be given up.
    retired: AtomicBool,
    index_bytes: IndexBytes,
    /// What the rows and graphs were like when the last vacuum of rows had looked at them.
    vacuumed: Mutex<Option<u64>>,
    /// The vacuum moves nothing more before what it has moved is in a checkpoint.
    vacuum_waits: AtomicBool,
}

/// Log sequences of a collection: of its creation (0 when the log does not hold that any more), and of its last record.
struct Lsns {
    created: u64,
    last: u64,
}

/// What a reader holds: a view, and for each field the graph with the first row of its tail.
pub struct Snapshot {
    /// Number of the collection.
    pub id: u64,
    /// The view.
    pub view: Arc<View>,
    /// Graph and first row of the tail, for each field that has a graph.
    pub graphs: Vec<Option<(Arc<FieldGraph>, u32)>>,
}

impl Collection {
    /// A collection over a head, which replay or a checkpoint has filled.
    fn from_head(
        id: u64,
        shared: Arc<Shared>,
        head: Head,
        Lsns { created, last: last_lsn }: Lsns,
        checkpoints: Checkpoints,
    ) -> Collection {
        let view = head.view(last_lsn);
        let unsaved = Unsaved::none(&shared.unsaved_work);
        let graphs = head.fields.iter().map(|_| GraphSlot::default()).collect();
        let queue = Queue::new(&shared.waiting_writes);
        Collection {
            id,
            shared,
            view: ArcSwap::from_pointee(view),
            graphs,
            indexers: Indexers::default(),
            index_waiters: IndexWaiters::default(),
            queued: AtomicBool::new(false),
            queue,
            writer: Mutex::new(Writer { head }),
            in_flight: Mutex::new(0),
            landed: Condvar::new(),
            head_is_stale: AtomicBool::new(false),
            faults: Mutex::new(Faults::default()),
            checkpointed_lsn: AtomicU64::new(checkpoints.lsn()),
            created_lsn: created,
            has_checkpoint: AtomicBool::new(checkpoints.manifest.is_some()),
            checkpoints: Mutex::new(checkpoints),
            last_lsn: AtomicU64::new(last_lsn),
            unsaved,
            retired: AtomicBool::new(false),
            index_bytes: IndexBytes::default(),
            vacuumed: Mutex::new(None),
            vacuum_waits: AtomicBool::new(false),
        }
    }

    /// A new, empty collection. `created` is the log sequence of the record that creates it.
    pub fn create(id: u64, shared: Arc<Shared>, config: Arc<CollectionConfig>, created: u64) -> Collection {
        let head = Head::new(config, shared.thresholds.row_chunk_bytes);
        Self::from_head(id, shared, head, Lsns { created, last: 0 }, Checkpoints::none(id))
    }

    /// What it shares with the other collections.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What readers see now.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// A consistent snapshot for a search. From here on the tail that the search scans is kept short.
    pub fn snapshot(&self) -> Snapshot {
        let snapshot = self.look();
        for (slot, table) in self.graphs.iter().zip(&*snapshot.view.fields) {
            slot.note_search(table.len());
        }
        snapshot
    }

    /// A consistent snapshot for whoever does not search.
    fn look(&self) -> Snapshot {
        // The graphs' boundaries first, the view after them: see `FieldGraph::indexed`.
        let graphs = self.bounded_graphs();
        Snapshot { id: self.id, view: self.view(), graphs }
    }

    /// The graph of each field that has one, and its boundary.
    fn bounded_graphs(&self) -> Vec<Option<(Arc<FieldGraph>, u32)>> {
        let bounded = |graph: Arc<FieldGraph>| {
            let indexed = graph.indexed();
            (graph, indexed)
        };
        self.graphs.iter().map(|slot| slot.current.load_full().map(bounded)).collect()
    }

    /// Whether the collection was deleted.
    fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Has `reply` called when no field index of that path is being built any more, or the deadline has passed.
    pub fn when_built(&self, path: JsonPath, deadline: Deadline, reply: BuiltReply) {
        self.index_waiters.add(path, deadline, reply);
        self.settle_waiting();
    }

    /// Answers those who wait for a field index that is there, or whose time is over.
    pub fn settle_waiting(&self) {
        self.index_waiters.settle(|| self.view());
    }

    /// Answers all who wait for a field index, now and later: none will be built any more.
    pub fn stop_waiting(&self) {
        self.index_waiters.close();
    }

    /// Log sequence of the oldest record that only the log holds, if there is one.
    pub fn pinned_lsn(&self) -> Option<u64> {
        // A group in flight is in the log already, and in no view yet.
        let in_flight = *self.in_flight.lock() > 0;
        if !self.has_checkpoint.load(Ordering::Acquire) {
            // Its creation stays in the log: without it nothing tells a collection that is empty from one that is lost.
            return Some(self.created_lsn.max(1));
        }
        let saved = self.checkpointed_lsn.load(Ordering::Acquire);
        (in_flight || self.last_lsn.load(Ordering::Acquire) > saved).then_some(saved + 1)
    }

    /// Log sequence up to which the data checkpoint holds everything of this collection.
    pub fn checkpointed_lsn(&self) -> u64 {
        self.checkpointed_lsn.load(Ordering::Acquire)
    }

    /// Whether a write that makes the data grow may be accepted. One collection that cannot be checkpointed must not use
    /// up what the log may hold for all.
    ///
    /// # Errors
    /// As [`Shared::admit_growth`].
    fn admit_growth(&self) -> Result<(), Error> {
        if self.unsaved.get() > self.shared.limits.max_unsaved_work / SHARE_OF_UNSAVED
            && self.checkpoint_fault().is_some()
        {
            let why =
                "the log waits for a checkpoint of this collection, which fails: the server's log says why";
            return Err(Error::Overloaded(why.into()));
        }
        self.shared.admit_growth()
    }

    /// What replaying the log records since the last data checkpoint costs, in bytes.
    pub fn unsaved_work(&self) -> usize {
        self.unsaved.get()
    }
}
