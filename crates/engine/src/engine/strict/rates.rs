//! Rates of reads and of writes.

use crate::error::Error;
use crate::rates::{Rate, RateExceeded};
use crate::scheduling::lane;
use std::time::Instant;

/// Takes tokens of a rate, if it is limited. The sentence of a rate that is used up is Qdrant's.
pub(super) fn take(rate: &Rate, limit: Option<u64>, tokens: u64, name: &str) -> Result<(), Error> {
    let Some(limit) = limit else { return Ok(()) };
    lane::need_engine_thread()?;
    rate.take(limit, tokens, Instant::now()).map_err(|short| match short {
        RateExceeded::Never => Error::bad(format!(
            "request: takes {tokens} tokens, which exceeds {name}: {limit} of the collection's strict mode; split it"
        )),
        RateExceeded::Until(left, wait) => {
            let seconds = (wait.as_secs_f64().ceil() as u64).max(1);
            let what = if name == "read_rate_limit" { "Read" } else { "Write" };
            let text = format!(
                "Rate limiting exceeded: {what} rate limit exceeded: Operation requires {tokens} tokens but only {left:.1} were available. Retry after {seconds}s"
            );
            Error::RateLimited(text, seconds)
        }
    })
}
