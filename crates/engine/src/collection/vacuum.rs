//! Giving back the rows of the dead: chunks of originals that are emptied, then dropped.
//!
//! A chunk of which half is dead is emptied by the collection's writer: its live rows are appended anew, as operations
//! without a change, so that a view shows each point once. A chunk without a live row is dropped once no graph has a
//! node for one of its rows; readers of older views keep it in memory until they leave, the checkpoint after that
//! forgets it on disk.

use super::checkpoint::CheckpointError;
use super::write::{Write, WriteRequest};
use super::{Collection, FieldGraph, Head, View};
use crate::deadline::Deadline;
use crate::field::FieldTable;
use crate::field::sparse_table::SparseTable;
use crate::index::sparse::Block;
use crate::sync::atomic::Ordering;
use crate::sync::mpsc::sync_channel;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows that one operation moves at most, if they have no more bytes than [`MOVED_BYTES`]. A write that waits for it
/// waits well below a millisecond.
const MOVED_ROWS: usize = 256;
/// Bytes of rows that one operation moves at most; one vector is always moved.
const MOVED_BYTES: usize = 1 << 20;
/// Share of dead rows from which on a chunk is emptied. Emptied at a half, every byte that is moved frees another.
const EMPTIED_SHARE: u32 = 2;

/// On a disk with little room, the vacuum looks again when so many bytes more or less are free.
const ROOM_STEP: u64 = 1 << 18;

/// Time that a step has.
const PATIENCE: Duration = Duration::from_secs(60);

/// A full chunk of rows that has dead ones in it.
struct WornChunk {
    chunk: u32,
    live: u32,
}

impl Collection {
    /// Drops what can be dropped and empties one chunk that is mostly dead, if there is one. Answers whether it
    /// emptied one: there may be more.
    pub fn vacuum_rows(self: &Arc<Self>) -> bool {
        let view = self.view();
        // What was found not to be worth it stays so until something is written or a graph gets on.
        let state = self.vacuum_state(&view);
        if *self.vacuumed.lock() == Some(state) {
            return false;
        }
        *self.vacuumed.lock() = Some(state);
        let mut empty: Vec<(usize, u32)> = Vec::new();
        let mut worn: Option<(usize, u32, u64)> = None;
        for (position, table) in view.mortal_rows().enumerate() {
            for WornChunk { chunk, live } in worn_chunks(table, view.op) {
                if live > 0 {
                    let bytes = live_bytes(&view, position, live);
                    if worn.is_none_or(|(.., least)| bytes < least) {
                        worn = Some((position, chunk, bytes));
                    }
                } else if self.graphs_are_through(position, &chunk_range(table, chunk)) {
                    empty.push((position, chunk));
                }
            }
        }
        let thinned = thinned_blocks(&view);
        drop(view);
        self.shared.storage.turn("dropping rows");
        if !empty.is_empty() || !thinned.is_empty() {
            self.release(&empty, thinned);
        }
        let Some((field, chunk, bytes)) = worn else { return false };
        if !self.has_room_to_move(bytes) {
            // Room comes with a checkpoint; on a full disk nothing else asks for one.
            self.vacuum_waits.store(self.shared.reserve.is_spent(), Ordering::Relaxed);
            return false;
        }
        self.empty_chunk(field, chunk)
    }

