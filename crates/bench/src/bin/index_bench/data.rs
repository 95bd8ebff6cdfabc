//! The vectors that are searched, and those that are searched for.

use crate::{Outcome, number, text};
use kithdb_engine::api;
use kithdb_engine::config::CollectionConfig;
use kithdb_engine::field::{FieldArena, FieldTable};
use kithdb_engine::index::Distance;
use kithdb_engine::limits::{Limits, Thresholds};
use kithdb_engine::types::{Metric, PointOffset, Row};
use serde_json::{Value, json};
use std::path::Path;

/// One data set, and the parameters that all systems share.
pub struct Data {
    pub metric: Metric,
    pub dims: usize,
    /// What a collection for these vectors is created with.
    pub create: Value,
    pub config: CollectionConfig,
    /// The rows as a collection keeps them.
    pub table: FieldTable,
    /// As they came: searches prepare their query themselves.
    pub queries: Vec<Vec<f32>>,
    /// Neighbours that are asked for.
    pub k: usize,
}

impl Data {
    /// Reads what a `load` message names: floats in its folder, and whatever else the collection is to be created
    /// with in `config`.
    pub fn load(message: &Value) -> Outcome<Data> {
        let (metric, distance) = match text(message, "metric")? {
            "cosine" => (Metric::Cosine, "Cosine"),
            "dot" => (Metric::Dot, "Dot"),
            "euclid" => (Metric::Euclid, "Euclid"),
            other => return Err(format!("unknown metric {other}").into()),
        };
        let dims = number(message, "dims")?;
        let mut create = json!({
            "vectors": { "size": dims, "distance": distance },
            "hnsw_config": { "m": number(message, "m")?, "ef_construct": number(message, "ef_construct")? },
        });
        for (key, value) in message["config"].as_object().into_iter().flatten() {
            create[key] = value.clone();
        }
        let config = api::create_collection(create.to_string().as_bytes(), &Limits::default())
            .map_err(|error| error.to_string())?;
        let params = &config.fields()[0].1;

        let folder = Path::new(text(message, "folder")?);
        let base = floats(&folder.join("base.f32"))?;
        let mut arena = FieldArena::new(params, Thresholds::default().row_chunk_bytes);
        let mut bytes = Vec::new();
        for (owner, row) in (0..).zip(base.chunks_exact(dims)) {
            bytes.clear();
            params.row_format().encode(&prepared(metric, row), &mut bytes);
            arena.push(&bytes, PointOffset::new(owner));
        }
        let queries = floats(&folder.join("query.f32"))?.chunks_exact(dims).map(<[f32]>::to_vec).collect();
        let table = arena.table();
        Ok(Data { metric, dims, create, config, table, queries, k: number(message, "k")? })
    }

    /// How the rows are compared exactly.
    pub fn distance(&self) -> Distance {
        Distance::of(self.metric, self.table.format)
    }

    /// Bytes of a row of originals.
    pub fn row_bytes(&self) -> usize {
        self.table.format.row_bytes(self.dims)
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
pub fn write_rows(path: &Path, k: usize, answers: &[Vec<(f32, Row)>]) -> Outcome<()> {
    let mut bytes = Vec::with_capacity(answers.len() * k * 4);
    for answer in answers {
        let rows = answer.iter().map(|&(_, row)| row.get() as i32).chain(std::iter::repeat(-1));
        bytes.extend(rows.take(k).flat_map(i32::to_le_bytes));
    }
    Ok(std::fs::write(path, bytes)?)
}
