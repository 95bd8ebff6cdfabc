//! Which candidates become links: near ones in different directions.

use super::apart::Place;
use super::nodes::Link;
use crate::index::Space;
use crate::index::distance::stretched;

/// Candidates for the links of one node, and what was chosen.
#[derive(Default)]
pub(super) struct Selection<Q> {
    /// Distance to the node, link, and whether the link must be kept.
    pub(super) candidates: Vec<(f32, Link, bool)>,
    /// The links that were chosen, nearest first.
    pub(super) chosen: Vec<(f32, Link)>,
    passed_over: Vec<(f32, Link)>,
    /// Stands for one candidate after the other.
    pub(super) probe: Q,
}

impl<Q: Default> Selection<Q> {
    /// Chooses at most `capacity` links: going from near to far, those that are nearer to the node than to every link
    /// chosen before (algorithm 4 of the HNSW paper), and all that must be kept. Fewer than `fill` are made up to that
    /// number by the nearest of the others, so that duplicates and tight clusters have links enough.
    ///
    /// At most `capacity` candidates may have to be kept.
    pub(super) fn choose<S: Space<Query = Q>>(&mut self, space: &S, capacity: usize, fill: usize) {
        let Selection { candidates, chosen, passed_over, probe } = self;
        candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.node().cmp(&b.1.node())));
        chosen.clear();
        passed_over.clear();
        let mut to_keep = candidates.iter().filter(|&&(_, _, keep)| keep).count();
        let mut room = capacity - to_keep;
        let fill = fill.min(capacity);
        for &(d, link, keep) in candidates.iter() {
            if keep {
                chosen.push((d, link));
                to_keep -= 1;
            } else if room > 0 && is_diverse(space, link.node(), d, chosen, probe) {
                chosen.push((d, link));
                room -= 1;
            } else if passed_over.len() < fill {
                passed_over.push((d, link));
            }
            if room == 0 && to_keep == 0 {
                break;
            }
        }
        self.fill_up(fill);
    }

    /// As [`Selection::choose`] for the node at a place, but fewer than `fill` are first made up by those that are nearer
    /// to the node than √2 times as far as they are from each link chosen before, then by the nearest of the others.
    /// None must be kept.
    pub(super) fn choose_widely<S: Space<Query = Q>>(
        &mut self,
        space: &S,
        place: &Place<S>,
        capacity: usize,
        fill: usize,
    ) {
        self.choose(space, capacity, 0);
        let Selection { candidates, chosen, passed_over, probe } = self;
        let fill = fill.min(capacity);
        let stretch = place.times(2f32.sqrt());
        for &(d, link, _) in candidates.iter() {
            if chosen.len() >= fill {
                break;
            }
            if chosen.iter().any(|&(_, other)| other == link) {
                continue;
            }
            let candidate = Place::of(space, link.node(), probe);
            let length = place.to(&candidate);
            let is_far = |&(_, other): &(f32, Link)| stretch * candidate.to_like(other.node()) > length;
            if chosen.iter().all(is_far) {
                chosen.push((d, link));
            } else {
                passed_over.push((d, link));
            }
        }
        chosen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        self.fill_up(fill);
    }

    /// Makes fewer than `fill` links up to that number by the nearest of those that were passed over.
    fn fill_up(&mut self, fill: usize) {
        let missing = fill.saturating_sub(self.chosen.len());
        if missing > 0 && !self.passed_over.is_empty() {
            self.chosen.extend(self.passed_over.iter().take(missing));
            self.chosen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
}

/// Whether a candidate at distance `d` from the node is farther from every chosen link than that, or nearly so
/// ([`stretched`]).
fn is_diverse<S: Space>(
    space: &S,
    candidate: u32,
    d: f32,
    chosen: &[(f32, Link)],
    probe: &mut S::Query,
) -> bool {
    if chosen.is_empty() {
        return true;
    }
    space.load(candidate, probe);
    let metric = space.metric();
    let (groups, rest) = chosen.as_chunks::<4>();
    // A link that must be kept may be to a node that this space lacks; it has no say.
    let is_farther = |node: u32| !space.can_read(node) || stretched(metric, space.one(probe, node)) > d;
    groups.iter().all(|group| {
        let group = group.map(|(_, link)| link.node());
        if group.iter().all(|&node| space.can_read(node)) {
            space.four(probe, group).iter().all(|&between| stretched(metric, between) > d)
        } else {
            group.into_iter().all(is_farther)
        }
    }) && rest.iter().all(|&(_, link)| is_farther(link.node()))
}