    /// What decides whether there is something to drop or to empty, in one number.
    fn vacuum_state(&self, view: &View) -> u64 {
        let mut hasher = DefaultHasher::new();
        view.op.hash(&mut hasher);
        // Rows that had no room to move may have it when there is more.
        self.shared.reserve.little_free().map(|free| free / ROOM_STEP).hash(&mut hasher);
        for slot in &self.graphs {
            for graph in [slot.current.load_full(), slot.next.load_full()] {
                graph.map(|graph| (Arc::as_ptr(&graph).addr(), graph.indexed())).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Whether no graph of the field has a node for one of these dead rows, nor will get one.
    fn graphs_are_through(&self, field: usize, rows: &Range<u32>) -> bool {
        // Sparse fields have none.
        let Some(slot) = self.graphs.get(field) else { return true };
        let through = |graph: &Arc<FieldGraph>| {
            // Rows below the boundary have had their turn; those above may be on their way in an older view.
            rows.end <= graph.indexed() && rows.clone().all(|row| graph.node_of(row).is_none())
        };
        // The next one first: it may become the current one meanwhile, and is asked all the same.
        [slot.next.load_full(), slot.current.load_full()].iter().flatten().all(through)
    }

    /// Drops chunks whose rows are dead in every view from now on, and takes blocks in that leave such rows out.
    fn release(&self, chunks: &[(usize, u32)], thinned: Vec<ThinnedBlock>) {
        let mut writer = self.quiet_writer();
        let head = &mut writer.head;
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
        let lsn = self.view().lsn;
        self.view.store(Arc::new(writer.head.view(lsn)));
    }

    /// Moves the live rows of a chunk to the end, a few with each operation. Answers false when the writer refused.
    fn empty_chunk(self: &Arc<Self>, field: usize, chunk: u32) -> bool {
        if !self.chunks_of_vectors(field, chunk).all(|chunk| self.is_sound_on_disk(field, chunk)) {
            return false;
        }
        let mut before = usize::MAX;
        loop {
            let live = self.live_rows_of(&self.view(), field, chunk);
            if live == 0 || live >= before {
                return live == 0;
            }
            before = live;
            self.shared.storage.turn("moving rows");
            let (send, receive) = sync_channel(1);
            let request = WriteRequest {
                write: Write::MoveRows { field, chunk },
                deadline: Deadline::new(Instant::now(), PATIENCE, "Vacuum"),
                bytes: MOVED_BYTES,
                reply: Box::new(move |result| {
                    // Who gave up waiting does not want to know.
                    let _ = send.send(result.is_ok());
                }),
            };
            self.write_beside(request);
            if !receive.recv().unwrap_or(false) || self.shared.indexer.is_closed() {
                return false;
            }
        }
    }

    /// The chunks that the live vectors of a chunk lie in, which may begin in one before it and end in one after it.
    fn chunks_of_vectors(&self, field: usize, chunk: u32) -> Range<u32> {
        let view = self.view();
        // Sparse vectors have a row each.
        let Some(table) = view.fields.get(field) else { return chunk..chunk + 1 };
        let rows = table.rows.chunk_rows();
        let mut live = chunk_range(table, chunk).filter(|&row| table.alive(row, view.op));
        let Some(first) = live.next() else { return chunk..chunk + 1 };
        let last = live.next_back().unwrap_or(first);
        table.run(first).start / rows..(table.run(last).end - 1) / rows + 1
    }

    /// Whether a chunk still has its checksum, where it lies in a file: what is moved gets a new one, and would pass for
    /// sound for ever. Damage is reported; what cannot be read now is looked at again when something has changed.
    fn is_sound_on_disk(&self, field: usize, chunk: u32) -> bool {
        let on_disk = || {
            let checkpoints = self.checkpoints.lock();
            let kept = checkpoints.manifest.as_ref()?.fields.get(field)?;
            kept.chunks.get(chunk as usize).copied().flatten()
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

    fn live_rows_of(&self, view: &View, field: usize, chunk: u32) -> usize {
        view.mortal_rows()
            .nth(field)
            .map_or(0, |table| chunk_range(table, chunk).filter(|&row| table.alive(row, view.op)).count())
    }
}

/// About as many bytes as so many live rows of a field have.
fn live_bytes(view: &View, position: usize, live: u32) -> u64 {
    let dense = view.fields.get(position);
    dense.map_or(MOVED_BYTES as u64, |table| u64::from(live) * table.rows.row_bytes() as u64)
}

/// Rows of a field of any kind that die and are given back in chunks.
trait MortalRows {
    fn len(&self) -> u32;
    fn live(&self) -> u64;
    fn alive(&self, row: u32, op: u64) -> bool;
    fn chunk_rows(&self) -> u32;
    fn holds(&self, row: u32) -> bool;
}

impl MortalRows for FieldTable {
    fn len(&self) -> u32 {
        FieldTable::len(self)
    }

    fn live(&self) -> u64 {
        FieldTable::live(self)
    }

    fn alive(&self, row: u32, op: u64) -> bool {
        FieldTable::alive(self, row, op)
    }

    fn chunk_rows(&self) -> u32 {
        self.rows.chunk_rows()
    }

    fn holds(&self, row: u32) -> bool {
        self.rows.holds(row)
    }
}

impl MortalRows for SparseTable {
    fn len(&self) -> u32 {
        SparseTable::len(self)
    }

    fn live(&self) -> u64 {
        SparseTable::live(self)
    }

    fn alive(&self, row: u32, op: u64) -> bool {
        SparseTable::alive(self, row, op)
    }

    fn chunk_rows(&self) -> u32 {
        self.rows.chunk_rows()
    }

    fn holds(&self, row: u32) -> bool {
        self.rows.holds(row)
    }
}

impl View {
    /// The rows of each field in the order of positions.
    fn mortal_rows(&self) -> impl Iterator<Item = &dyn MortalRows> {
        let dense = self.fields.iter().map(|table| table as &dyn MortalRows);
        dense.chain(self.sparse.iter().map(|table| table as &dyn MortalRows))
    }
}

/// A block of a sparse field, by its place among these, and the same without its dead rows.
struct ThinnedBlock {
    field: usize,
    old: Arc<Block>,
    new: Block,
}

/// Blocks of which the configured share is dead. Those smaller than a chunk are merged into greater ones sooner.
fn thinned_blocks(view: &View) -> Vec<ThinnedBlock> {
    let mut thinned = Vec::new();
    for (field, table) in view.sparse.iter().enumerate() {
        let least = table.rows.chunk_rows();
        let held: u64 = table.blocks.iter().map(|block| u64::from(block.held())).sum();
        let dead = (held + u64::from(table.len() - table.blocks.indexed())).saturating_sub(table.live());
        if dead < u64::from(least / EMPTIED_SHARE).max(1) {
            continue;
        }
        for old in table.blocks.iter().filter(|block| block.end() - block.start() >= least) {
            let alive = |row| table.alive(row, view.op);
            let live = (old.start()..old.end()).filter(|&row| alive(row)).count() as u32;
            if old.held().saturating_sub(live) * EMPTIED_SHARE >= old.held() {
                thinned.push(ThinnedBlock { field, old: Arc::clone(old), new: old.thinned(alive) });
            }
        }
    }
    thinned
}

/// Full chunks, still there, of which the configured share is dead.
fn worn_chunks(table: &dyn MortalRows, op: u64) -> Vec<WornChunk> {
    let rows = table.chunk_rows();
    // Most of the time nearly everything is alive: then no chunk can be worn.
    if u64::from(table.len()) - table.live() < u64::from(rows / EMPTIED_SHARE).max(1) {
        return Vec::new();
    }
    let count = |chunk: u32| {
        let live = chunk_range(table, chunk).filter(|&row| table.alive(row, op)).count() as u32;
        WornChunk { chunk, live }
    };
    (0..table.len() / rows)
        .filter(|chunk| table.holds(chunk * rows))
        .map(count)
        .filter(|worn| (rows - worn.live) * EMPTIED_SHARE >= rows)
        .collect()
}

fn chunk_range(table: &dyn MortalRows, chunk: u32) -> Range<u32> {
    let rows = table.chunk_rows();
    chunk * rows..(chunk + 1) * rows
}

impl Head {
    /// Moves some live rows of a chunk to the end of their field, as operation `op`. The points stay what they are.
    pub(super) fn move_rows(&mut self, op: u64, field: usize, chunk: u32) {
        if let Some(sparse) = field.checked_sub(self.fields.len()) {
            return self.move_sparse_rows(op, field, sparse, chunk);
        }
        let arena = &self.fields[field];
        let rows = arena.chunk_rows();
        let most = (MOVED_BYTES / arena.row_bytes()).clamp(1, MOVED_ROWS);
        let mut live = Vec::new();
        let (mut row, mut taken) = (chunk * rows, 0);
        let end = ((chunk + 1) * rows).min(arena.len());
        while row < end && taken < most {
            if !arena.is_alive(row) {
                row += 1;
                continue;
            }
            // A vector moves as a whole, whichever chunks it lies in.
            let run = arena.run(row);
            live.push(run.start);
            taken += run.len();
            row = run.end;
        }
        let mut bytes = Vec::new();
        for first in live {
            self.move_vector(op, field, first, &mut bytes);
        }
    }

    fn move_sparse_rows(&mut self, op: u64, position: usize, sparse: usize, chunk: u32) {
        let arena = &self.sparse[sparse];
        let rows = arena.chunk_rows();
        let mut bytes = 0;
        let live: Vec<u32> = (chunk * rows..((chunk + 1) * rows).min(arena.len()))
            .filter(|&row| arena.is_alive(row))
            .take(MOVED_ROWS)
            .take_while(|&row| {
                let room = bytes < MOVED_BYTES;
                bytes += arena.row(row).len();
                room
            })
            .collect();
        for row in live {
            let arena = &mut self.sparse[sparse];
            let (owner, bytes) = (arena.owner(row), arena.row(row).to_vec());
            let Some(point) = self.state.points.get_mut(owner as usize) else { continue };
            point.rows.set(position, arena.push(&bytes, owner));
            self.kill(op, position as u16, row);
        }
    }

    fn move_vector(&mut self, op: u64, field: usize, first: u32, bytes: &mut Vec<u8>) {
        let arena = &mut self.fields[field];
        let owner = arena.owner(first);
        let Some(point) = self.state.points.get_mut(owner as usize) else { return };
        arena.copy(first, bytes);
        point.rows.set(field, arena.push(bytes, owner));
        self.kill(op, field as u16, first);
    }
}
