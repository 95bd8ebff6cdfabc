//! What searches did: the figures that explain a slow one.

use super::matching::Matching;
use super::planner::{CostModel, Plan};
use crate::field::Ranked;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Declares [`Tally`] by its counts.
macro_rules! tally {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// Counts over some searches for the nearest.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Tally {
            $($(#[$about])* pub $name: u64,)*
        }

        /// How many counts there are.
        const COUNTS: usize = [$(stringify!($name)),*].len();

        impl Tally {
            fn counts(&self) -> [u64; COUNTS] {
                [$(self.$name),*]
            }

            const fn of([$($name),*]: [u64; COUNTS]) -> Tally {
                Tally { $($name),* }
            }
        }
    };
}

tally! {
    /// Exact scans of originals: asked for, or of a collection without a graph.
    exact_scans,
    /// Scans of the matches by their codes, as the first plan.
    scans,
    /// Walks through all rows, as the first plan.
    wide_walks,
    /// Walks through matches only, as the first plan.
    two_hop_walks,
    /// Plans given up for the next one because they had met too few matches.
    fallbacks,
    /// Nodes that walks expanded.
    hops,
    /// Rows that walks compared.
    distances,
    /// Vectors that searches compared by their originals without codes or a walk: of exact searches, of fields without a graph,
    /// with each example of a query with several. Those of sparse vectors are not counted: their lists are added up.
    compared,
    /// Rows that scans compared by code.
    scanned,
    /// Rows that were compared again by their originals.
    reranked,
    /// Rows of tails that were compared beside walks.
    tail,
    /// Nanoseconds of re-ranking.
    rerank_nanos,
    /// Searches of collections: queries, and what they fetch beforehand.
    searches,
    /// Searches whose filter the field indexes do not answer alone.
    unindexed,
    /// Nanoseconds of applying field indexes to filters.
    plan_nanos,
    /// Searches for which the exact number of matching points is known.
    counted,
    /// How many points match in those searches.
    matches,
    /// Comparisons of plans by what they cost.
    planned,
    /// Points that were taken to match then.
    estimated,
}

impl Tally {
    /// Vectors compared by walks and by exact searches.
    pub fn all_distances(&self) -> u64 {
        self.distances + self.compared
    }

    /// Counts what was re-ranked.
    pub(super) fn rerank(&mut self, ranked: &Ranked) {
        self.reranked += ranked.reranked as u64;
        self.rerank_nanos += ranked.took.as_nanos() as u64;
    }

    /// Adds what another has counted.
    pub(super) fn add(&mut self, other: Tally) {
        let (own, others) = (self.counts(), other.counts());
        *self = Tally::of(std::array::from_fn(|at| own[at] + others[at]));
    }

    /// Counts searches under one filter that was planned in that time.
    fn searches(&mut self, count: u64, matching: &Matching<'_>, planning: Duration) {
        self.searches += count;
        self.plan_nanos += planning.as_nanos() as u64;
        if !matching.is_exact() {
            self.unindexed += count;
        }
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
    static TALLY: Cell<Tally> = const { Cell::new(Tally::of([0; COUNTS])) };
    static COSTS: Cell<Option<CostModel>> = const { Cell::new(None) };
}

/// Changes the tally of this thread.
pub(super) fn count(change: impl FnOnce(&mut Tally)) {
    TALLY.with(|cell| {
        let mut tally = cell.get();
        change(&mut tally);
        cell.set(tally);
    });
}

/// Plans the filter of so many searches, and counts them.
pub(super) fn planned<'a>(searches: u64, plan: impl FnOnce() -> Matching<'a>) -> Matching<'a> {
    let start = Instant::now();
    let matching = plan();
    count(|tally| tally.searches(searches, &matching, start.elapsed()));
    matching
}

/// Counts the matches of so many searches under one filter, where they have found out how many there are.
pub(super) fn matched(searches: u64, matching: &Matching<'_>) {
    if matching.is_exact() {
        count(|tally| {
            tally.counted += searches;
            tally.matches += searches * matching.at_most();
        });
    }
}

/// Notes what the plans of a search cost.
pub(super) fn compared(costs: &CostModel) {
    count(|tally| {
        tally.planned += 1;
        tally.estimated += costs.matches as u64;
    });
    COSTS.set(Some(*costs));
}

/// What this thread's searches did since it was asked last.
pub fn take_tally() -> Tally {
    COSTS.set(None);
    TALLY.take()
}

/// Takes the tally, and the cost model of the last plans.
pub fn take_work() -> (Tally, Option<CostModel>) {
    (TALLY.take(), COSTS.take())
}

/// Tallies of many threads, added up.
#[derive(Debug, Default)]
pub struct Totals([AtomicU64; COUNTS]);

impl Totals {
    /// Adds a tally.
    pub fn add(&self, tally: Tally) {
        for (total, value) in self.0.iter().zip(tally.counts()) {
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
