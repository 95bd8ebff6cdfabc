//! The nearest neighbours of dense vectors.

use super::Hit;
use super::bound_search::BoundSearch;
use super::estimate;
use super::matching::Matching;
use super::plan_runner::PlanRunner;
use super::tally;
use super::vector_search::VectorSearch;
use crate::collection::{Snapshot, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::index::{Stopped, TopK, flat};
use crate::types::Row;
use crate::vectors::VectorValue;

/// Searches of a group scan one by one if the points that match, multiplied by this, are fewer than the rows.
const ONE_BY_ONE_DIVISOR: u64 = 4;

/// The best points that match of a field of dense vectors, best first, ties by id.
pub fn dense(
    snapshot: &Snapshot,
    search: &VectorSearch<'_>,
    components: &[f32],
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let (view, field) = (&*snapshot.view, search.target.field);
    let bound = bound(view, *search, components, deadline);
    let graph = snapshot.graphs[field].as_ref().filter(|_| !search.params.exact);
    let found = match graph {
        Some((graph, boundary)) => {
            // The searches that say why a point was missed are no queries of clients.
            if !search.params.scans_codes {
                bound.table.graphs.calibration.note_query(components);
            }
            PlanRunner::new(&bound, graph, *boundary).run(matching)?
        }
        None => {
            let found = bound.scan(matching)?;
            tally::count(|tally| {
                tally.exact_scans += 1;
                tally.compared += bound.possible(matching);
            });
            found
        }
    };
    Ok(hits(view, search, found))
}

/// A search that codes may serve.
pub fn bound<'a>(
    view: &'a View,
    mut search: VectorSearch<'a>,
    components: &[f32],
    deadline: &'a Deadline,
) -> BoundSearch<'a> {
    // The estimates of codes that the configuration does not ask for are not shown to clients.
    search.params.quantization.rescore |= view.state.config.asked_codes(search.target.field).is_none();
    BoundSearch::new(view, search, components, deadline)
}

/// The points nearest to the vector of each search. All searches are of one field of dense vectors. The results are those of
/// [`dense`] by a scan.
pub fn scan_many<'a>(
    snapshot: &Snapshot,
    searches: &[VectorSearch<'a>],
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Vec<Hit>>, Error> {
    let view = &*snapshot.view;
    let bound = |search: &VectorSearch<'a>| match &search.target.vector {
        VectorValue::Dense(components) => Ok(BoundSearch::new(view, *search, components, deadline)),
        other => Err(Error::Internal(format!("{:?} in a scan of dense vectors", other.kind()))),
    };
    let bound: Vec<BoundSearch<'_>> = searches.iter().map(bound).collect::<Result<_, _>>()?;
    let found = rows_of_many(view, &bound, matching, deadline)?;
    Ok(searches.iter().zip(found).map(|(search, found)| hits(view, search, found)).collect())
}

/// The rows that each search finds by a scan, with their distances.
fn rows_of_many(
    view: &View,
    searches: &[BoundSearch<'_>],
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Vec<(f32, Row)>>, Error> {
    tally::count(|tally| tally.exact_scans += searches.len() as u64);
    let Some(first) = searches.first() else { return Ok(Vec::new()) };
    matching.settle(deadline)?;
    tally::count(|tally| tally.compared += first.possible(matching) * searches.len() as u64);
    // If few points match, fetching their rows for each search is faster than checking all rows once.
    if !matching.is_everything() && matching.at_most() < first.table.live() / ONE_BY_ONE_DIVISOR {
        return searches.iter().map(|search| search.scan(matching)).collect();
    }
    let is_excluded = |bound: &BoundSearch<'_>, row| bound.search.excluded.contains(first.table.owner(row));
    // Points that a search excludes are removed from its result, so that all searches accept the same rows.
    let mut tops: Vec<_> = searches
        .iter()
        .map(|bound| {
            let k = bound.search.k.saturating_add(bound.search.excluded.len());
            TopK::new(k, |a, b| first.tie(a, b))
        })
        .collect();
    let queries: Vec<&[f32]> = searches.iter().map(|search| &*search.query).collect();
    let accept = |row| {
        first.table.alive(row, view.op)
            && (matching.is_everything() || matching.accepts(first.table.owner(row)))
    };
    let (rows, range) = (&first.table.rows, first.table.all_rows());
    let compared = (range.numbers().len() as u64).saturating_mul(searches.len() as u64);
    deadline.expect(estimate::rows(compared, rows.row_bytes()))?;
    flat::scan_many(rows, first.distance, &queries, range, &accept, &mut tops, &|| deadline.passed())
        .map_err(|Stopped| deadline.error())?;
    let pick = |(bound, top): (&BoundSearch<'_>, TopK<Row, _>)| {
        let mut found = top.into_sorted();
        found.retain(|&(_, row)| !is_excluded(bound, row));
        found.truncate(bound.search.k);
        found
    };
    Ok(searches.iter().zip(tops).map(pick).collect())
}

/// Rows as hits: with their scores, without those beyond the threshold.
pub fn hits(view: &View, search: &VectorSearch<'_>, found: Vec<(f32, Row)>) -> Vec<Hit> {
    let (field, threshold) = (search.target.field, search.threshold);
    let (table, metric) = (&view.fields[field], view.state.config.fields()[field].1.metric);
    let hit = |(distance, row)| Hit::scored(table.owner(row), metric.score(distance));
    let is_good = |hit: &Hit| threshold.is_none_or(|least| !metric.is_worse(hit.score, least));
    let mut hits: Vec<Hit> = found.into_iter().map(hit).filter(is_good).collect();
    // Different distances may have one score: the root of a square is coarser than the square.
    for equal in hits.chunk_by_mut(|a, b| a.score == b.score) {
        equal.sort_unstable_by(|a, b| view.state.at(a.offset).id().cmp(&view.state.at(b.offset).id()));
    }
    hits
}
