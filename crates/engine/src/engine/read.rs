//! Reads: parse, find the collection, run on a snapshot, write the answer.

use super::{Core, Operation, Request, search};
use crate::api::{self, response};
use crate::catalog::Entry;
use crate::collection::{Collection, Point, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::payload::PayloadSelector;
use crate::query::request::{Selectors, VectorSelector};
use crate::query::{self, Hit};
use crate::types::OpNumber;
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
    let mut room = Room::new(limits.max_answer_bytes, deadline);
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
            let mut show = Show::new(&view, &parsed.with, &mut room);
            match offsets.first() {
                Some(&offset) if one => show.record(&mut out, Hit::unscored(offset)),
                _ => response::write_list(&mut out, offsets, |out, offset| {
                    show.record(out, Hit::unscored(offset))
                }),
            }
        }
        Operation::Search | Operation::Query => {
            let plain = request.operation == Operation::Search;
            let parsed = if plain { api::search(body, limits)? } else { api::query(body, limits)? };
            let held = catalog.enter(name)?;
            let snapshot = Arc::new(held.collection()?.snapshot());
            let hits = search::one(core, &snapshot, &parsed, deadline)?;
            write_hits(&mut out, Show::new(&snapshot.view, &parsed.with, &mut room), &hits, plain);
        }
        Operation::SearchBatch | Operation::QueryBatch => {
            let plain = request.operation == Operation::SearchBatch;
            let parsed =
                if plain { api::search_batch(body, limits)? } else { api::query_batch(body, limits)? };
            let held = catalog.enter(name)?;
            let (snapshot, parsed) = (Arc::new(held.collection()?.snapshot()), Arc::new(parsed));
            let results = search::batch(core, &snapshot, &parsed, deadline)?;
            response::write_list(&mut out, parsed.iter().zip(results), |out, (one, hits)| {
                write_hits(out, Show::new(&snapshot.view, &one.with, &mut room), &hits, plain);
            });
        }
        Operation::Scroll => {
            let parsed = api::scroll(body, limits)?;
            let held = catalog.enter(name)?;
            let view = held.collection()?.view();
            check_names(&view, &parsed.with.vector)?;
            let page = query::scroll(&view, &parsed, deadline)?;
            let mut show = Show::new(&view, &parsed.with, &mut room);
            response::write_page(&mut out, page.next, |out| {
                response::write_elements(out, page.hits, |out, hit| show.record(out, hit));
            });
        }
        Operation::Count => {
            let parsed = api::count(body, limits)?;
            let held = catalog.enter(name)?;
            let view = held.collection()?.view();
            response::write_count(&mut out, query::count(&view, &parsed, deadline)?);
        }
        other => return Err(Error::Internal(format!("{} is not a read", other.title()))),
    }
    room.finish()?;
    envelope.finish(&mut out, request.start.elapsed());
    Ok(out)
}

/// What the points of one answer may take, of memory and of time.
struct Room<'a> {
    most_bytes: usize,
    deadline: &'a Deadline,
    /// Bytes of the answer that were there when the last point came.
    written: usize,
    /// Work since the clock was looked at.
    unlooked: usize,
    /// Why no more of them is shown.
    over: Option<Error>,
}

impl<'a> Room<'a> {
    /// Bytes that are written, or looked through for a path, between two looks at the clock: milliseconds.
    const WORK_PER_LOOK: usize = 4 << 20;

    fn new(most_bytes: usize, deadline: &'a Deadline) -> Room<'a> {
        Room { most_bytes, deadline, written: 0, unlooked: 0, over: None }
    }

    /// Whether there is room behind so many bytes for another point, for which so many are looked through.
    fn admits(&mut self, written: usize, looked_through: usize) -> bool {
        if self.over.is_some() {
            return false;
        }
        self.unlooked = self.unlooked.saturating_add(looked_through).saturating_add(written - self.written);
        self.written = written;
        if self.unlooked >= Self::WORK_PER_LOOK {
            self.unlooked = 0;
            self.over = self.deadline.check().err();
        }
        if written > self.most_bytes {
            self.over = Some(Error::bad(format!(
                "the answer would have more than {} bytes: ask for fewer points, or for less of each",
                self.most_bytes
            )));
        }
        self.over.is_none()
    }

    /// An error when points were left out: the answer is not to be sent.
    fn finish(self) -> Result<(), Error> {
        self.over.map_or(Ok(()), Err)
    }
}

fn write_hits(out: &mut Vec<u8>, mut show: Show<'_, '_>, hits: &[Hit], plain: bool) {
    let view = show.view;
    // All points first: each look-up misses the caches, and look-ups that do not wait for one another overlap. The
    // version is read along for the last of the misses, the point itself.
    let found: Vec<(Hit, &Point, OpNumber)> = hits
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
struct Show<'a, 'd> {
    view: &'a View,
    with: &'a Selectors,
    room: &'a mut Room<'d>,
    payload: Vec<u8>,
}

impl<'a, 'd> Show<'a, 'd> {
    fn new(view: &'a View, with: &'a Selectors, room: &'a mut Room<'d>) -> Show<'a, 'd> {
        Show { view, with, room, payload: Vec::new() }
    }

    fn record(&mut self, out: &mut Vec<u8>, hit: Hit) {
        let point = self.view.state.at(hit.offset);
        if self.has_room(out, point) {
            self.point(hit, point, |point| response::write_record(out, point));
        }
    }

    fn scored(&mut self, out: &mut Vec<u8>, (hit, point, version): (Hit, &Point, OpNumber)) {
        if self.has_room(out, point) {
            self.point(hit, point, |point| {
                response::write_scored_point(out, point, version.get(), hit.score)
            });
        }
    }

    fn has_room(&mut self, out: &[u8], point: &Point) -> bool {
        let looked_through = point.payload.bytes().len().saturating_mul(self.with.payload.paths());
        self.room.admits(out.len(), looked_through)
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
