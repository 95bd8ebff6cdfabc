//! The manifest: what a data checkpoint consists of. Written last, replaced as a whole.

use super::cause::{Cause, Unopened};
use super::directory;
use super::extents::Extent;
use super::graph_file::GraphManifest;
use crate::change::{Input, Undecodable};
use crate::config::CollectionConfig;
use crate::faults::PlantedFault;
use crate::recent_operations::RecentOperations;
use crate::storage::header::{BadBody, read_body, with_body_header};
use crate::storage::{OtherFormat, Storage, StorageError, replace};
use crate::types::{IdKind, Lsn, OpNumber};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

const MAGIC: &[u8; 8] = b"KITHMANI";
/// Version of the format that this release writes, where a field is being embedded anew.
const VERSION: u32 = 9;
/// The version without that, where ids are strings.
const WITH_STRING_IDS: u32 = 8;
/// The version without them, where fields were added or removed. Earlier releases cannot read the log behind it.
const WITH_OTHER_FIELDS: u32 = 7;
/// The version without that, where operations that came with an identity skipped points.
const WITH_SKIPPED: u32 = 6;
/// The version without skipped points, where another collection wrote some of the files.
const FILES_OF_OTHERS: u32 = 5;
/// The version without such files, where there are operations that came with an identity.
const OWN_FILES: u32 = 4;
/// The version without them.
const WITHOUT_OPERATIONS: u32 = 3;
/// The version before that: it does not say whose the manifest is.
const WITHOUT_COLLECTION: u32 = 2;

/// The last byte where ids are strings: no release that does not know them can decode what ends so.
const STRING_IDS: u8 = 1;
/// Stands for a chunk of rows that was dropped. No file has the number 0.
const DROPPED: Extent = Extent { file: 0, crc: 0, offset: 0, len: 0 };

/// What a data checkpoint consists of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// Number of the collection; none in a body of version 2, until [`load`](Self::load) adds it.
    pub collection: Option<u64>,
    /// The last operation in it.
    pub op: OpNumber,
    /// LSN of that operation's record.
    pub lsn: Lsn,
    /// Number of the next data or graph file.
    pub next_file: u32,
    /// Configuration as canonical JSON.
    pub config: Vec<u8>,
    /// Path and schema of each field index, as text.
    pub indexes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Points, tombstones included.
    pub points: u32,
    /// Chunks of the points column.
    pub point_chunks: Vec<Extent>,
    /// Extents of payloads.
    pub payloads: Vec<Extent>,
    /// Vector fields in the order of the configuration.
    pub fields: Vec<FieldManifest>,
    /// The last operations that came with an identity.
    pub operations: RecentOperations,
    /// Files that another collection wrote, whose number is in their header: a clone shares them with its source (C26).
    pub writers: BTreeMap<u32, u64>,
}

/// What is kept of a vector field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldManifest {
    /// Rows, dead ones included.
    pub rows: u32,
    /// Chunks of rows with their owners; `None` for one that was dropped because all its rows are dead.
    pub chunks: Vec<Option<Extent>>,
    /// The graph, which may lag behind the rows.
    pub graph: Option<GraphManifest>,
}

impl FieldManifest {
    /// Number of rows and extent of every chunk; `None` when chunks and rows disagree. A full chunk has `chunk_rows` rows.
    /// Only full chunks are dropped.
    pub fn chunks_of(&self, chunk_rows: u32) -> Option<impl Iterator<Item = (u32, Option<&Extent>)>> {
        let chunks = move || {
            let rows = move |at: usize| chunk_rows.min(self.rows - at as u32 * chunk_rows);
            self.chunks.iter().enumerate().map(move |(at, extent)| (rows(at), extent.as_ref()))
        };
        let are_as_many = self.chunks.len() == self.rows.div_ceil(chunk_rows) as usize;
        let agree = are_as_many && chunks().all(|(rows, extent)| extent.is_some() || rows == chunk_rows);
        agree.then(chunks)
    }
}

impl Manifest {
    /// Version of its format.
    fn version(&self) -> u32 {
        match self.collection {
            None => WITHOUT_COLLECTION,
            Some(_) if self.has_reembeddings() => VERSION,
            Some(_) if self.has_string_ids() && !PlantedFault::StringIdsUnannounced.is_on() => {
                WITH_STRING_IDS
            }
            Some(_) if self.has_other_fields() => WITH_OTHER_FIELDS,
            Some(_) if self.has_skipped() => WITH_SKIPPED,
            Some(_) if !self.writers.is_empty() => FILES_OF_OTHERS,
            Some(_) if self.operations.is_empty() => WITHOUT_OPERATIONS,
            Some(_) => OWN_FILES,
        }
    }

