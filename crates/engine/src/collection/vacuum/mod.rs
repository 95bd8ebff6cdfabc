//! Giving back the room of dead rows: chunks of originals are emptied, then dropped.
//!
//! A chunk whose rows are half dead is emptied by the collection's writer: its live rows are appended anew, as operations
//! without a change, so that a view shows each point once. A chunk without a live row is dropped once no graph has a
//! node for one of its rows; readers of older views keep it in memory until they end, and the next checkpoint
//! drops it on disk.

mod rows;
#[cfg(test)]
mod tests;

use super::Collection;
use super::writer::{Place, Write, WriteCall, WriteRequest};
use crate::checkpoint::CheckpointError;
use crate::deadline::Deadline;
use crate::faults::PlantedFault;
use crate::field::FieldGraph;
use crate::state::{MOVED_BYTES, View};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::mpsc::sync_channel;
use crate::types::{OpNumber, RowRange};
use rows::{MostlyDeadChunk, ThinnedBlock, chunk_range, live_bytes, mostly_dead_chunks, thinned_blocks};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// On a disk with little room, the vacuum examines the rows again when the free bytes have changed by this much.
const ROOM_STEP: u64 = 1 << 18;

/// Time limit of one move of rows.
const MOVE_TIMEOUT: Duration = Duration::from_secs(60);

/// State of the vacuum between two turns.
#[derive(Default)]
pub(super) struct Vacuum {
    /// What the rows and graphs were like when they were examined last, in one number.
    examined: Mutex<Option<u64>>,
    /// Nothing more is moved before what was moved is in a checkpoint.
    waits_for_checkpoint: AtomicBool,
}

impl Collection {
    /// Whether the vacuum has waited for a checkpoint since this was asked last.
    pub fn vacuum_waited(&self) -> bool {
        self.vacuum.waits_for_checkpoint.swap(false, Ordering::Relaxed)
    }

    /// Drops what can be dropped and empties one chunk that is mostly dead, if there is one. Returns whether it
    /// emptied one: there may be more.
    pub fn vacuum_rows(self: &Arc<Self>) -> bool {
        let view = self.view();
        // What was found not to be worth it stays so until something is written or a graph gets on.
        let state = self.vacuum_state(&view);
        if *self.vacuum.examined.lock() == Some(state) {
            return false;
        }
        *self.vacuum.examined.lock() = Some(state);
        let mut empty: Vec<(usize, u32)> = Vec::new();
        let mut least_live: Option<(usize, u32, u64)> = None;
        for (position, table) in view.row_tables().enumerate() {
            for MostlyDeadChunk { chunk, live } in mostly_dead_chunks(table, view.op) {
                if live > 0 {
                    let bytes = live_bytes(&view, position, live);
                    if least_live.is_none_or(|(.., least)| bytes < least) {
                        least_live = Some((position, chunk, bytes));
                    }
                } else if PlantedFault::ChunkDroppedUnderNodes.is_on()
                    || graphs_have_no_node_of(&view, position, chunk_range(table, chunk))
                {
                    empty.push((position, chunk));
                }
            }
        }
        let thinned = thinned_blocks(&view);
        let fields = view.state.config.fields_changed();
        drop(view);
        self.shared.storage.yield_point("dropping rows");
        if !empty.is_empty() || !thinned.is_empty() {
            self.release(fields, &empty, thinned);
        }
        let Some((field, chunk, bytes)) = least_live else { return false };
        if !self.has_room_to_move(bytes) {
            // Room comes with a checkpoint; on a full disk nothing else asks for one.
            self.vacuum.waits_for_checkpoint.store(self.shared.reserve.is_spent(), Ordering::Relaxed);
            return false;
        }
        self.empty_chunk(Place { fields, field, chunk })
    }

