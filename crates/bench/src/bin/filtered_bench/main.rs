//! Recall and latency of filtered searches, as shares of the latency of the same search without a filter.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin filtered_bench -- DIR [--data FOLDER] [--ef 64] [--queries 300] [--json FILE]
//! ```
//!
//! `DIR` holds a `meta.json` as `hnsw_bench` reads it. The collection is built in `FOLDER`, which is kept when it is
//! given, so that a second run begins with searching. Filters match 50, 10, 1 and 0.1 % of the points: any of them
//! by one value (`uniform`) or by a range over a thousand (`range`), those in the cells nearest to the query (`near`),
//! or those in the farthest (`far`). Each query is run without and with its filter in turn, on this thread; a latency
//! is from the parsed request to the hits, the median of the queries. Recall is at 10, by score against `exact: true`
//! with the same filter, so ties are hits. The last columns are the distances and scanned rows of a filtered
//! search, and how many of a hundred searches fell back to another plan.

mod data;

use data::{Cells, SHARES};
use kithdb_bench::data_set::DataSet;
use kithdb_bench::empty_catalog::EmptyCatalog;
use kithdb_bench::flags::Flags;
use kithdb_bench::quantile::median;
use kithdb_bench::requests::{COLLECTION, ask, wait_until_indexed};
use kithdb_bench::scatter::scatter;
use kithdb_engine::collection::Snapshot;
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::limits::Limits;
use kithdb_engine::query::{self, Hit};
use kithdb_engine::storage::RealDisk;
use kithdb_engine::{api, query::tree::QueryRequest};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const K: usize = 10;
/// Points of one upsert.
const BATCH: usize = 500;
/// Timed rounds over the queries; the best of a query counts.
const ROUNDS: usize = 3;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

struct Arguments {
    dir: PathBuf,
    folder: Option<PathBuf>,
    ef: usize,
    queries: usize,
    json: Option<PathBuf>,
}

fn arguments() -> Fallible<Arguments> {
    let mut flags = Flags::of_this_process();
    let arguments = Arguments {
        dir: flags.first("the folder of a data set")?.into(),
        folder: flags.optional("data")?,
        ef: flags.value("ef", 64)?,
        queries: flags.value("queries", 300)?,
        json: flags.optional("json")?,
    };
    flags.finish()?;
    Ok(arguments)
}

