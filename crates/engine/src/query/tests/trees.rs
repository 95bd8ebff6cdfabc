//! Prefetches, what is made of them, and examples that are looked up (C6.3).

use super::{Random, call, engine, send};
use crate::engine::Engine;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const SIZE: usize = 4;
const POINTS: u64 = 50;

/// A collection `c` with the vectors `a` (Cosine) and `b` (Euclid) and an integer `n`, and a collection `other`.
fn collection() -> Engine {
    let engine = engine(7);
    let mut random = Random(7);
    let mut vector =
        |size: usize| -> Vec<f32> { (0..size).map(|_| random.below(200) as f32 / 100.0 - 1.0).collect() };
    let vectors =
        json!({"a": {"size": SIZE, "distance": "Cosine"}, "b": {"size": SIZE, "distance": "Euclid"}});
    call(&engine, "c", "create_collection", &json!({"vectors": vectors}));
    let points: Vec<Value> = (0..POINTS)
        .map(|id| {
            let mut vectors = json!({"a": vector(SIZE), "b": vector(SIZE)});
            if id == 13 {
                vectors.as_object_mut().unwrap().remove("b");
            }
            json!({"id": id, "vector": vectors, "payload": {"n": [id % 5, id % 3], "tag": if id < 25 { "low" } else { "high" }}})
        })
        .collect();
    call(&engine, "c", "upsert_points", &json!({"points": points}));
    call(
        &engine,
        "other",
        "create_collection",
        &json!({"vectors": {"x": {"size": SIZE, "distance": "Dot"}, "y": {"size": 2, "distance": "Dot"}}}),
    );
    let points = json!({"points": [{"id": 3, "vector": {"x": vector(SIZE), "y": [1, 2]}}]});
    call(&engine, "other", "upsert_points", &points);
    engine
}

fn query(engine: &Engine, body: &Value) -> Vec<(u64, f64)> {
    let found = call(engine, "c", "query", body);
    let hit = |hit: &Value| (hit["id"].as_u64().unwrap(), hit["score"].as_f64().unwrap());
    found["points"].as_array().unwrap().iter().map(hit).collect()
}

fn ids(hits: &[(u64, f64)]) -> Vec<u64> {
    hits.iter().map(|(id, _)| *id).collect()
}

fn refused(engine: &Engine, body: &Value) -> String {
    send(engine, "c", "query", body).expect_err("must be refused").to_string()
}

/// Best first, ties by id.
fn ranked(scores: BTreeMap<u64, f64>) -> Vec<(u64, f64)> {
    let mut ranked: Vec<(u64, f64)> = scores.into_iter().collect();
    ranked.sort_by(|a, b| (b.1 as f32).total_cmp(&(a.1 as f32)).then(a.0.cmp(&b.0)));
    ranked
}

fn assert_near(found: &[(u64, f64)], expected: &[(u64, f64)]) {
    assert_eq!(ids(found), ids(expected));
    for ((id, found), (_, expected)) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{id}: {found} instead of {expected}");
    }
}

#[test]
fn lists_are_fused_by_their_places_c6_3() {
    let engine = collection();
    let sources = [
        json!({"query": [1, 0, 0, 0], "using": "a", "limit": 20}),
        json!({"query": [0, 1, 0, 0], "using": "b", "limit": 15}),
        json!({"query": {"order_by": "n"}, "limit": 30}),
    ];
    let lists: Vec<Vec<(u64, f64)>> = sources.iter().map(|source| query(&engine, source)).collect();
    for (fusion, k, weights) in [
        (json!({"fusion": "rrf"}), 2.0, [1.0; 3]),
        (json!({"rrf": {}}), 2.0, [1.0; 3]),
        (json!({"rrf": {"k": 60}}), 60.0, [1.0; 3]),
        (json!({"rrf": {"k": 1, "weights": [3, 0.5, 0]}}), 1.0, [3.0, 0.5, 0.0]),
    ] {
        let mut scores: BTreeMap<u64, f64> = BTreeMap::new();
        for (list, weight) in lists.iter().zip(weights) {
            let mut different: Vec<u64> = Vec::new();
            for (id, _) in list {
                if !different.contains(id) {
                    let place = different.len() as f64;
                    let worth: f64 =
                        if weight > 0.0 { 1.0 / ((place + 1.0) / weight + k - 1.0) } else { 0.0 };
                    *scores.entry(*id).or_default() += worth;
                    different.push(*id);
                }
            }
        }
        let expected = ranked(scores);
        let found = query(&engine, &json!({"prefetch": sources, "query": fusion, "limit": 100}));
        assert_near(&found, &expected);
        let page = query(&engine, &json!({"prefetch": sources, "query": fusion, "limit": 4, "offset": 3}));
        assert_eq!(page, found[3..7]);
        let threshold = found[5].1;
        let body = json!({"prefetch": sources, "query": fusion, "limit": 100, "score_threshold": threshold});
        let kept: Vec<_> = found.iter().filter(|(_, score)| *score >= threshold).copied().collect();
        assert_eq!(query(&engine, &body), kept);
    }
}

