//! The nearest neighbours of a vector.

use super::Hit;
use super::graph::GraphSearch;
use super::matching::Matching;
use super::request::QueryRequest;
use super::search::Search;
use super::tally;
use crate::collection::Snapshot;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::index::{Stopped, TopK, flat};

/// Searches of a group scan for themselves when their filter matches less than one row in so many.
const ONE_BY_ONE_SHARE: u64 = 4;

/// What to search for.
pub struct Target {
    /// Position of the vector field.
    pub field: usize,
    /// The query vector as sent; of the field's dimension.
    pub components: Vec<f32>,
    /// Offset of a point to leave out.
    pub excluded: Option<u32>,
}

/// The best `k` hits, best first, ties by id.
pub fn nearest(
    snapshot: &Snapshot,
    target: &Target,
    request: &QueryRequest,
    k: usize,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let view = &*snapshot.view;
    let (name, _) = &view.state.config.fields()[target.field];
    let search = Search::new(view, target, k, deadline);
    let mut matching = Matching::new(&view.state, request.filter.as_ref());
    let graph = snapshot.graphs[target.field].as_ref().filter(|_| !request.params.exact);
    let found = match graph {
        Some((graph, boundary)) => {
            let ef_search = view.state.config.effective_hnsw(name).map_or(k, |hnsw| hnsw.ef_search);
            let ef = request.params.hnsw_ef.unwrap_or(ef_search).max(k);
            GraphSearch::new(&search, graph, *boundary, ef, &request.params).run(&mut matching)?
        }
        None => {
            tally::count(|tally| tally.exact_scans += 1);
            search.scan(&mut matching)?
        }
    };
    Ok(hits(snapshot, target, request, found))
}

/// The rows nearest to each of the targets, which are all of one field, with their distances: `k` of each, best first,
/// ties by id.
pub fn scan_many(
    snapshot: &Snapshot,
    targets: &[(&Target, usize)],
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Vec<(f32, u32)>>, Error> {
    tally::count(|tally| tally.exact_scans += targets.len() as u64);
    let view = &*snapshot.view;
    let searches: Vec<Search<'_>> =
        targets.iter().map(|&(target, k)| Search::new(view, target, k, deadline)).collect();
    let Some(first) = searches.first() else { return Ok(Vec::new()) };
    if !matching.is_everything() {
        matching.settle(deadline)?;
        // Of a few matches each search fetches its own sooner than all rows are looked at.
        if matching.at_most() < first.table.live() / ONE_BY_ONE_SHARE {
            return searches.iter().map(|search| search.scan(matching)).collect();
        }
    }
    let excluded = |search: &Search<'_>, row| Some(first.table.owner(row)) == search.excluded;
    // A point that a search leaves out is found and dropped, so that all searches accept the same rows.
    let mut tops: Vec<_> = searches
        .iter()
        .map(|search| {
            let k = search.k.saturating_add(usize::from(search.excluded.is_some()));
            TopK::new(k, |a, b| first.tie(a, b))
        })
        .collect();
    let queries: Vec<&[f32]> = searches.iter().map(|search| &*search.query).collect();
    let accept = |row| {
        first.table.alive(row, view.op)
            && (matching.is_everything() || matching.accepts(first.table.owner(row)))
    };
    let (rows, range) = (&first.table.rows, 0..first.table.len());
    flat::scan_many(rows, first.distance, &queries, range, &accept, &mut tops, &|| deadline.passed())
        .map_err(|Stopped| deadline.error())?;
    let pick = |(search, top): (&Search<'_>, TopK<_>)| {
        let mut found = top.into_sorted();
        found.retain(|&(_, row)| !excluded(search, row));
        found.truncate(search.k);
        found
    };
    Ok(searches.iter().zip(tops).map(pick).collect())
}

/// Rows as hits: with their scores, without those beyond the threshold.
pub fn hits(
    snapshot: &Snapshot,
    target: &Target,
    request: &QueryRequest,
    found: Vec<(f32, u32)>,
) -> Vec<Hit> {
    let view = &*snapshot.view;
    let (table, metric) = (&view.fields[target.field], view.state.config.fields()[target.field].1.metric);
    let worse = |score: f32, threshold: f32| {
        if metric.higher_is_better() { score < threshold } else { score > threshold }
    };
    let mut hits: Vec<Hit> = found
        .into_iter()
        .map(|(distance, row)| Hit {
            offset: table.owner(row),
            score: metric.score(distance),
            order_value: None,
        })
        .filter(|hit| request.score_threshold.is_none_or(|threshold| !worse(hit.score, threshold)))
        .collect();
    // Different distances may have one score: the root of a square is coarser than the square.
    for equal in hits.chunk_by_mut(|a, b| a.score == b.score) {
        equal.sort_unstable_by_key(|hit| view.state.at(hit.offset).id);
    }
    hits
}
