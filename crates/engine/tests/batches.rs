//! Batches of searches on an engine with threads: answered as if each search had come alone.

mod common;

use common::Random;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::error::Error;
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::sync::{Arc, mpsc};

const SIZE: usize = 24;
const POINTS: u64 = 1_500;

/// Requests in flight at once, for tests of what happens when every thread has a batch.
fn start(
    engine: &Engine,
    operation: &str,
    collection: &str,
    body: &Value,
) -> mpsc::Receiver<Result<Vec<u8>, Error>> {
    let (send, receive) = mpsc::channel();
    let request = common::request(operation, collection, body);
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    receive
}

fn result(answer: &mpsc::Receiver<Result<Vec<u8>, Error>>) -> Result<Value, Error> {
    let envelope = answer.recv().expect("every request is answered")?;
    Ok(serde_json::from_slice::<Value>(&envelope).expect("envelopes are JSON")["result"].clone())
}

fn call(engine: &Engine, operation: &str, collection: &str, body: &Value) -> Result<Value, Error> {
    result(&start(engine, operation, collection, body))
}

/// A collection of few different coordinates, so that ties are frequent; some points lack a vector.
fn engine(threads: usize) -> Engine {
    let disk = Arc::new(SimDisk::new());
    let options = Options { search_threads: threads, ..Options::default() };
    let engine = Engine::open(disk, options).expect("an empty disk opens");
    let vectors = json!({"a": {"size": SIZE, "distance": "Euclid"}, "b": {"size": 2, "distance": "Cosine"}});
    let ok = |operation: &str, body: Value| call(&engine, operation, "c", &body).expect("accepted");
    ok("create_collection", json!({"vectors": vectors}));
    ok("create_field_index", json!({"field_name": "n", "field_schema": "integer"}));
    let mut random = Random(7);
    let points: Vec<Value> = (0..POINTS)
        .map(|id| {
            let vector: Vec<u64> = (0..SIZE).map(|_| random.below(3)).collect();
            let payload = json!({"n": random.below(10), "m": random.below(10)});
            match id % 9 {
                0 => json!({"id": id, "vector": {"b": [1.0, 2.0]}, "payload": payload}),
                _ => {
                    json!({"id": id, "vector": {"a": vector, "b": [random.below(5), 1]}, "payload": payload})
                }
            }
        })
        .collect();
    ok("upsert_points", json!({"points": points}));
    engine
}

/// Any query that a batch may hold.
fn any_query(random: &mut Random) -> Value {
    let vector: Vec<u64> = (0..SIZE).map(|_| random.below(3)).collect();
    let (limit, offset, exact) = (1 + random.below(15), random.below(3), random.chance(70));
    let filter = match random.below(4) {
        0 => json!({"must": {"key": "n", "range": {"lt": 1 + random.below(2)}}}),
        1 => json!({"must": {"key": "m", "match": {"value": random.below(2)}}}),
        _ => json!(null),
    };
    let params = json!({"exact": exact});
    let body = |query: Value, using: &str| json!({"query": query, "using": using, "limit": limit, "offset": offset, "filter": filter, "params": params});
    match random.below(8) {
        0 => body(json!([random.below(4), 1]), "b"),
        1 => body(json!(1 + random.below(8)), "a"),
        2 => body(json!({"order_by": "n"}), "a"),
        3 => json!({"query": vector, "using": "a", "limit": limit, "score_threshold": 20, "params": params}),
        _ => body(json!(vector), "a"),
    }
}

#[test]
fn a_batch_answers_what_its_searches_answer_alone_c6_2_c6_3() {
    for threads in [1, 3] {
        let engine = engine(threads);
        let mut random = Random(threads as u64);
        for size in [0, 1, 2, 40, 300] {
            let searches: Vec<Value> = (0..size).map(|_| any_query(&mut random)).collect();
            let batch = call(&engine, "query_batch", "c", &json!({"searches": searches})).expect("a batch");
            let batch = batch.as_array().expect("a list");
            assert_eq!(batch.len(), size);
            for (search, answer) in searches.iter().zip(batch) {
                let alone = call(&engine, "query", "c", search).expect("a search");
                assert_eq!(*answer, alone, "{search}");
            }
        }
        engine.close();
    }
}

#[test]
fn a_batch_fails_with_its_first_error_and_its_place_c6_2() {
    let engine = engine(3);
    let mut random = Random(5);
    for at in [0, 17, 199] {
        let mut searches: Vec<Value> = (0..200).map(|_| any_query(&mut random)).collect();
        searches[at] = json!({"query": [1.0], "using": "a", "params": {"exact": true}});
        if let Some(later) = searches.get_mut(at + 1) {
            *later = json!({"query": [1.0], "using": "nowhere"});
        }
        let error =
            call(&engine, "query_batch", "c", &json!({"searches": searches})).expect_err("one is bad");
        let details: Value = serde_json::from_slice(&error.details_json()).expect("details are JSON");
        assert_eq!(
            (error.code(), &details["place"]),
            ("dimension_mismatch", &json!(format!("searches[{at}]")))
        );
    }
    engine.close();
}

#[test]
fn more_batches_than_threads_are_all_answered() {
    let engine = engine(2);
    let mut random = Random(6);
    let searches: Vec<Value> = (0..50).map(|_| any_query(&mut random)).collect();
    let body = json!({"searches": searches});
    let expected = call(&engine, "query_batch", "c", &body).expect("a batch");
    // On a slow machine all of them are heavy, in a part for each thread, and of those two threads take sixteen.
    let answers: Vec<_> = (0..6).map(|_| start(&engine, "query_batch", "c", &body)).collect();
    for answer in &answers {
        assert_eq!(result(answer).expect("a batch"), expected);
    }
    engine.close();
}

#[test]
fn the_status_counts_what_searches_did_on_every_thread() {
    let engine = engine(3);
    assert_eq!(engine.status().searches.exact_scans, 0);
    let vector = vec![1; SIZE];
    let search = json!({"query": vector, "using": "a", "params": {"exact": true}});
    call(&engine, "query", "c", &search).expect("a search");
    call(&engine, "query_batch", "c", &json!({"searches": vec![search; 100]})).expect("a batch");
    let searches = engine.status().searches;
    // Without a graph nothing is walked.
    assert_eq!((searches.exact_scans, searches.wide_walks, searches.distances), (101, 0, 0));
    engine.close();
}
