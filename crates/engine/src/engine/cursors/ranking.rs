//! The hits of a read in their order, as far as pages have needed them.

use crate::faults::PlantedFault;
use crate::query::{Hit, OrderValue};
use crate::types::PointOffset;
use std::collections::HashSet;
use std::sync::Arc;

/// Hits in their order. What was answered once keeps its place.
#[derive(Clone, Default)]
pub(super) struct Ranking {
    scores: Vec<(PointOffset, f32)>,
    /// The value of each, where they are ordered by a field.
    values: Vec<OrderValue>,
    /// Whether there are no further ones.
    is_whole: bool,
}

/// What tells a value from others: whether it is a float, and its bits.
fn bits_of(value: OrderValue) -> (bool, u64) {
    match value {
        OrderValue::Integer(value) => (false, value.cast_unsigned()),
        OrderValue::Float(value) => (true, value.to_bits()),
    }
}

/// Bytes of a hit in a ranking by score, and by a field.
const SCORED_BYTES: usize = size_of::<(PointOffset, f32)>();
const ORDERED_BYTES: usize = SCORED_BYTES + size_of::<OrderValue>();

impl Ranking {
    /// Hits of a read that asked for `reach` of them.
    pub fn new(hits: &[Hit], reach: usize) -> Ranking {
        let mut ranking = Ranking::default();
        ranking.extend(hits, reach, reach);
        ranking
    }

    /// Appends those of a read that asked for `reach` which are not in it yet, up to `most` in all. A point that a field orders
    /// stands there once for each of its values.
    pub fn extend(&mut self, hits: &[Hit], reach: usize, most: usize) {
        let values = self.values.iter().map(|value| Some(bits_of(*value))).chain(std::iter::repeat(None));
        let known: HashSet<(PointOffset, Option<(bool, u64)>)> =
            self.scores.iter().map(|(offset, _)| *offset).zip(values).collect();
        let is_new = |hit: &&Hit| {
            let place = (hit.offset, hit.order_value.map(bits_of));
            !known.contains(&place) || PlantedFault::CursorRepeatsHits.is_on()
        };
        let room = most.saturating_sub(self.scores.len());
        for hit in hits.iter().filter(is_new).take(room) {
            self.scores.push((hit.offset, hit.score));
            self.values.extend(hit.order_value);
        }
        self.is_whole = hits.len() < reach;
    }

    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether there are no further hits.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// At most `limit` of them from a place on.
    pub fn page(&self, from: usize, limit: usize) -> Vec<Hit> {
        let from = from.min(self.scores.len());
        let end = from.saturating_add(limit).min(self.scores.len());
        let hit = |at: usize| {
            let (offset, score) = self.scores[at];
            Hit { offset, score, order_value: self.values.get(at).copied() }
        };
        (from..end).map(hit).collect()
    }

    /// Bytes of so many hits of this kind.
    pub fn bytes_of(&self, hits: usize) -> u64 {
        (hits * if self.values.is_empty() { SCORED_BYTES } else { ORDERED_BYTES }) as u64
    }
}

/// A ranking that pages read while another extends it.
pub(super) type Shared = parking_lot::Mutex<Arc<Ranking>>;
