//! Projections show who is near whom (C6.10).

use super::recall::{Data, debian, holding};
use super::{call, engine, send};
use crate::engine::Engine;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Neighbours that are to be preserved.
const NEAR: usize = 10;

struct Map {
    ids: Vec<usize>,
    places: Vec<[f64; 2]>,
    explained: Option<f64>,
}

fn project(engine: &Engine, body: &Value) -> Map {
    let result = call(engine, "c", "project_points", body);
    let numbers = |key: &str| -> Vec<f64> {
        let list = result[key].as_array().expect("a list").iter();
        list.map(|number| number.as_f64().expect("a number")).collect()
    };
    let places = numbers("x").into_iter().zip(numbers("y")).map(|(x, y)| [x, y]).collect();
    Map {
        ids: numbers("ids").into_iter().map(|id| id as usize).collect(),
        places,
        explained: result["explained_variance"].as_f64(),
    }
}

/// All but one of the numbers, by what `distance` says of them.
fn by_distance(count: usize, own: usize, distance: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut others: Vec<(f64, usize)> =
        (0..count).filter(|&at| at != own).map(|at| (distance(at), at)).collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    others.into_iter().map(|(_, at)| at).collect()
}

/// How far those who are near in the plane are near in truth (Venna & Kaski, *Neighborhood preservation in nonlinear
/// projection methods*, 2001): 1 when all of them are.
fn trustworthiness(data: &Data, map: &Map) -> f64 {
    let count = map.ids.len();
    let mut penalty = 0.0;
    for own in 0..count {
        let vector = &data.base[map.ids[own]];
        let similarity = |at: usize| -> f64 {
            let other = &data.base[map.ids[at]];
            -f64::from(vector.iter().zip(other).map(|(a, b)| a * b).sum::<f32>())
        };
        let truly = by_distance(count, own, similarity);
        let [x, y] = map.places[own];
        let seen = by_distance(count, own, |at| (map.places[at][0] - x).hypot(map.places[at][1] - y));
        for near in &seen[..NEAR] {
            let rank = 1 + truly.iter().position(|at| at == near).expect("everyone has a rank");
            penalty += rank.saturating_sub(NEAR) as f64;
        }
    }
    let (n, k) = (count as f64, NEAR as f64);
    1.0 - penalty * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))
}

#[test]
fn umap_preserves_neighbours_better_than_principal_components_c6_10() {
    let data = debian();
    let engine = holding(1, &data, "Cosine");
    // All points and a sparse sample, whose neighbours walks find, and so few that everything is compared.
    for (sample, least) in [(2_000, 0.05), (500, 0.05), (150, 0.02)] {
        let of = |method: &str| project(&engine, &json!({"sample": sample, "method": method, "seed": 1}));
        let (plane, layout) = (of("pca"), of("umap"));
        assert_eq!(plane.ids, layout.ids, "one seed is one sample");
        assert_eq!(plane.ids.len(), sample);
        let [by_components, by_layout] = [&plane, &layout].map(|map| trustworthiness(&data, map));
        assert!(by_layout > by_components + least, "{sample}: {by_layout} and {by_components}");
        assert!(plane.explained.is_some_and(|share| share > 0.02 && share < 0.5), "{:?}", plane.explained);
        assert_eq!(layout.explained, None);
    }
}

#[test]
fn walks_and_comparing_everything_find_nearly_the_same_neighbours_c6_10() {
    let data = debian();
    let by_walks = holding(1, &data, "Cosine");
    let without_graph = engine(1);
    let vectors = json!({"size": data.base[0].len(), "distance": "Cosine"});
    let create = json!({"vectors": vectors, "hnsw_config": {"m": 0}});
    call(&without_graph, "c", "create_collection", &create);
    for (part, vectors) in data.base.chunks(500).enumerate() {
        let point = |(at, vector): (usize, &Vec<f32>)| json!({"id": part * 500 + at, "vector": vector});
        let points: Vec<Value> = vectors.iter().enumerate().map(point).collect();
        call(&without_graph, "c", "upsert_points", &json!({"points": points}));
    }
    let of = |engine: &Engine| trustworthiness(&data, &project(engine, &json!({"sample": 2_000})));
    let (walked, scanned) = (of(&by_walks), of(&without_graph));
    assert!((walked - scanned).abs() < 0.02, "{walked} and {scanned}");
}

