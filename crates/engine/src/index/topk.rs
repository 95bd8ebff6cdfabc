//! The k best of a stream of rows.

use std::cmp::Ordering;

/// Keeps the best `k` of the rows offered to it: by distance, ascending, and among equal distances by the caller's
/// order of rows (by external id, for example), also at the cut. So the outcome depends on *which* rows were offered
/// and never on when or by what plan.
///
/// Up to 2k rows are held; when they are, the worse half is dropped at once (amortised constant time per row).
pub struct TopK<T: Fn(u32, u32) -> Ordering> {
    k: usize,
    tie: T,
    kept: Vec<(f32, u32)>,
    /// Distance of the k-th best row as of the last cut: nothing worse can get in.
    bound: f32,
}

impl<T: Fn(u32, u32) -> Ordering> TopK<T> {
    /// An empty selection of at most `k` rows. `tie` must be a total order in which different rows differ.
    pub fn new(k: usize, tie: T) -> TopK<T> {
        let bound = if k == 0 { f32::NEG_INFINITY } else { f32::INFINITY };
        TopK { k, tie, kept: Vec::with_capacity(k.saturating_mul(2).min(256)), bound }
    }

    /// Offers a row. It must not have been offered before. The distance is not NaN; −0 counts as 0.
    #[inline(always)]
    pub fn offer(&mut self, distance: f32, row: u32) {
        if distance <= self.bound {
            self.keep(distance + 0.0, row);
        }
    }

    /// A distance beyond which a row cannot be among the best; only ever falls.
    #[inline(always)]
    pub fn bound(&self) -> f32 {
        self.bound
    }

    /// How many rows are wanted.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The best rows and their distances, best first.
    pub fn into_sorted(mut self) -> Vec<(f32, u32)> {
        let tie = &self.tie;
        self.kept.sort_unstable_by(|&a, &b| rank(tie, a, b));
        self.kept.truncate(self.k);
        self.kept
    }

    #[inline(never)]
    fn keep(&mut self, distance: f32, row: u32) {
        if self.k == 0 {
            return;
        }
        self.kept.push((distance, row));
        if self.kept.len() >= self.k.saturating_mul(2) {
            let tie = &self.tie;
            let (_, kth, _) = self.kept.select_nth_unstable_by(self.k - 1, |&a, &b| rank(tie, a, b));
            self.bound = kth.0;
            self.kept.truncate(self.k);
        }
    }
}

fn rank(tie: &impl Fn(u32, u32) -> Ordering, a: (f32, u32), b: (f32, u32)) -> Ordering {
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
