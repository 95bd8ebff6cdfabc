//! Searches beside writes at full speed, in one process without HTTP: the effect of ingest on readers.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin ingest_bench -- DIR [--readers 1] [--writers 2] [--ef 64] [--seconds 5]
//!     [--rounds 3]
//! ```
//!
//! `DIR` holds a `meta.json` as `hnsw_bench` reads it. Half of the points are stored and indexed before. Readers then search in
//! closed loops, alone and while writers upsert the other half, in requests of 256 points that are durable before
//! they are answered; when all are stored, the same points are replaced. Latencies are from the request's body to the
//! answer's, through the queues and threads that a server has.

use kithdb_bench::data_set::DataSet;
use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{ask, call, wait_until_indexed};
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Points in a request.
const BATCH: usize = 256;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

struct Arguments {
    dir: String,
    readers: usize,
    writers: usize,
    ef: usize,
    seconds: u64,
    rounds: usize,
}

impl Arguments {
    fn parse() -> Fallible<Arguments> {
        let mut flags = Flags::of_this_process();
        let arguments = Arguments {
            dir: flags.first("the folder of a data set")?,
            readers: flags.value("readers", 1)?,
            writers: flags.value("writers", 2)?,
            ef: flags.value("ef", 64)?,
            seconds: flags.value("seconds", 5)?,
            rounds: flags.value("rounds", 3)?,
        };
        flags.finish()?;
        Ok(arguments)
    }
}

fn main() -> Fallible<()> {
    let arguments = Arguments::parse()?;
    let data = DataSet::load(Path::new(&arguments.dir))?;
    let folder = std::env::temp_dir().join(format!("kithdb-ingest-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = run(&arguments, &data, &folder);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn run(arguments: &Arguments, data: &DataSet, folder: &Path) -> Fallible<()> {
    let engine = Engine::open(Arc::new(RealDisk::open(folder)?), Options::default())?;
    let create = json!({"vectors": {"size": data.base[0].len(), "distance": data.metric}});
    ask(&engine, "create_collection", &create)?;
    let half = data.base.len() / 2;
    for body in upserts(data, 0..half) {
        call(&engine, "upsert_points", None, body)?;
    }
    wait_until_indexed(&engine)?;
    println!(
        "{}: {half} rows × {} are indexed, {} readers",
        data.name,
        data.base[0].len(),
        arguments.readers
    );
    let searches: Vec<Vec<u8>> = data
        .queries
        .iter()
        .map(|query| json!({"vector": query, "limit": 10, "params": {"hnsw_ef": arguments.ef}}))
        .map(|body| body.to_string().into_bytes())
        .collect();
    let writes = upserts(data, half..data.base.len());
    for _ in 0..arguments.rounds {
        let idle = read(&engine, &searches, arguments)?;
        let stop = AtomicBool::new(false);
        let written = AtomicUsize::new(0);
        let started = Instant::now();
        let busy = std::thread::scope(|scope| {
            let writer = || {
                while !stop.load(Ordering::Relaxed) {
                    let at = written.fetch_add(1, Ordering::Relaxed);
                    call(&engine, "upsert_points", None, writes[at % writes.len()].clone())
                        .expect("an upsert");
                }
            };
            (0..arguments.writers).for_each(|_| drop(scope.spawn(writer)));
            let busy = read(&engine, &searches, arguments);
            stop.store(true, Ordering::Relaxed);
            busy
        })?;
        let rate = (written.into_inner() * BATCH) as f64 / started.elapsed().as_secs_f64();
        println!("idle  {idle}");
        println!("busy  {busy}  beside {rate:.0} points/s");
        println!("busy ÷ idle: p50 {:.2}, p99 {:.2}", busy.p50 / idle.p50, busy.p99 / idle.p99);
    }
    engine.close();
    Ok(())
}

fn upserts(data: &DataSet, rows: Range<usize>) -> Vec<Vec<u8>> {
    let body = |from: usize| {
        let rows = from..rows.end.min(from + BATCH);
        let points: Vec<Value> = rows.map(|row| json!({"id": row, "vector": data.base[row]})).collect();
        json!({ "points": points }).to_string().into_bytes()
    };
    rows.clone().step_by(BATCH).map(body).collect()
}

/// Latencies in microseconds, and searches a second.
struct Latencies {
    p50: f64,
    p99: f64,
    rate: f64,
}

impl std::fmt::Display for Latencies {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:.0} searches/s, p50 {:.0} µs, p99 {:.0} µs", self.rate, self.p50, self.p99)
    }
}

/// Searches in closed loops until the time is over.
fn read(engine: &Engine, searches: &[Vec<u8>], arguments: &Arguments) -> Fallible<Latencies> {
    let time = Duration::from_secs(arguments.seconds);
    let started = Instant::now();
    let mut micros: Vec<f64> = std::thread::scope(|scope| {
        let reader = |first: usize| {
            let mut micros = Vec::new();
            for body in searches.iter().cycle().skip(first) {
                if started.elapsed() >= time {
                    break;
                }
                let body = body.clone();
                let asked = Instant::now();
                call(engine, "search", None, body).expect("an answer");
                micros.push(asked.elapsed().as_secs_f64() * 1e6);
            }
            micros
        };
        let readers: Vec<_> = (0..arguments.readers)
            .map(|number| scope.spawn(move || reader(number * 97 % searches.len())))
            .collect();
        readers.into_iter().flat_map(|reader| reader.join().expect("a reader")).collect()
    });
    micros.sort_by(f64::total_cmp);
    let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize];
    Ok(Latencies { p50: at(0.5), p99: at(0.99), rate: micros.len() as f64 / time.as_secs_f64() })
}
