//! What ids that are strings take beside UUIDs: time of upserts and retrieves, and memory beside integers.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin string_ids_bench -- [--points 1000000] [--length 36] [--shared 8] [--dim 16]
//!     [--batch 1000] [--rounds 300] [--json FILE]
//! ```
//!
//! `npm run bench:string-ids` runs it and adds the machine. Memory first: a collection of integers and one of strings of
//! `length` bytes, of which all have the first `shared` in common, are filled one after the other, and measured by what the
//! engine counts as points and by the anonymous memory of the process. Then a collection of UUIDs and one of strings are
//! filled in turns, batch by batch, and `batch` random points are retrieved from each in turns, in every other pair the
//! strings first: the ratio of a pair is the time of the strings by that of the UUIDs, and the median of all pairs counts.
//! Times are from the bytes of a request to those of the answer.

use kithdb_bench::flags::Flags;
use kithdb_bench::quantile::median;
use kithdb_bench::requests::{ask, send};
use kithdb_bench::scatter::scatter;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// What ids are.
#[derive(Clone, Copy)]
enum Kind {
    Integers,
    Uuids,
    /// Strings of `length` bytes, of which the first `shared` are the same in all. At least 24 bytes differ.
    Strings {
        length: usize,
        shared: usize,
    },
}

impl Kind {
    /// The id of a point, as JSON. Those of neighbours are far from each other.
    fn id(self, point: u64) -> String {
        let number = scatter(point);
        match self {
            Kind::Integers => number.to_string(),
            Kind::Uuids => format!("\"{number:016x}{point:016x}\""),
            Kind::Strings { length, shared } => {
                let own = length.saturating_sub(shared);
                format!("\"{}{:-<own$}\"", "p".repeat(shared), format!("{number:016x}{point:08x}"))
            }
        }
    }
}

/// How the measurement is made.
#[derive(Clone, Copy)]
struct Plan {
    points: u64,
    dim: usize,
    batch: u64,
    rounds: u64,
}

/// A collection in an engine of its own.
struct Filled {
    engine: Engine,
    kind: Kind,
}

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let points = flags.value("points", 1_000_000u64)?;
    let (length, shared) = (flags.value("length", 36usize)?, flags.value("shared", 8usize)?);
    let (dim, batch) = (flags.value("dim", 16usize)?, flags.value("batch", 1_000u64)?);
    let plan = Plan { points, dim, batch, rounds: flags.value("rounds", 300)? };
    let json: Option<PathBuf> = flags.optional("json")?;
    flags.finish()?;
    let folder = std::env::temp_dir().join(format!("kithdb-string-ids-{}", std::process::id()));
    let strings = Kind::Strings { length, shared };
    let memory = [("integers", Kind::Integers), ("strings", strings)]
        .map(|(name, kind)| memory_of(&folder.join(format!("memory-{name}")), plan, kind));
    let [integers, texts] = memory;
    let (integers, texts) = (integers?, texts?);
    let [counted, held] = [0, 1].map(|at| texts[at] - integers[at]);
    println!("memory of a string beside an integer: {counted:.1} bytes counted, {held:.1} held");
    let (upserts, retrieves) = times(&folder, plan, [Kind::Uuids, strings])?;
    println!("strings by UUIDs: upsert {upserts}, retrieve {retrieves}");
    std::fs::remove_dir_all(&folder)?;
    if let Some(path) = json {
        let report = json!({
            "points": points, "length": length, "shared": shared, "dim": dim, "batch": batch, "rounds": plan.rounds,
            "bytes_counted": counted, "bytes_held": held, "upsert": upserts.json(), "retrieve": retrieves.json(),
        });
        std::fs::write(path, format!("{report:#}\n"))?;
    }
    Ok(())
}

impl Filled {
    /// An empty collection.
    fn new(folder: &Path, plan: Plan, kind: Kind) -> Fallible<Filled> {
        std::fs::create_dir_all(folder)?;
        let engine = Engine::open(Arc::new(RealDisk::open(folder)?), Options::default())?;
        let ids = if matches!(kind, Kind::Strings { .. }) { "string" } else { "default" };
        let vectors = json!({"size": plan.dim, "distance": "Dot"});
        let body = json!({"vectors": vectors, "ids": ids, "hnsw_config": {"m": 0}});
        ask(&engine, "create_collection", &body)?;
        Ok(Filled { engine, kind })
    }

