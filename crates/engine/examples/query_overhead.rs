//! What a query costs beside its search: reading its body, and planning it.
//!
//! ```text
//! cargo run --release -p kithdb-engine --example query_overhead -- [--dim 384] [--rounds 200]
//! ```
//!
//! The collection holds one point, so that what is left of a search is the way to it. A body is that of a plain query
//! for the nearest as Qdrant's clients send it, its components once as Python prints a 32-bit float that became a
//! double, once with the fewest digits that a 32-bit float needs. Times are of one call, the best of the rounds, each
//! of a hundred calls on different bodies.

use kithdb_engine::api;
use kithdb_engine::collection::Snapshot;
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::{Engine, Operation, Options, Request};
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use kithdb_engine::query::{self, Lookup};
use kithdb_engine::storage::RealDisk;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const COLLECTION: &str = "overhead";
/// Calls of a round, each with a body of its own: no branch predictor learns them all by heart.
const CALLS: usize = 100;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// No query here looks a vector up elsewhere.
struct Nowhere;

impl Lookup for Nowhere {
    fn collection(&self, name: &str) -> Result<Arc<Snapshot>, Error> {
        Err(Error::CollectionNotFound(name.into()))
    }
}

/// A name, and how a number is written.
type Form = (&'static str, fn(f32) -> String);

fn main() -> Fallible<()> {
    let (mut dim, mut rounds) = (384, 200);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or("a flag needs a value")?.parse()?;
        match flag.as_str() {
            "--dim" => dim = value,
            "--rounds" => rounds = value,
            _ => return Err(format!("unknown flag {flag}").into()),
        }
    }
    let folder = std::env::temp_dir().join(format!("kithdb-overhead-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let engine = Engine::open(Arc::new(RealDisk::open(&folder)?), Options::default())?;
    call(&engine, "create_collection", format!(r#"{{"vectors":{{"size":{dim},"distance":"Cosine"}}}}"#))?;
    let point = vector(dim, 0, |component| component.to_string());
    call(&engine, "upsert_points", format!(r#"{{"points":[{{"id":1,"vector":{point}}}]}}"#))?;
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
                query::query(&snapshot, request, &Nowhere, &deadline)?;
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

fn call(engine: &Engine, operation: &str, body: String) -> Fallible<()> {
    let (send, receive) = mpsc::channel();
    let request = Request {
        operation: Operation::parse(operation).ok_or("unknown operation")?,
        collection: COLLECTION.into(),
        target: None,
        wait: true,
        timeout: None,
        body: Box::new(body.into_bytes()),
        start: Instant::now(),
    };
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    receive.recv()??;
    Ok(())
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

/// A number that looks random (SplitMix64's finaliser).
fn scatter(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
