//! Measures the recall of searches by the width of their walks (C14): what they find, beside what an exact scan finds.
//! See docs/recall.md.

use super::bound_search::{BoundSearch, Check};
use super::excluded::Excluded;
use super::matching::Matching;
use super::plan_runner::PlanRunner;
use super::scorer::vector_of;
use super::tally::take_tally;
use super::tree::SearchParams;
use super::vector_search::{Target, VectorSearch, Width};
use crate::collection::Snapshot;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::field::calibration::{Calibration, HITS, LADDER, RecallEstimate, SHARES, scattered};
use crate::index::{Stopped, TopK, flat};
use crate::point_set::PointSet;
use crate::types::{PointOffset, Row};
use crate::vectors::{VectorKind, VectorValue};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Allowed for one walk; none takes as long.
const LONGEST_WALK: Duration = Duration::from_secs(60);

/// The fields of a snapshot whose recall can be measured: those of dense vectors that have a graph.
pub fn measurable(snapshot: &Snapshot) -> impl Iterator<Item = usize> + '_ {
    let config = &snapshot.view.state.config;
    let has_graph = |field: &usize| snapshot.graphs[*field].is_some();
    (0..snapshot.graphs.len()).filter(has_graph).filter(|&field| config.kind_at(field) == VectorKind::Dense)
}

/// Rows of a field that were ever written, and those that are alive.
pub fn rows_of(snapshot: &Snapshot, field: usize) -> (u32, u64) {
    let table = &snapshot.view.fields[field];
    (table.end().get(), table.live())
}

/// The recall of the first ten hits of a search without a filter and without parameters, as it was measured: of the field
/// where it is least. `None` where no field is calibrated.
pub fn estimate(snapshot: &Snapshot) -> Option<RecallEstimate> {
    let config = &snapshot.view.state.config;
    let of_field = |field: usize| {
        let (graph, _) = snapshot.graphs[field].as_ref()?;
        let slot = &snapshot.view.fields[field].graphs.calibration;
        let calibration = slot.fitting(&graph.graph_params, rows_of(snapshot, field))?;
        let hnsw = config.effective_hnsw(config.name_at(field))?;
        let ef = match hnsw.target_recall {
            Some(target) => calibration.ef(target, HITS[0], 1.0, |_, _| false).unwrap_or(usize::MAX),
            None => hnsw.ef_search.max(HITS[0]),
        };
        Some(calibration.estimate(ef))
    };
    measurable(snapshot).filter_map(of_field).min_by(|a, b| a.recall.total_cmp(&b.recall))
}

/// A query of a calibration.
pub(super) struct Sampled {
    target: Target,
    /// The point whose vector it is.
    own: Excluded,
    /// Its row. Its links lead to the nearest others, so a walk that met it would find more than one for a vector that is
    /// not stored.
    pub(super) row: Option<Row>,
}

/// Measures one query of a field, the one of that number: one of the searches that were kept, or the vector of a point,
/// which is left out of what is found. `pause` is called at least each millisecond, with no lock held; when it says
/// so, the measurement is given up.
///
/// Returns whether something was measured; false where no point has a vector, or the field has no graph.
///
/// # Errors
/// `Timeout` when a walk takes absurdly long; [`Stopped`] inside is an `Ok(false)`.
pub fn measure(
    snapshot: &Snapshot,
    field: usize,
    number: u32,
    calibration: &mut Calibration,
    pause: &impl Fn() -> bool,
) -> Result<bool, Error> {
    let Some(sampled) = sampled(snapshot, field, number, calibration.is_live) else { return Ok(false) };
    let mut measured = Vec::with_capacity(SHARES.len() * HITS.len());
    for (class, share) in SHARES.into_iter().enumerate() {
        let set =
            (class > 0).then(|| random_set(snapshot, share, scattered(u64::from(number)) ^ class as u64));
        let Some(nearest) = exact(snapshot, &sampled, set.as_ref(), pause) else { return Ok(false) };
        for (at, hits) in HITS.into_iter().enumerate() {
            let wanted = &nearest[..nearest.len().min(hits)];
            if wanted.is_empty() {
                continue;
            }
            let Some(recalls) = climb(snapshot, &sampled, set.as_ref(), hits, wanted, pause)? else {
                return Ok(false);
            };
            measured.push((at, class, recalls));
        }
    }
    // All of a query or nothing, so that each class has seen the same queries.
    for (at, class, recalls) in &measured {
        calibration.add(*at, *class, recalls);
    }
    Ok(!measured.is_empty())
}

pub(super) fn sampled(snapshot: &Snapshot, field: usize, number: u32, is_live: bool) -> Option<Sampled> {
    let target = |vector| Target { field, vector, idf: None };
    if is_live {
        let query = snapshot.view.fields[field].graphs.calibration.query(number)?;
        let fits = query.len() == snapshot.view.state.config.fields()[field].1.size;
        return fits.then(|| Sampled {
            target: target(VectorValue::Dense(query.to_vec())),
            own: Excluded::default(),
            row: None,
        });
    }
    let state = &snapshot.view.state;
    let count = state.live.len();
    // Some points may have no vector in the field: a few others are tried.
    (0..8).find_map(|attempt| {
        let rank = scattered(u64::from(number) << 8 | attempt) % count.max(1);
        let offset = state.live.nth(u32::try_from(rank).ok()?)?;
        let vector = vector_of(&snapshot.view, field, offset)?;
        let row = state.at(offset).row(field);
        let own = if PlantedFault::OwnPointMeasured.is_on() { Vec::new() } else { vec![offset] };
        Some(Sampled { target: target(vector), own: Excluded::new(own), row })
    })
}

