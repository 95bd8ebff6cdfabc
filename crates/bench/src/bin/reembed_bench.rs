//! What embedding a vector anew takes from searches meanwhile, and what recall it leaves, beside a fresh build.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin reembed_bench -- [--points 1000000] [--dim 128] [--seconds 30]
//!     [--queries 200] [--json FILE]
//! ```
//!
//! `npm run bench:reembed` runs it and adds the machine. The model costs nothing: it makes a vector of a text by arithmetic, in
//! this process. A point has a text, and a vector of another model. One client searches, first while nothing else happens, for
//! `seconds`, then from the beginning of the re-embedding until its graph is built, and the 99th percentiles are compared.
//! After the commit, recall of ten hits is measured over `queries` beside exact searches; then the collection is made anew of
//! the same new vectors, and measured likewise.

use kithdb_bench::flags::Flags;
use kithdb_bench::quantile::quantile;
use kithdb_bench::requests::{COLLECTION, ask, call, wait_until_indexed};
use kithdb_bench::scatter::scatter;
use kithdb_engine::engine::{Engine, Operation, Options, Request};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Points of one upsert.
const BATCH: u64 = 2_000;
/// Texts that are embedded at a time, as by a server.
const TEXTS: usize = 64;
/// Groups of points whose vectors are near each other.
const GROUPS: u64 = 1_000;
const UNNAMED: &str = "\"\"";
/// The quantiles of the latencies of searches that are reported, by name.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let (points, dim) = (flags.value("points", 1_000_000u64)?, flags.value("dim", 128usize)?);
    let (seconds, queries) = (flags.value("seconds", 30u64)?, flags.value("queries", 200u64)?);
    let json: Option<PathBuf> = flags.optional("json")?;
    flags.finish()?;
    let folder = std::env::temp_dir().join(format!("kithdb-reembed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let engine = Arc::new(Engine::open(Arc::new(RealDisk::open(&folder)?), Options::default())?);
    fill(&engine, Model::Old, points, dim)?;
    let idle = searched(&engine, dim, &|start: Instant| start.elapsed() >= Duration::from_secs(seconds))?;
    let (meanwhile, took) = reembedded(&engine, dim)?;
    let latencies =
        QUANTILES.map(|(name, share)| (name, quantile(&idle, share), quantile(&meanwhile, share)));
    call(&engine, "commit_reembedding", Some(UNNAMED), Vec::new())?;
    wait_until_indexed(&engine)?;
    let after = recall(&engine, dim, points, queries)?;
    ask(&engine, "delete_collection", &Value::Null)?;
    fill(&engine, Model::New, points, dim)?;
    let fresh = recall(&engine, dim, points, queries)?;
    for (name, idle, meanwhile) in latencies {
        println!("{name} idle {idle:.2} ms, meanwhile {meanwhile:.2} ms: {:.2}", meanwhile / idle);
    }
    println!("recall after the commit {after:.4}, of a fresh build {fresh:.4}; {took:.1} s");
    engine.close();
    std::fs::remove_dir_all(&folder)?;
    if let Some(path) = json {
        let latencies: serde_json::Map<String, Value> = latencies
            .into_iter()
            .map(|(name, idle, meanwhile)| {
                let ratio = meanwhile / idle;
                (name.to_string(), json!({"idle_ms": idle, "meanwhile_ms": meanwhile, "ratio": ratio}))
            })
            .collect();
        let report = json!({
            "points": points, "dim": dim, "seconds": took, "texts_a_second": points as f64 / took,
            "latencies": latencies,
            "recall": {"after_commit": after, "fresh_build": fresh},
        });
        std::fs::write(path, format!("{report:#}\n"))?;
    }
    Ok(())
}

/// Which vectors the points have.
#[derive(Clone, Copy)]
enum Model {
    Old,
    New,
}

impl Model {
    /// The vector of a point: that of its group, and some of its own.
    fn vector(self, id: u64, dim: usize) -> Vec<f32> {
        let seed = match self {
            Model::Old => 1 << 40,
            Model::New => 2 << 40,
        };
        let part = |number: u64| (scatter(number) >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
        let (group, own) = (seed + id % GROUPS * dim as u64, 2 * seed + id * dim as u64);
        (0..dim as u64).map(|at| part(group + at) + 0.5 * part(own + at)).collect()
    }
}

fn fill(engine: &Engine, model: Model, points: u64, dim: usize) -> Fallible<()> {
    let declared = json!({"size": dim, "distance": "Cosine", "model": {"name": "old", "text_key": "text"}});
    ask(engine, "create_collection", &json!({"vectors": declared}))?;
    for from in (0..points).step_by(BATCH as usize) {
        let mut body = String::from("{\"points\":[");
        for id in from..points.min(from + BATCH) {
            let comma = if id > from { "," } else { "" };
            let vector = numbers(&model.vector(id, dim));
            let _ =
                write!(body, "{comma}{{\"id\":{id},\"vector\":{vector},\"payload\":{{\"text\":\"{id}\"}}}}");
        }
        body.push_str("]}");
        call(engine, "upsert_points", None, body.into_bytes())?;
    }
    wait_until_indexed(engine)
}

fn numbers(vector: &[f32]) -> String {
    let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// Latencies of searches, in milliseconds, until `is_over`.
fn searched(engine: &Engine, dim: usize, is_over: &dyn Fn(Instant) -> bool) -> Fallible<Vec<f64>> {
    let (start, mut times) = (Instant::now(), Vec::new());
    while !is_over(start) {
        let query = Model::Old.vector(scatter(times.len() as u64), dim);
        let body = format!("{{\"query\":{},\"limit\":10}}", numbers(&query)).into_bytes();
        let sent = Instant::now();
        call(engine, "query", None, body)?;
        times.push(sent.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

/// Embeds every text anew, and searches meanwhile until the graph is built. Returns the latencies, and the seconds that it took.
fn reembedded(engine: &Arc<Engine>, dim: usize) -> Fallible<(Vec<f64>, f64)> {
    let start = Instant::now();
    let trial = json!({"model": "new", "vector": Model::New.vector(0, dim)});
    embed(engine, "reembed_vectors", &trial)?;
    let is_done = Arc::new(AtomicBool::new(false));
    let (worker, done) = (Arc::clone(engine), Arc::clone(&is_done));
    let working = std::thread::spawn(move || {
        let embedded = embed_all(&worker, dim).and_then(|()| wait_until_indexed(&worker));
        done.store(true, Ordering::Release);
        embedded.map_err(|error| error.to_string())
    });
    let times = searched(engine, dim, &|_| is_done.load(Ordering::Acquire))?;
    working.join().map_err(|_| "the worker panicked")??;
    Ok((times, start.elapsed().as_secs_f64()))
}

fn embed_all(engine: &Engine, dim: usize) -> Fallible<()> {
    loop {
        let next = embed(engine, "next_texts", &json!({"limit": TEXTS}))?;
        let mut points = next["points"].as_array().cloned().unwrap_or_default();
        if points.is_empty() && next["has_more"] == json!(false) {
            return Ok(());
        }
        for point in &mut points {
            let id = point["input"]["text"].as_str().unwrap_or_default().parse()?;
            point["input"]["vector"] = json!(Model::New.vector(id, dim));
        }
        if !points.is_empty() {
            embed(engine, "fill_vectors", &json!({"begun": next["begun"], "points": points}))?;
        }
    }
}

/// A request whose texts have their vectors.
fn embed(engine: &Engine, operation: &str, body: &Value) -> Fallible<Value> {
    let (send, receive) = mpsc::channel();
    let operation = Operation::parse(operation).ok_or("an operation")?;
    let request = Request {
        target: Some(UNNAMED.to_string()),
        gives_out_texts: true,
        ..Request::new(operation, COLLECTION, body.to_string().into_bytes())
    };
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    Ok(serde_json::from_slice::<Value>(&receive.recv()??)?["result"].take())
}

/// How many of the nearest ten searches find, of all.
fn recall(engine: &Engine, dim: usize, points: u64, queries: u64) -> Fallible<f64> {
    let mut found = 0;
    for query in 0..queries {
        let near = Model::New.vector(points + scatter(query) % points, dim);
        let ids = |exact: bool| -> Fallible<Vec<Value>> {
            let query = numbers(&near);
            let body = format!("{{\"query\":{query},\"limit\":10,\"params\":{{\"exact\":{exact}}}}}");
            let answer = call(engine, "query", None, body.into_bytes())?;
            let hits = answer["points"].as_array().cloned().unwrap_or_default();
            Ok(hits.into_iter().map(|mut hit| hit["id"].take()).collect())
        };
        let nearest = ids(true)?;
        found += ids(false)?.iter().filter(|id| nearest.contains(id)).count();
    }
    Ok(found as f64 / (10 * queries) as f64)
}