    /// What decides whether there is something to drop or to empty, in one number.
    fn vacuum_state(&self, view: &View) -> u64 {
        let mut hasher = DefaultHasher::new();
        view.op.hash(&mut hasher);
        // Rows that had no room to move may have it when there is more.
        self.shared.reserve.little_free().map(|free| free / ROOM_STEP).hash(&mut hasher);
        for table in view.fields.iter() {
            for graph in [table.graphs.current.load_full(), table.graphs.next.load_full()] {
                graph.map(|graph| (Arc::as_ptr(&graph).addr(), graph.indexed())).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Drops chunks whose rows are dead in every view from now on, and takes blocks in that leave such rows out. `fields` is
    /// the last operation that changed the fields, when they were found: positions of others are not theirs.
    fn release(&self, fields: OpNumber, chunks: &[(usize, u32)], thinned: Vec<ThinnedBlock>) {
        let mut head = self.quiet_head();
        if head.state.config.fields_changed() != fields {
            return;
        }
        for &(position, chunk) in chunks {
            match position.checked_sub(head.fields.len()) {
                None => head.fields[position].release(chunk),
                Some(sparse) => head.sparse[sparse].release(chunk),
            }
        }
        for ThinnedBlock { field, old, new } in thinned {
            head.sparse[field].replace_block(&old, new);
        }
        // The view that readers take holds them still.
        self.publish_settled(&head);
    }

    /// Moves the live rows of a chunk to the end, a few with each operation. Returns false when the writer refused.
    fn empty_chunk(self: &Arc<Self>, place: Place) -> bool {
        let Some(mut chunks) = self.chunks_of_vectors(place) else { return false };
        if !chunks.all(|chunk| self.is_sound_on_disk(Place { chunk, ..place })) {
            return false;
        }
        let mut before = usize::MAX;
        loop {
            let Some(live) = self.live_rows_of(place) else { return false };
            if live == 0 || live >= before {
                return live == 0;
            }
            before = live;
            self.shared.storage.yield_point("moving rows");
            let (send, receive) = sync_channel(1);
            let call = WriteCall::plain(
                Deadline::new(Instant::now(), MOVE_TIMEOUT, "Vacuum"),
                MOVED_BYTES,
                Box::new(move |result| {
                    // The receiver is gone if this thread was unwound.
                    let _ = send.send(result.is_ok());
                }),
            );
            self.write_unqueued(WriteRequest { write: Write::MoveRows(place), call });
            if !receive.recv().unwrap_or(false) || self.shared.indexer.is_closed() {
                return false;
            }
        }
    }

    /// The view of this moment, if a place is still that of the same chunk.
    fn view_with(&self, place: Place) -> Option<Arc<View>> {
        Some(self.view()).filter(|view| view.state.config.fields_changed() == place.fields)
    }

    /// The chunks that the live vectors of a chunk lie in, which may begin in one before it and end in one after it.
    fn chunks_of_vectors(&self, place: Place) -> Option<Range<u32>> {
        let (view, chunk) = (self.view_with(place)?, place.chunk);
        // Sparse vectors have a row each.
        let Some(table) = view.fields.get(place.field) else { return Some(chunk..chunk + 1) };
        let rows = table.rows.chunk_rows();
        let mut live = chunk_range(table, chunk).iter().filter(|&row| table.alive(row, view.op));
        let Some(first) = live.next() else { return Some(chunk..chunk + 1) };
        let last = live.next_back().unwrap_or(first);
        Some(table.run(first).start.get() / rows..(table.run(last).end.get() - 1) / rows + 1)
    }

    /// Whether a chunk still has its checksum, where it lies in a file: what is moved gets a new one, and would pass for
    /// sound for ever. Damage is reported; what cannot be read now is checked again when something has changed.
    fn is_sound_on_disk(&self, place: Place) -> bool {
        let on_disk = || {
            let checkpoints = self.checkpointer.lock();
            let previous = checkpoints.files.previous_of(&self.view_with(place)?.state.config);
            let kept = previous.fields.get(place.field)?;
            kept.chunks.get(place.chunk as usize).copied().flatten()
        };
        let Some(extent) = on_disk() else { return true };
        match self.verify_extent(&extent) {
            Ok(()) => true,
            // A checkpoint may have copied the chunk and removed the file meanwhile.
            Err(CheckpointError::Damaged(why)) if on_disk() == Some(extent) => {
                self.report_damage(&why);
                false
            }
            Err(_) => false,
        }
    }

    fn live_rows_of(&self, place: Place) -> Option<usize> {
        let view = self.view_with(place)?;
        let table = view.row_tables().nth(place.field)?;
        let rows = chunk_range(table, place.chunk);
        Some(rows.iter().filter(|&row| table.alive(row, view.op)).count())
    }
}

/// Whether no graph of the field has a node for one of these dead rows, nor will get one.
fn graphs_have_no_node_of(view: &View, field: usize, rows: RowRange) -> bool {
    // Sparse fields have none.
    let Some(slot) = view.fields.get(field).map(|table| &table.graphs) else { return true };
    let through = |graph: &Arc<FieldGraph>| {
        // Rows before the boundary are in the graph or will not be. Later rows may be inserted from an older view.
        rows.end <= graph.indexed() && rows.iter().all(|row| graph.node_of(row).is_none())
    };
    // The next graph first: if it becomes the current one meanwhile, it is checked all the same.
    [slot.next.load_full(), slot.current.load_full()].iter().flatten().all(through)
}
