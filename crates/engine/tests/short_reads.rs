//! Short reads on the thread of their caller: answered as on a thread of the engine, or not at all.

mod common;

use kithdb_engine::catalog::ResidenceState;
use kithdb_engine::engine::{Access, Engine, Options, put_to_sleep};
use kithdb_engine::limits::Limits;
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::sync::{Arc, mpsc};

fn result(envelope: &[u8]) -> Value {
    serde_json::from_slice::<Value>(envelope).expect("envelopes are JSON")["result"].clone()
}

/// The answer of a thread of the engine.
fn on_a_thread(engine: &Engine, operation: &str, body: &Value) -> Value {
    let (send, receive) = mpsc::channel();
    engine.execute(common::request(operation, "c", body), Box::new(move |answer| drop(send.send(answer))));
    let answer = receive.recv().expect("every request is answered");
    result(&answer.unwrap_or_else(|error| panic!("{operation}: {error}")))
}

/// The answer of this thread, if it gives one.
fn here(engine: &Engine, operation: &str, body: &Value) -> Option<Value> {
    engine.answer_here(&common::request(operation, "c", body)).map(|envelope| result(&envelope))
}

fn engine() -> Engine {
    let options = Options { search_threads: 1, calibration_share: 0.0, ..Options::default() };
    let engine = Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens");
    on_a_thread(&engine, "create_collection", &json!({"vectors": {"size": 4, "distance": "Euclid"}}));
    let points: Vec<Value> = (0..200)
        .map(|id| json!({"id": id, "vector": [id, id % 7, id % 5, 1], "payload": {"n": id % 10}}))
        .collect();
    on_a_thread(&engine, "upsert_points", &json!({"points": points}));
    engine
}

#[test]
fn a_short_read_is_answered_as_on_a_thread_of_the_engine() {
    let engine = engine();
    let filter = json!({"must": [{"key": "n", "match": {"value": 3}}]});
    let reads = [
        ("search", json!({"vector": [5, 5, 5, 1], "limit": 4, "filter": filter, "with_payload": true})),
        ("query", json!({"query": 17, "limit": 4, "with_vector": true})),
        ("retrieve_points", json!({"ids": [3, 4], "with_payload": true})),
        ("count", json!({"filter": filter})),
    ];
    for (operation, body) in reads {
        // The machine may stop any thread for longer than a read may take here.
        let answer = (0..1000).find_map(|_| here(&engine, operation, &body));
        assert_eq!(answer, Some(on_a_thread(&engine, operation, &body)), "{operation}");
    }
    engine.close();
    assert_eq!(here(&engine, "count", &json!({})), None, "a closed engine answers nothing");
}

#[test]
fn a_read_that_may_give_out_texts_is_answered_here_unless_it_has_some_c16() {
    let engine = engine();
    let answered = |body: &Value| {
        let mut request = common::request("query", "c", body);
        request.gives_out_texts = true;
        engine.answer_here(&request).map(|envelope| result(&envelope))
    };
    let plain = json!({"query": [5, 5, 5, 1], "limit": 4});
    let answer = (0..1000).find_map(|_| answered(&plain));
    assert_eq!(answer, Some(on_a_thread(&engine, "query", &plain)));
    let text = json!({"query": {"text": "five", "model": "numbers"}, "limit": 4});
    assert_eq!(answered(&text), None, "its vectors are to be made first");
    engine.close();
}

