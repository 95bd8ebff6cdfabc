//! Grouped queries that walk: what they find beside the exact answer, and while points change.

use super::{Random, call, engine};
use crate::collection::GraphPolicy;
use crate::engine::Engine;
use crate::query::planner::{Plan, forced};
use serde_json::{Value, json};
use std::collections::HashSet;

const DIM: usize = 16;
const POINTS: u64 = 3_000;
const LIMIT: usize = 10;
const SIZE: usize = 3;

/// Points in three kinds of groups: `few` large ones, `many` of a hundred points from anywhere, and `small` ones of five.
struct Collection {
    engine: Engine,
    random: Random,
}

impl Collection {
    fn new(config: &Value) -> Collection {
        let engine = engine(7);
        let mut body = json!({"vectors": {"size": DIM, "distance": "Euclid"},
            "hnsw_config": {"m": 12, "ef_construct": 64, "full_scan_threshold": 10}});
        body.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
        call(&engine, "c", "create_collection", &body);
        let mut collection = Collection { engine, random: Random(5) };
        collection.write(0..POINTS);
        collection.engine.work_in_background(GraphPolicy::WhenGrown);
        collection
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIM).map(|_| (0..6).map(|_| self.random.below(1_000) as f32).sum::<f32>() / 1_000.0).collect()
    }

    fn write(&mut self, ids: impl Iterator<Item = u64>) {
        let points: Vec<Value> = ids
            .map(|id| {
                let payload = json!({"few": self.random.below(4), "many": format!("m{}", self.random.below(POINTS / 100)),
                    "small": [format!("s{}", self.random.below(POINTS / 5)), self.random.below(POINTS / 5)]});
                json!({"id": id, "vector": self.vector(), "payload": payload})
            })
            .collect();
        points
            .chunks(500)
            .for_each(|part| drop(call(&self.engine, "c", "upsert_points", &json!({"points": part}))));
    }

    /// The hits of a query, each with its group where it is grouped.
    fn hits(&self, operation: &str, body: &Value) -> HashSet<String> {
        let result = call(&self.engine, "c", operation, body);
        let named = |of: &Value, group: &str| -> Vec<String> {
            of.as_array().into_iter().flatten().map(|hit| format!("{group} {}", hit["id"])).collect()
        };
        match result["groups"].as_array() {
            None => named(&result["points"], "").into_iter().collect(),
            Some(groups) => {
                groups.iter().flat_map(|one| named(&one["hits"], &one["id"].to_string())).collect()
            }
        }
    }

    /// Recall over some queries.
    fn recall(&self, operation: &str, queries: &[Vec<f32>], more: &Value) -> f64 {
        let (mut wanted, mut found) = (0, 0);
        for query in queries {
            let mut body = json!({"query": query});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let hits = self.hits(operation, &body);
            body["params"]["exact"] = json!(true);
            let exact = self.hits(operation, &body);
            wanted += exact.len();
            found += exact.intersection(&hits).count();
        }
        found as f64 / wanted as f64
    }
}

#[test]
fn hits_of_groups_have_the_recall_of_a_plain_search_c12() {
    for config in [json!({}), json!({"quantization_config": {"binary": {}}})] {
        let mut collection = Collection::new(&config);
        let queries: Vec<Vec<f32>> = (0..60).map(|_| collection.vector()).collect();
        let plain = json!({"limit": LIMIT * SIZE, "params": {"hnsw_ef": 32}});
        let plain = collection.recall("query", &queries, &plain);
        for field in ["few", "many", "small", "small[]"] {
            let body =
                json!({"limit": LIMIT, "group_size": SIZE, "group_by": field, "params": {"hnsw_ef": 32}});
            let grouped = collection.recall("query_groups", &queries, &body);
            // Less what 1,800 hits vary by.
            assert!(grouped >= plain - 0.01, "{field} {config}: {grouped} beside {plain}");
        }
    }
}

#[test]
fn a_grouped_query_is_one_walk_that_leaves_few_groups_unfilled_c12() {
    let mut collection = Collection::new(&json!({}));
    let queries: Vec<Vec<f32>> = (0..20).map(|_| collection.vector()).collect();
    for field in ["few", "many"] {
        let before = collection.engine.status().searches;
        for query in &queries {
            let body = json!({"query": query, "limit": LIMIT, "group_size": SIZE, "group_by": field});
            // All of these groups have more points than are wanted.
            let groups = if field == "few" { 4 } else { LIMIT };
            assert_eq!(collection.hits("query_groups", &body).len(), groups * SIZE);
        }
        let after = collection.engine.status().searches;
        assert_eq!(after.wide_walks - before.wide_walks, queries.len() as u64, "{field}");
        // A group that the walk leaves unfilled is searched among its members.
        let others = after.scans + after.two_hop_walks - before.scans - before.two_hop_walks;
        assert!(others * 4 <= queries.len() as u64, "{field}: {others}");
    }
}

#[test]
fn groups_are_those_of_the_present_points_while_points_change_c12() {
    let mut collection = Collection::new(&json!({}));
    for round in 0..12u64 {
        // Some new points, some replaced ones and some that go; the graph has not all of them.
        collection.write(POINTS + round * 40..POINTS + round * 40 + 60);
        collection.write((0..30).map(|at| (round * 191 + at * 7) % POINTS));
        let gone: Vec<u64> = (0..20).map(|at| (round * 313 + at * 11) % POINTS).collect();
        call(&collection.engine, "c", "delete_points", &json!({"points": gone}));
        let query = collection.vector();
        for field in ["few", "many", "small"] {
            // So wide that the walk meets everything.
            let body = |params: Value| {
                json!({"query": query, "limit": LIMIT, "group_size": SIZE, "group_by": field, "params": params,
                    "with_payload": true})
            };
            let before = collection.engine.status().searches.wide_walks;
            forced::set(Some(Plan::Wide));
            let walked = call(&collection.engine, "c", "query_groups", &body(json!({"hnsw_ef": 20_000})));
            forced::set(None);
            assert_eq!(
                collection.engine.status().searches.wide_walks,
                before + 1,
                "{field} in round {round}"
            );
            let exact = call(&collection.engine, "c", "query_groups", &body(json!({"exact": true})));
            assert_eq!(walked, exact, "{field} in round {round}");
            for group in walked["groups"].as_array().unwrap() {
                for hit in group["hits"].as_array().unwrap() {
                    let value = &hit["payload"][field];
                    assert!(
                        *value == group["id"]
                            || value.as_array().is_some_and(|all| all.contains(&group["id"]))
                    );
                }
            }
        }
    }
}

#[test]
fn a_threshold_leaves_out_hits_and_groups_c12() {
    let mut collection = Collection::new(&json!({}));
    for _ in 0..10 {
        let query = collection.vector();
        let all = call(
            &collection.engine,
            "c",
            "query",
            &json!({"query": query, "limit": 40, "params": {"exact": true}}),
        );
        let least = all["points"][17]["score"].clone();
        for field in ["few", "many", "small"] {
            let body = |params: Value| {
                json!({"query": query, "limit": LIMIT, "group_size": SIZE, "group_by": field, "score_threshold": least,
                    "params": params})
            };
            let walked = call(&collection.engine, "c", "query_groups", &body(json!({"hnsw_ef": 200})));
            assert_eq!(
                walked,
                call(&collection.engine, "c", "query_groups", &body(json!({"exact": true}))),
                "{field}"
            );
        }
    }
}
