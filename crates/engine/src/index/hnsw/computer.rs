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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Metric;
    use parking_lot::Mutex;

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Event {
        Fetched(u32),
        Compared(u32),
    }

    /// A space that notes what happens to its nodes.
    #[derive(Default)]
    struct Noting(Mutex<Vec<Event>>);

    impl Space for Noting {
        type Query = ();

        fn one(&self, _query: &(), node: Node) -> f32 {
            self.0.lock().push(Event::Compared(node.get()));
            node.get() as f32
        }

        fn four(&self, query: &(), nodes: [Node; 4]) -> [f32; 4] {
            nodes.map(|node| self.one(query, node))
        }

        fn prefetch(&self, node: Node) {
            self.0.lock().push(Event::Fetched(node.get()));
        }

        fn look_ahead(&self) -> usize {
            5
        }

        fn metric(&self) -> Metric {
            Metric::Euclid
        }

        fn load(&self, _node: Node, _query: &mut ()) {}

        fn is_same(&self, a: Node, b: Node) -> bool {
            a == b
        }
    }

    #[test]
    fn every_node_is_fetched_once_as_far_ahead_as_the_space_says() {
        let nodes: Vec<Node> = (0..14).map(Node::new).collect();
        let (space, mut found) = (Noting::default(), Vec::new());
        DistanceComputer::new(&space, &()).score(&nodes, |one| found.push(one.node()));
        assert_eq!(found, nodes);
        let events = space.0.into_inner();
        let fetched: Vec<u32> = events
            .iter()
            .filter_map(|event| match event {
                Event::Fetched(node) => Some(*node),
                Event::Compared(_) => None,
            })
            .collect();
        assert_eq!(fetched, (0..14).collect::<Vec<u32>>());
        let time_of = |event: Event| events.iter().position(|&one| one == event).expect("it happens");
        for first in [0, 4] {
            let last_ahead = first + 3 + 5;
            assert!(time_of(Event::Fetched(last_ahead)) < time_of(Event::Compared(first)), "{first}");
        }
    }
}
