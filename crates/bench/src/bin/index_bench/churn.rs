//! Recall of a collection before and after its points were replaced, and after half of them were deleted.

use crate::data::Data;
use crate::{Outcome, text};
use kithdb_engine::collection::Collection;
use kithdb_engine::engine::{Engine, Operation, Options, Request};
use kithdb_engine::storage::RealDisk;
use kithdb_engine::types::{Metric, Row};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const COLLECTION: &str = "churn";

/// Points of an upsert.
const BATCH: usize = 256;

/// Queries that recall is measured with: each is also searched exactly.
const QUERIES: usize = 500;

/// The run fails when the index is not built after this time.
const SETTLE_LIMIT: Duration = Duration::from_secs(3600);

/// Rounding of sums must not decide whether a tie is a hit.
const RELATIVE_TOLERANCE: f64 = 1e-5;

/// Loads the data into a collection of a threaded engine in the folder `folder`, replaces every point once in random
/// order by the vector of another one, then deletes a random half. Answers, for each phase and each `ef`, recall and
/// microseconds a search, and how long the work in the background took.
pub fn run(data: &Data, message: &Value) -> Outcome<Value> {
    let folder = Path::new(text(message, "folder")?);
    let efs: Vec<usize> = message["efs"].as_array().ok_or("efs are needed")?.iter().map_while(ef).collect();
    std::fs::create_dir_all(folder)?;
    let engine = Engine::open(Arc::new(RealDisk::open(folder)?), Options::default())?;
    let churn = Churn { engine, data };
    churn.call(Operation::CreateCollection, data.create.to_string())?;

    let rows = data.table.len() as usize;
    let mut order: Vec<usize> = (0..rows).collect();
    churn.upsert(order.iter().map(|&row| (row, row)))?;
    let mut phases = vec![churn.phase("fresh", &efs)?];

    // Each id gets the vector of another one, so that the rows are new and the set of vectors is the same.
    let mut random = Random(7);
    random.shuffle(&mut order);
    let vectors = order.iter().cycle().skip(1).copied();
    churn.upsert(order.iter().copied().zip(vectors))?;
    phases.push(churn.phase("replaced", &efs)?);

    random.shuffle(&mut order);
    churn.delete(&order[..rows / 2])?;
    phases.push(churn.phase("halved", &efs)?);
    churn.engine.close();
    Ok(json!({ "phases": phases }))
}

fn ef(value: &Value) -> Option<usize> {
    value.as_u64().map(|ef| ef as usize)
}

struct Churn<'a> {
    engine: Engine,
    data: &'a Data,
}

impl Churn<'_> {
    fn call(&self, operation: Operation, body: String) -> Outcome<Value> {
        let (sender, receiver) = mpsc::channel();
        let request = Request::new(operation, COLLECTION, body.into_bytes());
        // The receiver waits for exactly this answer.
        let reply = move |answer| drop(sender.send(answer));
        self.engine.execute(request, Box::new(reply));
        let envelope = receiver.recv()?.map_err(|error| error.to_string())?;
        Ok(serde_json::from_slice::<Value>(&envelope)?["result"].take())
    }

    /// Upserts points, each an id and the row whose vector it gets.
    fn upsert(&self, points: impl Iterator<Item = (usize, usize)>) -> Outcome<()> {
        let mut points = points.peekable();
        while points.peek().is_some() {
            let mut body = String::from("{\"points\":[");
            let mut vector = Vec::new();
            for (at, (id, row)) in points.by_ref().take(BATCH).enumerate() {
                let comma = if at == 0 { "" } else { "," };
                write!(body, "{comma}{{\"id\":{id},\"vector\":")?;
                vector.clear();
                self.data.table.read_back(Row::new(row as u32), &mut vector);
                write_vector(&mut body, &vector)?;
                body.push('}');
            }
            body.push_str("]}");
            self.call(Operation::UpsertPoints, body)?;
        }
        Ok(())
    }

    fn delete(&self, ids: &[usize]) -> Outcome<()> {
        for ids in ids.chunks(BATCH) {
            self.call(Operation::DeletePoints, json!({ "points": ids }).to_string())?;
        }
        Ok(())
    }

    fn phase(&self, name: &str, efs: &[usize]) -> Outcome<Value> {
        let settled_after = self.settle()?;
        let queries = &self.data.queries[..QUERIES.min(self.data.queries.len())];
        let exact: Vec<Vec<f64>> = queries
            .iter()
            .map(|query| self.search(query, json!({ "exact": true })))
            .collect::<Outcome<_>>()?;
        let larger_is_better = self.data.metric != Metric::Euclid;
        let mut runs = Vec::new();
        for &ef in efs {
            let start = Instant::now();
            let answers: Vec<Vec<f64>> = queries
                .iter()
                .map(|query| self.search(query, json!({ "hnsw_ef": ef })))
                .collect::<Outcome<_>>()?;
            let micros = start.elapsed().as_secs_f64() * 1e6 / queries.len() as f64;
            let (mut hits, mut possible) = (0, 0);
            for (found, exact) in answers.iter().zip(&exact) {
                let Some(&worst) = exact.last() else { continue };
                let slack = worst.abs() * RELATIVE_TOLERANCE;
                let is_hit = |score: f64| {
                    if larger_is_better { score >= worst - slack } else { score <= worst + slack }
                };
                hits += found.iter().filter(|&&score| is_hit(score)).count();
                possible += exact.len();
            }
            let recall = hits as f64 / possible as f64;
            runs.push(json!({ "ef": ef, "recall": recall, "us_per_search": micros }));
        }
        let rows = self.collection()?.view().points_count().max(1) as f64;
        let memory = self.collection()?.memory();
        Ok(json!({
            "phase": name,
            "settled_after_s": settled_after,
            "runs": runs,
            "bytes_per_point": {
                "codes": memory.codes as f64 / rows,
                "links": memory.links as f64 / rows,
                "originals": memory.originals as f64 / rows,
                "originals_mapped": memory.originals_mapped as f64 / rows,
                "points": memory.points as f64 / rows,
            },
        }))
    }

    /// Scores of the nearest, best first.
    fn search(&self, query: &[f32], params: Value) -> Outcome<Vec<f64>> {
        let mut body = String::from("{\"vector\":");
        write_vector(&mut body, query)?;
        write!(body, ",\"limit\":{},\"params\":{params}}}", self.data.k)?;
        let hits = self.call(Operation::Search, body)?;
        let hits = hits.as_array().ok_or("a search answers a list")?;
        hits.iter().map(|hit| hit["score"].as_f64().ok_or_else(|| "a hit without a score".into())).collect()
    }

    /// Waits until nothing is left to index or to clean up; answers the seconds.
    fn settle(&self) -> Outcome<f64> {
        let start = Instant::now();
        while !self.collection()?.is_settled() {
            if start.elapsed() > SETTLE_LIMIT {
                return Err("the collection does not settle".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn collection(&self) -> Outcome<Arc<Collection>> {
        let guard = self.engine.catalog().enter(COLLECTION).map_err(|error| error.to_string())?;
        Ok(Arc::clone(guard.collection().map_err(|error| error.to_string())?))
    }
}

fn write_vector(body: &mut String, vector: &[f32]) -> std::fmt::Result {
    body.push('[');
    for (at, component) in vector.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(body, "{comma}{component}")?;
    }
    body.push(']');
    Ok(())
}

/// SplitMix64: the same order in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn shuffle(&mut self, items: &mut [usize]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
