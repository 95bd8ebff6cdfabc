//! The errors that the engine answers with, by stable code.

use crate::json_writer::{write_key, write_string, write_u64};
use crate::types::{PointId, TextInput};
use std::fmt;

/// Why a request failed. The code and its details cross to the server, which alone turns them into a status
/// and a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A malformed request; the sentence names the JSON path and what was expected.
    BadRequest(String),
    /// A collection is to be created without a vectors configuration.
    VectorsConfigRequired,
    /// A required body field is absent: its path.
    MissingField(String),
    /// A filter that cannot be parsed: where and why.
    FilterParse(String),
    /// A vector of the wrong length.
    DimensionMismatch {
        /// Name of the vector; empty for the unnamed one.
        name: String,
        /// Components that the collection declares.
        expected: usize,
        /// Components that the request has.
        got: usize,
    },
    /// A named vector that the collection does not declare.
    VectorNotFound(String),
    /// A request names another model than the vector field declares (C19).
    ModelMismatch {
        /// Where the request does.
        place: String,
        /// Name of the field; empty for the unnamed one.
        field: String,
        /// The model that is declared.
        declared: String,
        /// The model that is named.
        named: String,
    },
    /// No such collection.
    CollectionNotFound(String),
    /// A collection of that name exists.
    CollectionExists(String),
    /// The collection is marked for deletion and not yet gone.
    CollectionDeleted(String),
    /// A collection is to be created under a name that is an alias.
    AliasExists(String),
    /// No such alias.
    AliasNotFound(String),
    /// Ids named in the request that are absent, in the order of the request.
    PointNotFound(Vec<PointId>),
    /// An example is a point that does not have the vector of the query.
    PointWithoutVector(PointId, String),
    /// Points that do not have the version that the request expects, in its order.
    VersionConflict(Vec<VersionConflict>),
    /// A sync of a source does not fit to what is stored or staged (C20); the sentence says why.
    SyncConflict(String),
    /// A re-embedding does not allow this (C19); the sentence says why.
    ReembeddingConflict(String),
    /// A vector field that is not being embedded anew: its name.
    ReembeddingNotFound(String),
    /// The limits of the caller do not allow this in a collection, whether it exists or not.
    CollectionForbidden,
    /// Points that the filter of the caller does not allow to be written, or not like this, in the order of the request.
    PointsForbidden(Vec<PointId>),
    /// No cursor of that text is open for this caller, operation and collection.
    CursorNotFound,
    /// The engine is still opening.
    NotReady,
    /// The request's deadline passed; the sentence says which.
    Timeout(String),
    /// The client has disconnected, and the request was given up.
    Cancelled,
    /// A queue or a budget is full; the sentence says which.
    Overloaded(String),
    /// A rate of the collection's strict mode is used up: the sentence, and the seconds until there is enough of it.
    RateLimited(String, u64),
    /// The answer has more bytes than its caller can take at the moment.
    AnswerBudgetExceeded,
    /// A body with packed vectors that cannot be read as it is. Its caller sends it as JSON; nothing was done.
    NeedsJson,
    /// A repeated call that may have been applied, and whose operation is not kept any more: nothing was done.
    OutcomeUnknown,
    /// A write that brings a position of a replicated stream which its collection has passed: nothing was done.
    PositionPassed,
    /// The disk is full for this write.
    StorageFull,
    /// The memory budget is used up.
    MemoryLimit,
    /// The engine is closing.
    ShuttingDown,
    /// The collection is quarantined or takes no writes; the sentence says why.
    CollectionFault(String),
    /// A shard of a cluster is left out without which there is no answer; the sentence says which.
    ShardUnavailable(String),
    /// An internal failure; the sentence holds no path and no secret.
    Internal(String),
    /// A panic was caught.
    Panic,
    /// Nothing was done yet: the vectors of these texts are wanted first, in the order of the body.
    VectorsWanted(Vec<TextInput>),
    /// An error that another process answered: its code, and the fields of its details as JSON.
    Relayed(&'static str, Vec<u8>),
    /// An error in one part of a batch: the part's path, and the error.
    Within(String, Box<Error>),
}

/// A point that does not have the version that a write expects (C25); an absent one has 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionConflict {
    /// The point.
    pub id: PointId,
    /// The version of the request.
    pub expected: u64,
    /// Its version.
    pub found: u64,
}

