//! The tree marks of a graph that was just read or written anew: whether they are what the invariant of [`tree`](super::tree)
//! says, and otherwise a part of them that is.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use super::Hnsw;
use super::nodes::{Link, mix};
use super::parts::Parts;
use crate::allocator;
use crate::types::Node;

/// A hash of pairs of nodes with a random key, which whoever wrote a file cannot know.
#[derive(Clone, Copy)]
pub(super) struct PairHash(u64);

impl PairHash {
    pub(super) fn new() -> PairHash {
        PairHash(RandomState::new().build_hasher().finish())
    }

    fn of(self, low: Node, high: Node) -> u64 {
        mix(self.0 ^ mix(u64::from(low.get()) << 32 | u64::from(high.get())))
    }
}

/// Tree marks of some nodes, as they are gathered from their links.
pub(super) struct TreeMarks {
    hash: PairHash,
    /// Most marks of a node.
    capacity: usize,
    /// The marked links to nodes of greater numbers.
    pairs: Vec<[Node; 2]>,
    /// How many others there are.
    backward: usize,
    /// The sum of the hashes of the former without those of the latter: 0 over all nodes if each mark has its counterpart.
    balance: u64,
    /// Whether a node has more marks than it may.
    has_excess: bool,
}

impl TreeMarks {
    /// None yet, with room for those of so many nodes, each of which may have `capacity` of them.
    pub(super) fn with_room(nodes: usize, hash: PairHash, capacity: usize) -> TreeMarks {
        // About one pair for each node: a tree has one less than it has nodes.
        let pairs = allocator::list(nodes);
        TreeMarks { hash, capacity, pairs, backward: 0, balance: 0, has_excess: false }
    }

    /// Those of all nodes of a graph.
    pub(super) fn of(graph: &Hnsw) -> TreeMarks {
        let capacity = graph.nodes.tree_capacity();
        let mut marks = TreeMarks::with_room(graph.len() as usize, PairHash::new(), capacity);
        let mut marked = Vec::new();
        for node in graph.all_nodes() {
            marked.clear();
            graph.nodes.for_each_link(node, 0, |link| marked.extend(link.in_tree().then(|| link.node())));
            marks.note(node, marked.iter().copied());
        }
        marks
    }

    /// Takes note of the marked links of a node.
    #[inline]
    pub(super) fn note(&mut self, node: Node, others: impl Iterator<Item = Node>) {
        let mut marked = 0;
        for other in others {
            marked += 1;
            if node < other {
                self.pairs.push([node, other]);
                self.balance = self.balance.wrapping_add(self.hash.of(node, other));
            } else {
                self.backward += 1;
                self.balance = self.balance.wrapping_sub(self.hash.of(other, node));
            }
        }
        self.has_excess |= marked > self.capacity;
    }
}

impl Hnsw {
    /// The sets of nodes that the tree connects.
    pub(super) fn parts(&self) -> Parts {
        let mut parts = Parts::new(self.len());
        for node in self.all_nodes() {
            self.nodes.for_each_link(node, 0, |link| {
                if link.in_tree() {
                    parts.join(node, link.node());
                }
            });
        }
        parts
    }

    /// Removes the tree marks of a graph just read that break the invariant: single ones, those that close a cycle, and
    /// those beyond the capacity of a node. The remaining marks form a forest for any contents of the file. `marks` are those
    /// of all nodes. Returns how many pairs of marks there are then. Nothing else may use the graph meanwhile.
    pub(super) fn keep_forest(&self, marks: &[TreeMarks]) -> usize {
        pairs_of_forest(self.len(), marks).unwrap_or_else(|| self.remove_unsound_marks())
    }

    /// As [`Hnsw::keep_forest`], mark by mark.
    fn remove_unsound_marks(&self) -> usize {
        let mut marks = MarkLists::of(self);
        let mut parts = Parts::new(self.len());
        let mut marked = vec![0usize; self.len() as usize];
        let room = self.nodes.tree_capacity();
        let mut own = Vec::new();
        for node in self.all_nodes() {
            own.clear();
            own.extend(marks.kept(node));
            for (at, &(place, other)) in own.iter().enumerate() {
                if own[..at].iter().any(|&(_, before)| before == other) {
                    marks.remove(node, place);
                    continue;
                }
                let is_pair = marks.kept(other).any(|(_, back)| back == node);
                let is_sound = if other < node {
                    // Checked from the other side already, unless that side does not have it.
                    is_pair
                } else {
                    is_pair
                        && marked[node.index()] < room
                        && marked[other.index()] < room
                        && parts.join(node, other)
                };
                if !is_sound {
                    marks.remove(node, place);
                    if other > node && is_pair {
                        marks.remove_all(other, node);
                    }
                } else if other > node {
                    marked[node.index()] += 1;
                    marked[other.index()] += 1;
                }
            }
        }
        // Each once: the places of the marks of a node are known by those that its links have.
        let mut changed = std::mem::take(&mut marks.changed);
        changed.sort_unstable();
        changed.dedup();
        changed.into_iter().for_each(|node| self.write_marks(node, &marks));
        marked.iter().sum::<usize>() / 2
    }

