//! How long field indexes take to build, what that does to searches beside them, how long filters take with them, and
//! writes of one point.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin field_index_bench -- [--rows 62000] [--dim 384] [--seconds 10]
//! ```
//!
//! Vectors and payloads are synthetic; a document has some 300 bytes. Writes do not wait for the disk (`durability` is
//! `os`): their time is the engine's own work, in six indexes at once.

use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{ask, call, wait_until_indexed};
use kithdb_bench::scatter::scatter;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Points in a request.
const BATCH: u64 = 500;
/// Points that are replaced, and deleted, one by one.
const WRITES: u64 = 500;
/// The indexes that are built, by field.
const INDEXES: [(&str, &str); 6] = [
    ("name", "keyword"),
    ("tag", "keyword"),
    ("n", "integer"),
    ("score", "float"),
    ("at", "datetime"),
    ("place", "geo"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut flags = Flags::of_this_process();
    let (rows, dim) = (flags.value("rows", 62_000u64)?, flags.value("dim", 384u64)?);
    let seconds = flags.value("seconds", 10u64)?;
    flags.finish()?;
    let dir = std::env::temp_dir().join(format!("kithdb-fields-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let engine = Engine::open(Arc::new(RealDisk::open(&dir)?), Options::default())?;
    fill(&engine, rows, dim)?;
    for (field, schema) in INDEXES {
        let start = Instant::now();
        declare(&engine, field, schema)?;
        println!("{schema:>8} index of {field}: {:.1?}", start.elapsed());
    }
    filters(&engine)?;
    writes(&engine, rows, dim)?;
    for (field, _) in INDEXES {
        call(&engine, "delete_field_index", Some(field), Vec::new())?;
    }
    let idle = searches(&engine, dim, Duration::from_secs(seconds), &AtomicBool::new(false))?;
    print_latencies("searches alone", idle);
    let stop = AtomicBool::new(false);
    let built = AtomicU64::new(0);
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                declare(&engine, "name", "keyword").expect("an index");
                built.fetch_add(1, Ordering::Relaxed);
                call(&engine, "delete_field_index", Some("name"), Vec::new()).expect("an index");
            }
        });
        let latencies = searches(&engine, dim, Duration::from_secs(seconds), &stop);
        stop.store(true, Ordering::Relaxed);
        latencies
    })?;
    print_latencies("searches while a keyword index is always being built", beside);
    println!("built {} times meanwhile", built.load(Ordering::Relaxed));
    for (field, schema) in &INDEXES[..5] {
        declare(&engine, field, schema)?;
    }
    engine.close();
    drop(engine);
    for _ in 0..3 {
        let start = Instant::now();
        let engine = Engine::open(Arc::new(RealDisk::open(&dir)?), Options::default())?;
        let opened = start.elapsed();
        wait_until_indexed(&engine)?;
        println!("opened in {opened:.1?}, five indexes built after {:.1?}", start.elapsed());
        engine.close();
    }
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

fn declare(engine: &Engine, field: &str, schema: &str) -> Result<Value, Box<dyn Error>> {
    ask(engine, "create_field_index", &json!({"field_name": field, "field_schema": schema}))
}

fn fill(engine: &Engine, rows: u64, dim: u64) -> Result<(), Box<dyn Error>> {
    let body = json!({"vectors": {"size": dim, "distance": "Cosine"}, "hnsw_config": {"ef_construct": 32},
        "wal_config": {"durability": "os"}});
    ask(engine, "create_collection", &body)?;
    for from in (0..rows).step_by(BATCH as usize) {
        call(engine, "upsert_points", None, batch(from..rows.min(from + BATCH), dim))?;
    }
    wait_until_indexed(engine)?;
    println!("{rows} rows × {dim} are there");
    Ok(())
}

fn batch(ids: std::ops::Range<u64>, dim: u64) -> Vec<u8> {
    let mut body = String::from("{\"points\":[");
    for id in ids.clone() {
        let comma = if id == ids.start { "" } else { "," };
        let (lon, lat) = place(id);
        let payload = json!({
            "name": format!("package-{}", scatter(id) % 50_000),
            "tag": format!("tag-{}", scatter(id) % 37),
            "n": scatter(id) % 1_000_000,
            "score": (scatter(id) % 10_000) as f64 / 100.0,
            "at": format!("20{:02}-{:02}-{:02}T{:02}:30:00Z", id % 25, scatter(id) % 12 + 1, scatter(id) % 28 + 1, id % 24),
            "place": {"lon": lon, "lat": lat},
            "text": "a description that no index covers and that every reader has to skip ".repeat(2),
        });
        write!(body, "{comma}{{\"id\":{id},\"payload\":{payload},\"vector\":{}}}", vector(id, dim))
            .expect("a string takes all");
    }
    body.push_str("]}");
    body.into_bytes()
}

