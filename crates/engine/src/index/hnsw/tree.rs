//! The spanning tree that keeps every node within reach.
//!
//! A link of the base layer can carry a tree mark. The invariant, outside of an insertion that is under way:
//!
//! 1. marks come in pairs: if a's link to b is marked, so is b's link to a;
//! 2. the marked links form one tree over all nodes but duplicates;
//! 3. no node has more than [`Nodes::tree_capacity`](super::nodes::Nodes::tree_capacity) of them;
//! 4. pruning keeps marked links.
//!
//! From 1 and 2 every node reaches every other one in the base layer. An insertion keeps them: the new node, which no
//! link names yet, writes its link to the parent first; then the parent's link to it is written under the parent's lock.
//! The parent is the nearest of its links with room, else the nearest node with room that it found. A tree has leaves,
//! and these have room (capacity is at least 3), so a parent is always found. A graph that was written while nodes were
//! being inserted, or cut to fewer nodes, can lack links; [`Hnsw::repair`] joins its parts.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;

use super::computer::DistanceComputer;
use super::insert::{BuildScratch, LinkScratch};
use super::nodes::Link;
use super::parts::Parts;
use super::pool::Candidate;
use super::select::UNKNOWN;
use super::{Hnsw, WalkParams};
use crate::index::{Space, Stopped};
use crate::types::Node;

/// Nodes near a new one that are tried as its parent, beside those that its walk has found.
const NEAR_PARENTS: usize = 64;

