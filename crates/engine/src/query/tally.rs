//! What searches did: the figures that explain a slow one.

use super::planner::Plan;
use crate::field::Ranked;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts over some searches for the nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Exact scans of originals: asked for, or of a collection without a graph.
    pub exact_scans: u64,
    /// Scans of the matches by their codes, as the first plan.
    pub scans: u64,
    /// Walks through all rows, as the first plan.
    pub wide_walks: u64,
    /// Walks through matches only, as the first plan.
    pub two_hop_walks: u64,
    /// Plans given up for the next one because they had met too few matches.
    pub fallbacks: u64,
    /// Nodes that walks expanded.
    pub hops: u64,
    /// Rows that walks compared.
    pub distances: u64,
    /// Rows that scans compared by code.
    pub scanned: u64,
    /// Rows that were compared again by their originals.
    pub reranked: u64,
    /// Rows of tails that were compared beside walks.
    pub tail: u64,
    /// Nanoseconds of re-ranking, of searches that are explained.
    pub rerank_nanos: u64,
}

impl Tally {
    fn fields(&self) -> [u64; 11] {
        [
            self.exact_scans,
            self.scans,
            self.wide_walks,
            self.two_hop_walks,
            self.fallbacks,
            self.hops,
            self.distances,
            self.scanned,
            self.reranked,
            self.tail,
            self.rerank_nanos,
        ]
    }

    const fn of(
        [
            exact_scans,
            scans,
            wide_walks,
            two_hop_walks,
            fallbacks,
            hops,
            distances,
            scanned,
            reranked,
            tail,
            rerank_nanos,
        ]: [u64; 11],
    ) -> Tally {
        Tally {
            exact_scans,
            scans,
            wide_walks,
            two_hop_walks,
            fallbacks,
            hops,
            distances,
            scanned,
            reranked,
            tail,
            rerank_nanos,
        }
    }

    /// Counts what was re-ranked.
    pub(super) fn rerank(&mut self, ranked: &Ranked) {
        self.reranked += ranked.reranked as u64;
        self.rerank_nanos += ranked.took.as_nanos() as u64;
    }

    /// Adds what another has counted.
    pub(super) fn add(&mut self, other: Tally) {
        let (own, others) = (self.fields(), other.fields());
        *self = Tally::of(std::array::from_fn(|at| own[at] + others[at]));
    }

    /// Counts the first plan of a search.
    pub(super) fn start(&mut self, plan: Plan) {
        match plan {
            Plan::Scan => self.scans += 1,
            Plan::Wide => self.wide_walks += 1,
            Plan::TwoHop => self.two_hop_walks += 1,
        }
    }
}

thread_local! {
    static TALLY: Cell<Tally> = const { Cell::new(Tally::of([0; 11])) };
}

/// Changes the tally of this thread.
pub(super) fn count(change: impl FnOnce(&mut Tally)) {
    TALLY.with(|cell| {
        let mut tally = cell.get();
        change(&mut tally);
        cell.set(tally);
    });
}

/// What this thread's searches did since it was asked last.
pub fn take_tally() -> Tally {
    TALLY.take()
}

/// Tallies of many threads, added up.
#[derive(Debug, Default)]
pub struct Totals([AtomicU64; 11]);

impl Totals {
    /// Adds a tally.
    pub fn add(&self, tally: Tally) {
        for (total, value) in self.0.iter().zip(tally.fields()) {
            // Most are zero, and a shared line is not worth dirtying for nothing.
            if value > 0 {
                total.fetch_add(value, Ordering::Relaxed);
            }
        }
    }

    /// The sums so far.
    pub fn sum(&self) -> Tally {
        Tally::of(self.0.each_ref().map(|total| total.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_the_sums_of_what_was_taken() {
        let totals = Totals::default();
        take_tally();
        for _ in 0..3 {
            count(|tally| tally.start(Plan::Wide));
            count(|tally| tally.hops += 7);
            totals.add(take_tally());
        }
        totals.add(take_tally());
        assert_eq!(totals.sum(), Tally { wide_walks: 3, hops: 21, ..Tally::default() });
    }
}
