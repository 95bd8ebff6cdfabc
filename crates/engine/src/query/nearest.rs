//! The nearest neighbours of dense vectors.

use super::Hit;
use super::graph::GraphSearch;
use super::matching::Matching;
use super::scorer::Ask;
use super::search::Search;
use super::tally;
use crate::collection::{Snapshot, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::index::{Stopped, TopK, flat};
use crate::vectors::VectorValue;

/// Searches of a group scan for themselves when their filter matches less than one row in so many.
const ONE_BY_ONE_SHARE: u64 = 4;

/// The best `k` points that match of a field of dense vectors, best first, ties by id.
pub fn dense(
    snapshot: &Snapshot,
    ask: &Ask<'_>,
    components: &[f32],
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let view = &*snapshot.view;
    let field = ask.target.field;
    let (name, _) = &view.state.config.fields()[field];
    let search = Search::new(view, field, components, ask.excluded, ask.k, deadline);
    let graph = snapshot.graphs[field].as_ref().filter(|_| !ask.params.exact);
    let found = match graph {
        Some((graph, boundary)) => {
            let ef_search = view.state.config.effective_hnsw(name).map_or(ask.k, |hnsw| hnsw.ef_search);
            let ef = ask.params.hnsw_ef.unwrap_or(ef_search).max(ask.k);
            let mut params = *ask.params;
            // What codes that nobody asked for estimate is not for clients to see.
            params.quantization.rescore |= view.state.config.asked_codes(field).is_none();
            GraphSearch::new(&search, graph, *boundary, ef, &params).run(matching)?
        }
        None => {
            tally::count(|tally| tally.exact_scans += 1);
            search.scan(matching)?
        }
    };
    Ok(hits(view, field, ask.threshold, found))
}

/// The points nearest to the vector of each search, which are all of one field of dense vectors: as [`dense`] would
/// answer them by a scan.
pub fn scan_many<'a>(
    snapshot: &Snapshot,
    asks: &[Ask<'a>],
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Vec<Hit>>, Error> {
    let view = &*snapshot.view;
    let search = |ask: &Ask<'a>| match &ask.target.vector {
        VectorValue::Dense(components) => {
            Ok(Search::new(view, ask.target.field, components, ask.excluded, ask.k, deadline))
        }
        other => Err(Error::Internal(format!("{:?} in a scan of dense vectors", other.kind()))),
    };
    let searches: Vec<Search<'_>> = asks.iter().map(search).collect::<Result<_, _>>()?;
    let found = rows_of_many(view, &searches, matching, deadline)?;
    let hits = |(ask, found): (&Ask<'_>, _)| hits(view, ask.target.field, ask.threshold, found);
    Ok(asks.iter().zip(found).map(hits).collect())
}

/// The rows that each search finds by a scan, with their distances.
fn rows_of_many(
    view: &View,
    searches: &[Search<'_>],
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Vec<(f32, u32)>>, Error> {
    tally::count(|tally| tally.exact_scans += searches.len() as u64);
    let Some(first) = searches.first() else { return Ok(Vec::new()) };
    if !matching.is_everything() {
        matching.settle(deadline)?;
        // Of a few matches each search fetches its own sooner than all rows are looked at.
        if matching.at_most() < first.table.live() / ONE_BY_ONE_SHARE {
            return searches.iter().map(|search| search.scan(matching)).collect();
        }
    }
    let excluded = |search: &Search<'_>, row| search.excluded.contains(first.table.owner(row));
    // A point that a search leaves out is found and dropped, so that all searches accept the same rows.
    let mut tops: Vec<_> = searches
        .iter()
        .map(|search| {
            let k = search.k.saturating_add(search.excluded.len());
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
pub fn hits(view: &View, field: usize, threshold: Option<f32>, found: Vec<(f32, u32)>) -> Vec<Hit> {
    let (table, metric) = (&view.fields[field], view.state.config.fields()[field].1.metric);
    let hit = |(distance, row)| Hit::scored(table.owner(row), metric.score(distance));
    let is_good = |hit: &Hit| threshold.is_none_or(|least| !metric.is_worse(hit.score, least));
    let mut hits: Vec<Hit> = found.into_iter().map(hit).filter(is_good).collect();
    // Different distances may have one score: the root of a square is coarser than the square.
    for equal in hits.chunk_by_mut(|a, b| a.score == b.score) {
        equal.sort_unstable_by_key(|hit| view.state.at(hit.offset).id);
    }
    hits
}
