//! Searches that are explained (C13): they run one after the other on the thread of their request.

use super::point_writer::{PointWriter, write_hits};
use super::profile::{Part, timed};
use super::read::Read;
use super::search;
use crate::api::explanation::{RequestTimes, write_explanation};
use crate::api::response;
use crate::collection::Snapshot;
use crate::error::Error;
use crate::query::Hit;
use crate::query::tree::QueryRequest;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Read<'_> {
    /// Answers a search and explains it. `parse` is the time of reading the body.
    pub fn explained_search(
        &mut self,
        snapshot: &Arc<Snapshot>,
        request: &QueryRequest,
        parse: Duration,
        is_list: bool,
    ) -> Result<(), Error> {
        let found = timed(self.profile(), Part::Search, || {
            search::explained(self.core, self.request, snapshot, request, self.deadline)
        });
        let (hits, explanation) = found?;
        let times = self.write_timed(snapshot, request, &hits, is_list);
        write_explanation(self.explanation, &explanation, &self.with_arrival(times, parse));
        Ok(())
    }

    /// Answers the searches of a batch, and explains those that ask for it; the others have `null`.
    ///
    /// # Errors
    /// The error of the first search that fails, with its place in the batch.
    pub fn explained_batch(
        &mut self,
        snapshot: &Arc<Snapshot>,
        requests: &[QueryRequest],
        parse: Duration,
        is_list: bool,
    ) -> Result<(), Error> {
        let run = |(at, request): (usize, &QueryRequest)| {
            let found = match request.node.explain {
                Some(_) => search::explained(self.core, self.request, snapshot, request, self.deadline)
                    .map(|(hits, explanation)| (hits, Some(explanation))),
                None => search::one(self.core, self.request, snapshot, request, self.deadline)
                    .map(|hits| (hits, None)),
            };
            found.map_err(|error| error.within(format!("searches[{at}]")))
        };
        let run_all = || requests.iter().enumerate().map(run).collect::<Result<Vec<_>, Error>>();
        let found = timed(self.profile(), Part::Search, run_all)?;
        let mut times = Vec::with_capacity(found.len());
        self.out.push(b'[');
        for (at, (request, (hits, _))) in requests.iter().zip(&found).enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            times.push(self.write_timed(snapshot, request, hits, is_list));
        }
        self.out.push(b']');
        let times: Vec<RequestTimes> =
            times.into_iter().map(|times| self.with_arrival(times, parse)).collect();
        response::write_list(self.explanation, found.iter().zip(times), |out, ((_, explanation), times)| {
            match explanation {
                Some(explanation) => write_explanation(out, explanation, &times),
                None => out.extend_from_slice(b"null"),
            }
        });
        Ok(())
    }

    fn with_arrival(&self, times: RequestTimes, parse: Duration) -> RequestTimes {
        RequestTimes { queue: self.begun.saturating_duration_since(self.request.start), parse, ..times }
    }

    fn write_timed(
        &mut self,
        snapshot: &Snapshot,
        request: &QueryRequest,
        hits: &[Hit],
        is_list: bool,
    ) -> RequestTimes {
        let start = Instant::now();
        let mut writer = PointWriter::new(&snapshot.view, &request.with, &mut self.points, hits.len());
        writer.selecting = Some(Duration::ZERO);
        write_hits(self.out, &mut writer, hits, is_list);
        let payloads = writer.selecting.unwrap_or_default();
        RequestTimes { payloads, write: start.elapsed().saturating_sub(payloads), ..RequestTimes::default() }
    }
}
