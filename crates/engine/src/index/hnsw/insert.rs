//! Adding a node to the graph.

use std::sync::atomic::Ordering;

use super::computer::DistanceComputer;
use super::isolated::Origin;
use super::nodes::{Link, LockedNode, Slot};
use super::pool::Candidate;
use super::select::{Selection, UNKNOWN};
use super::walk::WalkScratch;
use super::{Hnsw, pack_entry};
use crate::index::Space;
use crate::types::Node;

/// The memory of insertions over a space with queries of type `Q`, for reuse. Each thread needs one.
#[derive(Default)]
pub struct BuildScratch<Q = Vec<f32>> {
    pub(super) walk: WalkScratch,
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
    /// The present links of the node; the chosen ones are in the selection.
    pub(super) links: Vec<Link>,
    /// Stands for the node whose links change.
    centre: Q,
    /// Stands for one of the nodes that were found.
    neighbour: Q,
    /// The nodes of those links whose distances can be computed.
    readable: Vec<Node>,
}

impl<Q: Default> BuildScratch<Q> {
    /// Empty scratch; it grows to the size of the graphs it is used on.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Hnsw {
    /// Inserts a node that was allocated. `query` stands for it, and the space has it.
    ///
    /// Several threads may insert different nodes at once, each with its own scratch, over any view that holds its
    /// node. When this returns, the node can be reached from every other one, and walks over views that hold it can
    /// find it. A node that equals an older one becomes a duplicate of that.
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
            self.root.store(u64::from(node.get()) + 1, Ordering::Release);
            return;
        };
        let computer = DistanceComputer::new(space, query);
        if let Some(original) = self.find_neighbours(computer, node, level, scratch) {
            self.nodes.add_duplicate(node, original);
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
        self.join_tree(computer, node, &layers[0], found, links);
        for (layer, chosen) in layers.iter().enumerate() {
            for &(distance, neighbour) in chosen {
                self.link_back(space, neighbour.node(), layer, (distance, Link::new(node, false)), links);
            }
        }
        self.raise_entry(node, level);
    }

    /// Fills `scratch.layers` with the chosen neighbours of a new node in every layer that it shares with others. Returns
    /// the node that it is a duplicate of, if it is one; the layers are without meaning then.
    fn find_neighbours<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        node: Node,
        level: usize,
        scratch: &mut BuildScratch<S::Query>,
    ) -> Option<Node> {
        let top = self.entry().map_or(0, |(_, top)| top);
        let shared = level.min(top);
        let BuildScratch { walk, links: LinkScratch { selection, centre, neighbour, .. }, layers, found } =
            scratch;
        let space = computer.space;
        layers.iter_mut().for_each(Vec::clear);
        layers.resize_with(shared + 1, Vec::new);
        found.clear();
        let ef = self.insertion_width();
        let from_itself = space.one(computer.query, node);
        let origin = Origin::of(space, node, centre);
        let mut start = self.descend(computer, shared, walk);
        for layer in (0..=shared).rev() {
            // None when this thread's view is older than all nodes met so far: then the tree alone connects the node.
            let Some(begin) = start else { break };
            walk.start_at(begin);
            self.walk_layer(computer, layer, ef, &|_| true, walk, &|| false)
                .expect("the walk of an insertion is not stopped");
            start = walk.found().first().map(|nearest| nearest.unexpanded());
            selection.candidates.clear();
            let candidates = walk.found().iter().map(|c| (c.distance(), Link::new(c.node(), false), false));
            selection.candidates.extend(candidates);
            if layer == 0 {
                found.extend_from_slice(walk.found());
                let original = self.original_among(space, node, from_itself, found);
                if original.is_some() {
                    return original;
                }
            }
            // Half of the room that is left after m is for links back.
            let m = self.params.m;
            let (capacity, fill) = (if layer == 0 { m + m / 2 } else { m }, m + m / 4);
            if self.is_isolated(from_itself, &origin, walk.found(), [&mut selection.probe, neighbour]) {
                self.find_distant_candidates(computer, layer, walk, &mut selection.candidates);
                selection.choose_widely(&origin, capacity, fill);
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
        to: Node,
        layer: usize,
        new: (f32, Link),
        scratch: &mut LinkScratch<S::Query>,
    ) -> bool {
        let (_, link) = new;
        let links = &mut scratch.links;
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
        if links.len() < self.nodes.capacity(layer) {
            node.set(layer, links.len(), link);
            return true;
        }
        self.replace_links(space, &node, layer, new, scratch);
        true
    }

    /// Chooses the links of a node whose list is full anew, from those in `scratch.links` and one more.
    fn replace_links<S: Space>(
        &self,
        space: &S,
        node: &LockedNode,
        layer: usize,
        (distance, link): (f32, Link),
        scratch: &mut LinkScratch<S::Query>,
    ) {
        let LinkScratch { selection, links, centre, readable, .. } = scratch;
        let capacity = self.nodes.capacity(layer);
        selection.candidates.clear();
        selection.candidates.push((distance, link, link.in_tree()));
        // The distance of a node that this view lacks is unknown: the link to it stays, while there is room for it.
        let has_centre = space.can_read(node.number());
        let in_tree = links.iter().chain([&link]).filter(|link| link.in_tree()).count();
        let mut room_for_unknown = capacity - in_tree;
        readable.clear();
        links.retain(|&present| {
            if has_centre && space.can_read(present.node()) {
                readable.push(present.node());
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
        if has_centre {
            space.load(node.number(), centre);
        }
        let mut readable_links = links.iter();
        DistanceComputer::new(space, centre).score(readable, |candidate| {
            let &present = readable_links.next().expect("as many distances as links");
            selection.candidates.push((candidate.distance(), present, present.in_tree()));
        });
        selection.choose(space, capacity, self.params.m + self.params.m / 4);
        node.write(layer, selection.chosen.iter().map(|&(_, link)| link));
    }
}
