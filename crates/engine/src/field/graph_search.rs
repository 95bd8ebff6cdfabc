//! Searching the graph of a field: by codes first, then the best of them by their originals.

use super::graph::{FieldGraph, NodeCodes};
use super::reranking::{Ranked, Reranking};
use crate::faults::PlantedFault;
use crate::field::table::FieldTable;
use crate::index::{Candidate, Codes, Distance, Space, Stopped, TopK, WalkParams, WalkScratch, flat};
use crate::types::{Node, Row};
use crate::vectors::CodeQuery;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::time::Duration;

/// Least number of candidates that are re-ranked for each hit, if the request sets the number.
const LEAST_OVERSAMPLING: usize = 2;
/// Least number of candidates that a scan of codes keeps for re-ranking.
const LEAST_KEPT: usize = 64;
/// Least number of candidates kept for each hit.
const LEAST_KEPT_PER_HIT: usize = 2;
/// Codes of fewer bits are too coarse to return their estimates as scores.
const FINE_BITS: u8 = 4;
/// Rows of a scan that are prefetched before they are scored.
const LOOK_AHEAD: usize = 16;
/// Rows between two stop checks.
const STOP_INTERVAL: usize = 1024;
/// The most candidates that `oversampling` can ask for: as many as the widest walk keeps.
const MAX_OVERSAMPLED: usize = 100_000;

thread_local! {
    /// The code of this thread's query.
    static QUERY: RefCell<CodeQuery> = RefCell::new(CodeQuery::default());
}

/// `params.quantization` of a search: how codes stand in for the originals. Without effect on exact scans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantizationParams {
    /// Walk over the originals instead of the codes.
    pub ignore: bool,
    /// Re-rank what the codes have found by the originals. Otherwise scores are estimates by the codes.
    pub rescore: bool,
    /// Candidates that are re-ranked for each hit asked for, at least 1.
    pub oversampling: Option<f32>,
}

impl Default for QuantizationParams {
    fn default() -> Self {
        QuantizationParams { ignore: false, rescore: true, oversampling: None }
    }
}

/// A search of a field for the rows nearest to one vector, through its graph or by the codes of the graph.
#[derive(Clone, Copy)]
pub struct GraphSearch<'a> {
    /// The graph.
    pub graph: &'a FieldGraph,
    /// The rows of the field.
    pub table: &'a FieldTable,
    /// The vector, as rows are compared with it.
    pub query: &'a [f32],
    /// Rows wanted.
    pub k: usize,
    /// How codes stand in for the originals.
    pub quantization: QuantizationParams,
}

