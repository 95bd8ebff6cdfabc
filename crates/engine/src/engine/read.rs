//! Reads: parse, find the collection, run on a snapshot, write the answer.

use super::{Core, Operation, Request, search};
use crate::api::{self, response};
use crate::catalog::Entry;
use crate::collection::{Collection, Point, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::limits::Limits;
use crate::payload::PayloadSelector;
use crate::query::request::{Selectors, VectorSelector};
use crate::query::{self, Hit};
use crate::vectors::VectorValue;
use std::sync::Arc;

/// The answer to a read.
pub fn run(core: &Core, request: &Request, deadline: &Deadline) -> Result<Vec<u8>, Error> {
    let body = (*request.body).as_ref();
    let limits = &core.limits;
    let catalog = &core.catalog;
    let name = &request.collection;
    let mut out = Vec::new();
    let envelope = response::Envelope::start(&mut out);
    match request.operation {
        Operation::ListCollections => {
            let entries = catalog.entries();
            response::write_collections(&mut out, entries.iter().map(|entry| entry.name.as_str()));
        }
        Operation::CollectionExists => response::write_exists(&mut out, catalog.exists(name)?),
        Operation::CollectionInfo => {
            let held = catalog.enter(name)?;
            write_info(&mut out, held.entry());
        }
        Operation::RetrievePoints | Operation::GetPoint => {
            let one = request.operation == Operation::GetPoint;
            let parsed = match &request.target {
                Some(id) if one => api::get_point(id)?,
                _ => api::retrieve(body, limits)?,
            };
            let held = catalog.enter(name)?;
            let view = held.collection()?.view();
            check_names(&view, &parsed.with.vector)?;
            let offsets = query::retrieve(&view, &parsed)?;
            let bounds = Bounds { limits, deadline };
            let mut show = Show::new(&view, &parsed.with, &bounds);
            match offsets.first() {
                Some(&offset) if one => show.record(&mut out, Hit::unscored(offset)),
                _ => response::write_list(&mut out, offsets, |out, offset| {
                    show.record(out, Hit::unscored(offset))
                }),
            }
            show.finish()?;
        }
        Operation::Search | Operation::Query => {
            let plain = request.operation == Operation::Search;
            let parsed = if plain { api::search(body, limits)? } else { api::query(body, limits)? };
            let held = catalog.enter(name)?;
            let snapshot = Arc::new(held.collection()?.snapshot());
            let hits = search::one(core, &snapshot, &parsed, deadline)?;
            write_hits(&mut out, &snapshot.view, &parsed.with, &hits, plain, &Bounds { limits, deadline })?;
        }
        Operation::SearchBatch | Operation::QueryBatch => {
            let plain = request.operation == Operation::SearchBatch;
            let parsed =
                if plain { api::search_batch(body, limits)? } else { api::query_batch(body, limits)? };
            let held = catalog.enter(name)?;
            let (snapshot, parsed) = (Arc::new(held.collection()?.snapshot()), Arc::new(parsed));
            let results = search::batch(core, &snapshot, &parsed, deadline)?;
            let bounds = Bounds { limits, deadline };
            let mut written = Ok(());
            response::write_list(&mut out, parsed.iter().zip(results), |out, (one, hits)| {
                if written.is_ok() {
                    written = write_hits(out, &snapshot.view, &one.with, &hits, plain, &bounds);
                }
            });
            written?;
        }
        Operation::Scroll => {
            let parsed = api::scroll(body, limits)?;
            let held = catalog.enter(name)?;
            let view = held.collection()?.view();
            check_names(&view, &parsed.with.vector)?;
            let page = query::scroll(&view, &parsed, deadline)?;
            let bounds = Bounds { limits, deadline };
            let mut show = Show::new(&view, &parsed.with, &bounds);
            response::write_page(&mut out, page.next, |out| {
                response::write_elements(out, page.hits, |out, hit| show.record(out, hit));
            });
            show.finish()?;
        }
        Operation::Count => {
            let parsed = api::count(body, limits)?;
            let held = catalog.enter(name)?;
            let view = held.collection()?.view();
            response::write_count(&mut out, query::count(&view, &parsed, deadline)?);
        }
        other => return Err(Error::Internal(format!("{} is not a read", other.title()))),
    }
    envelope.finish(&mut out, request.start.elapsed());
    Ok(out)
}

fn write_hits(
    out: &mut Vec<u8>,
    view: &View,
    with: &Selectors,
    hits: &[Hit],
    plain: bool,
    bounds: &Bounds<'_>,
) -> Result<(), Error> {
    let mut show = Show::new(view, with, bounds);
    // All points first: each look-up misses the caches, and look-ups that do not wait for one another overlap. The
    // version is read along for the last of the misses, the point itself.
    let found: Vec<(Hit, &Point, u64)> = hits
        .iter()
        .map(|hit| {
            let point = view.state.at(hit.offset);
            (*hit, point, point.version)
        })
        .collect();
    if plain {
        response::write_list(out, found, |out, found| show.scored(out, found));
    } else {
        response::write_query_result(out, |out| {
            response::write_elements(out, found, |out, found| show.scored(out, found));
        });
    }
    show.finish()
}

/// What the writing of an answer keeps to.
struct Bounds<'a> {
    limits: &'a Limits,
    deadline: &'a Deadline,
}

