//! The writer's private head: the state after every operation accepted so far, synced or not.
//!
//! Operations resolve against the head, so that each sees the ones before it. Readers never see the head, only
//! views of it that the log has made durable. What is not durable after all is taken back by
//! [`Head::restore`].

mod apply;
mod fields;
mod reembedding;
mod rows;

pub use rows::MOVED_BYTES;

use super::edited_payloads::EditedPayloads;
use super::{State, View};
use crate::change::Change;
use crate::config::CollectionConfig;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::field::arena::{FieldArena, FieldCounts};
use crate::field::sparse_table::{SparseArena, SparseMark};
use crate::types::{Lsn, OpNumber, OperationId, Row};
use fields::RemovedField;
use std::collections::VecDeque;
use std::sync::Arc;

/// Capacity for this many deaths is kept when all of them are settled.
const KEPT_DEATHS: usize = 1 << 16;

/// A vector that died and may have to live again: operation, field, first row.
type Death = (OpNumber, u16, Row);

/// The writer's private state of a collection.
pub struct Head {
    /// Points, ids, field indexes.
    pub state: State,
    /// Vector fields in the order of the configuration.
    pub fields: Vec<FieldArena>,
    /// Sparse fields in theirs; their positions follow those of `fields`.
    pub sparse: Vec<SparseArena>,
    /// Fields that were removed, and may have to come back.
    removed: Vec<RemovedField>,
    row_chunk_bytes: usize,
    /// The last operation applied.
    pub op: OpNumber,
    /// Deaths that a restore may have to take back, oldest first.
    deaths: VecDeque<Death>,
    /// Where payloads came from that were edited since a checkpoint looked.
    pub edited: EditedPayloads,
    /// The row that is being written.
    scratch: Vec<u8>,
    /// Vectors are not kept: see [`Head::preview`].
    is_preview: bool,
}

/// Where a request began, so that a failing one leaves nothing behind (C1.7).
pub struct Savepoint {
    state: State,
    counts: Vec<FieldCounts>,
    sparse: Vec<SparseMark>,
    deaths: usize,
}

impl Head {
    /// The head of an empty collection. A full chunk of rows has about `row_chunk_bytes`.
    pub fn new(config: Arc<CollectionConfig>, row_chunk_bytes: usize) -> Head {
        let fields =
            config.fields().iter().map(|(_, params)| FieldArena::new(params, row_chunk_bytes)).collect();
        let sparse = config.sparse_fields().iter();
        let sparse = sparse.map(|(_, params)| SparseArena::new(params, row_chunk_bytes)).collect();
        let (deaths, scratch) = (VecDeque::new(), Vec::new());
        let edited = EditedPayloads::default();
        let state = State::new(config);
        Head {
            state,
            fields,
            sparse,
            removed: Vec::new(),
            row_chunk_bytes,
            op: OpNumber::NONE,
            deaths,
            edited,
            scratch,
            is_preview: false,
        }
    }

    /// A private copy of a view, to find out what changes lead to. All that a filter sees is as in the head; of a vector
    /// only its existence is kept, because only the writer may append rows.
    pub fn preview(view: &View) -> Head {
        Head {
            state: view.state.clone(),
            fields: Vec::new(),
            sparse: Vec::new(),
            removed: Vec::new(),
            row_chunk_bytes: 0,
            op: view.op,
            deaths: VecDeque::new(),
            edited: EditedPayloads::default(),
            scratch: Vec::new(),
            is_preview: true,
        }
    }

    /// Positions of fields of every kind.
    fn positions(&self) -> u16 {
        u16::try_from(self.state.config.positions()).expect("named vectors are limited far below 2^16")
    }

