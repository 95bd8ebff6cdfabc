//! What a grouped query costs beside the same query without groups.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin groups_bench -- DIR [--data FOLDER] [--queries 300] [--rounds 7]
//!     [--limit 10] [--size 3] [--json FILE]
//! ```
//!
//! `npm run bench:groups` runs it and adds the machine. `DIR` holds vectors as `hnsw_bench` reads them, and the payloads of
//! the rows in `payload.jsonl.gz`. They are grouped by two fields of the payloads, `source` (small groups that are near each
//! other) and `section` (large ones), and by three that are made up: `ten` (groups of ten rows from anywhere), `thousand`
//! (of a thousand rows from anywhere) and `five` (five groups). Each is measured with a keyword index and without one. The
//! collection is built in `FOLDER`, which is kept when it is given.
//!
//! Latencies are from the bytes of a request to those of the answer, through the threads that a server has. Beside the
//! grouped queries of a field run the same queries without groups: with a limit of as many hits as the grouped answers have
//! on average, and with one of groups × hits of a group. The three take turns request by request, each with another query, so
//! that none finds its own rows in the caches. The best of a query's rounds counts, of the queries the median, and the
//! shares are those of the medians. All show payloads. Recall is that of the hits of the groups beside the grouped answer of
//! `exact: true`, and of the hits without groups beside theirs.

use kithdb_bench::data_set::{DataSet, read};
use kithdb_bench::flags::Flags;
use kithdb_bench::quantile::median;
use kithdb_bench::requests::{ask, send, wait_until_indexed};
use kithdb_bench::scatter::scatter;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Points of one upsert.
const BATCH: usize = 500;
/// The fields to group by.
const FIELDS: [&str; 5] = ["source", "section", "ten", "thousand", "five"];
/// So far apart are the queries of requests that follow each other.
const APART: usize = 37;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Requests of one kind: the operation, the bodies.
struct Kind {
    operation: &'static str,
    bodies: Vec<Vec<u8>>,
}

/// What is measured.
struct Bench<'a> {
    engine: &'a Engine,
    queries: &'a [Vec<f32>],
    rounds: usize,
    limit: usize,
    size: usize,
}

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let dir = PathBuf::from(flags.first("the folder of the data")?);
    let folder: Option<PathBuf> = flags.optional("data")?;
    let (queries, rounds) = (flags.value("queries", 300usize)?, flags.value("rounds", 7usize)?);
    let (limit, size) = (flags.value("limit", 10usize)?, flags.value("size", 3usize)?);
    let json: Option<PathBuf> = flags.optional("json")?;
    flags.finish()?;
    let data = DataSet::load(&dir)?;
    let scratch = std::env::temp_dir().join(format!("kithdb-groups-{}", std::process::id()));
    let at = folder.as_deref().unwrap_or(&scratch);
    std::fs::create_dir_all(at)?;
    let engine = Engine::open(Arc::new(RealDisk::open(at)?), Options::default())?;
    fill(&engine, &data, &String::from_utf8(read(&dir.join("payload.jsonl.gz"))?)?)?;
    println!("{}: {} rows, {limit} groups of {size}", data.name, data.base.len());
    let queries = &data.queries[..queries.min(data.queries.len())];
    let report = Bench { engine: &engine, queries, rounds, limit, size }.run(&data)?;
    engine.close();
    if let Some(json) = json {
        write(&json, &report)?;
    }
    if folder.is_none() {
        std::fs::remove_dir_all(&scratch)?;
    }
    Ok(())
}

fn write(path: &Path, report: &Value) -> Fallible<()> {
    Ok(std::fs::write(path, format!("{report:#}\n"))?)
}