impl Bounds<'_> {
    /// Whether an answer of so many bytes may go on.
    fn check(&self, bytes: usize) -> Result<(), Error> {
        let most = self.limits.max_answer_bytes;
        if bytes > most {
            let advice = "ask for fewer points, or for less of each";
            return Err(Error::bad(format!("the answer has more than {most} bytes: {advice}")));
        }
        self.deadline.check()
    }
}

/// Names in `with_vector` must be declared.
pub(super) fn check_names(view: &View, selector: &VectorSelector) -> Result<(), Error> {
    let VectorSelector::Named(names) = selector else { return Ok(()) };
    match names.iter().find(|name| view.state.config.vector_position(name).is_none()) {
        Some(name) => Err(Error::VectorNotFound(name.to_string())),
        None => Ok(()),
    }
}

/// Writes points of one view with what the request wants to see of them.
struct Show<'a> {
    view: &'a View,
    with: &'a Selectors,
    payload: Vec<u8>,
    bounds: &'a Bounds<'a>,
    /// Points since the bounds were looked at, and bytes of the answer then.
    unchecked: (usize, usize),
    /// Why nothing is written any more: what there is will not be answered.
    refused: Option<Error>,
}

/// Points, and bytes of an answer, after which the bounds are looked at again.
const CHECKED_POINTS: usize = 64;
const CHECKED_BYTES: usize = 1 << 10;

impl<'a> Show<'a> {
    fn new(view: &'a View, with: &'a Selectors, bounds: &'a Bounds<'a>) -> Show<'a> {
        Show { view, with, payload: Vec::new(), bounds, unchecked: (0, 0), refused: None }
    }

    /// Tells whether all of the points were written.
    fn finish(self) -> Result<(), Error> {
        self.refused.map_or(Ok(()), Err)
    }

    /// Whether another point may be written behind so many bytes.
    fn goes_on(&mut self, bytes: usize) -> bool {
        self.unchecked.0 += 1;
        let is_due = self.unchecked.0 >= CHECKED_POINTS || bytes >= self.unchecked.1 + CHECKED_BYTES;
        if is_due && self.refused.is_none() {
            self.unchecked = (0, bytes);
            self.refused = self.bounds.check(bytes).err();
        }
        self.refused.is_none()
    }

    fn record(&mut self, out: &mut Vec<u8>, hit: Hit) {
        if !self.goes_on(out.len()) {
            return;
        }
        self.point(hit, self.view.state.at(hit.offset), |point| response::write_record(out, point));
    }

    fn scored(&mut self, out: &mut Vec<u8>, (hit, point, version): (Hit, &Point, u64)) {
        if !self.goes_on(out.len()) {
            return;
        }
        self.point(hit, point, |point| response::write_scored_point(out, point, version, hit.score));
    }

    fn point(&mut self, hit: Hit, point: &Point, write: impl FnOnce(&response::PointView<'_>)) {
        let payload = match &self.with.payload {
            PayloadSelector::None => None,
            PayloadSelector::All => Some(point.payload.bytes()),
            selector => {
                self.payload.clear();
                selector.select(point.payload.bytes(), &mut self.payload);
                Some(self.payload.as_slice())
            }
        };
        let vectors = (self.with.vector != VectorSelector::None).then(|| self.vectors(point));
        let shown = response::PointView {
            id: point.id,
            payload,
            vectors: vectors.as_deref(),
            order_value: hit.order_value,
        };
        write(&shown);
    }

    fn vectors(&self, point: &Point) -> Vec<(&str, VectorValue)> {
        let config = &self.view.state.config;
        let wanted = |name: &str| match &self.with.vector {
            VectorSelector::None => false,
            VectorSelector::All => true,
            VectorSelector::Named(names) => names.iter().any(|named| **named == *name),
        };
        (0..config.positions())
            .map(|position| (config.name_at(position), position))
            .filter(|(name, _)| wanted(name))
            .filter_map(|(name, position)| Some((name, self.view.vector(point, position)?)))
            .collect()
    }
}

fn write_info(out: &mut Vec<u8>, entry: &Entry) {
    let Some(collection) = entry.collection() else {
        let config = entry.current_config();
        let info = response::CollectionInfo {
            status: response::CollectionStatus::Red,
            fault: entry.fault(),
            indexed_vectors_count: 0,
            points_count: 0,
            segments_count: 0,
            config: &config,
            indexes: &[],
        };
        return response::write_collection_info(out, &info);
    };
    // A log that takes no writes is a fault of every collection, although reads go on.
    let fault = collection.fault().or_else(|| collection.shared().log.fault().map(|fault| fault.public()));
    let view = collection.view();
    let indexes: Vec<_> = view.state.indexes.iter().map(|index| (index.path().to_string(), index)).collect();
    let indexes: Vec<_> = indexes
        .iter()
        .map(|(field, index)| response::FieldIndexInfo {
            field,
            schema: index.schema(),
            points: index.points_count(),
        })
        .collect();
    let info = response::CollectionInfo {
        status: status(collection, fault.is_some()),
        fault: fault.as_deref(),
        indexed_vectors_count: collection.indexed_vectors(),
        points_count: view.points_count() as u64,
        segments_count: 1,
        config: &view.state.config,
        indexes: &indexes,
    };
    response::write_collection_info(out, &info);
}

fn status(collection: &Collection, faulty: bool) -> response::CollectionStatus {
    if faulty {
        response::CollectionStatus::Red
    } else if collection.is_settled() {
        response::CollectionStatus::Green
    } else {
        response::CollectionStatus::Yellow
    }
}