    /// Takes the marks from the links of a node that are not kept. Called once for a node: marks are found by their order.
    fn write_marks(&self, node: Node, marks: &MarkLists) {
        let mut links = Vec::new();
        let locked = self.nodes.lock(node);
        locked.read(0, &mut links);
        let in_tree = links.iter().enumerate().filter(|(_, link)| link.in_tree());
        for ((at, link), place) in in_tree.zip(marks.places(node)) {
            if !marks.is_kept[place] {
                locked.set(0, at, Link::new(link.node(), false));
            }
        }
    }
}

/// How many pairs of marks there are, if all marks are as they should be. `marks` are those of all nodes, made with one hash.
fn pairs_of_forest(nodes: u32, marks: &[TreeMarks]) -> Option<usize> {
    let pairs: usize = marks.iter().map(|marks| marks.pairs.len()).sum();
    let backward: usize = marks.iter().map(|marks| marks.backward).sum();
    let balance = marks.iter().fold(0u64, |sum, marks| sum.wrapping_add(marks.balance));
    // Different sets of as many pairs have the same sum of hashes with a probability of 2⁻⁶⁴.
    if pairs != backward || balance != 0 || marks.iter().any(|marks| marks.has_excess) {
        return None;
    }
    let mut parts = Parts::new(nodes);
    marks.iter().all(|marks| parts.join_all(&marks.pairs)).then_some(pairs)
}

/// The marked links of all nodes, one list behind the other: looking them up where they are would be an access to memory for
/// each.
struct MarkLists {
    /// Where the list of each node begins, and the end of the last one.
    starts: Vec<u32>,
    others: Vec<Node>,
    is_kept: Vec<bool>,
    /// The nodes that have a mark which is not kept. One may be there several times.
    changed: Vec<Node>,
}

impl MarkLists {
    fn of(graph: &Hnsw) -> MarkLists {
        let mut starts = Vec::with_capacity(graph.len() as usize + 1);
        let mut others = Vec::with_capacity(2 * graph.len() as usize);
        for node in graph.all_nodes() {
            starts.push(others.len() as u32);
            graph.nodes.for_each_link(node, 0, |link| {
                if link.in_tree() {
                    others.push(link.node());
                }
            });
        }
        starts.push(others.len() as u32);
        MarkLists { is_kept: vec![true; others.len()], starts, others, changed: Vec::new() }
    }

    fn places(&self, node: Node) -> Range<usize> {
        self.starts[node.index()] as usize..self.starts[node.index() + 1] as usize
    }

