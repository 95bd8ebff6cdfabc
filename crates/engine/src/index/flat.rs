//! Exact scan: every row of a range or a list, bound by memory bandwidth.

use std::cmp::Ordering;

use kithdb_kernels::prefetch_l2;

mod many;

pub use many::scan_many;

use super::{Distance, Stopped, TopK};
use crate::arena::RowTable;
use crate::types::{Row, RowRange};

/// Rows between two stop checks.
const BLOCK_ROWS: usize = 256;

/// Bytes of rows that a scan in their order asks the system for ahead of its reads, where maps do not fit into memory.
const EXPECTED_BYTES: usize = 1 << 20;

/// Rows that the scan of a list prefetches ahead.
const LOOK_AHEAD: usize = 8;

/// Offers every accepted row of `range` to `top`.
///
/// Rows are read in order and one at a time, because hardware prefetchers follow a single stream best: on Zen 4 this reads
/// 33 GB/s, and four rows at a time 17 GB/s. `stop` is called every few hundred rows. Panics when the range goes beyond the
/// table, or when the lengths of the query and the rows differ.
pub fn scan_range<T: Fn(Row, Row) -> Ordering>(
    rows: &RowTable,
    distance: Distance,
    query: &[f32],
    range: RowRange,
    accept: &impl Fn(Row) -> bool,
    top: &mut TopK<Row, T>,
    stop: &impl Fn() -> bool,
) -> Result<(), Stopped> {
    check_length(rows, distance, query);
    assert!(range.end.get() <= rows.len() || range.is_empty(), "{range:?} of {} rows", rows.len());
    let std::ops::Range { start: mut block_start, end } = range.numbers();
    let mut ahead = ReadAhead::new(rows, range);
    while block_start < end {
        if stop() {
            return Err(Stopped);
        }
        let block_end = end.min(block_start.saturating_add(BLOCK_ROWS as u32));
        ahead.reach(block_end);
        for row in (block_start..block_end).map(Row::new).filter(|&row| accept(row)) {
            top.offer(distance.one(query, rows.row(row.get())), row);
        }
        block_start = block_end;
    }
    Ok(())
}

/// Offers every row of `ids` to `top`, as for the matches of a filter.
///
/// Rows are prefetched, so scattered ids cost little more than consecutive ones. Ascending ids are fastest. No id may occur
/// twice. `stop` is called every few hundred rows. Panics when an id is beyond the table, or when the lengths of the query
/// and the rows differ.
pub fn scan_ids<T: Fn(Row, Row) -> Ordering>(
    rows: &RowTable,
    distance: Distance,
    query: &[f32],
    ids: impl IntoIterator<Item = Row>,
    top: &mut TopK<Row, T>,
    stop: &impl Fn() -> bool,
) -> Result<(), Stopped> {
    check_length(rows, distance, query);
    let mut ids = ids.into_iter();
    let mut block = [Row::FIRST; BLOCK_ROWS];
    loop {
        if stop() {
            return Err(Stopped);
        }
        let mut len = 0;
        for (place, id) in block.iter_mut().zip(&mut ids) {
            *place = id;
            len += 1;
        }
        let block = &block[..len];
        rows.expect(block.iter().map(|id| id.get()));
        for &id in block.iter().take(LOOK_AHEAD) {
            prefetch_l2(rows.row(id.get()));
        }
        for (at, &id) in block.iter().enumerate() {
            if let Some(&next) = block.get(at + LOOK_AHEAD) {
                prefetch_l2(rows.row(next.get()));
            }
            top.offer(distance.one(query, rows.row(id.get())), id);
        }
        if len < BLOCK_ROWS {
            return Ok(());
        }
    }
}

/// Asks the system for the rows of a range that a scan comes to, some time before it does.
struct ReadAhead<'a> {
    rows: &'a RowTable,
    /// Rows that were not asked for yet.
    rest: std::ops::Range<u32>,
    /// Rows that are asked for at once.
    step: u32,
}

