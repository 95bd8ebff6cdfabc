//! Links of nodes that stand apart.
//!
//! The first node of a new cluster finds the nodes of one old cluster: all of them are about as near, so they fill its
//! walk, and all but one are superfluous as links. Those that follow find the new cluster itself. Where rows come
//! cluster by cluster, each cluster would so be joined to one neighbour or two, and one that is near to no other would
//! be lost to every walk that does not happen to begin in it. In random order the first nodes are few and far between,
//! and link all clusters.
//!
//! So a node that stands apart from a bunch looks for links among the sparser nodes of the layers above too, where a
//! walk gets farther, and takes some of many bunches, although one may be reached through another. So does every
//! fourth of the nodes that come to it, as long as they are few.

use super::Hnsw;
use super::nodes::Link;
use super::pool::Candidate;
use super::search::SearchScratch;
use crate::index::Space;

/// Every so many-th node of a small cluster is looked at.
const STEP: usize = 4;

/// So many nodes may make a bunch with the one before them, …
const LOOKS: usize = 8;

/// … and do so when so many of them are near to that.
const MATES: usize = 5;

/// How many times as wide as an insertion walks the layers above are walked.
const WIDTH: usize = 4;

impl Hnsw {
    /// Whether a new node, or a small cluster that it belongs to, is more than twice as far from a bunch of those that
    /// were found (nearest first) as these are from each other.
    pub(super) fn stands_apart<S: Space>(
        &self,
        space: &S,
        (query, node): (&S::Query, u32),
        found: &[Candidate],
        probe: &mut S::Query,
    ) -> bool {
        let own = space.one(query, node);
        let twice = 2f32.powi(space.power());
        let is_head_of_a_bunch = |at: usize| {
            let head = found[at];
            if at > 0 && head.distance() - own <= twice * (found[at - 1].distance() - own) {
                return false;
            }
            space.load(head.node(), probe);
            let its_own = space.one(probe, head.node());
            let gap = head.distance() - (own + its_own) / 2.0;
            let is_mate = |other: &&Candidate| twice * (space.one(probe, other.node()) - its_own) < gap;
            found[at + 1..].iter().take(LOOKS).filter(is_mate).count() >= MATES
        };
        (0..found.len().min(2 * self.params.m + 1)).step_by(STEP).any(is_head_of_a_bunch)
    }

    /// Adds what wide walks through the layers above `layer` find to the candidates for links in it.
    pub(super) fn look_farther<S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        layer: usize,
        search: &mut SearchScratch,
        candidates: &mut Vec<(f32, Link, bool)>,
    ) {
        let Some((entry, top)) = self.entry().filter(|&(entry, _)| space.can_read(entry)) else { return };
        let ef = (WIDTH * self.params.ef_construct).min(Self::MAX_EF_CONSTRUCT);
        let mut begin = Candidate::new(space.one(query, entry), entry);
        for upper in (layer + 1..=top).rev() {
            self.walk(space, query, upper, &[begin], ef, &|_| true, search, &|| false)
                .expect("the walk of an insertion is not stopped");
            begin = search.found().first().map_or(begin, |nearest| nearest.unexpanded());
            candidates
                .extend(search.found().iter().map(|c| (c.distance(), Link::new(c.node(), false), false)));
        }
        // A node is in all layers below its highest.
        candidates.sort_unstable_by_key(|(_, link, _)| link.node());
        candidates.dedup_by_key(|(_, link, _)| link.node());
    }
}
