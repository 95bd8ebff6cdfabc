//! The index under test, without a collection around it.

use crate::Outcome;
use crate::data::{Data, prepared};
use kithdb_engine::index::{BuildScratch, Hnsw, HnswParams, SearchScratch};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Rows that a building thread takes at a time.
const CLAIM_ROWS: u32 = 128;

/// What a search walks over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The originals.
    F32,
}

impl Mode {
    /// What the modes are called in messages.
    pub const NAMES: [&str; 1] = ["f32"];

    pub fn named(name: &str) -> Outcome<Mode> {
        match name {
            "f32" => Ok(Mode::F32),
            _ => Err(format!("unknown mode {name}").into()),
        }
    }
}

/// A graph over all rows of the data.
pub struct Index {
    graph: Hnsw,
    scratches: Vec<SearchScratch>,
}

impl Index {
    pub fn build(data: &Data, threads: usize) -> Index {
        let hnsw = data.config.effective_hnsw("").expect("the data's only vector has no name");
        let params = HnswParams { m: hnsw.m, ef_construct: hnsw.ef_construct, seed: 1 };
        let graph = Hnsw::new(params, data.metric, data.table.format, data.dims);
        let next = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut scratch = BuildScratch::new();
                    loop {
                        let from = next.fetch_add(CLAIM_ROWS, Ordering::Relaxed).min(data.table.rows.len());
                        let to = (from + CLAIM_ROWS).min(data.table.rows.len());
                        if from == to {
                            return;
                        }
                        for row in from..to {
                            graph.insert(&data.table.rows, row, &mut scratch);
                        }
                    }
                });
            }
        });
        Index { graph, scratches: Vec::new() }
    }

    /// One answer for each query, best first: distance and row.
    pub fn answers(&mut self, data: &Data, mode: Mode, ef: usize) -> Outcome<Vec<Vec<(f32, u32)>>> {
        self.scratches.resize_with(self.scratches.len().max(1), SearchScratch::new);
        let (graph, scratch) = (&self.graph, &mut self.scratches[0]);
        data.queries.iter().map(|query| search(graph, data, mode, query, ef, scratch)).collect()
    }

    /// Searches for all queries over and over until so many seconds have passed. Answers how many that were, and
    /// the seconds that they took.
    pub fn round(
        &mut self,
        data: &Data,
        mode: Mode,
        ef: usize,
        threads: usize,
        seconds: f64,
    ) -> Outcome<(usize, f64)> {
        self.scratches.resize_with(self.scratches.len().max(threads), SearchScratch::new);
        let graph = &self.graph;
        let share = data.queries.len().div_ceil(threads);
        let start = Instant::now();
        let mut queries = 0;
        loop {
            std::thread::scope(|scope| {
                let shares = data.queries.chunks(share).zip(&mut self.scratches);
                // The first share is this thread's, so that one thread is no second one.
                let mut work = shares.map(|(queries, scratch)| {
                    move || -> Result<(), String> {
                        for query in queries {
                            let found = search(graph, data, mode, query, ef, scratch);
                            std::hint::black_box(found.map_err(|error| error.to_string())?);
                        }
                        Ok(())
                    }
                });
                let own = work.next();
                let others: Vec<_> = work.map(|work| scope.spawn(work)).collect();
                own.map_or(Ok(()), |mut work| work())?;
                others.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a search panicked")?)
            })?;
            queries += data.queries.len();
            let took = start.elapsed().as_secs_f64();
            if took >= seconds {
                return Ok((queries, took));
            }
        }
    }

    /// Bytes of each part, and without the originals, which need not be in memory, of all together.
    pub fn memory(&self, data: &Data) -> Value {
        let links = self.graph.memory_bytes();
        let originals = data.table.len() as usize * data.row_bytes();
        json!({ "bytes": links, "with_originals": links + originals, "links": links })
    }
}

fn search(
    graph: &Hnsw,
    data: &Data,
    mode: Mode,
    query: &[f32],
    ef: usize,
    scratch: &mut SearchScratch,
) -> Outcome<Vec<(f32, u32)>> {
    match mode {
        Mode::F32 => {
            let query = prepared(data.metric, query);
            let mut found =
                graph
                    .search(&data.table.rows, &query, ef, &|_| true, &|a, b| a.cmp(&b), scratch, &|| false)?;
            found.truncate(data.k);
            Ok(found)
        }
    }
}
