//! The writer's private head: the state after every operation accepted so far, synced or not.
//!
//! Operations resolve against the head, so that each sees the ones before it. Readers never see the head, only
//! views of it that the log has made durable. What is not durable after all is taken back by
//! [`Head::restore`].

use super::change::{Change, FieldVector};
use super::checkpoint::sparse_file;
use super::declared_index::DeclaredIndex;
use super::edited_payloads::EditedPayloads;
use super::editing::Editing;
use super::point::{NO_ROW, Payload, Point, Rows};
use super::state::State;
use super::view::View;
use crate::config::CollectionConfig;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::field::sparse_table::{SparseArena, SparseMark};
use crate::field::table::{FieldArena, FieldCounts};
use crate::payload::edit::EditError;
use crate::storage::Map;
use crate::types::{PointId, PointOffset};
use crate::vectors::VectorValue;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Room for so many deaths is kept when all of them are settled.
const KEPT_DEATHS: usize = 1 << 16;

/// A vector that died and may have to live again: operation, field, first row.
type Death = (u64, u16, u32);

/// See the module.
pub struct Head {
    /// Points, ids, field indexes.
    pub state: State,
    /// Vector fields in the order of the configuration.
    pub fields: Vec<FieldArena>,
    /// Sparse fields in theirs; their positions follow those of `fields`.
    pub sparse: Vec<SparseArena>,
    /// The last operation applied; 0 before the first.
    pub op: u64,
    /// Deaths that a restore may have to take back, oldest first.
    deaths: VecDeque<Death>,
    /// Where payloads came from that were edited since a checkpoint looked.
    pub(super) edited: EditedPayloads,
    /// The row that is being written.
    scratch: Vec<u8>,
}

/// What a request may cost while it is applied.
pub struct Allowance<'d> {
    /// Bytes that its edits may add to payloads, so that a short record cannot make more of them than memory holds;
    /// `None` for what was accepted before.
    most_added: Option<u64>,
    added: u64,
    pace: Pace<'d>,
}

impl<'d> Allowance<'d> {
    /// No bounds: for what was accepted before.
    pub fn unbounded() -> Allowance<'static> {
        Allowance { most_added: None, added: 0, pace: Pace::unhurried() }
    }

    /// So many bytes, and until then.
    pub fn new(most_added: u64, deadline: &'d Deadline) -> Allowance<'d> {
        Allowance { most_added: Some(most_added), added: 0, pace: Pace::new(deadline, 1) }
    }

    fn grow(&mut self, bytes: u64) -> Result<(), Unapplied> {
        self.added += bytes;
        match self.most_added {
            Some(most) if self.added > most => Err(Unapplied::Refused(format!(
                "payloads would grow by more than {most} bytes: touch fewer points at a time"
            ))),
            _ => Ok(()),
        }
    }
}

/// Why a change was not applied, or only in part.
#[derive(Debug)]
pub enum Unapplied {
    /// The request is at fault; a sentence.
    Refused(String),
    /// The request was given up.
    GivenUp(Error),
}

impl From<EditError> for Unapplied {
    fn from(error: EditError) -> Unapplied {
        match error {
            EditError::GivenUp(error) => Unapplied::GivenUp(error),
            refused => Unapplied::Refused(refused.to_string()),
        }
    }
}

impl From<Error> for Unapplied {
    fn from(error: Error) -> Unapplied {
        Unapplied::GivenUp(error)
    }
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
        Head { state, fields, sparse, op: 0, deaths, edited, scratch }
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

    /// A view of the head as it is. `lsn` is the log sequence of its last record.
    pub fn view(&self, lsn: u64) -> View {
        View {
            op: self.op,
            lsn,
            state: self.state.clone(),
            fields: self.fields.iter().map(FieldArena::table).collect(),
            sparse: self.sparse.iter().map(SparseArena::table).collect(),
        }
    }

    /// Goes back to a view: everything after it was never durable.
    pub fn restore(&mut self, view: &View) {
        while self.deaths.back().is_some_and(|(op, ..)| *op > view.op) {
            self.take_back_last_death();
        }
        for (arena, table) in self.fields.iter_mut().zip(view.fields.iter()) {
            arena.truncate(table.counts());
        }
        for (arena, table) in self.sparse.iter_mut().zip(view.sparse.iter()) {
            arena.go_back(table.mark());
        }
        self.state = view.state.clone();
        self.op = view.op;
    }

