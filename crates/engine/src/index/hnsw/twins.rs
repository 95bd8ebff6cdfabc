//! Nodes that no distance tells apart.
//!
//! A heap of equal vectors ruins a graph: each is nearest to all the others, so their links lead nowhere else, and a
//! walk that comes by fills with them. So only the first of a heap is linked. Those that come later are its *twins*:
//! they have no links and hang on it in a chain, newest first, and a search that finds the first returns them too.
//!
//! A twin has a higher row than the node that it hangs on, so every view that holds a twin holds that node. A node that
//! equals one of a higher row, because threads overtook each other, is linked like any other.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Hnsw;
use super::pool::Candidate;
use super::word::push_front;
use crate::arena::LinkArena;
use crate::index::Space;

/// Nodes among the nearest that are compared with a new one: as many may be at the same distance by chance.
const LOOKS: usize = 8;

/// Chains of equal nodes.
pub(super) struct Twins {
    /// For the first of a heap and each of its twins: one more than the number of the next one, 0 at the end.
    next: LinkArena,
    exist: AtomicBool,
}

impl Twins {
    pub(super) fn new() -> Twins {
        Twins { next: LinkArena::new(1, 0), exist: AtomicBool::new(false) }
    }

    /// Whether there are any.
    #[inline(always)]
    pub(super) fn exist(&self) -> bool {
        self.exist.load(Ordering::Acquire)
    }

    /// The twins of a node, newest first.
    pub(super) fn of(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.after(node), |&twin| self.after(twin))
    }

    fn after(&self, node: u32) -> Option<u32> {
        self.next.row(node).first()?.load(Ordering::Acquire).checked_sub(1)
    }

    /// Hangs a node on the first of its heap. No other thread has done so with that node.
    pub(super) fn push(&self, first: u32, twin: u32) {
        let next = &self.next.reserve(twin)[0];
        self.exist.store(true, Ordering::Release);
        push_front(&self.next.reserve(first)[0], next, twin + 1);
    }

    pub(super) fn bytes(&self) -> usize {
        self.next.bytes()
    }
}

impl Hnsw {
    /// The node that a new one is to hang on, among the nearest that a walk found, best first, by a query that the new
    /// one is `from_itself` from.
    pub(super) fn twin_among<S: Space>(
        &self,
        space: &S,
        node: u32,
        from_itself: f32,
        found: &[Candidate],
    ) -> Option<u32> {
        let nearest = found.first()?;
        // Where the distance grows with the difference, equal vectors come first and most nodes have none.
        let own = Candidate::new(from_itself, 0);
        if nearest.distance() > own.distance() {
            return None;
        }
        let from = found.partition_point(|c| c.distance() < own.distance());
        let equal = found[from..].iter().take(LOOKS).take_while(|c| c.distance() == own.distance());
        let row = self.row_of(node);
        equal.map(|c| c.node()).find(|&other| self.row_of(other) < row && space.is_same(node, other))
    }

    /// All nodes of a heap that is found by its first, itself among them.
    pub(super) fn heap(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(first).chain(self.nodes.twins.of(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_hang_twins_on_the_same_node_and_lose_none() {
        let twins = Twins::new();
        assert!(!twins.exist() && twins.of(3).next().is_none());
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let twins = &twins;
                scope.spawn(move || (0..3000).for_each(|n| twins.push(3, 10 + 3 * n + thread)));
            }
            // Readers meanwhile see chains that end.
            (0..100).for_each(|_| assert!(twins.of(3).count() <= 9000));
        });
        let mut all: Vec<u32> = twins.of(3).collect();
        all.sort_unstable();
        assert_eq!(all, (10..9010).collect::<Vec<u32>>());
    }
}
