//! Duplicates: nodes that no distance tells apart.
//!
//! Many equal vectors ruin a graph. They are nearest to each other, so they would be linked with each other only, and they
//! would fill the candidate list of every walk that meets them. So only the first of a set of equal nodes is linked. Later
//! ones are its *duplicates*: they have no links and form a chain that begins at the first, newest first. A walk that finds
//! the first returns its duplicates too.
//!
//! A duplicate has a higher row than the first of its chain, so every view that holds a duplicate holds the first. A
//! node that equals one of a higher row, because threads overtook each other, is linked like any other.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Hnsw;
use super::pool::Candidate;
use super::word::push_front;
use crate::arena::LinkArena;
use crate::index::Space;
use crate::types::Node;

/// Nodes at the distance of a new one that are compared with it: some may have the same distance by chance.
const MAX_COMPARED: usize = 8;

/// The chains of duplicates.
pub(super) struct Duplicates {
    /// For the first of a chain and each of its duplicates: one more than the number of the next one, 0 at the end.
    next: LinkArena,
    exist: AtomicBool,
}

impl Duplicates {
    pub(super) fn new() -> Duplicates {
        Duplicates { next: LinkArena::new(1, 0), exist: AtomicBool::new(false) }
    }

    /// Whether there are any.
    #[inline(always)]
    pub(super) fn exist(&self) -> bool {
        self.exist.load(Ordering::Acquire)
    }

    /// The duplicates of a node, newest first.
    pub(super) fn of(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        std::iter::successors(self.after(node), |&duplicate| self.after(duplicate))
    }

    fn after(&self, node: Node) -> Option<Node> {
        self.next.row(node.get()).first()?.load(Ordering::Acquire).checked_sub(1).map(Node::new)
    }

    /// Adds a node, which no thread has added before, to the chain that begins at `first`.
    pub(super) fn push(&self, first: Node, duplicate: Node) {
        let next = &self.next.reserve(duplicate.get())[0];
        self.exist.store(true, Ordering::Release);
        push_front(&self.next.reserve(first.get())[0], next, duplicate.get() + 1);
    }

    /// Allocates what the chains of the nodes below `end` will need: any of them may become the first of one. Without memory it
    /// unwinds to the next `catch` of the allocator.
    pub(super) fn provide(&self, end: u32) {
        // The arena allocates what the last row needs; memory that begins between two powers of two ends behind the second.
        let ends = (0..u32::BITS).map(|bit| 1_u32 << bit).take_while(|&rows| rows < end);
        ends.chain([end]).for_each(|rows| self.next.provide(rows));
    }

    pub(super) fn bytes(&self) -> usize {
        self.next.bytes()
    }
}

impl Hnsw {
    /// The node that a new one is a duplicate of, among those that a walk found, best first. `from_itself` is the distance
    /// of the new node from the query that stands for it.
    pub(super) fn original_among<S: Space>(
        &self,
        space: &S,
        node: Node,
        from_itself: f32,
        found: &[Candidate],
    ) -> Option<Node> {
        let nearest = found.first()?;
        // Under metrics that grow with the difference, equal vectors come first. Most nodes have none.
        let own = Candidate::new(from_itself, Node::new(0));
        if nearest.distance() > own.distance() {
            return None;
        }
        let from = found.partition_point(|c| c.distance() < own.distance());
        let equal = found[from..].iter().take(MAX_COMPARED).take_while(|c| c.distance() == own.distance());
        let row = self.row_of(node);
        equal.map(|c| c.node()).find(|&other| self.row_of(other) < row && space.is_same(node, other))
    }

    /// A node that has links, followed by its duplicates.
    pub fn with_duplicates(&self, first: Node) -> impl Iterator<Item = Node> + '_ {
        std::iter::once(first).chain(self.nodes.duplicates.of(first))
    }
}

#[cfg(test)]
mod tests {
    use super::super::nodes::Nodes;
    use super::*;
    use crate::types::Row;

    #[test]
    fn a_duplicate_among_provided_nodes_allocates_nothing() {
        // As a file has them: their chains have no memory yet.
        let nodes = Nodes::new(2, 0, 9_000);
        nodes.append_all((0..9_000).map(|number| (Row::new(number), 0)));
        nodes.provide(1);
        let bytes = nodes.duplicates.bytes();
        let duplicate = nodes.allocate(Row::new(9_000)).node();
        nodes.add_duplicate(duplicate, Node::new(2_000));
        nodes.add_duplicate(Node::new(5_000), Node::new(7));
        assert_eq!(nodes.duplicates.of(Node::new(2_000)).collect::<Vec<Node>>(), [duplicate]);
        assert_eq!(nodes.duplicates.bytes(), bytes);
    }

    #[test]
    fn threads_add_duplicates_to_one_chain_and_lose_none() {
        let duplicates = Duplicates::new();
        let first = Node::new(3);
        assert!(!duplicates.exist() && duplicates.of(first).next().is_none());
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let duplicates = &duplicates;
                scope.spawn(move || {
                    (0..3000).for_each(|n| duplicates.push(first, Node::new(10 + 3 * n + thread)))
                });
            }
            // Readers meanwhile see chains that end.
            (0..100).for_each(|_| assert!(duplicates.of(first).count() <= 9000));
        });
        let mut all: Vec<u32> = duplicates.of(first).map(Node::get).collect();
        all.sort_unstable();
        assert_eq!(all, (10..9010).collect::<Vec<u32>>());
    }
}
