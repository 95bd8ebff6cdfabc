//! Writing results as the bytes of an answer. Keys and their order are those of Qdrant.

use crate::allocator::reserve_or_unwind;
use crate::change::Skipped;
use crate::collection::update::{SyncPlan, Synced};
use crate::config::CollectionConfig;
use crate::config::fields::ObjectWriter;
use crate::config::write_path;
use crate::field::calibration::RecallEstimate;
use crate::json::{PackedVectors, write_f32, write_f64, write_string, write_u64};
use crate::payload::FieldSchema;
use crate::query::OrderValue;
use crate::types::{OpNumber, PointId};
use crate::vectors::VectorValue;
use std::ops::Range;
use std::time::Duration;

/// The envelope before its `time`.
const BEFORE_TIME: &[u8] = b"{\"time\":";

/// The placeholder of the time. It is overwritten in place: most answers take less than ten seconds.
const NO_TIME: &[u8] = b"0.000000000";

/// The envelope of a success (C1.1). Between [`Envelope::start`] and [`Envelope::finish`] the caller appends
/// exactly one JSON value, the result.
#[must_use]
pub struct Envelope {
    time: Range<usize>,
}

impl Envelope {
    /// Opens the envelope.
    pub fn start(out: &mut Vec<u8>) -> Envelope {
        out.extend_from_slice(BEFORE_TIME);
        let from = out.len();
        out.extend_from_slice(NO_TIME);
        let time = from..out.len();
        out.extend_from_slice(b",\"status\":\"ok\",\"result\":");
        Envelope { time }
    }

    /// As [`Envelope::finish`], with warnings about what was passed over, where there are any (C12).
    pub fn finish_warning(self, out: &mut Vec<u8>, warnings: &[String], elapsed: Duration) {
        if !warnings.is_empty() {
            out.extend_from_slice(b",\"warnings\":");
            write_list(out, warnings, |out, sentence| write_warning(out, sentence));
        }
        self.finish(out, elapsed);
    }

    /// Closes the envelope and writes the duration of the request, in seconds.
    pub fn finish(self, out: &mut Vec<u8>, elapsed: Duration) {
        out.push(b'}');
        let seconds = format!("{}.{:09}", elapsed.as_secs(), elapsed.subsec_nanos());
        if seconds.len() == self.time.len() {
            out[self.time].copy_from_slice(seconds.as_bytes());
        } else {
            out.splice(self.time, seconds.into_bytes());
        }
    }
}

/// The status of an update (C5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateStatus {
    /// Durable, and visible to the next read.
    Completed,
    /// Durable, and visible later.
    Acknowledged,
}

/// Appends an update's result. `skipped` is what it skipped, if anything (C25).
pub fn write_update_result(
    out: &mut Vec<u8>,
    operation_id: u64,
    status: UpdateStatus,
    skipped: Option<&Skipped>,
) {
    let mut object = ObjectWriter::start(out);
    write_u64(object.key("operation_id"), operation_id);
    let word = match status {
        UpdateStatus::Completed => "completed",
        UpdateStatus::Acknowledged => "acknowledged",
    };
    write_string(object.key("status"), word);
    // A call that repeats the operation id of a sync gets none of what that did.
    let skipped = skipped.filter(|skipped| !skipped.is_of_sync());
    object.field("skipped", skipped, |out, skipped| {
        let mut object = ObjectWriter::start(out);
        write_u64(object.key("count"), skipped.count.into());
        write_list(object.key("ids"), &skipped.ids, write_id);
        object.end();
    });
    object.end();
}

/// Appends the results of a batch, one for each of its operations in their order (C5.11): all have the number of the one
/// record.
pub fn write_update_results(
    out: &mut Vec<u8>,
    operation_id: u64,
    count: usize,
    status: UpdateStatus,
    skipped: &[Skipped],
) {
    write_list(out, 0..count, |out, at| {
        let skipped = skipped.iter().find(|skipped| skipped.at as usize == at);
        write_update_result(out, operation_id, status, skipped);
    });
}

/// Appends what a sync did (C20).
pub fn write_synced(out: &mut Vec<u8>, synced: &Synced) {
    let Synced { added, updated, unchanged, deleted, revision } = synced;
    let mut object = ObjectWriter::start(out);
    for (key, count) in
        [("added", added), ("updated", updated), ("unchanged", unchanged), ("deleted", deleted)]
    {
        write_u64(object.key(key), (*count).into());
    }
    write_string(object.key("revision"), &revision.to_string());
    object.end();
}

