//! What a text index costs, and how fast conditions on two words are with and without it.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin text_bench -- DIR
//! ```
//!
//! `DIR` has `payload.jsonl.gz` and `base.f16.gz` in the form of the data set debian-384: documents with `description`
//! and `synopsis`, and their vectors of 384 half floats. The words asked for are those of the synopses.

use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{ask, call, wait_until_indexed};
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const DIM: usize = 384;
/// Points in a request.
const BATCH: usize = 1_000;
/// Requests of each kind.
const ROUNDS: usize = 400;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let source = PathBuf::from(flags.first("the folder of a data set")?);
    flags.finish()?;
    let dir = std::env::temp_dir().join(format!("kithdb-text-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let engine = Engine::open(Arc::new(RealDisk::open(&dir)?), Options::default())?;
    let lines = String::from_utf8(unpacked(&source.join("payload.jsonl.gz"))?)?;
    let documents: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let vectors = unpacked(&source.join("base.f16.gz"))?;
    fill(&engine, &documents, &vectors)?;
    let queries = word_pairs(&documents);
    println!("{} documents, {} queries of two words", documents.len(), queries.len());
    measure(&engine, "no index, words", "text", &queries[..20], &vectors)?;
    for (name, options) in [
        ("words", json!("text")),
        ("words and their order", json!({"type": "text", "phrase_matching": true})),
        (
            "English stems without stop words",
            json!({"type": "text", "stopwords": "english", "stemmer": {"type": "snowball", "language": "english"}}),
        ),
        (
            "prefixes of 2 to 15",
            json!({"type": "text", "tokenizer": "prefix", "min_token_len": 2, "max_token_len": 15}),
        ),
        ("multilingual", json!({"type": "text", "tokenizer": "multilingual"})),
    ] {
        let before = resident_kib();
        let start = Instant::now();
        ask(&engine, "create_field_index", &json!({"field_name": "description", "field_schema": options}))?;
        println!(
            "{name}: built in {:.2?}, about {} MiB more",
            start.elapsed(),
            (resident_kib() - before) / 1024
        );
        for kind in ["text", "text_any", "phrase"] {
            measure(&engine, name, kind, &queries, &vectors)?;
        }
        call(&engine, "delete_field_index", Some("description"), Vec::new())?;
    }
    engine.close();
    Ok(std::fs::remove_dir_all(&dir)?)
}

fn unpacked(path: &Path) -> Fallible<Vec<u8>> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path)?).read_to_end(&mut plain)?;
    Ok(plain)
}

fn vector(vectors: &[u8], row: usize) -> Vec<f32> {
    let bytes = &vectors[row * DIM * 2..(row + 1) * DIM * 2];
    bytes.as_chunks::<2>().0.iter().map(|&half| half::f16::from_le_bytes(half).to_f32()).collect()
}

fn fill(engine: &Engine, documents: &[Value], vectors: &[u8]) -> Fallible<()> {
    ask(engine, "create_collection", &json!({"vectors": {"size": DIM, "distance": "Cosine"}}))?;
    for (batch, documents) in documents.chunks(BATCH).enumerate() {
        let points: Vec<Value> = (batch * BATCH..)
            .zip(documents)
            .map(|(id, payload)| json!({"id": id, "vector": vector(vectors, id), "payload": payload}))
            .collect();
        ask(engine, "upsert_points", &json!({"points": points}))?;
    }
    wait_until_indexed(engine)
}

/// Two neighbouring words of at least four letters from the synopses of evenly spread documents.
fn word_pairs(documents: &[Value]) -> Vec<String> {
    let step = (documents.len() / ROUNDS).max(1);
    let pair = |document: &Value| {
        let synopsis = document["synopsis"].as_str()?;
        let words: Vec<&str> = synopsis.split_whitespace().filter(|word| word.len() >= 4).collect();
        Some(words.get(..2)?.join(" "))
    };
    documents.iter().step_by(step).filter_map(pair).collect()
}

fn measure(engine: &Engine, name: &str, kind: &str, queries: &[String], vectors: &[u8]) -> Fallible<()> {
    let (mut counts, mut searches, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for (at, words) in queries.iter().enumerate() {
        let filter = json!({"must": {"key": "description", "match": {kind: words}}});
        let body = json!({"filter": filter}).to_string();
        let start = Instant::now();
        let counted = call(engine, "count", None, body.into_bytes())?;
        counts.push(start.elapsed());
        found.push(counted["count"].as_u64().ok_or("no count")?);
        let body = json!({"vector": vector(vectors, at), "filter": filter, "limit": 10}).to_string();
        let start = Instant::now();
        call(engine, "search", None, body.into_bytes())?;
        searches.push(start.elapsed());
    }
    found.sort_unstable();
    println!(
        "  {name}, {kind}: {} matches (median), count {}, search {}",
        found[found.len() / 2],
        quantiles(&mut counts),
        quantiles(&mut searches)
    );
    Ok(())
}

fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    format!("{:.3?} median {:.3?} p99", times[times.len() / 2], times[times.len() * 99 / 100])
}

/// Memory of the process, in KiB.
fn resident_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    anonymous.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}
