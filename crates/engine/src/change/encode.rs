//! Changes to the bytes of a log record.

use super::{Change, FieldVector, PayloadEdit, Skipped};
use crate::allocator::reserve_or_unwind;
use crate::faults::PlantedFault;
use crate::payload::JsonPath;
use crate::types::{OpNumber, PointId};
use crate::vectors::{MultiVector, SparseVector, VectorValue};

/// Encodes the body of a record: the operation number, then the changes.
pub fn encode(op: OpNumber, changes: &[Change], out: &mut Vec<u8>) {
    // An upsert of many points is a megabyte: growing step by step would copy it several times.
    reserve_or_unwind(out, changes.iter().map(usual_len).sum());
    out.extend_from_slice(&op.get().to_le_bytes());
    put_len(out, changes.len());
    for change in changes {
        put_change(change, out);
    }
}

/// Appends a change of points.
fn put_change(change: &Change, out: &mut Vec<u8>) {
    match change {
        Change::Put { id, vectors, payload } => {
            out.push(if all_dense(vectors) { 1 } else { 9 });
            put_id(out, id);
            put_vectors(out, vectors);
            put_bytes(out, payload);
        }
        Change::Delete(ids) => {
            out.push(2);
            put_ids(out, ids);
        }
        Change::SetVectors { id, vectors } => {
            out.push(if all_dense(vectors) { 3 } else { 10 });
            put_id(out, id);
            put_vectors(out, vectors);
        }
        Change::DropVectors { fields, ids } => {
            out.push(4);
            put_len(out, fields.len());
            for field in fields {
                out.extend_from_slice(&field.to_le_bytes());
            }
            put_ids(out, ids);
        }
        Change::EditPayload { edit, ids } => {
            out.push(5);
            put_edit(out, edit);
            put_ids(out, ids);
        }
        Change::FillVectors { field, vectors } => {
            out.push(12);
            out.extend_from_slice(&field.to_le_bytes());
            put_len(out, vectors.len());
            for (id, components) in vectors {
                put_id(out, id);
                put_components(out, components);
            }
        }
        _ => put_change_of_collection(change, out),
    }
}

/// Appends a change of the collection, or a note.
fn put_change_of_collection(change: &Change, out: &mut Vec<u8>) {
    match change {
        Change::CreateIndex { path, schema } => {
            out.push(6);
            put_bytes(out, path.to_string().as_bytes());
            put_bytes(out, schema);
        }
        Change::DropIndex(path) => {
            out.push(7);
            put_bytes(out, path.to_string().as_bytes());
        }
        Change::SetConfig(config) => {
            out.push(8);
            put_bytes(out, config);
        }
        Change::Skipped(skipped) => {
            out.push(20);
            put_skipped(out, skipped);
        }
        Change::SetFields(config) => {
            out.push(11);
            put_bytes(out, config);
        }
        Change::After(operation) => {
            out.push(21);
            out.extend_from_slice(&operation.get().to_le_bytes());
        }
        Change::Put { .. }
        | Change::Delete(_)
        | Change::SetVectors { .. }
        | Change::DropVectors { .. }
        | Change::EditPayload { .. }
        | Change::FillVectors { .. } => unreachable!("a change of points"),
    }
}

