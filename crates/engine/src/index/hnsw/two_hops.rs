//! Walks over accepted nodes only.

use super::Hnsw;
use super::computer::DistanceComputer;
use super::visited::{BLOCK, Fresh, Marks};
use super::walk::{HOPS_PER_CHECK, WalkParams, WalkScratch, gather};
use crate::index::{Space, Stopped};
use crate::types::Node;

/// A hop has found enough accepted nodes when there are as many as a node can have links, divided by this.
const ENOUGH_DIVISOR: usize = 2;
/// Refused neighbours whose links are prefetched before they are read.
const AHEAD: usize = 8;

/// The lists of nodes that a two-hop walk works on.
#[derive(Default)]
pub(super) struct TwoHops {
    /// Neighbours of the present node that were refused.
    refused: Vec<Node>,
    /// Accepted nodes to score next.
    batch: Vec<Node>,
    /// Refused nodes whose neighbours were not read, in the order in which they were met. The walk goes on through them
    /// where accepted nodes lie more than two hops apart.
    deferred: Vec<Node>,
    /// How many of them are kept at most.
    most_deferred: usize,
}

impl TwoHops {
    fn begin(&mut self, ef: usize) {
        self.deferred.clear();
        self.most_deferred = ef;
    }

    fn defer(&mut self, node: Node) {
        if self.deferred.len() < self.most_deferred {
            self.deferred.push(node);
        }
    }
}

impl Hnsw {
    /// Walks the base layer from `scratch.starts`. Scores accepted nodes only, and goes through refused nodes to their
    /// neighbours.
    ///
    /// A walk that ends before it has found `ef` nodes goes on at refused nodes that it passed by: at most `ef` of them,
    /// or as many as it has starts. So a walk as wide as the graph finds every accepted node.
    pub(super) fn walk_two_hops<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        params: &WalkParams,
        accept: &impl Fn(Node) -> bool,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let WalkScratch { visited, frontier, fresh, starts, two_hops, work, .. } = scratch;
        let mut marks = visited.begin(self.len());
        if let Some(node) = params.avoided {
            marks.visit(node);
        }
        frontier.begin(params.ef.max(1));
        two_hops.begin(params.ef.max(starts.len()));
        for &start in starts.iter() {
            if marks.visit(start.node()) {
                if accept(start.node()) {
                    frontier.offer(start, &|_| true);
                } else {
                    two_hops.defer(start.node());
                }
            }
        }
        let mut hops = 0u32;
        let (mut next_deferred, refused_starts) = (0, two_hops.deferred.len());
        loop {
            // All starts first, then the best node that was found, then the refused nodes.
            let is_due = next_deferred < refused_starts;
            let next = if is_due { None } else { frontier.expand_next() };
            let next = next.or_else(|| {
                let on = two_hops.deferred.get(next_deferred).filter(|_| is_due || !frontier.is_full())?;
                next_deferred += 1;
                Some(*on)
            });
            let Some(node) = next else { return Ok(()) };
            if hops.is_multiple_of(HOPS_PER_CHECK) && stop() {
                return Err(Stopped);
            }
            hops += 1;
            self.gather_two_hops(computer.space, node, accept, &mut marks, fresh, two_hops);
            work.hops += 1;
            work.distances += two_hops.batch.len() as u64;
            computer.score(&two_hops.batch, |candidate| {
                if frontier.offer(candidate, &|_| true) {
                    self.nodes.prefetch(candidate.node());
                }
            });
        }
    }

    /// Puts the accepted nodes within two hops that are met for the first time into the batch: the neighbours and, unless
    /// most of these are accepted, the neighbours of the refused ones, until there are half as many as a node can have
    /// links.
    fn gather_two_hops<S: Space>(
        &self,
        space: &S,
        node: Node,
        accept: &impl Fn(Node) -> bool,
        marks: &mut Marks,
        fresh: &mut Fresh,
        two_hops: &mut TwoHops,
    ) {
        two_hops.batch.clear();
        two_hops.refused.clear();
        for words in self.nodes.words(node, 0).chunks(BLOCK) {
            gather(space, words, marks, fresh);
            for &near in fresh.nodes() {
                let side = if accept(near) { &mut two_hops.batch } else { &mut two_hops.refused };
                side.push(near);
            }
        }
        // If most neighbours are accepted, the walk goes on from them without a second hop.
        let is_dense = two_hops.batch.len() >= two_hops.refused.len();
        let enough = if is_dense { 0 } else { self.nodes.capacity(0) / ENOUGH_DIVISOR };
        if two_hops.batch.len() < enough {
            two_hops.refused.iter().take(AHEAD).for_each(|&between| self.nodes.prefetch(between));
        }
        for at in 0..two_hops.refused.len() {
            let between = two_hops.refused[at];
            if two_hops.batch.len() >= enough {
                two_hops.defer(between);
                continue;
            }
            if let Some(&next) = two_hops.refused.get(at + AHEAD) {
                self.nodes.prefetch(next);
            }
            for words in self.nodes.words(between, 0).chunks(BLOCK) {
                gather(space, words, marks, fresh);
                for &far in fresh.nodes() {
                    if accept(far) {
                        two_hops.batch.push(far);
                    } else {
                        two_hops.defer(far);
                    }
                }
            }
        }
    }
}