#[test]
fn points_that_the_graph_lacks_have_their_neighbours_all_the_same_c6_10() {
    let mut data = debian();
    let all: Vec<Vec<f32>> = data.base[..600].to_vec();
    data.base.truncate(200);
    let write = |engine: &Engine, from: usize| {
        let point = |at: usize| json!({"id": at, "vector": all[at]});
        let points: Vec<Value> = (from..all.len()).map(point).collect();
        call(engine, "c", "upsert_points", &json!({"points": points}));
    };
    let with_tail = holding(1, &data, "Cosine");
    write(&with_tail, 200);
    let without_graph = engine(1);
    let vectors = json!({"size": all[0].len(), "distance": "Cosine"});
    let create = json!({"vectors": vectors, "hnsw_config": {"m": 0}});
    call(&without_graph, "c", "create_collection", &create);
    write(&without_graph, 0);
    let of = |engine: &Engine| {
        let map = project(engine, &json!({"sample": 600, "seed": 3}));
        (map.ids, map.places)
    };
    assert_eq!(of(&with_tail), of(&without_graph));
}

#[test]
fn a_map_follows_from_its_seed_c6_10() {
    let engine = holding(2, &debian(), "Cosine");
    let of = |seed: u64| {
        let map = project(&engine, &json!({"sample": 300, "seed": seed}));
        (map.ids, map.places)
    };
    assert_eq!(of(7), of(7));
    let (a, b): (HashSet<usize>, HashSet<usize>) =
        (of(7).0.into_iter().collect(), of(8).0.into_iter().collect());
    assert!(a.intersection(&b).count() < 150, "another seed is another sample");
}

