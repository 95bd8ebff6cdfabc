//! Collections that are asleep (C24): what is known of them without their files, and how they get there.

use super::Catalog;
use super::entry::Entry;
use super::residence::{Place, Residence};
use crate::change::{Input, Undecodable};
use crate::checkpoint::Manifest;
use crate::collection::{Collection, DeclaredIndex};
use crate::config::{CollectionConfig, Residency};
use crate::faults::PlantedFault;
use crate::field::calibration::{Calibration, RecallEstimate};
use crate::payload::{FieldSchema, JsonPath};
use crate::query::calibrating::estimate;
use crate::rates::Rates;
use crate::storage::Storage;
use crate::types::{Lsn, OpNumber};
use std::sync::Arc;

/// What the counts of a collection were at a checkpoint, so that it need not be opened for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The last operation.
    pub op: OpNumber,
    /// LSN of its record.
    pub lsn: Lsn,
    /// Number of the next file: with the two before it says which manifest this is of.
    pub next_file: u32,
    /// Live points.
    pub points: u64,
    /// Live vectors of all fields.
    pub vectors: u64,
    /// Those in a graph, or in a field too small to need one.
    pub indexed_vectors: u64,
    /// Bytes of its files.
    pub disk_bytes: u64,
    /// Bytes that it held in memory.
    pub resident_bytes: u64,
    /// When its next point expires, in microseconds since 1970.
    pub next_expiry: Option<i64>,
    /// The points in each declared field index.
    pub index_points: Vec<u64>,
}

/// A collection that is not in memory.
pub struct Sleeping {
    /// Its configuration.
    pub config: Arc<CollectionConfig>,
    /// Paths and schemas of its declared field indexes.
    pub indexes: Vec<(String, FieldSchema)>,
    /// Its counts.
    pub summary: Summary,
    /// The recall of its searches, where it is calibrated.
    pub recall: Option<RecallEstimate>,
    /// The calibration of each vector field, for when it wakes.
    calibrations: Vec<Option<Arc<Calibration>>>,
    /// What is left of the rates of its strict mode.
    rates: Rates,
}

impl Summary {
    /// That of a collection whose checkpoint has everything; `None` where it lacks something.
    pub fn of(collection: &Collection) -> Option<Summary> {
        let manifest = collection.manifest()?;
        let view = collection.view();
        if manifest.op != view.op && !PlantedFault::SleepForgetsRecords.is_on() {
            return None;
        }
        let declared = view.state.config.declared_fields().len();
        let dense = view.fields.iter().take(declared).map(|table| table.vectors());
        Some(Summary {
            op: manifest.op,
            lsn: manifest.lsn,
            next_file: manifest.next_file,
            points: view.points_count() as u64,
            vectors: dense.chain(view.sparse.iter().map(|table| table.live())).sum(),
            indexed_vectors: collection.indexed_vectors(),
            disk_bytes: collection.disk_bytes(),
            resident_bytes: collection.memory().resident(),
            next_expiry: view.state.expiry.as_ref().and_then(|expiry| expiry.next()),
            index_points: view.state.indexes.iter().map(DeclaredIndex::points_count).collect(),
        })
    }

    /// Whether it is of this manifest.
    fn is_of(&self, manifest: &Manifest) -> bool {
        let same = (self.op, self.lsn, self.next_file) == (manifest.op, manifest.lsn, manifest.next_file);
        same && self.index_points.len() == manifest.indexes.len()
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.op.get().to_le_bytes());
        out.extend_from_slice(&self.lsn.get().to_le_bytes());
        out.extend_from_slice(&self.next_file.to_le_bytes());
        let counts = [self.points, self.vectors, self.indexed_vectors, self.disk_bytes, self.resident_bytes];
        counts.iter().for_each(|count| out.extend_from_slice(&count.to_le_bytes()));
        out.extend_from_slice(&self.next_expiry.unwrap_or(i64::MAX).to_le_bytes());
        out.extend_from_slice(&(self.index_points.len() as u32).to_le_bytes());
        self.index_points.iter().for_each(|points| out.extend_from_slice(&points.to_le_bytes()));
    }

    /// Reads what [`Summary::encode`] wrote.
    pub(super) fn decode(input: &mut Input<'_>) -> Result<Summary, Undecodable> {
        let number = |input: &mut Input<'_>| Ok(u64::from_le_bytes(input.array()?));
        Ok(Summary {
            op: OpNumber::new(number(input)?),
            lsn: Lsn::new(number(input)?),
            next_file: u32::from_le_bytes(input.array()?),
            points: number(input)?,
            vectors: number(input)?,
            indexed_vectors: number(input)?,
            disk_bytes: number(input)?,
            resident_bytes: number(input)?,
            next_expiry: Some(i64::from_le_bytes(input.array()?)).filter(|time| *time != i64::MAX),
            index_points: (0..input.len()?).map(|_| number(input)).collect::<Result<_, Undecodable>>()?,
        })
    }
}

