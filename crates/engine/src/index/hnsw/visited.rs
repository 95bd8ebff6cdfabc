//! Marks of the nodes that a walk has met.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::nodes::Link;
use crate::types::Node;

/// Links that are read in one go.
pub(super) const BLOCK: usize = 32;

/// A mark per node that is cleared in constant time: a node is marked when its cell holds the number of the walk.
///
/// A thread uses one set for all graphs. All cells are cleared once in 65,535 walks.
#[derive(Default)]
pub(super) struct Visited {
    /// By the number of the node plus one. The first cell stands for no node and is always marked.
    cells: Vec<u16>,
    walk: u16,
}

impl Visited {
    /// Clears all marks and makes room for nodes below `len`.
    pub(super) fn begin(&mut self, len: u32) -> Marks<'_> {
        let cells = len as usize + 1;
        if self.cells.len() < cells {
            self.cells.resize(cells.next_multiple_of(4096), 0);
        }
        self.walk = self.walk.wrapping_add(1);
        if self.walk == 0 {
            self.cells.fill(0);
            self.walk = 1;
        }
        self.cells[0] = self.walk;
        Marks { cells: &mut self.cells[..cells], walk: self.walk }
    }
}

/// The marks of one walk.
pub(super) struct Marks<'a> {
    cells: &'a mut [u16],
    walk: u16,
}

impl Marks<'_> {
    /// Marks a node. False when it was marked before, or is beyond the nodes of this walk.
    #[inline(always)]
    pub(super) fn visit(&mut self, node: Node) -> bool {
        match self.cells.get_mut(node.index() + 1) {
            Some(cell) if *cell != self.walk => {
                *cell = self.walk;
                true
            }
            _ => false,
        }
    }

    /// Marks the nodes that a block of link words names, and collects those met for the first time.
    ///
    /// There is no branch for a node that was met before: half of them were, in no order that could be predicted.
    #[inline(always)]
    pub(super) fn gather(&mut self, words: &[AtomicU32], fresh: &mut Fresh) {
        debug_assert!(words.len() <= BLOCK, "{} words", words.len());
        let mut len = 0;
        for word in words {
            let number = Link::number(word.load(Ordering::Relaxed));
            // The words behind the last link name cell 0.
            if let Some(cell) = self.cells.get_mut(number as usize) {
                fresh.nodes[len % BLOCK] = Node::new(number.wrapping_sub(1));
                len += usize::from(*cell != self.walk);
                *cell = self.walk;
            }
        }
        fresh.len = len;
        // Everything that was written before a link was published is visible to a thread that follows the link.
        fence(Ordering::Acquire);
    }
}

/// The nodes of one block of links that a walk meets for the first time.
#[derive(Default)]
pub(super) struct Fresh {
    nodes: [Node; BLOCK],
    len: usize,
}

impl Fresh {
    #[inline(always)]
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes[..self.len.min(BLOCK)]
    }

    /// Keeps the nodes for which `keep` returns true.
    #[inline(always)]
    pub(super) fn retain(&mut self, mut keep: impl FnMut(Node) -> bool) {
        let mut kept = 0;
        for at in 0..self.len.min(BLOCK) {
            let node = self.nodes[at];
            if keep(node) {
                self.nodes[kept % BLOCK] = node;
                kept += 1;
            }
        }
        self.len = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_last_for_one_walk_even_when_the_counter_wraps() {
        let mut visited = Visited::default();
        for walk in 0..140_000u32 {
            let mut marks = visited.begin(1 + walk % 3);
            assert!(marks.visit(Node::new(0)), "walk {walk}");
            assert!(!marks.visit(Node::new(0)));
            assert!(!marks.visit(Node::new(1 + walk % 3)), "a node beyond the walk");
        }
    }

    #[test]
    fn a_block_gives_each_new_node_once_and_nothing_beyond_the_walk() {
        let mut visited = Visited::default();
        let mut marks = visited.begin(40);
        let mut fresh = Fresh::default();
        let words = |links: &[u32]| -> Vec<AtomicU32> {
            let tail = vec![0; BLOCK - links.len()];
            links.iter().map(|node| node + 1).chain(tail).map(AtomicU32::new).collect()
        };
        marks.visit(Node::new(7));
        marks.gather(&words(&[3, 7, 3, 39, 40, 0, (1 << 30) - 2]), &mut fresh);
        assert_eq!(fresh.nodes(), [3, 39, 0].map(Node::new));
        marks.gather(&words(&[3, 39, 0]), &mut fresh);
        assert!(fresh.nodes().is_empty());
        // Marks are not part of the number.
        let marked = words(&[]);
        marked[0].store((1 << 31) | 6, Ordering::Relaxed);
        marked[1].store((3 << 30) | 7, Ordering::Relaxed);
        marks.gather(&marked, &mut fresh);
        assert_eq!(fresh.nodes(), [5, 6].map(Node::new));
        let all: Vec<u32> = (8..40).collect();
        marks.gather(&words(&all), &mut fresh);
        let unmarked: Vec<Node> = (8..39).map(Node::new).collect();
        assert_eq!(fresh.nodes(), unmarked);
        fresh.retain(|node| node.get() % 2 == 0);
        assert_eq!(fresh.nodes().len(), 16);
    }
}
