//! The index's side of `npm run bench:index`: builds, searches and measures on request.
//!
//! Reads a JSON message a line from standard input and answers with a JSON object a line; `bench/index` is the
//! other side, which sends the messages. Vectors come from `base.f32` and `query.f32` in the folder that `load`
//! names, row-major little-endian floats without a header.

mod churn;
mod data;
mod exact;
mod graph;
mod machine;

use data::Data;
use graph::{Clock, Index, Mode};
use kithdb_engine::index::tuning::Measurement;
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Errors are sent to the other side as text.
type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Default)]
struct Session {
    data: Option<Data>,
    index: Option<Index>,
}

fn main() -> Outcome<()> {
    let mut session = Session::default();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let answer = session.run(&message).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

impl Session {
    fn run(&mut self, message: &Value) -> Outcome<Value> {
        let command = text(message, "command")?;
        if command == "load" {
            self.index = None;
            self.data = Some(Data::load(message)?);
            // As an engine does once it has opened.
            if let Some(table) = Measurement::take(Measurement::BUDGET, &AtomicBool::new(false)).table() {
                table.install();
            }
            return Ok(json!({ "version": env!("CARGO_PKG_VERSION"), "modes": Mode::NAMES }));
        }
        let Session { data, index } = self;
        let data = data.as_ref().ok_or("no data is loaded")?;
        let built = index.as_mut().ok_or("nothing is built");
        match command {
            "build" => {
                *index = None;
                let start = Instant::now();
                *index = Some(Index::build(data, number(message, "threads")?)?);
                Ok(json!({ "seconds": start.elapsed().as_secs_f64() }))
            }
            "answers" => {
                let mode = Mode::named(text(message, "mode")?)?;
                let rows = built?.answers(data, mode, number(message, "ef")?)?;
                data::write_rows(Path::new(text(message, "file")?), data.k, &rows)?;
                Ok(json!({}))
            }
            "round" => {
                let mode = Mode::named(text(message, "mode")?)?;
                let seconds = message["seconds"].as_f64().ok_or("seconds are needed")?;
                let (ef, threads) = (number(message, "ef")?, number(message, "threads")?);
                let clock = Clock::named(text(message, "clock")?)?;
                let (queries, took) = built?.round(data, mode, ef, threads, seconds, clock)?;
                Ok(json!({ "queries": queries, "seconds": took }))
            }
            "memory" => Ok(built?.memory(data)),
            "truth" => {
                let rows: Vec<_> = data
                    .queries
                    .chunks(machine::BATCH)
                    .flat_map(|queries| exact::all_at_once(data, queries))
                    .collect();
                data::write_rows(Path::new(text(message, "file")?), data.k, &rows)?;
                Ok(json!({}))
            }
            "machine" => Ok(machine::measure(data)),
            "churn" => churn::run(data, message),
            _ => Err(format!("unknown command {command}").into()),
        }
    }
}

fn text<'a>(message: &'a Value, key: &str) -> Outcome<&'a str> {
    message[key].as_str().ok_or_else(|| format!("{key} is needed").into())
}

fn number(message: &Value, key: &str) -> Outcome<usize> {
    message[key].as_u64().map(|n| n as usize).ok_or_else(|| format!("{key} is needed").into())
}
