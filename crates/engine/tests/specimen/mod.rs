//! A data directory with one of everything that is ever written, and what a client sees of it.
#![allow(dead_code, reason = "each test binary uses its part")]

use crate::common::{Random, TestEngine};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Collections that are there in the end, and where their data are.
pub const NAMES: [&str; 6] = ["dense", "multi", "plain", "sparse", "tail", "ünï c.ode"];

/// How much there is of what may be small or large.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Points of each dense collection; from 40 on they have graphs.
    pub points: u64,
    /// Points of the sparse collection.
    pub sparse: u64,
}

/// Components of each dense vector field of `dense`, by name.
const DENSE: [(&str, usize); 5] =
    [("bits", 256), ("bytes", 12), ("half", 24), ("scalar", 256), ("whole", 160)];
/// Components of a row of a multi-vector.
const ROW: usize = 48;

fn creations() -> [(&'static str, Value); 6] {
    let hnsw = json!({"m": 6, "ef_construct": 32, "full_scan_threshold": 10});
    let dense = json!({
        "vectors": {
            "bits": {
                "size": 256, "distance": "Cosine", "datatype": "float16", "quantization_config": {"binary": {"encoding": "two_bits"}},
            },
            "bytes": {"size": 12, "distance": "Manhattan", "datatype": "uint8", "on_disk": true},
            "half": {"size": 24, "distance": "Dot", "datatype": "float16", "on_disk": false},
            "scalar": {
                "size": 256, "distance": "Euclid", "datatype": "uint8", "quantization_config": {"scalar": {"type": "int8", "quantile": 0.99}},
            },
            "whole": {"size": 160, "distance": "Euclid", "hnsw_config": {"m": 8}},
        },
        "sparse_vectors": {
            "words": {"modifier": "idf"},
            "words_bytes": {"index": {"datatype": "uint8"}},
            "words_half": {"index": {"datatype": "float16"}},
        },
        "hnsw_config": hnsw,
        "metadata": {"made": "for tests"},
    });
    let multi = json!({
        "vectors": {"rows": {"size": ROW, "distance": "Dot", "datatype": "float16", "multivector_config": {"comparator": "max_sim"}}},
        "hnsw_config": hnsw,
    });
    let plain = json!({"vectors": {"size": 4, "distance": "Cosine"}, "on_disk_payload": true});
    let sparse = json!({"sparse_vectors": {"words": {}}});
    let tail = json!({"vectors": {"size": 3, "distance": "Euclid"}, "wal_config": {"durability": "always"}});
    let unicode = json!({"vectors": {"size": 2, "distance": "Dot"}});
    [
        ("dense", dense),
        ("multi", multi),
        ("plain", plain),
        ("sparse", sparse),
        ("tail", tail),
        ("ünï c.ode", unicode),
    ]
}

/// Field indexes of `dense`: one of every kind.
fn indexes() -> [(&'static str, Value); 9] {
    [
        ("tag", json!("keyword")),
        ("n", json!({"type": "integer", "lookup": true, "range": true})),
        ("price", json!("float")),
        ("flag", json!("bool")),
        ("place", json!("geo")),
        ("at", json!("datetime")),
        ("text", json!({"type": "text", "tokenizer": "word", "lowercase": true, "min_token_len": 2})),
        ("owner", json!("uuid")),
        ("deep.list[].n", json!("integer")),
    ]
}

fn id(number: u64) -> Value {
    match number % 7 {
        3 => json!(format!("6ba7b810-9dad-41d1-80b4-{number:012x}")),
        5 => json!(u64::MAX - number),
        _ => json!(number),
    }
}

/// Components are eighths, which every format keeps.
fn vector(random: &mut Random, size: usize) -> Vec<f32> {
    (0..size).map(|_| (random.below(65) as f32 - 32.0) / 8.0).collect()
}

fn whole_numbers(random: &mut Random, size: usize) -> Vec<u64> {
    (0..size).map(|_| random.below(256)).collect()
}

fn words(random: &mut Random) -> Value {
    let mut indices: Vec<u64> = (0..2 + random.below(6)).map(|_| random.below(40)).collect();
    indices.sort_unstable();
    indices.dedup();
    let values: Vec<f32> = indices.iter().map(|_| (1 + random.below(16)) as f32 / 4.0).collect();
    json!({"indices": indices, "values": values})
}

fn payload(random: &mut Random, number: u64) -> Value {
    let mut payload = json!({
        "n": number % 20,
        "tag": (["red", "green", "ünï\"q"][(number % 3) as usize]),
        "price": number as f64 / 3.0,
        "flag": number.is_multiple_of(2),
        "place": {"lon": (number * 37 % 360) as f64 - 180.0, "lat": (number * 17 % 180) as f64 - 90.0},
        "at": format!("2026-01-{:02}T10:00:00Z", 1 + number % 28),
        "text": (["the quick brown fox", "jumps over", "a lazy dog and a fox"][(number % 3) as usize]),
        "owner": format!("6ba7b810-9dad-41d1-80b4-{:012x}", number % 9),
        "deep": {"list": [{"n": number}, {"n": number + 1}, {"x": null}], "big": u64::MAX, "empty": {}},
    });
    if random.chance(30) {
        payload["padding"] = json!("λ".repeat(random.below(60) as usize));
    }
    if random.chance(20) {
        payload["tag"] = json!(["red", "blue", null]);
    }
    payload
}

fn point(random: &mut Random, name: &str, number: u64) -> Value {
    let vector = match name {
        "dense" => {
            let mut vectors = Map::new();
            for (field, size) in DENSE {
                if random.chance(90) {
                    let value = match field {
                        "bytes" | "scalar" => json!(whole_numbers(random, size)),
                        _ => json!(vector(random, size)),
                    };
                    vectors.insert(field.to_string(), value);
                }
            }
            vectors.insert("words".to_string(), words(random));
            vectors.insert("words_half".to_string(), words(random));
            let bytes = json!({"indices": [number % 5, 70], "values": [number % 256, 255]});
            vectors.insert("words_bytes".to_string(), bytes);
            Value::Object(vectors)
        }
        "multi" => {
            let rows: Vec<Vec<f32>> = (0..2 + random.below(4)).map(|_| vector(random, ROW)).collect();
            json!({"rows": rows})
        }
        "sparse" => {
            if number.is_multiple_of(12) {
                json!({"words": words(random)})
            } else {
                json!({"words": {"indices": [number % 50], "values": [1 + number % 8]}})
            }
        }
        "plain" => json!(vector(random, 4)),
        "tail" => json!(vector(random, 3)),
        _ => json!(vector(random, 2)),
    };
    let payload = if name == "sparse" { json!({}) } else { payload(random, number) };
    json!({"id": id(number), "vector": vector, "payload": payload})
}

fn upsert(engine: &TestEngine, random: &mut Random, name: &str, numbers: std::ops::Range<u64>) {
    let numbers: Vec<u64> = numbers.collect();
    for part in numbers.chunks(500) {
        let points: Vec<Value> = part.iter().map(|number| point(random, name, *number)).collect();
        engine.ok("upsert_points", name, json!({"points": points}));
    }
}

/// Writes everything: most of it into checkpoints, the rest into the log, which is there when the engine is killed.
pub fn write(engine: &mut TestEngine, sizes: Sizes, seed: u64) {
    let mut random = Random(seed);
    let random = &mut random;
    let Sizes { points, sparse } = sizes;
    let doomed = json!({"vectors": {"size": 2, "distance": "Dot"}});
    engine.ok("create_collection", "doomed", doomed.clone());
    upsert(engine, random, "doomed", 0..10);
    for (name, creation) in creations() {
        if name != "tail" {
            engine.ok("create_collection", name, creation);
            let count = if name == "sparse" { sparse } else { points };
            upsert(engine, random, name, 0..count / 2);
        }
    }
    for (field, schema) in indexes() {
        let body = json!({"field_name": field, "field_schema": schema});
        engine.ok("create_field_index", "dense", body);
    }
    engine.checkpoint();
    for name in ["dense", "multi", "plain"] {
        upsert(engine, random, name, points / 3..points);
    }
    upsert(engine, random, "sparse", sparse / 2..sparse);
    engine.ok("delete_points", "dense", json!({"points": [id(1), id(3), id(5)]}));
    engine.checkpoint();
    engine.ok("delete_collection", "doomed", json!(null));
    engine.checkpoint();
    // From here on everything is in the log alone.
    for (name, creation) in creations() {
        if name == "tail" {
            engine.ok("create_collection", name, creation);
        }
    }
    for part in 0..3 {
        upsert(engine, random, "tail", part * 7..part * 7 + 10);
    }
    engine.ok("create_collection", "doomed", doomed);
    upsert(engine, random, "doomed", 0..3);
    engine.ok("delete_collection", "doomed", json!(null));
    let filter = json!({"must": {"key": "n", "match": {"value": 4}}});
    for (operation, name, body) in [
        ("set_payload", "dense", json!({"payload": {"late": [1]}, "points": [id(2)]})),
        (
            "overwrite_payload",
            "dense",
            json!({"payload": {"deep": {"x": 1}}, "filter": filter, "key": "over"}),
        ),
        ("delete_payload", "dense", json!({"keys": ["price", "deep.list[0]"], "points": [id(6)]})),
        ("clear_payload", "dense", json!({"points": [id(7)]})),
        ("update_vectors", "dense", json!({"points": [{"id": id(8), "vector": {"bytes": vec![7; 12]}}]})),
        ("delete_vectors", "dense", json!({"vector": ["half", "words"], "points": [id(9)]})),
        ("delete_points", "multi", json!({"points": [id(2), id(3)]})),
        ("update_collection", "plain", json!({"metadata": {"patched": true}, "hnsw_config": {"m": 5}})),
        ("create_field_index", "multi", json!({"field_name": "n", "field_schema": "integer"})),
    ] {
        engine.ok(operation, name, body);
    }
    upsert(engine, random, "multi", points..points + 3);
    // Opening again makes the last records provably durable: only then is their loss damage and not a torn tail.
    engine.restart();
}

/// Everything that a client sees of a collection, however it comes about.
pub fn shown(engine: &TestEngine, name: &str) -> Value {
    engine.build_indexes();
    let info = engine.ok("collection_info", name, json!(null));
    let page = engine.ok("scroll", name, json!({"limit": 10_000, "with_vector": true, "with_payload": true}));
    let mut random = Random(name.len() as u64);
    let random = &mut random;
    let points = info["points_count"].as_u64().expect("a number");
    let most = points.saturating_sub(1).clamp(1, 30);
    let search = |vector: Value, exact: bool| {
        let params = json!({"exact": exact, "hnsw_ef": 1000});
        engine.ok("search", name, json!({"vector": vector, "limit": most, "params": params}))
    };
    let mut answers = Map::new();
    let mut both = |field: &str, vector: Value| {
        let exact = search(vector.clone(), true);
        // The graph answers with the same points: its list of candidates is longer than it has nodes.
        let client = engine.client();
        let near = || search(vector, false);
        let found = if client.has_graph(name, field) { client.walking(near) } else { near() };
        assert_eq!(found, exact, "graph and scan of {name}/{field} differ");
        answers.insert(format!("search {field}"), exact);
    };
    match name {
        "dense" => {
            for (field, size) in DENSE {
                both(field, json!({"name": field, "vector": vector(random, size)}));
            }
            for field in ["words", "words_bytes", "words_half"] {
                both(field, json!({"name": field, "vector": words(random)}));
            }
        }
        "multi" => {
            let rows = [vector(random, ROW), vector(random, ROW)];
            for exact in [true, false] {
                let params = json!({"exact": exact, "hnsw_ef": 1000});
                let body = json!({"query": rows, "using": "rows", "limit": most, "params": params});
                answers.insert(format!("query, exact {exact}"), engine.ok("query", name, body));
            }
        }
        "sparse" => {
            both("words", json!({"name": "words", "vector": words(random)}));
        }
        "plain" => both("", json!(vector(random, 4))),
        "tail" => both("", json!(vector(random, 3))),
        _ => both("", json!(vector(random, 2))),
    }
    for (what, filter) in filters() {
        let count = engine.ok("count", name, json!({"filter": {"must": filter}}));
        answers.insert(format!("count {what}"), count);
    }
    json!({
        "config": info["config"],
        "payload_schema": info["payload_schema"],
        "points_count": points,
        "points": page["points"],
        "answers": answers,
    })
}

/// A filter for every kind of field index.
fn filters() -> [(&'static str, Value); 9] {
    let box_ = json!({"top_left": {"lon": -60.0, "lat": 60.0}, "bottom_right": {"lon": 120.0, "lat": -30.0}});
    [
        ("tag", json!({"key": "tag", "match": {"value": "red"}})),
        ("n", json!({"key": "n", "range": {"gte": 3, "lt": 11}})),
        ("price", json!({"key": "price", "range": {"gt": 3.5}})),
        ("flag", json!({"key": "flag", "match": {"value": true}})),
        ("place", json!({"key": "place", "geo_bounding_box": box_})),
        ("at", json!({"key": "at", "range": {"lt": "2026-01-09T00:00:00Z"}})),
        ("text", json!({"key": "text", "match": {"text": "fox quick"}})),
        ("owner", json!({"key": "owner", "match": {"value": "6BA7B810-9DAD-41D1-80B4-000000000004"}})),
        ("deep", json!({"key": "deep.list[].n", "match": {"any": [4, 9, 30]}})),
    ]
}

/// What is shown of every collection.
pub fn all_shown(engine: &TestEngine) -> BTreeMap<String, Value> {
    NAMES.iter().map(|name| (name.to_string(), shown(engine, name))).collect()
}

/// Random changes, checkpoints and restarts, so that no two directories are alike.
pub fn scramble(engine: &mut TestEngine, random: &mut Random, steps: u64) {
    for _ in 0..steps {
        let name = NAMES[random.below(NAMES.len() as u64) as usize];
        let number = random.below(70);
        match random.below(100) {
            0..40 => {
                let count = 1 + random.below(20);
                upsert(engine, random, name, number..number + count);
            }
            40..55 => {
                let ids: Vec<Value> = (0..1 + random.below(8)).map(|at| id(number + at)).collect();
                engine.ok("delete_points", name, json!({"points": ids}));
            }
            55..65 => {
                let filter = json!({"must": {"key": "n", "match": {"value": number % 20}}});
                engine.ok(
                    "set_payload",
                    name,
                    json!({"payload": {"flag": null, "n": number}, "filter": filter}),
                );
            }
            65..70 => {
                engine.ok("update_collection", name, json!({"metadata": {"step": number}}));
            }
            70..75 => {
                let body = json!({"field_name": "n", "field_schema": "integer"});
                engine.ok("create_field_index", name, body);
            }
            75..95 => engine.work(kithdb_engine::collection::GraphPolicy::WhenGrown),
            _ => engine.restart(),
        }
    }
    engine.restart();
}
