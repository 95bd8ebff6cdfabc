//! Searches of a field's graph: by codes first, then the best of them by their originals.

use super::graph::{FieldGraph, NodeCodes};
use super::reranking::{Ranked, Reranking};
use crate::field::table::FieldTable;
use crate::index::{Candidate, Codes, Distance, SearchScratch, Space, Stopped, TopK, Traversal, Walk};
use crate::vectors::CodeQuery;
use std::cell::RefCell;
use std::cmp::Ordering;

/// Candidates that are re-ranked for each hit, if a request says how many, at the least.
const RERANK_FACTOR: usize = 2;
/// Candidates that a scan of codes leaves for re-ranking at the least.
const KEPT_LEAST: usize = 64;
/// The same for each hit.
const KEPT_FACTOR: usize = 2;
/// Codes of fewer bits are too coarse for answers.
const FINE_BITS: u8 = 4;
/// Rows of a scan that are asked for ahead of their scoring.
const LOOK_AHEAD: usize = 16;
/// Rows between two looks at the clock.
const STOP_INTERVAL: usize = 1024;
/// Candidates that `oversampling` asks for at most: as wide as the widest walk.
const MAX_OVERSAMPLED: usize = 100_000;

thread_local! {
    /// The code of this thread's query.
    static QUERY: RefCell<CodeQuery> = RefCell::new(CodeQuery::default());
}

/// How to search a graph.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// Hits wanted.
    pub k: usize,
    /// Candidates that a walk keeps; at least `k`.
    pub ef: usize,
    /// Walk over the originals, as if there were no codes.
    pub ignore: bool,
    /// Answer exact distances, by the originals; else the codes' estimates.
    pub rescore: bool,
    /// Candidates to re-rank for each hit, where the request says so.
    pub oversampling: Option<f32>,
    /// How the walk treats nodes that are not accepted.
    pub traversal: Traversal,
    /// Rows where the walk starts too.
    pub starts: &'a [u32],
}

impl How<'_> {
    /// Candidates to re-rank by their originals, if the request says how many.
    fn reranked(&self) -> Option<usize> {
        let asked = (f64::from(self.oversampling?) * self.k as f64).ceil() as usize;
        Some((RERANK_FACTOR * self.k).max(asked.min(MAX_OVERSAMPLED)))
    }
}

