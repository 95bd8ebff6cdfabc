//! The engine as its callers see it: requests in, envelopes out, on one thread and a simulated disk.

mod common;

use common::TestEngine;
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::{Options, index_everything};
use kithdb_engine::error::Error;
use kithdb_engine::field::IndexScratch;
use kithdb_engine::limits::{Limits, Thresholds};
use kithdb_engine::storage::Storage;
use serde_json::{Value, json};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

fn cities(engine: &TestEngine) {
    engine.ok("create_collection", "cities", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    engine.ok(
        "upsert_points",
        "cities",
        json!({"points": [
            {"id": 1, "vector": [0.0, 0.0], "payload": {"name": "a", "n": 1}},
            {"id": 2, "vector": [1.0, 0.0], "payload": {"name": "b", "n": 2}},
            {"id": 3, "vector": [0.0, 2.0], "payload": {"name": "c", "n": 3}},
        ]}),
    );
}

#[test]
fn an_acknowledged_point_is_found_at_once_and_after_a_restart() {
    let mut engine = TestEngine::new(1);
    cities(&engine);
    let search = json!({"vector": [0.9, 0.0], "limit": 2, "with_payload": true});
    let expected = json!([
        {"id": 2, "version": 1, "score": 0.100000024, "payload": {"name": "b", "n": 2}},
        {"id": 1, "version": 1, "score": 0.9, "payload": {"name": "a", "n": 1}},
    ]);
    assert_eq!(engine.ok("search", "cities", search.clone()), expected);
    engine.restart();
    assert_eq!(engine.ok("search", "cities", search.clone()), expected);
    engine.checkpoint();
    engine.restart();
    assert_eq!(engine.ok("search", "cities", search), expected);
}

#[test]
fn collections_whose_name_is_refused_today_stay_c2_2() {
    let mut engine = TestEngine::new(8);
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    for name in ["cafe\u{301}", "a\u{200b}b", "docs\u{378}"] {
        assert_eq!(engine.refused("create_collection", name, config.clone()).0, "bad_request", "{name:?}");
        // As an earlier release made it, which did not ask.
        let parsed = kithdb_engine::api::create_collection(config.to_string().as_bytes(), &Limits::default());
        engine.engine().catalog().create(name, parsed.expect("a configuration"), None).expect("it is made");
        let point = json!({"points": [{"id": 1, "vector": [1.0, 0.0]}]});
        engine.ok("upsert_points", name, point.clone());
        engine.restart();
        engine.checkpoint();
        engine.restart();
        assert_eq!(engine.ok("count", name, json!({})), json!({"count": 1}));
        engine.ok("upsert_points", name, point);
        assert_eq!(engine.ok("delete_collection", name, Value::Null), json!(true));
    }
}

#[test]
fn a_checkpoint_carries_changes_deletions_and_field_indexes() {
    let mut engine = TestEngine::new(2);
    cities(&engine);
    engine.ok("create_field_index", "cities", json!({"field_name": "n", "field_schema": "integer"}));
    engine.checkpoint();
    engine.ok("delete_points", "cities", json!({"points": [1]}));
    engine.ok("set_payload", "cities", json!({"payload": {"n": 20}, "points": [2]}));
    engine.ok("update_vectors", "cities", json!({"points": [{"id": 3, "vector": [5.0, 5.0]}]}));
    engine.checkpoint();
    engine.restart();
    assert_eq!(
        engine.ok("scroll", "cities", json!({"with_vector": true}))["points"],
        json!([
            {"id": 2, "payload": {"name": "b", "n": 20}, "vector": [1.0, 0.0]},
            {"id": 3, "payload": {"name": "c", "n": 3}, "vector": [5.0, 5.0]},
        ])
    );
    let filter = json!({"filter": {"must": {"key": "n", "range": {"gte": 20}}}});
    assert_eq!(engine.ok("count", "cities", filter.clone()), json!({"count": 1}));
    let info = engine.ok("collection_info", "cities", json!(null));
    assert_eq!(info["payload_schema"]["n"], json!({"data_type": "integer", "params": null, "points": 0}));
    assert_eq!(info["status"], json!("yellow"), "the index is built when the collection serves already");
    assert_eq!(engine.ok("count", "cities", filter), json!({"count": 1}));
    engine.checkpoint();
    let info = engine.ok("collection_info", "cities", json!(null));
    assert_eq!((&info["status"], &info["payload_schema"]["n"]["points"]), (&json!("green"), &json!(2)));
    assert_eq!(info["points_count"], json!(2));
}

#[test]
fn a_failing_batch_leaves_nothing_behind_c1_7() {
    let mut engine = TestEngine::new(3);
    cities(&engine);
    let before = engine.digest("cities");
    let (code, details) = engine.refused(
        "batch_update",
        "cities",
        json!({"operations": [
            {"upsert": {"points": [{"id": 9, "vector": [1.0, 1.0]}]}},
            {"delete": {"points": [1]}},
            {"set_payload": {"payload": {"x": 1}, "points": [1]}},
        ]}),
    );
    assert_eq!((code.as_str(), details), ("point_not_found", json!({"ids": ["1"], "total": 1})));
    assert_eq!(engine.digest("cities"), before);
    engine.restart();
    assert_eq!(engine.digest("cities"), before);
}

#[test]
fn the_version_of_a_point_is_that_of_its_last_change_c5() {
    let engine = TestEngine::new(4);
    cities(&engine);
    let done = engine.ok("set_payload", "cities", json!({"payload": {"z": 1}, "points": [3]}));
    assert_eq!(done, json!({"operation_id": 2, "status": "completed"}));
    let found = engine.ok("search", "cities", json!({"vector": [0.0, 2.0], "limit": 1}));
    assert_eq!(found[0]["version"], json!(2));
}

#[test]
fn deleting_and_creating_again_starts_empty_c4_5() {
    let mut engine = TestEngine::new(5);
    cities(&engine);
    engine.checkpoint();
    assert_eq!(engine.ok("delete_collection", "cities", json!(null)), json!(true));
    assert_eq!(engine.ok("delete_collection", "cities", json!(null)), json!(false));
    assert_eq!(engine.refused("count", "cities", json!({})).0, "collection_not_found");
    engine.ok("create_collection", "cities", json!({"vectors": {"size": 3, "distance": "Dot"}}));
    engine.restart();
    assert_eq!(engine.ok("count", "cities", json!({})), json!({"count": 0}));
    assert_eq!(
        engine.refused("create_collection", "cities", json!({"vectors": {"size": 3, "distance": "Dot"}})).0,
        "collection_exists"
    );
}

/// Regression: a collection that was quarantined while a deletion waited for it got a new entry in the list. The
/// catalog's file had that entry beside the mark of the deletion, and a restart brought the collection back, empty.
#[test]
fn a_collection_that_is_quarantined_while_it_is_deleted_is_gone_c4_5() {
    let mut engine = TestEngine::new(6);
    cities(&engine);
    let catalog = Arc::clone(engine.engine().catalog());
    let reader = catalog.enter("cities").expect("it is there");
    let scrub = Arc::clone(&catalog);
    engine.disk.interleave(Some(Arc::new(move |place: &str| {
        if place == "before a collection is deleted"
            && let Some(entry) = scrub.entries().iter().find(|entry| entry.fault().is_none())
        {
            scrub.quarantine(entry, "a file is damaged");
        }
    })));
    let (send, receive) = mpsc::channel();
    let reply = move |result| drop(send.send(result));
    catalog.delete("cities", None, Deadline::new(Instant::now(), Duration::ZERO, "Delete"), Box::new(reply));
    catalog.answer_overdue_deletions();
    assert!(receive.recv().expect("an answer").expect("a sound log"));
    engine.disk.interleave(None);
    let entered = catalog.enter("cities").err();
    assert!(matches!(entered, Some(Error::CollectionNotFound(_) | Error::CollectionDeleted(_))));
    catalog.checkpoint().expect("a sound disk");
    drop((reader, catalog));
    engine.checkpoint();
    engine.restart();
    assert!(engine.engine().catalog().entries().is_empty());
}

#[test]
fn the_name_of_a_collection_whose_deletion_has_begun_is_neither_free_nor_of_use_c4_5() {
    let engine = TestEngine::new(7);
    cities(&engine);
    engine.ok("create_collection", "other", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let alias = |of: &str, name: &str| json!({"create_alias": {"collection_name": of, "alias_name": name}});
    engine.ok("change_aliases", "", json!({"actions": [alias("other", "second")]}));
    let catalog = Arc::clone(engine.engine().catalog());
    let reader = catalog.enter("cities").expect("it is there");
    let overdue = Deadline::new(Instant::now(), Duration::ZERO, "Delete");
    catalog.delete("cities", None, overdue, Box::new(|_| ()));
    let rename = json!({"rename_alias": {"old_alias_name": "second", "new_alias_name": "cities"}});
    for (operation, collection, body) in [
        ("change_aliases", "", json!({"actions": [alias("cities", "towns")]})),
        ("change_aliases", "", json!({"actions": [alias("other", "cities")]})),
        ("change_aliases", "", json!({"actions": [rename]})),
        ("create_collection", "cities", json!({"vectors": {"size": 2, "distance": "Dot"}})),
        ("collection_exists", "cities", Value::Null),
        ("count", "cities", json!({})),
    ] {
        let (code, _) = engine.refused(operation, collection, body.clone());
        assert_eq!(code, "collection_deleted", "{operation} {body}");
    }
    drop(reader);
    assert_eq!(engine.ok("collection_exists", "cities", Value::Null), json!({"exists": false}));
    engine.ok("change_aliases", "", json!({"actions": [alias("other", "cities")]}));
}

#[test]
fn a_count_that_may_be_an_estimate_looks_at_a_part_of_many_documents_c6_5() {
    let engine = TestEngine::new(8);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    for first in [0, 2500] {
        let point = |id: u64| json!({"id": id, "vector": [1], "payload": {"n": id}});
        let points: Vec<Value> = (first..first + 2500).map(point).collect();
        engine.ok("upsert_points", "c", json!({"points": points}));
    }
    let count = |exact: bool, most: u64| {
        let filter = json!({"must": {"key": "n", "range": {"lt": most}}});
        engine.ok("count", "c", json!({"filter": filter, "exact": exact}))["count"].as_u64().expect("a count")
    };
    assert_eq!(count(true, 1), 1);
    assert!([0, 5].contains(&count(false, 1)), "one of 1,024 documents stands for five: {}", count(false, 1));
    let half = count(false, 2500);
    assert!((2300..=2700).contains(&half), "{half}");
}

#[test]
fn an_estimate_looks_at_all_points_that_may_match_where_they_were_written_one_after_the_other_c6_5() {
    let engine = TestEngine::new(8);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    for first in (0..40_000).step_by(4_000) {
        let point = |id: u64| json!({"id": id, "vector": [1], "payload": {"t": id / 4_000, "n": id % 2}});
        let points: Vec<Value> = (first..first + 4_000).map(point).collect();
        engine.ok("upsert_points", "c", json!({"points": points}));
    }
    engine.ok("create_field_index", "c", json!({"field_name": "t", "field_schema": "integer"}));
    engine.build_indexes();
    for t in [0, 5, 9] {
        let of_t = json!([{"key": "t", "match": {"value": t}}, {"key": "n", "match": {"value": 1}}]);
        let count = engine.ok("count", "c", json!({"filter": {"must": of_t}, "exact": false}));
        assert!((1800..=2200).contains(&count["count"].as_u64().expect("a count")), "{count} of 2,000");
    }
}

#[test]
fn a_graph_and_a_scan_agree_and_survive_a_restart() {
    let mut engine = TestEngine::new(6);
    let hnsw = json!({"m": 8, "ef_construct": 64, "full_scan_threshold": 10});
    let vectors = json!({"size": 8, "distance": "Cosine"});
    engine.ok("create_collection", "g", json!({"vectors": vectors, "hnsw_config": hnsw}));
    let mut random = common::Random(7);
    for chunk in 0..30 {
        let points: Vec<_> = (0..100)
            .map(|at| json!({"id": chunk * 100 + at, "vector": random.vector(8), "payload": {"part": at % 10}}))
            .collect();
        engine.ok("upsert_points", "g", json!({"points": points}));
    }
    for round in 0..3 {
        let info = engine.ok("collection_info", "g", json!(null));
        let indexed = info["indexed_vectors_count"].as_u64().unwrap();
        if round == 0 {
            assert_eq!((info["status"].as_str(), indexed), (Some("yellow"), 0));
            engine.checkpoint();
        } else {
            assert_eq!((info["status"].as_str(), indexed), (Some("green"), 3000));
        }
        for _ in 0..20 {
            let query = random.vector(8);
            let filter = json!({"must": {"key": "part", "match": {"value": 3}}});
            for filter in [json!(null), filter] {
                let search = |exact: bool| {
                    let params = json!({"exact": exact, "hnsw_ef": 100});
                    let body = json!({"vector": query, "limit": 5, "filter": filter, "params": params});
                    engine.ok("search", "g", body)
                };
                // Few points match the filter, so they are scanned.
                let is_walk = round > 0 && filter.is_null();
                let found = if is_walk { engine.client().walked(|| search(false)) } else { search(false) };
                assert_eq!(found, search(true));
            }
        }
        if round == 1 {
            engine.restart();
        }
    }
}

/// As at a stop under load.
#[test]
fn a_graph_that_is_written_while_rows_wait_for_it_covers_none_of_them() {
    const INDEXED: usize = 3000;
    let mut engine = TestEngine::new(8);
    let hnsw = json!({"m": 8, "ef_construct": 64, "full_scan_threshold": 10});
    let vectors = json!({"size": 8, "distance": "Euclid"});
    engine.ok("create_collection", "g", json!({"vectors": vectors, "hnsw_config": hnsw}));
    let mut random = common::Random(9);
    let vectors: Vec<Vec<f32>> = (0..INDEXED + 50).map(|_| random.vector(8)).collect();
    let upsert = |engine: &TestEngine, ids: std::ops::Range<usize>| {
        let points: Vec<_> = ids.map(|id| json!({"id": id, "vector": vectors[id]})).collect();
        engine.ok("upsert_points", "g", json!({"points": points}));
    };
    let indexed =
        |engine: &TestEngine| engine.ok("collection_info", "g", json!({}))["indexed_vectors_count"].clone();
    upsert(&engine, 0..INDEXED);
    // Nothing has written the graph yet: the checkpoint does, while the rows behind it wait.
    index_everything(engine.engine().catalog(), &mut IndexScratch::default());
    upsert(&engine, INDEXED..vectors.len());
    assert_eq!(indexed(&engine), json!(INDEXED), "the others wait");
    let collection = Arc::clone(&engine.engine().catalog().collections()[0]);
    collection.checkpoint(GraphPolicy::Always).expect("the disk works");
    drop(collection);
    engine.restart();
    assert_eq!(indexed(&engine), json!(INDEXED), "the graph is in use, and what waited for it waits again");
    for (id, vector) in vectors.iter().enumerate().skip(INDEXED) {
        let search = || engine.ok("search", "g", json!({"vector": vector, "limit": 1}));
        assert_eq!(engine.client().walked(search)[0]["id"], json!(id));
    }
}

#[test]
fn ordering_does_not_depend_on_an_index_c6_7() {
    let engine = TestEngine::new(8);
    engine.ok("create_collection", "o", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let mut random = common::Random(9);
    let points: Vec<_> = (0..300)
        .map(|id| {
            let payload = match random.below(5) {
                0 => json!({}),
                1 => json!({"n": [random.below(20), random.below(20), 7, 7]}),
                2 => json!({"n": random.below(20), "t": "2024-01-02T03:04:05Z"}),
                _ => json!({"n": random.below(400), "t": format!("2024-01-{:02}", 1 + random.below(28))}),
            };
            json!({"id": id, "vector": [1.0], "payload": payload})
        })
        .collect();
    engine.ok("upsert_points", "o", json!({"points": points}));
    let mut asked = Vec::new();
    for key in ["n", "t"] {
        for direction in ["asc", "desc"] {
            for start in [json!(null), json!(7), json!(7.5), json!("2024-01-10T00:00:00Z")] {
                for filter in [json!(null), json!({"must_not": {"has_id": [1, 2, 3, 4, 5]}})] {
                    let order_by = json!({"key": key, "direction": direction, "start_from": start});
                    asked.push(
                        json!({"order_by": order_by, "limit": 25, "filter": filter, "with_payload": false}),
                    );
                }
            }
        }
    }
    let answers = |engine: &TestEngine| -> Vec<_> {
        asked.iter().map(|body| engine.ok("scroll", "o", body.clone())).collect()
    };
    let before = answers(&engine);
    engine.ok("create_field_index", "o", json!({"field_name": "n", "field_schema": "integer"}));
    engine.ok("create_field_index", "o", json!({"field_name": "t", "field_schema": "datetime"}));
    assert_eq!(answers(&engine), before);
}

#[test]
fn points_with_a_vector_are_known_without_looking_c7() {
    let mut engine = TestEngine::new(5);
    let vectors = json!({"a": {"size": 1, "distance": "Dot"}, "b": {"size": 1, "distance": "Dot"}});
    engine.ok("create_collection", "v", json!({"vectors": vectors}));
    let points: Vec<Value> = (0..30u64)
        .map(|id| {
            let vector = [json!({}), json!({"a": [1]}), json!({"a": [1], "b": [2]})][id as usize % 3].clone();
            json!({"id": id, "vector": vector})
        })
        .collect();
    engine.ok("upsert_points", "v", json!({"points": points}));
    engine.ok("delete_vectors", "v", json!({"points": [1, 2], "vector": ["a"]}));
    engine.ok("update_vectors", "v", json!({"points": [{"id": 0, "vector": {"b": [3]}}]}));
    engine.ok("delete_points", "v", json!({"points": [3, 4, 5]}));
    let counts = |engine: &TestEngine| {
        [
            json!({"has_vector": "a"}),
            json!({"has_vector": "b"}),
            json!({"has_vector": "c"}),
            json!({"has_vector": ""}),
        ]
        .map(|condition| {
            let of = |group: &str| {
                engine.ok("count", "v", json!({"filter": {group: condition}}))["count"].as_u64()
            };
            (of("must"), of("must_not"))
        })
    };
    let expected = [(16, 11), (10, 17), (0, 27), (0, 27)].map(|(with, without)| (Some(with), Some(without)));
    assert_eq!(counts(&engine), expected);
    engine.checkpoint();
    engine.restart();
    assert_eq!(counts(&engine), expected);
}

#[test]
fn a_count_that_need_not_be_exact_is_near_c6_5() {
    let engine = TestEngine::new(6);
    engine.ok("create_collection", "n", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    for from in (0..9_000u64).step_by(3_000) {
        let points: Vec<Value> = (from..from + 3_000)
            .map(|id| json!({"id": id, "vector": [1], "payload": {"n": id % 10}}))
            .collect();
        engine.ok("upsert_points", "n", json!({"points": points}));
    }
    let count = |exact: bool, below: u64| {
        let filter = json!({"must": {"key": "n", "range": {"lt": below}}});
        engine.ok("count", "n", json!({"filter": filter, "exact": exact}))["count"]
            .as_u64()
            .expect("a number")
    };
    for below in [0, 3, 10] {
        let (near, exact) = (count(false, below), count(true, below));
        assert_eq!(exact, 900 * below);
        assert!(near.abs_diff(exact) <= 500, "{near} for {exact}");
    }
    engine.ok("create_field_index", "n", json!({"field_name": "n", "field_schema": "integer"}));
    assert_eq!(count(false, 3), 2_700);
}

#[test]
fn equal_scores_are_ordered_by_id_c2_4() {
    let engine = TestEngine::new(10);
    engine.ok("create_collection", "t", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    let points = json!([{"id": 2, "vector": [1.0, 0.0]}, {"id": 1, "vector": [1.0, 3.5e-4]}]);
    engine.ok("upsert_points", "t", json!({"points": points}));
    let found = engine.ok("search", "t", json!({"vector": [0.0, 0.0]}));
    assert_eq!(found, json!([{"id": 1, "version": 1, "score": 1.0}, {"id": 2, "version": 1, "score": 1.0}]));
}

#[test]
fn the_graphs_largest_parameters_are_those_of_the_configuration_c4_3() {
    let engine = TestEngine::new(11);
    let create = |name: &str, hnsw: serde_json::Value| {
        engine.call(
            "create_collection",
            name,
            json!({"vectors": {"size": 64, "distance": "Dot"}, "hnsw_config": hnsw}),
        )
    };
    for hnsw in [json!({"m": 513}), json!({"ef_construct": 65_537})] {
        assert_eq!(create("x", hnsw).unwrap_err().code(), "bad_request");
    }
    create("most", json!({"m": 512, "ef_construct": 65_536, "full_scan_threshold": 10})).unwrap();
    let points: Vec<_> = (0..100).map(|id| json!({"id": id, "vector": vec![id; 64]})).collect();
    engine.ok("upsert_points", "most", json!({"points": points}));
    engine.checkpoint();
    assert_eq!(engine.ok("collection_info", "most", json!(null))["status"], "green");
}

#[test]
fn a_batch_is_bounded_as_a_whole_c2_7() {
    let engine = TestEngine::new(12);
    cities(&engine);
    let many: Vec<_> = (0..11).map(|_| json!({"limit": 100_000})).collect();
    let (code, details) = engine.refused("query_batch", "cities", json!({"searches": many}));
    assert_eq!(code, "bad_request");
    assert!(details["message"].as_str().unwrap().contains("max_result_window"), "{details}");
}

#[test]
fn an_operation_too_long_for_a_record_of_the_log_is_refused_alone_c1_7() {
    let mut engine = TestEngine::with_limits(Limits { max_record_bytes: 2000, ..Limits::default() });
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    for first in (0..400).step_by(20) {
        let point = |id| json!({"id": id, "vector": [id, 1], "payload": {"n": id}});
        engine.ok(
            "upsert_points",
            "c",
            json!({"points": (first..first + 20).map(point).collect::<Vec<_>>()}),
        );
    }
    let before = engine.digest("c");
    // The log lists the points by id, at least nine bytes each.
    let everything = json!({"filter": {"must": [{"key": "n", "range": {"gte": 0}}]}});
    let Err(Error::BadRequest(why)) = engine.call("delete_points", "c", everything.clone()) else {
        panic!("400 deletions in 2,000 bytes")
    };
    assert_eq!(
        why,
        "the operation touches 400 points and takes 3617 bytes in the log, where 2000 fit: touch fewer points at a time"
    );
    assert_eq!(engine.digest("c"), before);
    let operations = json!([{"set_payload": {"payload": {"m": 1}, "points": [1]}}, {"delete": everything}]);
    let batch = json!({"operations": operations});
    assert!(matches!(engine.call("batch_update", "c", batch), Err(Error::BadRequest(_))));
    assert_eq!(engine.digest("c"), before);
    engine.ok("delete_points", "c", json!({"filter": {"must": [{"key": "n", "range": {"lt": 200}}]}}));
    engine.ok("set_payload", "c", json!({"payload": {"m": 2}, "points": [300]}));
    let after = engine.digest("c");
    engine.restart();
    assert_eq!(engine.digest("c"), after);
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": 200}));
}

/// An engine with these limits, and a collection of `points` points with an empty payload.
fn limited(limits: Limits, points: u64) -> TestEngine {
    let engine = TestEngine::with_limits(limits);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let points: Vec<_> = (0..points).map(|id| json!({"id": id, "vector": [1]})).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    engine
}

#[test]
fn edits_add_no_more_to_payloads_than_memory_holds_c1_7() {
    let mut engine = limited(Limits { max_added_payload_bytes: 50_000, ..Limits::default() }, 100);
    let before = engine.digest("c");
    let patch = |ids: std::ops::Range<u64>| json!({"payload": {"x": "x".repeat(1_000)}, "points": ids.collect::<Vec<_>>()});
    for (operation, body) in [
        ("set_payload", patch(0..100)),
        ("overwrite_payload", patch(0..100)),
        ("set_payload", json!({"payload": {"x": "x".repeat(1_000)}, "filter": {}})),
        ("set_payload", json!({"payload": {"x": "x".repeat(1_000)}, "key": "a.b", "filter": {}})),
        (
            "batch_update",
            json!({"operations": [{"set_payload": patch(0..30)}, {"set_payload": patch(40..70)}]}),
        ),
    ] {
        let Err(Error::BadRequest(why)) = engine.call(operation, "c", body) else {
            panic!("{operation} writes a thousand bytes into each of a hundred points")
        };
        assert!(
            why.ends_with("payloads would grow by more than 50000 bytes: touch fewer points at a time"),
            "{why}"
        );
        assert_eq!(engine.digest("c"), before);
    }
    // What replaces as much as it adds needs no room.
    engine.ok("set_payload", "c", patch(0..40));
    for _ in 0..3 {
        engine.ok("overwrite_payload", "c", patch(0..40));
    }
    engine.ok("set_payload", "c", patch(40..80));
    engine.ok("set_payload", "c", json!({"payload": {"y": 1}, "filter": {}}));
    let after = engine.digest("c");
    engine.restart();
    assert_eq!(engine.digest("c"), after);
}

#[test]
fn a_long_array_is_ordered_by_each_of_its_values_once_c6_7() {
    let engine = limited(Limits::default(), 2);
    let values: Vec<u64> = (0..30_000).map(|n| n * 7_919 % 10_000).collect();
    engine.ok("set_payload", "c", json!({"payload": {"k": values}, "points": [1]}));
    engine.ok("set_payload", "c", json!({"payload": {"k": [3.5, 3]}, "points": [0]}));
    let page = |order_by: Value, limit: u64| {
        let page =
            engine.ok("scroll", "c", json!({"order_by": order_by, "limit": limit, "with_payload": false}));
        let rows = page["points"].as_array().expect("points");
        rows.iter().map(|row| (row["id"].as_u64(), row["order_value"].clone())).collect::<Vec<_>>()
    };
    let first = [
        (1, json!(0)),
        (1, json!(1)),
        (1, json!(2)),
        (0, json!(3)),
        (1, json!(3)),
        (0, json!(3.5)),
        (1, json!(4)),
    ];
    assert_eq!(page(json!("k"), 7), first.map(|(id, value)| (Some(id), value)));
    let last = page(json!({"key": "k", "direction": "desc", "start_from": 9_000}), 5_000);
    assert_eq!(last.len(), 5_000);
    let at = |place: usize| last[place].1.as_u64();
    assert_eq!((at(0), at(4_999)), (Some(9_000), Some(4_001)));
    assert_eq!(page(json!("k"), 20_000).len(), 10_002);
}

#[test]
fn an_answer_that_would_exceed_its_limit_is_refused_for_every_operation() {
    let limits = Limits { max_answer_bytes: 20_000, ..Limits::default() };
    let engine = TestEngine::with_limits(limits);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let points: Vec<Value> = (0..100)
        .map(|id| json!({"id": id, "vector": [1, id], "payload": {"text": "x".repeat(400)}}))
        .collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    let ids = |count: u64| (0..count).collect::<Vec<u64>>();
    let search = |limit: u64| json!({"vector": [1, 1], "limit": limit, "with_payload": true});
    let half = json!({"searches": [search(25), search(25)]});
    for (operation, small, great) in [
        ("retrieve_points", json!({"ids": ids(30)}), json!({"ids": ids(60)})),
        ("scroll", json!({"limit": 30}), json!({"limit": 60})),
        ("search", search(30), search(60)),
        ("query", json!({"limit": 30, "with_payload": true}), json!({"limit": 60, "with_payload": true})),
        ("search_batch", json!({"searches": [search(15), search(15)]}), half),
    ] {
        engine.ok(operation, "c", small);
        let (code, details) = engine.refused(operation, "c", great);
        assert_eq!(code, "bad_request", "{operation}");
        let message = details["message"].as_str().expect("a sentence");
        assert!(message.contains("more than 20000 bytes"), "{operation}: {message}");
    }
    engine.ok("scroll", "c", json!({"limit": 100, "with_payload": false}));
}

#[test]
fn the_file_of_the_catalog_is_written_where_only_its_records_keep_finished_segments_of_the_log() {
    let thresholds = Thresholds { log_segment_bytes: 1 << 10, ..Thresholds::default() };
    let engine = TestEngine::with_options(Options {
        mode: Mode::Inline { seed: 1 },
        thresholds,
        ..Options::default()
    });
    let segments = || {
        let names = engine.disk.list("log").expect("a folder");
        names.iter().filter(|name| name.ends_with(".log")).count()
    };
    let make_aliases = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            let alias = json!({"collection_name": "cities", "alias_name": format!("alias{number}")});
            engine.ok("change_aliases", "", json!({"actions": [{"create_alias": alias}]}));
        }
    };
    cities(&engine);
    engine.checkpoint();
    let catalog = engine.engine().catalog();
    make_aliases(0..30);
    // The log keeps the creation of a collection that has no checkpoint.
    engine.ok("create_collection", "late", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let before = segments();
    catalog.release_segments();
    catalog.cut_log();
    assert!(segments() < before, "{before} segments are kept");

    // Now these are behind what the collection keeps, and writing the file would release nothing.
    make_aliases(30..60);
    let file = || engine.disk.read("catalog/CATALOG").expect("a file");
    let (before, written) = (segments(), file());
    catalog.release_segments();
    assert!(before > 1 && file() == written);
}
