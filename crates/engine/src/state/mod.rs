//! The data of a collection at one operation: points, ids, rows of vectors and field indexes.
//!
//! The writer owns a [`Head`] and applies changes to it; readers hold a [`View`], which never changes. Both contain a
//! [`State`], which is cheap to clone because every part of it is copy-on-write.

mod allowance;
mod auto_index;
mod declared_index;
mod digest;
mod edited_payloads;
mod editing;
mod expiry;
mod head;
mod ids;
mod last_changes;
mod numbering;
mod point;
mod reading;
mod scan_costs;
mod table;
mod view;

pub use allowance::{Allowance, Unapplied};
pub use auto_index::AutoIndex;
pub use declared_index::{DeclaredIndex, IndexDraft};
pub use digest::PointDigester;
pub use edited_payloads::EditedPayloads;
pub use expiry::Expiry;
pub use head::{Head, MOVED_BYTES};
pub use ids::{IdIndex, LoadedIds};
pub use numbering::Numbering;
pub use point::{NO_ROW, Payload, Point, Rows, StoredPayload};
pub use scan_costs::{ScanCosts, ScanMeter};
pub use table::{PayloadRef, PointRef, PointTable};
pub use view::View;

use crate::config::{CollectionConfig, FieldIndexes};
use crate::faults::PlantedFault;
use crate::filter::{IndexSet, PointView};
use crate::payload::{FieldIndex, JsonPath, Tokenizer};
use crate::point_set::PointSet;
use crate::recent_operations::RecentOperations;
use crate::scheduling::{lane, yield_to_reads};
use crate::types::{OpNumber, PointId, PointOffset};
use last_changes::LastChanges;
use std::borrow::Cow;
use std::sync::Arc;

/// Points, ids and field indexes of a collection at one operation. Every part is copy-on-write: a clone costs
/// a few reference counts and never changes.
#[derive(Clone)]
pub struct State {
    /// Configuration in force.
    pub config: Arc<CollectionConfig>,
    /// Offset of each live id, in the order of scrolling.
    pub ids: IdIndex,
    /// Points by offset, tombstones included.
    pub points: PointTable,
    /// Offsets of the live points.
    pub live: PointSet,
    /// Offsets of tombstones, which the next new points take.
    vacant: PointSet,
    /// For each vector field, by its position, the live points without a vector in it: mostly none.
    lacking: Arc<Vec<PointSet>>,
    last_changes: LastChanges,
    /// Field indexes in the order of their declaration.
    pub indexes: Arc<Vec<DeclaredIndex>>,
    /// Those that the engine made by itself: at most one of a path, and none that answers differ by (C23).
    pub auto_indexes: Arc<Vec<AutoIndex>>,
    /// What filters cost that no index answers: the same accounts in all states of a collection.
    pub scan_costs: Arc<ScanCosts>,
    /// Bytes of payloads that no data file holds yet.
    pub payload_bytes: u64,
    /// Bytes of the payloads of live points, wherever they are.
    pub live_payload_bytes: u64,
    /// Bytes of ids that are long strings, those of tombstones included.
    pub id_bytes: u64,
    /// The last operations that came with an identity.
    pub operations: RecentOperations,
    /// When points come to their end, in a collection with an `expire_at_key`.
    pub expiry: Option<Expiry>,
    /// Whether some points that have ids are not live: see [`State::without`].
    pub hides_points: bool,
}

impl State {
    /// How the texts at a path become words, where a declared text index says so.
    pub fn tokenizer(&self, path: &JsonPath) -> Option<&Tokenizer> {
        self.indexes.iter().find(|index| index.path() == path)?.tokenizer()
    }

    /// An empty collection.
    pub fn new(config: Arc<CollectionConfig>) -> State {
        let expiry = config.expire_at_key.clone().map(Expiry::new);
        State {
            config,
            ids: IdIndex::default(),
            points: PointTable::default(),
            live: PointSet::new(),
            vacant: PointSet::new(),
            lacking: Arc::default(),
            last_changes: LastChanges::default(),
            indexes: Arc::new(Vec::new()),
            auto_indexes: Arc::default(),
            scan_costs: Arc::default(),
            payload_bytes: 0,
            live_payload_bytes: 0,
            id_bytes: 0,
            operations: RecentOperations::default(),
            expiry,
            hides_points: false,
        }
    }

