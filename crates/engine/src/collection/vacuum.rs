//! Giving back the rows of the dead: chunks of originals that are emptied, then dropped.
//!
//! A chunk of which half is dead is emptied by the collection's writer: its live rows are appended anew, as operations
//! without a change, so that a view shows each point once. A chunk without a live row is dropped once no graph has a
//! node for one of its rows; readers of older views keep it in memory until they leave, the checkpoint after that
//! forgets it on disk.

use super::field::FieldTable;
use super::write::{Write, WriteRequest};
use super::{Collection, FieldGraph, Head, View};
use crate::deadline::Deadline;
use crossbeam_channel::bounded;
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

/// Time that a step waits for its turn among the collection's writes.
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
        let mut worn: Option<(usize, u32)> = None;
        for (field, table) in view.fields.iter().enumerate() {
            for WornChunk { chunk, live } in worn_chunks(table, view.op) {
                if live > 0 {
                    worn.get_or_insert((field, chunk));
                } else if self.graphs_are_through(field, &chunk_range(table, chunk)) {
                    empty.push((field, chunk));
                }
            }
        }
        drop(view);
        if !empty.is_empty() {
            self.release(&empty);
        }
        worn.is_some_and(|(field, chunk)| self.empty_chunk(field, chunk))
    }

    /// What decides whether there is something to drop or to empty, in one number.
    fn vacuum_state(&self, view: &View) -> u64 {
        let mut hasher = DefaultHasher::new();
        view.op.hash(&mut hasher);
        for slot in &self.graphs {
            for graph in [slot.current.load_full(), slot.next.load_full()] {
                graph.map(|graph| (Arc::as_ptr(&graph).addr(), graph.indexed())).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Whether no graph of the field has a node for one of these dead rows, nor will get one.
    fn graphs_are_through(&self, field: usize, rows: &Range<u32>) -> bool {
        let slot = &self.graphs[field];
        let through = |graph: &Arc<FieldGraph>| {
            // Rows below the boundary have had their turn; those above may be on their way in an older view.
            rows.end <= graph.indexed() && rows.clone().all(|row| graph.node_of(row).is_none())
        };
        [slot.current.load_full(), slot.next.load_full()].iter().flatten().all(through)
    }

    /// Drops chunks whose rows are dead in every view from now on.
    fn release(&self, chunks: &[(usize, u32)]) {
        let mut writer = self.quiet_writer();
        for &(field, chunk) in chunks {
            writer.head.fields[field].release(chunk);
        }
        // The view that readers take holds them still.
        let lsn = self.view().lsn;
        self.view.store(Arc::new(writer.head.view(lsn)));
    }

    /// Moves the live rows of a chunk to the end, a few with each operation. Answers false when the writer refused.
    fn empty_chunk(self: &Arc<Self>, field: usize, chunk: u32) -> bool {
        let mut before = usize::MAX;
        loop {
            let live = self.live_rows_of(&self.view(), field, chunk);
            if live == 0 || live >= before {
                return live == 0;
            }
            before = live;
            let (send, receive) = bounded(1);
            let request = WriteRequest {
                write: Write::MoveRows { field, chunk },
                deadline: Deadline::new(Instant::now(), PATIENCE, "Vacuum"),
                bytes: MOVED_BYTES,
                reply: Box::new(move |result| {
                    // Who gave up waiting does not want to know.
                    let _ = send.send(result.is_ok());
                }),
            };
            if self.enqueue(request) {
                self.run_writes();
            }
            if !receive.recv().unwrap_or(false) || self.shared.indexer.is_closed() {
                return false;
            }
        }
    }

    fn live_rows_of(&self, view: &View, field: usize, chunk: u32) -> usize {
        let table = &view.fields[field];
        chunk_range(table, chunk).filter(|&row| table.alive(row, view.op)).count()
    }
}

/// Full chunks, still there, of which the configured share is dead.
fn worn_chunks(table: &FieldTable, op: u64) -> Vec<WornChunk> {
    let rows = table.rows.chunk_rows();
    // Most of the time nearly everything is alive: then no chunk can be worn.
    if u64::from(table.len()) - table.live() < u64::from(rows / EMPTIED_SHARE).max(1) {
        return Vec::new();
    }
    let count = |chunk: u32| {
        let live = chunk_range(table, chunk).filter(|&row| table.alive(row, op)).count() as u32;
        WornChunk { chunk, live }
    };
    (0..table.len() / rows)
        .filter(|chunk| table.rows.holds(chunk * rows))
        .map(count)
        .filter(|worn| (rows - worn.live) * EMPTIED_SHARE >= rows)
        .collect()
}

fn chunk_range(table: &FieldTable, chunk: u32) -> Range<u32> {
    let rows = table.rows.chunk_rows();
    chunk * rows..(chunk + 1) * rows
}

impl Head {
    /// Moves some live rows of a chunk to the end of their field, as operation `op`. The points stay what they are.
    pub(super) fn move_rows(&mut self, op: u64, field: usize, chunk: u32) {
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

    fn move_vector(&mut self, op: u64, field: usize, first: u32, bytes: &mut Vec<u8>) {
        let arena = &mut self.fields[field];
        let owner = arena.owner(first);
        let Some(point) = self.state.points.get_mut(owner as usize) else { return };
        arena.copy(first, bytes);
        point.rows.set(field, arena.push(bytes, owner));
        self.kill(op, field as u16, first);
    }
}