    /// Number of the collection that wrote a file. `own` is the number of this one.
    pub fn writer_of(&self, file: u32, own: u64) -> u64 {
        self.writers.get(&file).copied().unwrap_or(own)
    }

    /// What the collection holds in memory once it is opened, with so many bytes for each point and its rows.
    pub fn memory_bytes(&self, point_bytes: u64) -> u64 {
        let graphs = self.fields.iter().filter_map(|field| field.graph.as_ref());
        let graphs: u64 = graphs.flat_map(GraphManifest::extents).map(|extent| extent.len).sum();
        graphs + u64::from(self.points) * point_bytes
    }

    /// Drops the writers of files that it does not name any more.
    pub fn forget_unnamed_files(&mut self) {
        let named: BTreeSet<u32> = self.files().collect();
        self.writers.retain(|file, _| named.contains(file));
    }

    /// The manifest of the collection `number` that consists of the same files. `lsn` is one that is durable.
    pub fn of_copy(&self, own: u64, number: u64, lsn: Lsn) -> Manifest {
        let writers = self.files().map(|file| (file, self.writer_of(file, own)));
        Manifest {
            collection: Some(number),
            lsn,
            writers: PlantedFault::CopyForgetsWriters
                .forgets(writers.filter(|(_, writer)| *writer != number).collect()),
            ..self.clone()
        }
    }

    /// Whether operations that came with an identity skipped points.
    fn has_skipped(&self) -> bool {
        self.collection.is_some() && !self.operations.skipped_nothing()
    }

    /// Whether who wrote the files is in it: it also stands before what operations skipped.
    fn names_writers(&self) -> bool {
        !self.writers.is_empty() || self.has_skipped()
    }

    /// Whether fields were added or removed since the creation.
    fn has_other_fields(&self) -> bool {
        let config = CollectionConfig::restore(&self.config);
        config.is_ok_and(|config| config.fields_changed() != OpNumber::NONE)
    }

    /// Whether ids are strings.
    fn has_string_ids(&self) -> bool {
        CollectionConfig::restore(&self.config).is_ok_and(|config| config.ids == IdKind::String)
    }

    /// Whether a field is being embedded anew (C19).
    fn has_reembeddings(&self) -> bool {
        CollectionConfig::restore(&self.config).is_ok_and(|config| !config.reembeddings().is_empty())
    }

    /// Files that the manifest names.
    pub fn files(&self) -> impl Iterator<Item = u32> {
        let graphs = self.fields.iter().filter_map(|field| field.graph.as_ref().map(GraphManifest::file));
        let rows = self.fields.iter().flat_map(|field| field.chunks.iter().flatten());
        self.point_chunks.iter().chain(&self.payloads).chain(rows).map(|extent| extent.file).chain(graphs)
    }

