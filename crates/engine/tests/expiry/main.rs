//! C17: a point whose time has come is found by nobody, and is removed in the background by a write like others.

#[path = "../common/mod.rs"]
mod common;
mod random;
mod walks;

use common::{SHORT_FILES, TestEngine};
use kithdb_engine::collection::{GraphPolicy, REMOVED_AT_ONCE};
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};

const COLLECTION: &str = "things";

fn set_clock(engine: &TestEngine, seconds: i64) {
    engine.engine().catalog().shared().clock.set_seconds(seconds);
}

fn removed(engine: &TestEngine) -> u64 {
    engine.engine().status().expired_points
}

fn new_engine(seed: u64, config: Value) -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
    set_clock(&engine, 100);
    engine.ok("create_collection", COLLECTION, config);
    engine
}

fn config() -> Value {
    json!({"vectors": {"size": 2, "distance": "Dot"}, "expire_at_key": "until"})
}

fn ids(points: &Value) -> Vec<u64> {
    let mut ids: Vec<u64> = points
        .as_array()
        .expect("a list")
        .iter()
        .map(|point| point["id"].as_u64().expect("a number"))
        .collect();
    ids.sort_unstable();
    ids
}

/// What every kind of read finds.
fn everything(engine: &TestEngine) -> Vec<(&'static str, Vec<u64>)> {
    let ok = |operation, body| engine.ok(operation, COLLECTION, body);
    let near = json!({"vector": [1, 1], "limit": 100});
    let matching =
        json!({"vector": [1, 1], "limit": 100, "filter": {"must": {"key": "kind", "match": {"value": "a"}}}});
    let queried = |query: Value| ids(&ok("query", query)["points"]);
    let pairs = ok("matrix_offsets", json!({"sample": 100, "limit": 3}));
    let mut in_matrix: Vec<u64> =
        pairs["ids"].as_array().expect("a list").iter().map(|id| id.as_u64().expect("a number")).collect();
    in_matrix.sort_unstable();
    let counted = |filter: Value| ok("count", json!({"filter": filter}))["count"].as_u64().expect("a number");
    let facet = ok("facet", json!({"key": "kind"}));
    let facet =
        facet["hits"].as_array().expect("a list").iter().map(|hit| hit["count"].as_u64().expect("a number"));
    let groups = ok("query_groups", json!({"query": [1, 1], "group_by": "kind", "group_size": 100}));
    let map = ok("project_points", json!({"method": "pca"}));
    let mut on_map: Vec<u64> =
        map["ids"].as_array().expect("a list").iter().map(|id| id.as_u64().expect("a number")).collect();
    on_map.sort_unstable();
    vec![
        ("groups", ids(&groups["groups"][0]["hits"])),
        ("projection", on_map),
        ("search", ids(&ok("search", near.clone()))),
        ("filtered", ids(&ok("search", matching.clone()))),
        ("exact", ids(&ok("search", json!({"vector": [1, 1], "limit": 100, "params": {"exact": true}})))),
        ("batch", ids(&ok("search_batch", json!({"searches": [near, matching]}))[0])),
        ("by id", queried(json!({"limit": 100}))),
        ("sample", queried(json!({"query": {"sample": "random"}, "limit": 100}))),
        ("ordered", queried(json!({"query": {"order_by": "n"}, "limit": 100}))),
        (
            "fused",
            queried(
                json!({"prefetch": [{"query": [1, 1], "limit": 100}], "query": {"fusion": "rrf"}, "limit": 100}),
            ),
        ),
        ("mmr", queried(json!({"query": {"nearest": [1, 1], "mmr": {}}, "limit": 100}))),
        ("scroll", ids(&ok("scroll", json!({"limit": 100}))["points"])),
        ("scroll by", ids(&ok("scroll", json!({"limit": 100, "order_by": "n"}))["points"])),
        ("matrix", in_matrix),
        ("count", vec![counted(json!({}))]),
        ("has_id", vec![counted(json!({"must": {"has_id": (0..100).collect::<Vec<u64>>()}}))]),
        ("has_vector", vec![counted(json!({"must": {"has_vector": ""}}))]),
        ("must_not", vec![counted(json!({"must_not": {"key": "kind", "match": {"value": "nothing"}}}))]),
        ("facet", vec![facet.sum()]),
        ("info", vec![ok("collection_info", Value::Null)["points_count"].as_u64().expect("a number")]),
    ]
}

