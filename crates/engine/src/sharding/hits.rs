//! Points in the answers of shards, and their orders.

use super::questions::{Answer, broken};
use crate::api::read_id_of;
use crate::api::response::{self, PointView, ShownVectors};
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::query::request::Direction;
use crate::query::{OrderValue, compare_values};
use crate::types::{IdKind, PointId};
use std::cmp::Ordering;

/// A point that a shard answered. What is shown of it stays text of the answer.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub id: PointId,
    pub version: u64,
    /// 1 where nothing is scored.
    pub score: f32,
    pub order_value: Option<OrderValue>,
    pub payload: Option<Answer>,
    pub vector: Option<Answer>,
}

impl Found {
    /// Shows what another answer shows of the point.
    pub fn showing(self, other: &Found) -> Found {
        Found { payload: other.payload.clone(), vector: other.vector.clone(), ..self }
    }

    fn view(&self) -> PointView<'_> {
        PointView {
            id: &self.id,
            payload: self.payload.as_ref().map(|payload| payload.text().as_bytes()),
            vectors: self.vector.as_ref().map(|vector| ShownVectors::Packed(vector.text().as_bytes())),
            order_value: self.order_value,
        }
    }

    /// Appends it as a hit.
    pub fn write_hit(&self, out: &mut Vec<u8>) {
        response::write_scored_point(out, &self.view(), self.version, self.score);
    }

    /// Appends it as a record.
    pub fn write_record(&self, out: &mut Vec<u8>) {
        response::write_record(out, &self.view());
    }
}

/// Reads one point, in `answer` at the place of the reader.
pub(super) fn read_point(reader: &mut Reader<'_>, answer: &Answer, kind: IdKind) -> Result<Found, Error> {
    let (mut id, mut version, mut score, mut order_value) = (None, 0, 1.0, None);
    let (mut payload, mut vector) = (None, None);
    reader.object(|r, key| {
        let start = r.position();
        match key {
            "id" => id = Some(read_id_of(r, kind)?),
            "version" => version = r.u64()?,
            "score" => score = r.f32()?,
            "order_value" => order_value = Some(read_order_value(r)?),
            _ => {
                let text = start..start + r.raw()?.len();
                match key {
                    "payload" => payload = Some(answer.part(text)),
                    "vector" => vector = Some(answer.part(text)),
                    _ => {}
                }
            }
        }
        Ok(())
    })?;
    let id = id.ok_or_else(broken)?;
    Ok(Found { id, version, score, order_value, payload, vector })
}

fn read_order_value(reader: &mut Reader<'_>) -> Result<OrderValue, Error> {
    let text = reader.number_text()?;
    match text.parse() {
        Ok(integer) => Ok(OrderValue::Integer(integer)),
        Err(_) => text.parse().map(OrderValue::Float).map_err(|_| broken()),
    }
}

/// The points of an answer: a list, or the member `points` of an object, whose other members `other` takes.
///
/// # Errors
/// `Internal` for anything else.
pub(super) fn points_of(
    answer: &Answer,
    kind: IdKind,
    mut other: impl FnMut(&mut Reader<'_>, &str) -> Result<(), Error>,
) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    let mut list = |r: &mut Reader<'_>| {
        r.array(|r, _| {
            found.push(read_point(r, answer, kind)?);
            Ok(())
        })
    };
    let mut reader = Reader::new(answer.text().as_bytes())?;
    let read = match reader.peek()? {
        Kind::Array => list(&mut reader),
        _ => reader.object(|r, key| if key == "points" { list(r) } else { other(r, key) }),
    };
    read.map_err(|_| broken())?;
    Ok(found)
}

/// The hits of an answer.
pub(super) fn hits_of(answer: &Answer, kind: IdKind) -> Result<Vec<Found>, Error> {
    points_of(answer, kind, |r, _| r.skip())
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// By score, ties by id.
    Scores {
        /// They are distances.
        smaller_is_better: bool,
    },
    /// By the value of a field, ties by id.
    Values(Direction),
    /// By id.
    Ids,
    /// As they were found or chosen.
    Found,
}

impl Order {
    /// Which of two points is before the other.
    pub fn compare(self, a: &Found, b: &Found) -> Ordering {
        let by_value = match (self, a.order_value, b.order_value) {
            (Order::Found, ..) => return Ordering::Equal,
            (Order::Scores { smaller_is_better: true }, ..) => a.score.total_cmp(&b.score),
            (Order::Scores { .. }, ..) => b.score.total_cmp(&a.score),
            (Order::Values(Direction::Asc), Some(a), Some(b)) => compare_values(a, b),
            (Order::Values(Direction::Desc), Some(a), Some(b)) => compare_values(b, a),
            _ => Ordering::Equal,
        };
        by_value.then_with(|| a.id.cmp(&b.id))
    }

    /// The first `limit` points of some lists, each of which is in this order.
    pub fn merge(self, lists: impl IntoIterator<Item = Vec<Found>>, limit: usize) -> Vec<Found> {
        let mut all: Vec<Found> = lists.into_iter().flatten().collect();
        all.sort_by(|a, b| self.compare(a, b));
        all.truncate(limit);
        all
    }
}
