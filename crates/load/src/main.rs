//! A load generator for HTTP/1.1 servers: what `npm run bench:load` sends.
//!
//! ```text
//! kithdb-load PLAN.json
//! ```
//!
//! The plan ([`plan::Plan`]) says what is sent, by whom and when. A line `{"started":true}` on the standard output says that
//! the connections stand, a second line is the report ([`tally::Tally::report`]). The run ends with its time, or with the
//! standard input. A crowd of connections shares one thread, whose timer ticks in milliseconds; where less matters a
//! `probe` has a thread, and here a process, of its own.

mod answer;
mod client;
mod crowd;
mod histogram;
mod plan;
mod probe;
mod run;
mod tally;

use plan::{Plan, Traffic};
use probe::Pace;
use run::{Fallible, Stop};
use std::path::Path;

fn main() -> Fallible<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        return Err("usage: kithdb-load PLAN.json".into());
    };
    let plan = Plan::read(Path::new(&path))?;
    let messages = plan.messages();
    let stop = Stop::at_end_of_input();
    let (tally, ended) = match plan.traffic {
        Traffic::Probe { per_second, requests_per_connection, source } => {
            probe::run(&plan, &messages, &Pace { per_second, requests_per_connection, source }, &stop)?
        }
        _ => crowd::run(&plan, &messages, &stop)?,
    };
    println!("{}", tally.report(ended));
    Ok(())
}
