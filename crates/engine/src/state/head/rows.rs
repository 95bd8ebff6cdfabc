//! Rows of the head's points: written, ended, moved, and taken from a checkpoint.

use super::Head;
use crate::state::point::{NO_ROW, Point};
use crate::storage::Map;
use crate::types::{OpNumber, PointOffset};
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
    pub fn holds_loaded(&self, position: usize, row: u32, owner: u32) -> bool {
        match position.checked_sub(self.fields.len()) {
            None => self.fields[position].holds(row, owner),
            Some(sparse) => self.sparse[sparse].holds(row),
        }
    }

    /// Lets a vector live that a checkpoint has and whose first row the point at offset `owner` names. Returns whether
    /// there is such a one: a dropped chunk has none that lives.
    pub fn revive_loaded(&mut self, position: usize, row: u32, owner: u32) -> bool {
        if !self.holds_loaded(position, row, owner) {
            return false;
        }
        match position.checked_sub(self.fields.len()) {
            None => self.fields[position].revive(row),
            Some(sparse) => self.sparse[sparse].revive(row),
        }
        true
    }

    /// Lets readers take the rows of a full chunk from a map, where they begin at `offset`. Returns whether the chunk is
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

    /// Lets the vector that begins at a row die with operation `op`.
    fn kill(&mut self, op: OpNumber, field: u16, row: u32) {
        let at = usize::from(field);
        match at.checked_sub(self.fields.len()) {
            None => self.fields[at].kill(row, op),
            Some(sparse) => self.sparse[sparse].kill(row, op),
        }
        self.deaths.push_back((op, field, row));
    }

    /// Moves some live rows of a chunk to the end of their field, as operation `op`. The points stay what they are.
    pub fn move_rows(&mut self, op: OpNumber, field: usize, chunk: u32) {
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

    fn move_sparse_rows(&mut self, op: OpNumber, position: usize, sparse: usize, chunk: u32) {
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

    fn move_vector(&mut self, op: OpNumber, field: usize, first: u32, bytes: &mut Vec<u8>) {
        let arena = &mut self.fields[field];
        let owner = arena.owner(first);
        let Some(point) = self.state.points.get_mut(owner as usize) else { return };
        arena.copy(first, bytes);
        point.rows.set(field, arena.push(bytes, owner));
        self.kill(op, field as u16, first);
    }
}
