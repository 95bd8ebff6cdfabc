//! How long a collection takes from opening its directory to serving, and how much memory it takes.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin restart_bench -- --rows 200000 --dim 768 [--dir DIR] [--ef 16]
//! ```
//!
//! The vectors are synthetic: clusters around random centres. A small `ef_construct` makes a graph of the same size in
//! a fraction of the time. With `--dir` the files stay, and a second run only opens them.

use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{ask, call, wait_until_indexed};
use kithdb_bench::scatter::scatter;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Points in a request.
const BATCH: u64 = 500;
const CLUSTERS: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut flags = Flags::of_this_process();
    let (rows, dim) = (flags.value("rows", 200_000u64)?, flags.value("dim", 768u64)?);
    let (ef, dir) = (flags.value("ef", 16u64)?, flags.optional::<PathBuf>("dir")?);
    flags.finish()?;
    let temporary = std::env::temp_dir().join(format!("kithdb-restart-{}", std::process::id()));
    let kept = dir.is_some();
    let dir = dir.unwrap_or(temporary);
    std::fs::create_dir_all(&dir)?;
    let engine = open(&dir)?;
    if ask(&engine, "collection_exists", &Value::Null)? == json!({"exists": false}) {
        fill(&engine, rows, dim, ef)?;
    }
    report(&engine)?;
    let start = Instant::now();
    engine.close();
    drop(engine);
    println!("closed in {:.2?}", start.elapsed());
    for _ in 0..3 {
        let start = Instant::now();
        let engine = open(&dir)?;
        let opened = start.elapsed();
        let body = json!({"vector": vec![0.5; dim as usize], "limit": 10});
        let hits = ask(&engine, "search", &body)?;
        let served = start.elapsed();
        println!("opened in {opened:.2?}, {} hits after {served:.2?}", hits.as_array().map_or(0, Vec::len));
        report(&engine)?;
        engine.close();
    }
    if !kept {
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}

fn open(dir: &Path) -> Result<Engine, Box<dyn Error>> {
    Ok(Engine::open(Arc::new(RealDisk::open(dir)?), Options::default())?)
}

fn fill(engine: &Engine, rows: u64, dim: u64, ef: u64) -> Result<(), Box<dyn Error>> {
    let vectors = json!({"size": dim, "distance": "Cosine"});
    ask(engine, "create_collection", &json!({"vectors": vectors, "hnsw_config": {"ef_construct": ef}}))?;
    let start = Instant::now();
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(BATCH, Ordering::Relaxed);
                    if from >= rows {
                        return;
                    }
                    call(engine, "upsert_points", None, batch(from..rows.min(from + BATCH), dim))
                        .expect("an upsert");
                }
            });
        }
    });
    println!("{rows} rows × {dim} upserted in {:.2?}", start.elapsed());
    wait_until_indexed(engine)?;
    println!("all indexed in {:.2?}", start.elapsed());
    Ok(())
}

/// The body of an upsert, with short numbers, so that parsing costs little.
fn batch(ids: std::ops::Range<u64>, dim: u64) -> Vec<u8> {
    let mut body = String::from("{\"points\":[");
    for id in ids.clone() {
        let comma = if id == ids.start { "" } else { "," };
        write!(body, "{comma}{{\"id\":{id},\"payload\":{{\"n\":{id}}},\"vector\":[")
            .expect("a string takes all");
        for at in 0..dim {
            let centre = scatter((id % CLUSTERS) * dim + at) % 200;
            let noise = scatter(id * dim + at) % 100;
            let comma = if at == 0 { "" } else { "," };
            write!(body, "{comma}{}", centre as i64 + noise as i64 - 150).expect("a string takes all");
        }
        body.push_str("]}");
    }
    body.push_str("]}");
    body.into_bytes()
}

fn report(engine: &Engine) -> Result<(), Box<dyn Error>> {
    let memory = engine.status().memory;
    let points = engine.status().points.max(1) as u64;
    println!("{memory:?}: {} bytes a point in memory", memory.resident() / points);
    for line in std::fs::read_to_string("/proc/self/status").unwrap_or_default().lines() {
        if ["VmRSS", "RssAnon", "RssFile"].iter().any(|name| line.starts_with(name)) {
            println!("  {line}");
        }
    }
    Ok(())
}
