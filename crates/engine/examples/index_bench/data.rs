//! The vectors that are searched, and those that are searched for.

use crate::{Outcome, number, text};
use kithdb_engine::arena::{RowArena, RowTable};
use kithdb_engine::types::Metric;
use serde_json::Value;
use std::path::Path;

/// One data set, and the parameters that all systems share.
pub struct Data {
    pub metric: Metric,
    pub rows: RowTable,
    /// As they came: searches prepare their query themselves.
    pub queries: Vec<Vec<f32>>,
    /// Neighbours that are asked for.
    pub k: usize,
    pub m: usize,
    pub ef_construct: usize,
}

impl Data {
    /// Reads what a `load` message names. Rows are kept as the engine keeps them: for cosine normalised.
    pub fn load(message: &Value) -> Outcome<Data> {
        let metric = match text(message, "metric")? {
            "cosine" => Metric::Cosine,
            "dot" => Metric::Dot,
            "euclid" => Metric::Euclid,
            other => return Err(format!("unknown metric {other}").into()),
        };
        let dims = number(message, "dims")?;
        let folder = Path::new(text(message, "folder")?);
        let mut arena = RowArena::new(dims);
        let base = floats(&folder.join("base.f32"))?;
        for row in base.chunks_exact(dims) {
            arena.push(&prepared(metric, row));
        }
        let queries = floats(&folder.join("query.f32"))?.chunks_exact(dims).map(<[f32]>::to_vec).collect();
        Ok(Data {
            metric,
            rows: arena.table(),
            queries,
            k: number(message, "k")?,
            m: number(message, "m")?,
            ef_construct: number(message, "ef_construct")?,
        })
    }
}

/// A vector as the engine compares it.
pub fn prepared(metric: Metric, vector: &[f32]) -> Vec<f32> {
    let mut vector = vector.to_vec();
    if metric == Metric::Cosine {
        kithdb_kernels::normalise(&mut vector);
    }
    vector
}

fn floats(path: &Path) -> Outcome<Vec<f32>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)).collect())
}

/// Writes `k` row numbers for each query as i32, −1 where fewer were found.
pub fn write_rows(path: &Path, k: usize, answers: &[Vec<(f32, u32)>]) -> Outcome<()> {
    let mut bytes = Vec::with_capacity(answers.len() * k * 4);
    for answer in answers {
        let rows = answer.iter().map(|&(_, row)| row as i32).chain(std::iter::repeat(-1));
        bytes.extend(rows.take(k).flat_map(i32::to_le_bytes));
    }
    Ok(std::fs::write(path, bytes)?)
}