/// Appends how many points of a source are staged (C20).
pub fn write_staged(out: &mut Vec<u8>, staged: u64) {
    let mut object = ObjectWriter::start(out);
    write_u64(object.key("staged"), staged);
    object.end();
}

/// Appends what a sync would need and do (C20).
pub fn write_sync_plan(out: &mut Vec<u8>, plan: &SyncPlan) {
    let mut object = ObjectWriter::start(out);
    write_list(object.key("needed"), &plan.needed, write_id);
    write_u64(object.key("unchanged"), plan.unchanged as u64);
    write_u64(object.key("deleted"), plan.deleted as u64);
    write_string(object.key("revision"), &plan.revision.to_string());
    object.end();
}

/// Appends a warning, in the form that a collection's info has.
fn write_warning(out: &mut Vec<u8>, sentence: &str) {
    let mut warning = ObjectWriter::start(out);
    write_string(warning.key("message"), sentence);
    warning.end();
}

/// Appends a boolean result.
pub fn write_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Appends the result of `exists`.
pub fn write_exists(out: &mut Vec<u8>, exists: bool) {
    let mut object = ObjectWriter::start(out);
    write_bool(object.key("exists"), exists);
    object.end();
}

/// Appends the result of a count.
pub fn write_count(out: &mut Vec<u8>, count: u64) {
    let mut object = ObjectWriter::start(out);
    write_u64(object.key("count"), count);
    object.end();
}

/// The state of a replica.
pub struct ReplicaState {
    /// Its last operation.
    pub last: OpNumber,
    /// Its live points.
    pub points: u64,
    /// The digest of them, where it is asked for.
    pub digest: Option<u128>,
    /// Bytes of their vectors and of their payloads, where they are asked for.
    pub size: Option<(u64, u64)>,
    /// A time by which points have come to their end, in microseconds since 1970, where it is asked for and the time of any has
    /// come.
    pub expired_until: Option<u64>,
}

/// Appends the state of a replica.
pub fn write_replica_state(out: &mut Vec<u8>, state: &ReplicaState) {
    let ReplicaState { last, points, digest, size, expired_until } = state;
    let mut object = ObjectWriter::start(out);
    for (key, number) in [("operation", last.get()), ("position", last.position()), ("points", *points)] {
        write_u64(object.key(key), number);
    }
    if let Some(digest) = digest {
        write_string(object.key("digest"), &format!("{digest:032x}"));
    }
    if let Some((vector_bytes, payload_bytes)) = size {
        write_u64(object.key("vector_bytes"), *vector_bytes);
        write_u64(object.key("payload_bytes"), *payload_bytes);
    }
    if let Some(until) = expired_until {
        write_u64(object.key("expired_until"), *until);
    }
    object.end();
}

/// Appends the list of collections, in the order given (C4.1: by name).
pub fn write_collections<'n>(out: &mut Vec<u8>, names: impl IntoIterator<Item = &'n str>) {
    let mut object = ObjectWriter::start(out);
    write_list(object.key("collections"), names, |out, name| {
        let mut entry = ObjectWriter::start(out);
        write_string(entry.key("name"), name);
        entry.end();
    });
    object.end();
}

/// Appends a point id: a number, or a UUID or string as a string.
pub fn write_id(out: &mut Vec<u8>, id: &PointId) {
    match id {
        PointId::Num(number) => write_u64(out, *number),
        PointId::Uuid(_) => write_string(out, &id.to_string()),
        PointId::Text(text) => text.with_str(|text| write_string(out, text)),
    }
}

/// The vectors of a point in an answer.
#[derive(Clone, Copy, Debug)]
pub enum ShownVectors<'p> {
    /// By name; the unnamed one under `""`.
    Values(&'p [(&'p str, VectorValue)]),
    /// What [`pack_vectors`] wrote.
    Packed(&'p [u8]),
}

