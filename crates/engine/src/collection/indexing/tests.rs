//! Indexing while another indexer changes the graphs of a field.

use crate::catalog::Mode;
use crate::collection::GraphPolicy;
use crate::engine::{Engine, Operation, Options, Request};
use crate::field::IndexScratch;
use crate::limits::Thresholds;
use crate::storage::SimDisk;
use std::ops::Range;
use std::sync::Arc;

fn call(engine: &Engine, operation: &str, body: &str) {
    let operation = Operation::parse(operation).expect("a known operation");
    let request = Request::new(operation, "c", body.as_bytes().to_vec());
    engine.execute(request, Box::new(|result| drop(result.expect("it is answered"))));
}

fn upsert(engine: &Engine, ids: Range<u32>) {
    let point = |id: u32| format!(r#"{{"id":{id},"vector":[{id},{},{},1]}}"#, id % 7, id % 11);
    let points: Vec<String> = ids.map(point).collect();
    call(engine, "upsert_points", &format!(r#"{{"points":[{}]}}"#, points.join(",")));
}

#[test]
fn a_tail_is_taken_in_while_another_indexer_rewrites_the_graph() {
    let thresholds = Thresholds { vacuum_rows: 1, ..Thresholds::default() };
    let options = Options { mode: Mode::Inline { seed: 1 }, thresholds, ..Options::default() };
    let engine = Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens");
    let config =
        r#"{"vectors":{"size":4,"distance":"Euclid"},"hnsw_config":{"m":8,"full_scan_threshold":10}}"#;
    call(&engine, "create_collection", config);
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