    /// Milliseconds of an upsert of some points.
    fn upsert(&self, plan: Plan, points: std::ops::Range<u64>) -> Fallible<f64> {
        let mut body = String::from("{\"points\":[");
        for point in points {
            let comma = if body.ends_with('[') { "" } else { "," };
            let _ = write!(body, "{comma}{{\"id\":{},\"vector\":[", self.kind.id(point));
            for at in 0..plan.dim {
                let comma = if at > 0 { "," } else { "" };
                let _ = write!(body, "{comma}{}", scatter(point + at as u64) % 1000);
            }
            body.push_str("]}");
        }
        body.push_str("]}");
        self.timed("upsert_points", body)
    }

    /// Milliseconds of a retrieve of some points.
    fn retrieve(&self, points: &[u64]) -> Fallible<f64> {
        let ids: Vec<String> = points.iter().map(|point| self.kind.id(*point)).collect();
        self.timed("retrieve_points", format!("{{\"ids\":[{}],\"with_payload\":false}}", ids.join(",")))
    }

    fn timed(&self, operation: &str, body: String) -> Fallible<f64> {
        let start = Instant::now();
        send(&self.engine, operation, None, body.into_bytes())?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

/// Bytes a point of a collection that is filled: those that the engine counts as points, and those that the process has more
/// than before.
fn memory_of(folder: &Path, plan: Plan, kind: Kind) -> Fallible<[f64; 2]> {
    let before = anonymous_bytes()?;
    let filled = Filled::new(folder, plan, kind)?;
    for first in (0..plan.points).step_by(plan.batch as usize) {
        filled.upsert(plan, first..plan.points.min(first + plan.batch))?;
    }
    let collections = filled.engine.catalog().collections();
    let counted = collections.iter().map(|collection| collection.memory().points).sum::<u64>();
    let held = anonymous_bytes()? - before;
    filled.engine.close();
    Ok([counted as f64, held].map(|bytes| bytes / plan.points as f64))
}

/// Anonymous memory of this process.
fn anonymous_bytes() -> Fallible<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024.0)
}

/// Times of pairs, in milliseconds: of UUIDs and of strings.
#[derive(Default)]
struct Pairs(Vec<[f64; 2]>);

impl Pairs {
    /// Times one after the other what `timed` does for the UUIDs and for the strings, in another order each time.
    fn add(&mut self, mut timed: impl FnMut(usize) -> Fallible<f64>) -> Fallible<()> {
        let mut pair = [0.0; 2];
        let first = self.0.len() % 2;
        for at in [first, 1 - first] {
            pair[at] = timed(at)?;
        }
        self.0.push(pair);
        Ok(())
    }

    /// The medians of the UUIDs, of the strings, and of the ratios of the pairs.
    fn medians(&self) -> [f64; 3] {
        let median_of = |of: fn(&[f64; 2]) -> f64| median(&self.0.iter().map(of).collect::<Vec<f64>>());
        [
            median_of(|[uuids, _]| *uuids),
            median_of(|[_, strings]| *strings),
            median_of(|[uuids, strings]| strings / uuids),
        ]
    }

    fn json(&self) -> Value {
        let [uuids, strings, ratio] = self.medians();
        json!({"uuids_ms": uuids, "strings_ms": strings, "ratio": ratio})
    }
}

impl std::fmt::Display for Pairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [uuids, strings, ratio] = self.medians();
        write!(f, "{strings:.3} / {uuids:.3} ms, {ratio:.3} of a pair")
    }
}

/// Times of upserts and of retrieves.
fn times(folder: &Path, plan: Plan, kinds: [Kind; 2]) -> Fallible<(Pairs, Pairs)> {
    let new = |at: usize| Filled::new(&folder.join(format!("times-{at}")), plan, kinds[at]);
    let filled = [new(0)?, new(1)?];
    let (mut upserts, mut retrieves) = (Pairs::default(), Pairs::default());
    for from in (0..plan.points).step_by(plan.batch as usize) {
        let points = from..plan.points.min(from + plan.batch);
        upserts.add(|at| filled[at].upsert(plan, points.clone()))?;
    }
    for round in 0..plan.rounds {
        let asked: Vec<u64> =
            (0..plan.batch).map(|at| scatter(round * plan.batch + at) % plan.points).collect();
        retrieves.add(|at| filled[at].retrieve(&asked))?;
    }
    filled.iter().for_each(|one| one.engine.close());
    Ok((upserts, retrieves))
}
