//! The persistent part of a collection: cheap to clone, so that a reader's view is a clone.

use super::config::CollectionConfig;
use super::point::Point;
use crate::filter::{IndexSet, PointView};
use crate::payload::{FieldIndex, JsonPath};
use crate::types::PointId;
use imbl::{OrdMap, Vector};
use roaring::RoaringBitmap;
use std::sync::Arc;

/// Points, ids and field indexes of a collection at one operation. Every part is copy-on-write: a clone costs
/// a few reference counts and never changes.
#[derive(Clone)]
pub struct State {
    /// Configuration in force.
    pub config: Arc<CollectionConfig>,
    /// Offset of each live id, in the order of scrolling.
    pub ids: OrdMap<PointId, u32>,
    /// Points by offset, tombstones included.
    pub points: Vector<Point>,
    /// Offsets of the live points.
    pub live: Arc<RoaringBitmap>,
    /// Field indexes in the order of their declaration.
    pub indexes: Arc<Vec<FieldIndex>>,
    /// Bytes of payloads that no data file holds yet.
    pub payload_bytes: u64,
}

impl State {
    /// An empty collection.
    pub fn new(config: Arc<CollectionConfig>) -> State {
        State {
            config,
            ids: OrdMap::new(),
            points: Vector::new(),
            live: Arc::new(RoaringBitmap::new()),
            indexes: Arc::new(Vec::new()),
            payload_bytes: 0,
        }
    }

    /// The live point of that id, with its offset.
    pub fn point(&self, id: PointId) -> Option<(u32, &Point)> {
        let offset = *self.ids.get(&id)?;
        Some((offset, self.at(offset)))
    }

    /// The point at an offset that came from this state.
    pub fn at(&self, offset: u32) -> &Point {
        &self.points[offset as usize]
    }

    /// Replaces the point at an offset that came from this state.
    pub fn set(&mut self, offset: u32, point: Point) {
        let added = point.payload.memory_bytes();
        if let Some(old) = self.points.get_mut(offset as usize) {
            let old = std::mem::replace(old, point);
            self.payload_bytes = self.payload_bytes + added - old.payload.memory_bytes();
        }
    }

    /// The point at an offset as filters see it.
    pub fn subject(&self, offset: u32) -> Subject<'_> {
        Subject { point: self.at(offset), config: &self.config }
    }
}

impl IndexSet for State {
    fn index(&self, path: &JsonPath) -> Option<&FieldIndex> {
        self.indexes.iter().find(|index| index.path() == path)
    }

    fn offset_of(&self, id: PointId) -> Option<u32> {
        self.ids.get(&id).copied()
    }
}

/// A point as filters see it.
pub struct Subject<'a> {
    point: &'a Point,
    config: &'a CollectionConfig,
}

impl PointView for Subject<'_> {
    fn id(&self) -> PointId {
        self.point.id
    }

    fn has_vector(&self, name: &str) -> bool {
        self.config.vector_position(name).is_some_and(|field| self.point.rows.row(field).is_some())
    }

    fn document(&self) -> &[u8] {
        self.point.payload.bytes()
    }
}