/// Asserts that every read finds these points and no others; all of them are of kind `a`.
fn assert_found(engine: &TestEngine, expected: &[u64], when: &str) {
    for (read, found) in everything(engine) {
        let counts = ["count", "has_id", "has_vector", "must_not", "facet", "info"].contains(&read);
        let expected = if counts { vec![expected.len() as u64] } else { expected.to_vec() };
        assert_eq!(found, expected, "{read}, {when}");
    }
}

fn point(id: u64, until: &Value) -> Value {
    json!({"id": id, "vector": [1.0, id as f64 / 100.0], "payload": {"until": until, "kind": "a", "n": id}})
}

#[test]
fn a_point_is_found_until_its_time_comes_and_by_no_read_from_then_on_c17() {
    for indexed in [false, true] {
        let mut engine = new_engine(1, config());
        if indexed {
            for (field, schema) in [("kind", "keyword"), ("n", "integer")] {
                engine.ok(
                    "create_field_index",
                    COLLECTION,
                    json!({"field_name": field, "field_schema": schema}),
                );
            }
        }
        let untils = [
            json!(200),
            json!("1970-01-01T00:03:20Z"),
            json!("1970-01-01T00:03:20.5Z"),
            json!(201),
            json!(300),
            json!(null),
            json!("200"),
            json!(200.0),
            json!([200]),
            json!(100),
        ];
        let points: Vec<Value> = (0..).zip(&untils).map(|(id, until)| point(id, until)).collect();
        engine.ok("upsert_points", COLLECTION, json!({"points": points}));
        for restarted in [false, true] {
            if restarted {
                engine.checkpoint();
                engine.restart();
            }
            for (now, expected) in [
                (100, &[0, 1, 2, 3, 4, 5, 6, 7, 8][..]),
                (199, &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
                (200, &[2, 3, 4, 5, 6, 7, 8]),
                (201, &[4, 5, 6, 7, 8]),
                (i64::from(u32::MAX), &[5, 6, 7, 8]),
            ] {
                set_clock(&engine, now);
                assert_found(&engine, expected, &format!("at {now}, indexed: {indexed}"));
            }
            set_clock(&engine, 100);
        }
    }
}

#[test]
fn an_expired_point_is_absent_for_reads_by_id_and_for_writes_c17() {
    let engine = new_engine(1, config());
    engine.ok("create_collection", "other", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine.ok(
        "upsert_points",
        "other",
        json!({"points": [{"id": 7, "vector": [1, 1], "payload": {"of": 1}}]}),
    );
    engine.ok(
        "upsert_points",
        COLLECTION,
        json!({"points": [point(1, &json!(200)), point(2, &json!(null))]}),
    );
    let beside_group = |engine: &TestEngine| {
        let body = json!({"vector": [1, 1], "group_by": "of", "with_lookup": COLLECTION});
        engine.ok("search_groups", "other", body)["groups"][0]["lookup"]["id"].clone()
    };
    assert_eq!(beside_group(&engine), 1);
    set_clock(&engine, 200);
    for (operation, collection, body) in [
        ("retrieve_points", COLLECTION, json!({"ids": [2, 1]})),
        ("query", COLLECTION, json!({"query": 1})),
        ("query", COLLECTION, json!({"query": {"recommend": {"positive": [2, 1]}}})),
        ("recommend", COLLECTION, json!({"positive": [2], "negative": [1]})),
        ("discover", COLLECTION, json!({"target": 1})),
        ("query", "other", json!({"query": 1, "lookup_from": {"collection": COLLECTION}})),
        ("set_payload", COLLECTION, json!({"payload": {"until": null}, "points": [1]})),
        ("overwrite_payload", COLLECTION, json!({"payload": {}, "points": [1]})),
        ("delete_payload", COLLECTION, json!({"keys": ["until"], "points": [1]})),
        ("clear_payload", COLLECTION, json!({"points": [1]})),
        ("update_vectors", COLLECTION, json!({"points": [{"id": 1, "vector": [1, 2]}]})),
        ("delete_vectors", COLLECTION, json!({"points": [1], "vector": [""]})),
    ] {
        assert_eq!(
            engine.refused(operation, collection, body.clone()).0,
            "point_not_found",
            "{operation} {body}"
        );
    }
    assert_eq!(beside_group(&engine), Value::Null);
    engine.ok("set_payload", COLLECTION, json!({"payload": {"until": null}, "filter": {}}));
    let all = |engine: &TestEngine| ids(&engine.ok("scroll", COLLECTION, json!({"limit": 9}))["points"]);
    assert_eq!(all(&engine), [2]);
    let update = json!({"points": [point(1, &json!(null))], "update_mode": "update_only"});
    assert_eq!(engine.ok("upsert_points", COLLECTION, update)["skipped"], json!({"count": 1, "ids": [1]}));
    let stale = json!({"points": [{"id": 1, "vector": [0, 0], "if_version": 1}]});
    assert_eq!(engine.refused("upsert_points", COLLECTION, stale).0, "version_conflict");
    // It is inserted as a point that never was, and nothing of the old one is left.
    let insert =
        json!({"points": [{"id": 1, "vector": [3, 3], "if_version": 0}], "update_mode": "insert_only"});
    assert_eq!(engine.ok("upsert_points", COLLECTION, insert).get("skipped"), None);
    assert_eq!(all(&engine), [1, 2]);
    assert_eq!(engine.ok("retrieve_points", COLLECTION, json!({"ids": [1]}))[0]["payload"], json!({}));
    engine.checkpoint();
    assert_eq!((all(&engine), removed(&engine)), (vec![1, 2], 0));
}

#[test]
fn a_point_that_a_batch_writes_with_a_time_that_has_passed_is_absent_for_the_rest_of_it_c17() {
    // The filters of the second are resolved beside the writer.
    for seed in [1, 2] {
        let engine = new_engine(seed, config());
        engine.ok(
            "upsert_points",
            COLLECTION,
            json!({"points": [point(1, &json!(null)), point(2, &json!(null))]}),
        );
        let kind = json!({"must": {"key": "kind", "match": {"value": "a"}}});
        let ended = json!({"must": {"has_id": [2]}});
        let operations = json!([
            {"upsert": {"points": [point(3, &json!(99))]}},
            {"set_payload": {"payload": {"until": 50}, "filter": ended}},
            // Both would be found again without their times.
            {"set_payload": {"payload": {"until": null}, "filter": kind}},
            {"upsert": {"points": [point(2, &json!(null))], "update_filter": {"must": {"key": "kind", "match": {"value": "b"}}}}},
            {"set_payload": {"payload": {"seen": true}, "filter": kind}},
        ]);
        engine.ok("batch_update", COLLECTION, json!({"operations": operations}));
        let points = &engine.ok("scroll", COLLECTION, json!({"limit": 9}))["points"];
        assert_eq!(ids(points), [1, 2], "seed {seed}: {points}");
        let seen =
            points.as_array().expect("a list").iter().all(|point| point["payload"]["seen"] == json!(true));
        assert!(seen, "seed {seed}: {points}");
    }
}

#[test]
fn what_a_batch_inserts_in_the_place_of_an_expired_point_is_found_by_its_later_filters_c17() {
    // The filters of the second are resolved beside the writer.
    for seed in [1, 2] {
        let engine = new_engine(seed, config());
        let expired = json!({"id": 1, "vector": [1, 1], "payload": {"kind": "old", "until": 150}});
        engine.ok("upsert_points", COLLECTION, json!({"points": [expired]}));
        set_clock(&engine, 200);
        let operations = json!([
            {"upsert": {"points": [point(1, &json!(null))], "update_mode": "insert_only"}},
            {"set_payload": {"payload": {"seen": true}, "filter": {"must": {"key": "kind", "match": {"value": "a"}}}}},
        ]);
        engine.ok("batch_update", COLLECTION, json!({"operations": operations}));
        let found = engine.ok("retrieve_points", COLLECTION, json!({"ids": [1]}));
        assert_eq!(found[0]["payload"]["seen"], json!(true), "seed {seed}: {found}");
    }
}

#[test]
fn removal_is_a_write_that_is_counted_and_stays_c17() {
    let mut engine = new_engine(1, config());
    let many = REMOVED_AT_ONCE as u64 * 2 + 5;
    let points: Vec<Value> = (0..many).map(|id| point(id, &json!(200 + id % 2 * 1000))).collect();
    for points in points.chunks(1000) {
        engine.ok("upsert_points", COLLECTION, json!({"points": points}));
    }
    let operation = |engine: &TestEngine| {
        engine.ok("clear_payload", COLLECTION, json!({"points": []}))["operation_id"].as_u64()
    };
    let before = operation(&engine).expect("a number");
    set_clock(&engine, 200);
    engine.work(GraphPolicy::Never);
    let gone = many.div_ceil(2);
    assert_eq!(removed(&engine), gone);
    // A thousand points each, then what the vacuum moves.
    let since = operation(&engine).expect("a number") - before;
    assert!(since > gone.div_ceil(REMOVED_AT_ONCE as u64), "{since}");
    engine.restart();
    // Whatever the clock says later, they are gone.
    set_clock(&engine, 100);
    assert_eq!(engine.ok("count", COLLECTION, json!({}))["count"], many - gone);
    set_clock(&engine, 1199);
    assert_eq!(engine.ok("count", COLLECTION, json!({}))["count"], many - gone);
    set_clock(&engine, 1200);
    assert_eq!(engine.ok("count", COLLECTION, json!({}))["count"], 0);
    engine.work(GraphPolicy::Never);
    engine.power_cut(3);
    set_clock(&engine, 100);
    assert_eq!(engine.ok("count", COLLECTION, json!({}))["count"], 0);
}

#[test]
fn the_key_is_set_changed_and_removed_by_patch_c17() {
    let mut engine = new_engine(1, json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let points = json!([
        {"id": 1, "vector": [1, 1], "payload": {"a": 150, "b": 400}},
        {"id": 2, "vector": [1, 1], "payload": {"a": 400, "b": 150}},
        {"id": 3, "vector": [1, 1], "payload": {"c": {"d": [5, "1970-01-01T00:02:30Z"]}}},
    ]);
    engine.ok("upsert_points", COLLECTION, json!({"points": points}));
    set_clock(&engine, 200);
    let patch = |engine: &TestEngine, key: Value| {
        engine.ok("update_collection", COLLECTION, json!({"expire_at_key": key}))
    };
    let found = |engine: &TestEngine| ids(&engine.ok("scroll", COLLECTION, json!({"limit": 9}))["points"]);
    let shown = |engine: &TestEngine| {
        engine.ok("collection_info", COLLECTION, Value::Null).get("expire_at_key").cloned()
    };
    assert_eq!((found(&engine), shown(&engine)), (vec![1, 2, 3], None));
    for (key, expected) in [
        (json!("a"), vec![2, 3]),
        (json!("b"), vec![1, 3]),
        (json!("c.d[1]"), vec![1, 2]),
        (Value::Null, vec![1, 2, 3]),
        (json!("a"), vec![2, 3]),
    ] {
        patch(&engine, key.clone());
        for at in 0..2 {
            assert_eq!(found(&engine), expected, "{key}, {at}");
            assert_eq!(shown(&engine), Some(key.clone()).filter(|key| !key.is_null()), "{key}, {at}");
            // A patch of something else leaves it.
            engine.ok("update_collection", COLLECTION, json!({"metadata": {"at": at}}));
            engine.restart();
            set_clock(&engine, 200);
        }
    }
    for bad in [json!(7), json!("a[].b"), json!(""), json!(["a"])] {
        let refused = engine.refused("update_collection", COLLECTION, json!({"expire_at_key": bad}));
        assert_eq!(refused.0, "bad_request", "{bad}");
        assert!(
            refused.1["message"].as_str().is_some_and(|why| why.starts_with("expire_at_key")),
            "{refused:?}"
        );
    }
}

#[test]
fn a_removal_that_the_power_or_the_disk_ends_is_whole_or_not_at_all_c17() {
    for nth in 1..12 {
        let mut engine = new_engine(1, config());
        let points: Vec<Value> =
            (0..40).map(|id| point(id, &json!(if id < 30 { 200 } else { 300 }))).collect();
        engine.ok("upsert_points", COLLECTION, json!({"points": points}));
        set_clock(&engine, 200);
        engine.disk.crash_after(nth);
        engine.work(GraphPolicy::Never);
        engine.power_cut(nth);
        // Before their time nothing is hidden: the removal happened whole, or not at all.
        set_clock(&engine, 100);
        let found = ids(&engine.ok("scroll", COLLECTION, json!({"limit": 100}))["points"]);
        assert!(
            found == (0..40).collect::<Vec<u64>>() || found == (30..40).collect::<Vec<u64>>(),
            "{nth}: {found:?}"
        );
        set_clock(&engine, 200);
        assert_found(&engine, &(30..40).collect::<Vec<u64>>(), &format!("call {nth}"));
        engine.work(GraphPolicy::Never);
        set_clock(&engine, 100);
        assert_found(&engine, &(30..40).collect::<Vec<u64>>(), &format!("call {nth}, removed"));
    }
}
