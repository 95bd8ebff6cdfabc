//! Writing results that sum up points or collections: facets, distance matrices, projections,
//! parts of what is said of a collection.

use super::response::{
    CollectionStatus, write_bool, write_i64, write_id, write_list, write_optimizer_status,
};
use crate::collection::{NextTexts, ReembeddingReport};
use crate::config::fields::ObjectWriter;
use crate::config::{Reembedding, VectorParams};
use crate::json::{write_f32, write_f64, write_string, write_u64};
use crate::query::groups::GroupId;
use crate::query::{FacetHit, FacetValue, MatrixRow, Projection};
use crate::types::{PointId, PointOffset};
use std::borrow::Cow;
use std::collections::HashMap;

/// Appends the result of a facet (C6.8).
pub fn write_facet(out: &mut Vec<u8>, hits: &[FacetHit<'_>]) {
    let mut object = ObjectWriter::start(out);
    write_list(object.key("hits"), hits, |out, (value, count)| {
        let mut hit = ObjectWriter::start(out);
        let key = hit.key("value");
        match value {
            FacetValue::Bool(value) => write_bool(key, *value),
            FacetValue::Integer(integer) => write_i64(key, *integer),
            FacetValue::Text(text) => write_string(key, text),
        }
        write_u64(hit.key("count"), *count);
        hit.end();
    });
    object.end();
}

/// Appends a list of aliases with their collections (C12).
pub fn write_aliases(out: &mut Vec<u8>, aliases: &[(String, String)]) {
    let mut object = ObjectWriter::start(out);
    write_list(object.key("aliases"), aliases, |out, (alias, collection)| {
        let mut entry = ObjectWriter::start(out);
        write_string(entry.key("alias_name"), alias);
        write_string(entry.key("collection_name"), collection);
        entry.end();
    });
    object.end();
}

/// Appends the id of a group (C12).
pub fn write_group_id(out: &mut Vec<u8>, id: &GroupId<'_>) {
    match id {
        GroupId::Integer(integer) => out.extend_from_slice(itoa::Buffer::new().format(*integer).as_bytes()),
        GroupId::Text(text) => write_string(out, text),
    }
}

/// Appends a distance matrix as pairs (C6.9).
pub fn write_matrix_pairs<'p>(
    out: &mut Vec<u8>,
    rows: &[MatrixRow],
    id: impl Fn(PointOffset) -> Cow<'p, PointId>,
) {
    let pairs = rows.iter().flat_map(|(offset, hits)| hits.iter().map(move |hit| (*offset, hit)));
    let mut object = ObjectWriter::start(out);
    write_list(object.key("pairs"), pairs, |out, (offset, hit)| {
        let mut pair = ObjectWriter::start(out);
        write_id(pair.key("a"), &id(offset));
        write_id(pair.key("b"), &id(hit.offset));
        write_f32(pair.key("score"), hit.score);
        pair.end();
    });
    object.end();
}

/// Appends a distance matrix as coordinates of its entries (C6.9).
pub fn write_matrix_offsets<'p>(
    out: &mut Vec<u8>,
    rows: &[MatrixRow],
    id: impl Fn(PointOffset) -> Cow<'p, PointId>,
) {
    let places: HashMap<PointOffset, u64> = rows.iter().map(|(offset, _)| *offset).zip(0..).collect();
    let entries = || (0u64..).zip(rows).flat_map(|(row, (_, hits))| hits.iter().map(move |hit| (row, hit)));
    let mut object = ObjectWriter::start(out);
    write_list(object.key("offsets_row"), entries(), |out, (row, _)| write_u64(out, row));
    write_list(object.key("offsets_col"), entries(), |out, (_, hit)| {
        write_u64(out, places.get(&hit.offset).copied().unwrap_or_default());
    });
    write_list(object.key("scores"), entries(), |out, (_, hit)| write_f32(out, hit.score));
    write_list(object.key("ids"), rows, |out, (offset, _)| write_id(out, &id(*offset)));
    object.end();
}

/// Appends a projection (C6.10).
pub fn write_projection<'p>(
    out: &mut Vec<u8>,
    projection: &Projection,
    id: impl Fn(PointOffset) -> Cow<'p, PointId>,
) {
    let mut object = ObjectWriter::start(out);
    write_list(object.key("ids"), &projection.offsets, |out, offset| write_id(out, &id(*offset)));
    for (axis, name) in ["x", "y"].into_iter().enumerate() {
        write_list(object.key(name), &projection.places, |out, place| write_f32(out, place[axis]));
    }
    let explained = object.key("explained_variance");
    match projection.explained_variance {
        Some(share) => write_f64(explained, share),
        None => explained.extend_from_slice(b"null"),
    }
    object.end();
}

