//! Grouped queries against their definition: all hits of the plain query, grouped one by one.

use super::{Random, call, engine, send};
use crate::collection::GraphPolicy;
use crate::engine::Engine;
use crate::error::Error;
use crate::query::planner::{Plan, forced};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SIZE: usize = 32;
/// More hits than any collection here has points.
const ALL: usize = 2_000;

/// A collection whose points have groups of very different sizes, and values that are no groups.
struct Collection {
    engine: Engine,
    random: Random,
}

/// What a case is made of.
#[derive(Clone, Debug)]
struct Setup {
    seed: u64,
    distance: &'static str,
    points: u64,
    /// Kind of the index of the field, if there is one.
    index: Option<&'static str>,
    has_graph: bool,
}

fn setup() -> impl Strategy<Value = Setup> {
    let distance = prop::sample::select(vec!["Euclid", "Cosine", "Dot", "Manhattan"]);
    let index = prop::sample::select(vec![None, Some("keyword"), Some("integer"), Some("uuid")]);
    (any::<u64>(), distance, 20u64..500, index, any::<bool>()).prop_map(
        |(seed, distance, points, index, has_graph)| Setup { seed, distance, points, index, has_graph },
    )
}

/// The groups of a value of the field, as the contract has them.
fn groups_of(value: &Value) -> Vec<Value> {
    let values = match value {
        Value::Array(values) => values.clone(),
        Value::Null => Vec::new(),
        value => vec![value.clone()],
    };
    let is_group = |value: &Value| value.is_string() || value.is_u64() || value.is_i64();
    if !values.iter().all(is_group) {
        return Vec::new();
    }
    let mut groups = Vec::new();
    for value in values {
        if !groups.contains(&value) {
            groups.push(value);
        }
    }
    groups
}

/// The groups of hits that come best first: each an id and the ids of its hits.
fn grouped(hits: &[Value], limit: usize, size: usize) -> Vec<(Value, Vec<Value>)> {
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for hit in hits {
        for id in groups_of(&hit["payload"]["g"]) {
            let at = groups.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
                groups.push((id, Vec::new()));
                groups.len() - 1
            });
            let members = &mut groups[at].1;
            if members.len() < size && !members.contains(&hit["id"]) {
                members.push(hit["id"].clone());
            }
        }
    }
    groups.truncate(limit);
    groups
}

impl Collection {
    fn new(setup: &Setup) -> Collection {
        let mut collection = Collection { engine: engine(setup.seed), random: Random(setup.seed) };
        let hnsw = json!({"m": 8, "ef_construct": 48, "full_scan_threshold": if setup.has_graph { 10 } else { 100_000 }});
        let vectors = json!({"size": SIZE, "distance": setup.distance});
        collection.call("create_collection", &json!({"vectors": vectors, "hnsw_config": hnsw}));
        if let Some(kind) = setup.index {
            collection.call("create_field_index", &json!({"field_name": "g", "field_schema": kind}));
        }
        let points: Vec<Value> = (0..setup.points).map(|id| collection.point(id)).collect();
        collection.call("upsert_points", &json!({"points": points}));
        collection.engine.work_in_background(GraphPolicy::WhenGrown);
        collection
    }

    fn call(&self, operation: &str, body: &Value) -> Value {
        call(&self.engine, "c", operation, body)
    }