/// All codes, of which another process may answer any.
const CODES: [&str; 37] = [
    "bad_request",
    "vectors_config_required",
    "missing_field",
    "filter_parse",
    "dimension_mismatch",
    "vector_not_found",
    "collection_not_found",
    "collection_exists",
    "collection_deleted",
    "alias_exists",
    "alias_not_found",
    "point_not_found",
    "point_without_vector",
    "version_conflict",
    "sync_conflict",
    "reembedding_conflict",
    "reembedding_not_found",
    "collection_forbidden",
    "points_forbidden",
    "cursor_not_found",
    "not_ready",
    "timeout",
    "cancelled",
    "overloaded",
    "rate_limited",
    "answer_budget",
    "needs_json",
    "outcome_unknown",
    "position_passed",
    "storage_full",
    "memory_limit",
    "shutting_down",
    "collection_fault",
    "internal",
    "internal_panic",
    "vectors_wanted",
    "model_mismatch",
];

/// Points that a [`Error::PointNotFound`] or a [`Error::VersionConflict`] names in its message (C1.4).
const NAMED_IDS: usize = 10;

impl Error {
    /// A [`Error::BadRequest`] from a sentence.
    pub fn bad(message: impl Into<String>) -> Error {
        Error::BadRequest(message.into())
    }

    /// The same error with the part of the batch that it belongs to (C6.2).
    pub fn within(self, place: String) -> Error {
        match self {
            // A parser's sentence names the place, and the deadline is that of the whole request.
            Error::BadRequest(_)
            | Error::FilterParse(_)
            | Error::MissingField(_)
            | Error::Timeout(_)
            | Error::ModelMismatch { .. } => self,
            error => Error::Within(place, Box::new(error)),
        }
    }

    /// The error that another process answered with that code and these details, a JSON object.
    pub fn relayed(code: &str, details: &[u8]) -> Error {
        let fields = details.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
        match CODES.iter().find(|known| **known == code) {
            Some(known) => Error::Relayed(known, fields.unwrap_or_default().to_vec()),
            None => Error::Internal("the owner of the folder answered an error of another release".into()),
        }
    }

    /// The stable code, shared with `src/engine/types.ts`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::BadRequest(_) => "bad_request",
            Error::VectorsConfigRequired => "vectors_config_required",
            Error::MissingField(_) => "missing_field",
            Error::FilterParse(_) => "filter_parse",
            Error::DimensionMismatch { .. } => "dimension_mismatch",
            Error::VectorNotFound(_) => "vector_not_found",
            Error::ModelMismatch { .. } => "model_mismatch",
            Error::CollectionNotFound(_) => "collection_not_found",
            Error::CollectionExists(_) => "collection_exists",
            Error::CollectionDeleted(_) => "collection_deleted",
            Error::AliasExists(_) => "alias_exists",
            Error::AliasNotFound(_) => "alias_not_found",
            Error::PointNotFound(_) => "point_not_found",
            Error::PointWithoutVector(..) => "point_without_vector",
            Error::VersionConflict(_) => "version_conflict",
            Error::SyncConflict(_) => "sync_conflict",
            Error::ReembeddingConflict(_) => "reembedding_conflict",
            Error::ReembeddingNotFound(_) => "reembedding_not_found",
            Error::CollectionForbidden => "collection_forbidden",
            Error::PointsForbidden(_) => "points_forbidden",
            Error::CursorNotFound => "cursor_not_found",
            Error::NotReady => "not_ready",
            Error::Timeout(_) => "timeout",
            Error::Cancelled => "cancelled",
            Error::Overloaded(_) => "overloaded",
            Error::RateLimited(..) => "rate_limited",
            Error::AnswerBudgetExceeded => "answer_budget",
            Error::NeedsJson => "needs_json",
            Error::OutcomeUnknown => "outcome_unknown",
            Error::PositionPassed => "position_passed",
            Error::StorageFull => "storage_full",
            Error::MemoryLimit => "memory_limit",
            Error::ShuttingDown => "shutting_down",
            Error::CollectionFault(_) => "collection_fault",
            Error::ShardUnavailable(_) => "shard_unavailable",
            Error::Internal(_) => "internal",
            Error::Panic => "internal_panic",
            Error::VectorsWanted(_) => "vectors_wanted",
            Error::Relayed(code, _) => code,
            Error::Within(_, error) => error.code(),
        }
    }

    /// The details as a JSON object, for the server's error table.
    pub fn details_json(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        self.write_details(&mut out);
        out.push(b'}');
        out
    }

    /// Writes the fields of the details.
    fn write_details(&self, out: &mut Vec<u8>) {
        match self {
            Error::BadRequest(text)
            | Error::FilterParse(text)
            | Error::SyncConflict(text)
            | Error::ReembeddingConflict(text)
            | Error::Timeout(text)
            | Error::Overloaded(text)
            | Error::CollectionFault(text)
            | Error::ShardUnavailable(text)
            | Error::Internal(text) => write_field(out, "message", text),
            Error::RateLimited(text, seconds) => {
                write_field(out, "message", text);
                out.extend_from_slice(format!(",\"retryAfterSeconds\":{seconds}").as_bytes());
            }
            Error::MissingField(name) => write_field(out, "field", name),
            Error::VectorNotFound(name)
            | Error::ReembeddingNotFound(name)
            | Error::CollectionNotFound(name)
            | Error::CollectionExists(name)
            | Error::CollectionDeleted(name)
            | Error::AliasExists(name)
            | Error::AliasNotFound(name) => write_field(out, "name", name),
            Error::DimensionMismatch { name, expected, got } => {
                write_field(out, "name", name);
                out.extend_from_slice(format!(",\"expected\":{expected},\"got\":{got}").as_bytes());
            }
            Error::ModelMismatch { place, field, declared, named } => {
                let fields = [("name", field), ("declared", declared), ("named", named), ("place", place)];
                fields.iter().for_each(|(key, text)| write_field(out, key, text));
            }
            Error::PointWithoutVector(id, name) => {
                write_field(out, "id", &id.to_string());
                write_field(out, "name", name);
            }
            Error::PointNotFound(ids) | Error::PointsForbidden(ids) => write_ids(out, ids),
            Error::VersionConflict(conflicts) => write_conflicts(out, conflicts),
            Error::VectorsConfigRequired
            | Error::CollectionForbidden
            | Error::CursorNotFound
            | Error::NotReady
            | Error::OutcomeUnknown
            | Error::PositionPassed
            | Error::StorageFull
            | Error::MemoryLimit
            | Error::ShuttingDown
            | Error::Cancelled
            | Error::AnswerBudgetExceeded
            | Error::NeedsJson
            | Error::Panic => {}
            Error::VectorsWanted(inputs) => write_inputs(out, inputs),
            Error::Relayed(_, fields) => out.extend_from_slice(fields),
            Error::Within(place, error) => {
                error.write_details(out);
                write_field(out, "place", place);
            }
        }
    }
}

