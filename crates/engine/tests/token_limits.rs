//! Requests whose caller may reach some points only (C15): what a read finds, a facet counts, a projection
//! shows and an update changes; and whose caller may reach some collections only.

mod common;

use common::{Random, TestEngine, request, result_of};
use kithdb_engine::engine::Access;
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const OWN: [u64; 5] = [0, 2, 4, 6, 8];

/// Points 0 to 9, of two tenants by turns.
fn engine(seed: u64) -> TestEngine {
    let engine = TestEngine::new(seed);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let point = |id: u64| json!({"id": id, "vector": [id, 1], "payload": {"tenant": id % 2, "kind": "a"}});
    engine.ok("upsert_points", "c", json!({"points": (0..10).map(point).collect::<Vec<_>>()}));
    engine
}

/// Limits of a caller to the points of tenant 0.
const TENANT: &str = r#"{"filter": {"must": {"key": "tenant", "match": {"value": 0}}}}"#;

/// The answer to a caller with limits.
fn within(engine: &TestEngine, limits: &str, operation: &str, body: &Value) -> Result<Value, Error> {
    let mut asked = request(operation, "c", body);
    asked.wait = true;
    asked.access = Some(Arc::new(Access::parse(limits.as_bytes(), &Limits::default()).expect("it is read")));
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    engine.engine().execute(asked, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    let answered = answer.lock().unwrap().take().expect("answered before it returns");
    answered.map(|envelope| result_of(&envelope))
}

/// The answer to a caller who reaches the points of tenant 0.
fn limited(engine: &TestEngine, operation: &str, body: Value) -> Value {
    within(engine, TENANT, operation, &body).unwrap_or_else(|error| panic!("{operation}: {error}"))
}

/// The code of the refusal of the same.
fn refused(engine: &TestEngine, operation: &str, body: Value) -> &'static str {
    within(engine, TENANT, operation, &body).expect_err(operation).code()
}

fn ids(points: &Value) -> Vec<u64> {
    let mut ids: Vec<u64> =
        points.as_array().expect("points").iter().map(|point| point["id"].as_u64().expect("an id")).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn searches_and_prefetches_find_what_the_caller_may_reach_c15() {
    let engine = engine(1);
    let search = json!({"vector": [1, 0], "limit": 10});
    assert_eq!(ids(&limited(&engine, "search", search)), OWN);
    let nearest = json!({"query": [1, 0], "limit": 10});
    for query in [json!({"fusion": "rrf"}), json!([0, 1])] {
        let body =
            json!({"prefetch": [nearest, {"query": [0, 1], "limit": 10}], "query": query, "limit": 10});
        assert_eq!(ids(&limited(&engine, "query", body)["points"]), OWN);
    }
}

#[test]
fn a_facet_counts_what_the_caller_may_reach_c15() {
    let engine = engine(1);
    engine.ok("create_field_index", "c", json!({"field_name": "kind", "field_schema": "keyword"}));
    engine.build_indexes();
    let facet = limited(&engine, "facet", json!({"key": "kind", "exact": true}));
    assert_eq!(facet["hits"], json!([{"value": "a", "count": 5}]));
}

#[test]
fn a_projection_shows_what_the_caller_may_reach_c15() {
    let engine = engine(1);
    for method in ["pca", "umap"] {
        let map = limited(&engine, "project_points", json!({"method": method}));
        let mut ids: Vec<u64> =
            map["ids"].as_array().expect("ids").iter().map(|id| id.as_u64().expect("a number")).collect();
        ids.sort_unstable();
        assert_eq!(ids, OWN);
    }
}

#[test]
fn an_update_by_a_filter_changes_what_the_caller_may_reach_c15() {
    for seed in [1, 2] {
        let engine = engine(seed);
        let everything = json!({"must": {"key": "kind", "match": {"value": "a"}}});
        limited(&engine, "set_payload", json!({"payload": {"seen": true}, "filter": everything}));
        let seen = json!({"limit": 10, "filter": {"must": {"key": "seen", "match": {"value": true}}}});
        assert_eq!(ids(&engine.ok("scroll", "c", seen)["points"]), OWN);
        limited(&engine, "delete_points", json!({"filter": everything}));
        assert_eq!(ids(&engine.ok("scroll", "c", json!({"limit": 10}))["points"]), [1, 3, 5, 7, 9]);
    }
}

/// Ids of the hits of all groups.
fn grouped(groups: &Value) -> Vec<u64> {
    let groups = groups["groups"].as_array().expect("groups");
    let hits = groups.iter().flat_map(|group| group["hits"].as_array().expect("hits").clone());
    ids(&Value::Array(hits.collect()))
}

#[test]
fn groups_have_what_the_caller_may_reach_c15() {
    let engine = engine(1);
    let prefetch = json!([{"query": [1, 0], "limit": 10}]);
    for (operation, body) in [
        ("search_groups", json!({"vector": [1, 0]})),
        ("query_groups", json!({"query": [1, 0]})),
        ("query_groups", json!({"query": {"fusion": "rrf"}, "prefetch": prefetch})),
        ("query_groups", json!({})),
        ("recommend_groups", json!({"positive": [[1, 0]]})),
    ] {
        let mut body = body;
        (body["group_by"], body["group_size"], body["limit"]) = (json!("kind"), json!(10), json!(3));
        assert_eq!(grouped(&limited(&engine, operation, body.clone())), OWN, "{operation} {body}");
    }
}

#[test]
fn a_walk_for_groups_has_what_the_caller_may_reach_c15() {
    let engine = TestEngine::new(1);
    let hnsw = json!({"m": 8, "ef_construct": 64, "full_scan_threshold": 10});
    let vectors = json!({"size": 8, "distance": "Euclid"});
    engine.ok("create_collection", "c", json!({"vectors": vectors, "hnsw_config": hnsw}));
    let mut random = Random(3);
    let mut write = |ids: std::ops::Range<u64>| {
        // Of four points three are the caller's.
        let payload = |id: u64| json!({"tenant": id % 4 / 3, "kind": id % 7});
        let points = ids.map(|id| json!({"id": id, "vector": random.normals(8), "payload": payload(id)}));
        engine.ok("upsert_points", "c", json!({"points": points.collect::<Vec<_>>()}));
    };
    (0..4).for_each(|part| write(part * 500..part * 500 + 500));
    engine.checkpoint();
    // Rows that are not in the graph.
    write(2000..2040);
    engine.ok("create_field_index", "c", json!({"field_name": "tenant", "field_schema": "integer"}));
    engine.build_indexes();
    let body = json!({"query": random.normals(8), "group_by": "kind", "limit": 7, "group_size": 40});
    let found = engine.client().walking(|| grouped(&limited(&engine, "query_groups", body)));
    assert_eq!(found.len(), 7 * 40);
    assert!(found.iter().all(|id| id % 4 != 3), "{found:?}");
}

#[test]
fn a_point_beside_a_group_is_one_that_the_caller_may_reach_c15() {
    let engine = engine(1);
    let point = |id: u64| json!({"id": 10 + id, "vector": [0, 1], "payload": {"tenant": 0, "of": id}});
    engine.ok("upsert_points", "c", json!({"points": [point(2), point(3)]}));
    let body = json!({"query": [1, 0], "group_by": "of", "with_lookup": "c"});
    let groups = limited(&engine, "query_groups", body)["groups"].clone();
    let beside: Vec<(Value, bool)> = groups
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| (group["id"].clone(), group.get("lookup").is_some()))
        .collect();
    assert_eq!(beside, [(json!(2), true), (json!(3), false)]);
}

