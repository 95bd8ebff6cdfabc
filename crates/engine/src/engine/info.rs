//! What is said of a collection: its info, and parts of it that have endpoints of their own.

use super::Operation;
use crate::api::{response, summaries};
use crate::catalog::{Entry, Presence, ResidenceState, Sleeping, Use};
use crate::collection::{AutoIndex, Collection, View};
use crate::config::Reembedding;
use crate::faults::PlantedFault;
use crate::payload::FieldSchema;
use crate::query::calibrating::estimate;

/// Writes what one of the endpoints says that have a part of the info or a one-node answer.
pub fn write_part(out: &mut Vec<u8>, operation: Operation, entry: &Entry) {
    let state = State::of(entry);
    match operation {
        Operation::CollectionStatus => {
            let (points, indexed) = (state.points, state.indexed);
            summaries::write_status(out, state.status, state.fault.as_deref(), points, indexed);
        }
        Operation::CollectionClusterInfo => summaries::write_cluster_info(out, state.points),
        _ => summaries::write_optimizations(out, state.waiting),
    }
}

/// What the parts are made of.
struct State {
    status: response::CollectionStatus,
    fault: Option<String>,
    points: u64,
    indexed: u64,
    /// Vectors that are not in a graph and will be; `None` where nothing waits.
    waiting: Option<u64>,
}

impl State {
    fn of(entry: &Entry) -> State {
        let collection = match entry.presence() {
            Presence::Awake(collection) => collection,
            Presence::Asleep(sleeping) => return State::of_sleeping(&sleeping),
            Presence::Nothing => {
                let fault = entry.fault().map(str::to_string);
                let status = response::CollectionStatus::Red;
                return State { status, fault, points: 0, indexed: 0, waiting: None };
            }
        };
        let fault = fault(&collection);
        let task_failure = collection.task_failure();
        let view = collection.current_view();
        let indexed = collection.indexed_vectors();
        let declared = view.state.config.declared_fields().len();
        let dense = view.fields.iter().take(declared).map(|table| table.vectors());
        let vectors: u64 = dense.chain(view.sparse.iter().map(|table| table.live())).sum();
        State {
            status: status(&collection, fault.is_some(), task_failure.is_some()),
            fault: fault.or_else(|| task_failure.map(|_| TASK_FAILURE.to_string())),
            points: view.points_count() as u64,
            indexed,
            waiting: (!collection.is_settled()).then(|| vectors.saturating_sub(indexed)),
        }
    }

    fn of_sleeping(sleeping: &Sleeping) -> State {
        State {
            status: response::CollectionStatus::Green,
            fault: None,
            points: sleeping.summary.points,
            indexed: sleeping.summary.indexed_vectors,
            waiting: None,
        }
    }
}

/// A log that accepts no writes is a fault of every collection, although reads go on.
fn fault(collection: &Collection) -> Option<String> {
    collection.fault().or_else(|| collection.shared().log.fault().map(|fault| fault.public()))
}

/// Writes everything that is said of a collection (C4.2). For a caller with a filter there are no counts (C15).
pub fn write_info(out: &mut Vec<u8>, held: &Use, hides_counts: bool) {
    let entry = held.entry();
    if PlantedFault::InfoWakes.is_on() {
        let _ = held.collection();
    }
    let collection = match entry.presence() {
        Presence::Awake(collection) => collection,
        Presence::Asleep(sleeping) => return write_sleeping(out, entry, &sleeping, hides_counts),
        Presence::Nothing => return write_quarantined(out, entry, hides_counts),
    };
    let fault = fault(&collection);
    // What the background tries again is shown too, although nothing is refused because of it.
    let task_failure = collection.task_failure();
    collection.measure_disk();
    let view = collection.current_view();
    let (declared, automatic) = field_indexes(&view, hides_counts);
    let (declared, automatic) = (shown(&declared), shown(&automatic));
    let resident = collection.memory().resident();
    let reembeddings = if hides_counts { Vec::new() } else { reembeddings(&collection, &view) };
    let info = response::CollectionInfo {
        status: status(&collection, fault.is_some(), task_failure.is_some()),
        fault: fault.as_deref().or(task_failure.as_deref().map(|_| TASK_FAILURE)),
        indexed_vectors_count: (!hides_counts).then(|| collection.indexed_vectors()),
        points_count: (!hides_counts).then(|| view.points_count() as u64),
        segments_count: 1,
        config: &view.state.config,
        indexes: &declared,
        auto_indexes: &automatic,
        reembeddings: &reembeddings,
        recall_estimate: estimate(&collection.read_snapshot()).filter(|_| !hides_counts),
        bytes: (!hides_counts).then_some((resident, collection.disk_bytes())),
        residency: (!hides_counts).then(|| residency(entry, ResidenceState::Awake, resident)),
    };
    response::write_collection_info(out, &info);
}

