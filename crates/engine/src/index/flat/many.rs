//! Exact scans for many queries at once: each row is read from memory once, and compared as a matrix product.
//!
//! Products of a tile of queries and rows are sums in registers ([`kithdb_kernels::TileKernels`]). The distance follows from
//! the product p: −p or ‖q‖² + ‖x‖² − 2p. It has rounding errors, which are relatively large near zero. So it is used to
//! skip rows only: a row is skipped if its distance minus an upper bound of the errors is above the bound of the best rows
//! so far. All other rows are compared directly, as a scan for one query does. The results are the same, bit for bit.
//!
//! The bound, with u = 2⁻²⁴ and n components: a sum of n products, in whatever order, is off by at most n·u·‖q‖·‖x‖ to
//! first order (Higham, *Accuracy and Stability of Numerical Algorithms*, §3.1), the norms likewise, and the direct
//! distance by (n + 3)·u of itself. Together these are less than 4.1·(n + 4)·u·(‖q‖² + ‖x‖²) for Euclid and
//! 2.1·(n + 4)·u·‖q‖·‖x‖ for products; the factors below leave room for second-order terms. Where a norm is so large or
//! small that a number could overflow or vanish on the way, nothing is left out.

use std::cmp::Ordering;
use std::ops::Range;

use kithdb_kernels::{Gate, RowGate, TileKernels, bytes_of, kernels, norm};

use super::{ReadAhead, check_length};
use crate::arena::RowTable;
use crate::index::{Distance, Stopped, TopK};
use crate::types::{Metric, Row, RowRange};
use crate::vectors::{RowFormat, inverse_norm};

/// Fewer queries are answered one after the other, because a tile of them costs as much as this many passes.
const MIN_QUERIES: usize = 4;

/// Rows are taken in groups of about this many bytes of `f32` components, so that a group, the next one and some
/// panels of queries fit the second cache.
const GROUP_BYTES: usize = 128 << 10;

/// Rows that are checked for the next group before the stop check is called again.
const MAX_CHECKED: usize = 4096;

/// Squared norms between which no product, square or sum of them overflows or vanishes.
const SAFE_SQUARES: Range<f64> = 1e-30..1e36;

/// Offers every accepted row of `range` that can be among the best to each of `tops`, one for each of `queries`.
///
/// What `tops` then hold is what [`scan_range`](super::scan_range) for each query would have left in them, bit for bit.
/// `accept` is called once for each row. From four queries on, under every metric but Manhattan, rows are compared with all
/// queries at once, which is several times as fast as one query after the other. `stop` is called at least every few
/// thousand rows. Panics when the numbers of tops and queries differ, when the range goes beyond the table, or when the
/// lengths of a query and the rows differ.
pub fn scan_many<T: Fn(Row, Row) -> Ordering>(
    rows: &RowTable,
    distance: Distance,
    queries: &[&[f32]],
    range: RowRange,
    accept: &impl Fn(Row) -> bool,
    tops: &mut [TopK<Row, T>],
    stop: &impl Fn() -> bool,
) -> Result<(), Stopped> {
    assert_eq!(queries.len(), tops.len(), "a query without a selection, or a selection without a query");
    assert!(range.end.get() <= rows.len() || range.is_empty(), "{range:?} of {} rows", rows.len());
    queries.iter().for_each(|query| check_length(rows, distance, query));
    let mut batch = Batch::new(rows, distance, queries, tops);
    let mut rest = range.numbers();
    let mut ahead = ReadAhead::new(rows, range);
    ahead.reach(rest.start);
    let mut current = batch.next_group(&mut rest, accept);
    while !current.is_empty() || !rest.is_empty() {
        if stop() {
            return Err(Stopped);
        }
        ahead.reach(rest.start);
        let next = batch.next_group(&mut rest, accept);
        if batch.panels.is_empty() {
            batch.scan_one_by_one(&current, tops, stop)?;
        } else {
            batch.scan_group(&current, &next, tops);
        }
        current = next;
    }
    Ok(())
}

