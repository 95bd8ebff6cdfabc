//! The candidates of a walk, best first.

use crate::types::Node;

/// A node and its distance in one word that sorts by distance, then by node: the distance in order-preserving form,
/// the number of the node, and in the lowest bit whether it has been expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate(u64);

impl Candidate {
    /// The distance is not NaN and not −0; the node is below 2³¹.
    #[inline(always)]
    pub(super) fn new(distance: f32, node: Node) -> Candidate {
        let bits = distance.to_bits();
        // Negative numbers reversed and below the positive ones.
        let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
        Candidate(u64::from(ordered) << 32 | u64::from(node.get()) << 1)
    }

    /// The node.
    #[inline(always)]
    pub fn node(self) -> Node {
        Node::new(self.0 as u32 >> 1)
    }

    /// Its distance.
    #[inline(always)]
    pub fn distance(self) -> f32 {
        let ordered = (self.0 >> 32) as u32;
        f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered })
    }

    #[inline(always)]
    pub(super) fn is_expanded(self) -> bool {
        self.0 & 1 == 1
    }

    /// The candidate for another walk, which has not expanded it.
    pub(super) fn unexpanded(self) -> Candidate {
        Candidate(self.0 & !1)
    }
}

/// The best `ef` candidates in a sorted array: at these sizes faster than a heap, and nothing is allocated once it has
/// grown.
#[derive(Default)]
pub(super) struct Pool {
    entries: Vec<Candidate>,
    ef: usize,
    /// All entries before this one are expanded.
    cursor: usize,
}

impl Pool {
    /// Empties the pool and sets its size, at least 1.
    pub(super) fn begin(&mut self, ef: usize) {
        self.entries.clear();
        self.ef = ef;
        self.cursor = 0;
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() == self.ef
    }

    /// Whether a candidate is good enough to get in.
    #[inline(always)]
    pub(super) fn admits(&self, candidate: Candidate) -> bool {
        !self.is_full() || self.entries.last().is_none_or(|&worst| candidate < worst)
    }

    /// Adds a candidate that is admitted and not in the pool. True when it is the next to be expanded.
    #[inline(always)]
    pub(super) fn insert(&mut self, candidate: Candidate) -> bool {
        if self.is_full() {
            self.entries.pop();
        }
        let place = self.entries.partition_point(|&entry| entry < candidate);
        self.entries.insert(place, candidate);
        let is_next = place <= self.cursor;
        self.cursor = self.cursor.min(place);
        is_next
    }

    /// The best candidate that is not yet expanded; it counts as expanded from now on.
    #[inline(always)]
    pub(super) fn expand_next(&mut self) -> Option<Node> {
        let next = self.first_unexpanded()?;
        let entry = &mut self.entries[next];
        entry.0 |= 1;
        self.cursor = next + 1;
        Some(entry.node())
    }

    /// The candidate that would be expanded next, as things stand.
    #[inline(always)]
    pub(super) fn peek_next(&self) -> Option<Node> {
        self.first_unexpanded().map(|next| self.entries[next].node())
    }

    /// Makes room for `ef` candidates, and adds some that are worse than all others, ascending.
    pub(super) fn extend(&mut self, ef: usize, worse: &[Candidate]) {
        self.ef = self.ef.max(ef);
        self.cursor = self.cursor.min(self.entries.len());
        self.entries.extend_from_slice(worse);
    }

    /// All candidates, best first.
    pub(super) fn entries(&self) -> &[Candidate] {
        &self.entries
    }

    /// The candidates that are not yet expanded.
    pub(super) fn unexpanded(&self) -> impl Iterator<Item = Candidate> {
        self.entries.iter().copied().filter(|entry| !entry.is_expanded())
    }

    #[inline(always)]
    fn first_unexpanded(&self) -> Option<usize> {
        let rest = self.entries.get(self.cursor..)?;
        rest.iter().position(|entry| !entry.is_expanded()).map(|offset| self.cursor + offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn candidates_sort_by_distance_then_node_and_keep_both(
            a in (any::<f32>(), 0u32..1 << 31), b in (any::<f32>(), 0u32..1 << 31),
        ) {
            prop_assume!(!a.0.is_nan() && !b.0.is_nan());
            let (a, b) = ((a.0 + 0.0, a.1), (b.0 + 0.0, b.1));
            let expected = a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            let candidate = |(distance, node)| Candidate::new(distance, Node::new(node));
            prop_assert_eq!(candidate(a).cmp(&candidate(b)), expected);
            let read = (candidate(a).distance().to_bits(), candidate(a).node().get());
            prop_assert_eq!(read, (a.0.to_bits(), a.1));
        }

        #[test]
        fn the_pool_holds_the_best_and_expands_best_first(
            distances in prop::collection::vec(-8i8..8, 1..80), ef in 1usize..20,
        ) {
            let mut pool = Pool::default();
            pool.begin(ef);
            let mut offered = Vec::new();
            let mut expanded = Vec::new();
            for (row, &distance) in distances.iter().enumerate() {
                let candidate = Candidate::new(f32::from(distance), Node::new(row as u32));
                offered.push(candidate);
                if pool.admits(candidate) {
                    pool.insert(candidate);
                }
                offered.sort();
                offered.truncate(ef);
                if row % 3 == 0 {
                    let best = offered.iter().map(|c| c.node()).find(|row| !expanded.contains(row));
                    prop_assert_eq!(pool.peek_next(), best);
                    prop_assert_eq!(pool.expand_next(), best);
                    expanded.extend(best);
                }
            }
            let nodes: Vec<Node> = pool.entries().iter().map(|c| c.node()).collect();
            prop_assert_eq!(nodes, offered.iter().map(|c| c.node()).collect::<Vec<Node>>());
        }
    }
}