/// The same of a collection that is quarantined.
fn write_quarantined(out: &mut Vec<u8>, entry: &Entry, hides_counts: bool) {
    let config = entry.current_config();
    let info = response::CollectionInfo {
        status: response::CollectionStatus::Red,
        fault: entry.fault(),
        indexed_vectors_count: Some(0).filter(|_| !hides_counts),
        points_count: Some(0).filter(|_| !hides_counts),
        segments_count: 0,
        config: &config,
        indexes: &[],
        auto_indexes: &[],
        reembeddings: &[],
        recall_estimate: None,
        bytes: None,
        residency: None,
    };
    response::write_collection_info(out, &info);
}

/// The same of a collection that is asleep, from what is known without its files (C24). A log that accepts no writes is not
/// its fault until it is written to.
fn write_sleeping(out: &mut Vec<u8>, entry: &Entry, sleeping: &Sleeping, hides_counts: bool) {
    let Sleeping { config, indexes, summary, .. } = sleeping;
    let declared: Vec<_> = indexes
        .iter()
        .zip(&summary.index_points)
        .map(|((path, schema), points)| (path.clone(), schema, if hides_counts { 0 } else { *points }))
        .collect();
    let state = entry.residence_state().unwrap_or(ResidenceState::Asleep);
    let info = response::CollectionInfo {
        status: response::CollectionStatus::Green,
        fault: None,
        indexed_vectors_count: (!hides_counts).then_some(summary.indexed_vectors),
        points_count: (!hides_counts).then_some(summary.points),
        segments_count: 1,
        config,
        indexes: &shown(&declared),
        auto_indexes: &[],
        reembeddings: &[],
        recall_estimate: sleeping.recall.filter(|_| !hides_counts),
        bytes: (!hides_counts).then_some((0, summary.disk_bytes)),
        residency: (!hides_counts).then(|| residency(entry, state, 0)),
    };
    response::write_collection_info(out, &info);
}

fn residency(entry: &Entry, state: ResidenceState, resident_bytes: u64) -> response::ResidencyInfo {
    response::ResidencyInfo { state: state.name(), resident_bytes, opened: entry.opened() }
}

/// The vector fields that are being embedded anew, with the points that are done and all.
fn reembeddings<'v>(collection: &Collection, view: &'v View) -> Vec<(&'v str, u64, u64)> {
    let report = |of: &'v Reembedding| {
        let report = collection.report_of(view, of);
        (&*of.field, report.done, report.total)
    };
    view.state.config.reembeddings().iter().map(report).collect()
}

/// A field index as its path and its definition say, and the points that have something in it.
type Described<'s> = (String, &'s FieldSchema, u64);

/// The declared field indexes, and those that the engine made by itself (C23). For a caller with a filter the former have no
/// counts, and the latter are not shown: they say what others ask for.
fn field_indexes(view: &View, hides_counts: bool) -> (Vec<Described<'_>>, Vec<Described<'_>>) {
    let count = |points: u64| if hides_counts { 0 } else { points };
    let declared = view.state.indexes.iter();
    let mut declared: Vec<_> = declared
        .map(|index| (index.path().to_string(), index.schema(), count(index.points_count())))
        .collect();
    let built = view.state.auto_indexes.iter().filter_map(AutoIndex::built).filter(|_| !hides_counts);
    let automatic: Vec<_> =
        built.map(|index| (index.path().to_string(), index.schema(), index.points_count())).collect();
    if PlantedFault::AutoIndexInSchema.is_on() {
        declared.extend(automatic.iter().cloned());
    }
    (declared, automatic)
}

fn shown<'i>(indexes: &'i [Described<'_>]) -> Vec<response::FieldIndexInfo<'i>> {
    let info = |(field, schema, points): &'i Described<'_>| response::FieldIndexInfo {
        field,
        schema,
        points: *points,
    };
    indexes.iter().map(info).collect()
}

/// What clients get of a task that failed: the message of a panic is for the operator.
const TASK_FAILURE: &str = "background work on this collection failed inside the engine and is tried again";

fn status(collection: &Collection, faulty: bool, has_task_failure: bool) -> response::CollectionStatus {
    if faulty {
        response::CollectionStatus::Red
    } else if collection.is_settled() && !has_task_failure {
        response::CollectionStatus::Green
    } else {
        response::CollectionStatus::Yellow
    }
}
