//! A query against the blocks of a field.

use super::block::{Block, List};
use crate::types::Row;
use crate::vectors::{SparseVector, finite};

/// The sum of a row that is in no list of the query: −0, which no sum of products can be once +0 was added to each.
const UNTOUCHED: f32 = -0.0;

/// Rows whose sums are checked together: one or two vector operations find out whether any is good enough.
const GROUP: usize = 16;

/// Postings whose values are widened together.
const WIDENED: usize = 256;

/// Memory of a scan, for reuse: the sums of a block's rows.
#[derive(Default)]
pub struct Sums {
    sums: Vec<f32>,
    widened: Vec<f32>,
}

/// Takes the rows that a scan finds.
pub trait Found {
    /// Rows of a lower score need not be offered. The bound never falls.
    fn bound(&self) -> f32;
    /// A row that shares an index with the query, and its score, which reaches the bound or did a moment before.
    fn offer(&mut self, row: Row, score: f32);
}

/// Adds up the products of a query with each row of a block, in the order of the indices, and offers the rows that share
/// an index with it, ascending.
pub fn scan(block: &Block, query: &SparseVector, sums: &mut Sums, found: &mut impl Found) {
    let Sums { sums, widened } = sums;
    let start = block.range().start;
    sums.clear();
    for (term, weight) in query.iter() {
        let Some(list) = block.list(term) else { continue };
        if sums.is_empty() {
            sums.resize(block.range().len(), UNTOUCHED);
        }
        add(block, &list, weight, sums, widened);
    }
    for (at, group) in sums.chunks(GROUP).enumerate() {
        let bound = found.bound();
        // A sum that overflowed downwards, or both ways, counts as `f32::MIN`, which is not below a bound of `f32::MIN`.
        if bound > f32::MIN && !group.iter().fold(false, |any, sum| any | (*sum >= bound)) {
            continue;
        }
        for (place, &sum) in group.iter().enumerate() {
            if sum.to_bits() != UNTOUCHED.to_bits() {
                let score = finite(sum);
                if score >= bound {
                    found.offer(start.plus((at * GROUP + place) as u32), score);
                }
            }
        }
    }
}

/// Adds a weight times the values of a list to the sums of its rows.
fn add(block: &Block, list: &List<'_>, weight: f32, sums: &mut [f32], widened: &mut Vec<f32>) {
    let bytes = block.format().value_bytes();
    for (places, values) in list.places.chunks(WIDENED).zip(list.values.chunks(WIDENED * bytes)) {
        widened.clear();
        block.format().decode_values(values, places.len(), widened);
        for (place, value) in places.iter().zip(&*widened) {
            // Adding +0 turns a product of −0 into +0: see `UNTOUCHED`.
            sums[usize::from(*place)] += weight * value + 0.0;
        }
    }
}