/// About as many bytes as a change is encoded in, where that is many.
fn usual_len(change: &Change) -> usize {
    /// What surrounds a vector, a payload, and the rest of a change.
    const AROUND: usize = 32;
    match change {
        Change::Put { vectors, payload, .. } => {
            let vectors = vectors.iter().map(|(_, vector)| AROUND + vector.bytes());
            AROUND + vectors.sum::<usize>() + payload.len()
        }
        Change::FillVectors { vectors, .. } => {
            vectors.iter().map(|(_, components)| AROUND + 4 * components.len()).sum()
        }
        _ => AROUND,
    }
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    let len = u32::try_from(len).expect("a request is bounded far below 2^32 items");
    out.extend_from_slice(&len.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    reserve_or_unwind(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// The most bytes of an id that is no string.
const MAX_ID_LEN: usize = 17;

/// Appends an id: one byte of kind, then 8 or 16 bytes, or of a string its length in 2 bytes and its bytes.
pub(crate) fn put_id(out: &mut Vec<u8>, id: &PointId) {
    match id {
        PointId::Num(number) => {
            out.push(0);
            out.extend_from_slice(&number.to_le_bytes());
        }
        PointId::Uuid(uuid) => {
            out.push(1);
            out.extend_from_slice(&uuid.to_le_bytes());
        }
        PointId::Text(text) => {
            let (start, rest) = text.parts();
            let rest = PlantedFault::LongIdsCut.forgets(rest);
            out.push(2);
            out.extend_from_slice(&((start.len() + rest.len()) as u16).to_le_bytes());
            out.extend_from_slice(start);
            out.extend_from_slice(rest);
        }
    }
}

/// Appends which points an update left alone.
pub(crate) fn put_skipped(out: &mut Vec<u8>, skipped: &Skipped) {
    out.extend_from_slice(&skipped.at.to_le_bytes());
    out.extend_from_slice(&skipped.count.to_le_bytes());
    put_ids(out, &skipped.ids);
}

fn put_ids(out: &mut Vec<u8>, ids: &[PointId]) {
    put_len(out, ids.len());
    reserve_or_unwind(out, ids.len() * MAX_ID_LEN);
    for id in ids {
        put_id(out, id);
    }
}

/// Whether the vectors are written without their kinds, as every record of the first release is.
fn all_dense(vectors: &[FieldVector]) -> bool {
    vectors.iter().all(|(_, vector)| matches!(vector, VectorValue::Dense(_)))
}

fn put_vectors(out: &mut Vec<u8>, vectors: &[FieldVector]) {
    let with_kinds = !all_dense(vectors);
    put_len(out, vectors.len());
    for (field, vector) in vectors {
        out.extend_from_slice(&field.to_le_bytes());
        if with_kinds {
            out.push(match vector {
                VectorValue::Dense(_) => 0,
                VectorValue::Sparse(_) => 1,
                VectorValue::Multi(_) => 2,
            });
        }
        match vector {
            VectorValue::Dense(components) => put_components(out, components),
            VectorValue::Sparse(SparseVector { indices, values }) => {
                put_len(out, indices.len());
                reserve_or_unwind(out, indices.len() * 8);
                indices.iter().for_each(|index| out.extend_from_slice(&index.to_le_bytes()));
                values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
            }
            VectorValue::Multi(MultiVector { dim, components }) => {
                put_len(out, *dim);
                put_components(out, components);
            }
        }
    }
}

fn put_components(out: &mut Vec<u8>, components: &[f32]) {
    put_len(out, components.len());
    reserve_or_unwind(out, components.len() * 4);
    for component in components {
        out.extend_from_slice(&component.to_le_bytes());
    }
}

fn put_path(out: &mut Vec<u8>, path: Option<&JsonPath>) {
    match path {
        None => out.push(0),
        Some(path) => {
            out.push(1);
            put_bytes(out, path.to_string().as_bytes());
        }
    }
}

fn put_edit(out: &mut Vec<u8>, edit: &PayloadEdit) {
    match edit {
        PayloadEdit::Merge { patch, at } => {
            out.push(1);
            put_bytes(out, patch);
            put_path(out, at.as_ref());
        }
        PayloadEdit::Overwrite { payload, at } => {
            out.push(2);
            put_bytes(out, payload);
            put_path(out, at.as_ref());
        }
        PayloadEdit::Remove(keys) => {
            out.push(3);
            put_len(out, keys.len());
            for key in keys {
                put_bytes(out, key.to_string().as_bytes());
            }
        }
        PayloadEdit::Clear => out.push(4),
    }
}
