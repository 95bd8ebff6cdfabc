//! Why points are missing, of queries of every form, beside a model (C13). All comparisons are exact there; what walks and codes
//! lose is told from a scan.

#[path = "../common/mod.rs"]
mod common;
mod filters;
mod model;
mod queries;

use common::{Random, TestEngine};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::query::{Plan, forced};
use model::{Found, Goal, Model, Node, Reason};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const POINTS: u64 = 150;
const QUERIES: usize = 180;
/// Points that are missing for each reason, at least.
const LEAST: usize = 1_000;

/// The result of a query that must succeed, and the explanation beside it.
fn explained(engine: &TestEngine, body: &Value) -> (Value, Value) {
    let envelope = engine.client().answer("query", "c", None, true, body.to_string().into_bytes());
    let envelope = envelope.unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut envelope: Value = serde_json::from_slice(&envelope).expect("JSON");
    (envelope["result"].take(), envelope["explain"].take())
}

/// The same query with other parameters.
fn with_params(body: &Value, params: Value) -> Value {
    let mut body = body.clone();
    body["params"] = params;
    body
}

fn ids(result: &Value) -> Vec<u64> {
    let hits = result["points"].as_array().expect("points").iter();
    hits.map(|hit| hit["id"].as_u64().expect("a number")).collect()
}

fn collection(random: &mut Random) -> (TestEngine, Model) {
    let engine = TestEngine::new(7);
    engine.ok("create_collection", "c", queries::config());
    engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
    let model = Model { points: queries::points(random, POINTS) };
    let points: Vec<Value> = model.points.iter().map(|(id, point)| queries::point_json(*id, point)).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    (engine, model)
}

fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::NoVector => "no_vector",
        Reason::Filter => "filter",
        Reason::Threshold => "threshold",
        Reason::Rank => "rank",
    }
}

/// The score and the rank that are said of a point: those among all that there could be, and where it would be where it is not.
fn score_and_rank(model: &Model, node: &Node, found: &Found, id: u64) -> (Option<f32>, Option<u64>) {
    if let Some(place) = found.list.iter().position(|hit| hit.0 == id) {
        return (Some(found.list[place].1), Some(place as u64 + 1));
    }
    let alone = model.alone(node, id);
    let (Some(score), false) = (alone, matches!(node.goal, Goal::OrderBy { .. })) else {
        return (None, None);
    };
    if matches!(node.goal, Goal::Mmr(..)) {
        return (Some(score), None);
    }
    let smaller = node.using == "e" && matches!(node.goal, Goal::Nearest(_) | Goal::Mean(_));
    let is_before = |hit: &&(u64, f32)| {
        if hit.1 == score { hit.0 < id } else { (hit.1 < score) == smaller }
    };
    (Some(score), Some(found.list.iter().filter(is_before).count() as u64 + 1))
}

/// Compares what is said of each point with the model, and counts the reasons.
fn check(engine: &TestEngine, model: &Model, node: &Node, offset: usize, seen: &mut BTreeMap<&str, usize>) {
    let found = model.run(node, node.limit + offset, &BTreeSet::new());
    let mut body = queries::node_json(node);
    body["offset"] = json!(offset);
    let returned: Vec<(u64, f32)> = found.kept.iter().skip(offset).copied().collect();
    for first in (0..POINTS).step_by(100) {
        let asked: Vec<u64> = (first..POINTS.min(first + 100)).collect();
        let params = json!({"explain": true, "why": asked});
        let (result, explain) = explained(engine, &with_params(&body, params));
        let hit = |hit: &Value| (hit["id"].as_u64().unwrap(), hit["score"].as_f64().unwrap() as f32);
        let hits: Vec<(u64, f32)> = result["points"].as_array().unwrap().iter().map(hit).collect();
        assert_eq!(hits, returned, "{body}");
        check_contributions(&body, &result, &explain);
        for why in explain["why"].as_array().expect("a list") {
            let id = why["id"].as_u64().expect("a number");
            let is_returned = returned.iter().any(|hit| hit.0 == id);
            let (lost, failed) = match is_returned {
                true => (None, None),
                false => {
                    let lost = found.lost.get(&id).copied().unwrap_or(Reason::Rank);
                    (Some(name(lost)), model.failed_condition(node, id, ""))
                }
            };
            assert_eq!(why["returned"], json!(is_returned), "{body}: {why}");
            assert_eq!(why["lost_by"].as_str(), lost, "{body}: {why}");
            assert_eq!(why["failed_condition"].as_str(), failed.as_deref(), "{body}: {why}");
            let (score, rank) = score_and_rank(model, node, &found, id);
            assert_eq!(why["score"].as_f64().map(|score| score as f32), score, "{body}: {why}");
            assert_eq!(why["rank"].as_u64(), rank, "{body}: {why}");
            *seen.entry(lost.unwrap_or("returned")).or_default() += 1;
        }
    }
}

fn check_contributions(body: &Value, result: &Value, explain: &Value) {
    let hits = result["points"].as_array().expect("points");
    let details = explain["hits"].as_array().expect("hits");
    assert_eq!(hits.len(), details.len());
    for (hit, detail) in hits.iter().zip(details) {
        let parts = detail["score_details"].as_array().expect("a list");
        let sum: f64 = parts.iter().map(|part| part["contribution"].as_f64().expect("a number")).sum();
        let score = hit["score"].as_f64().expect("a number");
        assert!((sum - score).abs() <= 1e-6 * score.abs().max(1.0), "{body}: {hit} {detail}");
    }
}