    /// All extents, for making their checksums right.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn extents_mut(&mut self) -> impl Iterator<Item = &mut Extent> {
        let of_fields = self.fields.iter_mut().flat_map(|FieldManifest { chunks, graph, .. }| {
            let of_graph = graph.iter_mut().flat_map(|GraphManifest { links, encoder, codes, .. }| {
                std::iter::once(links).chain(encoder).chain(codes)
            });
            chunks.iter_mut().flatten().chain(of_graph)
        });
        self.point_chunks.iter_mut().chain(&mut self.payloads).chain(of_fields)
    }

    /// What follows the header.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.op.get().to_le_bytes());
        out.extend_from_slice(&self.lsn.get().to_le_bytes());
        out.extend_from_slice(&self.next_file.to_le_bytes());
        put_bytes(&mut out, &self.config);
        put_count(&mut out, self.indexes.len());
        for (path, schema) in &self.indexes {
            put_bytes(&mut out, path);
            put_bytes(&mut out, schema);
        }
        out.extend_from_slice(&self.points.to_le_bytes());
        Extent::encode_all(&self.point_chunks, &mut out);
        Extent::encode_all(&self.payloads, &mut out);
        put_count(&mut out, self.fields.len());
        for field in &self.fields {
            out.extend_from_slice(&field.rows.to_le_bytes());
            put_count(&mut out, field.chunks.len());
            for chunk in &field.chunks {
                chunk.unwrap_or(DROPPED).encode(&mut out);
            }
            match &field.graph {
                None => out.push(0),
                Some(graph) => {
                    out.push(1);
                    graph.encode(&mut out);
                }
            }
        }
        out.extend(self.collection.iter().flat_map(|number| number.to_le_bytes()));
        if self.collection.is_some() && (self.names_writers() || !self.operations.is_empty()) {
            self.operations.encode(&mut out);
        }
        if self.names_writers() {
            put_count(&mut out, self.writers.len());
            for (file, writer) in &self.writers {
                out.extend_from_slice(&file.to_le_bytes());
                out.extend_from_slice(&writer.to_le_bytes());
            }
        }
        if self.has_skipped() {
            self.operations.encode_skipped(&mut out);
        }
        if self.collection.is_some() && self.has_string_ids() {
            out.push(STRING_IDS);
        }
        out
    }

    /// Reads what [`Manifest::encode`] wrote.
    ///
    /// # Errors
    /// [`Undecodable`] when the bytes are something else.
    pub fn decode(body: &[u8]) -> Result<Manifest, Undecodable> {
        let mut input = Input(body);
        let input = &mut input;
        let mut manifest = Manifest {
            op: OpNumber::new(u64::from_le_bytes(input.array()?)),
            lsn: Lsn::new(u64::from_le_bytes(input.array()?)),
            next_file: u32::from_le_bytes(input.array()?),
            config: input.bytes()?.to_vec(),
            ..Manifest::default()
        };
        for _ in 0..input.len()? {
            let path = input.bytes()?.to_vec();
            manifest.indexes.push((path, input.bytes()?.to_vec()));
        }
        manifest.points = u32::from_le_bytes(input.array()?);
        manifest.point_chunks = Extent::decode_all(input)?;
        manifest.payloads = Extent::decode_all(input)?;
        for _ in 0..input.len()? {
            let rows = u32::from_le_bytes(input.array()?);
            let chunks = Extent::decode_all(input)?;
            let chunks = chunks.into_iter().map(|chunk| (chunk != DROPPED).then_some(chunk)).collect();
            let graph = match input.byte()? {
                0 => None,
                1 => Some(GraphManifest::decode(input)?),
                _ => return Err(Undecodable),
            };
            manifest.fields.push(FieldManifest { rows, chunks, graph });
        }
        if !input.0.is_empty() {
            manifest.collection = Some(u64::from_le_bytes(input.array()?));
            if manifest.has_string_ids() {
                input.0 = input.0.strip_suffix(&[STRING_IDS]).ok_or(Undecodable)?;
            }
        }
        if !input.0.is_empty() {
            manifest.operations = RecentOperations::decode(input)?;
            let count = if input.0.is_empty() { 0 } else { input.len()? };
            for _ in 0..count {
                let file = u32::from_le_bytes(input.array()?);
                manifest.writers.insert(file, u64::from_le_bytes(input.array()?));
            }
            // A manifest without either ends before them, and one without others' files unless points were skipped.
            let is_followed = !input.0.is_empty();
            if manifest.writers.len() != count
                || (manifest.operations.is_empty() && count == 0 && !is_followed)
            {
                return Err(Undecodable);
            }
        }
        if !input.0.is_empty() {
            manifest.operations.decode_skipped(input)?;
            // Likewise.
            if manifest.operations.skipped_nothing() {
                return Err(Undecodable);
            }
        }
        if input.0.is_empty() { Ok(manifest) } else { Err(Undecodable) }
    }

    /// Replaces the manifest in a directory: written beside it, synced, renamed over it, the directory synced.
    pub fn store(&self, storage: &dyn Storage, dir: &str) -> Result<(), StorageError> {
        replace(storage, dir, "MANIFEST", &with_body_header(MAGIC, self.version(), &self.encode()))
    }

    /// The manifest of a collection; `None` when there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(storage: &dyn Storage, id: u64) -> Result<Option<Manifest>, BadManifest> {
        Manifest::of_collection(id, Manifest::load_from(storage, &directory(id)))
    }

    /// As [`load`](Self::load), for a manifest that is known to have been stored whole. Until that is so a power cut may
    /// take it back.
    ///
    /// # Errors
    /// As for `load`.
    pub fn load_stored(storage: &dyn Storage, id: u64) -> Result<Option<Manifest>, BadManifest> {
        let bytes = read(storage, &directory(id))?;
        Manifest::of_collection(id, bytes.map(|bytes| parse(&bytes)).transpose())
    }

    fn of_collection(
        id: u64,
        read: Result<Option<Manifest>, BadManifest>,
    ) -> Result<Option<Manifest>, BadManifest> {
        let found = match &read {
            Ok(None) => return Ok(None),
            Ok(Some(manifest)) => Some(manifest),
            Err(BadManifest::Header { manifest, .. }) => Some(&**manifest),
            Err(_) => None,
        };
        // Whatever its header is: what it says is of no use here.
        match found.and_then(|manifest| manifest.collection) {
            Some(collection) if collection != id => Err(BadManifest::Foreign { collection }),
            _ => read.map(|manifest| manifest.map(|manifest| Manifest { collection: Some(id), ..manifest })),
        }
    }

    /// The manifest in a folder, of whichever collection; `None` when there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load_from(storage: &dyn Storage, dir: &str) -> Result<Option<Manifest>, BadManifest> {
        let Some(bytes) = read(storage, dir)? else { return Ok(None) };
        // A process that was killed may have left a name that only the cache knows. What is read here decides what
        // is deleted and how far the log is cut, so it must not be taken back by a power cut.
        PlantedFault::CachedManifestTrusted
            .skips(|| storage.sync_dir(dir))
            .map_err(BadManifest::Unreadable)?;
        parse(&bytes).map(Some)
    }

    /// As [`load`](Self::load), also where nothing but the header is damaged.
    ///
    /// # Errors
    /// As for `load`.
    pub fn salvage(storage: &dyn Storage, id: u64) -> Result<Option<Manifest>, BadManifest> {
        match Manifest::load(storage, id) {
            Err(BadManifest::Header { manifest, .. }) => Ok(Some(*manifest)),
            loaded => loaded,
        }
    }
}

