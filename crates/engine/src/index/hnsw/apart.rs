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
use crate::index::distance::power;
use crate::types::Metric;

/// Every so many-th node of a small cluster is looked at.
const STEP: usize = 4;

/// So many nodes may make a bunch with the one before them, …
const LOOKS: usize = 8;

/// … and do so when so many of them are near to that.
const MATES: usize = 5;

/// How many times as wide as an insertion the layers above are walked, up to the widest that an insertion may be.
const WIDTH: usize = 4;

/// A node that lengths are measured from.
///
/// Half the sum of what two vectors are from themselves, taken away from what they are from each other, is in
/// proportion to a [`power`] of the length between them under every metric: −⟨a, b⟩ + (‖a‖² + ‖b‖²)/2 = ‖a − b‖²/2. All
/// three are taken from what the space has of the nodes: a vector that came from elsewhere would be off from codes by
/// less than codes are from each other.
pub(super) struct Place<'a, S: Space> {
    space: &'a S,
    node: u32,
    query: &'a S::Query,
    own: f32,
}

impl<'a, S: Space> Place<'a, S> {
    /// The place of a node that can be read; `query` will stand for it.
    pub(super) fn of(space: &'a S, node: u32, query: &'a mut S::Query) -> Place<'a, S> {
        space.load(node, query);
        Place { space, node, own: space.one(query, node), query }
    }

    pub(super) fn space(&self) -> &'a S {
        self.space
    }

    /// The power of the length to another place.
    pub(super) fn to(&self, other: &Place<S>) -> f32 {
        self.space.one(self.query, other.node) - (self.own + other.own) / 2.0
    }

    /// The power of the length to a node that is as far from itself as this one.
    pub(super) fn to_like(&self, node: u32) -> f32 {
        self.space.one(self.query, node) - self.own
    }

    /// The power of the length to a node. `query` stands for that then, if need be: only inner products tell vectors of
    /// very different lengths near to each other.
    fn to_node(&self, node: u32, query: &mut S::Query) -> f32 {
        match self.space.metric() {
            Metric::Dot => self.to(&Place::of(self.space, node, query)),
            Metric::Euclid | Metric::Cosine | Metric::Manhattan => self.to_like(node),
        }
    }

    /// The factor of a [`power`] of lengths for a factor of lengths.
    pub(super) fn times(&self, factor: f32) -> f32 {
        factor.powi(power(self.space.metric()))
    }
}

impl Hnsw {
    /// Whether a new node, or a small cluster that it belongs to, is more than twice as far from a bunch of those that
    /// were found (nearest first, by a query that the node is `from_itself` from) as these are from each other.
    pub(super) fn stands_apart<S: Space>(
        &self,
        from_itself: f32,
        place: &Place<S>,
        found: &[Candidate],
        [probe, other]: [&mut S::Query; 2],
    ) -> bool {
        let (space, twice) = (place.space, place.times(2.0));
        let is_head_of_a_bunch = |at: usize| {
            let leaps = |nearer: Candidate| {
                found[at].distance() - from_itself > twice * (nearer.distance() - from_itself)
            };
            if at > 0 && !leaps(found[at - 1]) {
                return false;
            }
            let head = Place::of(space, found[at].node(), probe);
            let gap = place.to(&head);
            let mut is_mate = |mate: &Candidate| twice * head.to_node(mate.node(), other) < gap;
            found[at + 1..].iter().take(LOOKS).filter(|mate| is_mate(mate)).count() >= MATES
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
        let ef = (WIDTH * self.insertion_width()).min(Self::MAX_EF_CONSTRUCT);
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