/// The details of a failure of which there is only a sentence, as a JSON object.
pub fn message_details(message: &str) -> Vec<u8> {
    let mut out = vec![b'{'];
    write_field(&mut out, "message", message);
    out.push(b'}');
    out
}

/// Writes a field of an object, after the comma where it is not the first.
fn write_field(out: &mut Vec<u8>, key: &str, text: &str) {
    if out.len() > 1 {
        out.push(b',');
    }
    write_key(out, key);
    write_string(out, text);
}

/// Writes the first ids that are absent, and how many are absent in all.
fn write_ids(out: &mut Vec<u8>, ids: &[PointId]) {
    out.extend_from_slice(b"\"ids\":[");
    for (at, id) in ids.iter().take(NAMED_IDS).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(out, &id.to_string());
    }
    out.extend_from_slice(format!("],\"total\":{}", ids.len()).as_bytes());
}

fn write_inputs(out: &mut Vec<u8>, inputs: &[TextInput]) {
    out.extend_from_slice(b"\"inputs\":[");
    for (place, input) in inputs.iter().enumerate() {
        out.extend_from_slice(if place > 0 { b",{" } else { b"{" });
        for (key, text) in [("place", &input.place), ("model", &input.model), ("text", &input.text)] {
            write_key(out, key);
            write_string(out, text);
            out.push(b',');
        }
        write_key(out, "at");
        write_u64(out, input.at as u64);
        out.push(b'}');
    }
    out.push(b']');
}

/// Writes the first conflicts, and how many there are in all.
fn write_conflicts(out: &mut Vec<u8>, conflicts: &[VersionConflict]) {
    out.extend_from_slice(b"\"conflicts\":[");
    for (at, VersionConflict { id, expected, found }) in conflicts.iter().take(NAMED_IDS).enumerate() {
        let comma = if at > 0 { "," } else { "" };
        out.extend_from_slice(format!("{comma}{{\"id\":").as_bytes());
        write_string(out, &id.to_string());
        let versions = format!("\"expected\":\"{expected}\",\"found\":\"{found}\"");
        out.extend_from_slice(format!(",{versions}}}").as_bytes());
    }
    out.extend_from_slice(format!("],\"total\":{}", conflicts.len()).as_bytes());
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), String::from_utf8_lossy(&self.details_json()))
    }
}

impl std::error::Error for Error {}