#[test]
fn what_takes_long_or_fails_or_changes_something_is_left_to_the_threads_of_the_engine() {
    let engine = engine();
    let ids: Vec<u64> = (0..9_999).map(|id| id + 1_000_000_000_000_000_000).chain([1]).collect();
    let long = json!({"query": [1, 1, 1, 1], "filter": {"must": [{"has_id": ids}]}});
    assert_eq!(here(&engine, "query", &long), None, "200 KB are parsed for longer");
    assert_eq!(on_a_thread(&engine, "query", &long)["points"][0]["id"], json!(1));
    assert_eq!(here(&engine, "query", &json!({"query": [1]})), None, "a vector of another length");
    let batch = json!({"searches": [{"vector": [1, 1, 1, 1], "limit": 1}]});
    assert_eq!(here(&engine, "search_batch", &batch), None);
    assert_eq!(here(&engine, "scroll", &json!({})), None, "it may leave a cursor");
    assert_eq!(here(&engine, "delete_points", &json!({"points": [1]})), None);
    assert_eq!(on_a_thread(&engine, "count", &json!({})), json!({"count": 200}), "nothing was done");
    engine.close();
}

#[test]
fn searches_count_where_they_were_answered_and_not_where_they_were_given_up() {
    let engine = engine();
    let body = json!({"query": [5, 5, 5, 1], "limit": 4, "with_payload": true});
    let mut request = common::request("query", "c", &body);
    request.answer_budget = Some(8);
    assert_eq!(engine.answer_here(&request), None, "its answer is too long, which is found after the search");
    let searched = || engine.catalog().entries()[0].searches();
    assert_eq!((engine.status().searches.searches, searched()), (0, 0));
    let answered = (0..1000).find_map(|_| here(&engine, "query", &body));
    assert!(answered.is_some());
    assert_eq!((engine.status().searches.searches, searched()), (1, 1));
    engine.close();
}

#[test]
fn reads_whose_rate_is_limited_take_their_tokens_once_c4_3() {
    let engine = engine();
    let limited = json!({"strict_mode_config": {"enabled": true, "read_rate_limit": 2}});
    on_a_thread(&engine, "update_collection", &limited);
    let body = json!({"query": [5, 5, 5, 1], "limit": 4});
    for _ in 0..9 {
        assert_eq!(here(&engine, "query", &body), None);
    }
    assert_eq!(on_a_thread(&engine, "query", &body)["points"].as_array().map(Vec::len), Some(4));
    assert_eq!(on_a_thread(&engine, "query", &body)["points"].as_array().map(Vec::len), Some(4));
    engine.close();
}

#[test]
fn a_query_with_a_cursor_is_left_to_the_threads_of_the_engine_c22() {
    let engine = engine();
    let body = json!({"query": [5, 5, 5, 1], "limit": 4, "cursor": {"ttl": 600}});
    for _ in 0..9 {
        assert_eq!(here(&engine, "query", &body), None);
    }
    assert_eq!(engine.status().cursors.open, 0);
    assert_eq!(on_a_thread(&engine, "query", &body)["points"].as_array().map(Vec::len), Some(4));
    assert_eq!(engine.status().cursors.open, 1);
    engine.close();
}

#[test]
fn pages_of_a_cursor_that_are_begun_here_and_given_up_miss_no_point_c22() {
    let engine = engine();
    // With so few short documents the deadline is not looked at again behind the long one, which is the twentieth: a ranking
    // of four pages ends with it.
    on_a_thread(&engine, "delete_points", &json!({"points": (0..200).collect::<Vec<u64>>()}));
    let text = |id: u64| if id == 520 { "x".repeat(60_000) } else { String::new() };
    let points: Vec<Value> = (501..=530)
        .map(|id| json!({"id": id, "vector": [1, 1, 1, 1], "payload": {"a": 1, "text": text(id)}}))
        .collect();
    on_a_thread(&engine, "upsert_points", &json!({"points": points}));
    let next_of = |envelope: &Value| envelope["next_cursor"].clone();
    let ids_of = |envelope: &Value| -> Vec<u64> {
        let points = envelope["result"]["points"].as_array().expect("points");
        points.iter().map(|point| point["id"].as_u64().expect("an id")).collect()
    };
    let first = json!({
        "filter": {"must": {"key": "a", "match": {"value": 1}}},
        "limit": 4, "with_payload": false, "cursor": {"ttl": 600},
    });
    let answered = |body: &Value| -> (bool, Value) {
        let asked = || common::request("query", "c", body);
        let here = engine.answer_here(&asked());
        let is_here = here.is_some();
        let envelope = here.unwrap_or_else(|| {
            let (send, receive) = mpsc::channel();
            engine.execute(asked(), Box::new(move |answer| drop(send.send(answer))));
            receive.recv().expect("every request is answered").expect("a page")
        });
        (is_here, serde_json::from_slice(&envelope).expect("envelopes are JSON"))
    };
    let (_, mut page) = answered(&first);
    let (mut found, mut given_up) = (ids_of(&page), 0);
    while next_of(&page) != Value::Null {
        let (is_here, further) = answered(&json!({"cursor": next_of(&page)}));
        given_up += usize::from(!is_here);
        found.extend(ids_of(&further));
        page = further;
    }
    assert_eq!(found, (501..=530).collect::<Vec<u64>>());
    assert!(given_up > 0, "the page that looks at the long document is not answered here");
    engine.close();
}