    /// The places and the other ends of the marked links of a node that are kept.
    fn kept(&self, node: Node) -> impl Iterator<Item = (usize, Node)> + '_ {
        self.places(node).filter(|&place| self.is_kept[place]).map(|place| (place, self.others[place]))
    }

    fn remove(&mut self, node: Node, place: usize) {
        self.is_kept[place] = false;
        self.changed.push(node);
    }

    fn remove_all(&mut self, from: Node, to: Node) {
        for place in self.places(from).filter(|&place| self.others[place] == to) {
            self.is_kept[place] = false;
        }
        self.changed.push(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::hnsw::HnswParams;
    use crate::types::Row;
    use proptest::prelude::*;

    const NODES: u32 = 7;
    const LINKS: usize = 4;
    const CAPACITY: usize = 3;

    /// Whether directed marks are pairs that form a forest, and no node has too many.
    fn is_forest(marks: &[(u32, u32)]) -> bool {
        let count = |pair| marks.iter().filter(|&&mark| mark == pair).count();
        let of = |node| marks.iter().filter(|(from, _)| *from == node).count();
        let mut reached: Vec<u32> = (0..NODES).collect();
        let is_acyclic = marks.iter().filter(|(a, b)| a < b).all(|&(a, b)| {
            let (of_a, of_b) = (reached[a as usize], reached[b as usize]);
            reached.iter_mut().filter(|part| **part == of_b).for_each(|part| *part = of_a);
            of_a != of_b
        });
        is_acyclic
            && marks.iter().all(|&(a, b)| count((a, b)) == 1 && count((b, a)) == 1)
            && (0..NODES).all(|node| of(node) <= CAPACITY)
    }

    /// As they are gathered from links in two pieces.
    fn gathered(marks: &[(u32, u32)]) -> [TreeMarks; 2] {
        let hash = PairHash::new();
        [0..NODES / 2, NODES / 2..NODES].map(|nodes| {
            let mut gathered = TreeMarks::with_room(nodes.len(), hash, CAPACITY);
            for node in nodes {
                let of_node = marks.iter().filter(|(from, _)| *from == node);
                gathered.note(Node::new(node), of_node.map(|&(_, to)| Node::new(to)));
            }
            gathered
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn marks_are_taken_for_a_forest_if_they_are_one(
            parents in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), NODES as usize - 1),
            removed in prop::option::of(any::<prop::sample::Index>()),
            added in prop::option::weighted(0.4, (0..NODES, 0..NODES)),
        ) {
            let with_parent = (1..).zip(&parents).filter_map(|(node, parent)| Some((node, parent.as_ref()?)));
            let pair = |(node, parent): (u32, &prop::sample::Index)| {
                let parent = parent.index(node as usize) as u32;
                [(node, parent), (parent, node)]
            };
            let mut marks: Vec<_> = with_parent.flat_map(pair).collect();
            if let Some(removed) = removed.filter(|_| !marks.is_empty()) {
                marks.remove(removed.index(marks.len()));
            }
            marks.extend(added.filter(|(a, b)| a != b));
            let pairs = pairs_of_forest(NODES, &gathered(&marks));
            prop_assert_eq!(pairs, is_forest(&marks).then_some(marks.len() / 2), "{:?}", marks);
        }
    }

    /// A graph whose nodes have these links, each with its tree mark or without it.
    fn graph_of(links: &[Vec<(u32, bool)>]) -> Hnsw {
        let graph = Hnsw::new(HnswParams { m: 2, ef_construct: 4, seed: 1 });
        assert_eq!((graph.nodes.capacity(0), graph.nodes.tree_capacity()), (LINKS, CAPACITY));
        for row in 0..links.len() as u32 {
            graph.nodes.append(Row::new(row), 0);
        }
        for (node, links) in (0..).map(Node::new).zip(links) {
            graph.nodes.write(node, 0, links.iter().map(|&(to, in_tree)| Link::new(Node::new(to), in_tree)));
        }
        graph
    }

    /// The directed tree marks of a graph.
    fn marks_of(graph: &Hnsw) -> Vec<(u32, u32)> {
        let mut marks = Vec::new();
        for node in graph.all_nodes() {
            graph.nodes.for_each_link(node, 0, |link| {
                marks.extend(link.in_tree().then(|| (node.get(), link.node().get())));
            });
        }
        marks
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn whatever_the_marks_of_a_file_are_those_that_stay_are_a_forest_of_as_many_pairs(
            links in prop::collection::vec(prop::collection::vec((0..NODES, prop::bool::weighted(0.7)), 0..=LINKS), NODES as usize),
        ) {
            let others = |(node, links): (u32, Vec<(u32, bool)>)| links.into_iter().filter(move |(to, _)| *to != node).collect();
            let links: Vec<Vec<(u32, bool)>> = (0..).zip(links).map(others).collect();
            let graph = graph_of(&links);
            let before = marks_of(&graph);
            let pairs = graph.keep_forest(&[TreeMarks::of(&graph)]);
            let kept = marks_of(&graph);
            prop_assert!(is_forest(&kept) && kept.len() == 2 * pairs, "{pairs} pairs of {before:?}: {kept:?}");
            prop_assert!(kept.iter().all(|mark| before.contains(mark)));
        }
    }

    #[test]
    fn a_node_that_loses_several_marks_keeps_the_others() {
        let graph = graph_of(&[
            vec![(1, true), (2, true), (3, true)],
            vec![(3, true)],
            vec![(3, true)],
            vec![(0, true), (1, true), (2, true)],
        ]);
        assert_eq!(graph.keep_forest(&[TreeMarks::of(&graph)]), 3);
        assert_eq!(marks_of(&graph), [(0, 3), (1, 3), (2, 3), (3, 0), (3, 1), (3, 2)]);
    }

    #[test]
    fn as_many_marks_in_both_directions_are_not_taken_for_pairs() {
        let marks = [(0, 1), (2, 1), (2, 3), (4, 3)];
        assert!(!is_forest(&marks) && pairs_of_forest(NODES, &gathered(&marks)).is_none());
    }
}
