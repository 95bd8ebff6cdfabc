//! Distances from one query to the nodes of a graph.

use super::pool::Candidate;
use crate::index::Space;
use crate::types::Node;

/// A query and the space that compares nodes with it, as Faiss' `DistanceComputer`.
pub(in crate::index) struct DistanceComputer<'a, S: Space> {
    pub(super) space: &'a S,
    pub(super) query: &'a S::Query,
}

// Derived implementations would ask for a space that can be copied itself.
impl<S: Space> Clone for DistanceComputer<'_, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Space> Copy for DistanceComputer<'_, S> {}

impl<'a, S: Space> DistanceComputer<'a, S> {
    #[inline(always)]
    pub(in crate::index) fn new(space: &'a S, query: &'a S::Query) -> DistanceComputer<'a, S> {
        DistanceComputer { space, query }
    }

    /// Whether the space has the node.
    #[inline(always)]
    pub(super) fn can_read(self, node: Node) -> bool {
        self.space.can_read(node)
    }

    /// A node that can be read, with its distance.
    #[inline(always)]
    pub(super) fn candidate(self, node: Node) -> Candidate {
        Candidate::new(self.space.one(self.query, node), node)
    }

    /// Gives every node with its distance to `each`. Nodes are compared four at a time, while the vectors of later ones
    /// are fetched from memory.
    #[inline(always)]
    pub(in crate::index) fn score(self, nodes: &[Node], mut each: impl FnMut(Candidate)) {
        let DistanceComputer { space, query } = self;
        let ahead = space.look_ahead().min(nodes.len());
        nodes.iter().take(ahead).for_each(|&node| space.prefetch(node));
        let (groups, rest) = nodes.as_chunks::<4>();
        for (at, &group) in groups.iter().enumerate() {
            nodes.iter().skip(4 * at + ahead).take(4).for_each(|&node| space.prefetch(node));
            for (distance, node) in space.four(query, group).into_iter().zip(group) {
                each(Candidate::new(distance, node));
            }
        }
        match *rest {
            [] => {}
            [node] => each(self.candidate(node)),
            // A group with one node twice costs less than two or three by themselves.
            _ => {
                let last = rest[rest.len() - 1];
                let group = std::array::from_fn(|at| rest.get(at).copied().unwrap_or(last));
                for (distance, &node) in space.four(query, group).into_iter().zip(rest) {
                    each(Candidate::new(distance, node));
                }
            }
        }
    }
}
