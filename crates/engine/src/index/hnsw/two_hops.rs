//! Walks over accepted nodes only.

use super::Hnsw;
use super::pool::Candidate;
use super::search::{HOPS_PER_CHECK, SearchScratch, gather, score};
use super::visited::{BLOCK, Fresh, Marks};
use crate::index::{Space, Stopped};

/// Accepted nodes that are enough of a hop: as many as a node has links, divided by this.
const ENOUGH: usize = 2;
/// Refused neighbours whose links are asked for ahead of being read.
const AHEAD: usize = 8;

/// The nodes that a two-hop walk has in hand.
#[derive(Default)]
pub(super) struct TwoHops {
    /// Neighbours of the present node that were refused.
    refused: Vec<u32>,
    /// Accepted nodes that wait to be scored.
    batch: Vec<u32>,
    /// Refused nodes whose neighbours were not looked at, in the order in which they were met. Where accepted nodes
    /// lie more than two hops apart, these lead on.
    bridges: Vec<u32>,
    /// Most bridges to keep.
    most_bridges: usize,
}

impl TwoHops {
    fn begin(&mut self, ef: usize) {
        self.bridges.clear();
        self.most_bridges = ef;
    }

    fn keep_bridge(&mut self, node: u32) {
        if self.bridges.len() < self.most_bridges {
            self.bridges.push(node);
        }
    }
}

impl Hnsw {
    /// Walks the base layer over accepted nodes only, through those that are not to their neighbours.
    ///
    /// A walk that ends before it has found `ef` goes on at nodes that it passed by, at most `ef` of them, or as many
    /// as it started from; so a walk as wide as the graph finds every accepted node.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and two are closures")]
    pub(super) fn walk_two_hops<S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        starts: &[Candidate],
        ef: usize,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let SearchScratch { visited, frontier, fresh, two_hops, work, .. } = scratch;
        let mut marks = visited.begin(self.len());
        frontier.begin(ef.max(1));
        two_hops.begin(ef.max(starts.len()));
        for &start in starts {
            if marks.visit(start.node()) {
                if accept(start.node()) {
                    frontier.offer(start, &|_| true);
                } else {
                    two_hops.keep_bridge(start.node());
                }
            }
        }
        let mut hops = 0u32;
        let (mut bridge, refused_starts) = (0, two_hops.bridges.len());
        loop {
            // All starts first, then the best node that was found, then whatever leads on.
            let is_due = bridge < refused_starts;
            let next = if is_due { None } else { frontier.expand_next() };
            let next = next.or_else(|| {
                let on = two_hops.bridges.get(bridge).filter(|_| is_due || !frontier.is_full())?;
                bridge += 1;
                Some(*on)
            });
            let Some(node) = next else { return Ok(()) };
            if hops.is_multiple_of(HOPS_PER_CHECK) && stop() {
                return Err(Stopped);
            }
            hops += 1;
            self.gather_two_hops(space, node, accept, &mut marks, fresh, two_hops);
            work.hops += 1;
            work.distances += two_hops.batch.len() as u64;
            score(space, query, &two_hops.batch, |candidate| {
                if frontier.offer(candidate, &|_| true) {
                    self.nodes.prefetch(candidate.node());
                }
            });
        }
    }

    /// Puts the accepted nodes within two hops that are met for the first time into the batch: the neighbours, and
    /// unless most of these are accepted, those of refused neighbours too, until there are half as many as a node has
    /// links.
    fn gather_two_hops<S: Space>(
        &self,
        space: &S,
        node: u32,
        accept: &impl Fn(u32) -> bool,
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
        // Where most neighbours are accepted they lead on by themselves.
        let is_dense = two_hops.batch.len() >= two_hops.refused.len();
        let enough = if is_dense { 0 } else { self.nodes.capacity(0) / ENOUGH };
        if two_hops.batch.len() < enough {
            two_hops.refused.iter().take(AHEAD).for_each(|&between| self.nodes.prefetch(between));
        }
        for at in 0..two_hops.refused.len() {
            let between = two_hops.refused[at];
            if two_hops.batch.len() >= enough {
                two_hops.keep_bridge(between);
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
                        two_hops.keep_bridge(far);
                    }
                }
            }
        }
    }
}
