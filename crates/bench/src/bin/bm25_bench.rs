//! How many texts a second become sparse vectors of the model `qdrant/bm25`, on one core.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin bm25_bench -- DIR [--words 60] [--rounds 7] [--json FILE]
//! ```
//!
//! `npm run bench:bm25` runs it and adds the machine. `DIR` holds `payload.jsonl.gz`: the descriptions there, one behind the
//! other, are cut into texts of so many words. Each round embeds all of them once as documents, with the defaults of the
//! model (English stop words and stemmer). The median of the rounds counts.

use kithdb_bench::flags::Flags;
use kithdb_engine::embedding::{Bm25, EmbeddingPurpose};
use serde_json::{Value, json};
use std::hint::black_box;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let dir = PathBuf::from(flags.first("DIR")?);
    let (words, rounds): (usize, usize) = (flags.value("words", 60)?, flags.value("rounds", 7)?);
    let json: Option<PathBuf> = flags.optional("json")?;
    flags.finish()?;
    let texts = texts_of(&dir, words.max(1))?;
    let model = Bm25::with_defaults();
    let mut rates: Vec<f64> = (0..rounds.max(1))
        .map(|_| {
            let start = Instant::now();
            for text in &texts {
                black_box(model.embed(black_box(text), EmbeddingPurpose::Document));
            }
            texts.len() as f64 / start.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_unstable_by(f64::total_cmp);
    let rate = rates[rates.len() / 2].round();
    let terms: usize =
        texts.iter().map(|text| model.embed(text, EmbeddingPurpose::Document).indices.len()).sum();
    let per_text = terms as f64 / texts.len() as f64;
    println!("{rate} texts/s of {words} words ({} texts, {per_text:.1} different terms each)", texts.len());
    if let Some(path) = json {
        let rounds: Vec<f64> = rates.iter().map(|rate| rate.round()).collect();
        let report = json!({
            "texts": texts.len(), "words": words, "terms_of_a_text": per_text,
            "texts_per_second": rate, "rounds": rounds,
        });
        std::fs::write(path, format!("{report:#}\n"))?;
    }
    Ok(())
}

/// The descriptions of a data set, cut into texts of `words` words.
fn texts_of(dir: &Path, words: usize) -> Fallible<Vec<String>> {
    let mut lines = String::new();
    let bytes = std::fs::read(dir.join("payload.jsonl.gz"))?;
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut lines)?;
    let mut all = Vec::new();
    for line in lines.lines() {
        let payload: Value = serde_json::from_str(line)?;
        let description = payload["description"].as_str().unwrap_or_default();
        all.extend(description.split_whitespace().map(str::to_owned));
    }
    let texts: Vec<String> = all.chunks_exact(words).map(|words| words.join(" ")).collect();
    if texts.is_empty() {
        return Err(format!("{}: no {words} words in the descriptions", dir.display()).into());
    }
    Ok(texts)
}
