//! Which candidates become links: near ones in different directions.

use super::isolated::Origin;
use super::nodes::Link;
use crate::index::Space;
use crate::index::distance::stretched;
use crate::types::Node;

/// Stands for an unknown distance: that of a node which the view cannot read. The link must be kept. No distance is
/// infinite.
pub(super) const UNKNOWN: f32 = f32::INFINITY;

/// Candidates for the links of one node, and what was chosen.
#[derive(Default)]
pub(super) struct Selection<Q> {
    /// Distance to the node, link, and whether the link must be kept.
    pub(super) candidates: Vec<(f32, Link, bool)>,
    /// The links that were chosen, nearest first.
    pub(super) chosen: Vec<(f32, Link)>,
    /// The nearest that were not chosen.
    passed_over: Vec<(f32, Link)>,
    /// The chosen nodes whose distance is known, and those of them without the mark of being compared.
    rivals: Vec<Node>,
    new_rivals: Vec<Node>,
    /// Stands for one candidate at a time.
    pub(super) probe: Q,
}

impl<Q: Default> Selection<Q> {
    /// Chooses at most `capacity` links: going from near to far, those that are nearer to the node than to every link
    /// chosen before (algorithm 4 of the HNSW paper), and all that must be kept. If these are fewer than `fill`, the
    /// nearest of the others are added up to that number, so that duplicates and tight clusters have enough links.
    ///
    /// Chosen links other than the added ones are marked as compared. Candidates with that mark come from one list of the
    /// same node, and are not compared with each other again: most links of a full list have it, and a build would spend
    /// a third of its comparisons on them.
    ///
    /// At most `capacity` candidates may have to be kept.
    pub(super) fn choose<S: Space<Query = Q>>(&mut self, space: &S, capacity: usize, fill: usize) {
        let Selection { candidates, chosen, passed_over, rivals, new_rivals, probe } = self;
        candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.node().cmp(&b.1.node())));
        chosen.clear();
        passed_over.clear();
        rivals.clear();
        new_rivals.clear();
        let mut to_keep = candidates.iter().filter(|&&(_, _, keep)| keep).count();
        let mut room = capacity - to_keep;
        let fill = fill.min(capacity);
        for &(d, link, keep) in candidates.iter() {
            let against = if link.is_compared() { &*new_rivals } else { &*rivals };
            if keep {
                to_keep -= 1;
            } else if room > 0 && is_diverse(space, link.node(), d, against, probe) {
                room -= 1;
            } else {
                if passed_over.len() < fill {
                    passed_over.push((d, link.compared(false)));
                }
                continue;
            }
            let is_known = d != UNKNOWN;
            chosen.push((d, link.compared(is_known)));
            if is_known {
                rivals.push(link.node());
                if !link.is_compared() {
                    new_rivals.push(link.node());
                }
            }
            if room == 0 && to_keep == 0 {
                break;
            }
        }
        self.fill_up(fill);
    }

    /// As [`Selection::choose`] for the node `origin`, but if the chosen links are fewer than `fill`, two kinds of others
    /// are added: first those whose length to the node is less than √2 times their length to each link chosen before, then
    /// the nearest. There must be no candidates that have to be kept.
    pub(super) fn choose_widely<S: Space<Query = Q>>(
        &mut self,
        origin: &Origin<S>,
        capacity: usize,
        fill: usize,
    ) {
        let space = origin.space();
        self.choose(space, capacity, 0);
        let Selection { candidates, chosen, passed_over, probe, .. } = self;
        let fill = fill.min(capacity);
        let stretch = origin.times(2f32.sqrt());
        for &(d, link, _) in candidates.iter() {
            if chosen.len() >= fill {
                break;
            }
            if chosen.iter().any(|(_, other)| other.node() == link.node()) {
                continue;
            }
            let candidate = Origin::of(space, link.node(), probe);
            let length = origin.to(&candidate);
            let is_far = |&(_, other): &(f32, Link)| stretch * candidate.to_alike(other.node()) > length;
            if chosen.iter().all(is_far) {
                chosen.push((d, link));
            } else {
                passed_over.push((d, link));
            }
        }
        chosen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        self.fill_up(fill);
    }

    /// Adds the nearest of the passed over links until there are `fill`.
    fn fill_up(&mut self, fill: usize) {
        let missing = fill.saturating_sub(self.chosen.len());
        if missing > 0 && !self.passed_over.is_empty() {
            self.chosen.extend(self.passed_over.iter().take(missing));
            self.chosen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
}

/// Whether a candidate at distance `d` from the node is farther than that, or nearly so ([`stretched`]), from all rivals.
fn is_diverse<S: Space>(space: &S, candidate: Node, d: f32, rivals: &[Node], probe: &mut S::Query) -> bool {
    if rivals.is_empty() {
        return true;
    }
    space.load(candidate, probe);
    let metric = space.metric();
    let (fours, rest) = rivals.as_chunks::<4>();
    let is_farther = |between: f32| stretched(metric, between) > d;
    fours.iter().all(|&four| space.four(probe, four).into_iter().all(is_farther))
        && rest.iter().all(|&rival| is_farther(space.one(probe, rival)))
}
