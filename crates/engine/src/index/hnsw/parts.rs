//! Disjoint sets of nodes.

use kithdb_kernels::prefetch_l1;

use crate::allocator;
use crate::types::Node;

/// So many pairs ahead their words are asked for: hardly any of them is in the cache.
const PREFETCHED_PAIRS: usize = 16;

/// Marks the word of a root, whose other bits are how many nodes its part has.
const ROOT: u32 = 1 << 31;

/// Disjoint sets of nodes: union by size, and paths that are halved on the way (Tarjan & van Leeuwen, *Worst-case analysis of set
/// union algorithms*, JACM 31(2), 1984).
pub(super) struct Parts(Vec<u32>);

impl Parts {
    /// Each node by itself.
    pub(super) fn new(nodes: u32) -> Parts {
        let mut parts = allocator::list(nodes as usize);
        parts.resize(nodes as usize, ROOT | 1);
        Parts(parts)
    }

    fn find(&self, mut node: Node) -> Node {
        while self.0[node.index()] & ROOT == 0 {
            node = Node::new(self.0[node.index()]);
        }
        node
    }

    fn find_and_shorten(&mut self, mut node: Node) -> Node {
        loop {
            let parent = self.0[node.index()];
            if parent & ROOT != 0 {
                return node;
            }
            let above = self.0[parent as usize];
            if above & ROOT != 0 {
                return Node::new(parent);
            }
            self.0[node.index()] = above;
            node = Node::new(above);
        }
    }

    pub(super) fn are_joined(&self, a: Node, b: Node) -> bool {
        self.find(a) == self.find(b)
    }

    /// Joins the parts of two nodes; false when they were one already.
    pub(super) fn join(&mut self, a: Node, b: Node) -> bool {
        let (a, b) = (self.find_and_shorten(a), self.find_and_shorten(b));
        if a == b {
            return false;
        }
        let (of_a, of_b) = (self.0[a.index()] & !ROOT, self.0[b.index()] & !ROOT);
        let (large, small) = if of_a < of_b { (b, a) } else { (a, b) };
        self.0[small.index()] = large.get();
        self.0[large.index()] = ROOT | (of_a + of_b);
        true
    }

    /// Joins the parts of pairs of nodes; false when those of a pair were one already, and the rest is left out then.
    pub(super) fn join_all(&mut self, pairs: &[[Node; 2]]) -> bool {
        pairs.iter().enumerate().all(|(at, &[a, b])| {
            if let Some(&[_, far]) = pairs.get(at + PREFETCHED_PAIRS) {
                prefetch_l1(&self.0[far.index()..=far.index()]);
            }
            self.join(a, b)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_as_sets_are() {
        let mut parts = Parts::new(7);
        let node = Node::new;
        let joined = [(0, 1), (2, 3), (5, 6), (1, 3)].map(|(a, b)| parts.join(node(a), node(b)));
        assert_eq!(joined, [true; 4]);
        assert!(!parts.join(node(0), node(2)) && !parts.join_all(&[[node(4), node(5)], [node(6), node(4)]]));
        assert!(parts.are_joined(node(4), node(6)) && !parts.are_joined(node(0), node(4)));
    }

    #[test]
    fn the_root_of_the_part_with_more_nodes_is_that_of_both() {
        let mut parts = Parts::new(6);
        let node = Node::new;
        for (a, b) in [(0, 1), (2, 3), (0, 2), (4, 5)] {
            assert!(parts.join(node(a), node(b)));
        }
        // Two nodes and four.
        assert!(parts.join(node(4), node(0)));
        assert_eq!([1, 2, 3, 4, 5].map(|at| parts.find(node(at))), [node(0); 5]);
    }
}
