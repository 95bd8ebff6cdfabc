//! Walking the graph towards a query.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use kithdb_kernels::prefetch_l2;

use super::pool::{Candidate, Pool};
use super::visited::{Marks, Visited};
use super::{Hnsw, Probe};
use crate::arena::RowTable;
use crate::index::Stopped;

/// Rows that are asked for ahead of their scoring (Zen 4: 4 to 16 are equal within noise, none costs a quarter)…
const LOOK_AHEAD_ROWS: usize = 8;

/// … and the bytes that these have at most, for the level-2 cache has other uses too.
const LOOK_AHEAD_BYTES: usize = 32 << 10;

/// Expanded nodes between two stop checks.
const HOPS_PER_CHECK: u32 = 4;

/// The memory of a search, for reuse by the next one. One for a worker, whatever the graphs it searches.
#[derive(Default)]
pub struct SearchScratch {
    visited: Visited,
    frontier: Frontier,
    /// Rows of one hop that are met for the first time.
    fresh: Vec<u32>,
}

impl SearchScratch {
    /// Empty scratch; it grows to the size of the graphs it is used on.
    pub fn new() -> SearchScratch {
        Self::default()
    }

    /// What the last walk found, best first.
    pub(super) fn found(&self) -> &[Candidate] {
        self.frontier.results.entries()
    }
}