impl Hnsw {
    /// Writes the base links of a new node, one of them to a parent, and makes the parent link back. From then on the
    /// node is part of the graph.
    ///
    /// `chosen` are the node's links to be, `found` further nodes near it, both nearest first.
    pub(super) fn join_tree<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        node: Node,
        chosen: &[(f32, Link)],
        found: &[Candidate],
        scratch: &mut LinkScratch<S::Query>,
    ) {
        let DistanceComputer { space, query } = computer;
        let near = chosen.iter().map(|&(distance, link)| (distance, link.node()));
        for parent in near.chain(found.iter().map(|c| (c.distance(), c.node()))) {
            if self.adopt(space, node, chosen, parent, scratch) {
                return;
            }
        }
        let Some((entry, _)) = self.entry() else { return };
        let nearest = found.first().map_or(entry, |nearest| nearest.node());
        let mut adopt = |parent| {
            let distance = if space.can_read(parent) { space.one(query, parent) } else { UNKNOWN };
            self.adopt(space, node, chosen, (distance, parent), scratch)
        };
        // Of many nodes that are near to the same ones all but the first find only full nodes there. They go on where the last
        // one of them has found a parent: each through all full nodes would take the square of their number.
        let last = self.last_parent.load(Ordering::Relaxed).checked_sub(1).map(Node::new);
        let parent = self
            .tree_from(nearest, NEAR_PARENTS, &mut adopt)
            .or_else(|| self.tree_from(last.unwrap_or(nearest), usize::MAX, &mut adopt))
            .expect("a tree has leaves, and these have room for a child");
        self.last_parent.store(parent.get() + 1, Ordering::Relaxed);
    }

    /// Tries one parent for a new node.
    fn adopt<S: Space>(
        &self,
        space: &S,
        node: Node,
        chosen: &[(f32, Link)],
        (distance, parent): (f32, Node),
        scratch: &mut LinkScratch<S::Query>,
    ) -> bool {
        let up = chosen.iter().find(|(_, link)| link.node() == parent);
        let up = up.map_or(Link::new(parent, true), |(_, link)| link.with_tree_mark());
        let others = chosen.iter().map(|&(_, link)| link).filter(|link| link.node() != parent);
        // At most 3/2 m were chosen, so there is room for one more.
        self.nodes.lock(node).write(0, [up].into_iter().chain(others));
        self.link_back(space, parent, 0, (distance, Link::new(node, true)), scratch)
    }

    /// Goes through the tree breadth first and returns the first node for which `visit` returns true, of the first `most`.
    fn tree_from(&self, start: Node, most: usize, mut visit: impl FnMut(Node) -> bool) -> Option<Node> {
        let mut seen = HashSet::from([start]);
        let mut queue = VecDeque::from([start]);
        let mut links = Vec::new();
        for _ in 0..most {
            let node = queue.pop_front()?;
            if visit(node) {
                return Some(node);
            }
            links.clear();
            // Under the lock: a list that is being rewritten may seem to lack a link.
            self.nodes.lock(node).read(0, &mut links);
            let next = links.iter().filter(|link| link.in_tree()).map(|link| link.node());
            queue.extend(next.filter(|&node| seen.insert(node)));
        }
        None
    }

    /// The nodes that cannot be reached from the entry point in the base layer, ascending. Empty unless the graph was
    /// read from a file that needs [`Hnsw::repair`], or nodes are being inserted right now.
    pub fn unreachable(&self) -> Vec<Node> {
        let mut is_reached = vec![false; self.len() as usize];
        let mut stack: Vec<Node> = self.entry().map(|(entry, _)| entry).into_iter().collect();
        for &node in &stack {
            is_reached[node.index()] = true;
        }
        while let Some(node) = stack.pop() {
            self.nodes.for_each_link(node, 0, |link| {
                // Nodes inserted since the start are beyond the list.
                if let Some(reached @ false) = is_reached.get_mut(link.node().index()) {
                    *reached = true;
                    stack.push(link.node());
                }
            });
        }
        for first in (0..is_reached.len() as u32).map(Node::new) {
            if is_reached[first.index()] && !self.nodes.is_duplicate(first) {
                for duplicate in self.nodes.duplicates.of(first) {
                    is_reached.get_mut(duplicate.index()).into_iter().for_each(|reached| *reached = true);
                }
            }
        }
        (0..).map(Node::new).zip(is_reached).filter(|&(_, reached)| !reached).map(|(node, _)| node).collect()
    }

    /// Joins the parts of a graph that was read from a file, so that every node can be reached again. Returns the number of
    /// links that this took: 0 when the graph is connected. No node may be inserted meanwhile; searches may go on. The
    /// space has all nodes of the graph.
    pub fn repair<S: Space>(&self, space: &S, scratch: &mut BuildScratch<S::Query>) -> usize {
        let linked = self.all_nodes().filter(|&node| !self.nodes.is_duplicate(node)).count();
        if self.tree_links() == 2 * linked.saturating_sub(1) {
            return 0;
        }
        self.join_parts(space, scratch, &|| false).expect("a repair is not stopped")
    }

    /// Joins the parts of a graph, until `stop` returns true. Returns the number of links that this took.
    pub(super) fn join_parts<S: Space>(
        &self,
        space: &S,
        scratch: &mut BuildScratch<S::Query>,
        stop: &impl Fn() -> bool,
    ) -> Result<usize, Stopped> {
        let Some((entry, _)) = self.entry() else { return Ok(0) };
        let mut parts = self.parts();
        let mut joints = self.join_along_links(space, &mut parts, scratch, stop)?;
        let mut query = S::Query::default();
        for node in self.all_nodes() {
            if self.nodes.is_duplicate(node) || parts.are_joined(node, entry) {
                continue;
            }
            if stop() {
                return Err(Stopped);
            }
            let with_room = |start| self.tree_from(start, usize::MAX, |node| self.has_tree_room(node));
            let member = with_room(node).expect("a tree has leaves");
            space.load(member, &mut query);
            let is_other = |other: Node| parts.are_joined(other, entry) && self.has_tree_room(other);
            let walk = WalkParams::wide(self.params.ef_construct);
            self.walk(space, &query, &walk, &is_other, &mut scratch.walk, stop)?;
            // Without duplicates, which have no links and so cannot be joined.
            let other = match scratch.walk.found().first() {
                Some(nearest) => nearest.node(),
                None => with_room(entry).expect("a tree has leaves"),
            };
            self.join(space, &query, member, other, scratch);
            parts.join(member, other);
            joints += 1;
        }
        Ok(joints)
    }

    /// Joins parts of the tree by links that are there already.
    fn join_along_links<S: Space>(
        &self,
        space: &S,
        parts: &mut Parts,
        scratch: &mut BuildScratch<S::Query>,
        stop: &impl Fn() -> bool,
    ) -> Result<usize, Stopped> {
        let mut joints = 0;
        let mut query = S::Query::default();
        let mut links = Vec::new();
        for node in self.all_nodes() {
            if node.get().is_multiple_of(256) && stop() {
                return Err(Stopped);
            }
            links.clear();
            self.nodes.for_each_link(node, 0, |link| links.push(link.node()));
            for &other in &links {
                let is_joint = !parts.are_joined(node, other);
                if is_joint && self.has_tree_room(node) && self.has_tree_room(other) {
                    space.load(node, &mut query);
                    self.join(space, &query, node, other, scratch);
                    parts.join(node, other);
                    joints += 1;
                }
            }
        }
        Ok(joints)
    }

    /// Makes a pair of tree links between two nodes with room for them. `query` stands for `a`.
    fn join<S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        a: Node,
        b: Node,
        scratch: &mut BuildScratch<S::Query>,
    ) {
        let distance = space.one(query, b);
        for (from, to) in [(b, a), (a, b)] {
            let link = (distance, Link::new(to, true));
            let is_linked = self.link_back(space, from, 0, link, &mut scratch.links);
            assert!(is_linked, "both ends were seen to have room");
        }
    }

    /// Tree marks in the base layer. A forest with two for each node but one is a tree over all.
    fn tree_links(&self) -> usize {
        let mut marked = 0;
        for node in self.all_nodes() {
            self.nodes.for_each_link(node, 0, |link| marked += usize::from(link.in_tree()));
        }
        marked
    }

    fn has_tree_room(&self, node: Node) -> bool {
        let mut marked = 0;
        self.nodes.for_each_link(node, 0, |link| marked += usize::from(link.in_tree()));
        marked < self.nodes.tree_capacity()
    }
}
