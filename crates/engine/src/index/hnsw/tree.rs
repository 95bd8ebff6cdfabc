//! The spanning tree that keeps every row within reach.
//!
//! A link of the base layer can carry a tree mark. The invariant, outside of an insertion that is under way:
//!
//! 1. marks come in pairs: if a's link to b is marked, so is b's link to a;
//! 2. the marked links form one tree over all nodes;
//! 3. no node has more than [`Nodes::tree_capacity`](super::nodes::Nodes::tree_capacity) of them;
//! 4. pruning keeps marked links.
//!
//! From 1 and 2 every row reaches every other one in the base layer. An insertion keeps them: the new node, which
//! nobody knows yet, writes its link to the parent first, then the parent's link to it appears under the parent's
//! lock. The parent is the nearest node with room; a tree has leaves and these have room (capacity is at least 3), so
//! one is always found. A graph that was written while rows were on their way, or cut to fewer rows, can lack links;
//! [`Hnsw::repair`] joins its parts.

use std::collections::{HashSet, VecDeque};

use super::insert::{BuildScratch, LinkScratch};
use super::nodes::Link;
use super::pool::Candidate;
use super::{Hnsw, Probe};
use crate::arena::RowTable;

impl Hnsw {
    /// Writes the base links of a new node, one of them to a parent, and makes the parent link back: the moment from
    /// which the node is part of the graph.
    ///
    /// `chosen` are the node's links to be, `found` further nodes near it, both nearest first.
    pub(super) fn join_tree(
        &self,
        probe: &Probe,
        row: u32,
        chosen: &[(f32, Link)],
        found: &[Candidate],
        scratch: &mut LinkScratch,
    ) {
        let near = chosen.iter().map(|&(distance, link)| (distance, link.row()));
        for (distance, parent) in near.chain(found.iter().map(|c| (c.distance(), c.row()))) {
            if self.adopt(probe.rows, row, chosen, (distance, parent), scratch) {
                return;
            }
        }
        let Some((entry, _)) = self.entry() else { return };
        let start = found.first().map_or(entry, |nearest| nearest.row());
        let parents = self.tree_from(start, |parent| {
            let distance = if probe.can_read(parent) { probe.one(parent) } else { f32::MAX };
            self.adopt(probe.rows, row, chosen, (distance, parent), scratch)
        });
        assert!(parents.is_some(), "a tree has leaves, and these have room for a child");
    }

    /// Tries one parent for a new node.
    fn adopt(
        &self,
        rows: &RowTable,
        row: u32,
        chosen: &[(f32, Link)],
        (distance, parent): (f32, u32),
        scratch: &mut LinkScratch,
    ) -> bool {
        let up = Link::new(parent, true);
        let others = chosen.iter().map(|&(_, link)| link).filter(|link| link.row() != parent);
        // At most m were chosen, so there is room for one more.
        let own: Vec<Link> = [up].into_iter().chain(others).collect();
        self.nodes.lock(row).write(0, &own);
        self.link_back(rows, parent, 0, (distance, Link::new(row, true)), scratch)
    }

    /// Goes through the tree breadth first, until `visit` says yes to a node, and returns that.
    fn tree_from(&self, start: u32, mut visit: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut seen = HashSet::from([start]);
        let mut queue = VecDeque::from([start]);
        let mut links = Vec::new();
        while let Some(row) = queue.pop_front() {
            if visit(row) {
                return Some(row);
            }
            links.clear();
            // Under the lock: a list that is being rewritten may seem to lack a link.
            self.nodes.lock(row).read(0, &mut links);
            let next = links.iter().filter(|link| link.in_tree()).map(|link| link.row());
            queue.extend(next.filter(|&row| seen.insert(row)));
        }
        None
    }

    /// The rows that cannot be reached from the entry point in the base layer, ascending. Empty unless the graph was
    /// read from a file that needs [`Hnsw::repair`], or rows are being inserted right now.
    pub fn unreachable(&self) -> Vec<u32> {
        let mut is_reached = vec![false; self.nodes.end() as usize];
        let mut stack: Vec<u32> = self.entry().map(|(entry, _)| entry).into_iter().collect();
        for &row in &stack {
            is_reached[row as usize] = true;
        }
        while let Some(row) = stack.pop() {
            self.nodes.for_each_link(row, 0, |link| {
                // Rows inserted since the start are beyond the list.
                if let Some(reached @ false) = is_reached.get_mut(link.row() as usize) {
                    *reached = true;
                    stack.push(link.row());
                }
            });
        }
        (0..is_reached.len() as u32).filter(|&row| !is_reached[row as usize] && self.contains(row)).collect()
    }

