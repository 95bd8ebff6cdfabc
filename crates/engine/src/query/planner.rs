//! Which plan finds the nearest matching rows at the least cost.
//!
//! The unit of cost is one distance of a walk over codes: a row is fetched from a random place in memory and compared.
//! Only the ratios of costs matter. They hardly depend on the CPU, because all costs are fetches of rows. Measured on
//! Zen 4 at 384 and 784 dimensions.

use super::vector_search::Width;
use crate::faults::PlantedFault;

/// Distances of a walk, for each unit of its width. 7 to 19 on the sets it was measured on.
const DISTANCES_PER_EF: f64 = 11.0;
/// Distances of a walk of width zero: the descent to the base layer and into the right region.
const DISTANCES_AT_LEAST: f64 = 150.0;
/// A row of a scan: it is prefetched, and most rows are not kept.
const SCANNED_ROW: f64 = 0.65;
/// A document that a condition is checked on.
const DOCUMENT: f64 = 12.0;
/// A distance of a two-hop walk with the links and the checks that come before it.
const TWO_HOP_DISTANCE: f64 = 4.0;
/// Width of a two-hop walk as a multiple of the width asked for: it meets dead ends that a walk through all rows does
/// not meet.
const TWO_HOP_WIDENING: f64 = 2.0;
/// Width of a two-hop walk where matches are dense, as such a multiple: dead ends are rare there.
const DENSE_WIDENING: f64 = 1.5;
/// Share of matches from which they are dense.
const DENSE_SHARE: f64 = 0.3;
/// Share of matches below which there are too few among the neighbours of neighbours for a walk.
const LEAST_TWO_HOP_SHARE: f64 = 0.02;
/// Rows that a wide walk keeps, as a multiple of the `k / share` expected ones, so that it rarely finds fewer than `k`
/// matches when these are spread evenly.
const SPREAD: f64 = 1.3;
/// A wider walk would spend most of its time on keeping its candidates sorted.
const MAX_WIDTH: usize = 4096;

/// How to find the nearest matching rows. All plans give the same answer, except for what an approximate search misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Every match, by its code.
    Scan,
    /// A walk through all rows, wide enough to find `k` matches, which are picked out at the end.
    Wide,
    /// A walk through the matches only, which goes over two links where the node between does not match.
    TwoHop,
}

/// The cost of each plan for one search.
#[derive(Clone, Copy, Debug)]
pub struct CostModel {
    /// Nodes of the graph, dead ones included.
    pub nodes: u64,
    /// Rows that match, as far as is known.
    pub matches: f64,
    /// Documents that a scan has to check to find the matches.
    pub documents: u64,
    /// Whether a walk has to check the document of each row that it meets.
    pub by_document: bool,
    /// Width of the search, at least `k`.
    pub ef: usize,
    /// Where that comes from.
    pub width: Width,
    /// Rows wanted.
    pub k: usize,
}

impl CostModel {
    /// The first plan to try.
    pub fn first(&self) -> Plan {
        #[cfg(any(test, feature = "testing"))]
        if let Some(plan) = forced::plan() {
            return plan;
        }
        if PlantedFault::EverySearchScans.is_on() {
            return Plan::Scan;
        }
        let [scan, wide, two_hop] = [Plan::Scan, Plan::Wide, Plan::TwoHop].map(|plan| self.cost(plan));
        // A wide walk may have to be given up; a two-hop walk is chosen without it only where it is clearly too wide.
        if scan <= wide && scan <= two_hop {
            Plan::Scan
        } else if wide <= 2.0 * two_hop {
            Plan::Wide
        } else {
            Plan::TwoHop
        }
    }

    /// The plan to try after a wide walk has met too few matches, because they are far from the query.
    pub fn after_wide(&self) -> Plan {
        if self.cost(Plan::Scan) <= self.cost(Plan::TwoHop) { Plan::Scan } else { Plan::TwoHop }
    }

    /// Share of the graph's nodes that match.
    pub fn share(&self) -> f64 {
        (self.matches.max(1.0) / self.nodes.max(1) as f64).min(1.0)
    }

    /// Width of a wide walk: the width asked for, and room for `k` matches among as many rows as they are spread over.
    pub fn wide_ef(&self) -> usize {
        let further = (SPREAD * self.k as f64 * (1.0 / self.share() - 1.0)).ceil();
        self.ef.saturating_add(further as usize).min(self.ef.max(MAX_WIDTH))
    }

    /// Width of a two-hop walk.
    pub fn two_hop_ef(&self) -> usize {
        let widening = if self.share() >= DENSE_SHARE { DENSE_WIDENING } else { TWO_HOP_WIDENING };
        (self.ef as f64 * widening) as usize
    }

