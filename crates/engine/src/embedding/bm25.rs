//! BM25 as sparse vectors: a document has the weights of its terms, a query asks for terms, and the field's `idf` modifier
//! multiplies by how rare each is. Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).

use super::EmbeddingPurpose;
use super::murmur3::murmur3_32;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::json::Reader;
use crate::payload::{TextOptions, Tokenizer};
use crate::vectors::SparseVector;
use std::collections::HashMap;
use std::sync::LazyLock;

const DEFAULT_LANGUAGE: &str = "english";
/// The name of no language: neither stop words nor a stemmer.
const NO_LANGUAGE: &str = "none";

/// The model `qdrant/bm25`. Its vectors are those of Qdrant: the same tokens, hashed in the same way, with the same weights.
#[derive(Clone, Debug)]
pub struct Bm25 {
    tokenizer: Tokenizer,
    /// How much repetitions of a term count, at least 0.
    k: f64,
    /// How much the length of a document counts, from 0 to 1.
    b: f64,
    /// The average number of tokens of a document.
    average_len: f64,
}

impl Bm25 {
    /// The name, in lower case.
    pub const NAME: &str = "qdrant/bm25";

    /// The model with its default options: words in lower case, English stop words and stemming.
    pub fn with_defaults() -> &'static Bm25 {
        static DEFAULT: LazyLock<Bm25> = LazyLock::new(|| {
            let mut options = TextOptions::default();
            options.set_language(DEFAULT_LANGUAGE);
            Bm25 { tokenizer: Tokenizer::new(&options), k: 1.2, b: 0.75, average_len: 256.0 }
        });
        &DEFAULT
    }

    /// Reads `options`.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn read_options(reader: &mut Reader<'_>) -> Result<Bm25, Error> {
        let (mut k, mut b, mut average_len) = (None, None, None);
        let mut language = None;
        let mut text = TextOptions::default();
        reader.object(|r, key| {
            match key {
                "k" => k = r.optional(|r| number(r, |k| k >= 0.0, "must be 0 or larger"))?,
                "b" => {
                    b = r.optional(|r| number(r, |b| (0.0..=1.0).contains(&b), "must be from 0 to 1"))?;
                }
                "avg_len" => {
                    average_len = r.optional(|r| number(r, |len| len > 0.0, "must be larger than 0"))?;
                }
                "language" => language = r.optional(read_language)?,
                "phrase_matching" => r.unknown()?,
                _ => text.read(r, key)?,
            }
            Ok(())
        })?;
        text.check(reader)?;
        let language = language.unwrap_or_else(|| DEFAULT_LANGUAGE.to_owned());
        text.set_language(&language);
        let default = Bm25::with_defaults();
        Ok(Bm25 {
            tokenizer: Tokenizer::new(&text),
            k: k.unwrap_or(default.k),
            b: b.unwrap_or(default.b),
            average_len: average_len.unwrap_or(default.average_len),
        })
    }

    /// The vector of a text. Of a query each term has the weight 1; of a document, in which a term comes `n` times among
    /// `len` tokens, `n (k + 1) / (n + k (1 - b + b len / average_len))`.
    pub fn embed(&self, text: &str, purpose: EmbeddingPurpose) -> SparseVector {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut len = 0u64;
        self.tokenizer.query(text, |token| {
            *counts.entry(term_index(token)).or_default() += 1;
            len += 1;
        });
        let mut terms: Vec<(u32, u32)> = counts.into_iter().collect();
        terms.sort_unstable();
        let weight = |count: u32| match purpose {
            EmbeddingPurpose::Query => 1.0,
            EmbeddingPurpose::Document => self.weight(count, len),
        };
        let (indices, values) = terms.into_iter().map(|(index, count)| (index, weight(count))).unzip();
        SparseVector { indices, values }
    }

    fn weight(&self, count: u32, len: u64) -> f32 {
        let count = f64::from(count);
        let relative_len = len as f64 / self.average_len;
        let saturation = self.k.mul_add(1.0 - self.b + self.b * relative_len, count);
        (count * (self.k + 1.0) / saturation) as f32
    }
}

/// The index of a term in the vectors: its hash as a signed number, without the sign.
fn term_index(token: &str) -> u32 {
    let hash = murmur3_32(token.as_bytes());
    if PlantedFault::TermsHashedOtherwise.is_on() { hash } else { hash.cast_signed().unsigned_abs() }
}

fn number(reader: &mut Reader<'_>, is_valid: fn(f64) -> bool, range: &str) -> Result<f64, Error> {
    let value = reader.f64()?;
    if is_valid(value) { Ok(value) } else { Err(reader.error(format!("value {value} invalid, {range}"))) }
}

fn read_language(reader: &mut Reader<'_>) -> Result<String, Error> {
    let name = reader.string()?.into_owned();
    if name == NO_LANGUAGE || TextOptions::default().set_language(&name) {
        return Ok(name);
    }
    let known = TextOptions::language_names().collect::<Vec<_>>().join(", ");
    Err(reader.error(format!("expected a language: {NO_LANGUAGE}, or one of {known}")))
}
