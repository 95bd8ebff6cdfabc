//! What a hybrid search costs beside a dense one: dense and sparse candidates, fused by reciprocal ranks.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin hybrid_bench -- DIR [--data FOLDER] [--ef 64] [--queries 300]
//!     [--window 20] [--rounds 5]
//! ```
//!
//! `DIR` holds vectors as `hnsw_bench` reads them, the texts of the rows in `payload.jsonl.gz` and those of the queries
//! in `queries.jsonl`. The sparse vectors are made of the texts' words as `sparse_bench` makes them, and searched with
//! `modifier: idf`. Ten hits are asked for: of the dense vectors, of the sparse ones, and of the fusion of so many
//! (`window`) of each. The collection is built in `FOLDER`, which is kept when it is given.
//!
//! Two latencies, each kind of request in turn; the best of a query's rounds counts, and of the queries the median. One
//! is from the bytes of a request to its hits on this thread alone, the other from the bytes to those of the answer
//! through the threads that a server has, where both searches of a hybrid one may run at once. The shares are those of
//! the medians.

use kithdb_bench::data_set::DataSet;
use kithdb_bench::empty_catalog::EmptyCatalog;
use kithdb_bench::flags::Flags;
use kithdb_bench::quantile::median;
use kithdb_bench::requests::{COLLECTION, ask, send, wait_until_indexed};
use kithdb_bench::texts::Texts;
use kithdb_engine::api;
use kithdb_engine::collection::Snapshot;
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::limits::Limits;
use kithdb_engine::query;
use kithdb_engine::storage::RealDisk;
use kithdb_engine::vectors::SparseVector;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Hits that are asked for.
const K: usize = 10;
/// Points of one upsert.
const BATCH: usize = 500;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let dir = PathBuf::from(flags.first("the folder of a data set")?);
    let folder: Option<PathBuf> = flags.optional("data")?;
    let (ef, window) = (flags.value("ef", 64usize)?, flags.value("window", 20usize)?);
    let (queries, rounds) = (flags.value("queries", 300usize)?, flags.value("rounds", 5usize)?);
    flags.finish()?;
    let (data, texts) = (DataSet::load(&dir)?, Texts::load(&dir)?);
    let scratch = std::env::temp_dir().join(format!("kithdb-hybrid-{}", std::process::id()));
    let at = folder.as_deref().unwrap_or(&scratch);
    std::fs::create_dir_all(at)?;
    let engine = Engine::open(Arc::new(RealDisk::open(at)?), Options::default())?;
    fill(&engine, &data, &texts)?;
    let snapshot = engine.catalog().enter(COLLECTION)?.collection()?.snapshot();

    let dense = |query: &[f32], limit: usize| json!({"query": query, "using": "d", "limit": limit, "params": {"hnsw_ef": ef}});
    let sparse =
        |query: &SparseVector, limit: usize| json!({"query": shown(query), "using": "s", "limit": limit});
    let asked = texts.asked();
    let pairs: Vec<(&Vec<f32>, &SparseVector)> = data.queries.iter().zip(&asked).take(queries).collect();
    let kinds: [(&str, Vec<Value>); 3] = [
        ("dense", pairs.iter().map(|(vector, _)| dense(vector, K)).collect()),
        ("sparse", pairs.iter().map(|(_, words)| sparse(words, K)).collect()),
        (
            "hybrid",
            pairs
                .iter()
                .map(|(vector, words)| {
                    let prefetch = [dense(vector, window), sparse(words, window)];
                    json!({"prefetch": prefetch, "query": {"fusion": "rrf"}, "limit": K})
                })
                .collect(),
        ),
    ];
    let kinds =
        kinds.map(|(name, bodies)| (name, bodies.iter().map(|body| body.to_string().into_bytes()).collect()));
    let (name, rows) = (&data.name, data.base.len());
    println!("{name}: {rows} rows, {} queries, ef {ef}, {window} candidates of each", pairs.len());
    let here = measure(&kinds, rounds, |body| run(&snapshot, body))?;
    let served = measure(&kinds, rounds, |body| serve(&engine, body))?;
    let (here_dense, served_dense) = (here[0], served[0]);
    for ((name, _), (here, served)) in kinds.iter().zip(here.iter().zip(&served)) {
        let (here_share, served_share) = (here / here_dense, served / served_dense);
        println!(
            "{name:>7} {here:>8.1} µs on one thread, {here_share:.2} × dense; served {served:>8.1} µs, {served_share:.2} ×"
        );
    }
    engine.close();
    if folder.is_none() {
        std::fs::remove_dir_all(&scratch)?;
    }
    Ok(())
}

fn shown(vector: &SparseVector) -> Value {
    json!({"indices": vector.indices, "values": vector.values})
}

/// Creates and indexes the collection, unless a run before has.
fn fill(engine: &Engine, data: &DataSet, texts: &Texts) -> Fallible<()> {
    if ask(engine, "collection_exists", &Value::Null)?["exists"] != json!(true) {
        let create = json!({
            "vectors": {"d": {"size": data.base[0].len(), "distance": data.metric}},
            "sparse_vectors": {"s": {"modifier": "idf"}},
        });
        ask(engine, "create_collection", &create)?;
        let points: Vec<(&Vec<f32>, SparseVector)> = data.base.iter().zip(texts.vectors()).collect();
        for (batch, points) in points.chunks(BATCH).enumerate() {
            let point = |(at, (dense, sparse)): (usize, &(&Vec<f32>, SparseVector))| json!({"id": batch * BATCH + at, "vector": {"d": dense, "s": shown(sparse)}});
            let points: Vec<Value> = points.iter().enumerate().map(point).collect();
            ask(engine, "upsert_points", &json!({ "points": points }))?;
        }
    }
    wait_until_indexed(engine)
}

/// The median latency of each kind of request, in microseconds.
fn measure(
    kinds: &[(&str, Vec<Vec<u8>>)],
    rounds: usize,
    latency: impl Fn(&[u8]) -> Fallible<f64>,
) -> Fallible<Vec<f64>> {
    let mut best: Vec<Vec<f64>> = kinds.iter().map(|(_, bodies)| vec![f64::INFINITY; bodies.len()]).collect();
    // Round after round, so that a query does not find its own rows in the caches.
    for _ in 0..rounds {
        for (best, (_, bodies)) in best.iter_mut().zip(kinds) {
            for (best, body) in best.iter_mut().zip(bodies) {
                *best = best.min(latency(body)?);
            }
        }
    }
    Ok(best.iter().map(|times| median(times)).collect())
}

/// The microseconds that a request takes on this thread.
fn run(snapshot: &Snapshot, body: &[u8]) -> Fallible<f64> {
    let start = Instant::now();
    let request = api::query(body, &Limits::default())?;
    let deadline = Deadline::new(start, Duration::from_secs(60), "Query");
    let hits = query::query(snapshot, &request, &EmptyCatalog, &deadline)?;
    let took = start.elapsed().as_secs_f64() * 1e6;
    if hits.is_empty() { Err("nothing was found".into()) } else { Ok(took) }
}

/// The microseconds that a request takes through the threads of the engine.
fn serve(engine: &Engine, body: &[u8]) -> Fallible<f64> {
    let body = body.to_vec();
    let start = Instant::now();
    send(engine, "query", None, body)?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}