#[test]
fn a_sample_has_points_that_match_and_have_the_vector_c6_10() {
    let engine = engine(3);
    let vectors = json!({"v": {"size": 3, "distance": "Euclid"}});
    let create = json!({"vectors": vectors, "sparse_vectors": {"s": {}}});
    call(&engine, "c", "create_collection", &create);
    let project = |body: Value| call(&engine, "c", "project_points", &body);
    assert_eq!(project(json!({"using": "v"}))["ids"], json!([]), "there are no points");
    let point = |id: i32| json!({"id": id, "vector": {"v": [id, id * id, 1]}, "payload": {"odd": id % 2}});
    let points: Vec<Value> = (0..20).map(point).chain([json!({"id": 99, "vector": {}})]).collect();
    call(&engine, "c", "upsert_points", &json!({"points": points}));
    // A point that is written again has a row behind the others.
    call(&engine, "c", "upsert_points", &json!({"points": [point(2)]}));
    call(&engine, "c", "delete_points", &json!({"points": [4]}));
    let filter = json!({"must": {"key": "odd", "match": {"value": 0}}});
    for method in ["pca", "umap"] {
        let map = project(json!({"using": "v", "method": method, "filter": filter}));
        let ids: HashSet<u64> =
            map["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        assert_eq!(ids, HashSet::from([0, 2, 6, 8, 10, 12, 14, 16, 18]));
        assert_eq!(map["x"].as_array().unwrap().len(), 9);
        let one = project(json!({"using": "v", "method": method, "sample": 1}));
        assert_eq!([&one["x"].as_array().unwrap().len(), &one["ids"].as_array().unwrap().len()], [&1, &1]);
    }
    for (body, why) in [
        (json!({"using": "s"}), "using: sparse vectors are not projected"),
        (json!({"using": "x"}), "x"),
        (json!({"using": "v", "sample": 100_001}), "sample: must be at most 100000, got 100001"),
    ] {
        let error = send(&engine, "c", "project_points", &body).expect_err(why);
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// Rows of a multi-vector and their mean; under Cosine of their directions.
fn rows_and_mean(id: usize, distance: &str) -> (Vec<Vec<f64>>, Vec<f64>) {
    let row = |of: usize| -> Vec<f64> {
        (0..4).map(|at| ((id * 7 + of * 3 + at * 5) as f64).sin() * (1 + of) as f64).collect()
    };
    let rows: Vec<Vec<f64>> = (0..1 + id % 5).map(row).collect();
    let length = |row: &[f64]| row.iter().map(|one| one * one).sum::<f64>().sqrt();
    let weight = |row: &[f64]| if distance == "Cosine" { 1.0 / length(row) } else { 1.0 };
    let mean = |at: usize| rows.iter().map(|row| row[at] * weight(row)).sum::<f64>() / rows.len() as f64;
    let mean = (0..4).map(mean).collect();
    (rows, mean)
}

#[test]
fn multi_vectors_are_projected_as_the_means_of_their_rows_c6_10() {
    for distance in ["Cosine", "Euclid"] {
        let engine = engine(4);
        let field = json!({"size": 4, "distance": distance});
        let mut multi = field.clone();
        multi["multivector_config"] = json!({"comparator": "max_sim"});
        call(&engine, "c", "create_collection", &json!({"vectors": {"m": multi, "v": field}}));
        let point = |id: usize| {
            let (rows, mean) = rows_and_mean(id, distance);
            json!({"id": id, "vector": {"m": rows, "v": mean}})
        };
        call(&engine, "c", "upsert_points", &json!({"points": (0..300).map(point).collect::<Vec<_>>()}));
        // One that is written again has its rows behind the others, and one without rows is left out.
        call(&engine, "c", "upsert_points", &json!({"points": [point(3), {"id": 999, "vector": {}}]}));
        for method in ["pca", "umap"] {
            let of = |using: &str| {
                let mut map = project(&engine, &json!({"using": using, "method": method, "seed": 5}));
                let mut placed: Vec<_> = map.ids.drain(..).zip(map.places.drain(..)).collect();
                placed.sort_by_key(|(id, _)| *id);
                (placed, map.explained)
            };
            let ((of_means, shown), (of_vectors, truly)) = (of("m"), of("v"));
            assert_eq!(of_means.len(), 300, "{distance} {method}");
            assert_eq!(shown.is_some(), method == "pca");
            // The layout of UMAP is moved by the last bit of a distance.
            if method == "pca" {
                assert!((shown.unwrap() - truly.unwrap()).abs() < 1e-4);
                for ((id, a), (other, b)) in of_means.iter().zip(&of_vectors) {
                    assert_eq!(id, other);
                    assert!((a[0] - b[0]).abs() < 1e-3 && (a[1] - b[1]).abs() < 1e-3, "{id}: {a:?} {b:?}");
                }
            }
        }
    }
}

#[test]
fn means_of_multi_vectors_have_a_limit_c6_10() {
    let engine = engine(5);
    let field = json!({"size": 1024, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}});
    call(&engine, "c", "create_collection", &json!({"vectors": {"m": field}}));
    let point = |id: usize| json!({"id": id, "vector": {"m": [vec![id as f32; 1024], vec![1.0; 1024]]}});
    call(&engine, "c", "upsert_points", &json!({"points": (0..20).map(point).collect::<Vec<_>>()}));
    let of = |sample: usize| send(&engine, "c", "project_points", &json!({"using": "m", "sample": sample}));
    assert!(of(16).is_ok());
    let error = of(17).expect_err("17 means of 4 KiB").to_string();
    assert!(
        error.contains("sample: the means of its multi-vectors take 69632 bytes, at most 65536"),
        "{error}"
    );
}