impl GraphSearch<'_> {
    /// The best `k` accepted and wanted rows that a walk finds, with their distances, best first, those of equal distance in
    /// the order of `tie`. The walk is wider than `params.ef` if more candidates are to be re-ranked.
    ///
    /// `accept` is called with each *node* near enough to be a candidate. Nodes that it does not accept do not count among the
    /// `ef` candidates. Of nodes with equal vectors, the walk returns those that `choose` accepts. `wanted` is called far less
    /// often: with the *rows* that the walk has found, best first. `accept` and `choose`, or `wanted`, must not accept dead rows
    /// and rows from the boundary on that the caller took with the graph.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true.
    pub fn walk(
        &self,
        params: &WalkParams,
        (accept, choose): (&impl Fn(Node) -> bool, &impl Fn(Node) -> bool),
        wanted: &impl Fn(Row) -> bool,
        tie: impl Fn(Row, Row) -> Ordering,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<Ranked, Stopped> {
        let hnsw = &self.graph.hnsw;
        let of_row = |found: &Candidate| (found.distance(), hnsw.row_of(found.node()));
        let is_wanted = |(_, row): &(f32, Row)| wanted(*row);
        let reranking = self.reranking(stop);
        let Some(codes) = self.codes() else {
            let space = self.graph.originals(self.table);
            let query = self.query.to_vec();
            let found = hnsw.walk_choosing(&space, &query, params, (accept, choose), scratch, stop)?;
            let found = found.iter().map(of_row).filter(is_wanted);
            // Duplicates come with the distance of the node that they are duplicates of. If they were inserted by codes,
            // they have the same code, not the same vector.
            if self.graph.codes.is_some() && hnsw.has_duplicates() {
                let rows: Vec<Row> = found.map(|(_, row)| row).collect();
                return Ok(Ranked { best: reranking.all(&rows, tie)?, reranked: 0, took: Duration::ZERO });
            }
            return Ok(best(found, self.k, tie));
        };
        QUERY.with_borrow_mut(|code| {
            codes.encoder.query(self.query, code);
            let rescore = self.quantization.rescore && !PlantedFault::OriginalsNotRead.is_on();
            let most = self.oversampled().filter(|_| rescore);
            let params = WalkParams { ef: most.map_or(params.ef, |most| params.ef.max(most)), ..*params };
            let space = Codes::new(&codes.table);
            let found = hnsw.walk_choosing(&space, code, &params, (accept, choose), scratch, stop)?;
            let found = found.iter().map(of_row).filter(is_wanted);
            match rescore {
                true => reranking.promising(found, most.unwrap_or(0), &[], tie),
                false => Ok(best(found, self.k, tie)),
            }
        })
    }

    /// The best `k` of some live rows, which are given in ascending order. If the graph has codes, rows are compared by their codes
    /// first, and then at least `ef` of the best by their originals.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true.
    pub fn scan(
        &self,
        rows: impl Iterator<Item = Row>,
        ef: usize,
        tie: impl Fn(Row, Row) -> Ordering,
        stop: &impl Fn() -> bool,
    ) -> Result<Ranked, Stopped> {
        let reranking = self.reranking(stop);
        let Some(codes) = self.codes() else {
            let mut top = TopK::new(self.k, tie);
            flat::scan_ids(&self.table.rows, reranking.distance, self.query, rows, &mut top, stop)?;
            return Ok(Ranked { best: top.into_sorted(), reranked: 0, took: Duration::ZERO });
        };
        let most = self.oversampled();
        let kept = match self.quantization.rescore {
            true => LEAST_KEPT.max(LEAST_KEPT_PER_HIT * self.k).max(ef).max(most.unwrap_or(0)),
            false => self.k,
        };
        // In the order of `tie` here too, so that of equal vectors the first one is kept.
        let mut best = TopK::new(kept, &tie);
        let mut unknown = Vec::new();
        QUERY.with_borrow_mut(|code| {
            codes.encoder.query(self.query, code);
            let mut offer = |distance, row| best.offer(distance, row);
            self.graph.score_codes(codes, code, rows, &mut offer, &mut unknown, stop)
        })?;
        let found = best.into_sorted();
        if self.quantization.rescore {
            return reranking.promising(found.into_iter(), most.unwrap_or(0), &unknown, &tie);
        }
        let mut top = TopK::new(self.k, &tie);
        found.into_iter().for_each(|(distance, row)| top.offer(distance, row));
        reranking.all(&unknown, &tie)?.into_iter().for_each(|(distance, row)| top.offer(distance, row));
        Ok(Ranked { best: top.into_sorted(), reranked: 0, took: Duration::ZERO })
    }

    /// The codes of the graph, unless they are to be ignored.
    pub(super) fn codes(&self) -> Option<&NodeCodes> {
        self.graph.codes.as_ref().filter(|_| !self.quantization.ignore)
    }

    /// Calls `work` with the code of the query.
    pub(super) fn with_code<R>(&self, codes: &NodeCodes, work: impl FnOnce(&CodeQuery) -> R) -> R {
        QUERY.with_borrow_mut(|code| {
            codes.encoder.query(self.query, code);
            work(code)
        })
    }

    /// Candidates to re-rank by their originals, if the request sets their number.
    pub(super) fn oversampled(&self) -> Option<usize> {
        let asked = (f64::from(self.quantization.oversampling?) * self.k as f64).ceil() as usize;
        Some((LEAST_OVERSAMPLING * self.k).max(asked.min(MAX_OVERSAMPLED)))
    }

    pub(super) fn reranking<'s>(&'s self, stop: &'s dyn Fn() -> bool) -> Reranking<'s> {
        let distance = Distance::of(self.graph.metric, self.table.format);
        Reranking { table: self.table, distance, query: self.query, k: self.k, stop }
    }
}

impl FieldGraph {
    /// Whether the codes are so coarse that they serve only to exclude candidates.
    pub fn is_coarse(&self) -> bool {
        self.codes.as_ref().is_some_and(|codes| codes.encoder.params().bits < FINE_BITS)
    }

    /// Gives rows with their estimates by codes to `each`. The few rows without a code go to `unknown`.
    pub(super) fn score_codes(
        &self,
        codes: &NodeCodes,
        query: &CodeQuery,
        rows: impl Iterator<Item = Row>,
        each: &mut impl FnMut(f32, Row),
        unknown: &mut Vec<Row>,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let space = Codes::new(&codes.table);
        // A ring of the rows that were prefetched and not yet scored.
        let mut ring = [(Node::default(), Row::FIRST); LOOK_AHEAD];
        let (mut head, mut tail) = (0usize, 0usize);
        let mut score = |ring: &[(Node, Row); LOOK_AHEAD], from: usize| {
            let four: [(Node, Row); 4] = std::array::from_fn(|at| ring[(from + at) % LOOK_AHEAD]);
            let distances = space.four(query, four.map(|(node, _)| node));
            for (distance, (_, row)) in distances.into_iter().zip(four) {
                each(distance, row);
            }
        };
        for (count, row) in rows.enumerate() {
            if count % STOP_INTERVAL == STOP_INTERVAL - 1 && stop() {
                return Err(Stopped);
            }
            let Some(node) = self.nodes.of_row(row) else {
                unknown.push(row);
                continue;
            };
            space.prefetch(node);
            ring[head % LOOK_AHEAD] = (node, row);
            head += 1;
            if head - tail == LOOK_AHEAD {
                score(&ring, tail);
                tail += 4;
            }
        }
        while head - tail >= 4 {
            score(&ring, tail);
            tail += 4;
        }
        for at in tail..head {
            let (node, row) = ring[at % LOOK_AHEAD];
            each(space.one(query, node), row);
        }
        Ok(())
    }
}

/// The best `k` of some rows by the given distances.
fn best(found: impl Iterator<Item = (f32, Row)>, k: usize, tie: impl Fn(Row, Row) -> Ordering) -> Ranked {
    let mut top = TopK::new(k, tie);
    found.for_each(|(distance, row)| top.offer(distance, row));
    Ranked { best: top.into_sorted(), reranked: 0, took: Duration::ZERO }
}
