//! Explanations (C13): the same hits, contributions that add up, and the true reason for each point that is missing.

use super::{Random, call, engine, send};
use crate::engine::Engine;
use crate::query::planner::{Plan, forced};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const SIZE: usize = 24;
const POINTS: u64 = 400;
const K: u64 = 10;

fn vector(random: &mut Random) -> Vec<f32> {
    (0..SIZE).map(|_| random.below(256) as f32 / 32.0 - 4.0).collect()
}

/// A collection with a graph over coarse codes; one point in twenty has no vector `v`.
fn collection(random: &mut Random) -> Engine {
    let engine = engine(7);
    let body = json!({
        "vectors": {"v": {"size": SIZE, "distance": "Euclid"}, "w": {"size": 2, "distance": "Dot"}},
        "hnsw_config": {"m": 4, "ef_construct": 8, "full_scan_threshold": 10},
        "quantization_config": {"binary": {}},
    });
    call(&engine, "c", "create_collection", &body);
    call(&engine, "c", "create_field_index", &json!({"field_name": "n", "field_schema": "integer"}));
    let points: Vec<Value> = (0..POINTS)
        .map(|id| {
            let payload = json!({"n": random.below(100), "raw": random.below(100)});
            let vectors = match random.below(20) {
                0 => json!({"w": [1, 2]}),
                _ => json!({"v": vector(random), "w": [random.below(9), random.below(9)]}),
            };
            json!({"id": id, "vector": vectors, "payload": payload})
        })
        .collect();
    call(&engine, "c", "upsert_points", &json!({"points": points}));
    engine.work_in_background(crate::collection::GraphPolicy::WhenGrown);
    engine
}

fn ids(result: &Value) -> Vec<u64> {
    result["points"]
        .as_array()
        .expect("points")
        .iter()
        .map(|hit| hit["id"].as_u64().expect("a number"))
        .collect()
}

/// The result of a query and its explanation.
fn explained(engine: &Engine, body: &Value) -> (Value, Value) {
    let envelope = send(engine, "c", "query", body).unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut envelope: Value = serde_json::from_slice(&envelope).expect("JSON");
    (envelope["result"].take(), envelope["explain"].take())
}

/// The same query with other parameters.
fn with_params(body: &Value, params: Value) -> Value {
    let mut body = body.clone();
    body["params"] = params;
    body
}

#[test]
fn each_missing_point_is_missing_for_the_reason_that_is_given_c13() {
    let random = &mut Random(5);
    let engine = collection(random);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..16 {
        let params = match round % 4 {
            0 => json!({"hnsw_ef": 1}),
            1 => json!({"hnsw_ef": 1, "quantization": {"ignore": true}}),
            2 => json!({"quantization": {"rescore": false}}),
            _ => json!({"exact": round % 8 == 3}),
        };
        let mut query = json!({"query": vector(random), "using": "v", "limit": K});
        if round % 3 == 1 {
            query["filter"] = json!({"must": [{"key": "n", "range": {"gte": 30}}], "must_not": [{"key": "raw", "range": {"lt": 20}}]});
        }
        if round % 5 == 2 {
            query["score_threshold"] = json!(14.0);
        }
        if round % 5 == 3 {
            query["offset"] = json!(3);
        }
        forced::set((round % 4 == 0 || round % 4 == 1).then_some(Plan::Wide));
        let plain = call(&engine, "c", "query", &with_params(&query, params.clone()));
        let mut exact = with_params(&query, json!({"exact": true}));
        exact["limit"] = json!(POINTS * 2);
        exact["offset"] = json!(0);
        exact["score_threshold"] = json!(null);
        let exact = call(&engine, "c", "query", &exact);
        let places: BTreeMap<u64, usize> =
            ids(&exact).into_iter().enumerate().map(|(at, id)| (id, at)).collect();
        forced::set(Some(Plan::Scan));
        let scanned: BTreeSet<u64> =
            ids(&call(&engine, "c", "query", &with_params(&query, params.clone()))).into_iter().collect();
        forced::set((round % 4 == 0 || round % 4 == 1).then_some(Plan::Wide));
        let offset = query["offset"].as_u64().unwrap_or(0);
        let returned: BTreeSet<u64> = ids(&plain).into_iter().collect();
        for first in (0..POINTS).step_by(100) {
            let mut params = params.clone();
            params["explain"] = json!(true);
            params["why"] = json!((first..first + 100).collect::<Vec<_>>());
            let (result, explain) = explained(&engine, &with_params(&query, params));
            assert_eq!(result, plain, "an explanation changes nothing");
            for why in explain["why"].as_array().expect("a list") {
                let id = why["id"].as_u64().expect("a number");
                let point =
                    &call(&engine, "c", "retrieve_points", &json!({"ids": [id], "with_vector": ["v"]}))[0];
                let payload = |key: &str| point["payload"][key].as_u64().expect("a number");
                let failed = match &query["filter"] {
                    Value::Null => None,
                    _ if payload("n") < 30 => Some("filter.must[0]"),
                    _ if payload("raw") < 20 => Some("filter.must_not[0]"),
                    _ => None,
                };
                let place = places.get(&id).map(|&at| at as u64);
                let score = place.map(|at| &exact["points"][at as usize]["score"]);
                let expected = if returned.contains(&id) {
                    json!(null)
                } else if point["vector"].get("v").is_none() {
                    json!("no_vector")
                } else if failed.is_some() {
                    json!("filter")
                } else if query["score_threshold"]
                    .as_f64()
                    .is_some_and(|most| score.unwrap().as_f64().unwrap() > most)
                {
                    json!("threshold")
                } else if !(offset..offset + K).contains(&place.expect("it matches")) {
                    json!("rank")
                } else if scanned.contains(&id) {
                    json!("walk")
                } else {
                    json!("codes")
                };
                assert_eq!(why["lost_by"], expected, "{query} {why}");
                assert_eq!(why["returned"], json!(returned.contains(&id)));
                if !returned.contains(&id) {
                    assert_eq!(why["failed_condition"].as_str(), failed, "{why}");
                }
                if let (Some(place), Some(score)) = (place, score) {
                    assert_eq!((&why["rank"], &why["score"]), (&json!(place + 1), score));
                } else if point["vector"].get("v").is_some() {
                    assert!(why["rank"].is_u64() && why["score"].is_f64(), "where it would be: {why}");
                }
                *seen.entry(expected.as_str().unwrap_or("returned").to_string()).or_default() += 1;
            }
        }
    }
    forced::set(None);
    for reason in ["returned", "no_vector", "filter", "threshold", "rank", "codes", "walk"] {
        assert!(seen.contains_key(reason), "{reason} did not happen: {seen:?}");
    }
    assert!(seen.values().sum::<usize>() >= 1000);
}

