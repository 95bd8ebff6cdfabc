//! What a query costs beside its search: reading its body, and planning it.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin query_overhead -- [--dim 384] [--rounds 200]
//! ```
//!
//! The collection holds one point, so that the search itself costs almost nothing. A body is that of a plain query
//! for the nearest as Qdrant's clients send it, its components once as Python prints a 32-bit float that became a
//! double, once with the fewest digits that a 32-bit float needs. Times are of one call, the best of the rounds, each
//! of a hundred calls on different bodies.

use kithdb_bench::empty_catalog::EmptyCatalog;
use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{COLLECTION, call};
use kithdb_bench::scatter::scatter;
use kithdb_engine::api;
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::limits::Limits;
use kithdb_engine::query;
use kithdb_engine::storage::RealDisk;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls of a round, each with a body of its own: more than a branch predictor can learn.
const CALLS: usize = 100;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A name, and how a number is written.
type Form = (&'static str, fn(f32) -> String);

fn main() -> Fallible<()> {
    let mut flags = Flags::of_this_process();
    let (dim, rounds) = (flags.value("dim", 384)?, flags.value("rounds", 200)?);
    flags.finish()?;
    let folder = std::env::temp_dir().join(format!("kithdb-overhead-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let engine = Engine::open(Arc::new(RealDisk::open(&folder)?), Options::default())?;
    let body = format!(r#"{{"vectors":{{"size":{dim},"distance":"Cosine"}}}}"#);
    call(&engine, "create_collection", None, body.into_bytes())?;
    let point = vector(dim, 0, |component| component.to_string());
    let body = format!(r#"{{"points":[{{"id":1,"vector":{point}}}]}}"#);
    call(&engine, "upsert_points", None, body.into_bytes())?;
    let snapshot = engine.catalog().enter(COLLECTION)?.collection()?.snapshot();

    println!("{:>10} {:>8} {:>9} {:>9}", "digits", "bytes", "parse µs", "plan µs");
    let forms: [Form; 2] = [
        ("double", |component| f64::from(component).to_string()),
        ("single", |component| component.to_string()),
    ];
    for (name, print) in forms {
        let bodies: Vec<Vec<u8>> = (0..CALLS)
            .map(|at| {
                let vector = vector(dim, at + 1, print);
                let body = format!(
                    r#"{{"query":{{"nearest":{vector}}},"limit":10,"with_vector":false,"with_payload":true}}"#
                );
                body.into_bytes()
            })
            .collect();
        let limits = Limits::default();
        let mut requests = Vec::new();
        let (mut parse, mut plan) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..rounds {
            requests.clear();
            let start = Instant::now();
            for body in &bodies {
                requests.push(api::query(body, &limits)?);
            }
            parse = parse.min(each(start));
            let start = Instant::now();
            let deadline = Deadline::new(start, Duration::from_secs(60), "Query");
            for request in &requests {
                query::query(&snapshot, request, &EmptyCatalog, &deadline)?;
            }
            plan = plan.min(each(start));
        }
        println!("{name:>10} {:>8} {parse:>9.2} {plan:>9.2}", bodies[0].len());
    }
    engine.close();
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Microseconds of one of the calls since `start`.
fn each(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6 / CALLS as f64
}

/// A JSON array of components that look random, of the size that those of embeddings have.
fn vector(dim: usize, number: usize, print: impl Fn(f32) -> String) -> String {
    let components: Vec<String> = (0..dim)
        .map(|at| {
            let bits = scatter((number * dim + at) as u64) >> 40;
            print((bits as f32 / (1 << 24) as f32 - 0.5) * 0.2)
        })
        .collect();
    format!("[{}]", components.join(","))
}
