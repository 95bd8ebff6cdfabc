//! Points in an answer, with the payload and the vectors that the request selects.

use super::answer_budget::AnswerBudget;
use crate::api::response;
use crate::collection::{PointRef, View};
use crate::json::PackedVectors;
use crate::payload::PayloadSelector;
use crate::query::Hit;
use crate::query::request::{Selectors, VectorSelector};
use crate::scheduling::lane;
use crate::types::{OpNumber, PointId, PointOffset, Row};
use crate::vectors::VectorValue;
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// Points that are asked for before they are written; an answer may end before it has more.
const MOST_EXPECTED: usize = 256;

/// What all points of an answer share.
pub(super) struct PointOutput<'d> {
    /// Bounds the answer.
    pub budget: AnswerBudget<'d>,
    /// Where the vectors go if they are no part of the JSON.
    pub packed: Option<&'d mut PackedVectors>,
}

/// Writes the hits of a search as a list (C6.1), or those of a query as an object.
pub(super) fn write_hits(out: &mut Vec<u8>, writer: &mut PointWriter<'_, '_>, hits: &[Hit], is_list: bool) {
    let view = writer.view;
    writer.expect(hits.iter().map(|hit| hit.offset));
    // All points first: each look-up misses the caches, and look-ups that do not depend on one another overlap.
    let found: Vec<Found<'_>> = hits.iter().map(|hit| Found::of(view, *hit)).collect();
    if is_list {
        response::write_list(out, found, |out, found| writer.scored(out, found));
    } else {
        response::write_query_result(out, |out| {
            response::write_elements(out, found, |out, found| writer.scored(out, found));
        });
    }
}

/// A point of an answer, with what is read of it.
struct Found<'a> {
    hit: Hit,
    point: PointRef<'a>,
    id: Cow<'a, PointId>,
    version: OpNumber,
    document: &'a [u8],
}

impl<'a> Found<'a> {
    fn of(view: &'a View, hit: Hit) -> Found<'a> {
        let point = view.state.at(hit.offset);
        Found { hit, point, id: point.id(), version: point.version(), document: point.document() }
    }
}

/// Writes points of one view, with the payload and the vectors that the request selects.
pub(super) struct PointWriter<'a, 'd> {
    view: &'a View,
    with: &'a Selectors,
    output: &'a mut PointOutput<'d>,
    payload: Vec<u8>,
    /// What stands for packed vectors.
    places: Vec<u8>,
    /// Time of selecting payloads and vectors, where it is taken.
    pub selecting: Option<Duration>,
}

impl<'a, 'd> PointWriter<'a, 'd> {
    /// A writer of so many points.
    pub fn new(
        view: &'a View,
        with: &'a Selectors,
        output: &'a mut PointOutput<'d>,
        points: usize,
    ) -> PointWriter<'a, 'd> {
        // What of the vectors is shown is not looked at closely: few points have many.
        let shows_vectors = with.vector != VectorSelector::None;
        let fields = view.state.config.fields().iter();
        let components = if shows_vectors { fields.map(|(_, params)| params.size).sum() } else { 0 };
        output.budget.expect(points, components);
        PointWriter { view, with, output, payload: Vec::new(), places: Vec::new(), selecting: None }
    }

    /// Announces points that are written next: what is shown of their payloads and vectors.
    pub fn expect(&self, offsets: impl Iterator<Item = PointOffset> + Clone) {
        let (state, offsets) = (&self.view.state, offsets.take(MOST_EXPECTED));
        if self.with.payload != PayloadSelector::None {
            state.expect_documents(offsets.clone());
        }
        if self.with.vector != VectorSelector::None {
            for (field, table) in self.view.fields.iter().enumerate() {
                let rows = offsets.clone().filter_map(|offset| state.at(offset).row(field));
                table.rows.expect(rows.map(Row::get));
            }
        }
    }

    pub fn record(&mut self, out: &mut Vec<u8>, hit: Hit) {
        let found = Found::of(self.view, hit);
        if self.fits(out, &found) {
            self.point(&found, |point| response::write_record(out, point));
        }
    }

    fn scored(&mut self, out: &mut Vec<u8>, found: Found<'_>) {
        if self.fits(out, &found) {
            self.point(&found, |point| {
                response::write_scored_point(out, point, found.version.get(), found.hit.score)
            });
        }
    }

    fn fits(&mut self, out: &[u8], found: &Found<'_>) -> bool {
        let (bytes, paths) = (found.document.len(), self.with.payload.paths());
        if self.with.payload != PayloadSelector::None && !lane::may_look_at(bytes, paths.max(1)) {
            self.output.budget.give_up();
        }
        let looked_through = bytes.saturating_mul(paths);
        let packed = self.output.packed.as_ref().map_or(0, |packed| packed.len());
        self.output.budget.admits(out.len() + packed, looked_through)
    }

    fn point(&mut self, found: &Found<'_>, write: impl FnOnce(&response::PointView<'_>)) {
        let start = self.selecting.map(|_| Instant::now());
        let payload = match &self.with.payload {
            PayloadSelector::None => None,
            PayloadSelector::All => Some(found.document),
            selector => {
                self.payload.clear();
                selector.select(found.document, &mut self.payload);
                Some(self.payload.as_slice())
            }
        };
        let values = (self.with.vector != VectorSelector::None).then(|| self.vectors(found.point));
        let vectors = match (&values, &mut self.output.packed) {
            (Some(values), Some(packed)) => {
                self.places.clear();
                response::pack_vectors(values, packed, &mut self.places);
                Some(response::ShownVectors::Packed(&self.places))
            }
            (values, _) => values.as_deref().map(response::ShownVectors::Values),
        };
        if let (Some(start), Some(selecting)) = (start, &mut self.selecting) {
            *selecting += start.elapsed();
        }
        let order_value = found.hit.order_value;
        let shown = response::PointView { id: &found.id, payload, vectors, order_value };
        write(&shown);
    }

    fn vectors(&self, point: PointRef<'_>) -> Vec<(&'a str, VectorValue)> {
        let config = &self.view.state.config;
        let wanted = |name: &str| match &self.with.vector {
            VectorSelector::None => false,
            VectorSelector::All => true,
            VectorSelector::Named(names) => names.iter().any(|named| **named == *name),
        };
        config
            .declared_positions()
            .map(|position| (config.name_at(position), position))
            .filter(|(name, _)| wanted(name))
            .filter_map(|(name, position)| Some((name, self.view.vector(point, position)?)))
            .collect()
    }
}