    /// Joins the parts of a graph that was read from a file, so that every row can be reached again, and returns how
    /// many joints it made; 0 when the graph is whole. To be called while no row is being inserted; searches may go
    /// on. `rows` holds all rows of the graph.
    pub fn repair(&self, rows: &RowTable, scratch: &mut BuildScratch) -> usize {
        let Some((entry, _)) = self.entry() else { return 0 };
        let mut parts = self.parts();
        let mut joints = 0;
        for row in (0..self.nodes.end()).filter(|&row| self.contains(row)) {
            if parts.are_joined(row, entry) {
                continue;
            }
            let member = self.tree_from(row, |row| self.has_tree_room(row)).expect("a tree has leaves");
            let mut vector = Vec::new();
            self.load(rows, member, &mut vector);
            let vector = &vector;
            let is_other = |other: u32| parts.are_joined(other, entry) && self.has_tree_room(other);
            let ef = self.params.ef_construct;
            let near = self
                .search(rows, vector, ef, &is_other, &|a, b| a.cmp(&b), &mut scratch.search, &|| false)
                .expect("the search of a repair is not stopped");
            let (distance, other) = near.first().copied().unwrap_or_else(|| {
                let other = self.tree_from(entry, |row| self.has_tree_room(row)).expect("a tree has leaves");
                (self.distance.one(vector, rows.row(other)), other)
            });
            for (from, to) in [(other, member), (member, other)] {
                let link = (distance, Link::new(to, true));
                let is_linked = self.link_back(rows, from, 0, link, &mut scratch.links);
                assert!(is_linked, "both ends were seen to have room");
            }
            parts.join(member, other);
            joints += 1;
        }
        joints
    }

    fn has_tree_room(&self, row: u32) -> bool {
        let mut marked = 0;
        self.nodes.for_each_link(row, 0, |link| marked += usize::from(link.in_tree()));
        marked < self.nodes.tree_capacity()
    }

    fn has_tree_link(&self, from: u32, to: u32) -> bool {
        let mut found = false;
        self.nodes.for_each_link(from, 0, |link| found |= link == Link::new(to, true));
        found
    }

    /// The parts that the tree has fallen into.
    fn parts(&self) -> Parts {
        let mut parts = Parts::new(self.nodes.end());
        for row in 0..self.nodes.end() {
            self.nodes.for_each_link(row, 0, |link| {
                if link.in_tree() {
                    parts.join(row, link.row());
                }
            });
        }
        parts
    }

    /// Removes the tree marks of a graph just read that break the invariant: single ones, those that close a circle,
    /// and those beyond the capacity of a node. What is left is a forest, whatever the file said.
    pub(super) fn keep_forest(&self) {
        let mut parts = Parts::new(self.nodes.end());
        let mut marked = vec![0usize; self.nodes.end() as usize];
        let mut links = Vec::new();
        for row in 0..self.nodes.end() {
            if !self.contains(row) {
                continue;
            }
            links.clear();
            let node = self.nodes.lock(row);
            node.read(0, &mut links);
            for (place, link) in links.iter().enumerate().filter(|(_, link)| link.in_tree()) {
                let other = link.row();
                if links[..place].contains(link) {
                    node.set(0, place, Link::new(other, false));
                    continue;
                }
                let is_pair = self.has_tree_link(other, row);
                let is_sound = if other < row {
                    // Judged from the other side already, unless that side does not have it.
                    is_pair
                } else {
                    let room = self.nodes.tree_capacity();
                    is_pair
                        && marked[row as usize] < room
                        && marked[other as usize] < room
                        && parts.join(row, other)
                };
                if !is_sound {
                    node.set(0, place, Link::new(other, false));
                    if other > row && is_pair {
                        self.unmark(other, row);
                    }
                } else if other > row {
                    marked[row as usize] += 1;
                    marked[other as usize] += 1;
                }
            }
        }
    }

    fn unmark(&self, from: u32, to: u32) {
        let node = self.nodes.lock(from);
        let mut links = Vec::new();
        node.read(0, &mut links);
        for (place, _) in links.iter().enumerate().filter(|&(_, &link)| link == Link::new(to, true)) {
            node.set(0, place, Link::new(to, false));
        }
    }
}

/// Disjoint sets of rows (union by size).
struct Parts {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl Parts {
    fn new(rows: u32) -> Parts {
        Parts { parent: (0..rows).collect(), size: vec![1; rows as usize] }
    }

    fn find(&self, mut row: u32) -> u32 {
        while self.parent[row as usize] != row {
            row = self.parent[row as usize];
        }
        row
    }

    fn are_joined(&self, a: u32, b: u32) -> bool {
        self.find(a) == self.find(b)
    }

    /// Joins the parts of two rows; false when they were one already.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        let (large, small) = if self.size[a as usize] < self.size[b as usize] { (b, a) } else { (a, b) };
        self.parent[small as usize] = large;
        self.size[large as usize] += self.size[small as usize];
        true
    }
}
