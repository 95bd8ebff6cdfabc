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
//! built during that; the same where the collection makes no indexes by itself; and the same with the index declared. The
//! three take turns, and the medians of the quotients of the first rate by the others count. Each round says how many automatic
//! indexes there were at its end.

use kithdb_bench::flags::Flags;
use kithdb_bench::quantile::median;
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

/// Where the index of an ingest comes from.
#[derive(Clone, Copy)]
enum Mode {
    Auto,
    None,
    Declared,
}

const MODES: [Mode; 3] = [Mode::Auto, Mode::None, Mode::Declared];

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
    declare(&engine)?;
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

/// Makes the index by hand.
fn declare(engine: &Engine) -> Fallible<()> {
    ask(engine, "create_field_index", &json!({"field_name": "value", "field_schema": "keyword"})).map(drop)
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
    let (mut to_none, mut to_declared, mut list) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let mut rates = [0.0; MODES.len()];
        let mut indexes = 0;
        // Each is first in every third round.
        for at in (0..MODES.len()).map(|at| (at + round) % MODES.len()) {
            // None is left of the round before.
            ask(engine, "update_collection", &json!({"field_indexes": "manual"}))?;
            match MODES[at] {
                Mode::Auto => drop(ask(engine, "update_collection", &json!({"field_indexes": "auto"}))?),
                Mode::None => {}
                Mode::Declared => declare(engine)?,
            }
            for _ in 0..SCANS {
                search(engine)?;
            }
            rates[at] = rate(engine, ingested.min(points))?;
            match MODES[at] {
                Mode::Auto => indexes = auto_indexes(engine)?,
                Mode::None => {}
                Mode::Declared => drop(call(engine, "delete_field_index", Some("value"), Vec::new())?),
            }
        }
        let [auto, none, declared] = rates;
        println!(
            "ingest {auto:.0} points/s with {indexes} automatic indexes, {none:.0} without, {declared:.0} with a declared one"
        );
        to_none.push(auto / none);
        to_declared.push(auto / declared);
        list.push(json!({"auto": auto, "manual": none, "declared": declared, "auto_indexes": indexes}));
    }
    let (quotient, to_declared) = (median(&to_none), median(&to_declared));
    println!("ingest: quotient {quotient:.3}, by that with a declared index {to_declared:.3}");
    Ok(json!({"rounds": list, "quotient": quotient, "quotient_to_declared": to_declared}))
}

/// Points a second that are written anew in batches.
fn rate(engine: &Engine, points: u64) -> Fallible<f64> {
    let bodies: Vec<Vec<u8>> = batches(0..points).collect::<Fallible<_>>()?;
    let start = Instant::now();
    for body in bodies {
        call(engine, "upsert_points", None, body)?;
    }
    Ok(points as f64 / start.elapsed().as_secs_f64())
}

fn auto_indexes(engine: &Engine) -> Fallible<usize> {
    let info = ask(engine, "collection_info", &Value::Null)?;
    Ok(info["auto_indexes"].as_object().map_or(0, serde_json::Map::len))
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
