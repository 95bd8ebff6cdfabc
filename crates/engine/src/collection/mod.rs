//! A collection: the writer's head, the view that readers hold, the graphs, and what is on disk.
//!
//! The data itself is the [`state`](crate::state), its files are the [`checkpoint`](crate::checkpoint). A collection
//! puts them together with the log: `writer` applies writes to the head and publishes views, `checkpointing` writes
//! views to files, `indexing` builds graphs and field indexes behind the writes, `vacuum` gives back the room of
//! dead rows.
//!
//! Readers take the view and never wait. The order of locks: the checkpointer's, the writer lock, that of the groups in
//! flight; the others are held for a moment and never together.

mod checkpointing;
mod disk_use;
mod expiring;
mod health;
mod held_back;
mod indexing;
mod log_position;
mod memory;
mod reembedding;
mod shared;
mod snapshot;
mod unsaved;
pub mod update;
mod vacuum;
mod writer;

pub use crate::change::{Change, PayloadEdit, operations_of};
pub use crate::checkpoint::{
    Cause, CheckpointError, FileFault, Inspection, Losses, Opening, OpeningOptions, Part, Unopened,
    directory, inspect, is_manifest_damaged, link_folder,
};
pub use crate::state::{
    Allowance, AutoIndex, DeclaredIndex, Head, IndexDraft, Numbering, Payload, Point, PointRef, Rows,
    ScanMeter, State, Subject, Unapplied, View,
};
pub use checkpointing::GraphPolicy;
pub use expiring::REMOVED_AT_ONCE;
pub use held_back::HeldBack;
pub use indexing::{BuiltReply, IndexBacklog, IndexPermit, IndexQueue};
pub use memory::MemoryReport;
pub use reembedding::{
    Ending, Filling, NewVector, NextTexts, ReembeddingReport, ReembeddingState, TextOfPoint,
};
pub use shared::Shared;
pub use snapshot::Snapshot;
pub use update::{TimeSlice, not_found};
pub use writer::{
    Admission, CHANGES, Class, HeavyWrite, Place, Step, Write, WriteCall, WriteDone, WriteLeader, WriteReply,
    WriteRequest, refused,
};

use crate::checkpoint::CheckpointFiles;
use crate::config::CollectionConfig;
use crate::deadline::Deadline;
use crate::group_keys::GroupKeys;
use crate::payload::JsonPath;
use crate::rates::Rates;
use crate::state::ScanCosts;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::types::Lsn;
use arc_swap::ArcSwap;
use checkpointing::Checkpointer;
use disk_use::DiskUse;
use expiring::Unexpired;
use health::Health;
use indexing::IndexWork;
use log_position::LogPosition;
use memory::IndexBytes;
use reembedding::Progresses;
use std::sync::Arc;
use vacuum::Vacuum;
use writer::Writer;

/// One collection.
pub struct Collection {
    /// Number of the collection; its folder and its records carry it. Never used twice.
    pub id: u64,
    shared: Arc<Shared>,
    view: ArcSwap<View>,
    position: LogPosition,
    writer: Writer,
    checkpointer: Checkpointer,
    indexing: IndexWork,
    vacuum: Vacuum,
    health: Health,
    index_bytes: IndexBytes,
    disk_use: DiskUse,
    group_keys: Arc<GroupKeys>,
    unexpired: Unexpired,
    rates: Rates,
    reembeddings: Progresses,
    /// Requests that searched it since it was opened.
    searches: Arc<AtomicU64>,
}

impl Collection {
    /// A new, empty collection. `created` is the LSN of the record that creates it.
    pub fn create(id: u64, shared: Arc<Shared>, config: Arc<CollectionConfig>, created: Lsn) -> Collection {
        let head = Head::new(config, shared.thresholds.row_chunk_bytes);
        let position = LogPosition::new(created, Lsn::NONE, None, &shared.unsaved_work);
        Self::from_parts(id, shared, head, Lsn::NONE, position, CheckpointFiles::none(id))
    }

