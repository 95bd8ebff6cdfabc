//! The blocks against sums made row by row.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{BlockSizes, Blocks, Found, Sums, scan};
use crate::types::{Datatype, Row, RowRange};
use crate::vectors::{SparseFormat, SparseVector};

fn sparse(terms: u32) -> impl Strategy<Value = SparseVector> {
    let value = prop_oneof![8 => 0u8..8, 1 => Just(0u8)];
    prop::collection::btree_map(0..terms, value, 0..8).prop_map(|elements| {
        let (indices, values) = elements.into_iter().map(|(index, value)| (index, f32::from(value))).unzip();
        SparseVector { indices, values }
    })
}

fn rows(format: SparseFormat, vectors: &[SparseVector]) -> Vec<Vec<u8>> {
    let encoded = |vector: &SparseVector| {
        let mut row = Vec::new();
        format.encode(vector, &mut row);
        row
    };
    vectors.iter().map(encoded).collect()
}

/// Every row above a bound, with the bits of its score; none twice, and in order.
struct All {
    bound: f32,
    rows: BTreeMap<Row, u32>,
}

impl Found for All {
    fn bound(&self) -> f32 {
        self.bound
    }

    fn offer(&mut self, row: Row, score: f32) {
        assert!(
            self.rows.keys().next_back().is_none_or(|last| *last < row),
            "{row:?} comes once and in order"
        );
        self.rows.insert(row, score.to_bits());
    }
}

fn found(blocks: &Blocks, query: &SparseVector, bound: f32) -> BTreeMap<Row, u32> {
    let mut all = All { bound, rows: BTreeMap::new() };
    let mut sums = Sums::default();
    blocks.iter().for_each(|block| scan(block, query, &mut sums, &mut all));
    all.rows
}

proptest! {
    #[test]
    fn blocks_find_what_rows_share_with_the_query_whatever_was_merged_or_thinned(
        vectors in prop::collection::vec(sparse(12), 0..300),
        mut query in sparse(16),
        negative in any::<bool>(),
        middle in 1u32..40,
        step in 1usize..50,
        dead in prop::collection::btree_set(0u32..300, 0..300),
        bound in prop_oneof![Just(f32::NEG_INFINITY), (-20i8..40).prop_map(f32::from)],
        datatype in prop::sample::select(&[Datatype::Float32, Datatype::Float16, Datatype::Uint8][..]),
    ) {
        if negative {
            query.values.iter_mut().step_by(2).for_each(|value| *value = -*value);
        }
        let format = SparseFormat::of(datatype);
        let rows = rows(format, &vectors);
        let mut blocks = Blocks::new(BlockSizes::around(middle));
        for len in (0..=rows.len()).step_by(step).chain([rows.len()]) {
            blocks.take_in(format, len.max(blocks.indexed().index()) as u32, |row| Some(format.row(&rows[row.index()])));
        }
        prop_assert!(rows.len() as u32 - blocks.indexed().get() < middle.max(1));
        let indexed = blocks.indexed();
        let expected = |is_there: &dyn Fn(Row) -> bool| -> BTreeMap<Row, u32> {
            RowRange::new(Row::FIRST, indexed)
                .iter()
                .filter(|row| is_there(*row))
                .filter_map(|row| Some((row, format.row(&rows[row.index()]).dot(&query)?)))
                .filter(|(_, score)| *score >= bound)
                .map(|(row, score)| (row, score.to_bits()))
                .collect()
        };
        prop_assert_eq!(found(&blocks, &query, bound), expected(&|_| true));
        let before = blocks.clone();
        for block in before.iter() {
            prop_assert!(blocks.replace(block, block.thinned(|row| !dead.contains(&row.get()))));
        }
        prop_assert_eq!(found(&blocks, &query, bound), expected(&|row| !dead.contains(&row.get())));
        prop_assert_eq!(found(&before, &query, bound), expected(&|_| true));
    }
}

#[test]
fn rows_are_found_for_what_they_share_and_not_for_their_score() {
    let format = SparseFormat::of(Datatype::Float32);
    let vector = |elements: &[(u32, f32)]| {
        let (indices, values) = elements.iter().copied().unzip();
        SparseVector { indices, values }
    };
    // A zero, a product of −0, a difference of nothing, overflows of both kinds, and nothing shared.
    let vectors = [
        vector(&[(1, 0.0)]),
        vector(&[(1, -0.0)]),
        vector(&[(1, 2.0), (2, -2.0)]),
        vector(&[(1, f32::MAX), (3, f32::MAX)]),
        vector(&[(3, f32::MAX), (4, f32::MAX)]),
        vector(&[(9, 1.0)]),
        vector(&[]),
    ];
    let rows = rows(format, &vectors);
    let mut blocks = Blocks::new(BlockSizes::around(8));
    blocks.take_in(format, rows.len() as u32, |row| Some(format.row(&rows[row.index()])));
    let query = vector(&[(1, 1.0), (2, 1.0), (3, 2.0), (4, -2.0)]);
    let scores: Vec<(u32, f32)> = found(&blocks, &query, f32::NEG_INFINITY)
        .into_iter()
        .map(|(row, bits)| (row.get(), f32::from_bits(bits)))
        .collect();
    assert_eq!(scores, [(0, 0.0), (1, 0.0), (2, 0.0), (3, f32::MAX), (4, f32::MIN)]);
    assert!(scores[..3].iter().all(|(_, score)| score.is_sign_positive()), "0, never -0");
}

#[test]
fn a_sum_that_overflowed_reaches_the_least_bound() {
    let format = SparseFormat::of(Datatype::Float32);
    let vector = |value| SparseVector { indices: vec![3], values: vec![value] };
    let encoded = rows(format, &vec![vector(3e38); 40]);
    let mut blocks = Blocks::new(BlockSizes::around(64));
    blocks.take_in(format, 40, |row| Some(format.row(&encoded[row.index()])));
    let expected = (0..40).map(|row| (Row::new(row), f32::MIN.to_bits())).collect();
    for bound in [f32::NEG_INFINITY, f32::MIN] {
        assert_eq!(found(&blocks, &vector(-3e38), bound), expected, "above {bound}");
    }
    assert!(found(&blocks, &vector(-3e38), -1e38).is_empty());
}