#[test]
fn documents_that_a_caller_with_a_filter_asks_for_are_looked_at_by_a_thread_of_the_engine_c15() {
    let engine = engine();
    let text = "x".repeat(2_000);
    let points: Vec<Value> = (1_000..2_000)
        .map(|id| json!({"id": id, "vector": [1, 1, 1, 1], "payload": {"a": 1, "text": text}}))
        .collect();
    on_a_thread(&engine, "upsert_points", &json!({"points": points}));
    let conditions = [r#"{"key": "a", "match": {"value": 1}}"#; 5].join(",");
    let access = format!(r#"{{"filter": {{"must": [{conditions}]}}}}"#);
    let access = Arc::new(Access::parse(access.as_bytes(), &Limits::default()).expect("a filter"));
    let asked = |count: u64| {
        let body = json!({"ids": (1_000..1_000 + count).collect::<Vec<_>>(), "with_payload": false});
        let mut request = common::request("retrieve_points", "c", &body);
        request.access = Some(Arc::clone(&access));
        engine.answer_here(&request).map(|envelope| result(&envelope).as_array().map(Vec::len))
    };
    assert_eq!((0..1000).find_map(|_| asked(2)), Some(Some(2)));
    // 1,000 documents of 2 KB for five conditions are some 50 ms.
    assert_eq!(asked(1_000), None);
    engine.close();
}

#[test]
fn a_long_document_is_looked_at_by_a_thread_of_the_engine() {
    let engine = engine();
    let words: Vec<String> = (0..9_000).map(|word| format!("word {word} of a long list")).collect();
    let long = json!({"id": 500, "vector": [9, 9, 9, 9], "payload": {"words": words, "long": true}});
    on_a_thread(&engine, "upsert_points", &json!({"points": [long]}));
    let text = json!({"must_not": {"key": "words", "match": {"text": "absent"}}});
    for (operation, body) in [
        ("count", json!({"filter": {"must": [{"has_id": [500]}, text]}})),
        ("retrieve_points", json!({"ids": [500], "with_payload": ["long"]})),
        ("retrieve_points", json!({"ids": [500], "with_payload": true})),
    ] {
        assert_eq!(here(&engine, operation, &body), None, "{body}");
        assert!(on_a_thread(&engine, operation, &body) != Value::Null);
    }
    let without = json!({"ids": [500], "with_payload": false});
    assert!((0..1000).any(|_| here(&engine, "retrieve_points", &without).is_some()));
    engine.close();
}

#[test]
fn a_collection_that_sleeps_is_not_waited_for_here_c24() {
    let engine = engine();
    let entry = engine.catalog().entries().pop().expect("a collection");
    while !put_to_sleep(engine.catalog(), &entry) {
        std::thread::yield_now();
    }
    assert_eq!(here(&engine, "count", &json!({})), None);
    assert_eq!(on_a_thread(&engine, "count", &json!({})), json!({"count": 200}));
    assert_eq!(entry.residence_state(), Some(ResidenceState::Awake));
    engine.close();
}