    /// The live point of that id, with its offset.
    pub fn point(&self, id: &PointId) -> Option<(PointOffset, PointRef<'_>)> {
        let offset = self.offset(id)?;
        Some((offset, self.at(offset)))
    }

    /// The offset of the live point of that id.
    pub fn offset(&self, id: &PointId) -> Option<PointOffset> {
        let offset = self.indexed_offset(id)?;
        (!self.hides_points || self.live.contains(offset)).then_some(offset)
    }

    /// The offset that the index has for an id, also of a point that nobody finds ([`State::without`]).
    pub fn indexed_offset(&self, id: &PointId) -> Option<PointOffset> {
        self.ids.get(id, &self.points)
    }

    /// The offsets that the index has for the ids from one on, in the order of the ids.
    pub fn indexed_offsets_from(&self, id: &PointId) -> impl Iterator<Item = PointOffset> + '_ {
        self.ids.from(id, &self.points)
    }

    /// The same state in which some points are not live, for reading only: nobody finds them, and their ids stay taken.
    pub fn without(&self, points: &PointSet) -> State {
        State { live: &self.live - points, hides_points: true, ..self.clone() }
    }

    /// The points whose time has come by `now`, if there are any.
    pub fn due(&self, now: i64) -> Option<PointSet> {
        self.expiry.as_ref().filter(|expiry| expiry.has_due(now)).map(|expiry| expiry.due(now))
    }

    /// Puts another configuration in force.
    pub fn set_config(&mut self, config: Arc<CollectionConfig>) {
        let key = config.expire_at_key.clone();
        if config.field_indexes == FieldIndexes::Manual {
            self.auto_indexes = Arc::default();
        }
        self.config = config;
        if self.expiry.as_ref().map(Expiry::key) == key.as_ref() {
            return;
        }
        let Some(mut expiry) = key.map(Expiry::new) else {
            self.expiry = None;
            return;
        };
        for offset in &self.live {
            expiry.replace(offset, None, Some(self.at(offset).document()));
            yield_to_reads();
        }
        self.expiry = Some(expiry);
    }

    /// The point at an offset that came from this state.
    #[inline]
    pub fn at(&self, offset: PointOffset) -> PointRef<'_> {
        self.points.at(offset)
    }

    /// Appends a point as a checkpoint has it. Its id and its life are entered by the caller.
    pub fn load(&mut self, point: Point) {
        let offset = PointOffset::new(self.points.len() as u32);
        if !point.live {
            self.vacant.insert(offset);
        }
        self.note_vectors(offset, &point);
        self.last_changes.note(offset, point.version);
        if let Some(expiry) =
            self.expiry.as_mut().filter(|_| point.live && !PlantedFault::TimesLostAtStart.is_on())
        {
            point.payload.note_in(expiry, offset);
        }
        self.id_bytes += point.id.heap_bytes();
        self.live_payload_bytes += if point.live { point.payload.json_bytes() } else { 0 };
        self.points.push(point);
    }

    /// Offsets of the points that were changed after an operation, tombstones included, ascending.
    pub fn changed_after(&self, op: OpNumber) -> impl Iterator<Item = PointOffset> + '_ {
        let indices = self.last_changes.blocks_after(op).flatten();
        let offsets = indices.map(|at| PointOffset::new(at as u32));
        offsets.filter(move |at| self.points.get(*at).is_some_and(|point| point.version() > op))
    }

    /// The place of a new point: that of a tombstone, or a new one behind all others. [`State::set`] is to put the point
    /// there.
    pub fn add(&mut self, blank: Point) -> PointOffset {
        let behind = || PointOffset::new(u32::try_from(self.points.len()).expect("fewer than 2^32 points"));
        let offset = self.vacant.min().unwrap_or_else(behind);
        self.ids.insert(&blank.id, offset, &self.points);
        if !self.vacant.remove(offset) {
            self.id_bytes += blank.id.heap_bytes();
            self.points.push(blank);
        }
        self.live.insert(offset);
        offset
    }

    /// Takes a point out. [`State::set`] is to leave a tombstone in its place. Readers of older views still have the point.
    pub fn remove(&mut self, id: &PointId, offset: PointOffset) {
        self.ids.remove(id, &self.points);
        self.live.remove(offset);
        self.vacant.insert(offset);
    }

    /// Replaces the point at an offset that came from this state.
    pub fn set(&mut self, offset: PointOffset, point: Point) {
        self.note_vectors(offset, &point);
        self.last_changes.note(offset, point.version);
        let (added, of_id) = (point.payload.memory_bytes(), point.id.heap_bytes());
        let live = if point.live { point.payload.json_bytes() } else { 0 };
        if let Some(old) = self.points.get(offset) {
            let lived = if old.is_live() { old.payload().json_bytes() } else { 0 };
            self.live_payload_bytes = self.live_payload_bytes + live - lived;
            self.payload_bytes = self.payload_bytes + added - old.payload().memory_bytes();
            self.id_bytes = self.id_bytes + of_id - old.id().heap_bytes();
            self.points.set(offset, point);
        }
    }

    /// This state with the vector fields of another configuration. `from` has the present position of each, none of a field
    /// that is new. Every point gets its rows anew; their versions stay.
    #[must_use]
    pub fn rearranged(&self, config: Arc<CollectionConfig>, from: &[Option<usize>]) -> State {
        let lacking = |old: &Option<usize>| match old.and_then(|old| self.lacking.get(old)) {
            Some(lacking) => lacking.clone(),
            // No point has a vector in a field that is new.
            None => self.live.clone(),
        };
        State {
            config,
            points: self.points.rearranged(from),
            lacking: Arc::new(from.iter().map(lacking).collect()),
            ..self.clone()
        }
    }

    /// The points that have a vector in the field at a position.
    pub fn with_vector_at(&self, position: usize) -> PointSet {
        self.lacking.get(position).map_or_else(|| self.live.clone(), |lacking| &self.live - lacking)
    }

    /// Takes note of which vectors the point at an offset has from now on.
    fn note_vectors(&mut self, offset: PointOffset, point: &Point) {
        let fields = point.rows.fields();
        if self.lacking.len() < fields {
            Arc::make_mut(&mut self.lacking).resize_with(fields, PointSet::new);
        }
        for field in 0..fields {
            let lacks = point.live && point.rows.row(field).is_none();
            if self.lacking[field].contains(offset) != lacks {
                let lacking = &mut Arc::make_mut(&mut self.lacking)[field];
                if lacks {
                    lacking.insert(offset)
                } else {
                    lacking.remove(offset)
                };
            }
        }
    }

    /// The point at an offset as filters see it.
    pub fn subject(&self, offset: PointOffset) -> Subject<'_> {
        Subject { point: self.at(offset), state: self }
    }
}