#[test]
fn each_missing_point_of_every_form_of_query_is_missing_for_the_reason_that_is_given_c13() {
    let random = &mut Random(11);
    let (engine, model) = collection(random);
    let mut seen = BTreeMap::new();
    for _ in 0..QUERIES {
        let node = queries::node(random, &model, 2);
        let offset = if random.below(4) == 0 { 3 } else { 0 };
        check(&engine, &model, &node, offset, &mut seen);
    }
    for reason in ["no_vector", "filter", "threshold", "rank"] {
        assert!(seen.get(reason).is_some_and(|&count| count >= LEAST), "{reason}: {seen:?}");
    }
    assert_eq!(seen.values().sum::<usize>(), QUERIES * POINTS as usize);
}

#[test]
fn of_a_sample_the_rest_is_missing_because_others_were_drawn_c13() {
    let random = &mut Random(12);
    let (engine, model) = collection(random);
    let asked: Vec<u64> = (0..100).collect();
    let params = json!({"explain": true, "why": asked});
    let body = json!({"query": {"sample": "random"}, "limit": 60, "params": params,
        "filter": {"must": {"key": "n", "range": {"lt": 50}}}});
    let drawing = json!({"query": {"sample": "random"}, "limit": 60});
    let fused = json!({"prefetch": [drawing], "query": {"fusion": "rrf"}, "limit": 20, "params": params});
    for body in [body, fused] {
        let (result, explain) = explained(&engine, &body);
        let hits = ids(&result);
        for why in explain["why"].as_array().expect("a list") {
            let id = why["id"].as_u64().expect("a number");
            let expected = if hits.contains(&id) {
                json!(null)
            } else if body.get("filter").is_some() && model.points[&id].n >= 50 {
                json!("filter")
            } else {
                json!("rank")
            };
            assert_eq!(why["lost_by"], expected, "{body}: {why}");
        }
    }
}

#[test]
fn an_example_of_the_same_collection_under_another_name_is_told_from_a_rank_c13() {
    let (engine, model) = collection(&mut Random(13));
    let id = *model.points.iter().find(|(_, point)| point.vectors.contains_key("p")).expect("a point").0;
    let body = json!({"query": id, "using": "p", "limit": 5, "lookup_from": {"collection": "c"},
        "params": {"explain": true, "why": [id]}});
    let (_, explain) = explained(&engine, &body);
    let why = &explain["why"][0];
    assert_eq!([&why["lost_by"], &why["failed_condition"]], [&json!("filter"), &json!("query")]);
}

const WALKED_POINTS: u64 = 400;

fn long_vector(random: &mut Random) -> Vec<f32> {
    (0..24).map(|_| random.below(256) as f32 / 32.0 - 4.0).collect()
}

/// A collection with a graph over coarse codes.
fn walked_collection(random: &mut Random) -> TestEngine {
    let engine = TestEngine::new(7);
    let body = json!({
        "vectors": {"v": {"size": 24, "distance": "Euclid"}, "w": {"size": 2, "distance": "Dot"}},
        "hnsw_config": {"m": 4, "ef_construct": 8, "full_scan_threshold": 10},
        "quantization_config": {"binary": {}},
    });
    engine.ok("create_collection", "c", body);
    let point =
        |id| json!({"id": id, "vector": {"v": long_vector(random), "w": [random.below(9), random.below(9)]}});
    let points: Vec<Value> = (0..WALKED_POINTS).map(point).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    engine.work(GraphPolicy::WhenGrown);
    engine
}

#[test]
fn of_a_fusion_what_codes_and_walks_of_its_prefetches_lose_is_told_from_ranks_c13() {
    let random = &mut Random(6);
    let engine = walked_collection(random);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..12 {
        let (walks, params) = match round % 2 {
            0 => (Some(Plan::Wide), json!({"hnsw_ef": 1, "quantization": {"ignore": true}})),
            _ => (None, json!({"quantization": {"rescore": false}})),
        };
        let (near, product) = (long_vector(random), [random.below(9), random.below(9)]);
        let body = |params: &Value| {
            json!({"prefetch": [
                {"query": near, "using": "v", "limit": 12, "params": params},
                {"query": product, "using": "w", "limit": 12, "params": {"exact": true}},
            ], "query": {"fusion": "rrf"}, "limit": 20})
        };
        let found = |plan: Option<Plan>, params: &Value| -> BTreeSet<u64> {
            forced::set(plan);
            let found = engine.ok("query", "c", body(params));
            ids(&found).into_iter().collect()
        };
        let exact = found(None, &json!({"exact": true}));
        let (scanned, returned) = (found(Some(Plan::Scan), &params), found(walks, &params));
        for first in (0..WALKED_POINTS).step_by(100) {
            let asked: Vec<u64> = (first..first + 100).collect();
            let asking = with_params(&body(&params), json!({"explain": true, "why": asked}));
            for why in explained(&engine, &asking).1["why"].as_array().expect("a list") {
                let id = why["id"].as_u64().expect("a number");
                let lost = why["lost_by"].as_str().unwrap_or("returned").to_string();
                let expected = match (returned.contains(&id), exact.contains(&id), scanned.contains(&id)) {
                    (true, ..) => "returned",
                    (false, true, true) => "walk",
                    (false, true, false) => "codes",
                    (false, false, _) => "rank",
                };
                // No point lacks both vectors, and there is no filter and no threshold.
                assert_eq!(lost, expected, "{why}");
                *seen.entry(lost).or_default() += 1;
            }
        }
    }
    forced::set(None);
    for reason in ["returned", "rank", "codes", "walk"] {
        assert!(seen.contains_key(reason), "{reason} did not happen: {seen:?}");
    }
}