impl Hnsw {
    /// The nearest accepted rows that the walk finds, at most `ef` of them, best first, equal distances in the order
    /// of `tie`.
    ///
    /// `rows` is the caller's view: rows beyond it are stepped over. Rows that `accept` refuses are walked through but
    /// not returned; it is asked at most once a row. `ef` (at least 1) is the width of the search: greater is better
    /// and slower. `stop` is asked every few hops, and ends the search with [`Stopped`].
    ///
    /// Fewer than the wanted number of rows can come back although more are accepted, when few rows are or the view is
    /// old; a caller that needs them scans. Panics when the query has another length than the rows.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and most are closures")]
    pub fn search(
        &self,
        rows: &RowTable,
        query: &[f32],
        ef: usize,
        accept: &impl Fn(u32) -> bool,
        tie: &impl Fn(u32, u32) -> Ordering,
        scratch: &mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<Vec<(f32, u32)>, Stopped> {
        let probe = Probe::new(rows, self.distance, query);
        let ef = ef.max(1);
        match self.descend(&probe, 0, scratch) {
            Some(start) => self.walk(&probe, 0, &[start], ef, accept, scratch, stop)?,
            None => self.walk_from_old_rows(&probe, ef, accept, scratch, stop)?,
        }
        let mut found: Vec<(f32, u32)> = scratch.found().iter().map(|c| (c.distance(), c.row())).collect();
        for equal in found.chunk_by_mut(|a, b| a.0 == b.0) {
            equal.sort_unstable_by(|a, b| tie(a.1, b.1));
        }
        Ok(found)
    }

    /// From the entry point greedily down to the layer above `level`: where to begin in layer `level`. None when the
    /// graph is empty, or when the view can read no row on the way.
    pub(super) fn descend(
        &self,
        probe: &Probe,
        level: usize,
        scratch: &mut SearchScratch,
    ) -> Option<Candidate> {
        let (mut at, top) = self.entry()?;
        let SearchScratch { visited, fresh, .. } = scratch;
        // Marks last through all these layers: what was worse than the best so far still is.
        let mut marks = visited.begin(probe.rows.len());
        let mut best = probe.can_read(at).then(|| Candidate::new(probe.one(at), at));
        marks.visit(at);
        for layer in (level + 1..=top).rev() {
            loop {
                self.gather(at, layer, &mut marks, fresh);
                let before = best;
                score(probe, fresh, |candidate| {
                    if best.is_none_or(|best| candidate < best) {
                        best = Some(candidate);
                    }
                });
                match best {
                    Some(candidate) if best != before => at = candidate.row(),
                    _ => break,
                }
            }
        }
        best
    }

    /// Walks one layer from `starts`, which the view can read, and leaves the best accepted rows in the scratch.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and two are closures")]
    pub(super) fn walk(
        &self,
        probe: &Probe,
        level: usize,
        starts: &[Candidate],
        ef: usize,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let SearchScratch { visited, frontier, fresh } = scratch;
        let mut marks = visited.begin(probe.rows.len());
        frontier.begin(ef);
        for &start in starts {
            if marks.visit(start.row()) {
                frontier.offer(start, accept);
            }
        }
        let mut hops = 0u32;
        while let Some(row) = frontier.expand_next() {
            if hops.is_multiple_of(HOPS_PER_CHECK) && stop() {
                return Err(Stopped);
            }
            hops += 1;
            self.gather(row, level, &mut marks, fresh);
            score(probe, fresh, |candidate| frontier.offer(candidate, accept));
            if level == 0
                && let Some(next) = frontier.peek_next()
            {
                self.nodes.prefetch(next);
            }
        }
        Ok(())
    }

    /// The walk of a view that is older than the entry point and all that lies on the way down from it: from what it
    /// can read next to the entry point, or from the first row of all.
    fn walk_from_old_rows(
        &self,
        probe: &Probe,
        ef: usize,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let mut starts = Vec::new();
        if let Some((entry, _)) = self.entry() {
            let mut add = |row| {
                if probe.can_read(row) {
                    starts.push(Candidate::new(probe.one(row), row));
                }
            };
            self.nodes.for_each_link(entry, 0, |link| add(link.row()));
            self.root().into_iter().for_each(add);
        }
        self.walk(probe, 0, &starts, ef, accept, scratch, stop)
    }

    /// Puts the neighbours of a node that were not met before into `fresh`.
    #[inline(always)]
    fn gather(&self, row: u32, level: usize, marks: &mut Marks, fresh: &mut Vec<u32>) {
        fresh.clear();
        self.nodes.for_each_link(row, level, |link| {
            if marks.visit(link.row()) {
                fresh.push(link.row());
            }
        });
    }
}

/// Gives the distance of every row to `each`, four rows at a time while later ones are on their way from memory.
#[inline(always)]
fn score(probe: &Probe, rows: &[u32], mut each: impl FnMut(Candidate)) {
    let table = probe.rows;
    let ahead = (LOOK_AHEAD_BYTES / table.row_bytes()).clamp(1, LOOK_AHEAD_ROWS);
    for &row in rows.iter().take(ahead) {
        prefetch_l2(table.row(row));
    }
    let mut at = 0;
    while let Some(&[a, b, c, d]) = rows.get(at..at + 4) {
        for &row in rows.iter().skip(at + ahead).take(4) {
            prefetch_l2(table.row(row));
        }
        let group = [a, b, c, d];
        let distances = probe.distance.four(probe.vector, group.map(|row| table.row(row)));
        for (distance, row) in distances.into_iter().zip(group) {
            each(Candidate::new(distance, row));
        }
        at += 4;
    }
    for &row in &rows[at..] {
        each(Candidate::new(probe.one(row), row));
    }
}

/// What a walk has found and where it can go on.
///
/// While every row is accepted, one sorted pool is both. From the first refused row on, the pool holds the accepted
/// rows only, and a heap holds all rows that can still be expanded.
#[derive(Default)]
struct Frontier {
    results: Pool,
    is_split: bool,
    open: BinaryHeap<Reverse<Candidate>>,
}

impl Frontier {
    fn begin(&mut self, ef: usize) {
        self.results.begin(ef);
        self.is_split = false;
        self.open.clear();
    }

    /// Takes a row that was met for the first time, if it is good enough.
    #[inline(always)]
    fn offer(&mut self, candidate: Candidate, accept: &impl Fn(u32) -> bool) {
        if !self.results.admits(candidate) {
            return;
        }
        let accepted = accept(candidate.row());
        if !accepted && !self.is_split {
            self.is_split = true;
            self.open.extend(self.results.unexpanded().map(Reverse));
        }
        if self.is_split {
            self.open.push(Reverse(candidate));
        }
        if accepted {
            self.results.insert(candidate);
        }
    }

    /// The next row to expand; none when all that is left is worse than the results.
    #[inline(always)]
    fn expand_next(&mut self) -> Option<u32> {
        if !self.is_split {
            return self.results.expand_next();
        }
        let Reverse(next) = self.open.pop()?;
        let worst = self.results.entries().last();
        let is_hopeless = self.results.is_full() && worst.is_some_and(|&worst| next > worst);
        (!is_hopeless).then_some(next.row())
    }

    #[inline(always)]
    fn peek_next(&self) -> Option<u32> {
        if self.is_split { self.open.peek().map(|next| next.0.row()) } else { self.results.peek_next() }
    }
}