/// Some queries, component by component, and what rows must pass to be compared with them.
struct Panel {
    /// The first of its queries.
    first: usize,
    lanes: usize,
    /// A bit for each lane that holds a query.
    occupied: u64,
    components: Vec<f32>,
    gate: Gate,
}

struct Batch<'a> {
    rows: &'a RowTable,
    distance: Distance,
    queries: &'a [&'a [f32]],
    dim: usize,
    tile: &'static TileKernels,
    /// None where queries are answered one by one.
    panels: Vec<Panel>,
    /// Share of the norms that all rounding together stays below.
    slack: f64,
    /// Rows of a group.
    group_rows: usize,
    /// Components of a group's rows, where the rows are not `f32`.
    widened: Vec<f32>,
    zeros: Vec<f32>,
    sums: Vec<f32>,
    /// For each row of a tile the lanes that it may be near enough to.
    passed: Vec<u64>,
    /// How many times a row was compared with a query directly.
    direct: u64,
}

impl<'a> Batch<'a> {
    fn new<T: Fn(Row, Row) -> Ordering>(
        rows: &'a RowTable,
        distance: Distance,
        queries: &'a [&'a [f32]],
        tops: &[TopK<Row, T>],
    ) -> Batch<'a> {
        let tile = kernels().tile;
        let dim = queries.first().map_or(1, |query| query.len());
        let roundings = (dim as f64 + 8.0) * f64::from(f32::EPSILON) / 2.0;
        let slack = roundings * if distance.metric() == Metric::Euclid { 4.5 } else { 2.5 };
        let one_by_one = queries.len() < MIN_QUERIES || distance.metric() == Metric::Manhattan;
        let mut batch = Batch {
            rows,
            distance,
            queries,
            dim,
            tile,
            panels: Vec::new(),
            slack,
            group_rows: tile.rows * (GROUP_BYTES / (tile.rows * dim * size_of::<f32>())).clamp(1, 64),
            widened: Vec::new(),
            zeros: vec![0.0; dim],
            sums: vec![0.0; tile.rows * tile.wide],
            passed: vec![0; tile.rows],
            direct: 0,
        };
        if !one_by_one {
            batch.panels =
                (0..queries.len()).step_by(tile.wide).map(|first| batch.panel(first, tops)).collect();
        }
        batch
    }

    fn panel<T: Fn(Row, Row) -> Ordering>(&self, first: usize, tops: &[TopK<Row, T>]) -> Panel {
        let queries = &self.queries[first..self.queries.len().min(first + self.tile.wide)];
        let lanes = if queries.len() <= self.tile.narrow { self.tile.narrow } else { self.tile.wide };
        let mut components = vec![0.0; lanes * self.dim];
        let mut gate =
            Gate { offset: vec![0.0; lanes], slope: vec![0.0; lanes], bound: vec![f32::NEG_INFINITY; lanes] };
        for (lane, (query, top)) in queries.iter().zip(&tops[first..]).enumerate() {
            components.iter_mut().skip(lane).step_by(lanes).zip(*query).for_each(|(to, &q)| *to = q);
            let length = norm(query);
            if !SAFE_SQUARES.contains(&(length * length)) {
                gate.offset[lane] = f32::NEG_INFINITY;
            } else if self.distance.metric() == Metric::Euclid {
                gate.offset[lane] = (length * length * (1.0 - self.slack)) as f32;
            } else {
                gate.slope[lane] = -(length * self.slack) as f32;
            }
            gate.bound[lane] = top.bound();
        }
        Panel { first, lanes, occupied: u64::MAX >> (64 - queries.len()), components, gate }
    }

    /// The next accepted rows, or fewer, or none, when many rows are refused.
    fn next_group(&self, rest: &mut Range<u32>, accept: &impl Fn(Row) -> bool) -> Vec<Row> {
        let mut group = Vec::with_capacity(self.group_rows);
        let mut checked = 0;
        while group.len() < self.group_rows
            && checked < MAX_CHECKED
            && let Some(row) = rest.next().map(Row::new)
        {
            checked += 1;
            if accept(row) {
                group.push(row);
            }
        }
        group
    }

    /// Compares a group, which the caches hold after the first query, with one query after the other.
    fn scan_one_by_one<T: Fn(Row, Row) -> Ordering>(
        &self,
        group: &[Row],
        tops: &mut [TopK<Row, T>],
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        for (at, (query, top)) in self.queries.iter().zip(tops).enumerate() {
            if at % 64 == 63 && stop() {
                return Err(Stopped);
            }
            for &row in group {
                top.offer(self.distance.one(query, self.rows.row(row.get())), row);
            }
        }
        Ok(())
    }

    /// Compares a group with all queries, while the rows of the next one are on their way from memory.
    fn scan_group<T: Fn(Row, Row) -> Ordering>(
        &mut self,
        group: &[Row],
        next: &[Row],
        tops: &mut [TopK<Row, T>],
    ) {
        let format = self.distance.format();
        let raw: Vec<&[u8]> = group.iter().map(|&row| self.rows.row(row.get())).collect();
        let next: Vec<&[u8]> = next.iter().map(|&row| self.rows.row(row.get())).collect();
        let gates: Vec<RowGate> = raw.iter().map(|row| self.row_gate(row)).collect();
        let components: Vec<&[u8]> = if format == RowFormat::F32 {
            raw.clone()
        } else {
            self.widened.resize(group.len() * self.dim, 0.0);
            for (row, wide) in raw.iter().zip(self.widened.chunks_exact_mut(self.dim)) {
                (format.kernels().widen)(format.components(row, self.dim), wide);
            }
            self.widened.chunks_exact(self.dim).map(bytes_of).collect()
        };
        for (at, panel) in self.panels.iter_mut().enumerate() {
            for (tile_at, tile_rows) in components.chunks(self.tile.rows).enumerate() {
                let from = tile_at * self.tile.rows;
                // Once is enough.
                let ahead = if at == 0 { next.get(from..).unwrap_or_default() } else { &[] };
                let ahead = &ahead[..ahead.len().min(self.tile.rows)];
                let sums = &mut self.sums[..panel.lanes * tile_rows.len()];
                (self.tile.dot)(&panel.components, tile_rows, ahead, sums);
                let passed = &mut self.passed[..tile_rows.len()];
                (self.tile.sift)(sums, &panel.gate, &gates[from..from + tile_rows.len()], passed);
                for (row, lanes) in (from..).zip(passed) {
                    let mut lanes = *lanes & panel.occupied;
                    while lanes != 0 {
                        let lane = lanes.trailing_zeros() as usize;
                        lanes &= lanes - 1;
                        let query = panel.first + lane;
                        let top = &mut tops[query];
                        top.offer(self.distance.one(self.queries[query], raw[row]), group[row]);
                        panel.gate.bound[lane] = top.bound();
                        self.direct += 1;
                    }
                }
            }
        }
    }

    /// The row's part in the least distance that it can have.
    fn row_gate(&self, row: &[u8]) -> RowGate {
        let format = self.distance.format();
        // The squared distance from zero.
        let squares = (format.kernels().l2_squared)(&self.zeros, format.components(row, self.dim));
        let is_safe = SAFE_SQUARES.contains(&f64::from(squares));
        let base = |base: f64| if is_safe { base as f32 } else { f32::NEG_INFINITY };
        if self.distance.metric() == Metric::Euclid {
            let share = f64::from(squares) * (1.0 - self.slack);
            return RowGate { base: base(share), share: 0.0, factor: -2.0 };
        }
        let scale = if format == RowFormat::U8Unit { inverse_norm(row) } else { 1.0 };
        RowGate { base: base(0.0), share: squares.sqrt() * scale, factor: -scale }
    }
}

#[cfg(test)]
mod tests;
