//! Re-ranking by group: of each of the best groups its best rows, by their originals.

use super::reranking::{Errors, Reranking};
use crate::index::Stopped;
use crate::types::Row;
use std::cmp::Ordering;

/// Candidates of the first round for all groups together in addition to the wanted ones: the first known errors.
const FIRST_BEYOND: usize = 6;

/// The rows of a group that are known so far.
#[derive(Clone, Debug, Default)]
pub struct GroupRows {
    /// Rows with estimates of their distances.
    pub estimates: Vec<(f32, Row)>,
    /// Rows with their distances.
    pub exact: Vec<(f32, Row)>,
}

impl GroupRows {
    /// Distance or estimate of the best row.
    pub fn best(&self) -> f32 {
        let all = self.estimates.iter().chain(&self.exact);
        all.map(|&(distance, _)| distance).min_by(f32::total_cmp).unwrap_or(f32::INFINITY)
    }

    /// Brings the best estimates to the front, ascending, and drops all but `most`.
    fn sort(&mut self, most: usize) {
        let order = |a: &(f32, Row), b: &(f32, Row)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if self.estimates.len() > most && most > 0 {
            self.estimates.select_nth_unstable_by(most - 1, order);
            self.estimates.truncate(most);
        }
        self.estimates.sort_unstable_by(order);
    }
}

/// How many groups and rows are wanted.
#[derive(Clone, Copy, Debug)]
pub struct GroupCounts {
    /// Groups.
    pub groups: usize,
    /// Rows of each.
    pub rows: usize,
    /// Estimates of a group that are considered at most.
    pub kept: usize,
}

/// A group while its rows are compared.
struct GroupCandidate<'g> {
    rows: &'g mut GroupRows,
    /// Estimates before this one are compared.
    next: usize,
    /// Distances that are known, ascending, as many as rows are wanted.
    distances: Vec<f32>,
}

impl GroupCandidate<'_> {
    /// The distance of its best row as far as is known.
    fn best(&self) -> f32 {
        let estimate = self.rows.estimates.get(self.next).map(|&(estimate, _)| estimate);
        let known = self.distances.first().copied();
        known.into_iter().chain(estimate).min_by(f32::total_cmp).unwrap_or(f32::INFINITY)
    }

    fn add(&mut self, distance: f32, wanted: usize) {
        let at = self.distances.partition_point(|&known| known <= distance);
        self.distances.insert(at, distance);
        self.distances.truncate(wanted);
    }
}

impl Reranking<'_> {
    /// Turns the estimates of the best groups into distances, as far as they may be among the best rows of one of the best
    /// groups; other estimates are dropped. As in [`Reranking::promising`] the errors of estimates become known on the way,
    /// here those of all groups together. Returns how many rows were compared.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true.
    pub fn by_group(&self, groups: &mut [GroupRows], counts: GroupCounts) -> Result<usize, Stopped> {
        groups.iter_mut().for_each(|group| group.sort(counts.kept));
        let mut all: Vec<GroupCandidate<'_>> =
            groups.iter_mut().map(|rows| candidate(rows, counts.rows)).collect();
        all.sort_by(|a, b| a.best().total_cmp(&b.best()));
        let beyond = FIRST_BEYOND.div_ceil(counts.groups.min(all.len()).max(1));
        let (mut errors, mut compared) = (Errors::default(), 0);
        let mut round: Vec<(usize, f32, Row)> = Vec::new();
        for (at, group) in all.iter_mut().enumerate().take(counts.groups) {
            let first = group.rows.estimates.iter().take(counts.rows.saturating_add(beyond));
            round.extend(first.map(|&(estimate, row)| (at, estimate, row)));
        }
        if round.is_empty() {
            // The best groups have no estimates: those of others may be better than what is known of these.
            next_round(&all, counts, &errors, &mut round);
        }
        while !round.is_empty() {
            let rows: Vec<Row> = round.iter().map(|&(_, _, row)| row).collect();
            self.compare(&rows, |place, distance, row| {
                let (at, estimate, _) = round[place];
                let group = &mut all[at];
                group.next += 1;
                group.rows.exact.push((distance, row));
                group.add(distance, counts.rows);
                // Duplicates of a vector have the same error; it counts once.
                let before = place.checked_sub(1).map(|before| round[before]);
                if before.is_none_or(|(group, known, _)| (group, known) != (at, estimate)) {
                    errors.add(f64::from(estimate) - f64::from(distance));
                }
            })?;
            compared += rows.len();
            round.clear();
            next_round(&all, counts, &errors, &mut round);
        }
        groups.iter_mut().for_each(|group| group.estimates.clear());
        Ok(compared)
    }
}

fn candidate(rows: &mut GroupRows, wanted: usize) -> GroupCandidate<'_> {
    let mut distances: Vec<f32> = rows.exact.iter().map(|&(distance, _)| distance).collect();
    distances.sort_unstable_by(f32::total_cmp);
    distances.truncate(wanted);
    GroupCandidate { rows, next: 0, distances }
}

