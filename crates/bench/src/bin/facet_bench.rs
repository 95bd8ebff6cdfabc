//! What a facet over a keyword index takes: over all points, and over half of them by filters of different kinds.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin facet_bench -- [--points 1000000] [--values 1000] [--rounds 41] [--json FILE]
//! ```
//!
//! `npm run bench:facet` runs it and adds the machine. Each point has one of the values, at random, and a vector of one
//! component, which is not indexed. The filters that half of the points pass: `keyword` (a value of an index of two values, at
//! random), `range` (of an integer index in which every value is another point's, in the order of the points), `scattered`
//! (the same in random order), `ids` (10,000 ids, the longest list that a request may have). Latencies are from the bytes of
//! a request to those of the answer, through the threads that a server has; the kinds take turns. The median counts.

use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{ask, call, send, wait_until_indexed};
use kithdb_bench::scatter::scatter;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Points of one upsert.
const BATCH: u64 = 5_000;
/// Ids of a list.
const LISTED: u64 = 10_000;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let (points, values) = (flags.value("points", 1_000_000u64)?, flags.value("values", 1_000u64)?);
    let (rounds, json): (usize, Option<PathBuf>) = (flags.value("rounds", 41)?, flags.optional("json")?);
    flags.finish()?;
    let folder = std::env::temp_dir().join(format!("kithdb-facet-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let engine = Engine::open(Arc::new(RealDisk::open(&folder)?), Options::default())?;
    fill(&engine, points, values)?;
    let mut kinds = Vec::new();
    for (name, filter) in filters(points) {
        let body = json!({"key": "value", "limit": 10, "filter": filter}).to_string().into_bytes();
        let counted = ask(&engine, "count", &json!({"filter": filter, "exact": true}))?["count"].clone();
        kinds.push((name, counted, body));
    }
    let mut times = vec![Vec::new(); kinds.len()];
    for _ in 0..rounds {
        for (times, (_, _, body)) in times.iter_mut().zip(&kinds) {
            let body = body.clone();
            let start = Instant::now();
            send(&engine, "facet", None, body)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let facets: Vec<Value> = kinds
        .iter()
        .zip(&mut times)
        .map(|((name, counted, _), times)| {
            times.sort_unstable_by(f64::total_cmp);
            println!("{name:>10}: {:>7.2} ms over {counted} points", times[times.len() / 2]);
            json!({"filter": name, "points": counted, "ms": times[times.len() / 2], "best_ms": times[0]})
        })
        .collect();
    engine.close();
    std::fs::remove_dir_all(&folder)?;
    if let Some(path) = json {
        let report = json!({"points": points, "values": values, "rounds": rounds, "facets": facets});
        std::fs::write(path, format!("{report:#}\n"))?;
    }
    Ok(())
}

/// The kinds of filters by name.
fn filters(points: u64) -> Vec<(&'static str, Value)> {
    let below_half = |key: &str| json!({"must": [{"key": key, "range": {"lt": points / 2}}]});
    let ids: Vec<u64> = (0..LISTED.min(points / 2)).map(|at| scatter(at) % points).collect();
    vec![
        ("none", Value::Null),
        ("keyword", json!({"must": [{"key": "half", "match": {"value": "a"}}]})),
        ("range", below_half("number")),
        ("scattered", below_half("scattered")),
        ("ids", json!({"must": [{"has_id": ids}]})),
    ]
}

fn fill(engine: &Engine, points: u64, values: u64) -> Fallible<()> {
    let vectors = json!({"size": 1, "distance": "Dot"});
    let config = json!({"vectors": vectors, "hnsw_config": {"m": 0}, "wal_config": {"durability": "os"}});
    ask(engine, "create_collection", &config)?;
    for (field, kind) in
        [("value", "keyword"), ("half", "keyword"), ("number", "integer"), ("scattered", "integer")]
    {
        ask(engine, "create_field_index", &json!({"field_name": field, "field_schema": kind}))?;
    }
    for from in (0..points).step_by(BATCH as usize) {
        call(engine, "upsert_points", None, batch(from..points.min(from + BATCH), points, values)?)?;
    }
    wait_until_indexed(engine)
}

fn batch(ids: std::ops::Range<u64>, points: u64, values: u64) -> Fallible<Vec<u8>> {
    let mut body = String::from("{\"points\":[");
    for id in ids.clone() {
        let comma = if id == ids.start { "" } else { "," };
        let random = scatter(id);
        let half = if random >> 40 & 1 == 0 { "a" } else { "b" };
        // A permutation: the factor has no divisor in common with a power of ten.
        let scattered = id * 7_919 % points;
        write!(
            body,
            "{comma}{{\"id\":{id},\"vector\":[1],\"payload\":{{\"value\":\"value {}\",\"half\":\"{half}\",\
             \"number\":{id},\"scattered\":{scattered}}}}}",
            random % values,
        )?;
    }
    body.push_str("]}");
    Ok(body.into_bytes())
}