#[test]
fn contributions_add_up_to_the_score_c13() {
    let random = &mut Random(9);
    let engine = collection(random);
    let prefetch = |random: &mut Random| {
        json!([
            {"query": vector(random), "using": "v", "limit": 30},
            {"query": [random.below(9), random.below(9)], "using": "w", "limit": 20,
             "filter": {"must": {"key": "raw", "range": {"lt": 70}}}},
        ])
    };
    let formula = json!({"formula": {"sum": ["$score[0]", {"mult": [0.5, "$score[1]"]}, {"mult": [2, {"key": "n", "range": {"gt": 50}}]}, "n"]}});
    let queries = [
        json!({"fusion": "rrf"}),
        json!({"rrf": {"k": 7, "weights": [3, 1]}}),
        json!({"fusion": "dbsf"}),
        formula,
        json!({"formula": {"mult": ["$score[0]", 2]}}),
        json!(vector(random)),
    ];
    for query in queries {
        let mut body = json!({"prefetch": prefetch(random), "query": query, "limit": 25, "offset": 2});
        if query.is_array() {
            body["using"] = json!("v");
        }
        let plain = call(&engine, "c", "query", &body);
        let (result, explain) = explained(&engine, &with_params(&body, json!({"explain": true})));
        assert_eq!(result, plain);
        let hits = result["points"].as_array().expect("points");
        let details = explain["hits"].as_array().expect("hits");
        assert_eq!(hits.len(), details.len());
        assert!(!hits.is_empty());
        for (hit, detail) in hits.iter().zip(details) {
            let parts = detail["score_details"].as_array().expect("a list");
            let sum: f64 = parts.iter().map(|part| part["contribution"].as_f64().expect("a number")).sum();
            let score = hit["score"].as_f64().expect("a number");
            assert!((sum - score).abs() <= 1e-6 * score.abs().max(1.0), "{query}: {hit} {detail}");
        }
        assert_eq!(explain["steps"].as_array().map(Vec::len), Some(2));
        assert_eq!(explain["indexes_missing"], json!(["raw"]));
    }
    let (_, explain) = explained(
        &engine,
        &json!({"query": vector(random), "using": "v", "params": {"explain": true, "hnsw_ef": 40},
        "filter": {"must": {"key": "n", "range": {"gte": 10}}}}),
    );
    assert_eq!(explain["indexes_used"], json!(["n"]));
    assert_eq!(explain["ef"], json!(40));
    let matches =
        call(&engine, "c", "count", &json!({"filter": {"must": {"key": "n", "range": {"gte": 10}}}}));
    assert_eq!(explain["matches"], matches["count"]);
    assert!(explain["distances"].as_u64().unwrap() + explain["scanned"].as_u64().unwrap() > 0, "{explain}");
    assert_eq!(explain["hits"][0]["score_details"][0]["source"], "query");
    assert_eq!(explain["hits"][3]["score_details"][0]["rank"], 4);
}