/// A point in an answer. Parts that were not requested are absent and omitted (C6.1).
#[derive(Clone, Copy, Debug)]
pub struct PointView<'p> {
    /// The point's id.
    pub id: &'p PointId,
    /// Its payload as JSON, already selected.
    pub payload: Option<&'p [u8]>,
    /// Its selected vectors.
    pub vectors: Option<ShownVectors<'p>>,
    /// The value it was ordered by.
    pub order_value: Option<OrderValue>,
}

/// Appends a hit of a search or a query (C6.7).
pub fn write_scored_point(out: &mut Vec<u8>, point: &PointView<'_>, version: u64, score: f32) {
    let mut object = ObjectWriter::start(out);
    write_id(object.key("id"), point.id);
    write_u64(object.key("version"), version);
    write_f32(object.key("score"), score);
    write_shown(&mut object, point);
    object.end();
}

/// Appends a record of a retrieve or a scroll.
pub fn write_record(out: &mut Vec<u8>, point: &PointView<'_>) {
    let mut object = ObjectWriter::start(out);
    write_id(object.key("id"), point.id);
    write_shown(&mut object, point);
    object.end();
}

fn write_shown(object: &mut ObjectWriter<'_>, point: &PointView<'_>) {
    object.field("payload", point.payload, append);
    object.field("vector", point.vectors, |out, vectors| match vectors {
        ShownVectors::Values(vectors) => vectors_to_json(vectors, out),
        ShownVectors::Packed(json) => append(out, json),
    });
    object.field("order_value", point.order_value, |out, value| match value {
        OrderValue::Integer(integer) => write_i64(out, integer),
        OrderValue::Float(float) => write_f64(out, float),
    });
}

/// Appends the vectors of a point: an array if there is only the unnamed one, otherwise an object by name.
pub fn vectors_to_json(vectors: &[(&str, VectorValue)], out: &mut Vec<u8>) {
    write_vectors(vectors, out, write_components);
}

/// Appends the vectors of a point in the same form, but with what stands for their components, which go to `packed`.
pub fn pack_vectors(vectors: &[(&str, VectorValue)], packed: &mut PackedVectors, out: &mut Vec<u8>) {
    write_vectors(vectors, out, |out, components| packed.add(components, out));
}

fn write_vectors(
    vectors: &[(&str, VectorValue)],
    out: &mut Vec<u8>,
    mut write_components: impl FnMut(&mut Vec<u8>, &[f32]),
) {
    if let [("", vector)] = vectors {
        return write_vector(out, vector, write_components);
    }
    let mut object = ObjectWriter::start(out);
    for (name, vector) in vectors {
        write_vector(object.key(name), vector, &mut write_components);
    }
    object.end();
}

/// Appends a vector in the form of requests (C2.3).
fn write_vector(
    out: &mut Vec<u8>,
    vector: &VectorValue,
    mut write_components: impl FnMut(&mut Vec<u8>, &[f32]),
) {
    match vector {
        VectorValue::Dense(components) => write_components(out, components),
        VectorValue::Sparse(sparse) => {
            let mut object = ObjectWriter::start(out);
            write_list(object.key("indices"), &sparse.indices, |out, index| write_u64(out, (*index).into()));
            write_components(object.key("values"), &sparse.values);
            object.end();
        }
        VectorValue::Multi(multi) => write_list(out, multi.rows(), write_components),
    }
}

/// Appends bytes that are JSON already.
fn append(out: &mut Vec<u8>, json: &[u8]) {
    reserve_or_unwind(out, json.len());
    out.extend_from_slice(json);
}

fn write_components(out: &mut Vec<u8>, components: &[f32]) {
    write_list(out, components, |out, component| write_f32(out, *component));
}

/// Appends a page of a scroll. `write_records` appends the elements of `points`, commas included, for example with
/// [`write_elements`].
pub fn write_page(out: &mut Vec<u8>, next: Option<&PointId>, write_records: impl FnOnce(&mut Vec<u8>)) {
    let mut object = ObjectWriter::start(out);
    let points = object.key("points");
    points.push(b'[');
    write_records(points);
    points.push(b']');
    let next_page = object.key("next_page_offset");
    match next {
        Some(id) => write_id(next_page, id),
        None => next_page.extend_from_slice(b"null"),
    }
    object.end();
}

