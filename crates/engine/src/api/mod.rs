//! The request and response formats: bytes to typed operations, and typed results to bytes.
//!
//! There is one function for each body. Everything that can be checked without the collection is checked here (C1.6).
//! Errors name the place (C1.11). Names, aliases and messages follow Qdrant's REST dialect where the contract says
//! nothing.

mod aliases;
mod arrow;
mod body;
mod body_form;
mod cursor;
mod example;
pub mod explanation;
mod groups;
mod id;
mod operation;
mod order_by;
mod page;
mod query;
mod query_kind;
mod recommend;
mod reembedding;
pub mod response;
mod search;
mod search_params;
mod selectors;
mod source_sync;
mod strictness;
pub mod summaries;
#[cfg(test)]
mod tests;
mod text_input;
mod update;
mod upsert;
mod vector;

pub use arrow::Charge;
pub use body_form::{BodyForm, Packing};
pub use cursor::next_page;
pub use id::{path_field, path_id};
pub(crate) use id::{read_id, read_id_of, textual_id};
pub use operation::Operation;
pub use reembedding::{ReembedRequest, commit_reembedding, fill_vectors, next_texts, reembed_vectors};
pub use source_sync::{SyncPart, SyncRequest};
pub use strictness::{BodyWithWarnings, RequestBody, Strictness};
pub(crate) use vector::read_vector;

use crate::catalog::{AdoptedFolder, AliasAction};
use crate::collection::update::{SourceSync, Update};
use crate::config::{CollectionConfig, CollectionPatch, NewField};
use crate::error::Error;
use crate::json::{Reader, TwoNames, Watch};
use crate::limits::Limits;
use crate::payload::{FieldSchema, JsonPath};
use crate::query::request::{
    CountRequest, FacetRequest, GroupsRequest, MatrixRequest, ProjectionRequest, RetrieveRequest,
    ScrollRequest, Selectors, VectorSelector,
};
use crate::query::tree::QueryRequest;
use crate::types::IdKind;
use body::{Budget, Result};
use std::borrow::Cow;
use update::Operation as UpdateOperation;

