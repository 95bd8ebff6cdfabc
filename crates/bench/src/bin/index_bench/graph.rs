//! The index under test: the graph of a collection's field, without a request around each search.

use crate::Outcome;
use crate::data::{Data, prepared};
use kithdb_engine::field::{FieldGraph, GraphSearch, IndexScratch, QuantizationParams};
use kithdb_engine::index::{WalkParams, WalkScratch};
use kithdb_engine::types::{OpNumber, Row};
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::time::Instant;

/// The operation that rows are looked at by: the first after all were written.
const OPERATION: OpNumber = OpNumber::FIRST;

/// What a search walks over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The codes, then the best by their originals: what requests get that ask for nothing else.
    Default,
    /// The originals.
    F32,
}

impl Mode {
    /// What the modes are called in messages.
    pub const NAMES: [&str; 2] = ["default", "f32"];

    /// The mode of that name.
    pub fn named(name: &str) -> Outcome<Mode> {
        match name {
            "default" => Ok(Mode::Default),
            "f32" => Ok(Mode::F32),
            _ => Err(format!("unknown mode {name}").into()),
        }
    }
}

/// What a round is timed by.
#[derive(Clone, Copy)]
pub enum Clock {
    /// The time that passes.
    Wall,
    /// The time that this thread computes.
    Cpu,
}

impl Clock {
    /// The clock of that name.
    pub fn named(name: &str) -> Outcome<Clock> {
        match name {
            "wall" => Ok(Clock::Wall),
            "cpu" => Ok(Clock::Cpu),
            _ => Err(format!("unknown clock {name}").into()),
        }
    }

    /// Seconds since some moment.
    fn seconds(self) -> Outcome<f64> {
        static START: OnceLock<Instant> = OnceLock::new();
        match self {
            Clock::Wall => Ok(START.get_or_init(Instant::now).elapsed().as_secs_f64()),
            Clock::Cpu => {
                let line = std::fs::read_to_string("/proc/thread-self/schedstat")?;
                let nanos: f64 = line.split_whitespace().next().ok_or("schedstat is empty")?.parse()?;
                Ok(nanos / 1e9)
            }
        }
    }
}

/// A graph over all rows of the data.
pub struct Index {
    graph: FieldGraph,
    scratches: Vec<WalkScratch>,
}

impl Index {
    /// Indexes every row, as the threads behind a collection do.
    pub fn build(data: &Data, threads: usize) -> Outcome<Index> {
        let graph_params = data.config.graph_params(0).ok_or("the configuration has no graph (m: 0)")?;
        let graph = FieldGraph::new(graph_params, data.metric, &data.table, OPERATION, 1);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut scratch = IndexScratch::default();
                    while graph.index_some(&data.table, OPERATION, &mut scratch) {}
                });
            }
        });
        Ok(Index { graph, scratches: Vec::new() })
    }

    /// One answer for each query, best first: distance and row.
    pub fn answers(&mut self, data: &Data, mode: Mode, ef: usize) -> Outcome<Vec<Vec<(f32, Row)>>> {
        self.scratches.resize_with(self.scratches.len().max(1), WalkScratch::new);
        let (graph, scratch) = (&self.graph, &mut self.scratches[0]);
        data.queries.iter().map(|query| search(graph, data, mode, query, ef, scratch)).collect()
    }

    /// Searches for all queries over and over until so many seconds have passed. Answers how many that were, and
    /// the seconds that they took by the clock.
    pub fn round(
        &mut self,
        data: &Data,
        mode: Mode,
        ef: usize,
        threads: usize,
        seconds: f64,
        clock: Clock,
    ) -> Outcome<(usize, f64)> {
        self.scratches.resize_with(self.scratches.len().max(threads), WalkScratch::new);
        let graph = &self.graph;
        let share = data.queries.len().div_ceil(threads);
        let start = clock.seconds()?;
        let mut queries = 0;
        loop {
            std::thread::scope(|scope| {
                let shares = data.queries.chunks(share).zip(&mut self.scratches);
                let mut work = shares.map(|(queries, scratch)| {
                    move || -> Result<(), String> {
                        for query in queries {
                            let found = search(graph, data, mode, query, ef, scratch);
                            std::hint::black_box(found.map_err(|error| error.to_string())?);
                        }
                        Ok(())
                    }
                });
                // The first share is this thread's, so that one thread is no second one.
                let own = work.next();
                let others: Vec<_> = work.map(|work| scope.spawn(work)).collect();
                own.map_or(Ok(()), |mut work| work())?;
                others.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a search panicked")?)
            })?;
            queries += data.queries.len();
            let took = clock.seconds()? - start;
            if took >= seconds {
                return Ok((queries, took));
            }
        }
    }

    /// Bytes of each part; and of all together, without the originals, which are on a map once they are saved, and
    /// with them.
    pub fn memory(&self, data: &Data) -> Value {
        let (codes, links) = (self.graph.codes_bytes(), self.graph.links_bytes());
        let columns = data.table.columns_bytes();
        let all = codes + links + columns;
        let originals = data.table.len() as usize * data.row_bytes();
        json!({
            "bytes": all,
            "with_originals": all + originals,
            "codes": codes,
            "links": links,
            "owners_and_deaths": columns,
        })
    }
}

fn search(
    graph: &FieldGraph,
    data: &Data,
    mode: Mode,
    query: &[f32],
    ef: usize,
    scratch: &mut WalkScratch,
) -> Outcome<Vec<(f32, Row)>> {
    let query = prepared(data.metric, query);
    let quantization = QuantizationParams { ignore: mode == Mode::F32, ..QuantizationParams::default() };
    let search = GraphSearch { graph, table: &data.table, query: &query, k: data.k, quantization };
    let wanted = |row| data.table.alive(row, OPERATION);
    let tie = |a: Row, b: Row| a.cmp(&b);
    Ok(search.walk(&WalkParams::wide(ef), (&|_| true, &|_| true), &wanted, tie, scratch, &|| false)?.best)
}