impl FieldGraph {
    /// The best `k` rows that are accepted and wanted, with their distances, best first, equal ones in the order of
    /// `tie`.
    ///
    /// `accept` is asked of each *node* that comes near: one that is not accepted is walked through and takes no place
    /// among the `ef`. `wanted` is asked at the end, of the *rows* that the walk has found, best first, until enough
    /// are wanted: far less often. One of the two must refuse dead rows and those behind the boundary that the caller
    /// took with the graph.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` says so.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and most are closures")]
    pub fn search(
        &self,
        table: &FieldTable,
        query: &[f32],
        how: &How<'_>,
        accept: &impl Fn(u32) -> bool,
        wanted: &impl Fn(u32) -> bool,
        tie: impl Fn(u32, u32) -> Ordering,
        scratch: &mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<Ranked, Stopped> {
        let starts: Vec<u32> = how.starts.iter().filter_map(|&row| self.nodes.of_row(row)).collect();
        let of_row = |found: &Candidate| (found.distance(), self.hnsw.row_of(found.node()));
        let is_wanted = |(_, row): &(f32, u32)| wanted(*row);
        let walk = |ef| Walk { ef, traversal: how.traversal, starts: &starts };
        let reranking = self.reranking(table, query, how, stop);
        let Some(codes) = self.codes.as_ref().filter(|_| !how.ignore) else {
            let vector = query.to_vec();
            let found =
                self.hnsw.search(&self.originals(table), &vector, &walk(how.ef), accept, scratch, stop)?;
            let found = found.iter().map(of_row).filter(is_wanted);
            // Nodes that hang together came with the distance of the first. Of one code they are, not of one vector.
            if self.codes.is_some() && self.hnsw.has_twins() {
                let rows: Vec<u32> = found.map(|(_, row)| row).collect();
                return Ok(Ranked { best: reranking.all(&rows, tie)?, reranked: 0 });
            }
            return Ok(best(found, how.k, tie));
        };
        QUERY.with_borrow_mut(|code| {
            codes.encoder.query(query, code);
            let most = how.reranked().filter(|_| how.rescore);
            let ef = most.map_or(how.ef, |most| how.ef.max(most));
            let found =
                self.hnsw.search(&Codes::new(&codes.table), code, &walk(ef), accept, scratch, stop)?;
            let found = found.iter().map(of_row).filter(is_wanted);
            match how.rescore {
                true => reranking.promising(found, most.unwrap_or(0), &[], tie),
                false => Ok(best(found, how.k, tie)),
            }
        })
    }

    /// The best `k` of some live rows, ascending: by their codes first, where the graph has them, then the best of
    /// these by their originals.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` says so.
    pub fn scan_codes(
        &self,
        table: &FieldTable,
        query: &[f32],
        rows: impl Iterator<Item = u32>,
        how: &How<'_>,
        tie: impl Fn(u32, u32) -> Ordering,
        stop: &impl Fn() -> bool,
    ) -> Result<Ranked, Stopped> {
        let reranking = self.reranking(table, query, how, stop);
        let Some(codes) = self.codes.as_ref().filter(|_| !how.ignore) else {
            let mut top = TopK::new(how.k, tie);
            crate::index::flat::scan_ids(&table.rows, reranking.distance, query, rows, &mut top, stop)?;
            return Ok(Ranked { best: top.into_sorted(), reranked: 0 });
        };
        let most = how.reranked();
        let kept = match how.rescore {
            true => KEPT_LEAST.max(KEPT_FACTOR * how.k).max(how.ef).max(most.unwrap_or(0)),
            false => how.k,
        };
        // The same order at this cut as at the last: of equal vectors the first must not be lost here.
        let mut best = TopK::new(kept, &tie);
        let mut unknown = Vec::new();
        QUERY.with_borrow_mut(|code| {
            codes.encoder.query(query, code);
            self.score_codes(codes, code, rows, &mut best, &mut unknown, stop)
        })?;
        let found = best.into_sorted();
        if how.rescore {
            return reranking.promising(found.into_iter(), most.unwrap_or(0), &unknown, &tie);
        }
        let mut top = TopK::new(how.k, &tie);
        found.into_iter().for_each(|(distance, row)| top.offer(distance, row));
        reranking.all(&unknown, &tie)?.into_iter().for_each(|(distance, row)| top.offer(distance, row));
        Ok(Ranked { best: top.into_sorted(), reranked: 0 })
    }

    /// Scores rows by their codes. Those without one, which are few, go to `unknown`.
    fn score_codes<T: Fn(u32, u32) -> Ordering>(
        &self,
        codes: &NodeCodes,
        query: &CodeQuery,
        rows: impl Iterator<Item = u32>,
        best: &mut TopK<T>,
        unknown: &mut Vec<u32>,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let space = Codes::new(&codes.table);
        // A ring of the rows that were asked for and not yet scored.
        let mut asked = [(0u32, 0u32); LOOK_AHEAD];
        let (mut head, mut tail) = (0usize, 0usize);
        let score = |asked: &[(u32, u32); LOOK_AHEAD], from: usize, best: &mut TopK<T>| {
            let four: [(u32, u32); 4] = std::array::from_fn(|at| asked[(from + at) % LOOK_AHEAD]);
            let distances = space.four(query, four.map(|(node, _)| node));
            for (distance, (_, row)) in distances.into_iter().zip(four) {
                best.offer(distance, row);
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
            asked[head % LOOK_AHEAD] = (node, row);
            head += 1;
            if head - tail == LOOK_AHEAD {
                score(&asked, tail, best);
                tail += 4;
            }
        }
        while head - tail >= 4 {
            score(&asked, tail, best);
            tail += 4;
        }
        for at in tail..head {
            let (node, row) = asked[at % LOOK_AHEAD];
            best.offer(space.one(query, node), row);
        }
        Ok(())
    }

    /// Whether the codes are too coarse for anything but leaving candidates out.
    pub fn is_coarse(&self) -> bool {
        self.codes.as_ref().is_some_and(|codes| codes.encoder.params().bits < FINE_BITS)
    }

    fn reranking<'a>(
        &self,
        table: &'a FieldTable,
        query: &'a [f32],
        how: &How<'_>,
        stop: &'a dyn Fn() -> bool,
    ) -> Reranking<'a> {
        Reranking { table, distance: Distance::of(self.metric, table.format), query, k: how.k, stop }
    }
}

/// The best `k` of some rows by the distances that they come with.
fn best(found: impl Iterator<Item = (f32, u32)>, k: usize, tie: impl Fn(u32, u32) -> Ordering) -> Ranked {
    let mut top = TopK::new(k, tie);
    found.for_each(|(distance, row)| top.offer(distance, row));
    Ranked { best: top.into_sorted(), reranked: 0 }
}
