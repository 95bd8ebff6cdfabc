//! Links of isolated nodes.
//!
//! The first node of a new cluster finds the nodes of one old cluster. These are about equally near, so they fill its
//! candidate list, and all but one are superfluous as links. Later nodes of the new cluster find the cluster itself. If rows
//! are inserted cluster by cluster, each cluster is linked to only one or two others, and walks that do not start near it may
//! miss it altogether. This does not happen if rows are inserted in random order, because the first nodes are sparse and link
//! all clusters.
//!
//! So a node that is isolated from a group of those that it found looks for further candidates in the layers above,
//! whose nodes are sparser, so that a walk gets farther. It takes links to several groups, even where one could be
//! reached through another. The same is done for every fourth of the next nodes of the cluster, as long as it is small.

use super::Hnsw;
use super::computer::DistanceComputer;
use super::nodes::Link;
use super::pool::Candidate;
use super::walk::WalkScratch;
use crate::index::Space;
use crate::index::distance::power;
use crate::types::{Metric, Node};

/// Nodes found before the head of a group belong to a small cluster of the new node. Only cluster sizes that are multiples
/// of this are checked.
const CLUSTER_STEP: usize = 4;

/// Nodes that are compared with the head of a group, the next ones after it.
const MAX_MEMBERS: usize = 8;

/// Members that make a group: so many of the compared nodes have to be near its head.
const FEWEST_MEMBERS: usize = 5;

/// Width of the walks through the layers above, as a multiple of the width of an insertion. The greatest width of an
/// insertion limits it.
const WIDTH_FACTOR: usize = 4;

/// A node that lengths are measured from.
///
/// The distance of two vectors minus half the sum of their distances from themselves is proportional to a [`power`] of
/// the length between them under every metric: −⟨a, b⟩ + (‖a‖² + ‖b‖²)/2 = ‖a − b‖²/2. All three distances are computed
/// from what the space has of the nodes, because the error of an exact vector against a code is smaller than that of two
/// codes against each other.
pub(super) struct Origin<'a, S: Space> {
    space: &'a S,
    node: Node,
    query: &'a S::Query,
    /// Distance of the node from itself.
    own: f32,
}

impl<'a, S: Space> Origin<'a, S> {
    /// A node that can be read as origin; `query` will stand for it.
    pub(super) fn of(space: &'a S, node: Node, query: &'a mut S::Query) -> Origin<'a, S> {
        space.load(node, query);
        Origin { space, node, own: space.one(query, node), query }
    }

    pub(super) fn space(&self) -> &'a S {
        self.space
    }

    /// The power of the length to another origin.
    pub(super) fn to(&self, other: &Origin<S>) -> f32 {
        self.space.one(self.query, other.node) - (self.own + other.own) / 2.0
    }

    /// The power of the length to a node that has the same distance from itself as this one.
    pub(super) fn to_alike(&self, node: Node) -> f32 {
        self.space.one(self.query, node) - self.own
    }

    /// The power of the length to a node. Under [`Metric::Dot`], where vectors of very different lengths can be near to each
    /// other, `query` then stands for that node.
    fn to_node(&self, node: Node, query: &mut S::Query) -> f32 {
        match self.space.metric() {
            Metric::Dot => self.to(&Origin::of(self.space, node, query)),
            Metric::Euclid | Metric::Cosine | Metric::Manhattan => self.to_alike(node),
        }
    }

    /// The factor that a [`power`] of a length grows by when the length grows by `factor`.
    pub(super) fn times(&self, factor: f32) -> f32 {
        factor.powi(power(self.space.metric()))
    }
}

impl Hnsw {
    /// Whether a new node, or a small cluster that it belongs to, is more than twice as far from a group of the nodes that
    /// were found as these are from each other. `found` has the nearest first; `from_itself` is the distance of the new
    /// node from the query of that walk.
    pub(super) fn is_isolated<S: Space>(
        &self,
        from_itself: f32,
        origin: &Origin<S>,
        found: &[Candidate],
        [probe, other]: [&mut S::Query; 2],
    ) -> bool {
        let (space, twice) = (origin.space, origin.times(2.0));
        let is_head_of_a_group = |at: usize| {
            let is_twice_as_far_as = |nearer: Candidate| {
                found[at].distance() - from_itself > twice * (nearer.distance() - from_itself)
            };
            if at > 0 && !is_twice_as_far_as(found[at - 1]) {
                return false;
            }
            let head = Origin::of(space, found[at].node(), probe);
            let gap = origin.to(&head);
            let mut is_member = |node: &Candidate| twice * head.to_node(node.node(), other) < gap;
            let members = found[at + 1..].iter().take(MAX_MEMBERS).filter(|node| is_member(node));
            members.count() >= FEWEST_MEMBERS
        };
        (0..found.len().min(2 * self.params.m + 1)).step_by(CLUSTER_STEP).any(is_head_of_a_group)
    }

    /// Adds what wide walks through the layers above `layer` find to the candidates for links in it.
    pub(super) fn find_distant_candidates<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        layer: usize,
        walk: &mut WalkScratch,
        candidates: &mut Vec<(f32, Link, bool)>,
    ) {
        let Some((entry, top)) = self.entry().filter(|&(entry, _)| computer.can_read(entry)) else { return };
        let ef = (WIDTH_FACTOR * self.insertion_width()).min(Self::MAX_EF_CONSTRUCT);
        walk.start_at(computer.candidate(entry));
        for upper in (layer + 1..=top).rev() {
            self.walk_layer(computer, upper, ef, &|_| true, walk, &|| false)
                .expect("the walk of an insertion is not stopped");
            if let Some(nearest) = walk.found().first() {
                walk.start_at(nearest.unexpanded());
            }
            candidates.extend(walk.found().iter().map(|c| (c.distance(), Link::new(c.node(), false), false)));
        }
        // A node is in all layers below its highest.
        candidates.sort_unstable_by_key(|(_, link, _)| link.node());
        candidates.dedup_by_key(|(_, link, _)| link.node());
    }
}
