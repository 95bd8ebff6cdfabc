//! Exploring the graph of a field: for callers that need more than the nearest rows.

use super::graph_search::GraphSearch;
use super::grouped_ranking::{GroupCounts, GroupRows};
use crate::index::{Candidate, Codes, Further, Space, Stopped, WalkParams, WalkScratch};
use crate::types::{Node, Row};

/// Estimates of a group that are re-ranked at most, and for each row that is wanted.
const LEAST_KEPT: usize = 64;
const LEAST_KEPT_PER_ROW: usize = 2;

impl GraphSearch<'_> {
    /// Walks, and on, each time as `pause` returns, until it returns none. `pause` is given the estimate from which
    /// on rows may not have been met, none where all were, and the rows that were met since its last call, in no order.
    /// Where it says so only rows that are `wanted` are compared from then on. Rows may be dead, or beyond the boundary of the graph.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true, here and below.
    pub fn explore(
        &self,
        params: &WalkParams,
        wanted: &impl Fn(Row) -> bool,
        pause: &mut impl FnMut(Option<f32>, &[(f32, Row)]) -> Option<Further>,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        match self.codes() {
            Some(codes) => self.with_code(codes, |code| {
                self.explore_over((&Codes::new(&codes.table), code), params, wanted, pause, scratch, stop)
            }),
            None => {
                let space = self.graph.originals(self.table);
                self.explore_over((&space, &self.query.to_vec()), params, wanted, pause, scratch, stop)
            }
        }
    }

    fn explore_over<S: Space>(
        &self,
        space: (&S, &S::Query),
        params: &WalkParams,
        wanted: &impl Fn(Row) -> bool,
        pause: &mut impl FnMut(Option<f32>, &[(f32, Row)]) -> Option<Further>,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let hnsw = &self.graph.hnsw;
        let has_duplicates = hnsw.has_duplicates();
        let mut rows = Vec::new();
        let mut pause_with_rows = |radius: Option<f32>, met: &[Candidate]| {
            rows.clear();
            for one in met {
                match has_duplicates {
                    false => rows.push((one.distance(), hnsw.row_of(one.node()))),
                    true => rows.extend(
                        hnsw.with_duplicates(one.node()).map(|node| (one.distance(), hnsw.row_of(node))),
                    ),
                }
            }
            pause(radius, &rows)
        };
        let is_wanted = |node: Node| match has_duplicates {
            false => wanted(hnsw.row_of(node)),
            true => hnsw.with_duplicates(node).any(|node| wanted(hnsw.row_of(node))),
        };
        hnsw.explore(space, params, &is_wanted, &mut pause_with_rows, scratch, stop)
    }

    /// Estimates of some live rows, which are given in ascending order; the distances themselves of rows that have no code.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn estimate(
        &self,
        rows: impl Iterator<Item = Row>,
        found: &mut GroupRows,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let mut unknown = Vec::new();
        match self.codes() {
            Some(codes) => self.with_code(codes, |code| {
                let mut each = |distance, row| found.estimates.push((distance, row));
                self.graph.score_codes(codes, code, rows, &mut each, &mut unknown, stop)
            })?,
            None => unknown.extend(rows),
        }
        self.reranking(stop).compare(&unknown, |_, distance, row| found.exact.push((distance, row)))
    }

    /// Turns the estimates of the best groups into distances, unless estimates are asked for or are distances. Returns how
    /// many rows were compared.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn rank_groups(
        &self,
        groups: &mut [GroupRows],
        (limit, size): (usize, usize),
        stop: &impl Fn() -> bool,
    ) -> Result<usize, Stopped> {
        let are_distances = match self.codes() {
            Some(_) => !self.quantization.rescore,
            // Duplicates that were inserted by codes have the same code, not the same vector.
            None => self.graph.codes.is_none() || !self.graph.hnsw.has_duplicates(),
        };
        if are_distances {
            groups.iter_mut().for_each(|group| group.exact.append(&mut group.estimates));
            return Ok(0);
        }
        let kept = LEAST_KEPT.max(LEAST_KEPT_PER_ROW * size).max(self.oversampled().unwrap_or(0));
        self.reranking(stop).by_group(groups, GroupCounts { groups: limit, rows: size, kept })
    }
}
