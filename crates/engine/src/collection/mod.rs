//! A collection: the writer's head, the view that readers hold, the graphs, and what is on disk.
//!
//! A write goes queue → [`Head`] → log → view. One thread at a time takes what is queued (a *group*), resolves
//! and applies each operation to the private head, appends the group's records to the log, and goes on; when
//! the log has synced them, the view is published and the callers are answered. Readers take the view and
//! never wait.

mod bell;
mod change;
mod checkpoint;
pub mod config;
mod extents;
mod field;
mod graph;
mod head;
mod manifest;
mod opening;
mod point;
mod resolve;
mod state;
pub mod update;
mod view;
mod write;

pub use bell::Bell;
pub use change::{Change, PayloadEdit};
pub use checkpoint::{CheckpointError, GraphPolicy, directory};
pub use field::{FieldArena, FieldTable};
pub use graph::FieldGraph;
pub use head::Head;
pub use manifest::{make_dir, replace};
pub use opening::Opening;
pub use point::{Payload, Point, Rows};
pub use resolve::not_found;
pub use state::{State, Subject};
pub use view::View;
pub use write::{CHANGES, Write, WriteDone, WriteReply, WriteRequest, refused};

use crate::error::Error;
use crate::index::BuildScratch;
use crate::limits::{Limits, Thresholds};
use crate::storage::Storage;
use crate::wal::GroupCommit;
use arc_swap::{ArcSwap, ArcSwapOption};
use checkpoint::Checkpoints;
use config::CollectionConfig;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use write::{Queue, Writer};

/// Work of a search over the tail, in components of `f32`, above which writers help with indexing. About 8,192
/// rows of 384 components: some 0.4 ms of scanning on one core.
const TAIL_COMPONENTS: u64 = 3 << 20;

/// What the collections of one engine share.
pub struct Shared {
    /// The disk.
    pub storage: Arc<dyn Storage>,
    /// The log.
    pub log: GroupCommit,
    /// Rung when there are new rows to index.
    pub indexer: Bell,
    /// Limits on requests.
    pub limits: Limits,
    /// Sizes at which work in the background starts.
    pub thresholds: Thresholds,
}

/// One collection.
pub struct Collection {
    /// Number of the collection; its folder and its records carry it. Never used twice.
    pub id: u64,
    shared: Arc<Shared>,
    view: ArcSwap<View>,
    /// One slot for each vector field.
    graphs: Box<[GraphSlot]>,
    queue: Queue,
    writer: Mutex<Writer>,
    /// Groups that are appended and not yet synced or failed.
    in_flight: Mutex<usize>,
    landed: Condvar,
    /// A group failed: the head is ahead of what is durable and must be restored before the next write.
    head_is_stale: AtomicBool,
    /// Why writes are refused until the collection is reopened.
    fault: Mutex<Option<String>>,
    checkpoints: Mutex<Checkpoints>,
    /// Log sequence of the last record that belongs to this collection.
    last_lsn: AtomicU64,
    /// Log sequence up to which the data checkpoint holds everything of this collection.
    checkpointed_lsn: AtomicU64,
    /// Bytes of log records since the last data checkpoint.
    unsaved_bytes: AtomicUsize,
}