#[test]
fn what_cannot_be_explained_is_refused_with_its_place_c13() {
    let engine = collection(&mut Random(3));
    let refused =
        |operation: &str, body: Value| send(&engine, "c", operation, &body).expect_err("refused").to_string();
    let query = |params: Value| json!({"query": vec![1; SIZE], "using": "v", "params": params});
    assert!(refused("query", query(json!({"why": [1]}))).contains("params.why: needs explain: true"));
    let many: Vec<u64> = (0..101).collect();
    assert!(refused("query", query(json!({"explain": true, "why": many}))).contains("params.why[100]"));
    let absent = refused("query", query(json!({"explain": true, "why": [1, 100_000]})));
    assert!(absent.contains("100000"), "{absent}");
    let nested = json!({"prefetch": [query(json!({"explain": true}))], "query": {"fusion": "rrf"}});
    assert!(refused("query", nested).contains("prefetch[0].params.explain"));
}

#[test]
fn of_a_batch_each_search_that_asks_is_explained_c13() {
    let engine = collection(&mut Random(4));
    let search = |params: Value| json!({"query": vec![1; SIZE], "using": "v", "params": params});
    let searches = [search(json!({})), search(json!({"explain": true})), search(json!({"explain": false}))];
    let envelope = send(&engine, "c", "query_batch", &json!({"searches": searches})).unwrap();
    let envelope: Value = serde_json::from_slice(&envelope).unwrap();
    assert_eq!(envelope["result"].as_array().map(Vec::len), Some(3));
    assert!(envelope["explain"][0].is_null() && envelope["explain"][2].is_null());
    assert!(envelope["explain"][1]["time_us"]["search"].is_number());
    let plain = send(&engine, "c", "query_batch", &json!({"searches": [search(json!({}))]})).unwrap();
    assert!(!String::from_utf8(plain).unwrap().contains("explain"), "without it nothing is added");
}

#[test]
fn each_part_of_a_score_has_the_name_of_the_vector_that_was_compared_c13() {
    let random = &mut Random(9);
    let engine = collection(random);
    // The second prefetch finds every point.
    let prefetch = json!([
        {"query": vector(random), "using": "v", "limit": 30},
        {"query": [1, 2], "using": "w", "limit": POINTS},
    ]);
    let parts = |query: Value, using: Value| -> BTreeSet<(String, String)> {
        let body = json!({"prefetch": prefetch, "query": query, "using": using, "limit": 25,
            "params": {"explain": true}});
        let (_, explain) = explained(&engine, &body);
        let details = explain["hits"].as_array().expect("hits").iter();
        let parts = details.flat_map(|detail| detail["score_details"].as_array().expect("a list"));
        let text = |value: &Value| value.as_str().unwrap_or("none").to_string();
        parts.map(|part| (text(&part["source"]), text(&part["using"]))).collect()
    };
    let pairs = |pairs: &[(&str, &str)]| -> BTreeSet<(String, String)> {
        pairs.iter().map(|&(source, using)| (source.to_string(), using.to_string())).collect()
    };
    let fused = parts(json!({"fusion": "rrf"}), json!(null));
    assert_eq!(fused, pairs(&[("prefetch[0]", "v"), ("prefetch[1]", "w")]));
    let rescored = parts(json!(vector(random)), json!("v"));
    assert_eq!(rescored, pairs(&[("query", "v"), ("prefetch[0]", "v"), ("prefetch[1]", "w")]));
}

#[test]
fn the_matches_among_few_candidates_are_counted_before_a_plan_is_chosen_c13() {
    let engine = collection(&mut Random(6));
    let rare = json!({"payload": {"rare": true}, "points": [3, 77, 150, 222, 399]});
    call(&engine, "c", "set_payload", &rare);
    let body = json!({"query": vec![1; SIZE], "using": "v", "params": {"explain": true},
        "filter": {"must": {"key": "rare", "match": {"value": true}}}});
    let (_, explain) = explained(&engine, &body);
    // A match in a sample of 256 stands for 1.56 of the 400 points: an estimate would say 4 or 6.
    assert_eq!((&explain["estimated_matches"], &explain["matches"]), (&json!(5), &json!(5)), "{explain}");
}

#[test]
fn the_multi_vectors_that_a_scan_compares_are_counted_c13() {
    let (engine, random) = (engine(7), &mut Random(11));
    let config = json!({"size": SIZE, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}});
    let hnsw = json!({"m": 4, "ef_construct": 8, "full_scan_threshold": 10});
    call(&engine, "c", "create_collection", &json!({"vectors": {"v": config}, "hnsw_config": hnsw}));
    let points: Vec<Value> =
        (0..200).map(|id| json!({"id": id, "vector": {"v": [vector(random), vector(random)]}})).collect();
    call(&engine, "c", "upsert_points", &json!({"points": points}));
    engine.work_in_background(crate::collection::GraphPolicy::WhenGrown);
    call(&engine, "c", "delete_points", &json!({"points": (0..50).collect::<Vec<u64>>()}));
    let body = json!({"query": [vector(random)], "using": "v", "params": {"explain": true}});
    let (_, explain) = explained(&engine, &body);
    assert_eq!((&explain["plan"], &explain["scanned"]), (&json!("exact"), &json!(150)), "{explain}");
}