impl<'a> ReadAhead<'a> {
    fn new(rows: &'a RowTable, range: RowRange) -> ReadAhead<'a> {
        let step = (EXPECTED_BYTES / rows.row_bytes()).max(1) as u32;
        ReadAhead { rows, rest: range.numbers(), step }
    }

    /// Takes note that the scan reads the rows before one.
    fn reach(&mut self, row: u32) {
        while !self.rest.is_empty() && self.rest.start < row.saturating_add(self.step) {
            let to = self.rest.end.min(self.rest.start.saturating_add(self.step));
            self.rows.expect_run(self.rest.start..to);
            self.rest.start = to;
        }
    }
}

fn check_length(rows: &RowTable, distance: Distance, query: &[f32]) {
    assert_eq!(rows.row_bytes(), distance.format().row_bytes(query.len()), "query of a wrong length");
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::arena::RowArena;
    use crate::types::Metric;
    use crate::vectors::RowFormat;

    const METRICS: [Metric; 4] = [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan];

    fn table(dim: usize, values: &[i8]) -> RowTable {
        let mut arena = RowArena::new(RowFormat::F32.row_bytes(dim));
        for row in values.chunks_exact(dim) {
            let (components, mut bytes) = (row.iter().map(|&v| f32::from(v % 4)), Vec::new());
            RowFormat::F32.encode(&components.collect::<Vec<f32>>(), &mut bytes);
            arena.push(&bytes);
        }
        arena.table()
    }

    fn naive(rows: &RowTable, metric: Metric, query: &[f32], ids: &[Row], k: usize) -> Vec<(f32, Row)> {
        let distance = |id: Row| -> f32 {
            let mut row = Vec::new();
            RowFormat::F32.decode(rows.row(id.get()), query.len(), &mut row);
            let pairs = query.iter().zip(&row);
            match metric {
                Metric::Cosine | Metric::Dot => 0.0 - pairs.map(|(q, r)| q * r).sum::<f32>(),
                Metric::Euclid => pairs.map(|(q, r)| (q - r) * (q - r)).sum(),
                Metric::Manhattan => pairs.map(|(q, r)| (q - r).abs()).sum(),
            }
        };
        let mut all: Vec<(f32, Row)> = ids.iter().map(|&id| (distance(id), id)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        all.truncate(k);
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        // Components are small integers: sums are exact, ties are frequent.
        #[test]
        fn scans_give_what_a_full_sort_gives(
            dim in 1usize..20, values in prop::collection::vec(any::<i8>(), 20..6000),
            k in 0usize..30, modulus in 1u32..7, from in 0u32..200, length in 0u32..400,
        ) {
            let rows = table(dim, &values);
            let query: Vec<f32> = (0..dim).map(|i| (i % 3) as f32).collect();
            let range = RowRange::new(Row::new(from.min(rows.len())), Row::new((from + length).min(rows.len())));
            let accept = |row: Row| row.get().is_multiple_of(modulus);
            let accepted: Vec<Row> = range.iter().filter(|&row| accept(row)).collect();
            for metric in METRICS {
                let expected = naive(&rows, metric, &query, &accepted, k);
                let mut top = TopK::new(k, |a: Row, b: Row| b.cmp(&a));
                scan_range(&rows, Distance::of(metric, RowFormat::F32), &query, range, &accept, &mut top, &|| false).unwrap();
                prop_assert_eq!(top.into_sorted(), expected.clone());
                let mut top = TopK::new(k, |a: Row, b: Row| b.cmp(&a));
                let backwards = accepted.iter().rev().copied();
                scan_ids(&rows, Distance::of(metric, RowFormat::F32), &query, backwards, &mut top, &|| false).unwrap();
                prop_assert_eq!(top.into_sorted(), expected);
            }
        }
    }

    #[test]
    fn a_scan_stops_when_it_is_told_to() {
        let rows = table(1, &[1; 10_000]);
        for by_id in [false, true] {
            let (asked, seen) = (Cell::new(0), Cell::new(0u32));
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() == 3
            };
            let mut top = TopK::new(5, |a: Row, b: Row| a.cmp(&b));
            let count = |id: Row| {
                seen.set(seen.get() + 1);
                id.get() < 10_000
            };
            let euclid = Distance::of(Metric::Euclid, RowFormat::F32);
            let result = if by_id {
                let ids = (0..10_000).map(Row::new).inspect(|&id| assert!(count(id)));
                scan_ids(&rows, euclid, &[0.0], ids, &mut top, &stop)
            } else {
                scan_range(
                    &rows,
                    euclid,
                    &[0.0],
                    RowRange::of_len(Row::FIRST, 10_000),
                    &count,
                    &mut top,
                    &stop,
                )
            };
            assert_eq!(result, Err(Stopped));
            assert!(seen.get() <= 2 * BLOCK_ROWS as u32 + 1, "saw {} rows", seen.get());
        }
    }

    #[test]
    fn an_empty_range_or_list_offers_nothing() {
        let rows = table(3, &[1; 9]);
        let mut top = TopK::new(5, |a: Row, b: Row| a.cmp(&b));
        scan_range(
            &rows,
            Distance::of(Metric::Dot, RowFormat::F32),
            &[1.0; 3],
            RowRange::of_len(Row::new(2), 0),
            &|_| true,
            &mut top,
            &|| false,
        )
        .unwrap();
        scan_ids(&rows, Distance::of(Metric::Dot, RowFormat::F32), &[1.0; 3], [], &mut top, &|| false)
            .unwrap();
        assert!(top.into_sorted().is_empty());
    }
}