/// The graph of a field, and the one that is being built to replace it.
#[derive(Default)]
struct GraphSlot {
    current: ArcSwapOption<FieldGraph>,
    next: ArcSwapOption<FieldGraph>,
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
        last_lsn: u64,
        checkpoints: Checkpoints,
    ) -> Collection {
        let view = head.view(last_lsn);
        let graphs = head.fields.iter().map(|_| GraphSlot::default()).collect();
        Collection {
            id,
            shared,
            view: ArcSwap::from_pointee(view),
            graphs,
            queue: Queue::new(),
            writer: Mutex::new(Writer { head }),
            in_flight: Mutex::new(0),
            landed: Condvar::new(),
            head_is_stale: AtomicBool::new(false),
            fault: Mutex::new(None),
            checkpointed_lsn: AtomicU64::new(checkpoints.lsn()),
            checkpoints: Mutex::new(checkpoints),
            last_lsn: AtomicU64::new(last_lsn),
            unsaved_bytes: AtomicUsize::new(0),
        }
    }

    /// A new, empty collection.
    pub fn create(id: u64, shared: Arc<Shared>, config: Arc<CollectionConfig>) -> Collection {
        Self::from_head(id, shared, Head::new(config), 0, Checkpoints::none(id))
    }

    /// What readers see now.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// A consistent snapshot for a search.
    pub fn snapshot(&self) -> Snapshot {
        // The graphs' boundaries first, the view after them: see `FieldGraph::indexed`.
        let graphs = self
            .graphs
            .iter()
            .map(|slot| {
                slot.current.load_full().map(|graph| {
                    let indexed = graph.indexed();
                    (graph, indexed)
                })
            })
            .collect();
        Snapshot { id: self.id, view: self.view(), graphs }
    }

    /// Why the collection takes no writes, if it does not.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().clone()
    }

    /// Refuses all writes from now on, until the collection is reopened.
    pub fn poison(&self, why: &str) {
        self.fault.lock().get_or_insert_with(|| why.to_string());
    }

    /// Live vectors that are in a graph, or in a field too small to need one.
    pub fn indexed_vectors(&self) -> u64 {
        let snapshot = self.snapshot();
        let view = &snapshot.view;
        let count = |(field, table): (usize, &FieldTable)| match &snapshot.graphs[field] {
            Some((_, indexed)) => {
                let tail = (*indexed..table.len()).filter(|&row| table.alive(row, view.op)).count();
                table.live() - tail as u64
            }
            None if self.wants_graph(view, field) => 0,
            None => table.live(),
        };
        view.fields.iter().enumerate().map(count).sum()
    }

    /// Whether every row that should be in a graph is in one and no graph is being rebuilt.
    pub fn is_settled(&self) -> bool {
        let snapshot = self.snapshot();
        let view = &snapshot.view;
        (0..view.fields.len()).all(|field| {
            let slot = &self.graphs[field];
            match &snapshot.graphs[field] {
                Some((graph, indexed)) => {
                    *indexed >= view.fields[field].len()
                        && slot.next.load().is_none()
                        && (!self.wants_graph(view, field) || graph.fits(&self.hnsw(view, field)))
                }
                None => !self.wants_graph(view, field),
            }
        })
    }

    /// Moves some rows of the tails into the graphs. Answers whether there is more to do.
    pub fn index_some(&self, scratch: &mut BuildScratch) -> bool {
        let view = self.view();
        let mut more = false;
        for field in 0..view.fields.len() {
            more |= self.index_field(&view, field, scratch);
        }
        more
    }

    fn index_field(&self, view: &View, field: usize, scratch: &mut BuildScratch) -> bool {
        let slot = &self.graphs[field];
        let table = &view.fields[field];
        if !self.wants_graph(view, field) {
            // A graph that is not wanted any more (`m: 0`) goes; one that the field has outgrown downwards stays.
            if self.hnsw(view, field).m == 0 {
                slot.current.store(None);
                slot.next.store(None);
            }
            return false;
        }
        let wanted = self.hnsw(view, field);
        let params = &view.state.config.fields()[field].1;
        let fresh = || Some(Arc::new(FieldGraph::new(&wanted, params, self.id)));
        match slot.current.load_full() {
            None => {
                // Two indexers may race here; the loser's empty graph is dropped.
                slot.current.compare_and_swap(&None::<Arc<FieldGraph>>, fresh());
                true
            }
            Some(current) if current.fits(&wanted) => {
                slot.next.store(None);
                current.index_some(table, view.op, scratch)
            }
            Some(_) => match slot.next.load_full() {
                Some(next) if next.fits(&wanted) => {
                    let more = next.index_some(table, view.op, scratch);
                    if !more && next.indexed() >= table.len() {
                        slot.current.store(Some(next));
                        slot.next.store(None);
                    }
                    more || next_pending(slot)
                }
                _ => {
                    slot.next.store(fresh());
                    true
                }
            },
        }
    }

    /// Rows of all fields that readers see, dead ones included.
    fn rows(&self) -> u64 {
        self.view.load().fields.iter().map(|table| u64::from(table.len())).sum()
    }

    /// Whether the tails are so long that writers should help to index them. A graph that is being replaced is
    /// left to the indexer.
    fn tail_is_long(&self) -> bool {
        let snapshot = self.snapshot();
        snapshot.graphs.iter().zip(snapshot.view.fields.iter()).enumerate().any(|(field, (graph, table))| {
            if self.graphs[field].next.load().is_some() {
                return false;
            }
            let size = snapshot.view.state.config.fields()[field].1.size as u64;
            graph.as_ref().is_some_and(|(_, indexed)| {
                u64::from(table.len().saturating_sub(*indexed)) * size > TAIL_COMPONENTS
            })
        })
    }

    /// Whether a field has outgrown the exact scan.
    fn wants_graph(&self, view: &View, field: usize) -> bool {
        let (_, params) = &view.state.config.fields()[field];
        let hnsw = self.hnsw(view, field);
        let bytes = view.fields[field].live() * params.size as u64 * 4;
        // A field that has a graph keeps it when it shrinks.
        hnsw.m > 0 && (bytes > hnsw.full_scan_threshold_bytes || self.graphs[field].current.load().is_some())
    }

    fn hnsw(&self, view: &View, field: usize) -> config::EffectiveHnsw {
        let config = &view.state.config;
        config.effective_hnsw(&config.fields()[field].0).expect("the name is one of the configuration's own")
    }

    /// Log sequence of the oldest record that only the log holds, if there is one.
    pub fn pinned_lsn(&self) -> Option<u64> {
        // A group in flight is in the log already, and in no view yet.
        let in_flight = *self.in_flight.lock() > 0;
        let saved = self.checkpointed_lsn.load(Ordering::Acquire);
        (in_flight || self.last_lsn.load(Ordering::Acquire) > saved).then_some(saved + 1)
    }

    /// Bytes of log records since the last data checkpoint.
    pub fn unsaved_bytes(&self) -> usize {
        self.unsaved_bytes.load(Ordering::Relaxed)
    }

    /// An error when the collection takes no writes.
    pub fn check_writable(&self) -> Result<(), Error> {
        self.fault().map_or(Ok(()), |why| Err(Error::CollectionFault(why)))
    }
}

/// Whether a replacement graph still waits for its turn.
fn next_pending(slot: &GraphSlot) -> bool {
    slot.next.load().is_some()
}
