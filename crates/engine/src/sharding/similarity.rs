//! Vectors of answers, compared with each other as the engine compares them.

use super::hits::Found;
use super::members::Members;
use super::questions::broken;
use crate::api::read_vector;
use crate::error::Error;
use crate::index::Distance;
use crate::json::Reader;
use crate::types::{Datatype, Metric};
use crate::vectors::{RowFormat, SparseVector, VectorValue};
use kithdb_kernels::normalise;

/// Components that one read compares at most: about a second.
const MAX_COMPARED: u64 = 1 << 32;

/// Whether comparing each of so many vectors with each of so many others is too much.
pub(super) fn is_too_much(vectors: &[Comparable], others: usize) -> bool {
    let work = vectors.iter().map(Comparable::work).max().unwrap_or_default();
    let pairs = (vectors.len() as u64).saturating_mul(others as u64);
    pairs.saturating_mul(work as u64) > MAX_COMPARED
}

/// The vector that a point shows, of which one was asked for by its name.
pub(super) fn vector_of(point: &Found, name: &str) -> Result<Option<VectorValue>, Error> {
    text_of(point, name)?.map(|text| read_vector(&mut Reader::new(text.as_bytes())?)).transpose()
}

/// Its text.
pub(super) fn text_of(point: &Found, name: &str) -> Result<Option<String>, Error> {
    let Some(answer) = &point.vector else { return Ok(None) };
    let text = answer.text();
    // The unnamed vector alone is no object.
    if name.is_empty() && text.starts_with('[') {
        return Ok(Some(text.to_string()));
    }
    let members = Members::parse(text.as_bytes()).map_err(|_| broken())?;
    Ok(members.get(name).map(str::to_string))
}

/// How the vectors of a field are compared.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    metric: Metric,
    format: RowFormat,
}

impl Comparison {
    /// That of a field. Rows of 16-bit floats are read as floats that are equal to them, and are compared as such.
    pub fn of(metric: Metric, datatype: Datatype) -> Comparison {
        Comparison { metric, format: RowFormat::of(metric, datatype) }
    }

    /// The score of a distance.
    pub fn score(self, distance: f32) -> f32 {
        self.metric.score(distance)
    }
}

/// A vector, ready to be compared.
pub(super) enum Comparable {
    /// The rows of a multi-vector, or the one of a dense vector: as queries, and as stored.
    Rows {
        queries: Vec<Vec<f32>>,
        rows: Vec<Vec<u8>>,
        is_multi: bool,
    },
    Sparse(SparseVector),
}

impl Comparable {
    /// The form of a vector of a field.
    pub fn of(vector: VectorValue, comparison: Comparison) -> Comparable {
        let is_multi = matches!(vector, VectorValue::Multi(_));
        let rows: Vec<Vec<f32>> = match vector {
            VectorValue::Sparse(sparse) => return Comparable::Sparse(sparse),
            VectorValue::Dense(components) => vec![components],
            VectorValue::Multi(multi) => multi.rows().map(<[f32]>::to_vec).collect(),
        };
        let encoded = |row: &Vec<f32>| {
            let mut bytes = Vec::new();
            comparison.format.encode(row, &mut bytes);
            bytes
        };
        let stored = rows.iter().map(encoded).collect();
        let query = |mut row: Vec<f32>| {
            if comparison.metric == Metric::Cosine {
                normalise(&mut row);
            }
            row
        };
        Comparable::Rows { queries: rows.into_iter().map(query).collect(), rows: stored, is_multi }
    }

    /// Its distance to another one, as the query: of multi-vectors the sum, over its rows, of that to the nearest row. Nothing
    /// between sparse vectors that share no index.
    pub fn distance(&self, other: &Comparable, comparison: Comparison) -> Option<f32> {
        let (queries, rows) = match (self, other) {
            (Comparable::Sparse(a), Comparable::Sparse(b)) => {
                return product(a, b).map(|product| 0.0 - product);
            }
            (Comparable::Rows { queries, .. }, Comparable::Rows { rows, .. }) => (queries, rows),
            _ => return None,
        };
        let Comparison { metric, format } = comparison;
        let distance = Distance::of(metric, format);
        let of_row = |query: &Vec<f32>| {
            let fitting = rows.iter().filter(|row| row.len() == format.row_bytes(query.len()));
            fitting.map(|row| distance.one(query, row)).fold(f32::MAX, f32::min)
        };
        match &queries[..] {
            [one] => Some(of_row(one)),
            all => {
                let sum: f64 = all.iter().map(|query| f64::from(of_row(query))).sum();
                Some(sum.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32 + 0.0)
            }
        }
    }

    /// How many components a comparison with one like it reads: of multi-vectors each row is compared with each.
    fn work(&self) -> usize {
        match self {
            Comparable::Rows { queries, .. } => queries.len() * queries.iter().map(Vec::len).sum::<usize>(),
            Comparable::Sparse(sparse) => sparse.len(),
        }
    }
}

/// The sum of the products over shared indices, added up in their order; nothing where none is shared.
fn product(a: &SparseVector, b: &SparseVector) -> Option<f32> {
    let mut others = b.iter().peekable();
    let mut sum = None;
    for (index, value) in a.iter() {
        while others.next_if(|(other, _)| *other < index).is_some() {}
        if let Some((_, other)) = others.next_if(|(other, _)| *other == index) {
            sum = Some(sum.unwrap_or(0.0) + value * other);
        }
    }
    sum.map(|sum: f32| if sum.is_nan() { f32::MIN } else { sum.clamp(f32::MIN, f32::MAX) })
}