impl Bench<'_> {
    fn run(&self, data: &DataSet) -> Fallible<Value> {
        let plain = self.plain(self.limit * self.size);
        let recall = self.recall(&plain, |result| ids(&result["points"]))?;
        println!("recall without groups: {recall:.4}");
        let mut fields = Vec::new();
        for has_index in [false, true] {
            for field in FIELDS {
                index(self.engine, field, has_index)?;
            }
            wait_until_indexed(self.engine)?;
            for field in FIELDS {
                fields.push(self.field(field, has_index)?);
            }
        }
        Ok(json!({
            "set": {"name": data.name, "rows": data.base.len(), "dims": data.base[0].len(), "metric": data.metric},
            "groups": self.limit, "group_size": self.size, "queries": self.queries.len(), "rounds": self.rounds,
            "recall_without_groups": recall,
            "fields": fields,
        }))
    }

    /// Queries grouped by a field beside those without groups.
    fn field(&self, field: &str, has_index: bool) -> Fallible<Value> {
        let grouped = self.grouped(field);
        let start = Instant::now();
        send(self.engine, grouped.operation, None, grouped.bodies[0].clone())?;
        let first = start.elapsed().as_secs_f64() * 1e6;
        let (groups, hits) = self.filled(&grouped)?;
        let kinds = [grouped, self.plain((hits.round() as usize).max(1)), self.plain(self.limit * self.size)];
        let [grouped_us, as_many_us, all_us] = measure(self.engine, &kinds, self.rounds)?;
        let recall = self.recall(&kinds[0], |result| {
            let groups = result["groups"].as_array().into_iter().flatten();
            groups
                .flat_map(|group| ids(&group["hits"]).into_iter().map(|id| format!("{} {id}", group["id"])))
                .collect()
        })?;
        println!(
            "{field:>9} {} index: {grouped_us:>8.1} µs ({groups:.1} groups, {hits:.1} hits, recall {recall:.4}, the first {first:.0} µs), \
             as many hits {as_many_us:>6.1} µs ({:.2} ×), {} hits {all_us:>6.1} µs ({:.2} ×)",
            if has_index { "with an" } else { "without" },
            grouped_us / as_many_us,
            self.limit * self.size,
            grouped_us / all_us,
        );
        Ok(json!({
            "field": field, "indexed": has_index, "groups": groups, "hits": hits, "recall": recall,
            "first_us": first, "grouped_us": grouped_us,
            "as_many_hits_us": as_many_us, "ratio_to_as_many_hits": grouped_us / as_many_us,
            "all_hits_us": all_us, "ratio_to_all_hits": grouped_us / all_us,
        }))
    }

    fn plain(&self, limit: usize) -> Kind {
        self.of("query", &|query| json!({"query": query, "limit": limit, "with_payload": ["section"]}))
    }

    fn grouped(&self, field: &str) -> Kind {
        self.of("query_groups", &|query| {
            json!({"query": query, "limit": self.limit, "group_size": self.size, "group_by": field,
                "with_payload": ["section"]})
        })
    }

    fn of(&self, operation: &'static str, body: &dyn Fn(&[f32]) -> Value) -> Kind {
        Kind {
            operation,
            bodies: self.queries.iter().map(|query| body(query).to_string().into_bytes()).collect(),
        }
    }

    /// How many groups and hits the answers have, on average.
    fn filled(&self, kind: &Kind) -> Fallible<(f64, f64)> {
        let (mut groups, mut hits) = (0, 0);
        for body in &kind.bodies {
            let result = result(self.engine, kind.operation, body)?;
            let found = result["groups"].as_array().ok_or("no groups")?;
            groups += found.len();
            hits += found.iter().filter_map(|group| group["hits"].as_array()).map(Vec::len).sum::<usize>();
        }
        let each = |count: usize| count as f64 / kind.bodies.len() as f64;
        Ok((each(groups), each(hits)))
    }

    /// The share of the hits of exact answers that the answers have.
    fn recall(&self, kind: &Kind, hits: impl Fn(&Value) -> HashSet<String>) -> Fallible<f64> {
        let (mut wanted, mut found) = (0, 0);
        for body in &kind.bodies {
            let mut exact: Value = serde_json::from_slice(body)?;
            exact["params"] = json!({"exact": true});
            let exact = hits(&result(self.engine, kind.operation, exact.to_string().as_bytes())?);
            let answered = hits(&result(self.engine, kind.operation, body)?);
            wanted += exact.len();
            found += exact.intersection(&answered).count();
        }
        Ok(found as f64 / wanted.max(1) as f64)
    }
}

fn result(engine: &Engine, operation: &str, body: &[u8]) -> Fallible<Value> {
    let answer: Value = serde_json::from_slice(&send(engine, operation, None, body.to_vec())?)?;
    Ok(answer["result"].clone())
}

fn ids(hits: &Value) -> HashSet<String> {
    hits.as_array().into_iter().flatten().map(|hit| hit["id"].to_string()).collect()
}

/// Creates or deletes a keyword index.
fn index(engine: &Engine, field: &str, is_wanted: bool) -> Fallible<()> {
    let (operation, target, body) = match is_wanted {
        true => {
            ("create_field_index", None, json!({"field_name": field, "field_schema": "keyword"}).to_string())
        }
        false => ("delete_field_index", Some(field), String::new()),
    };
    send(engine, operation, target, body.into_bytes())?;
    Ok(())
}

/// Creates and indexes the collection, unless a run before has.
fn fill(engine: &Engine, data: &DataSet, payloads: &str) -> Fallible<()> {
    if ask(engine, "collection_exists", &Value::Null)?["exists"] != json!(true) {
        let vectors = json!({"size": data.base[0].len(), "distance": data.metric});
        ask(engine, "create_collection", &json!({ "vectors": vectors }))?;
        let rows = data.base.len();
        let points: Vec<(&Vec<f32>, &str)> = data.base.iter().zip(payloads.lines()).collect();
        for (batch, points) in points.chunks(BATCH).enumerate() {
            let point = |(at, (vector, payload)): (usize, &(&Vec<f32>, &str))| -> Fallible<Value> {
                let id = batch * BATCH + at;
                let mut payload: Value = serde_json::from_str(payload)?;
                let group =
                    |members: usize| format!("g{}", scatter(id as u64) % (rows / members).max(1) as u64);
                payload["ten"] = json!(group(10));
                payload["thousand"] = json!(group(1_000));
                payload["five"] = json!(group(rows / 5));
                Ok(json!({"id": id, "vector": vector, "payload": payload}))
            };
            let points = points.iter().enumerate().map(point).collect::<Fallible<Vec<Value>>>()?;
            ask(engine, "upsert_points", &json!({ "points": points }))?;
        }
    }
    wait_until_indexed(engine)
}

/// The median latency of each kind of request, in microseconds.
fn measure<const KINDS: usize>(
    engine: &Engine,
    kinds: &[Kind; KINDS],
    rounds: usize,
) -> Fallible<[f64; KINDS]> {
    let queries = kinds[0].bodies.len();
    let mut best = [(); KINDS].map(|()| vec![f64::INFINITY; queries]);
    for round in 0..rounds {
        for step in 0..queries {
            for turn in 0..KINDS {
                let kind = (turn + step + round) % KINDS;
                let at = (step + turn * APART) % queries;
                let body = kinds[kind].bodies[at].clone();
                let start = Instant::now();
                send(engine, kinds[kind].operation, None, body)?;
                best[kind][at] = best[kind][at].min(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    Ok(best.map(|mut times| {
        times.retain(|time| time.is_finite());
        median(&times)
    }))
}
