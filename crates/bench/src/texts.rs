//! Sparse vectors from texts: words hashed to indices, with BM25's weights.

use kithdb_engine::vectors::SparseVector;
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::io::Read;
use std::path::Path;

/// BM25's parameters: saturation of the frequency of a term, and normalisation by the length of the text.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The texts of a data set, and its questions.
pub struct Texts {
    /// A text as its words.
    pub documents: Vec<Vec<u32>>,
    /// Queries of a few words each, as a user types them.
    pub questions: Vec<Vec<u32>>,
}

impl Texts {
    /// Reads `payload.jsonl.gz` (name, synopsis, description) and `queries.jsonl` (text) of a folder.
    pub fn load(dir: &Path) -> Result<Texts, Box<dyn Error>> {
        let mut payloads = String::new();
        let bytes = std::fs::read(dir.join("payload.jsonl.gz"))?;
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut payloads)?;
        let questions = std::fs::read_to_string(dir.join("queries.jsonl"))?;
        Ok(Texts {
            documents: words_of(&payloads, &["name", "synopsis", "description"])?,
            questions: words_of(&questions, &["text"])?,
        })
    }

    /// The vector of each document: for each word tf·(k₁ + 1) / (tf + k₁·(1 − b + b·length/mean length)). The factor
    /// for rare words comes from the query (`modifier: idf`).
    pub fn vectors(&self) -> Vec<SparseVector> {
        let total: usize = self.documents.iter().map(Vec::len).sum();
        let mean = total as f32 / self.documents.len() as f32;
        let vector = |words: &Vec<u32>| {
            let mut counts: BTreeMap<u32, f32> = BTreeMap::new();
            words.iter().for_each(|word| *counts.entry(*word).or_default() += 1.0);
            let norm = K1 * (1.0 - B + B * words.len() as f32 / mean);
            let (indices, values) =
                counts.into_iter().map(|(word, tf)| (word, tf * (K1 + 1.0) / (tf + norm))).unzip();
            SparseVector { indices, values }
        };
        self.documents.iter().map(vector).collect()
    }

    /// `count` queries, each of ten different words, at random, of one document.
    pub fn ten_words(&self, count: usize) -> Vec<SparseVector> {
        let mut random = 1u64;
        let mut below = |bound: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % bound
        };
        let mut queries = Vec::new();
        while queries.len() < count {
            let words = &self.documents[below(self.documents.len())];
            let distinct: HashSet<u32> = words.iter().copied().collect();
            if distinct.len() < 20 {
                continue;
            }
            let mut chosen = HashSet::new();
            while chosen.len() < 10 {
                chosen.insert(words[below(words.len())]);
            }
            queries.push(query(chosen.into_iter().collect()));
        }
        queries
    }

    /// The questions as queries.
    pub fn asked(&self) -> Vec<SparseVector> {
        let distinct = |words: &Vec<u32>| words.iter().copied().collect::<HashSet<u32>>();
        self.questions.iter().map(|words| query(distinct(words).into_iter().collect())).collect()
    }
}

fn query(mut indices: Vec<u32>) -> SparseVector {
    indices.sort_unstable();
    let values = vec![1.0; indices.len()];
    SparseVector { indices, values }
}

fn words_of(lines: &str, fields: &[&str]) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
    let words = |line: &str| {
        let object: serde_json::Value = serde_json::from_str(line)?;
        let texts = fields.iter().filter_map(|field| object[field].as_str());
        Ok(texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).filter_map(hashed).collect())
    };
    lines.lines().map(words).collect()
}

/// FNV-1a of a word in lower case.
fn hashed(word: &str) -> Option<u32> {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    (!word.is_empty()).then(|| word.to_lowercase().bytes().fold(0x811c_9dc5, step))
}