/// Appends the result of a query, `{"points": […]}`. `write_hits` appends the elements, commas included.
pub fn write_query_result(out: &mut Vec<u8>, write_hits: impl FnOnce(&mut Vec<u8>)) {
    let mut object = ObjectWriter::start(out);
    let points = object.key("points");
    points.push(b'[');
    write_hits(points);
    points.push(b']');
    object.end();
}

/// Appends a JSON array of the items, each written by `write`.
pub fn write_list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    write_elements(out, items, write);
    out.push(b']');
}

/// Appends the elements of an array, with commas between them.
pub fn write_elements<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        reserve_or_unwind(out, 0);
        write(out, item);
    }
}

pub(super) fn write_optimizer_status(out: &mut Vec<u8>, fault: Option<&str>) {
    match fault {
        None => write_string(out, "ok"),
        Some(fault) => {
            let mut error = ObjectWriter::start(out);
            write_string(error.key("error"), fault);
            error.end();
        }
    }
}

pub(super) fn write_i64(out: &mut Vec<u8>, integer: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

/// State of a collection (C4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionStatus {
    /// No row awaits indexing and nothing is being rebuilt.
    Green,
    /// Rows are being indexed.
    Yellow,
    /// Indexing is pending.
    Grey,
    /// A fault.
    Red,
}

impl CollectionStatus {
    pub(super) fn word(self) -> &'static str {
        match self {
            CollectionStatus::Green => "green",
            CollectionStatus::Yellow => "yellow",
            CollectionStatus::Grey => "grey",
            CollectionStatus::Red => "red",
        }
    }
}

/// A field index as a collection's info shows it.
#[derive(Clone, Copy, Debug)]
pub struct FieldIndexInfo<'i> {
    /// The field's path as text.
    pub field: &'i str,
    /// Its definition.
    pub schema: &'i FieldSchema,
    /// Points with at least one indexed value.
    pub points: u64,
}

/// What a collection's info shows (C4.2). The warnings are those of its configuration.
#[derive(Clone, Copy, Debug)]
pub struct CollectionInfo<'i> {
    /// Its state.
    pub status: CollectionStatus,
    /// The faults to show to a client.
    pub fault: Option<&'i str>,
    /// Vectors in a graph; not shown to a caller with a filter.
    pub indexed_vectors_count: Option<u64>,
    /// Live points; likewise.
    pub points_count: Option<u64>,
    /// Parts that are searched separately.
    pub segments_count: u64,
    /// Its configuration. It has no vector fields if it cannot be read.
    pub config: &'i CollectionConfig,
    /// Its field indexes.
    pub indexes: &'i [FieldIndexInfo<'i>],
    /// Those that the engine made by itself (C23).
    pub auto_indexes: &'i [FieldIndexInfo<'i>],
    /// The vector fields that are being embedded anew (C19), with the points that are done and all.
    pub reembeddings: &'i [(&'i str, u64, u64)],
    /// The recall of its searches, where it is known.
    pub recall_estimate: Option<RecallEstimate>,
    /// Bytes in memory, maps left out, and in its files; not shown to a caller with a filter.
    pub bytes: Option<(u64, u64)>,
    /// Where it is (C24); likewise, and of none that is quarantined.
    pub residency: Option<ResidencyInfo>,
}

/// Where a collection is: in memory, or asleep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResidencyInfo {
    /// A word.
    pub state: &'static str,
    /// Bytes in memory, maps left out.
    pub resident_bytes: u64,
    /// How long its last opening took; `None` where it was not opened since the engine was.
    pub opened: Option<Duration>,
}

/// Appends a count, or null.
fn write_count_or_null(out: &mut Vec<u8>, count: Option<u64>) {
    match count {
        Some(count) => write_u64(out, count),
        None => out.extend_from_slice(b"null"),
    }
}