    fn point(&mut self, id: u64) -> Value {
        let vector = self.vector();
        json!({"id": id, "vector": vector, "payload": {"g": self.value(), "n": self.random.below(20)}})
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..SIZE).map(|_| self.random.below(64) as f32 / 16.0 - 2.0).collect()
    }

    /// A value of the field: one group has a third of the points, some a few, and many one.
    fn value(&mut self) -> Value {
        match self.random.below(12) {
            0..4 => json!("large"),
            4 => json!(format!("g{}", self.random.below(8))),
            5 => json!(self.random.below(5)),
            6 => json!(format!("{:08x}-0000-4000-8000-000000000000", self.random.below(4))),
            7 => json!([format!("g{}", self.random.below(8)), self.random.below(5), "large"]),
            8 => json!(-(self.random.below(1_000) as i64) - 1),
            9 => json!(null),
            10 => json!([["g1"], "g2"]),
            _ => [json!(1.5), json!(true), json!({"a": 1})][self.random.below(3) as usize].clone(),
        }
    }

    /// A query that hits every match.
    fn query(&mut self) -> Value {
        let vector = json!(self.vector());
        match self.random.below(6) {
            0 => json!({"order_by": "n"}),
            1 => json!({"recommend": {"positive": [vector, 1], "strategy": "best_score"}}),
            2 => json!({"recommend": {"positive": [1, 2], "negative": [vector]}}),
            3 => json!(null),
            _ => vector,
        }
    }

    fn filter(&mut self) -> Value {
        match self.random.below(4) {
            0 => json!({"must": {"key": "n", "range": {"lt": 12}}}),
            1 => json!({"must_not": {"key": "g", "match": {"value": "large"}}}),
            _ => json!(null),
        }
    }

    /// The answer to a grouped query in the form of [`grouped`].
    fn groups(&self, body: &Value) -> Vec<(Value, Vec<Value>)> {
        let result = self.call("query_groups", body);
        let groups = result["groups"].as_array().unwrap().iter();
        let ids = |hits: &Value| hits.as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect();
        groups.map(|group| (group["id"].clone(), ids(&group["hits"]))).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn groups_are_those_of_all_hits_c12(setup in setup()) {
        let mut collection = Collection::new(&setup);
        for _ in 0..6 {
            let (query, filter) = (collection.query(), collection.filter());
            let (limit, size) = (1 + collection.random.below(12) as usize, 1 + collection.random.below(5) as usize);
            let mut body = json!({"query": query, "filter": filter, "with_payload": true, "limit": ALL,
                "params": {"exact": true}});
            let all = collection.call("query", &body)["points"].as_array().unwrap().clone();
            body["group_by"] = json!("g");
            body["limit"] = json!(limit);
            body["group_size"] = json!(size);
            prop_assert_eq!(collection.groups(&body), grouped(&all, limit, size), "{}", body);
            if let Some(best) = all.get(all.len() / 3).filter(|_| query.is_array()) {
                body["score_threshold"] = best["score"].clone();
                let smaller = matches!(setup.distance, "Euclid" | "Manhattan");
                let least = best["score"].as_f64().unwrap();
                let near: Vec<Value> = all.iter().filter(|hit| {
                    let score = hit["score"].as_f64().unwrap();
                    if smaller { score <= least } else { score >= least }
                }).cloned().collect();
                prop_assert_eq!(collection.groups(&body), grouped(&near, limit, size), "{}", body);
            }
        }
    }

    #[test]
    fn a_walk_fills_groups_as_a_scan_does_c12(mut setup in setup()) {
        setup.has_graph = true;
        setup.points = setup.points.max(200);
        let mut collection = Collection::new(&setup);
        let (mut hits, mut missed) = (0, 0);
        for _ in 0..4 {
            // So wide that the walk finds what a scan finds.
            let mut body = json!({"query": collection.vector(), "filter": collection.filter(), "group_by": "g",
                "limit": 1 + collection.random.below(12), "group_size": 1 + collection.random.below(5)});
            let mut walked = |params: Value| {
                body["params"] = params;
                forced::set(Some(Plan::Wide));
                let walked = collection.groups(&body);
                forced::set(None);
                walked
            };
            let by_codes = walked(json!({"hnsw_ef": ALL}));
            let by_originals = walked(json!({"hnsw_ef": ALL, "quantization": {"ignore": true}}));
            body["params"] = json!({"exact": true});
            let scanned = collection.groups(&body);
            prop_assert_eq!(&by_originals, &scanned, "{}", body);
            hits += pairs(&scanned).len();
            missed += pairs(&scanned).difference(&pairs(&by_codes)).count();
        }
        // A row whose estimate is far worse than those of others may be left out, with its group if it is the best of it.
        prop_assert!(20 * missed <= hits + 20 * 5, "{missed} of {hits}");
    }
}

/// Each hit with its group.
fn pairs(groups: &[(Value, Vec<Value>)]) -> BTreeSet<String> {
    let of_group =
        |(id, hits): &(Value, Vec<Value>)| hits.iter().map(|hit| format!("{id} {hit}")).collect::<Vec<_>>();
    groups.iter().flat_map(of_group).collect()
}