/// `PUT /collections/{c}` (C4.3).
///
/// # Errors
/// `VectorsConfigRequired` for an absent body too; `BadRequest` or `MissingField` that names the place.
pub fn create_collection(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<CollectionConfig> {
    body::parse(body, |r| CollectionConfig::parse(r, limits))
}

/// `PATCH /collections/{c}` (C4.4).
///
/// # Errors
/// `BadRequest` that names the place.
pub fn update_collection(body: &(impl RequestBody + ?Sized)) -> Result<CollectionPatch> {
    body::parse_present(body, CollectionPatch::parse)
}

/// `POST /collections/aliases` (C12).
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn change_aliases(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Vec<AliasAction>> {
    body::parse(body, |r| aliases::read_actions(r, limits))
}

/// `POST /collections/{c}/clone` (C26): the name of the new collection.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn clone_collection(body: &(impl RequestBody + ?Sized)) -> Result<String> {
    body::parse(body, |reader| {
        let mut name = None;
        reader.object(|r, key| {
            match key {
                "name" => name = r.optional(|r| r.string().map(Cow::into_owned))?,
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        name.ok_or_else(|| reader.missing("name"))
    })
}

/// A snapshot of a collection that a process makes: the folder of the data directory that gets its files.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn link_snapshot(body: &(impl RequestBody + ?Sized)) -> Result<String> {
    body::parse(body, |reader| {
        let mut folder = None;
        reader.object(|r, key| {
            match key {
                "folder" => folder = r.optional(|r| r.string().map(Cow::into_owned))?,
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        folder.ok_or_else(|| reader.missing("folder"))
    })
}

/// What is asked of a replica beside its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicaQuestion {
    /// The digest of its points.
    pub digest: bool,
    /// What its vectors and its payloads take.
    pub size: bool,
    /// Whether points have come to their end, and by when.
    pub expired: bool,
}

/// What is asked of a replica: `{digest?, size?, expired?}`. The body may be absent.
///
/// # Errors
/// `BadRequest` that names the place.
pub fn replica_state(body: &(impl RequestBody + ?Sized)) -> Result<ReplicaQuestion> {
    body::parse(body, |reader| {
        let mut asked = ReplicaQuestion::default();
        reader.object(|r, key| {
            match key {
                "digest" => asked.digest = r.optional(Reader::bool)?.unwrap_or_default(),
                "size" => asked.size = r.optional(Reader::bool)?.unwrap_or_default(),
                "expired" => asked.expired = r.optional(Reader::bool)?.unwrap_or_default(),
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        Ok(asked)
    })
}

/// The time, in microseconds since 1970, by which points of a replica that are removed have come to their end: `{until}`.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn remove_expired(body: &(impl RequestBody + ?Sized)) -> Result<i64> {
    body::parse(body, |reader| {
        let mut until = None;
        reader.object(|r, key| {
            match key {
                "until" => until = r.optional(Reader::u64)?,
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        let until = until.ok_or_else(|| reader.missing("until"))?;
        Ok(i64::try_from(until).unwrap_or(i64::MAX))
    })
}

/// The collections that a process makes of folders of the data directory.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn adopt_folders(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Vec<AdoptedFolder>> {
    body::parse(body, |reader| {
        let mut folders = None;
        reader.object(|r, key| {
            match key {
                "collections" => {
                    let what = "collections a request (max_collections)";
                    folders = r.optional(|r| body::list(r, limits.max_collections, what, read_adopted))?;
                }
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        folders.ok_or_else(|| reader.missing("collections"))
    })
}

fn read_adopted(reader: &mut Reader<'_>) -> Result<AdoptedFolder> {
    let (mut name, mut folder) = (None, None);
    reader.object(|r, key| {
        match key {
            "name" => name = r.optional(|r| r.string().map(Cow::into_owned))?,
            "folder" => folder = r.optional(|r| r.string().map(Cow::into_owned))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(AdoptedFolder {
        name: name.ok_or_else(|| reader.missing("name"))?,
        folder: folder.ok_or_else(|| reader.missing("folder"))?,
    })
}

/// The request for a field index (C5.12).
#[derive(Clone, Debug)]
pub struct CreateFieldIndex {
    /// The field.
    pub field: JsonPath,
    /// What the index covers.
    pub schema: FieldSchema,
}

/// `PUT …/index` (C5.12).
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn create_field_index(body: &(impl RequestBody + ?Sized)) -> Result<CreateFieldIndex> {
    body::parse(body, |reader| {
        let mut field = None;
        let mut schema = TwoNames::default();
        reader.object(|r, key| {
            match key {
                "field_name" => field = r.optional(JsonPath::read)?,
                "field_schema" | "field_type" => {
                    schema.put(key == "field_type", r.optional(FieldSchema::parse)?);
                }
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        Ok(CreateFieldIndex {
            field: field.ok_or_else(|| reader.missing("field_name"))?,
            schema: schema.take().ok_or_else(|| reader.missing("field_schema"))?,
        })
    })
}

/// `PUT …/vectors/{name}` (C4.8).
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn create_vector_name(body: &(impl RequestBody + ?Sized)) -> Result<NewField> {
    body::parse(body, NewField::parse)
}

/// `PUT …/points` (C5.1).
///
/// # Errors
/// `BadRequest`, `MissingField` or `FilterParse` that names the place.
pub fn upsert(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    update(body, limits, UpdateOperation::Upsert)
}

/// `PUT …/points` with a point in each line (C5.14).
///
/// # Errors
/// As [`upsert`].
pub fn upsert_lines(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    body::parse_lines(body, |r| upsert::read_lines(r, &mut Budget::new(limits)))
}

/// `PUT …/points` as an Arrow IPC stream (C5.13), into a collection of such ids. `watch` is asked for each row whether to go
/// on; `charge` takes what the points take of memory beyond the length of the stream.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the column, and the row where there is one; what `watch` and `charge` return.
pub fn upsert_arrow(
    stream: &[u8],
    ids: IdKind,
    limits: &Limits,
    watch: Watch<'_>,
    charge: &mut Charge<'_>,
) -> Result<Update> {
    arrow::read(stream, ids, limits, watch, charge)
}

/// `POST …/points/delete` (C5.4).
///
/// # Errors
/// As [`upsert`].
pub fn delete_points(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    update_by_selection(body, limits, UpdateOperation::Delete)
}

/// `PUT …/points/vectors` (C5.5).
///
/// # Errors
/// As [`upsert`].
pub fn update_vectors(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    update(body, limits, UpdateOperation::UpdateVectors)
}

/// `POST …/points/vectors/delete` (C5.10).
///
/// # Errors
/// As [`upsert`].
pub fn delete_vectors(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    update(body, limits, UpdateOperation::DeleteVectors)
}

/// `POST …/points/payload` (C5.6).
///
/// # Errors
/// As [`upsert`].
pub fn set_payload(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    update(body, limits, UpdateOperation::SetPayload)
}

/// `PUT …/points/payload` (C5.7).
///
/// # Errors
/// As [`upsert`].
pub fn overwrite_payload(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    update(body, limits, UpdateOperation::OverwritePayload)
}

/// `POST …/points/payload/delete` (C5.8).
///
/// # Errors
/// As [`upsert`].
pub fn delete_payload(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    update(body, limits, UpdateOperation::DeletePayload)
}

/// `POST …/points/payload/clear` (C5.9).
///
/// # Errors
/// As [`upsert`].
pub fn clear_payload(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Update> {
    update_by_selection(body, limits, UpdateOperation::ClearPayload)
}

/// `POST …/points/batch` (C5.11). The limit on points and ids holds for all operations together.
///
/// # Errors
/// As [`upsert`].
pub fn batch_update(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Vec<Update>> {
    body::parse(body, |r| update::read_batch(r, &mut Budget::new(limits)))
}

/// `PUT …/points/sync` (C20).
///
/// # Errors
/// As [`upsert`].
pub fn sync_points(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<SyncRequest> {
    source_sync::read_sync(body, limits)
}

/// `POST …/points/sync/plan` (C20).
///
/// # Errors
/// As [`upsert`].
pub fn plan_sync(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<SourceSync> {
    body::parse(body, |r| source_sync::read_plan(r, limits))
}

/// `POST …/points` (C5.2).
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn retrieve(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<RetrieveRequest> {
    body::parse(body, |r| page::read_retrieve(r, limits))
}

/// `GET …/points/{id}` (C5.3), from the id in the path, percent-decoded, of a collection with ids of that kind. Payload and
/// vectors are shown.
///
/// # Errors
/// `BadRequest` for another text.
pub fn get_point(id: &str, kind: IdKind) -> Result<RetrieveRequest> {
    let with = Selectors { payload: crate::payload::PayloadSelector::All, vector: VectorSelector::All };
    Ok(RetrieveRequest { ids: vec![path_id(id, kind)?], with, leaves_out_absent: false })
}

/// `POST …/points/search` (C6.2).
///
/// # Errors
/// `BadRequest`, `MissingField` or `FilterParse` that names the place.
pub fn search(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<QueryRequest> {
    body::parse(body, |r| search::read_search(r, limits))
}

/// `POST …/points/search/batch` (C6.2).
///
/// # Errors
/// As [`search`].
pub fn search_batch(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Vec<QueryRequest>> {
    body::parse(body, |r| search::read_batch(r, limits, search::read_search))
}

/// `POST …/points/query` (C6.3).
///
/// # Errors
/// As [`search`].
pub fn query(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<QueryRequest> {
    body::parse_present(body, |r| query::read_query(r, limits))
}

/// `POST …/points/query/batch` (C6.3).
///
/// # Errors
/// As [`search`].
pub fn query_batch(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Vec<QueryRequest>> {
    body::parse(body, |r| search::read_batch(r, limits, query::read_query))
}

/// `POST …/points/recommend` (C12).
///
/// # Errors
/// As [`search`].
pub fn recommend(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<QueryRequest> {
    body::parse_present(body, |r| recommend::read_recommend(r, limits))
}

/// `POST …/points/recommend/batch` (C12).
///
/// # Errors
/// As [`search`].
pub fn recommend_batch(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Vec<QueryRequest>> {
    body::parse(body, |r| search::read_batch(r, limits, recommend::read_recommend))
}

/// `POST …/points/search/groups` (C12).
///
/// # Errors
/// As [`search`].
pub fn search_groups(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<GroupsRequest> {
    body::parse(body, |r| groups::read_search(r, limits))
}

/// `POST …/points/query/groups` (C12).
///
/// # Errors
/// As [`search`].
pub fn query_groups(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<GroupsRequest> {
    body::parse(body, |r| groups::read_query(r, limits))
}

/// `POST …/points/recommend/groups` (C12).
///
/// # Errors
/// As [`search`].
pub fn recommend_groups(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<GroupsRequest> {
    body::parse(body, |r| groups::read_recommend(r, limits))
}

/// `POST …/points/discover` (C12).
///
/// # Errors
/// As [`search`].
pub fn discover(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<QueryRequest> {
    body::parse_present(body, |r| recommend::read_discover(r, limits))
}

/// `POST …/points/discover/batch` (C12).
///
/// # Errors
/// As [`search`].
pub fn discover_batch(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<Vec<QueryRequest>> {
    body::parse(body, |r| search::read_batch(r, limits, recommend::read_discover))
}

/// `POST …/points/scroll` (C6.4).
///
/// # Errors
/// As [`search`].
pub fn scroll(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<ScrollRequest> {
    body::parse_present(body, |r| page::read_scroll(r, limits))
}

/// `POST …/points/count` (C6.5). The body may be absent.
///
/// # Errors
/// As [`search`].
pub fn count(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<CountRequest> {
    body::parse(body, |r| page::read_count(r, limits))
}

/// `POST …/facet` (C6.8).
///
/// # Errors
/// As [`search`].
pub fn facet(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<FacetRequest> {
    body::parse(body, |r| page::read_facet(r, limits))
}

/// `POST …/points/search/matrix/pairs` and `…/offsets` (C6.9).
///
/// # Errors
/// As [`search`].
pub fn matrix(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<MatrixRequest> {
    body::parse_present(body, |r| page::read_matrix(r, limits))
}

/// `POST …/points/projection` (C6.10).
///
/// # Errors
/// As [`search`].
pub fn projection(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<ProjectionRequest> {
    body::parse_present(body, |r| page::read_projection(r, limits))
}

/// Parses an update that has a required field. The error for an absent body names that field.
fn update(body: &(impl RequestBody + ?Sized), limits: &Limits, operation: UpdateOperation) -> Result<Update> {
    body::parse(body, |r: &mut Reader<'_>| operation.read(r, &mut Budget::new(limits)))
}

/// Parses an update by `points` or `filter`, of which either suffices.
fn update_by_selection(
    body: &(impl RequestBody + ?Sized),
    limits: &Limits,
    operation: UpdateOperation,
) -> std::result::Result<Update, Error> {
    body::parse_present(body, |r| operation.read(r, &mut Budget::new(limits)))
}
