//! One number for the logical state of a collection.

use super::View;
use crate::change::Skipped;
use crate::types::PointId;
use crate::vectors::VectorValue;

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
            match &point.id {
                PointId::Num(number) => digest.add(&number.to_le_bytes()),
                PointId::Uuid(uuid) => digest.add(&uuid.to_le_bytes()),
                PointId::Text(text) => {
                    // An integer has the bytes of some string.
                    digest.add(b"string");
                    text.with_str(|text| digest.add(text.as_bytes()));
                }
            }
            digest.add(&point.version.get().to_le_bytes());
            digest.add(point.payload.bytes());
            for position in 0..self.fields.len() + self.sparse.len() {
                digest.add_vector(self.vector(point, position).as_ref());
            }
        }
        digest.0
    }
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