#[test]
fn lists_counts_and_matrices_have_what_the_caller_may_reach_c15() {
    let engine = engine(1);
    let pairs = limited(&engine, "matrix_pairs", json!({"sample": 10, "limit": 3}))["pairs"].clone();
    let pairs = pairs.as_array().expect("pairs");
    let is_own = |id: &Value| id.as_u64().is_some_and(|id| OWN.contains(&id));
    assert!(!pairs.is_empty() && pairs.iter().all(|pair| is_own(&pair["a"]) && is_own(&pair["b"])));
    let offsets = limited(&engine, "matrix_offsets", json!({"sample": 10, "limit": 3}));
    assert_eq!(offsets["ids"], json!(OWN));
    assert_eq!(limited(&engine, "count", json!({})), json!({"count": 5}));
    let some = json!({"filter": {"must": {"has_id": [1, 2, 3]}}});
    assert_eq!(limited(&engine, "count", some), json!({"count": 1}));
    assert_eq!(ids(&limited(&engine, "scroll", json!({"limit": 10}))["points"]), OWN);
    assert_eq!(ids(&limited(&engine, "retrieve_points", json!({"ids": [2, 4]}))), [2, 4]);
    assert_eq!(refused(&engine, "retrieve_points", json!({"ids": [1, 2]})), "point_not_found");
    let info = limited(&engine, "collection_info", Value::Null);
    assert!(info["points_count"].is_null() && info["indexed_vectors_count"].is_null(), "{info}");
}

#[test]
fn a_point_that_the_caller_may_not_reach_is_absent_as_an_example_c15() {
    let engine = engine(1);
    for (operation, body) in [
        ("query", json!({"query": 1})),
        ("query", json!({"query": {"recommend": {"positive": [2], "negative": [3]}}})),
        ("query", json!({"query": {"fusion": "rrf"}, "prefetch": [{"query": 1}]})),
        ("query", json!({"query": 1, "lookup_from": {"collection": "c"}})),
        ("query", json!({"query": [1, 0], "params": {"explain": true, "why": [1]}})),
        ("recommend", json!({"positive": [1]})),
        ("discover", json!({"target": 1})),
        ("recommend_groups", json!({"positive": [1], "group_by": "kind"})),
    ] {
        assert_eq!(refused(&engine, operation, body.clone()), "point_not_found", "{operation} {body}");
    }
}