/// Appends the status of a collection (C12).
pub fn write_status(
    out: &mut Vec<u8>,
    status: CollectionStatus,
    fault: Option<&str>,
    points_count: u64,
    indexed_vectors_count: u64,
) {
    let mut object = ObjectWriter::start(out);
    write_string(object.key("status"), status.word());
    write_optimizer_status(object.key("optimizer_status"), fault);
    write_u64(object.key("points_count"), points_count);
    write_u64(object.key("indexed_vectors_count"), indexed_vectors_count);
    object.end();
}

/// Appends how a collection is spread over a cluster: all of it is one active shard of one node (C4.7).
pub fn write_cluster_info(out: &mut Vec<u8>, points_count: u64) {
    let mut object = ObjectWriter::start(out);
    write_u64(object.key("peer_id"), 0);
    write_u64(object.key("shard_count"), 1);
    write_list(object.key("local_shards"), [points_count], |out, points| {
        let mut shard = ObjectWriter::start(out);
        write_u64(shard.key("shard_id"), 0);
        write_u64(shard.key("points_count"), points);
        write_string(shard.key("state"), "Active");
        shard.end();
    });
    for none in ["remote_shards", "shard_transfers"] {
        object.key(none).extend_from_slice(b"[]");
    }
    object.end();
}

/// Appends what waits to be optimised: vectors that are not in a graph and will be, where anything waits (C4.7).
pub fn write_optimizations(out: &mut Vec<u8>, waiting: Option<u64>) {
    let mut object = ObjectWriter::start(out);
    let mut summary = ObjectWriter::start(object.key("summary"));
    let is_waiting = u64::from(waiting.is_some());
    write_u64(summary.key("queued_optimizations"), is_waiting);
    write_u64(summary.key("queued_segments"), is_waiting);
    write_u64(summary.key("queued_points"), waiting.unwrap_or_default());
    write_u64(summary.key("idle_segments"), 1 - is_waiting);
    summary.end();
    object.key("running").extend_from_slice(b"[]");
    object.end();
}

/// Appends how far a re-embedding is (C19). `shadow` has what the field is to be.
pub fn write_reembedding(
    out: &mut Vec<u8>,
    of: &Reembedding,
    shadow: &VectorParams,
    report: &ReembeddingReport,
) {
    let mut object = ObjectWriter::start(out);
    if let Some(model) = &shadow.model {
        model.write(object.key("model"));
    }
    write_u64(object.key("size"), shadow.size as u64);
    object.field("rate", of.rate, write_u64);
    write_string(object.key("state"), report.state.word());
    write_u64(object.key("done"), report.done);
    write_u64(object.key("total"), report.total);
    write_u64(object.key("missing_texts"), report.missing_texts);
    match report.eta {
        Some(eta) => write_f64(object.key("eta_seconds"), eta.as_secs_f64().ceil()),
        None => object.key("eta_seconds").extend_from_slice(b"null"),
    }
    object.field("error", report.error.as_deref(), write_string);
    object.end();
}

/// Appends vector fields with their collections.
pub fn write_fields_of_collections(out: &mut Vec<u8>, fields: &[(String, String)]) {
    write_list(out, fields, |out, (collection, field)| {
        let mut object = ObjectWriter::start(out);
        write_string(object.key("collection"), collection);
        write_string(object.key("vector"), field);
        object.end();
    });
}

/// Appends texts that are to be embedded, as the body that brings their vectors back has them. `point` is the id as messages
/// have it.
pub fn write_next_texts(out: &mut Vec<u8>, next: &NextTexts) {
    let mut object = ObjectWriter::start(out);
    write_u64(object.key("begun"), next.begun.get());
    object.field("rate", next.rate, write_u64);
    write_bool(object.key("has_more"), next.has_more);
    write_list(object.key("points"), &next.texts, |out, point| {
        let mut object = ObjectWriter::start(out);
        write_u64(object.key("at"), u64::from(point.at.get()));
        write_string(object.key("point"), &point.id.to_string());
        let mut input = ObjectWriter::start(object.key("input"));
        write_string(input.key("text"), &point.text);
        write_string(input.key("model"), &next.model);
        input.end();
        object.end();
    });
    object.end();
}