impl Sleeping {
    /// A collection whose checkpoint has everything, before it leaves the memory.
    fn of(collection: &Collection) -> Option<Sleeping> {
        let summary = Summary::of(collection)?;
        let view = collection.view();
        let schema = |index: &DeclaredIndex| (index.path().to_string(), index.schema().clone());
        Some(Sleeping {
            config: Arc::clone(&view.state.config),
            indexes: view.state.indexes.iter().map(schema).collect(),
            summary,
            recall: estimate(&collection.read_snapshot()),
            calibrations: view
                .fields
                .iter()
                .map(|table| table.graphs.calibration.current.load_full())
                .collect(),
            rates: collection.rates().copy(),
        })
    }

    /// A collection at a start, if the summary is of its checkpoint and it may sleep. `saved` is the configuration in the
    /// catalog.
    pub fn at_start(
        storage: &dyn Storage,
        id: u64,
        saved: &Arc<CollectionConfig>,
        summary: &Summary,
    ) -> Option<Sleeping> {
        // What is wrong with it is found, and said, by opening it. A summary is made of a manifest that has been stored, so
        // this one has been if it is the summary's; with a sync for each, thousands would take a second.
        let manifest = Manifest::load_stored(storage, id).ok()??;
        let config = CollectionConfig::restore(&manifest.config).ok()?;
        if !summary.is_of(&manifest) || !may_sleep(&config) {
            return None;
        }
        let schema = |(path, schema): &(Vec<u8>, Vec<u8>)| {
            let path = JsonPath::parse(std::str::from_utf8(path).ok()?).ok()?;
            let index = DeclaredIndex::restore(path, schema).ok()?;
            Some((index.path().to_string(), index.schema().clone()))
        };
        Some(Sleeping {
            indexes: manifest.indexes.iter().map(schema).collect::<Option<_>>()?,
            // Of thousands of collections most have the configuration of their creation.
            config: if config == **saved { Arc::clone(saved) } else { Arc::new(config) },
            summary: summary.clone(),
            recall: None,
            calibrations: Vec::new(),
            rates: Rates::default(),
        })
    }

    /// Whether the checkpoint that was opened is the one that it went to sleep with.
    pub fn is_at(&self, op: OpNumber, lsn: Lsn) -> bool {
        (self.summary.op, self.summary.lsn) == (op, lsn)
    }

    /// Gives the collection that was opened what its files do not have.
    pub fn restore(&self, collection: &Collection) {
        for (table, kept) in collection.view().fields.iter().zip(&self.calibrations) {
            table.graphs.calibration.current.store(kept.clone());
        }
        collection.rates().restore(&self.rates);
    }
}

/// Whether a collection of that configuration may sleep.
pub fn may_sleep(config: &CollectionConfig) -> bool {
    config.residency == Residency::Auto && config.reembeddings().is_empty()
}

impl Catalog {
    /// Puts a collection to sleep whose checkpoint has everything, unless somebody holds it, or it changed meanwhile. False
    /// when it stays awake.
    pub fn put_to_sleep(&self, entry: &Arc<Entry>) -> bool {
        // No request can begin to use it while this is held.
        let Some(_unused) = entry.lock_unused() else { return false };
        let Some(residence) = entry.residence() else { return false };
        let old = match leave(residence) {
            Some(old) => old,
            None => return false,
        };
        residence.keep_searches(old.searches());
        true
    }
}

/// Takes the collection out of its place, if that has the only reference to it.
fn leave(residence: &Residence) -> Option<Arc<Collection>> {
    let mut place = residence.place.write();
    let Place::Awake(collection) = &mut *place else { return None };
    // A weak one is a cursor's, a staged sync's, or that of an indexer's queue.
    let is_alone = Arc::get_mut(collection).is_some();
    let is_saved = collection.pinned_lsn().is_none() || PlantedFault::SleepForgetsRecords.is_on();
    if !is_alone || !is_saved || collection.fault().is_some() {
        return None;
    }
    let sleeping = Sleeping::of(collection)?;
    match std::mem::replace(&mut *place, Place::Asleep(Arc::new(sleeping))) {
        Place::Awake(collection) => Some(collection),
        Place::Asleep(_) | Place::Waking(..) => None,
    }
}