    /// A collection whose checkpoint was loaded and whose records were replayed, ready to serve. `created` as for
    /// [`Opening::missing`].
    pub fn open(opening: Opening, shared: Arc<Shared>, created: Lsn) -> Collection {
        let Opening { id, head, lsn, replayed_work, files, .. } = opening;
        let checkpointed = files.manifest.as_ref().map(|manifest| manifest.lsn);
        let position = LogPosition::new(created, lsn, checkpointed, &shared.unsaved_work);
        position.unsaved().add(replayed_work);
        Self::from_parts(id, shared, head, lsn, position, files)
    }

    fn from_parts(
        id: u64,
        shared: Arc<Shared>,
        mut head: Head,
        lsn: Lsn,
        position: LogPosition,
        files: CheckpointFiles,
    ) -> Collection {
        head.state.scan_costs = Arc::new(ScanCosts::of_points(shared.thresholds.auto_index_points));
        Collection {
            id,
            view: ArcSwap::from_pointee(head.view(lsn)),
            position,
            indexing: IndexWork::default(),
            writer: Writer::new(head, &shared.waiting_writes),
            checkpointer: Checkpointer::new(files),
            vacuum: Vacuum::default(),
            health: Health::default(),
            index_bytes: IndexBytes::default(),
            disk_use: DiskUse::default(),
            group_keys: Arc::default(),
            unexpired: Unexpired::default(),
            rates: Rates::default(),
            reembeddings: Progresses::default(),
            searches: Arc::default(),
            shared,
        }
    }

    /// What it shares with the other collections.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What is left of the rates of its strict mode.
    pub fn rates(&self) -> &Rates {
        &self.rates
    }

    /// What readers see now.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Requests that searched it since it was opened.
    pub fn searches(&self) -> u64 {
        self.searches.load(Ordering::Relaxed)
    }

    /// Whether the collection was deleted, and its files are being removed: long work is to be given up.
    pub fn is_retired(&self) -> bool {
        self.health.is_retired()
    }

    /// Answers the queued writes whose deadline has passed, whatever the writer is doing.
    pub fn give_up_overdue_writes(&self) {
        self.writer.give_up_expired();
    }

    /// Calls `reply` when no field index of that path is being built any more, or the deadline has passed.
    pub fn when_built(&self, path: JsonPath, deadline: Deadline, reply: BuiltReply) {
        self.indexing.waiters.add(path, deadline, reply);
        self.settle_waiting();
    }

    /// Calls `reply` when every graph and every field index is built ([`Collection::is_settled`]), or the deadline has
    /// passed.
    pub fn when_settled(&self, deadline: Deadline, reply: BuiltReply) {
        self.indexing.waiters.add_for_all(deadline, reply);
        self.settle_waiting();
    }

    /// Answers the requests whose field index is there, or whose time is over.
    pub fn settle_waiting(&self) {
        let is_settled = self.indexing.waiters.wait_for_all() && self.is_settled();
        self.indexing.waiters.settle(|| self.view(), is_settled);
    }

    /// Answers all requests that wait for a field index, now and later: none will be built any more.
    pub fn stop_waiting(&self) {
        self.indexing.waiters.close();
    }

    /// LSN of the oldest record that only the log holds, if there is one.
    pub fn pinned_lsn(&self) -> Option<Lsn> {
        // A group in flight is in the log already, and in no view yet.
        let is_in_flight = self.writer.is_in_flight();
        self.position.pinned(is_in_flight)
    }

    /// LSN up to which the data checkpoint holds everything of this collection.
    pub fn checkpointed_lsn(&self) -> Lsn {
        self.position.checkpointed()
    }

    /// What replaying the log records since the last data checkpoint costs, in bytes.
    pub fn unsaved_work(&self) -> usize {
        self.position.unsaved().get()
    }
}
