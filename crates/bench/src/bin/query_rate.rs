//! The engine's own rate of queries on one thread, for `npm run bench:embedded`.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin query_rate -- --folder DATA_DIR --queries FILE
//! ```
//!
//! Opens a data directory that no other process has open. The file has the body of a query in each line, in JSON. For each
//! line of standard input, a number of seconds, it reads and runs queries for so long, in their order and over again, on this
//! thread, and prints how many it ran and the seconds that it took. The collection is `bench`.

use kithdb_bench::empty_catalog::EmptyCatalog;
use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{COLLECTION, wait_until_indexed};
use kithdb_engine::api;
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::limits::Limits;
use kithdb_engine::query;
use kithdb_engine::storage::RealDisk;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut flags = Flags::of_this_process();
    let folder: String = flags.value("folder", String::new())?;
    let queries: String = flags.value("queries", String::new())?;
    flags.finish()?;
    let bodies: Vec<Vec<u8>> =
        std::fs::read_to_string(queries)?.lines().map(|line| line.as_bytes().to_vec()).collect();
    let engine = Engine::open(Arc::new(RealDisk::open(Path::new(&folder))?), Options::default())?;
    wait_until_indexed(&engine)?;
    let snapshot = engine.catalog().enter(COLLECTION)?.collection()?.snapshot();
    let limits = Limits::default();
    let mut at = 0;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let length = Duration::from_secs_f64(line?.trim().parse()?);
        let start = Instant::now();
        let deadline = Deadline::new(start, length + Duration::from_secs(60), "Query");
        let mut done: u64 = 0;
        while start.elapsed() < length {
            let request = api::query(&bodies[at], &limits)?;
            query::query(&snapshot, &request, &EmptyCatalog, &deadline)?;
            at = (at + 1) % bodies.len();
            done += 1;
        }
        println!("{done} {}", start.elapsed().as_secs_f64());
    }
    engine.close();
    Ok(())
}
