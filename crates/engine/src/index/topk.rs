//! The k best of a stream of rows, points or nodes.

use std::cmp::Ordering;

/// Keeps the best `k` of the items (rows, for example) that are offered to it. Items are ordered by distance, ascending, and
/// those of equal distance by the caller's order (by point id, for example). This also decides which items are cut off, so
/// the result depends on *which* items were offered and not on the order of the offers.
///
/// At most 2k items are held. When there are 2k, the worse half is dropped: amortised constant time per item.
pub struct TopK<I, T: Fn(I, I) -> Ordering> {
    k: usize,
    tie: T,
    kept: Vec<(f32, I)>,
    /// Distance of the k-th best item when the worse half was last dropped. No item with a greater distance is kept.
    bound: f32,
}

impl<I: Copy, T: Fn(I, I) -> Ordering> TopK<I, T> {
    /// An empty selection of at most `k` items. `tie` must be a total order in which different items differ.
    pub fn new(k: usize, tie: T) -> TopK<I, T> {
        let bound = if k == 0 { f32::NEG_INFINITY } else { f32::INFINITY };
        TopK { k, tie, kept: Vec::with_capacity(k.saturating_mul(2).min(256)), bound }
    }

    /// Offers an item. It must not have been offered before. The distance is not NaN; −0 counts as 0.
    #[inline(always)]
    pub fn offer(&mut self, distance: f32, item: I) {
        if distance <= self.bound {
            self.keep(distance + 0.0, item);
        }
    }

    /// An item with a greater distance cannot be among the best. The bound never rises.
    #[inline(always)]
    pub fn bound(&self) -> f32 {
        self.bound
    }

    /// How many items are wanted.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The best items and their distances, best first.
    pub fn into_sorted(mut self) -> Vec<(f32, I)> {
        let tie = &self.tie;
        self.kept.sort_unstable_by(|&a, &b| rank(tie, a, b));
        self.kept.truncate(self.k);
        self.kept
    }

    #[inline(never)]
    fn keep(&mut self, distance: f32, item: I) {
        if self.k == 0 {
            return;
        }
        self.kept.push((distance, item));
        if self.kept.len() >= self.k.saturating_mul(2) {
            let tie = &self.tie;
            let (_, kth, _) = self.kept.select_nth_unstable_by(self.k - 1, |&a, &b| rank(tie, a, b));
            self.bound = kth.0;
            self.kept.truncate(self.k);
        }
    }
}

fn rank<I>(tie: &impl Fn(I, I) -> Ordering, a: (f32, I), b: (f32, I)) -> Ordering {
    a.0.total_cmp(&b.0).then_with(|| tie(a.1, b.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_k_are_those_of_a_full_sort_in_any_order_of_arrival(
            distances in prop::collection::vec(prop_oneof![
                4 => (0u32..5).prop_map(|n| n as f32),
                1 => Just(-0.0f32), 1 => Just(f32::INFINITY), 1 => Just(f32::NEG_INFINITY), 1 => any::<f32>(),
            ], 0..200),
            k in 0usize..60,
            rotation in 0usize..200,
        ) {
            let mut rows: Vec<(f32, u32)> = distances.iter().zip(0u32..)
                .filter(|(d, _)| !d.is_nan()).map(|(&d, row)| (d + 0.0, row)).collect();
            // Ties by descending row: an order that neither arrival nor row number gives by itself.
            let tie = |a: u32, b: u32| b.cmp(&a);
            if !rows.is_empty() {
                let len = rows.len();
                rows.rotate_left(rotation % len);
            }
            let mut top = TopK::new(k, tie);
            for &(distance, row) in &rows {
                top.offer(distance, row);
            }
            rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(tie(a.1, b.1)));
            rows.truncate(k);
            prop_assert_eq!(top.into_sorted(), rows);
        }
    }

    #[test]
    fn ties_at_the_cut_go_by_the_callers_order() {
        let mut top = TopK::new(2, |a: u32, b: u32| (a % 10).cmp(&(b % 10)));
        for row in [39, 21, 12, 48, 30] {
            top.offer(1.0, row);
        }
        assert_eq!(top.into_sorted(), [(1.0, 30), (1.0, 21)]);
    }
}