    /// Whether every field has numbers left for the rows of another request.
    ///
    /// # Errors
    /// `Internal`, which says what to do, for a field with more rows than that.
    pub fn admit_rows(&self, most: u32) -> Result<(), Error> {
        let dense = self.fields.iter().map(FieldArena::len);
        let mut rows = dense.chain(self.sparse.iter().map(SparseArena::len));
        match rows.position(|rows| rows > most) {
            None => Ok(()),
            Some(field) => Err(Error::Internal(format!(
                "vector '{}': {most} rows were written, and there are no numbers for more: copy the points into a new \
                 collection (scroll, upsert) and delete this one",
                self.state.config.name_at(field)
            ))),
        }
    }

    /// A view of the head as it is. `lsn` is that of its last record.
    pub fn view(&self, lsn: Lsn) -> View {
        View {
            op: self.op,
            lsn,
            state: self.state.clone(),
            fields: self.fields.iter().map(FieldArena::table).collect(),
            sparse: self.sparse.iter().map(SparseArena::table).collect(),
        }
    }

    /// Takes note of the identity that came with the call of the last operation applied, and of what its changes say that
    /// it skipped.
    pub fn note(&mut self, operation: Option<OperationId>, changes: &[Change]) {
        let Some(id) = operation else { return };
        self.state.operations.note(id, self.op.get());
        let skipped = changes.iter().filter_map(|change| match change {
            Change::Skipped(skipped) => Some(skipped.clone()),
            _ => None,
        });
        self.state.operations.note_skipped(id, skipped.collect());
    }

    /// Goes back to a view: everything after it was never durable.
    pub fn restore(&mut self, view: &View) {
        let stays = PlantedFault::RefusedGroupLeavesDeaths.is_on();
        while self.deaths.back().is_some_and(|(op, ..)| *op > view.op && !stays) {
            self.take_back_last_death();
        }
        self.arrange(&view.state.config);
        // Before anything that may find no memory: the next attempt finds the fields as this configuration has them.
        self.state = view.state.clone();
        for (arena, table) in self.fields.iter_mut().zip(view.fields.iter()) {
            arena.truncate(table.counts());
        }
        for (arena, table) in self.sparse.iter_mut().zip(view.sparse.iter()) {
            arena.go_back(table.mark());
        }
        self.op = view.op;
    }

    /// Drops the recorded deaths and removed fields up to an operation that is durable.
    pub fn settle(&mut self, op: OpNumber) {
        self.removed.retain(|field| field.op > op);
        while self.deaths.front().is_some_and(|(died, ..)| *died <= op) {
            self.deaths.pop_front();
        }
        if self.deaths.is_empty() && self.deaths.capacity() > KEPT_DEATHS {
            // A deletion of millions has come and gone.
            self.deaths = VecDeque::new();
        }
    }

    /// Rows of all dense fields, dead ones included.
    pub fn rows(&self) -> u64 {
        self.fields.iter().map(|arena| u64::from(arena.len())).sum()
    }

    /// Marks the place to come back to.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            state: self.state.clone(),
            counts: self.fields.iter().map(FieldArena::counts).collect(),
            sparse: self.sparse.iter().map(SparseArena::mark).collect(),
            deaths: self.deaths.len(),
        }
    }

    /// Comes back to a savepoint of the operation being applied.
    pub fn roll_back(&mut self, savepoint: Savepoint) {
        while self.deaths.len() > savepoint.deaths && !PlantedFault::RefusedRequestLeavesDeaths.is_on() {
            self.take_back_last_death();
        }
        self.arrange(&savepoint.state.config);
        self.state = savepoint.state;
        for (arena, counts) in self.fields.iter_mut().zip(savepoint.counts) {
            arena.truncate(counts);
        }
        let stays = PlantedFault::RefusedRequestLeavesPostings.is_on();
        for (arena, mark) in self.sparse.iter_mut().zip(savepoint.sparse).filter(|_| !stays) {
            arena.go_back(mark);
        }
    }

    fn take_back_last_death(&mut self) {
        if let Some((_, field, row)) = self.deaths.pop_back() {
            let at = usize::from(field);
            match at.checked_sub(self.fields.len()) {
                None => self.fields[at].revive(row),
                Some(sparse) => self.sparse[sparse].revive(row),
            }
        }
    }
}