    /// What a plan costs, in distances.
    pub fn cost(&self, plan: Plan) -> f64 {
        let documents = |count: f64| if self.by_document { count * DOCUMENT } else { 0.0 };
        match plan {
            Plan::Scan => self.matches * SCANNED_ROW + self.documents as f64 * DOCUMENT,
            Plan::Wide => {
                let met = SPREAD * self.k as f64 / self.share();
                let ef = self.wide_ef();
                // The walk could not be wide enough.
                if met.min(self.nodes as f64) > ef as f64 {
                    return f64::INFINITY;
                }
                distances(ef).min(self.nodes as f64) + documents(met)
            }
            Plan::TwoHop => {
                if self.share() < LEAST_TWO_HOP_SHARE {
                    return f64::INFINITY;
                }
                let scored = distances(self.two_hop_ef()).min(self.matches);
                let looked_at = (scored / self.share()).min(self.nodes as f64);
                scored * TWO_HOP_DISTANCE + documents(looked_at)
            }
        }
    }
}

/// Distances of a walk.
pub fn distances(ef: usize) -> f64 {
    DISTANCES_AT_LEAST + DISTANCES_PER_EF * ef as f64
}

/// For tests of what a plan finds: the plan to begin with, at any cost.
#[cfg(any(test, feature = "testing"))]
pub mod forced {
    use super::Plan;
    use std::cell::Cell;

    thread_local! {
        static FORCED: Cell<Option<Plan>> = const { Cell::new(None) };
        static MEANWHILE: Cell<Option<fn()>> = const { Cell::new(None) };
    }

    /// Forces a plan on the searches of this thread, or none any more.
    pub fn set(plan: Option<Plan>) {
        FORCED.set(plan);
    }

    /// What happens during the next search of this thread.
    #[cfg(test)]
    pub fn meanwhile(happens: fn()) {
        MEANWHILE.set(Some(happens));
    }

    /// The plan that is forced.
    pub fn plan() -> Option<Plan> {
        if let Some(happens) = MEANWHILE.take() {
            happens();
        }
        FORCED.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(nodes: u64, matches: f64) -> CostModel {
        CostModel { nodes, matches, documents: 0, by_document: false, ef: 64, width: Width::Given, k: 10 }
    }

    #[test]
    fn few_matches_are_scanned_and_many_are_met_on_the_way() {
        for nodes in [10_000, 60_000, 1_000_000] {
            assert_eq!(costs(nodes, 0.0).first(), Plan::Scan);
            assert_eq!(costs(nodes, 0.001 * nodes as f64).first(), Plan::Scan);
            assert_eq!(costs(nodes, 0.5 * nodes as f64).first(), Plan::Wide);
            assert_eq!(costs(nodes, nodes as f64).first(), Plan::Wide);
        }
    }

    #[test]
    fn matches_that_are_elsewhere_are_walked_to_when_they_are_many() {
        assert_eq!(costs(60_000, 30_000.0).after_wide(), Plan::TwoHop);
        assert_eq!(costs(60_000, 600.0).after_wide(), Plan::Scan);
    }

    #[test]
    fn documents_that_would_have_to_be_read_speak_against_a_scan() {
        let indexed = costs(60_000, 600.0);
        assert_eq!(indexed.first(), Plan::Scan);
        let by_document = CostModel { documents: 60_000, by_document: true, ..indexed };
        assert_ne!(by_document.first(), Plan::Scan);
        // Of candidates that an index has narrowed down to a few, checking each costs less than thousands on a walk.
        let narrowed = CostModel { documents: 700, ..by_document };
        assert_eq!(narrowed.first(), Plan::Scan);
    }

    #[test]
    fn a_wide_walk_reads_the_document_of_each_row_that_it_expects_to_meet() {
        // It expects to find ten matches among 13 rows where all match, and among 26 where half do.
        for (matches, read) in [(60_000.0, 13.0), (30_000.0, 26.0)] {
            let indexed = costs(60_000, matches);
            let by_document = CostModel { by_document: true, ..indexed };
            assert_eq!(by_document.cost(Plan::Wide) - indexed.cost(Plan::Wide), read * DOCUMENT);
        }
    }

    #[test]
    fn a_wide_walk_is_as_wide_as_asked_for_when_everything_matches() {
        assert_eq!(costs(60_000, 60_000.0).wide_ef(), 64);
        assert!(costs(60_000, 30_000.0).wide_ef() > 64);
        assert_eq!(costs(u64::MAX, 1.0).wide_ef(), 4096);
        assert_eq!(costs(u64::MAX, 1.0).cost(Plan::Wide), f64::INFINITY);
        assert_eq!(CostModel { ef: 100_000, ..costs(1_000_000, 500_000.0) }.wide_ef(), 100_000);
    }
}