/// Live points, each with a probability of `share`, whatever their vectors are.
fn random_set(snapshot: &Snapshot, share: f64, seed: u64) -> PointSet {
    let below = (share * f64::from(u32::MAX)) as u64;
    let is_in = |offset: &PointOffset| scattered(seed << 20 ^ u64::from(offset.get())) >> 32 < below;
    PointSet::from_sorted(&snapshot.view.state.live.iter().filter(is_in).collect::<Vec<_>>())
}

fn matching<'a>(snapshot: &'a Snapshot, set: Option<&PointSet>) -> Matching<'a> {
    let state = &snapshot.view.state;
    set.map_or_else(|| Matching::all(state), |set| Matching::among(state, set.clone()))
}

fn search(sampled: &Sampled, k: usize, ef: usize) -> VectorSearch<'_> {
    VectorSearch {
        target: &sampled.target,
        k,
        ef,
        width: Width::Given,
        params: SearchParams::default(),
        avoided: sampled.row,
        threshold: None,
        excluded: &sampled.own,
    }
}

/// The nearest rows that match, best first, with their distances. `None` when it was given up.
pub(super) fn exact(
    snapshot: &Snapshot,
    sampled: &Sampled,
    set: Option<&PointSet>,
    pause: &impl Fn() -> bool,
) -> Option<Vec<(f32, Row)>> {
    let VectorValue::Dense(components) = &sampled.target.vector else { return None };
    let k = HITS.into_iter().max().unwrap_or(1);
    let deadline = deadline();
    let bound = BoundSearch::new(&snapshot.view, search(sampled, k, k), components, &deadline);
    let matching = matching(snapshot, set);
    let (rows, tie) = (&bound.table.rows, |a: Row, b: Row| -> Ordering { bound.tie(a, b) });
    let mut top = TopK::new(k, tie);
    let scanned = match set {
        None => {
            let check = Check::new(&bound, &matching);
            let accept = |row| check.passes(row);
            let range = bound.table.all_rows();
            flat::scan_range(rows, bound.distance, &bound.query, range, &accept, &mut top, pause)
        }
        Some(_) => flat::scan_ids(rows, bound.distance, &bound.query, bound.rows(&matching), &mut top, pause),
    };
    match scanned {
        Ok(()) => Some(top.into_sorted()),
        Err(Stopped) => None,
    }
}

/// The recall at each width. From the first width on at which everything is found it is taken to be whole: a wider walk
/// goes on from where a narrower one has ended. `None` when it was given up.
fn climb(
    snapshot: &Snapshot,
    sampled: &Sampled,
    set: Option<&PointSet>,
    hits: usize,
    wanted: &[(f32, Row)],
    pause: &impl Fn() -> bool,
) -> Result<Option<[f64; LADDER.len()]>, Error> {
    let rows: HashSet<Row> = wanted.iter().map(|&(_, row)| row).collect();
    let farthest = wanted.last().map_or(f32::NEG_INFINITY, |&(distance, _)| distance);
    let mut recalls = [1.0; LADDER.len()];
    let mut last = (0, 0.0);
    for (recall, width) in recalls.iter_mut().zip(LADDER) {
        let ef = width.max(hits);
        if ef != last.0 {
            if pause() {
                return Ok(None);
            }
            let found = found(snapshot, sampled, set, hits, ef)?;
            // A hit at the distance of the last one is as good.
            let good =
                found.iter().filter(|(distance, row)| rows.contains(row) || *distance <= farthest).count();
            last = (ef, good.min(wanted.len()) as f64 / wanted.len() as f64);
        }
        *recall = last.1;
        if last.1 >= 1.0 {
            break;
        }
    }
    Ok(Some(recalls))
}

/// What a search of that width finds.
fn found(
    snapshot: &Snapshot,
    sampled: &Sampled,
    set: Option<&PointSet>,
    k: usize,
    ef: usize,
) -> Result<Vec<(f32, Row)>, Error> {
    let field = sampled.target.field;
    let (VectorValue::Dense(components), Some((graph, boundary))) =
        (&sampled.target.vector, &snapshot.graphs[field])
    else {
        return Ok(Vec::new());
    };
    let deadline = deadline();
    let bound = BoundSearch::new(&snapshot.view, search(sampled, k, ef), components, &deadline);
    let found = PlanRunner::new(&bound, graph, *boundary).run(&mut matching(snapshot, set));
    // What the calibration does is not counted among the searches.
    take_tally();
    found
}

fn deadline() -> Deadline {
    Deadline::new(Instant::now(), LONGEST_WALK, "calibration")
}
