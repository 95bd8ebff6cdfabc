//! Indexing: while another indexer changes the graphs of a field, when all is done, and when it is given up.

use crate::catalog::Mode;
use crate::collection::GraphPolicy;
use crate::engine::{Engine, Operation, Options, Request};
use crate::field::IndexScratch;
use crate::limits::Thresholds;
use crate::storage::SimDisk;
use std::ops::Range;
use std::sync::Arc;

/// A field that has a graph from 641 points on.
const CONFIG: &str =
    r#"{"vectors":{"size":4,"distance":"Euclid"},"hnsw_config":{"m":8,"full_scan_threshold":10}}"#;

/// An engine on an empty disk.
pub fn open(thresholds: Thresholds) -> Engine {
    let options = Options { mode: Mode::Inline { seed: 1 }, thresholds, ..Options::default() };
    Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens")
}

fn request(operation: &str, body: &str) -> Request {
    Request::new(Operation::parse(operation).expect("a known operation"), "c", body.as_bytes().to_vec())
}

fn send(engine: &Engine, request: Request) {
    engine.execute(request, Box::new(|result| drop(result.expect("it is answered"))));
}

/// Sends a request to the collection `c`, which must be answered.
pub fn call(engine: &Engine, operation: &str, body: &str) {
    send(engine, request(operation, body));
}

fn upsert(engine: &Engine, ids: Range<u32>) {
    let point = |id: u32| format!(r#"{{"id":{id},"vector":[{id},{},{},1]}}"#, id % 7, id % 11);
    let points: Vec<String> = ids.map(point).collect();
    call(engine, "upsert_points", &format!(r#"{{"points":[{}]}}"#, points.join(",")));
}

#[test]
fn a_tail_is_taken_in_while_another_indexer_rewrites_the_graph() {
    let engine = open(Thresholds { vacuum_rows: 1, ..Thresholds::default() });
    call(&engine, "create_collection", CONFIG);
    upsert(&engine, 0..1000);
    engine.work_in_background(GraphPolicy::Never);
    let deleted: Vec<String> = (0..400).map(|id: u32| id.to_string()).collect();
    call(&engine, "delete_points", &format!(r#"{{"points":[{}]}}"#, deleted.join(",")));
    upsert(&engine, 1000..1100);
    let collection = Arc::clone(&engine.catalog().collections()[0]);
    let view = collection.view();
    let slot = &view.fields[0].graphs;
    let graph = slot.current.load_full().expect("a graph");
    let mut scratch = IndexScratch::default();
    // The other one holds the slot until it has rewritten the graph.
    assert!(slot.change(|| while collection.index_some(&mut scratch) {}));
    assert_eq!((graph.hnsw.len(), graph.indexed()), (1100, view.fields[0].end()));
    while collection.index_some(&mut scratch) {}
    let rewritten = slot.current.load_full().expect("a graph");
    assert!(!Arc::ptr_eq(&graph, &rewritten));
    assert_eq!((rewritten.hnsw.len(), collection.is_settled()), (700, true));
}

#[test]
fn there_are_rows_to_index_until_the_last_one_is_claimed() {
    let engine = open(Thresholds::default());
    call(&engine, "create_collection", CONFIG);
    let collection = Arc::clone(&engine.catalog().collections()[0]);
    upsert(&engine, 0..1000);
    assert!(collection.has_rows_to_index(), "there is no graph yet");
    engine.work_in_background(GraphPolicy::Never);
    assert!(!collection.has_rows_to_index());
    upsert(&engine, 1000..1001);
    assert!(collection.has_rows_to_index());
}

#[test]
fn a_field_index_is_given_up_when_the_engine_stops_or_the_collection_is_deleted() {
    for (stops, deletes) in [(false, false), (true, false), (false, true)] {
        let engine = open(Thresholds::default());
        call(&engine, "create_collection", CONFIG);
        upsert(&engine, 0..10);
        let mut declaration = request("create_field_index", r#"{"field_name":"k","field_schema":"integer"}"#);
        declaration.wait = false;
        send(&engine, declaration);
        let collection = Arc::clone(&engine.catalog().collections()[0]);
        if stops {
            engine.catalog().shared().indexer.close();
        }
        if deletes {
            call(&engine, "delete_collection", "");
            // Which removes its files.
            engine.work_in_background(GraphPolicy::Never);
        }
        assert_eq!((collection.has_all_indexes(), collection.is_retired()), (false, deletes));
        collection.build_indexes();
        assert_eq!(collection.has_all_indexes(), !stops && !deletes);
    }
}
