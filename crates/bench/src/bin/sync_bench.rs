//! What a sync of a source takes: of unchanged points that are recognised by their hashes, and of new ones beside an upsert.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin sync_bench -- [--entries 10000] [--others 90000] [--dim 384] [--text 1000]
//!     [--rounds 21] [--json FILE]
//! ```
//!
//! `npm run bench:sync` runs it and adds the machine. A collection has `others` points of other sources and `entries` of one,
//! each with a text of `text` bytes behind its hash (64 hexadecimal digits) in the payload. Measured are a sync and a plan
//! of all `entries` by id and hash, with a field index over the source and without; then an upsert of as many new points, and
//! a sync of as many. Latencies are from the bytes of a request to those of the answer, through the threads that a server has;
//! the kinds take turns. The median counts. Records are what the log got meanwhile.

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

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// What the points are like.
#[derive(Clone, Copy)]
struct Shape {
    dim: usize,
    text: usize,
}

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let (entries, others) = (flags.value("entries", 10_000u64)?, flags.value("others", 90_000u64)?);
    let shape = Shape { dim: flags.value("dim", 384)?, text: flags.value("text", 1_000)? };
    let (rounds, json): (u64, Option<PathBuf>) = (flags.value("rounds", 21)?, flags.optional("json")?);
    flags.finish()?;
    let folder = std::env::temp_dir().join(format!("kithdb-sync-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let engine = Engine::open(Arc::new(RealDisk::open(&folder)?), Options::default())?;
    fill(&engine, shape, entries, others)?;
    let mut kinds = unchanged(&engine, entries, rounds, "")?;
    ask(&engine, "create_field_index", &json!({"field_name": "source", "field_schema": "keyword"}))?;
    kinds.extend(unchanged(&engine, entries, rounds, " with an index")?);
    kinds.extend(new(&engine, shape, entries, others, rounds)?);
    engine.close();
    std::fs::remove_dir_all(&folder)?;
    if let Some(path) = json {
        let report = json!({
            "entries": entries, "others": others, "dim": shape.dim, "text": shape.text, "rounds": rounds, "kinds": kinds,
        });
        std::fs::write(path, format!("{report:#}\n"))?;
    }
    Ok(())
}

/// A sync and a plan of the source as it is.
fn unchanged(engine: &Engine, entries: u64, rounds: u64, how: &str) -> Fallible<Vec<Value>> {
    let body =
        source("one", "hash", (0..entries).map(|id| format!("{{\"id\":{id},\"hash\":\"{}\"}}", hash(id))));
    let before = engine.log_position().get();
    let mut kinds = [("sync of unchanged points", "sync_points"), ("plan of unchanged points", "plan_sync")]
        .map(|(name, operation)| (format!("{name}{how}"), operation, Vec::new()));
    for _ in 0..rounds {
        for (_, operation, times) in &mut kinds {
            let sent = body.clone();
            let start = Instant::now();
            send(engine, operation, None, sent)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let records = engine.log_position().get() - before;
    let unchanged = &call(engine, "sync_points", None, body)?["unchanged"];
    assert_eq!(*unchanged, json!(entries), "every point is unchanged");
    Ok(kinds.into_iter().map(|(name, _, times)| measured(&name, times, records)).collect())
}

/// An upsert and a sync of as many new points.
fn new(engine: &Engine, shape: Shape, entries: u64, others: u64, rounds: u64) -> Fallible<Vec<Value>> {
    let mut times = [Vec::new(), Vec::new()];
    let before = engine.log_position().get();
    for round in 0..rounds.min(7) {
        let first = entries + others + 2 * round * entries;
        let upserted = first..first + entries;
        let synced = first + entries..first + 2 * entries;
        let (name, other) = (format!("upserted {round}"), format!("synced {round}"));
        let points = upserted.map(|id| point(id, &name, shape)).collect::<Vec<_>>().join(",");
        let upsert = format!("{{\"points\":[{points}]}}").into_bytes();
        let sync = source(&other, "hash", synced.map(|id| point(id, &other, shape)));
        for (times, (operation, body)) in
            times.iter_mut().zip([("upsert_points", upsert), ("sync_points", sync)])
        {
            let start = Instant::now();
            send(engine, operation, None, body)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            wait_until_indexed(engine)?;
        }
    }
    let records = engine.log_position().get() - before;
    let [upserts, syncs] = times;
    Ok(vec![
        measured("upsert of new points", upserts, records),
        measured("sync of new points", syncs, records),
    ])
}

/// The median of some times, printed.
fn measured(name: &str, mut times: Vec<f64>, records: u64) -> Value {
    times.sort_unstable_by(f64::total_cmp);
    println!("{name:>40}: {:>8.2} ms, {records} records", times[times.len() / 2]);
    json!({"kind": name, "ms": times[times.len() / 2], "best_ms": times[0], "records": records})
}

fn fill(engine: &Engine, shape: Shape, entries: u64, others: u64) -> Fallible<()> {
    let vectors = json!({"size": shape.dim, "distance": "Cosine"});
    ask(engine, "create_collection", &json!({"vectors": vectors, "hnsw_config": {"m": 0}}))?;
    let points = entries + others;
    for from in (0..points).step_by(BATCH as usize) {
        let source = |id: u64| if id < entries { "one".to_string() } else { format!("other {}", id % 9) };
        let ids = from..points.min(from + BATCH);
        let batch = ids.map(|id| point(id, &source(id), shape)).collect::<Vec<_>>().join(",");
        call(engine, "upsert_points", None, format!("{{\"points\":[{batch}]}}").into_bytes())?;
    }
    wait_until_indexed(engine)
}

/// The body of a sync or a plan.
fn source(name: &str, key: &str, points: impl Iterator<Item = String>) -> Vec<u8> {
    let scope = json!({"must": {"key": "source", "match": {"value": name}}});
    let points = points.collect::<Vec<_>>().join(",");
    format!("{{\"scope\":{scope},\"hash_key\":\"{key}\",\"points\":[{points}]}}").into_bytes()
}

fn hash(id: u64) -> String {
    let part = |at: u64| format!("{:016x}", scatter(4 * id + at));
    (0..4).map(part).collect()
}

fn point(id: u64, source: &str, shape: Shape) -> String {
    let mut out = format!("{{\"id\":{id},\"vector\":[");
    for at in 0..shape.dim as u64 {
        let comma = if at > 0 { "," } else { "" };
        let component = (scatter(id * shape.dim as u64 + at) >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
        let _ = write!(out, "{comma}{component}");
    }
    let text = "word ".repeat(shape.text / 5);
    let _ = write!(
        out,
        "],\"payload\":{{\"source\":\"{source}\",\"hash\":\"{}\",\"text\":\"{text}\"}}}}",
        hash(id)
    );
    out
}
