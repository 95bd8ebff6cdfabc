//! What the searches of one request planned and what that cost: the part of its explanation (C13) that is known of every
//! search, for the log of slow requests. It has figures only, and nothing of the query, the filter or the points.

use crate::config::fields::ObjectWriter;
use crate::json::{write_f64, write_string, write_u64};
use crate::query::{self, CostModel, Tally, Totals};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A part of a request.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// From the request's arrival until a thread took it.
    Queue,
    /// Reading the body.
    Parse,
    /// Finding the hits, planning and re-ranking included.
    Search,
    /// Writing the answer, with the payloads and the vectors.
    Write,
}

const PARTS: usize = 4;

/// The figures of one request, which the threads that run its searches add up.
#[derive(Debug, Default)]
pub struct Profile {
    totals: Totals,
    /// What the plans of the last search that was settled cost.
    costs: Mutex<Option<CostModel>>,
    /// Nanoseconds of each part.
    parts: [AtomicU64; PARTS],
}

impl Profile {
    /// Adds what searches did.
    pub(super) fn add(&self, tally: Tally, costs: Option<CostModel>) {
        self.totals.add(tally);
        if costs.is_some() {
            *self.costs.lock() = costs;
        }
    }

    /// Notes how long a part took.
    pub(super) fn took(&self, part: Part, time: Duration) {
        self.parts[part as usize].store(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The figures as a JSON object; `None` of a request that has not begun to search.
    pub fn json(&self) -> Option<Vec<u8>> {
        let tally = self.totals.sum();
        if tally.searches == 0 {
            return None;
        }
        let mut out = Vec::new();
        let mut object = ObjectWriter::start(&mut out);
        write_u64(object.key("searches"), tally.searches);
        write_plans(object.key("plans"), &tally);
        // The costs of one search say nothing of the others.
        if let Some(costs) = self.costs.lock().as_ref().filter(|_| tally.planned == 1) {
            write_string(object.key("reason"), &query::compared(costs));
            write_u64(object.key("ef"), costs.ef as u64);
        }
        // As in an explanation, they are known of all searches or not at all.
        let of_all = |known: u64, sum: u64| (known >= tally.searches).then_some(sum);
        for (name, count) in [
            ("estimated_matches", of_all(tally.planned, tally.estimated)),
            ("matches", of_all(tally.counted, tally.matches)),
        ] {
            match count {
                Some(count) => write_u64(object.key(name), count),
                None => object.key(name).extend_from_slice(b"null"),
            }
        }
        for (name, count) in [
            ("hops", tally.hops),
            ("distances", tally.all_distances()),
            ("scanned", tally.scanned),
            ("reranked", tally.reranked),
            ("tail_scanned", tally.tail),
            ("fallbacks", tally.fallbacks),
            ("unindexed", tally.unindexed),
        ] {
            write_u64(object.key(name), count);
        }
        self.write_times(object.key("time_us"), &tally);
        object.end();
        Some(out)
    }

    fn write_times(&self, out: &mut Vec<u8>, tally: &Tally) {
        let of = |part: Part| self.parts[part as usize].load(Ordering::Relaxed);
        let mut parts = ObjectWriter::start(out);
        for (name, nanos) in [
            ("queue", of(Part::Queue)),
            ("parse", of(Part::Parse)),
            ("plan", tally.plan_nanos),
            ("search", of(Part::Search)),
            ("rerank", tally.rerank_nanos),
            ("write", of(Part::Write)),
        ] {
            write_f64(parts.key(name), nanos as f64 / 1000.0);
        }
        parts.end();
    }
}

/// How many searches began with each plan, under the names that explanations have.
fn write_plans(out: &mut Vec<u8>, tally: &Tally) {
    let mut plans = ObjectWriter::start(out);
    for (name, count) in [
        ("exact", tally.exact_scans),
        ("scan", tally.scans),
        ("walk", tally.wide_walks),
        ("filtered_walk", tally.two_hop_walks),
    ] {
        if count > 0 {
            write_u64(plans.key(name), count);
        }
    }
    plans.end();
}

/// Does a part of a request whose figures are kept, and notes its time.
pub(super) fn timed<T>(profile: Option<&Profile>, part: Part, work: impl FnOnce() -> T) -> T {
    let Some(profile) = profile else { return work() };
    let start = Instant::now();
    let done = work();
    profile.took(part, start.elapsed());
    done
}
