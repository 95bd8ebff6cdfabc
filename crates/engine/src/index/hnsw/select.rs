//! Which candidates become links: near ones in different directions.

use super::Probe;
use super::nodes::Link;
use crate::arena::RowTable;
use crate::index::Distance;

/// Candidates for the links of one node, and what was chosen.
#[derive(Default)]
pub(super) struct Selection {
    /// Distance to the node, link, and whether the link must be kept.
    pub(super) candidates: Vec<(f32, Link, bool)>,
    /// The links that were chosen, nearest first.
    pub(super) chosen: Vec<(f32, Link)>,
    passed_over: Vec<(f32, Link)>,
    vector: Vec<f32>,
}

impl Selection {
    /// Chooses at most `capacity` links: going from near to far, those that are nearer to the node than to every link
    /// chosen before (algorithm 4 of the HNSW paper), and all that must be kept. Fewer than `fill` are made up to that
    /// number by the nearest of the others, so that duplicates and tight clusters have links enough.
    ///
    /// At most `capacity` candidates may have to be kept.
    pub(super) fn choose(
        &mut self,
        rows: &RowTable,
        distance: Distance,
        dim: usize,
        (capacity, fill): (usize, usize),
    ) {
        let Selection { candidates, chosen, passed_over, vector } = self;
        candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.row().cmp(&b.1.row())));
        chosen.clear();
        passed_over.clear();
        let mut room = capacity - candidates.iter().filter(|&&(_, _, keep)| keep).count();
        for &(d, link, keep) in candidates.iter() {
            if keep {
                chosen.push((d, link));
                continue;
            }
            vector.clear();
            if room > 0 {
                distance.format().decode_for_search(rows.row(link.row()), dim, vector);
            }
            if room > 0 && is_diverse(Probe::new(rows, distance, vector), d, chosen) {
                chosen.push((d, link));
                room -= 1;
            } else if passed_over.len() < fill {
                passed_over.push((d, link));
            }
        }
        let missing = fill.min(capacity).saturating_sub(chosen.len());
        if missing > 0 && !passed_over.is_empty() {
            chosen.extend(passed_over.iter().take(missing));
            chosen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
}

/// Whether a candidate at distance `d` from the node is farther from every chosen link than that.
fn is_diverse(probe: Probe, d: f32, chosen: &[(f32, Link)]) -> bool {
    let (groups, rest) = chosen.as_chunks::<4>();
    // A link that must be kept may be too new for this view; it has no say.
    groups.iter().all(|group| {
        let group = group.map(|(_, link)| link.row());
        if group.iter().all(|&row| probe.can_read(row)) {
            probe
                .distance
                .four(probe.vector, group.map(|row| probe.rows.row(row)))
                .iter()
                .all(|&between| between > d)
        } else {
            group.iter().all(|&row| !probe.can_read(row) || probe.one(row) > d)
        }
    }) && rest.iter().all(|&(_, link)| !probe.can_read(link.row()) || probe.one(link.row()) > d)
}
