//! Searches of a field's graph: by codes first, then the best of them by their originals.

use super::graph::{FieldGraph, NodeCodes};
use crate::collection::field::FieldTable;
use crate::index::{Candidate, Codes, Distance, SearchScratch, Space, Stopped, TopK, Traversal, Walk};
use crate::vectors::CodeQuery;
use kithdb_kernels::prefetch_l2;
use std::cell::RefCell;
use std::cmp::Ordering;

/// Candidates that are re-ranked when the request does not say, if that is more than [`RERANK_FACTOR`] hits.
const RERANK_LEAST: usize = 40;
/// Candidates that are re-ranked for each hit at the least.
const RERANK_FACTOR: usize = 2;
/// Codes of at most so many bits are too coarse to leave candidates out: all that the walk found are re-ranked.
const COARSE_BITS: u8 = 2;
/// Rows of a scan that are asked for ahead of their scoring.
const LOOK_AHEAD: usize = 16;
/// Rows between two looks at the clock.
const STOP_INTERVAL: usize = 1024;

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
    /// Candidates to re-rank by their originals, of codes that have so many bits.
    pub fn reranked(&self, bits: u8) -> usize {
        let at_least = RERANK_FACTOR * self.k;
        match self.oversampling {
            Some(factor) => at_least.max((f64::from(factor) * self.k as f64).ceil() as usize),
            None if bits <= COARSE_BITS => at_least.max(self.ef),
            None => at_least.max(RERANK_LEAST),
        }
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
    ) -> Result<Vec<(f32, u32)>, Stopped> {
        let starts: Vec<u32> = how.starts.iter().filter_map(|&row| self.nodes.of_row(row)).collect();
        let of_row = |found: &Candidate| (found.distance(), self.hnsw.row_of(found.node()));
        let is_wanted = |(_, row): &(f32, u32)| wanted(*row);
        let walk = |ef| Walk { ef, traversal: how.traversal, starts: &starts };
        let distance = Distance::of(self.metric, table.format);
        let Some(codes) = self.codes.as_ref().filter(|_| !how.ignore) else {
            let vector = query.to_vec();
            let found =
                self.hnsw.search(&self.originals(table), &vector, &walk(how.ef), accept, scratch, stop)?;
            let found = found.iter().map(of_row).filter(is_wanted);
            // Nodes that hang together came with the distance of the first. Of one code they are, not of one vector.
            if self.codes.is_some() && self.hnsw.has_twins() {
                let rows: Vec<u32> = found.map(|(_, row)| row).collect();
                return Ok(rerank(table, distance, query, &rows, how.k, tie));
            }
            return Ok(best(found, how.k, tie));
        };
        let reranked = how.reranked(self.bits());
        let ef = if how.oversampling.is_some() && how.rescore { how.ef.max(reranked) } else { how.ef };
        QUERY.with_borrow_mut(|code| {
            codes.encoder.query(query, code);
            let found =
                self.hnsw.search(&Codes::new(&codes.table), code, &walk(ef), accept, scratch, stop)?;
            if !how.rescore {
                return Ok(best(found.iter().map(of_row).filter(is_wanted), how.k, tie));
            }
            let mut rows: Vec<u32> = Vec::with_capacity(reranked.min(found.len()));
            let mut cut = f32::MAX;
            for candidate in found {
                let (distance, row) = of_row(candidate);
                // With the last one all that equal it: which of them are best is for the originals and `tie` to say.
                if distance > cut {
                    break;
                }
                if wanted(row) {
                    rows.push(row);
                    if rows.len() == reranked {
                        cut = distance;
                    }
                }
            }
            Ok(rerank(table, distance, query, &rows, how.k, tie))
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
    ) -> Result<Vec<(f32, u32)>, Stopped> {
        let distance = Distance::of(self.metric, table.format);
        let Some(codes) = self.codes.as_ref().filter(|_| !how.ignore) else {
            let mut top = TopK::new(how.k, tie);
            crate::index::flat::scan_ids(&table.rows, distance, query, rows, &mut top, stop)?;
            return Ok(top.into_sorted());
        };
        let kept = if how.rescore { how.reranked(self.bits()) } else { how.k };
        // The same order at this cut as at the last: of equal vectors the first must not be lost here.
        let mut best = TopK::new(kept, &tie);
        let mut unknown = Vec::new();
        QUERY.with_borrow_mut(|code| {
            codes.encoder.query(query, code);
            self.score_codes(codes, code, rows, &mut best, &mut unknown, stop)
        })?;
        let mut rows: Vec<(f32, u32)> = best.into_sorted();
        if how.rescore {
            let rows: Vec<u32> = rows.into_iter().map(|(_, row)| row).chain(unknown).collect();
            return Ok(rerank(table, distance, query, &rows, how.k, &tie));
        }
        rows.extend(unknown.into_iter().map(|row| (distance.one(query, table.rows.row(row)), row)));
        let mut top = TopK::new(how.k, &tie);
        rows.into_iter().for_each(|(distance, row)| top.offer(distance, row));
        Ok(top.into_sorted())
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

    /// Rows that a search compares by their originals after the codes, if it meets as many.
    pub fn reranked(&self, how: &How<'_>) -> usize {
        if how.rescore && !how.ignore && self.codes.is_some() { how.reranked(self.bits()) } else { 0 }
    }

    /// Whether the codes are too coarse for anything but leaving candidates out.
    pub fn is_coarse(&self) -> bool {
        self.bits() <= COARSE_BITS
    }

    fn bits(&self) -> u8 {
        self.recipe.codes.map_or(u8::MAX, |codes| codes.bits)
    }
}

/// The best `k` of some rows by the distances that they come with.
fn best(
    found: impl Iterator<Item = (f32, u32)>,
    k: usize,
    tie: impl Fn(u32, u32) -> Ordering,
) -> Vec<(f32, u32)> {
    let mut top = TopK::new(k, tie);
    found.for_each(|(distance, row)| top.offer(distance, row));
    top.into_sorted()
}

/// The best `k` of some rows by their originals.
fn rerank(
    table: &FieldTable,
    distance: Distance,
    query: &[f32],
    rows: &[u32],
    k: usize,
    tie: impl Fn(u32, u32) -> Ordering,
) -> Vec<(f32, u32)> {
    let mut top = TopK::new(k, tie);
    rows.iter().take(LOOK_AHEAD).for_each(|&row| prefetch_l2(table.rows.row(row)));
    let mut fours = rows.chunks_exact(4);
    for (at, four) in fours.by_ref().enumerate() {
        rows.iter().skip(at * 4 + LOOK_AHEAD).take(4).for_each(|&row| prefetch_l2(table.rows.row(row)));
        let four = [four[0], four[1], four[2], four[3]];
        let distances = distance.four(query, four.map(|row| table.rows.row(row)));
        distances.into_iter().zip(four).for_each(|(distance, row)| top.offer(distance, row));
    }
    for &row in fours.remainder() {
        top.offer(distance.one(query, table.rows.row(row)), row);
    }
    top.into_sorted()
}