/// Appends a collection's info.
pub fn write_collection_info(out: &mut Vec<u8>, info: &CollectionInfo<'_>) {
    let mut object = ObjectWriter::start(out);
    write_string(object.key("status"), info.status.word());
    write_optimizer_status(object.key("optimizer_status"), info.fault);
    write_list(object.key("warnings"), info.config.warnings(), |out, sentence| write_warning(out, &sentence));
    write_count_or_null(object.key("indexed_vectors_count"), info.indexed_vectors_count);
    write_count_or_null(object.key("points_count"), info.points_count);
    write_u64(object.key("segments_count"), info.segments_count);
    info.config.write_info_config(object.key("config"));
    let mut schema = ObjectWriter::start(object.key("payload_schema"));
    for index in info.indexes {
        let mut entry = ObjectWriter::start(schema.key(index.field));
        write_string(entry.key("data_type"), index.schema.kind().name());
        index.schema.write_params(entry.key("params"));
        write_u64(entry.key("points"), index.points);
        entry.end();
    }
    schema.end();
    match &info.recall_estimate {
        Some(estimate) => write_estimate(object.key("recall_estimate"), estimate),
        None => object.key("recall_estimate").extend_from_slice(b"null"),
    }
    write_size(object.key("size"), info.bytes);
    write_models(&mut object, info.config);
    write_reembeddings(&mut object, info.reembeddings);
    object.field("expire_at_key", info.config.expire_at_key.as_ref(), write_path);
    object.field("field_indexes", info.config.field_indexes.chosen(), write_string);
    object.field("ids", info.config.ids.chosen(), write_string);
    write_residency(&mut object, info);
    write_auto_indexes(&mut object, info.auto_indexes);
    object.end();
}

/// Appends where the collection is, with the setting that decides it (C24).
fn write_residency(object: &mut ObjectWriter<'_>, info: &CollectionInfo<'_>) {
    let Some(residency) = &info.residency else { return };
    let mut shown = ObjectWriter::start(object.key("residency"));
    write_string(shown.key("setting"), info.config.residency.name());
    write_string(shown.key("state"), residency.state);
    write_u64(shown.key("resident_bytes"), residency.resident_bytes);
    match residency.opened {
        Some(took) => write_f64(shown.key("opened_ms"), took.as_secs_f64() * 1e3),
        None => shown.key("opened_ms").extend_from_slice(b"null"),
    }
    shown.end();
}

/// Appends how far re-embeddings are, where there are any (C19).
fn write_reembeddings(object: &mut ObjectWriter<'_>, reembeddings: &[(&str, u64, u64)]) {
    if reembeddings.is_empty() {
        return;
    }
    let mut list = ObjectWriter::start(object.key("reembeddings"));
    for (field, done, total) in reembeddings {
        let mut entry = ObjectWriter::start(list.key(field));
        write_u64(entry.key("done"), *done);
        write_u64(entry.key("total"), *total);
        entry.end();
    }
    list.end();
}

/// Appends the automatic indexes, where there are any (C23). They have no parameters.
fn write_auto_indexes(object: &mut ObjectWriter<'_>, indexes: &[FieldIndexInfo<'_>]) {
    if indexes.is_empty() {
        return;
    }
    let mut list = ObjectWriter::start(object.key("auto_indexes"));
    for index in indexes {
        let mut entry = ObjectWriter::start(list.key(index.field));
        write_string(entry.key("data_type"), index.schema.kind().name());
        write_u64(entry.key("points"), index.points);
        entry.end();
    }
    list.end();
}

fn write_size(out: &mut Vec<u8>, bytes: Option<(u64, u64)>) {
    let Some((memory, disk)) = bytes else { return out.extend_from_slice(b"null") };
    let mut object = ObjectWriter::start(out);
    write_u64(object.key("memory_bytes"), memory);
    write_u64(object.key("disk_bytes"), disk);
    object.end();
}

fn write_estimate(out: &mut Vec<u8>, estimate: &RecallEstimate) {
    let mut object = ObjectWriter::start(out);
    write_f64(object.key("recall"), estimate.recall);
    write_f64(object.key("low"), estimate.low);
    write_f64(object.key("high"), estimate.high);
    write_u64(object.key("samples"), u64::from(estimate.samples));
    write_u64(object.key("at"), estimate.at);
    object.end();
}

/// Appends the declared models by field, where there are any (C19). They are not in the configuration, whose unknown fields
/// clients refuse.
fn write_models(object: &mut ObjectWriter<'_>, config: &CollectionConfig) {
    let names = config.declared_positions().map(|position| config.name_at(position));
    let mut declared = names.filter_map(|name| Some((name, config.model_of(name)?))).peekable();
    if declared.peek().is_some() {
        let mut models = ObjectWriter::start(object.key("vector_models"));
        for (name, model) in declared {
            model.write(models.key(name));
        }
        models.end();
    }
}