impl IndexSet for State {
    fn index(&self, path: &JsonPath) -> Option<&FieldIndex> {
        let declared = self.indexes.iter().find(|index| index.path() == path);
        // Until a declared one is built, an automatic one goes on.
        declared.and_then(DeclaredIndex::built).or_else(|| self.auto_index(path)?.built())
    }

    fn offset_of(&self, id: &PointId) -> Option<PointOffset> {
        self.offset(id)
    }

    fn with_vector(&self, name: &str) -> Option<PointSet> {
        let Some(field) = self.config.vector_position(name) else { return Some(PointSet::new()) };
        Some(self.with_vector_at(field))
    }
}

/// A document without values.
const NO_VALUES: &[u8] = b"{}";

/// A point as filters see it.
pub struct Subject<'a> {
    point: PointRef<'a>,
    state: &'a State,
}

impl PointView for Subject<'_> {
    fn id(&self) -> Cow<'_, PointId> {
        self.point.id()
    }

    fn has_vector(&self, name: &str) -> bool {
        self.state.config.vector_position(name).is_some_and(|field| self.point.row(field).is_some())
    }

    /// An empty one where the request is given up: nobody sees what comes of it.
    fn document(&self) -> &[u8] {
        let document = self.point.document();
        if lane::may_look_at(document.len(), 1) { document } else { NO_VALUES }
    }

    fn tokenizer(&self, path: &JsonPath) -> Option<&Tokenizer> {
        self.state.tokenizer(path)
    }
}