    /// Forgets the deaths up to an operation that is durable.
    pub fn settle(&mut self, op: u64) {
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
        while self.deaths.len() > savepoint.deaths {
            self.take_back_last_death();
        }
        for (arena, counts) in self.fields.iter_mut().zip(savepoint.counts) {
            arena.truncate(counts);
        }
        for (arena, mark) in self.sparse.iter_mut().zip(savepoint.sparse) {
            arena.go_back(mark);
        }
        self.state = savepoint.state;
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

    /// Applies one change that was accepted before, as part of operation `op`.
    ///
    /// # Errors
    /// A sentence, where the change is not one that was logged.
    pub fn apply(&mut self, op: u64, change: &Change) -> Result<(), String> {
        self.apply_within(op, change, &mut Allowance::unbounded()).map_err(|why| match why {
            Unapplied::Refused(why) => why,
            Unapplied::GivenUp(error) => error.to_string(),
        })
    }

    /// Applies one change as part of operation `op`.
    ///
    /// # Errors
    /// [`Unapplied`]: a payload edit would nest too deep or add more than is allowed, or the request is given up. Nothing
    /// else of a resolved change can fail.
    pub fn apply_within(
        &mut self,
        op: u64,
        change: &Change,
        allowance: &mut Allowance<'_>,
    ) -> Result<(), Unapplied> {
        match change {
            Change::Put { id, vectors, payload } => self.put(op, *id, vectors, payload),
            Change::Delete(ids) => {
                for &id in ids {
                    self.delete(op, id);
                }
            }
            Change::SetVectors { id, vectors } => {
                if let Some((offset, mut point)) = self.take(*id) {
                    for (field, vector) in vectors {
                        self.set_row(op, offset, &mut point, *field, Some(vector));
                    }
                    self.write_back(op, offset, point);
                }
            }
            Change::DropVectors { fields, ids } => {
                for &id in ids {
                    if let Some((offset, mut point)) = self.take(id) {
                        for &field in fields {
                            self.set_row(op, offset, &mut point, field, None);
                        }
                        self.write_back(op, offset, point);
                    }
                }
            }
            Change::EditPayload { edit, ids } => {
                let editing = Editing::new(edit);
                self.refuse_certain_growth(&editing, ids, allowance)?;
                for &id in ids {
                    self.edit_payload(op, id, &editing, allowance)?;
                }
            }
            Change::CreateIndex { path, schema } => {
                let index = DeclaredIndex::restore(path.clone(), schema).map_err(Unapplied::Refused)?;
                let indexes = Arc::make_mut(&mut self.state.indexes);
                indexes.retain(|index| index.path() != path);
                indexes.push(index);
            }
            Change::DropIndex(path) => {
                Arc::make_mut(&mut self.state.indexes).retain(|index| index.path() != path)
            }
            Change::SetConfig(json) => {
                let config =
                    CollectionConfig::restore(json).map_err(|error| Unapplied::Refused(error.to_string()))?;
                self.state.config = Arc::new(config);
            }
        }
        Ok(())
    }

    fn put(&mut self, op: u64, id: PointId, vectors: &[FieldVector], payload: &[u8]) {
        let (offset, mut point) = match self.take(id) {
            Some((offset, point)) => {
                self.reindex(offset, Some(point.payload.bytes()), Some(payload));
                (offset, point)
            }
            None => {
                let rows = Rows::none(usize::from(self.positions()));
                let point = Point { id, version: op, live: true, payload: Payload::Empty, rows };
                let offset = self.state.add(id, point.clone());
                self.reindex(offset, None, Some(payload));
                (offset, point)
            }
        };
        for field in 0..self.positions() {
            let vector = vectors.iter().find(|(at, _)| *at == field).map(|(_, vector)| vector);
            self.set_row(op, offset, &mut point, field, vector);
        }
        point.payload = Payload::new(payload);
        self.write_back(op, offset, point);
    }

    fn delete(&mut self, op: u64, id: PointId) {
        let Some((offset, mut point)) = self.take(id) else { return };
        self.reindex(offset, Some(point.payload.bytes()), None);
        for field in 0..self.positions() {
            self.set_row(op, offset, &mut point, field, None);
        }
        self.state.remove(id, offset);
        point.live = false;
        point.payload = Payload::Empty;
        self.write_back(op, offset, point);
    }

    /// Gives the point a vector in a field, or none. A vector equal to the one in place keeps its row, so that a
    /// change of payload alone leaves the graph alone.
    fn set_row(
        &mut self,
        op: u64,
        offset: PointOffset,
        point: &mut Point,
        field: u16,
        vector: Option<&VectorValue>,
    ) {
        let at = usize::from(field);
        let old = point.rows.row(at);
        self.scratch.clear();
        if let Some(vector) = vector {
            self.encode(at, vector);
            if old.is_some_and(|old| self.holds_same(at, old)) {
                return;
            }
        }
        if let Some(old) = old {
            self.kill(op, field, old);
        }
        let row = match (vector, at.checked_sub(self.fields.len())) {
            (None, _) => NO_ROW,
            (Some(_), None) => self.fields[at].push(&self.scratch, offset.get()),
            (Some(_), Some(sparse)) => self.sparse[sparse].push(&self.scratch, offset.get()),
        };
        point.rows.set(at, row);
    }

    /// Puts the row of a vector, or its rows, into the scratch. A change was resolved for its field: its kind is the field's.
    fn encode(&mut self, position: usize, vector: &VectorValue) {
        match vector {
            VectorValue::Dense(components) => {
                self.fields[position].format().encode(components, &mut self.scratch);
            }
            VectorValue::Sparse(vector) => {
                let sparse = position - self.fields.len();
                self.sparse[sparse].format().encode(vector, &mut self.scratch);
            }
            VectorValue::Multi(vector) => {
                let format = self.fields[position].format();
                vector.rows().for_each(|row| format.encode(row, &mut self.scratch));
            }
        }
    }

    /// Whether the vector that begins at a row of the field at a position is what the scratch holds.
    fn holds_same(&self, position: usize, row: u32) -> bool {
        match position.checked_sub(self.fields.len()) {
            None => self.fields[position].holds_same(row, &self.scratch),
            Some(sparse) => self.sparse[sparse].row(row) == self.scratch,
        }
    }

    /// Whether a checkpoint has the vector whose first row the point at offset `owner` names.
    pub(super) fn holds_loaded(&self, position: usize, row: u32, owner: u32) -> bool {
        match position.checked_sub(self.fields.len()) {
            None => self.fields[position].holds(row, owner),
            Some(sparse) => self.sparse[sparse].holds(row),
        }
    }

    /// Lets a vector live that a checkpoint has and whose first row the point at offset `owner` names. Answers whether
    /// there is such a one: a dropped chunk has none that lives.
    pub(super) fn revive_loaded(&mut self, position: usize, row: u32, owner: u32) -> bool {
        if !self.holds_loaded(position, row, owner) {
            return false;
        }
        match position.checked_sub(self.fields.len()) {
            None => self.fields[position].revive(row),
            Some(sparse) => self.sparse[sparse].revive(row),
        }
        true
    }

    /// Lets readers take the rows of a chunk from the extent at `offset` of a map. Answers whether the chunk is there.
    pub(super) fn seal(&mut self, position: usize, chunk: u32, map: &Map, offset: u64) -> bool {
        match position.checked_sub(self.fields.len()) {
            None => {
                let arena = &mut self.fields[position];
                let held = arena.holds_chunk(chunk);
                if held {
                    arena.seal(chunk, map, offset);
                }
                held
            }
            Some(sparse) => {
                let arena = &mut self.sparse[sparse];
                let held = arena.holds_chunk(chunk);
                if held {
                    arena.seal(chunk, map, offset as usize + sparse_file::rows_at(arena.chunk_rows()));
                }
                held
            }
        }
    }

    /// Lets the vector that begins at a row die with operation `op`.
    pub(super) fn kill(&mut self, op: u64, field: u16, row: u32) {
        let at = usize::from(field);
        match at.checked_sub(self.fields.len()) {
            None => self.fields[at].kill(row, op),
            Some(sparse) => self.sparse[sparse].kill(row, op),
        }
        self.deaths.push_back((op, field, row));
    }

    /// Refuses an edit that is certain to add more than is allowed, before it is made.
    fn refuse_certain_growth(
        &self,
        editing: &Editing<'_>,
        ids: &[PointId],
        allowance: &Allowance<'_>,
    ) -> Result<(), Unapplied> {
        let Some(most) = allowance.most_added else { return Ok(()) };
        let least = editing.least_bytes();
        if allowance.added.saturating_add(least.saturating_mul(ids.len() as u64)) <= most {
            return Ok(());
        }
        let mut sure = Allowance { most_added: Some(most), added: allowance.added, pace: Pace::unhurried() };
        // A point that is named twice grows once.
        let mut seen = HashSet::with_capacity(ids.len());
        for id in ids {
            if let Some((_, point)) = self.state.point(*id)
                && seen.insert(id)
            {
                sure.grow(least.saturating_sub(point.payload.bytes().len() as u64))?;
            }
        }
        Ok(())
    }

    fn edit_payload(
        &mut self,
        op: u64,
        id: PointId,
        editing: &Editing<'_>,
        allowance: &mut Allowance<'_>,
    ) -> Result<(), Unapplied> {
        let Some((offset, mut point)) = self.take(id) else { return Ok(()) };
        let before = point.payload.clone();
        if let Payload::Stored(stored) = &before
            && editing.edit.keeps_a_part()
        {
            self.edited.read_from(stored);
        }
        // Each field index looks through the payload that goes and the one that comes.
        let readers = 1 + self.state.indexes.len();
        allowance.pace.step(before.bytes().len() * readers)?;
        if let Some(after) = editing.apply(before.bytes(), &mut allowance.pace)? {
            allowance.grow(after.len().saturating_sub(before.bytes().len()) as u64)?;
            allowance.pace.work(after.len() * readers)?;
            self.reindex(offset, Some(before.bytes()), Some(&after));
            point.payload = Payload::new(&after);
        }
        self.write_back(op, offset, point);
        Ok(())
    }

    fn take(&self, id: PointId) -> Option<(PointOffset, Point)> {
        self.state.point(id).map(|(offset, point)| (offset, point.clone()))
    }

    fn write_back(&mut self, op: u64, offset: PointOffset, mut point: Point) {
        point.version = op;
        self.state.set(offset, point);
    }

    fn reindex(&mut self, offset: PointOffset, before: Option<&[u8]>, after: Option<&[u8]>) {
        if !self.state.indexes.is_empty() {
            for index in Arc::make_mut(&mut self.state.indexes) {
                index.replace(offset, before, after);
            }
        }
    }
}
