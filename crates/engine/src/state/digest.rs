//! Digests of the logical state of a collection, and of its points.

use super::{PointRef, View};
use crate::allocator::reserve_or_unwind;
use crate::change::{Skipped, put_id};
use crate::types::{PointId, Row};
use crate::vectors::VectorValue;
use twox_hash::XxHash3_128;

impl View {
    /// A digest of all that clients and replay can tell two states apart by: number of the last operation,
    /// configuration, declared field indexes, the operations that came with an identity, and of each point id, version,
    /// payload and vectors. How it is laid out
    /// in memory and on the disk, and what is derived from it, does not matter: equal states have equal digests in
    /// every process and after every restart.
    ///
    /// FNV-1a of 128 bits (draft-eastlake-fnv) over the parts, each with its length before it.
    pub fn digest(&self) -> u128 {
        let mut digest = Fnv::new();
        digest.add(&self.op.get().to_le_bytes());
        digest.add(self.state.config.to_json().as_ref());
        digest.add(&(self.state.indexes.len() as u64).to_le_bytes());
        for index in self.state.indexes.iter() {
            let mut schema = Vec::new();
            index.schema().write_json(&mut schema);
            digest.add(index.path().to_string().as_bytes());
            digest.add(&schema);
        }
        for (id, number) in self.state.operations.iter() {
            digest.add(&id.get().to_le_bytes());
            digest.add(&number.to_le_bytes());
        }
        for (id, skipped) in self.state.operations.skipping() {
            digest.add(&id.get().to_le_bytes());
            for Skipped { at, count, ids } in skipped.iter() {
                digest.add(&at.to_le_bytes());
                digest.add(&count.to_le_bytes());
                ids.iter().for_each(|id| digest.add(id.to_string().as_bytes()));
            }
        }
        for offset in self.state.indexed_offsets_from(&PointId::Num(0)) {
            let point = self.state.at(offset);
            match &*point.id() {
                PointId::Num(number) => digest.add(&number.to_le_bytes()),
                PointId::Uuid(uuid) => digest.add(&uuid.to_le_bytes()),
                PointId::Text(text) => {
                    // An integer has the bytes of some string.
                    digest.add(b"string");
                    text.with_str(|text| digest.add(text.as_bytes()));
                }
            }
            digest.add(&point.version().get().to_le_bytes());
            digest.add(point.document());
            for position in 0..self.fields.len() + self.sparse.len() {
                digest.add_vector(self.vector(point, position).as_ref());
            }
        }
        digest.0
    }
}

/// Makes digests of the points of a view.
pub struct PointDigester<'v> {
    view: &'v View,
    /// Position and name of each vector field that clients have declared.
    fields: Vec<(usize, &'v str)>,
    components: Vec<f32>,
    /// What the digest of a point is of.
    parts: Vec<u8>,
}

impl<'v> PointDigester<'v> {
    /// Of the points of this view.
    pub fn of(view: &'v View) -> PointDigester<'v> {
        let config = &view.state.config;
        let fields = config.declared_positions().map(|position| (position, config.name_at(position)));
        PointDigester { view, fields: fields.collect(), components: Vec::new(), parts: Vec::new() }
    }

    /// XXH3 of 128 bits over a point's id, version, payload and vectors, the vectors as clients read them back. Replicas of
    /// different releases are compared by it, so it never changes.
    pub fn digest(&mut self, point: PointRef<'_>) -> u128 {
        self.parts.clear();
        put_id(&mut self.parts, &point.id());
        self.parts.extend_from_slice(&point.version().get().to_le_bytes());
        put(&mut self.parts, point.document());
        for at in 0..self.fields.len() {
            let (position, name) = self.fields[at];
            if let Some(row) = point.row(position) {
                put(&mut self.parts, name.as_bytes());
                self.put_vector(position, row);
            }
        }
        XxHash3_128::oneshot(&self.parts)
    }

    fn put_vector(&mut self, position: usize, row: Row) {
        if let Some(table) = self.view.fields.get(position) {
            self.components.clear();
            table.read_back(row, &mut self.components);
            return put_words(&mut self.parts, self.components.iter().map(|one| one.to_le_bytes()));
        }
        let vector = self.view.sparse[position - self.view.fields.len()].vector(row);
        put_words(&mut self.parts, vector.indices.iter().map(|index| index.to_le_bytes()));
        put_words(&mut self.parts, vector.values.iter().map(|value| value.to_le_bytes()));
    }
}

/// Appends a length and so many bytes.
fn put(parts: &mut Vec<u8>, bytes: &[u8]) {
    parts.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    reserve_or_unwind(parts, bytes.len());
    parts.extend_from_slice(bytes);
}

/// Appends a count and so many words.
fn put_words(parts: &mut Vec<u8>, words: impl ExactSizeIterator<Item = [u8; 4]>) {
    parts.extend_from_slice(&(words.len() as u64).to_le_bytes());
    reserve_or_unwind(parts, 4 * words.len());
    words.for_each(|word| parts.extend_from_slice(&word));
}

struct Fnv(u128);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        const PRIME: u128 = (1 << 88) + 0x13b;
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    fn add(&mut self, part: &[u8]) {
        self.bytes(&(part.len() as u64).to_le_bytes());
        self.bytes(part);
    }

    fn add_vector(&mut self, vector: Option<&VectorValue>) {
        let mut words = |kind: u8, of: &[u32]| {
            self.bytes(&[kind]);
            self.bytes(&(of.len() as u64).to_le_bytes());
            of.iter().for_each(|word| self.bytes(&word.to_le_bytes()));
        };
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        match vector {
            None => words(0, &[]),
            Some(VectorValue::Dense(components)) => words(1, &bits(components)),
            Some(VectorValue::Multi(multi)) => {
                words(2, &[multi.dim as u32]);
                words(2, &bits(&multi.components));
            }
            Some(VectorValue::Sparse(sparse)) => {
                words(3, &sparse.indices);
                words(3, &bits(&sparse.values));
            }
        }
    }
}
