//! Rows of the head's points: writing, deaths, moves, and loading from a checkpoint.

use super::Head;
use crate::faults::PlantedFault;
use crate::state::point::{NO_ROW, Point};
use crate::storage::Map;
use crate::types::{OpNumber, PointOffset, Row, RowRange};
use crate::vectors::VectorValue;

/// Rows that one operation moves at most, if they have no more bytes than [`MOVED_BYTES`]. A write that waits for it
/// waits well below a millisecond.
const MOVED_ROWS: usize = 256;
/// Bytes of rows that one operation moves at most; one vector is always moved.
pub const MOVED_BYTES: usize = 1 << 20;

impl Head {
    /// Gives the point a vector in a field, or none. A vector equal to the one in place keeps its row, so that a
    /// change of payload alone leaves the graph alone.
    pub(super) fn set_row(
        &mut self,
        op: OpNumber,
        offset: PointOffset,
        point: &mut Point,
        field: u16,
        vector: Option<&VectorValue>,
    ) {
        let at = usize::from(field);
        if self.is_preview {
            return point.rows.set(at, vector.map_or(NO_ROW, |_| Row::FIRST));
        }
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
            (Some(_), None) => self.fields[at].push(&self.scratch, offset),
            (Some(_), Some(sparse)) => self.sparse[sparse].push(&self.scratch, offset),
        };
        point.rows.set(at, row);
    }

    /// Writes the row of a vector, or its rows, to the scratch. The vector is of the kind of its field, because the change was
    /// resolved.
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
    fn holds_same(&self, position: usize, row: Row) -> bool {
        match position.checked_sub(self.fields.len()) {
            None => self.fields[position].holds_same(row, &self.scratch),
            Some(sparse) => self.sparse[sparse].row(row) == self.scratch,
        }
    }

    /// Whether a checkpoint has the vector whose first row the point at offset `owner` names.
    pub fn holds_loaded(&self, position: usize, row: Row, owner: PointOffset) -> bool {
        match position.checked_sub(self.fields.len()) {
            None => self.fields[position].holds(row, owner),
            Some(sparse) => self.sparse[sparse].holds(row),
        }
    }

    /// Makes the vector of a checkpoint alive whose first row the point at offset `owner` names. Returns false when there is no
    /// such vector; a dropped chunk has none.
    pub fn revive_loaded(&mut self, position: usize, row: Row, owner: PointOffset) -> bool {
        if !self.holds_loaded(position, row, owner) {
            return false;
        }
        match position.checked_sub(self.fields.len()) {
            None => self.fields[position].revive(row),
            Some(sparse) => self.sparse[sparse].revive(row),
        }
        true
    }

    /// Makes readers read the rows of a full chunk from a map, where they begin at byte `offset`. Returns whether the chunk is
    /// still held.
    pub fn seal(&mut self, position: usize, chunk: u32, map: &Map, offset: u64) -> bool {
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
                    arena.seal(chunk, map, offset as usize);
                }
                held
            }
        }
    }

    /// Marks the vector that begins at a row dead from operation `op` on.
    fn kill(&mut self, op: OpNumber, field: u16, row: Row) {
        let at = usize::from(field);
        match at.checked_sub(self.fields.len()) {
            None => self.fields[at].kill(row, op),
            Some(sparse) => self.sparse[sparse].kill(row, op),
        }
        self.deaths.push_back((op, field, row));
    }

    /// Moves some live rows of a chunk to the end of their field, as operation `op`. The points do not change.
    pub fn move_rows(&mut self, op: OpNumber, field: usize, chunk: u32) {
        if let Some(sparse) = field.checked_sub(self.fields.len()) {
            return self.move_sparse_rows(op, field, sparse, chunk);
        }
        let arena = &self.fields[field];
        let chunk = RowRange::of_chunk(chunk, arena.chunk_rows()).before(arena.end());
        let most = (MOVED_BYTES / arena.row_bytes()).clamp(1, MOVED_ROWS);
        let mut live = Vec::new();
        let (mut row, mut taken) = (chunk.start, 0);
        while row < chunk.end && taken < most {
            if !arena.is_alive(row) {
                row = row.plus(1);
                continue;
            }
            // All rows of a vector are moved, also those in other chunks.
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

    fn move_sparse_rows(&mut self, op: OpNumber, position: usize, sparse: usize, chunk: u32) {
        let arena = &self.sparse[sparse];
        let chunk = RowRange::of_chunk(chunk, arena.chunk_rows()).before(Row::new(arena.len()));
        let mut bytes = 0;
        let live: Vec<Row> = chunk
            .iter()
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
            if self.state.points.get(owner).is_none() {
                continue;
            }
            self.state.points.set_row(owner, position, arena.push(&bytes, owner));
            self.kill(op, position as u16, row);
        }
    }

    fn move_vector(&mut self, op: OpNumber, field: usize, first: Row, bytes: &mut Vec<u8>) {
        let arena = &mut self.fields[field];
        let owner = arena.owner(first);
        if self.state.points.get(owner).is_none() {
            return;
        }
        arena.copy(first, bytes);
        self.state.points.set_row(owner, field, arena.push(bytes, owner));
        if !PlantedFault::MovedRowStaysAlive.is_on() {
            self.kill(op, field as u16, first);
        }
    }
}