#[test]
fn a_write_leaves_no_point_where_the_caller_may_not_reach_c15() {
    for seed in [1, 2] {
        let engine = engine(seed);
        let before = engine.digest("c");
        let other = json!({"tenant": 1});
        let own = json!({"tenant": 0});
        for (operation, body) in [
            ("upsert_points", json!({"points": [{"id": 20, "vector": [1, 1], "payload": other}]})),
            ("upsert_points", json!({"points": [{"id": 20, "vector": [1, 1]}]})),
            ("upsert_points", json!({"points": [{"id": 1, "vector": [1, 1], "payload": own}]})),
            ("set_payload", json!({"payload": other, "points": [2]})),
            ("set_payload", json!({"payload": other, "filter": {}})),
            ("overwrite_payload", json!({"payload": {}, "points": [2]})),
            ("delete_payload", json!({"keys": ["tenant"], "points": [2]})),
            ("clear_payload", json!({"points": [2]})),
        ] {
            assert_eq!(refused(&engine, operation, body.clone()), "points_forbidden", "{operation} {body}");
            assert_eq!(engine.digest("c"), before, "{operation} {body}");
        }
    }
}

#[test]
fn a_caller_reaches_no_other_collection_than_its_own_c15() {
    let engine = engine(1);
    let limits = r#"{"collections": [{"name": "own", "permission": "read,write"}]}"#;
    for (operation, body) in [
        ("search", json!({"vector": [1, 0], "limit": 3})),
        ("query", json!({"query": [1, 0]})),
        ("query_groups", json!({"query": [1, 0], "group_by": "kind"})),
        ("facet", json!({"key": "kind"})),
        ("matrix_pairs", json!({})),
        ("project_points", json!({})),
        ("scroll", json!({})),
        ("count", json!({})),
        ("retrieve_points", json!({"ids": [2]})),
        ("collection_info", Value::Null),
        ("delete_points", json!({"points": [2]})),
        ("upsert_points", json!({"points": [{"id": 2, "vector": [1, 1]}]})),
        ("clone_collection", json!({"name": "own"})),
        ("delete_collection", Value::Null),
    ] {
        let answer = within(&engine, limits, operation, &body);
        assert_eq!(answer.map_err(|error| error.code()), Err("collection_forbidden"), "{operation}");
    }
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": 10}));
}

#[test]
fn points_that_the_caller_may_not_reach_weigh_no_sparse_vector_by_a_filter_of_the_caller_c15() {
    let engine = TestEngine::new(1);
    let config = json!({"vectors": {}, "sparse_vectors": {"s": {"modifier": "idf"}}});
    engine.ok("create_collection", "c", config);
    let vector = json!({"s": {"indices": [7], "values": [1.0]}});
    let points = json!([
        {"id": 0, "vector": vector, "payload": {"tenant": 0}},
        {"id": 1, "vector": vector, "payload": {"tenant": 1, "password": "hunter2"}},
    ]);
    engine.ok("upsert_points", "c", json!({"points": points}));
    let score_where = |password: &str| {
        let corpus = json!({"must": {"key": "password", "match": {"value": password}}});
        let nearest = json!({"query": {"indices": [7], "values": [1.0]}, "using": "s", "limit": 1,
            "params": {"idf": {"corpus": corpus}}});
        let fused = json!({"prefetch": nearest, "query": {"formula": "$score"}});
        [nearest, fused].map(|body| limited(&engine, "query", body)["points"][0]["score"].clone())
    };
    assert_eq!(score_where("hunter2"), score_where("hunter3"));
}

#[test]
fn an_alias_of_a_collection_that_the_caller_may_not_reach_is_refused_as_it_is_c15() {
    let engine = engine(1);
    let action = json!({"create_alias": {"collection_name": "c", "alias_name": "a"}});
    engine.ok("change_aliases", "", json!({"actions": [action]}));
    let exists = |limits: &str| {
        let mut asked = request("collection_exists", "a", &Value::Null);
        asked.access =
            Some(Arc::new(Access::parse(limits.as_bytes(), &Limits::default()).expect("it is read")));
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        engine.engine().execute(asked, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
        answer
            .lock()
            .unwrap()
            .take()
            .expect("answered before it returns")
            .map(|envelope| result_of(&envelope))
    };
    let alias = r#"{"collections": [{"name": "a", "permission": "read"}]}"#;
    assert_eq!(exists(alias).map_err(|error| error.code()), Err("collection_forbidden"));
    let both =
        r#"{"collections": [{"name": "a", "permission": "read"}, {"name": "c", "permission": "read"}]}"#;
    assert_eq!(exists(both).map_err(|error| error.code()), Ok(json!({"exists": true})));
}

#[test]
fn limits_of_the_collection_do_not_tell_how_many_points_there_are_c15() {
    let engine = engine(1);
    let strict = json!({"enabled": true, "max_points_count": 11, "max_collection_payload_size_bytes": 1});
    engine.ok("update_collection", "c", json!({"strict_mode_config": strict}));
    let point = |id: u64| json!({"id": id, "vector": [1, 1], "payload": {"tenant": 0}});
    for points in [json!([point(20), point(21)]), json!([point(20)])] {
        let error =
            within(&engine, TENANT, "upsert_points", &json!({"points": points})).expect_err("refused");
        let text = error.to_string();
        assert!(!text.contains("12") && !text.contains("the collection has"), "{text}");
    }
}
