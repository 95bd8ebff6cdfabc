//! What a filter takes whose index makes itself, and what ingest takes meanwhile.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin auto_index_bench -- [--points 1000000] [--ingested 200000] [--rounds 5] [--json FILE]
//! ```
//!
//! `npm run bench:auto-index` runs it and adds the machine. Each point has one of a thousand values, at random, and a vector
//! of 16 components without a graph. The same search, whose filter one point in a thousand passes, is asked twenty times, one
//! after the other. Then the index is declared, and the search is asked twenty times again: the twentieth of the first is
//! divided by the median of these.
//!
//! Ingest: points are written anew in batches right after the filter has been asked so often that its index is due, which is
//! built during that; and the same where the collection makes no indexes by itself. The two take turns, and the median of
//! the quotients of their rates counts. Each round says how many automatic indexes there were at its end.

use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{ask, call, send};
use kithdb_bench::scatter::scatter;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Points of one upsert.
const BATCH: u64 = 1_000;
const VALUES: u64 = 1_000;
const COMPONENTS: u64 = 16;
/// How often the filter is asked.
const ASKED: usize = 20;
/// Scans after which an index is due, and one more.
const SCANS: usize = 5;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let (points, ingested) = (flags.value("points", 1_000_000u64)?, flags.value("ingested", 200_000u64)?);
    let (rounds, json): (usize, Option<PathBuf>) = (flags.value("rounds", 5)?, flags.optional("json")?);
    flags.finish()?;
    let folder = std::env::temp_dir().join(format!("kithdb-auto-index-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let engine = Engine::open(Arc::new(RealDisk::open(&folder)?), Options::default())?;
    fill(&engine, points)?;
    let automatic = asked(&engine)?;
    let indexes = auto_indexes(&engine)?;
    let twentieth = automatic[ASKED - 1];
    ask(&engine, "create_field_index", &json!({"field_name": "value", "field_schema": "keyword"}))?;
    let declared = asked(&engine)?;
    let by_hand = median(&declared);
    println!("first {:.2} ms, twentieth {twentieth:.2} ms with {indexes} automatic indexes", automatic[0]);
    println!("by hand {by_hand:.2} ms: quotient {:.2}", twentieth / by_hand);
    call(&engine, "delete_field_index", Some("value"), Vec::new())?;
    let ingest = ingest(&engine, points, ingested, rounds)?;
    engine.close();
    std::fs::remove_dir_all(&folder)?;
    if let Some(path) = json {
        let report = json!({
            "points": points, "ingested": ingested, "rounds": rounds,
            "asked_ms": automatic, "auto_indexes": indexes, "declared_ms": declared,
            "twentieth_by_declared": twentieth / by_hand, "ingest": ingest,
        });
        std::fs::write(path, format!("{report:#}\n"))?;
    }
    Ok(())
}

/// Milliseconds of each of twenty searches.
fn asked(engine: &Engine) -> Fallible<Vec<f64>> {
    (0..ASKED).map(|_| search(engine)).collect()
}

fn search(engine: &Engine) -> Fallible<f64> {
    let vector: Vec<u64> = (0..COMPONENTS).collect();
    let filter = json!({"must": {"key": "value", "match": {"value": "value 7"}}});
    let body = json!({"vector": vector, "limit": 10, "filter": filter}).to_string().into_bytes();
    let start = Instant::now();
    send(engine, "search", None, body)?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Rounds of ingest with and without indexes that make themselves.
fn ingest(engine: &Engine, points: u64, ingested: u64, rounds: usize) -> Fallible<Value> {
    let mut quotients = Vec::new();
    let mut list = Vec::new();
    for round in 0..rounds {
        let mut rates = [0.0; 2];
        let mut indexes = 0;
        // Each is first in every second round.
        for at in [round % 2, (round + 1) % 2] {
            // None is left of the round before.
            ask(engine, "update_collection", &json!({"field_indexes": "manual"}))?;
            let mode = ["auto", "manual"][at];
            ask(engine, "update_collection", &json!({"field_indexes": mode}))?;
            for _ in 0..SCANS {
                search(engine)?;
            }
            let bodies: Vec<Vec<u8>> = batches(0..ingested.min(points)).collect::<Fallible<_>>()?;
            let start = Instant::now();
            for body in bodies {
                call(engine, "upsert_points", None, body)?;
            }
            rates[at] = ingested.min(points) as f64 / start.elapsed().as_secs_f64();
            if at == 0 {
                indexes = auto_indexes(engine)?;
            }
        }
        let [automatic, manual] = rates;
        println!("ingest {automatic:.0} points/s with {indexes} automatic indexes, {manual:.0} without");
        quotients.push(automatic / manual);
        list.push(json!({"auto": automatic, "manual": manual, "auto_indexes": indexes}));
    }
    let quotient = median(&quotients);
    println!("ingest: quotient {quotient:.3}");
    Ok(json!({"rounds": list, "quotient": quotient}))
}

fn auto_indexes(engine: &Engine) -> Fallible<usize> {
    let info = ask(engine, "collection_info", &Value::Null)?;
    Ok(info["auto_indexes"].as_object().map_or(0, serde_json::Map::len))
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn fill(engine: &Engine, points: u64) -> Fallible<()> {
    let vectors = json!({"size": COMPONENTS, "distance": "Dot"});
    let config = json!({"vectors": vectors, "hnsw_config": {"m": 0}, "wal_config": {"durability": "os"}});
    ask(engine, "create_collection", &config)?;
    batches(0..points).try_for_each(|body| call(engine, "upsert_points", None, body?).map(drop))
}

fn batches(ids: Range<u64>) -> impl Iterator<Item = Fallible<Vec<u8>>> {
    let end = ids.end;
    ids.step_by(BATCH as usize).map(move |from| batch(from..end.min(from + BATCH)))
}

fn batch(ids: Range<u64>) -> Fallible<Vec<u8>> {
    let mut body = String::from("{\"points\":[");
    for id in ids.clone() {
        let comma = if id == ids.start { "" } else { "," };
        let components: Vec<u64> = (0..COMPONENTS).map(|at| scatter(id * COMPONENTS + at) % 1_000).collect();
        write!(
            body,
            "{comma}{{\"id\":{id},\"vector\":{components:?},\"payload\":{{\"title\":\"the point of number {id}\",\
             \"value\":\"value {}\",\"number\":{id}}}}}",
            scatter(id) % VALUES,
        )?;
    }
    body.push_str("]}");
    Ok(body.into_bytes())
}
