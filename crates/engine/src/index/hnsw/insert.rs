//! Adding a row to the graph.

use std::sync::atomic::Ordering;

use super::nodes::Link;
use super::pool::Candidate;
use super::search::SearchScratch;
use super::select::Selection;
use super::{Hnsw, Probe, pack_entry};
use crate::arena::RowTable;

/// The memory of an insertion, for reuse by the next one. One for a thread.
#[derive(Default)]
pub struct BuildScratch {
    pub(super) search: SearchScratch,
    pub(super) links: LinkScratch,
    /// The links that the new node begins with, nearest first, by layer.
    layers: Vec<Vec<(f32, Link)>>,
    /// The rows that the walk of the base layer found, nearest first.
    found: Vec<Candidate>,
    vector: Vec<f32>,
}

/// The memory of a change to one node's links.
#[derive(Default)]
pub(super) struct LinkScratch {
    selection: Selection,
    links: Vec<Link>,
    vector: Vec<f32>,
}

impl BuildScratch {
    /// Empty scratch; it grows to the size of the graphs it is used on.
    pub fn new() -> BuildScratch {
        Self::default()
    }
}

impl Hnsw {
    /// Adds a row; a row that is in the graph already is left alone. `rows` must hold it.
    ///
    /// Several threads may add different rows at once, each with its own scratch and any snapshot that holds its row.
    /// When this returns, the row can be reached from every other one, and searches over views that hold it find it.
    ///
    /// Panics when the table has no such row, or from [`Hnsw::MAX_ROWS`] on.
    pub fn insert(&self, rows: &RowTable, row: u32, scratch: &mut BuildScratch) {
        let mut vector = std::mem::take(&mut scratch.vector);
        self.load(rows, row, &mut vector);
        self.insert_vector(rows, row, &vector, scratch);
        scratch.vector = vector;
    }

    fn insert_vector(&self, rows: &RowTable, row: u32, vector: &[f32], scratch: &mut BuildScratch) {
        if !self.nodes.claim(row) {
            return;
        }
        let level = self.nodes.level_of(row);
        let first =
            self.entry.compare_exchange(0, pack_entry(row, level), Ordering::AcqRel, Ordering::Acquire);
        let Err(_) = first else {
            self.root.store(u64::from(row) + 1, Ordering::Release);
            return;
        };
        let probe = Probe::new(rows, self.distance, vector);
        self.find_neighbours(&probe, level, scratch);
        // The node's own links come before the first link to it, and its base links are whole before a walk can come
        // down to it through an upper layer.
        let BuildScratch { links, layers, found, .. } = scratch;
        let node = self.nodes.lock(row);
        for (layer, chosen) in layers.iter().enumerate().skip(1) {
            links.links.clear();
            links.links.extend(chosen.iter().map(|&(_, link)| link));
            node.write(layer, &links.links);
        }
        drop(node);
        self.join_tree(&probe, row, &layers[0], found, links);
        for (layer, chosen) in layers.iter().enumerate() {
            for &(distance, neighbour) in chosen {
                self.link_back(rows, neighbour.row(), layer, (distance, Link::new(row, false)), links);
            }
        }
        self.raise_entry(row, level);
    }

    /// Fills `scratch.layers` with the chosen neighbours of a new node in every layer that it shares with others.
    fn find_neighbours(&self, probe: &Probe, level: usize, scratch: &mut BuildScratch) {
        let top = self.entry().map_or(0, |(_, top)| top);
        let shared = level.min(top);
        let BuildScratch { search, links: LinkScratch { selection, .. }, layers, found, .. } = scratch;
        layers.iter_mut().for_each(Vec::clear);
        layers.resize_with(shared + 1, Vec::new);
        found.clear();
        let ef = self.params.ef_construct.max(self.params.m);
        let mut start = self.descend(probe, shared, search);
        for layer in (0..=shared).rev() {
            // None when this thread's table is older than all nodes met so far: then the tree alone connects the row.
            let Some(begin) = start else { break };
            self.walk(probe, layer, &[begin], ef, &|_| true, search, &|| false)
                .expect("the walk of an insertion is not stopped");
            start = search.found().first().copied();
            selection.candidates.clear();
            let candidates = search.found().iter().map(|c| (c.distance(), Link::new(c.row(), false), false));
            selection.candidates.extend(candidates);
            selection.choose(probe.rows, self.distance, self.dim, (self.params.m, self.params.m));
            layers[layer].extend_from_slice(&selection.chosen);
            if layer == 0 {
                found.extend_from_slice(search.found());
            }
        }
    }

    /// Puts a link into the list of the node `to`. When the list is full, it is chosen anew from all its links and the
    /// new one, which may then be left out, unless it is a link of the tree.
    ///
    /// False when the link is one of the tree and the node has no room for more of these; nothing changes then.
    pub(super) fn link_back(
        &self,
        rows: &RowTable,
        to: u32,
        layer: usize,
        (distance, link): (f32, Link),
        scratch: &mut LinkScratch,
    ) -> bool {
        let LinkScratch { selection, links, vector } = scratch;
        let node = self.nodes.lock(to);
        links.clear();
        node.read(layer, links);
        let tree_is_full = links.iter().filter(|link| link.in_tree()).count() >= self.nodes.tree_capacity();
        if let Some(place) = links.iter().position(|present| present.row() == link.row()) {
            if link.in_tree() && !links[place].in_tree() {
                if tree_is_full {
                    return false;
                }
                node.set(layer, place, link);
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
        let probe = (to < rows.len()).then(|| {
            self.load(rows, to, vector);
            Probe::new(rows, self.distance, vector)
        });
        // A link to a row that this table does not hold cannot be judged: it stays, while there is room for it.
        let in_tree = links.iter().chain([&link]).filter(|link| link.in_tree()).count();
        let mut room_for_unknown = capacity - in_tree;
        for &present in links.iter() {
            match probe.filter(|probe| probe.can_read(present.row())) {
                Some(probe) => {
                    selection.candidates.push((probe.one(present.row()), present, present.in_tree()));
                }
                None if present.in_tree() => selection.candidates.push((f32::MAX, present, true)),
                None if room_for_unknown > 0 => {
                    room_for_unknown -= 1;
                    selection.candidates.push((f32::MAX, present, true));
                }
                None => {}
            }
        }
        selection.choose(rows, self.distance, self.dim, (capacity, self.params.m));
        links.clear();
        links.extend(selection.chosen.iter().map(|&(_, link)| link));
        node.write(layer, links);
        true
    }
}