/// Half of the places are in a few towns, the others anywhere.
fn place(id: u64) -> (f64, f64) {
    let share = |seed: u64| (scatter(seed) % 1_000_000) as f64 / 1e6;
    let (lon, lat) = (share(id * 2) * 360.0 - 180.0, share(id * 2 + 1) * 170.0 - 85.0);
    if id.is_multiple_of(2) {
        return (lon, lat);
    }
    let town = scatter(id) % 20;
    (share(town * 2) * 300.0 - 150.0 + lon / 900.0, share(town * 2 + 1) * 120.0 - 60.0 + lat / 900.0)
}

fn vector(id: u64, dim: u64) -> Value {
    (0..dim)
        .map(|at| (scatter(id % 1_000 * dim + at) % 200) as i64 + (scatter(id * dim + at) % 100) as i64 - 150)
        .collect()
}

/// Counts by places: with the index that is there.
fn filters(engine: &Engine) -> Result<(), Box<dyn Error>> {
    let (lon, lat) = place(1);
    let ring = |count: u64, size: f64| -> Vec<Value> {
        let at = |n: u64| (n % count) as f64 / count as f64 * std::f64::consts::TAU;
        (0..=count).map(|n| json!({"lon": 10.0 + size * at(n).cos(), "lat": size * at(n).sin()})).collect()
    };
    for (what, condition) in [
        (
            "20 km around a town",
            json!({"geo_radius": {"center": {"lon": lon, "lat": lat}, "radius": 20_000}}),
        ),
        (
            "3,000 km around a town",
            json!({"geo_radius": {"center": {"lon": lon, "lat": lat}, "radius": 3_000_000}}),
        ),
        (
            "a box across the antimeridian",
            json!({"geo_bounding_box": {"top_left": {"lon": 150, "lat": 40}, "bottom_right": {"lon": -150, "lat": -40}}}),
        ),
        ("a polygon of 20 edges", json!({"geo_polygon": {"exterior": {"points": ring(20, 40.0)}}})),
        ("a polygon of 2,000 edges", json!({"geo_polygon": {"exterior": {"points": ring(2_000, 40.0)}}})),
    ] {
        let mut condition = condition;
        condition["key"] = json!("place");
        let body = json!({"filter": {"must": condition}}).to_string().into_bytes();
        let mut times = Vec::new();
        let mut count = Value::Null;
        for _ in 0..200 {
            let start = Instant::now();
            count = call(engine, "count", None, body.clone())?["count"].clone();
            times.push(start.elapsed());
        }
        times.sort_unstable();
        println!("{what}: {count} points, counted in {:.1?} (median)", times[times.len() / 2]);
    }
    Ok(())
}

/// Replaces points and deletes some, one in each request and one request after the other: the cost of changing sets
/// of all points.
fn writes(engine: &Engine, rows: u64, dim: u64) -> Result<(), Box<dyn Error>> {
    let (mut replaced, mut deleted) = (Vec::new(), Vec::new());
    for at in 0..WRITES {
        let id = scatter(at) % rows;
        let delete = json!({"points": [id]}).to_string().into_bytes();
        for (operation, body, times) in [
            ("upsert_points", batch(id..id + 1, dim), &mut replaced),
            ("delete_points", delete, &mut deleted),
            ("upsert_points", batch(id..id + 1, dim), &mut Vec::new()),
        ] {
            let start = Instant::now();
            call(engine, operation, None, body)?;
            times.push(start.elapsed());
        }
    }
    print_latencies("one point replaced", replaced);
    print_latencies("one point deleted", deleted);
    Ok(())
}

/// Latencies of one search after the other, until the time is over or `stop` is set.
fn searches(
    engine: &Engine,
    dim: u64,
    time: Duration,
    stop: &AtomicBool,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let started = Instant::now();
    let mut latencies = Vec::new();
    while started.elapsed() < time && !stop.load(Ordering::Relaxed) {
        let body = json!({"vector": vector(scatter(latencies.len() as u64), dim), "limit": 10});
        let body = body.to_string().into_bytes();
        let start = Instant::now();
        call(engine, "search", None, body)?;
        latencies.push(start.elapsed());
    }
    Ok(latencies)
}

fn print_latencies(what: &str, mut latencies: Vec<Duration>) {
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: {} with p50 {:.0?}, p95 {:.0?}, p99 {:.0?}",
        latencies.len(),
        at(0.5),
        at(0.95),
        at(0.99)
    );
}