fn main() -> Fallible<()> {
    let arguments = arguments()?;
    let data = DataSet::load(&arguments.dir)?;
    println!("{}: {} rows × {}", data.name, data.base.len(), data.base[0].len());
    let cells: Vec<Cells> = SHARES.iter().map(|&(_, count)| Cells::new(&data, count)).collect();
    let scratch = std::env::temp_dir().join(format!("kithdb-filtered-{}", std::process::id()));
    let folder = arguments.folder.as_deref().unwrap_or(&scratch);
    std::fs::create_dir_all(folder)?;
    let engine = Engine::open(Arc::new(RealDisk::open(folder)?), Options::default())?;
    fill(&engine, &data, &cells)?;
    let report = measure(&engine, &data, &cells, &arguments)?;
    engine.close();
    if arguments.folder.is_none() {
        std::fs::remove_dir_all(&scratch)?;
    }
    if let Some(file) = &arguments.json {
        std::fs::write(file, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}

/// Creates and indexes the collection, unless a run before has.
fn fill(engine: &Engine, data: &DataSet, cells: &[Cells]) -> Fallible<()> {
    if ask(engine, "collection_exists", &Value::Null)?["exists"] != json!(true) {
        let vectors = json!({"size": data.base[0].len(), "distance": data.metric});
        let hnsw = json!({"m": 16, "ef_construct": 200});
        ask(engine, "create_collection", &json!({"vectors": vectors, "hnsw_config": hnsw}))?;
        let points = |from: usize| {
            let batch = data.base[from..].iter().take(BATCH).zip(from..);
            batch.map(|(vector, id)| {
                let mut payload = serde_json::Map::new();
                for (at, cells) in cells.iter().enumerate() {
                    payload.insert(format!("cell{at}"), json!(cells.of[id]));
                }
                let any = scatter(id as u64) % 1_000;
                payload.insert("any".into(), json!(any));
                let shares = SHARES.iter().zip(0..).filter(|((share, _), _)| (any as f64) < share * 10.0);
                payload.insert("sets".into(), shares.map(|(_, at)| json!(at)).collect());
                json!({"id": id, "vector": vector, "payload": payload})
            })
        };
        for from in (0..data.base.len()).step_by(BATCH) {
            ask(engine, "upsert_points", &json!({"points": points(from).collect::<Vec<_>>()}))?;
        }
        for field in (0..cells.len()).map(|at| format!("cell{at}")).chain(["any".into(), "sets".into()]) {
            let index = json!({"field_name": field, "field_schema": "integer"});
            ask(engine, "create_field_index", &index)?;
        }
    }
    let start = Instant::now();
    wait_until_indexed(engine)?;
    println!("indexed after {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn measure(engine: &Engine, data: &DataSet, cells: &[Cells], arguments: &Arguments) -> Fallible<Value> {
    let snapshot = engine.catalog().enter(COLLECTION)?.collection()?.snapshot();
    let queries = &data.queries[..arguments.queries.min(data.queries.len())];
    println!("{:>8} {:>7} {:>8} {:>9} {:>9} {:>6}", "filter", "share", "recall", "µs", "plain µs", "ratio");
    let mut rows = Vec::new();
    for kind in ["uniform", "range", "near", "far"] {
        for (at, (share, _)) in SHARES.iter().enumerate() {
            let wanted = data.base.len() as f64 * share / 100.0;
            let filters: Vec<Value> = queries
                .iter()
                .map(|query| match kind {
                    "uniform" => json!({"key": "sets", "match": {"value": at}}),
                    "range" => json!({"key": "any", "range": {"lt": share * 10.0}}),
                    _ => {
                        let list = cells[at].around(query, wanted as usize, kind == "near");
                        json!({"key": format!("cell{at}"), "match": {"any": list}})
                    }
                })
                .collect();
            let row = measure_filter(&snapshot, queries, &filters, arguments.ef)?;
            println!(
                "{kind:>8} {share:>6}% {:>8.4} {:>9.1} {:>9.1} {:>6.2} {:>6.0} {:>6.0} {:>4.0}%",
                row.recall,
                row.filtered_us,
                row.plain_us,
                row.filtered_us / row.plain_us,
                row.distances,
                row.scanned,
                row.fallbacks * 100.0
            );
            rows.push(json!({
                "filter": kind, "share_percent": share, "recall": row.recall,
                "filtered_us": row.filtered_us, "plain_us": row.plain_us,
                "ratio": row.filtered_us / row.plain_us, "distances": row.distances,
                "scanned": row.scanned, "fallbacks": row.fallbacks,
            }));
        }
    }
    Ok(json!({"data": data.name, "ef": arguments.ef, "k": K, "queries": queries.len(), "filtered": rows}))
}

struct Row {
    recall: f64,
    filtered_us: f64,
    plain_us: f64,
    /// Distances of a filtered search, on average.
    distances: f64,
    scanned: f64,
    fallbacks: f64,
}

fn measure_filter(snapshot: &Snapshot, queries: &[Vec<f32>], filters: &[Value], ef: usize) -> Fallible<Row> {
    let (mut hits, mut wanted) = (0, 0);
    let (mut distances, mut scanned, mut fallbacks) = (0, 0, 0);
    let mut pairs = Vec::new();
    for (query, filter) in queries.iter().zip(filters) {
        let filter = json!({"must": [filter]});
        let request = |filter: &Value, exact: bool| {
            let params = json!({"hnsw_ef": ef, "exact": exact});
            let body = json!({"vector": query, "limit": K, "filter": filter, "params": params});
            api::search(body.to_string().as_bytes(), &Limits::default())
        };
        let (truth, _) = run(snapshot, &request(&filter, true)?)?;
        let (with, without) = (request(&filter, false)?, request(&Value::Null, false)?);
        query::take_tally();
        let (found, _) = run(snapshot, &with)?;
        let tally = query::take_tally();
        distances += tally.distances;
        scanned += tally.scanned;
        fallbacks += tally.fallbacks;
        if let Some(last) = truth.last() {
            let higher = truth[0].score >= last.score;
            let good = |hit: &&Hit| if higher { hit.score >= last.score } else { hit.score <= last.score };
            hits += found.iter().filter(good).count().min(truth.len());
            wanted += truth.len();
        }
        pairs.push((without, with));
    }
    // Round after round, so that a query does not find its own rows in the caches.
    let (mut plain, mut filtered) = (vec![f64::INFINITY; pairs.len()], vec![f64::INFINITY; pairs.len()]);
    for _ in 0..ROUNDS {
        for (at, (without, with)) in pairs.iter().enumerate() {
            plain[at] = plain[at].min(run(snapshot, without)?.1);
            filtered[at] = filtered[at].min(run(snapshot, with)?.1);
        }
    }
    let recall = hits as f64 / f64::from(u32::try_from(wanted.max(1))?);
    let each = |sum: u64| sum as f64 / queries.len() as f64;
    Ok(Row {
        recall,
        filtered_us: median(&filtered),
        plain_us: median(&plain),
        distances: each(distances),
        scanned: each(scanned),
        fallbacks: each(fallbacks),
    })
}

/// The hits, and the microseconds that they took.
fn run(snapshot: &Snapshot, request: &QueryRequest) -> Fallible<(Vec<Hit>, f64)> {
    let start = Instant::now();
    let deadline = Deadline::new(start, Duration::from_secs(60), "Search");
    let hits = query::query(snapshot, request, &EmptyCatalog, &deadline)?;
    Ok((hits, start.elapsed().as_secs_f64() * 1e6))
}