/// The estimates that may belong to one of the best rows of one of the best groups.
fn next_round(
    all: &[GroupCandidate<'_>],
    counts: GroupCounts,
    errors: &Errors,
    round: &mut Vec<(usize, f32, Row)>,
) {
    let greatest = errors.expected_greatest();
    let mut bests: Vec<f32> = all.iter().filter_map(|group| group.distances.first().copied()).collect();
    let worst_group = match bests.len() > counts.groups {
        true => *bests.select_nth_unstable_by(counts.groups - 1, f32::total_cmp).1,
        false if bests.len() == counts.groups => {
            bests.iter().copied().max_by(f32::total_cmp).unwrap_or(f32::INFINITY)
        }
        false => f32::INFINITY,
    };
    let may_be = |estimate: f32, worst: f32| f64::from(estimate) <= f64::from(worst) + greatest;
    for (at, group) in all.iter().enumerate() {
        let (known, next) = (group.distances.first(), group.rows.estimates.get(group.next));
        let Some(&(next, _)) = next else { continue };
        // A group whose best row is not known, or not good enough, has only its next row compared.
        let is_among = known.is_some_and(|&best| best <= worst_group);
        if !is_among && !may_be(next, worst_group) {
            continue;
        }
        // As many as are missing, and all that may be better than the last.
        let missing = counts.rows.saturating_sub(group.distances.len());
        let (most, last) = match (is_among, group.distances.last()) {
            (true, Some(&last)) if missing == 0 => (usize::MAX, last),
            (true, _) => (missing, f32::INFINITY),
            (false, _) => (1, f32::INFINITY),
        };
        let rest = group.rows.estimates.iter().skip(group.next).take(most);
        round.extend(
            rest.take_while(|&&(estimate, _)| may_be(estimate, last))
                .map(|&(estimate, row)| (at, estimate, row)),
        );
    }
}

/// The best `k` of rows with their distances, equal ones in the order of `tie`.
pub fn best_rows(mut rows: Vec<(f32, Row)>, k: usize, tie: impl Fn(Row, Row) -> Ordering) -> Vec<(f32, Row)> {
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then_with(|| tie(a.1, b.1)));
    rows.truncate(k);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::reranking::tests::{error_of, table};
    use crate::index::Distance;
    use crate::types::Metric;
    use proptest::prelude::*;

    /// The best groups with their best rows, by the distances themselves.
    fn expected(groups: &[Vec<(f32, Row)>], (limit, size): (usize, usize)) -> Vec<Vec<(f32, Row)>> {
        let mut best: Vec<Vec<(f32, Row)>> = groups
            .iter()
            .filter(|rows| !rows.is_empty())
            .map(|rows| best_rows(rows.clone(), size, |a, b| a.cmp(&b)))
            .collect();
        best.sort_by(|a, b| a[0].0.total_cmp(&b[0].0).then(a[0].1.cmp(&b[0].1)));
        best.truncate(limit);
        best
    }

    #[test]
    fn estimates_are_compared_where_the_best_groups_have_distances_alone() {
        let table = table(&[[10, 0, 0], [9, 0, 0]]);
        let distance = Distance::of(Metric::Euclid, table.format);
        let reranking = Reranking { table: &table, distance, query: &[0.0; 3], k: 1, stop: &|| false };
        let mut groups = vec![GroupRows::default(); 2];
        groups[0].exact.push((100.0, Row::new(0)));
        // Its distance is 81.
        groups[1].estimates.push((105.0, Row::new(1)));
        let compared = reranking.by_group(&mut groups, GroupCounts { groups: 1, rows: 1, kept: 10 });
        assert_eq!(compared.unwrap(), 1);
        assert_eq!(groups[1].exact, [(81.0, Row::new(1))]);
    }

    proptest! {
        #[test]
        fn the_best_rows_of_the_best_groups_are_compared(
            vectors in prop::collection::vec((prop::array::uniform3(0u8..40), 0usize..30), 1..300),
            query in prop::array::uniform3(0u8..40), limit in 1usize..12, size in 1usize..6,
            noise in prop_oneof![Just(0.0f32), 0.01f32..60.0], seed in any::<u64>(),
        ) {
            let rows: Vec<[u8; 3]> = vectors.iter().map(|&(vector, _)| vector).collect();
            let (table, query) = (table(&rows), query.map(f32::from));
            let distance = Distance::of(Metric::Euclid, table.format);
            let reranking =
                Reranking { table: &table, distance, query: &query, k: size, stop: &|| false };
            let mut known = vec![Vec::new(); 30];
            let mut groups = vec![GroupRows::default(); 30];
            for (at, (vector, group)) in vectors.iter().enumerate() {
                let row = Row::new(at as u32);
                let exact = distance.one(&query, table.row(row));
                let estimate = exact + error_of(*vector, noise, seed);
                known[*group].push((exact, row));
                // Some come without an estimate, as those of a tail do.
                match at % 7 {
                    0 => groups[*group].exact.push((exact, row)),
                    _ => groups[*group].estimates.push((estimate, row)),
                }
            }
            let compared = reranking.by_group(&mut groups, GroupCounts { groups: limit, rows: size, kept: 300 });
            prop_assert!(compared.unwrap() <= vectors.len());
            let found: Vec<Vec<(f32, Row)>> = groups.iter().map(|group| group.exact.clone()).collect();
            prop_assert_eq!(expected(&found, (limit, size)), expected(&known, (limit, size)));
        }
    }
}