/// A small collection with groups `a` (ids 1, 2, 3), `b` (4, 5) and 7 (6, 3).
fn small() -> Engine {
    let engine = engine(1);
    call(&engine, "c", "create_collection", &json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let point = |id: u64, g: Value| json!({"id": id, "vector": [10 - id, 1], "payload": {"g": g, "t": id}});
    let points = [
        point(1, json!("a")),
        point(2, json!("a")),
        point(3, json!(["a", 7])),
        point(4, json!("b")),
        point(5, json!("b")),
        point(6, json!(7)),
        point(8, json!(1.5)),
    ];
    call(&engine, "c", "upsert_points", &json!({"points": points}));
    engine
}

fn ids(groups: &Value) -> Value {
    let hits =
        |hits: &Value| hits.as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect::<Vec<_>>();
    let groups = groups["groups"].as_array().unwrap().iter();
    groups.map(|group| json!([group["id"], hits(&group["hits"])])).collect()
}

#[test]
fn each_kind_of_request_has_groups_c12() {
    let engine = small();
    let expected = json!([["a", [1, 2]], [7, [3, 6]], ["b", [4, 5]]]);
    let search = json!({"vector": [1, 0], "group_by": "g", "group_size": 2, "limit": 3});
    assert_eq!(ids(&call(&engine, "c", "search_groups", &search)), expected);
    let query = json!({"query": [1, 0], "group_by": "g", "group_size": 2});
    assert_eq!(ids(&call(&engine, "c", "query_groups", &query)), expected);
    let recommend = json!({"positive": [[1, 0]], "negative": [1], "group_by": "g", "group_size": 2, "strategy": "best_score"});
    let found = ids(&call(&engine, "c", "recommend_groups", &recommend));
    assert_eq!(found.as_array().unwrap().len(), 3, "{found}");
    assert!(!found.to_string().contains("[1,"), "an example is in no group: {found}");
    let by_order = json!({"query": {"order_by": {"key": "t", "direction": "desc"}}, "group_by": "g", "group_size": 2, "limit": 2});
    assert_eq!(ids(&call(&engine, "c", "query_groups", &by_order)), json!([[7, [6, 3]], ["b", [5, 4]]]));
}

#[test]
fn a_point_that_an_ordering_finds_twice_is_one_hit_of_its_group_c12() {
    let engine = small();
    let payload = json!({"payload": {"rank": [1, 9]}, "points": [1, 4]});
    call(&engine, "c", "set_payload", &payload);
    call(&engine, "c", "set_payload", &json!({"payload": {"rank": 5}, "points": [2, 3, 5, 6]}));
    call(&engine, "c", "create_field_index", &json!({"field_name": "rank", "field_schema": "integer"}));
    engine.work_in_background(crate::collection::GraphPolicy::Never);
    let ordered = call(&engine, "c", "query", &json!({"query": {"order_by": "rank"}, "limit": 20}));
    assert_eq!(ordered["points"].as_array().map(Vec::len), Some(8), "two of them twice");
    let body = json!({"query": {"order_by": "rank"}, "group_by": "g", "group_size": 5});
    let groups = call(&engine, "c", "query_groups", &body);
    assert_eq!(ids(&groups), json!([["a", [1, 2, 3]], ["b", [4, 5]], [7, [3, 6]]]));
}

#[test]
fn prefetches_find_group_size_times_as_many_c12() {
    let engine = small();
    let prefetch = json!([{"query": [1, 0], "limit": 2}, {"query": [1, 0], "limit": 2}]);
    let body = json!({"prefetch": prefetch, "query": {"fusion": "rrf"}, "group_by": "g", "group_size": 3});
    assert_eq!(
        ids(&call(&engine, "c", "query_groups", &body)),
        json!([["a", [1, 2, 3]], [7, [3, 6]], ["b", [4, 5]]])
    );
    let body = json!({"prefetch": prefetch, "query": [0, 1], "group_by": "g", "group_size": 1, "limit": 5});
    assert_eq!(ids(&call(&engine, "c", "query_groups", &body)), json!([["a", [1]]]));
    let mmr = json!({"query": {"nearest": [1, 0], "mmr": {"diversity": 0.0}}, "group_by": "g", "group_size": 2, "limit": 3});
    assert_eq!(
        ids(&call(&engine, "c", "query_groups", &mmr)),
        json!([["a", [1, 2]], [7, [3, 6]], ["b", [4, 5]]])
    );
}

#[test]
fn a_group_shows_the_point_of_its_id_c12() {
    let engine = small();
    call(&engine, "docs", "create_collection", &json!({"vectors": {"size": 1, "distance": "Dot"}}));
    call(
        &engine,
        "docs",
        "upsert_points",
        &json!({"points": [{"id": 7, "vector": [1], "payload": {"title": "seven"}}]}),
    );
    let body = json!({"query": [1, 0], "group_by": "g", "group_size": 1, "with_lookup": "docs"});
    let groups = call(&engine, "c", "query_groups", &body);
    assert_eq!(groups["groups"][1]["lookup"], json!({"id": 7, "payload": {"title": "seven"}}));
    assert!(groups["groups"][0].get("lookup").is_none(), "no point has the id a");
    let with = json!({"collection": "docs", "with_payload": false, "with_vectors": true});
    let body = json!({"query": [1, 0], "group_by": "g", "with_lookup": with});
    assert_eq!(
        call(&engine, "c", "query_groups", &body)["groups"][1]["lookup"],
        json!({"id": 7, "vector": [1.0]})
    );
    let refused = |body: &Value| send(&engine, "c", "query_groups", body).unwrap_err();
    let absent = json!({"query": [1, 0], "group_by": "g", "with_lookup": "none"});
    assert_eq!(refused(&absent), Error::CollectionNotFound("none".into()).within("with_lookup".into()));
    let unknown = json!({"query": [1, 0], "group_by": "g", "with_lookup": {"collection": "docs", "with_vectors": ["x"]}});
    assert_eq!(refused(&unknown), Error::VectorNotFound("x".into()).within("with_lookup".into()));
}

#[test]
fn bad_groups_are_refused_with_their_place_c12() {
    let engine = small();
    let refused = |body: Value| send(&engine, "c", "query_groups", &body).unwrap_err();
    assert_eq!(refused(json!({"query": [1, 0]})), Error::MissingField("group_by".into()));
    for (body, message) in [
        (json!({"group_by": ""}), "group_by: "),
        (json!({"group_by": "g", "group_size": 0}), "group_size: "),
        (json!({"group_by": "g", "limit": 0}), "limit: "),
        (json!({"group_by": "g", "offset": 1}), "offset: unknown field"),
        (
            json!({"group_by": "g", "with_lookup": {"collection": "docs", "x": 1}}),
            "with_lookup.x: unknown field",
        ),
        (
            json!({"group_by": "g", "limit": 1_000, "group_size": 101}),
            "limit: limit * group_size must be at most 100000",
        ),
        (
            json!({"group_by": "g", "group_size": 100, "query": {"fusion": "rrf"}, "prefetch": vec![json!({"limit": 10_000}); 11]}),
            "prefetch: limits of a query and all its prefetches, times group_size, must be at most 1000000",
        ),
    ] {
        let error = refused(body.clone());
        assert!(matches!(&error, Error::BadRequest(why) if why.starts_with(message)), "{body}: {error}");
    }
    let error = refused(json!({"group_by": "g", "with_lookup": {}}));
    assert_eq!(error, Error::MissingField("with_lookup.collection".into()));
}

#[test]
fn a_search_that_compares_all_points_finds_the_hits_of_all_groups_at_once_c12() {
    let engine = engine(1);
    call(&engine, "c", "create_collection", &json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let point = |id: u64| json!({"id": id, "vector": [100 - id, 1], "payload": {"g": id % 2}});
    call(&engine, "c", "upsert_points", &json!({"points": (0..40).map(point).collect::<Vec<_>>()}));
    let before = engine.status().searches;
    let body = json!({"query": [1, 0], "group_by": "g", "group_size": 2, "limit": 2});
    assert_eq!(ids(&call(&engine, "c", "query_groups", &body)), json!([[0, [0, 2]], [1, [1, 3]]]));
    let after = engine.status().searches;
    assert!(after.searches > before.searches);
    assert_eq!(
        after.exact_scans - before.exact_scans,
        after.searches - before.searches,
        "one scan is enough"
    );
}
