//! Searches of sparse vectors: rate on one core, and recall against brute force.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin sparse_bench -- DIR [--rows N] [--queries 997] [--datatype float32]
//! ```
//!
//! `DIR` holds `payload.jsonl.gz` and `queries.jsonl` (texts in lines of JSON). Each text is a point whose words are
//! hashed to indices and weighed as BM25 does. Two sets of queries: any ten words of a text, frequent ones included, and
//! the questions of the data set; each without and with `modifier: idf`. A rate is from the bytes of a request to the
//! bytes of its answer on this thread, the best of three rounds. Brute force multiplies every row; recall is at 10, by
//! score, so ties are hits.

use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{ask, send};
use kithdb_bench::texts::Texts;
use kithdb_engine::catalog::Mode;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use kithdb_engine::vectors::SparseVector;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const K: usize = 10;
/// Points of one upsert.
const BATCH: usize = 500;
const ROUNDS: usize = 3;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

struct Arguments {
    dir: PathBuf,
    rows: usize,
    queries: usize,
    datatype: String,
}

fn arguments() -> Fallible<Arguments> {
    let mut flags = Flags::of_this_process();
    let arguments = Arguments {
        dir: flags.first("the folder of a data set")?.into(),
        rows: flags.value("rows", usize::MAX)?,
        queries: flags.value("queries", 997)?,
        datatype: flags.value("datatype", "float32".into())?,
    };
    flags.finish()?;
    Ok(arguments)
}

fn main() -> Fallible<()> {
    let arguments = arguments()?;
    let mut texts = Texts::load(&arguments.dir)?;
    texts.documents.truncate(arguments.rows);
    let vectors = texts.vectors();
    let elements: usize = vectors.iter().map(SparseVector::len).sum();
    println!("{} rows, {:.1} elements each", vectors.len(), elements as f64 / vectors.len() as f64);
    let folder = std::env::temp_dir().join(format!("kithdb-sparse-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let engine = open(&folder)?;
    fill(&engine, &vectors, &arguments.datatype)?;
    let kept = read_back(&engine, vectors.len())?;
    let sets = [("ten words", texts.ten_words(arguments.queries)), ("questions", texts.asked())];
    for idf in [false, true] {
        let modifier = if idf { "idf" } else { "none" };
        ask(&engine, "update_collection", &json!({"sparse_vectors": {"s": {"modifier": modifier}}}))?;
        for (name, queries) in &sets {
            let queries = &queries[..queries.len().min(arguments.queries)];
            measure(&engine, &format!("{name}, {modifier}"), queries, &kept, idf)?;
        }
    }
    report(&engine);
    engine.close();
    drop(engine);
    let start = Instant::now();
    let engine = open(&folder)?;
    println!("opened again, the index made anew, in {:.2?}", start.elapsed());
    engine.close();
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn open(folder: &Path) -> Fallible<Engine> {
    let options = Options { mode: Mode::Inline { seed: 1 }, ..Options::default() };
    Ok(Engine::open(Arc::new(RealDisk::open(folder)?), options)?)
}

fn shown(vector: &SparseVector) -> Value {
    json!({"indices": vector.indices, "values": vector.values})
}

fn fill(engine: &Engine, vectors: &[SparseVector], datatype: &str) -> Fallible<()> {
    let durability = json!({"durability": "os"});
    let sparse = json!({"s": {"index": {"datatype": datatype}}});
    ask(engine, "create_collection", &json!({"sparse_vectors": sparse, "wal_config": durability}))?;
    let mut spent = 0.0;
    for (batch, vectors) in vectors.chunks(BATCH).enumerate() {
        let point = |(at, vector)| json!({"id": batch * BATCH + at, "vector": {"s": shown(vector)}});
        let points: Vec<Value> = vectors.iter().enumerate().map(point).collect();
        let body = json!({"points": points}).to_string().into_bytes();
        let start = Instant::now();
        send(engine, "upsert_points", None, body)?;
        spent += start.elapsed().as_secs_f64();
    }
    println!("{:.0} points a second written and indexed", vectors.len() as f64 / spent);
    Ok(())
}

/// The vectors as they are kept: rounded to the element type.
fn read_back(engine: &Engine, count: usize) -> Fallible<Vec<SparseVector>> {
    let mut kept = Vec::with_capacity(count);
    for from in (0..count).step_by(BATCH) {
        let body = json!({"offset": from, "limit": BATCH, "with_vector": true, "with_payload": false});
        let page = ask(engine, "scroll", &body)?;
        for point in page["points"].as_array().ok_or("a page without points")? {
            let vector = &point["vector"]["s"];
            let indices = serde_json::from_value(vector["indices"].clone())?;
            kept.push(SparseVector { indices, values: serde_json::from_value(vector["values"].clone())? });
        }
    }
    Ok(kept)
}

fn measure(
    engine: &Engine,
    name: &str,
    queries: &[SparseVector],
    rows: &[SparseVector],
    idf: bool,
) -> Fallible<()> {
    let body =
        |query| json!({"vector": {"name": "s", "vector": shown(query)}, "limit": K}).to_string().into_bytes();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let bodies: Vec<Vec<u8>> = queries.iter().map(body).collect();
        let start = Instant::now();
        for body in bodies {
            send(engine, "search", None, body)?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let mut frequencies: HashMap<u32, u32> = HashMap::new();
    rows.iter().flat_map(|row| &row.indices).for_each(|index| *frequencies.entry(*index).or_default() += 1);
    let (mut hits, mut wanted) = (0, 0);
    for query in queries {
        let found = ask(engine, "search", &serde_json::from_slice(&body(query))?)?;
        let scores: Vec<f32> = found
            .as_array()
            .ok_or("no hits")?
            .iter()
            .map(|hit| hit["score"].as_f64().map(|score| score as f32).ok_or("no score"))
            .collect::<Result<_, _>>()?;
        let weigh = |(index, value): (u32, f32)| {
            let shared = f64::from(frequencies.get(&index).copied().unwrap_or(0));
            let rarity = ((rows.len() as f64 - shared + 0.5) / (shared + 0.5) + 1.0).ln();
            (index, if idf { (f64::from(value) * rarity) as f32 } else { value })
        };
        let weights: Vec<(u32, f32)> = query.iter().map(weigh).collect();
        let mut expected: Vec<f32> = rows.iter().filter_map(|row| product(row, &weights)).collect();
        expected.sort_unstable_by(|a, b| b.total_cmp(a));
        expected.truncate(K);
        wanted += expected.len();
        hits += scores.iter().filter(|score| expected.last().is_some_and(|last| *score >= last)).count();
    }
    println!(
        "{name}: {:.0} queries a second ({:.1} elements each), recall {:.4}",
        queries.len() as f64 / best,
        queries.iter().map(SparseVector::len).sum::<usize>() as f64 / queries.len() as f64,
        hits as f64 / wanted as f64
    );
    Ok(())
}

/// The sum of the products over shared indices, computed directly.
fn product(row: &SparseVector, weights: &[(u32, f32)]) -> Option<f32> {
    let shared = weights.iter().filter_map(|(index, weight)| {
        let at = row.indices.binary_search(index).ok()?;
        Some(weight * row.values[at])
    });
    shared.fold(None, |sum, product| Some(sum.unwrap_or(0.0) + product))
}

fn report(engine: &Engine) {
    let memory = engine.status().memory;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "memory: rows {:.1} MiB, postings {:.1} MiB, points {:.1} MiB",
        mib(memory.originals),
        mib(memory.links),
        mib(memory.points)
    );
}
