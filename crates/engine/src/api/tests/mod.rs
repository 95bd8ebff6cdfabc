//! The bodies that parsers accept and refuse, and the bytes of answers.

mod arrow;
mod corpus;
mod mutations;
mod queries;
mod reads;
mod responses;
mod string_ids;
mod updates;

use crate::error::Error;
use crate::limits::Limits;
use serde_json::Value;
use std::fmt::Debug;

/// Runs the parser of that operation. Returns an accepted operation as text.
fn parse(operation: &str, body: &[u8], limits: &Limits) -> Result<String, Error> {
    fn shown<T: Debug>(result: Result<T, Error>) -> Result<String, Error> {
        result.map(|value| format!("{value:?}"))
    }
    match operation {
        "create_collection" => shown(super::create_collection(body, limits)),
        "create_vector_name" => shown(super::create_vector_name(body)),
        "update_collection" => shown(super::update_collection(body)),
        "create_field_index" => shown(super::create_field_index(body)),
        "upsert_points" => shown(super::upsert(body, limits)),
        "sync_points" => shown(super::sync_points(body, limits)),
        "plan_sync" => shown(super::plan_sync(body, limits)),
        "reembed_vectors" => shown(super::reembed_vectors(body)),
        "commit_reembedding" => shown(super::commit_reembedding(body)),
        "next_texts" => shown(super::next_texts(body)),
        "fill_vectors" => shown(super::fill_vectors(body)),
        "delete_points" => shown(super::delete_points(body, limits)),
        "update_vectors" => shown(super::update_vectors(body, limits)),
        "delete_vectors" => shown(super::delete_vectors(body, limits)),
        "set_payload" => shown(super::set_payload(body, limits)),
        "overwrite_payload" => shown(super::overwrite_payload(body, limits)),
        "delete_payload" => shown(super::delete_payload(body, limits)),
        "clear_payload" => shown(super::clear_payload(body, limits)),
        "batch_update" => shown(super::batch_update(body, limits)),
        // The engine checks the name, for it asks for rights to it first.
        "clone_collection" => {
            let name = super::clone_collection(body)?;
            crate::name::check_collection_name(&name)?;
            shown(Ok(name))
        }
        "link_snapshot" => shown(super::link_snapshot(body)),
        "adopt_folders" => shown(super::adopt_folders(body, limits)),
        "replica_state" => shown(super::replica_state(body)),
        "retrieve_points" => shown(super::retrieve(body, limits)),
        "search" => shown(super::search(body, limits)),
        "search_batch" => shown(super::search_batch(body, limits)),
        "query" => shown(super::query(body, limits)),
        "query_batch" => shown(super::query_batch(body, limits)),
        "scroll" => shown(super::scroll(body, limits)),
        "count" => shown(super::count(body, limits)),
        "recommend" => shown(super::recommend(body, limits)),
        "discover" => shown(super::discover(body, limits)),
        "facet" => shown(super::facet(body, limits)),
        "matrix_pairs" | "matrix_offsets" => shown(super::matrix(body, limits)),
        "project_points" => shown(super::projection(body, limits)),
        other => panic!("no operation {other}"),
    }
}

/// The message of a refusal, or the name that it holds.
fn message(error: &Error) -> String {
    let details: Value = serde_json::from_slice(&error.details_json()).unwrap();
    let text = ["message", "field", "name"].iter().find_map(|key| details.get(key)?.as_str());
    text.unwrap_or_default().to_string()
}

/// Asserts that a body is refused with that message.
#[track_caller]
fn refused(operation: &str, body: &str, expected: &str) {
    let error = parse(operation, body.as_bytes(), &Limits::default()).expect_err(body);
    assert!(message(&error).contains(expected), "{operation} {body}\n  {error}\n  lacks {expected:?}");
}

/// Asserts that a body is accepted. Returns its meaning.
#[track_caller]
fn accepted(operation: &str, body: &str) -> String {
    parse(operation, body.as_bytes(), &Limits::default())
        .unwrap_or_else(|error| panic!("{operation} {body}\n  {error}"))
}

/// Asserts that two bodies mean the same.
#[track_caller]
fn same(operation: &str, one: &str, other: &str) {
    assert_eq!(accepted(operation, one), accepted(operation, other), "{operation} {one} {other}");
}
