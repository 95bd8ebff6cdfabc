//! Adding a node to the graph.

use std::sync::atomic::Ordering;

use super::apart::Place;
use super::nodes::{Link, Slot};
use super::pool::Candidate;
use super::search::{SearchScratch, score};
use super::select::{Selection, UNKNOWN};
use super::{Hnsw, pack_entry};
use crate::index::Space;

/// The memory of an insertion over a space with queries of type `Q`, for reuse by the next one. One for a thread.
#[derive(Default)]
pub struct BuildScratch<Q = Vec<f32>> {
    pub(super) search: SearchScratch,
    pub(super) links: LinkScratch<Q>,
    /// The links that the new node begins with, nearest first, by layer.
    layers: Vec<Vec<(f32, Link)>>,
    /// The nodes that the walk of the base layer found, nearest first.
    found: Vec<Candidate>,
}

/// The memory of a change to one node's links.
#[derive(Default)]
pub(super) struct LinkScratch<Q> {
    pub(super) selection: Selection<Q>,
    pub(super) links: Vec<Link>,
    /// Stands for the node whose links change.
    centre: Q,
    /// Stands for one that was found.
    mate: Q,
    known: Vec<u32>,
}

impl<Q: Default> BuildScratch<Q> {
    /// Empty scratch; it grows to the size of the graphs it is used on.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Hnsw {
    /// Inserts a node that was claimed. `query` stands for it, and the space has it.
    ///
    /// Several threads may insert different nodes at once, each with its own scratch, over any view that holds its
    /// node. When this returns, the node can be reached from every other one, and searches over views that hold it
    /// find it. A node that equals an older one hangs on that.
    pub fn insert<S: Space>(
        &self,
        space: &S,
        slot: Slot,
        query: &S::Query,
        scratch: &mut BuildScratch<S::Query>,
    ) {
        let node = slot.node();
        let level = self.nodes.level_of(node);
        let first =
            self.entry.compare_exchange(0, pack_entry(node, level), Ordering::AcqRel, Ordering::Acquire);
        let Err(_) = first else {
            self.root.store(u64::from(node) + 1, Ordering::Release);
            return;
        };
        if let Some(first) = self.find_neighbours(space, query, node, level, scratch) {
            self.nodes.hang(node, first);
            return;
        }
        // The node's own links come before the first link to it, and its base links are whole before a walk can come
        // down to it through an upper layer.
        let BuildScratch { links, layers, found, .. } = scratch;
        let new = self.nodes.lock(node);
        for (layer, chosen) in layers.iter().enumerate().skip(1) {
            new.write(layer, chosen.iter().map(|&(_, link)| link));
        }
        drop(new);
        self.join_tree(space, query, node, &layers[0], found, links);
        for (layer, chosen) in layers.iter().enumerate() {
            for &(distance, neighbour) in chosen {
                self.link_back(space, neighbour.node(), layer, (distance, Link::new(node, false)), links);
            }
        }
        self.raise_entry(node, level);
    }

    /// Fills `scratch.layers` with the chosen neighbours of a new node in every layer that it shares with others, unless
    /// it is a twin: then it answers the node that it is to hang on.
    fn find_neighbours<S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        node: u32,
        level: usize,
        scratch: &mut BuildScratch<S::Query>,
    ) -> Option<u32> {
        let top = self.entry().map_or(0, |(_, top)| top);
        let shared = level.min(top);
        let BuildScratch { search, links: LinkScratch { selection, centre, mate, .. }, layers, found } =
            scratch;
        layers.iter_mut().for_each(Vec::clear);
        layers.resize_with(shared + 1, Vec::new);
        found.clear();
        let ef = self.insertion_width();
        let from_itself = space.one(query, node);
        let place = Place::of(space, node, centre);
        let mut start = self.descend(space, query, shared, search);
        for layer in (0..=shared).rev() {
            // None when this thread's view is older than all nodes met so far: then the tree alone connects the node.
            let Some(begin) = start else { break };
            self.walk(space, query, layer, &[begin], ef, &|_| true, search, &|| false)
                .expect("the walk of an insertion is not stopped");
            start = search.found().first().map(|nearest| nearest.unexpanded());
            selection.candidates.clear();
            let candidates = search.found().iter().map(|c| (c.distance(), Link::new(c.node(), false), false));
            selection.candidates.extend(candidates);
            if layer == 0 {
                found.extend_from_slice(search.found());
                if let Some(first) = self.twin_among(space, node, from_itself, found) {
                    return Some(first);
                }
            }
            // Half of the room that is left after m is for links back.
            let m = self.params.m;
            let (capacity, fill) = (if layer == 0 { m + m / 2 } else { m }, m + m / 4);
            if self.stands_apart(from_itself, &place, search.found(), [&mut selection.probe, mate]) {
                self.look_farther(space, query, layer, search, &mut selection.candidates);
                selection.choose_widely(&place, capacity, fill);
            } else {
                selection.choose(space, capacity, fill);
            }
            layers[layer].extend_from_slice(&selection.chosen);
        }
        None
    }

    /// Width of the walks of an insertion.
    pub(super) fn insertion_width(&self) -> usize {
        self.params.ef_construct.max(self.params.m)
    }

    /// Puts a link into the list of the node `to`. When the list is full, it is chosen anew from all its links and the
    /// new one, which may then be left out, unless it is a link of the tree.
    ///
    /// False when the link is one of the tree and the node has no room for more of these; nothing changes then.
    pub(super) fn link_back<S: Space>(
        &self,
        space: &S,
        to: u32,
        layer: usize,
        (distance, link): (f32, Link),
        scratch: &mut LinkScratch<S::Query>,
    ) -> bool {
        let LinkScratch { selection, links, centre, known, .. } = scratch;
        let node = self.nodes.lock(to);
        links.clear();
        node.read(layer, links);
        let tree_is_full = links.iter().filter(|link| link.in_tree()).count() >= self.nodes.tree_capacity();
        if let Some(place) = links.iter().position(|present| present.node() == link.node()) {
            if link.in_tree() && !links[place].in_tree() {
                if tree_is_full {
                    return false;
                }
                node.set(layer, place, links[place].with_tree_mark());
            }
            return true;
        }
        if link.in_tree() && tree_is_full {
            return false;
        }
        let capacity = self.nodes.capacity(layer);
        if links.len() < capacity {
            node.set(layer, links.len(), link);
            return true;
        }
        selection.candidates.clear();
        selection.candidates.push((distance, link, link.in_tree()));
        // A link to a node that this view lacks cannot be judged: it stays, while there is room for it.
        let can_judge = space.can_read(to);
        let in_tree = links.iter().chain([&link]).filter(|link| link.in_tree()).count();
        let mut room_for_unknown = capacity - in_tree;
        known.clear();
        links.retain(|&present| {
            if can_judge && space.can_read(present.node()) {
                known.push(present.node());
                return true;
            }
            if !present.in_tree() {
                if room_for_unknown == 0 {
                    return false;
                }
                room_for_unknown -= 1;
            }
            selection.candidates.push((UNKNOWN, present, true));
            false
        });
        if can_judge {
            space.load(to, centre);
        }
        let mut known_links = links.iter();
        score(space, centre, known, |candidate| {
            let &present = known_links.next().expect("as many distances as links");
            selection.candidates.push((candidate.distance(), present, present.in_tree()));
        });
        selection.choose(space, capacity, self.params.m + self.params.m / 4);
        node.write(layer, selection.chosen.iter().map(|&(_, link)| link));
        true
    }
}