#[test]
fn a_weight_beyond_all_scores_loses_no_point_c6_3() {
    let engine = collection();
    let source = json!({"query": [1, 0, 0, 0], "using": "a", "limit": 20});
    let heavy = json!({"prefetch": [source], "query": {"rrf": {"k": 1, "weights": [1e308]}}, "limit": 20});
    let first = query(&engine, &heavy);
    assert_eq!((first.len(), first[0].1 as f32), (20, f32::MAX));
    for outer in [json!({"fusion": "dbsf"}), json!({"formula": {"div": {"left": "$score", "right": 2}}})] {
        let body = json!({"prefetch": [heavy], "query": outer, "limit": 20});
        assert_eq!(query(&engine, &body).len(), 20, "{outer}");
    }
}

#[test]
fn scores_of_each_list_are_brought_to_one_scale_c6_3() {
    let engine = collection();
    let sources = [
        json!({"query": [1, 0, 0, 0], "using": "a", "limit": 20}),
        json!({"query": [0, 1, 0, 0], "using": "b", "limit": 15}),
        json!({"limit": 5}),
        json!({"query": [1, 1, 0, 0], "using": "a", "limit": 1}),
    ];
    let mut scores: BTreeMap<u64, f64> = BTreeMap::new();
    for source in &sources {
        // Of distances the smaller is the better: their sign is turned first.
        let sign = if source["using"] == "b" { -1.0 } else { 1.0 };
        let list: Vec<(u64, f64)> =
            query(&engine, source).into_iter().map(|(id, score)| (id, sign * score)).collect();
        let count = list.len() as f64;
        let mean = list.iter().map(|(_, score)| score).sum::<f64>() / count;
        let variance = list.iter().map(|(_, score)| (score - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let deviation = variance.sqrt();
        for (id, score) in &list {
            let level = list.len() == 1 || deviation == 0.0;
            let scaled = if level { 0.5 } else { (score - (mean - 3.0 * deviation)) / (6.0 * deviation) };
            *scores.entry(*id).or_default() += scaled;
        }
    }
    let found = query(&engine, &json!({"prefetch": sources, "query": {"fusion": "dbsf"}, "limit": 100}));
    assert_near(&found, &ranked(scores));
}

#[test]
fn the_outer_filters_hold_in_every_leaf_c6_3() {
    let engine = collection();
    let low = json!({"must": {"key": "tag", "match": {"value": "low"}}});
    let odd = json!({"must_not": {"key": "n", "match": {"value": 0}}});
    let leaf = |filter: &Value| json!({"query": [1, 0, 0, 0], "using": "a", "limit": 8, "filter": filter});
    let both = json!({"must": [low, odd]});
    let expected = query(&engine, &leaf(&both));
    let found = query(
        &engine,
        &json!({"filter": low, "prefetch": leaf(&odd), "query": {"fusion": "rrf"}, "limit": 8}),
    );
    assert_eq!(ids(&found), ids(&expected));
    let nested = json!({"filter": low, "limit": 8, "query": {"fusion": "rrf"},
        "prefetch": {"filter": odd, "limit": 8, "query": {"fusion": "rrf"}, "prefetch": [leaf(&json!(null))]}});
    assert_eq!(ids(&query(&engine, &nested)), ids(&expected));
    // A filter above is not lost where the leaf has a `should` of its own.
    let any = json!({"should": [{"key": "n", "match": {"value": 1}}, {"key": "n", "match": {"value": 2}}]});
    let outer = json!({"should": [{"key": "tag", "match": {"value": "high"}}]});
    let found = query(&engine, &json!({"filter": outer, "prefetch": leaf(&any), "query": {"fusion": "rrf"}}));
    assert_eq!(ids(&found), ids(&query(&engine, &leaf(&json!({"must": [outer, any]})))));
}

#[test]
fn a_query_over_prefetches_scores_exactly_what_they_found_c6_3() {
    let engine = collection();
    let sources = json!([
        {"query": [1, 0, 0, 0], "using": "a", "limit": 6},
        {"query": [0, 0, 1, 0], "using": "a", "limit": 6, "score_threshold": 0.2},
    ]);
    let mut union: Vec<u64> =
        sources.as_array().unwrap().iter().flat_map(|source| ids(&query(&engine, source))).collect();
    union.sort_unstable();
    union.dedup();
    let among = json!({"must": {"has_id": union}});
    for asked in [
        json!([0.5, -1, 0, 0]),
        json!({"nearest": [0.5, -1, 0, 0], "mmr": {"candidates_limit": 50}}),
        json!({"recommend": {"positive": [[0.5, -1, 0, 0]], "negative": [[1, 1, 1, 1]], "strategy": "sum_scores"}}),
        json!({"context": {"positive": [0.5, -1, 0, 0], "negative": [1, 1, 1, 1]}}),
        json!({"order_by": {"key": "n", "direction": "desc"}}),
    ] {
        let using = if asked.get("order_by").is_some() { json!(null) } else { json!("b") };
        let direct = json!({"query": asked, "using": using, "filter": among, "limit": 40});
        let over = json!({"query": asked, "using": using, "prefetch": sources, "limit": 40});
        assert_eq!(query(&engine, &over), query(&engine, &direct), "{asked}");
        let mut page = over.clone();
        page["offset"] = json!(2);
        page["limit"] = json!(3);
        assert_eq!(query(&engine, &page), query(&engine, &direct)[2..5], "{asked}");
    }
    let sample = json!({"query": {"sample": "random"}, "prefetch": sources, "limit": 100});
    let mut sampled = ids(&query(&engine, &sample));
    sampled.sort_unstable();
    assert_eq!(sampled, union);
    let page = json!({"query": {"sample": "random"}, "prefetch": sources, "limit": 100, "offset": 2});
    assert_eq!(query(&engine, &page).len(), union.len() - 2);
}

#[test]
fn a_sample_of_all_points_has_each_of_their_orders_c6_3() {
    let engine = collection();
    let sample =
        json!({"query": {"sample": "random"}, "filter": {"must": {"has_id": [1, 2, 3]}}, "limit": 3});
    // Of 600 samples, each of the six orders is missing with a probability below 1e-47.
    let orders: BTreeSet<Vec<u64>> = (0..600).map(|_| ids(&query(&engine, &sample))).collect();
    assert_eq!(orders.len(), 6, "{orders:?}");
}

#[test]
fn examples_of_another_collection_are_other_points_c6_3() {
    let engine = collection();
    let body = json!({"query": 3, "using": "a", "limit": 100, "lookup_from": {"collection": "other", "vector": "x"}});
    assert_eq!(query(&engine, &body).len() as u64, POINTS);
    // The searched one may be named, too.
    let body =
        json!({"query": 3, "using": "a", "limit": 100, "lookup_from": {"collection": "c", "vector": "b"}});
    assert_eq!(query(&engine, &body).len() as u64, POINTS - 1);
}

#[test]
fn vectors_are_looked_up_where_the_request_says_c6_3() {
    let engine = collection();
    let stored = call(&engine, "other", "retrieve_points", &json!({"ids": [3], "with_vector": true}));
    let vector = &stored[0]["vector"]["x"];
    let from = json!({"collection": "other", "vector": "x"});
    let by_id =
        json!({"query": {"recommend": {"positive": [3, [1, 0, 0, 0]]}}, "using": "b", "lookup_from": from});
    let by_vector = json!({"query": {"recommend": {"positive": [vector, [1, 0, 0, 0]]}}, "using": "b"});
    assert_eq!(query(&engine, &by_id), query(&engine, &by_vector));
    // Each prefetch looks up for itself.
    let nested =
        json!({"prefetch": {"query": 3, "using": "b", "lookup_from": from}, "query": 4, "using": "a"});
    assert_eq!(query(&engine, &nested).len(), 10);
    let wrong = |from: Value| refused(&engine, &json!({"query": 3, "using": "a", "lookup_from": from}));
    assert!(wrong(json!({"collection": "nowhere"})).starts_with("collection_not_found"));
    assert!(wrong(json!({"collection": "other", "vector": "z"})).starts_with("vector_not_found"));
    assert!(wrong(json!({"collection": "other"})).starts_with("vector_not_found"));
    assert!(wrong(json!({"collection": "other", "vector": "y"})).starts_with("dimension_mismatch"));
}

#[test]
fn absent_examples_are_named_together_c6_3() {
    let engine = collection();
    let body = json!({"prefetch": [{"query": 500, "using": "a"}, {"query": {"context": {"positive": 3, "negative": 501}}, "using": "a"}],
        "query": {"recommend": {"positive": [500, 502], "negative": [1]}}, "using": "b"});
    let error = refused(&engine, &body);
    assert!(error.starts_with("point_not_found"), "{error}");
    assert!(error.contains(r#"["500","502","501"]"#), "{error}");
}

#[test]
fn an_example_is_left_out_of_its_own_part_and_of_those_below_c6_3() {
    let engine = collection();
    let near = |id: u64, using: &str| json!({"query": id, "using": using, "limit": 100});
    let fused = |prefetch: Value| {
        query(&engine, &json!({"prefetch": prefetch, "query": {"fusion": "rrf"}, "limit": 100}))
    };
    // Each finds the example of the other.
    let found = ids(&fused(json!([near(1, "a"), near(2, "b")])));
    assert!(found.contains(&1) && found.contains(&2), "{found:?}");
    let both = ids(&fused(json!([near(1, "a"), near(1, "b")])));
    assert!(!both.contains(&1) && both.contains(&2), "{both:?}");
    // What is asked of prefetches is asked of what is below them.
    let body = json!({"prefetch": [near(1, "a"), {"query": [1, 0, 0, 0], "using": "b", "limit": 1000}],
        "query": 2, "using": "b", "limit": 100});
    let found = ids(&query(&engine, &body));
    assert!(found.contains(&1) && !found.contains(&2), "{found:?}");
}

#[test]
fn a_recommendation_drops_points_without_the_vector_and_nothing_else_does_c6_3() {
    let engine = collection();
    for strategy in ["average_vector", "best_score", "sum_scores"] {
        let of = |positive: Value| json!({"query": {"recommend": {"positive": positive, "strategy": strategy}}, "using": "b", "limit": 100});
        let mut with = query(&engine, &of(json!([13, 4])));
        with.retain(|(id, _)| *id != 13);
        assert_eq!(with, query(&engine, &of(json!([4]))));
        assert!(refused(&engine, &of(json!([13]))).starts_with("bad_request"));
    }
    for asked in [
        json!(13),
        json!({"nearest": 13, "mmr": {}}),
        json!({"discover": {"target": 13}}),
        json!({"discover": {"target": 1, "context": [{"positive": 13, "negative": 2}]}}),
        json!({"context": [{"positive": 2, "negative": 13}]}),
    ] {
        assert!(
            refused(&engine, &json!({"query": asked, "using": "b"})).starts_with("point_without_vector"),
            "{asked}"
        );
    }
}

#[test]
fn queries_of_a_batch_are_those_that_one_by_one_would_be_c6_3() {
    let engine = collection();
    let searches: Vec<Value> = (0..24)
        .map(|at| match at % 4 {
            0 => json!({"query": at, "using": "a", "limit": 7}),
            1 => json!({"query": [1, at, 0, 0], "using": "b", "limit": 5, "offset": 2, "score_threshold": 40}),
            2 => json!({"query": {"discover": {"target": at}}, "using": "a"}),
            _ => json!({"prefetch": [{"query": at, "using": "a"}, {"query": at, "using": "b"}], "query": {"fusion": "dbsf"}}),
        })
        .collect();
    let batch = call(&engine, "c", "query_batch", &json!({"searches": searches}));
    for (one, answer) in searches.iter().zip(batch.as_array().unwrap()) {
        assert_eq!(&call(&engine, "c", "query", one), answer, "{one}");
    }
    let bad = json!({"searches": [{"query": 1, "using": "a"}, {"query": 99, "using": "a"}]});
    let error = send(&engine, "c", "query_batch", &bad).expect_err("an absent example").to_string();
    assert!(error.contains("searches[1]"), "{error}");
}