/// The bytes of the manifest in a folder; `None` when there is none.
fn read(storage: &dyn Storage, dir: &str) -> Result<Option<Vec<u8>>, BadManifest> {
    let path = format!("{dir}/MANIFEST");
    if !storage.exists(&path).map_err(BadManifest::Unreadable)? {
        return Ok(None);
    }
    storage.read(&path).map(Some).map_err(BadManifest::Unreadable)
}

/// Why a manifest cannot be used.
#[derive(Clone, Debug)]
pub enum BadManifest {
    /// What is wrong with it.
    Damaged(String),
    /// The disk does not give it.
    Unreadable(StorageError),
    /// The header is damaged; what follows it is as it was written, and says this.
    Header {
        /// The version in the header.
        version: u32,
        /// What the body says.
        manifest: Box<Manifest>,
    },
    /// It is that of another collection.
    Foreign {
        /// Number of that one.
        collection: u64,
    },
    /// Another release wrote it.
    OtherFormat(OtherFormat),
}

impl BadManifest {
    /// What the matter is.
    pub fn cause(&self) -> Cause {
        match self {
            BadManifest::OtherFormat(_) => Cause::OtherFormat,
            BadManifest::Unreadable(error) => Cause::of(error),
            BadManifest::Damaged(_) | BadManifest::Header { .. } | BadManifest::Foreign { .. } => {
                Cause::Damaged
            }
        }
    }
}

impl From<BadManifest> for Unopened {
    fn from(bad: BadManifest) -> Self {
        Unopened { what: bad.to_string(), cause: bad.cause() }
    }
}

impl fmt::Display for BadManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadManifest::Damaged(what) => f.write_str(what),
            BadManifest::Unreadable(error) => write!(f, "the file MANIFEST: {}", error.public()),
            BadManifest::Header { version, manifest } if *version == manifest.version() => {
                f.write_str("the file MANIFEST is damaged")
            }
            BadManifest::Header { version, manifest } => write!(
                f,
                "the file MANIFEST is damaged: it has format version {version} and the body of version {}",
                manifest.version()
            ),
            BadManifest::Foreign { collection } => {
                write!(f, "the file MANIFEST is that of another collection, whose number is {collection}")
            }
            BadManifest::OtherFormat(other) => other.fmt(f),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Manifest, BadManifest> {
    let damaged = |what: &str| BadManifest::Damaged(format!("the file MANIFEST {what}"));
    let decode = |body: &[u8]| Manifest::decode(body).ok().map(|manifest| (manifest.version(), manifest));
    read_body(bytes, MAGIC, WITHOUT_COLLECTION..=VERSION, decode).map_err(|bad| match bad {
        BadBody::Damaged => damaged("is damaged"),
        BadBody::Undecodable => damaged("cannot be decoded"),
        BadBody::Header { version, body } => BadManifest::Header { version, manifest: Box::new(body) },
        BadBody::OtherFormat { version: found } => {
            BadManifest::OtherFormat(OtherFormat { file: "MANIFEST".to_string(), found, known: VERSION })
        }
    })
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).expect("a manifest has fewer than 2^32 parts").to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}
