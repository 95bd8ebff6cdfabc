//! What a grouped query costs beside the same query without groups.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin groups_bench -- DIR [--data FOLDER] [--queries 300] [--rounds 5]
//!     [--limit 10] [--size 3]
//! ```
//!
//! `DIR` holds vectors as `hnsw_bench` reads them, and the payloads of the rows in `payload.jsonl.gz`. They are grouped by
//! two fields of the payloads, `source` (small groups that are near each other) and `section` (large ones), and by three
//! that are made up: `ten` (groups of ten rows from anywhere), `thousand` (of a thousand rows from anywhere) and `five`
//! (five groups). Each is measured with a keyword index and without one. The collection is built in `FOLDER`, which is kept
//! when it is given.
//!
//! Latencies are from the bytes of a request to those of the answer, through the threads that a server has, all kinds of
//! request in turn; the best of a query's rounds counts, and of the queries the median. The shares are those of the medians:
//! to the same query with a limit of as many hits as the groups may have, and to one with a limit of as many hits as there
//! are groups. Both show payloads, as the grouped one does.

use kithdb_bench::data_set::{DataSet, read};
use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{ask, send, wait_until_indexed};
use kithdb_bench::scatter::scatter;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Points of one upsert.
const BATCH: usize = 500;
/// The fields to group by.
const FIELDS: [&str; 5] = ["source", "section", "ten", "thousand", "five"];

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Requests of one kind: a name, the operation, the bodies.
struct Kind {
    name: String,
    operation: &'static str,
    bodies: Vec<Vec<u8>>,
}

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let dir = PathBuf::from(flags.first("the folder of a data set")?);
    let folder: Option<PathBuf> = flags.optional("data")?;
    let (queries, rounds) = (flags.value("queries", 300usize)?, flags.value("rounds", 5usize)?);
    let (limit, size) = (flags.value("limit", 10usize)?, flags.value("size", 3usize)?);
    flags.finish()?;
    let data = DataSet::load(&dir)?;
    let scratch = std::env::temp_dir().join(format!("kithdb-groups-{}", std::process::id()));
    let at = folder.as_deref().unwrap_or(&scratch);
    std::fs::create_dir_all(at)?;
    let engine = Engine::open(Arc::new(RealDisk::open(at)?), Options::default())?;
    fill(&engine, &data, &String::from_utf8(read(&dir.join("payload.jsonl.gz"))?)?)?;
    println!("{}: {} rows, {limit} groups of {size}", data.name, data.base.len());

    let of = |name: &str, operation, body: &dyn Fn(&[f32]) -> Value| Kind {
        name: name.to_string(),
        operation,
        bodies: data.queries.iter().take(queries).map(|query| body(query).to_string().into_bytes()).collect(),
    };
    let plain = |limit: usize| move |query: &[f32]| json!({"query": query, "limit": limit, "with_payload": ["section"]});
    let mut kinds = vec![
        of("as many hits", "query", &plain(limit * size)),
        of("as many hits as groups", "query", &plain(limit)),
    ];
    kinds.extend(FIELDS.map(|field| {
        let grouped = |query: &[f32]| json!({"query": query, "limit": limit, "group_size": size, "group_by": field, "with_payload": ["section"]});
        of(field, "query_groups", &grouped)
    }));
    for has_indexes in [false, true] {
        for field in FIELDS {
            let (operation, target, body) = match has_indexes {
                true => (
                    "create_field_index",
                    None,
                    json!({"field_name": field, "field_schema": "keyword"}).to_string(),
                ),
                false => ("delete_field_index", Some(field), String::new()),
            };
            send(&engine, operation, target, body.into_bytes())?;
        }
        wait_until_indexed(&engine)?;
        let times = measure(&engine, &kinds, rounds)?;
        println!("{} indexes:", if has_indexes { "with" } else { "without" });
        for (kind, time) in kinds.iter().zip(&times) {
            let filled = if kind.operation == "query" { String::new() } else { filled(&engine, kind)? };
            let (as_many, few) = (time / times[0], time / times[1]);
            println!("{:>24} {time:>9.1} µs, {as_many:>6.2} ×, {few:>6.2} × {filled}", kind.name);
        }
    }
    engine.close();
    if folder.is_none() {
        std::fs::remove_dir_all(&scratch)?;
    }
    Ok(())
}

/// Creates and indexes the collection, unless a run before has.
fn fill(engine: &Engine, data: &DataSet, payloads: &str) -> Fallible<()> {
    if ask(engine, "collection_exists", &Value::Null)?["exists"] != json!(true) {
        let vectors = json!({"size": data.base[0].len(), "distance": data.metric});
        ask(engine, "create_collection", &json!({ "vectors": vectors }))?;
        let rows = data.base.len();
        let points: Vec<(&Vec<f32>, &str)> = data.base.iter().zip(payloads.lines()).collect();
        for (batch, points) in points.chunks(BATCH).enumerate() {
            let point = |(at, (vector, payload)): (usize, &(&Vec<f32>, &str))| -> Fallible<Value> {
                let id = batch * BATCH + at;
                let mut payload: Value = serde_json::from_str(payload)?;
                let group =
                    |members: usize| format!("g{}", scatter(id as u64) % (rows / members).max(1) as u64);
                payload["ten"] = json!(group(10));
                payload["thousand"] = json!(group(1_000));
                payload["five"] = json!(group(rows / 5));
                Ok(json!({"id": id, "vector": vector, "payload": payload}))
            };
            let points = points.iter().enumerate().map(point).collect::<Fallible<Vec<Value>>>()?;
            ask(engine, "upsert_points", &json!({ "points": points }))?;
        }
    }
    wait_until_indexed(engine)
}

/// How many groups and hits the answers have, on average.
fn filled(engine: &Engine, kind: &Kind) -> Fallible<String> {
    let (mut groups, mut hits) = (0, 0);
    for body in &kind.bodies {
        let answer: Value = serde_json::from_slice(&send(engine, kind.operation, None, body.clone())?)?;
        let found = answer["result"]["groups"].as_array().ok_or("no groups")?;
        groups += found.len();
        hits += found.iter().filter_map(|group| group["hits"].as_array()).map(Vec::len).sum::<usize>();
    }
    let each = |count: usize| count as f64 / kind.bodies.len() as f64;
    Ok(format!("({:.1} groups, {:.1} hits)", each(groups), each(hits)))
}

/// The median latency of each kind of request, in microseconds.
fn measure(engine: &Engine, kinds: &[Kind], rounds: usize) -> Fallible<Vec<f64>> {
    let mut best: Vec<Vec<f64>> = kinds.iter().map(|kind| vec![f64::INFINITY; kind.bodies.len()]).collect();
    // Round after round, so that a query does not find its own rows in the caches.
    for _ in 0..rounds {
        for (best, kind) in best.iter_mut().zip(kinds) {
            for (best, body) in best.iter_mut().zip(&kind.bodies) {
                let start = Instant::now();
                send(engine, kind.operation, None, body.clone())?;
                *best = best.min(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_unstable_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    };
    Ok(best.into_iter().map(median).collect())
}
