//! What a walk has found, and where it can go on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pool::{Candidate, Pool};
use crate::types::Node;

/// What a walk has found and where it can go on.
///
/// While every node is accepted, one sorted pool is both. From the first refused node on, the pool holds the accepted
/// nodes only, and a heap holds all nodes that can still be expanded.
#[derive(Default)]
pub(super) struct Frontier {
    results: Pool,
    is_split: bool,
    open: BinaryHeap<Reverse<Candidate>>,
}

impl Frontier {
    /// Empties it for a walk of width `ef`, at least 1.
    pub(super) fn begin(&mut self, ef: usize) {
        self.results.begin(ef);
        self.is_split = false;
        self.open.clear();
    }

    /// Whether there are as many accepted nodes as the walk is wide.
    pub(super) fn is_full(&self) -> bool {
        self.results.is_full()
    }

    /// The accepted nodes, best first.
    pub(super) fn found(&self) -> &[Candidate] {
        self.results.entries()
    }

    /// Takes a node that was met for the first time, if it is good enough. True when it is the next to be expanded,
    /// as things stand.
    #[inline(always)]
    pub(super) fn offer(&mut self, candidate: Candidate, accept: &impl Fn(Node) -> bool) -> bool {
        debug_assert!(!candidate.is_expanded(), "a candidate of another walk");
        if !self.results.admits(candidate) {
            return false;
        }
        let accepted = accept(candidate.node());
        if !accepted && !self.is_split {
            self.is_split = true;
            self.open.extend(self.results.unexpanded().map(Reverse));
        }
        let is_first = accepted && self.results.insert(candidate);
        if self.is_split {
            let is_first = self.open.peek().is_none_or(|&Reverse(first)| candidate < first);
            self.open.push(Reverse(candidate));
            return is_first;
        }
        is_first
    }

    /// The next node to expand; none when all that is left is worse than the results.
    #[inline(always)]
    pub(super) fn expand_next(&mut self) -> Option<Node> {
        if !self.is_split {
            return self.results.expand_next();
        }
        let Reverse(next) = self.open.pop()?;
        let worst = self.results.entries().last();
        let is_hopeless = self.results.is_full() && worst.is_some_and(|&worst| next > worst);
        (!is_hopeless).then_some(next.node())
    }
    /// The node that would be expanded next, as things stand.
    #[inline(always)]
    pub(super) fn peek_next(&self) -> Option<Node> {
        if self.is_split { self.open.peek().map(|next| next.0.node()) } else { self.results.peek_next() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_that_is_named_as_the_next_one_is_expanded_next() {
        for refused in [None, Some(Node::new(3))] {
            let mut frontier = Frontier::default();
            frontier.begin(8);
            assert_eq!(frontier.peek_next(), None);
            for (distance, node) in [(3.0, 4), (1.0, 6), (2.0, 3)] {
                let candidate = Candidate::new(distance, Node::new(node));
                frontier.offer(candidate, &|node| Some(node) != refused);
            }
            for expected in [6, 3, 4].map(Node::new) {
                assert_eq!(frontier.peek_next(), Some(expected));
                assert_eq!(frontier.expand_next(), Some(expected));
            }
            assert_eq!((frontier.peek_next(), frontier.expand_next()), (None, None));
        }
    }
}
