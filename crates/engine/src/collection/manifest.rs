//! The manifest: what a data checkpoint consists of. Written last, replaced as a whole.

use super::change::{Input, Undecodable};
use super::extents::Extent;
use super::graph_file::GraphManifest;
use crate::storage::{OtherFormat, Storage, StorageError};
use std::fmt;

const MAGIC: &[u8; 8] = b"KITHMANI";
/// Version of the format that this release writes and reads.
const VERSION: u32 = 2;
/// Magic, version, checksum of the body.
const HEADER_BYTES: usize = 16;

/// Stands for a chunk of rows that was dropped. No file has the number 0.
const DROPPED: Extent = Extent { file: 0, crc: 0, offset: 0, len: 0 };

/// What a data checkpoint consists of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// The last operation in it.
    pub op: u64,
    /// Log sequence of that operation's record.
    pub lsn: u64,
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

impl Manifest {
    /// Files that the manifest names.
    pub fn files(&self) -> impl Iterator<Item = u32> {
        let graphs = self.fields.iter().filter_map(|field| field.graph.as_ref().map(GraphManifest::file));
        let rows = self.fields.iter().flat_map(|field| field.chunks.iter().flatten());
        self.point_chunks.iter().chain(&self.payloads).chain(rows).map(|extent| extent.file).chain(graphs)
    }

    /// All extents, for making their checksums right.
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
        out.extend_from_slice(&self.op.to_le_bytes());
        out.extend_from_slice(&self.lsn.to_le_bytes());
        out.extend_from_slice(&self.next_file.to_le_bytes());
        put_bytes(&mut out, &self.config);
        put_count(&mut out, self.indexes.len());
        for (path, schema) in &self.indexes {
            put_bytes(&mut out, path);
            put_bytes(&mut out, schema);
        }
        out.extend_from_slice(&self.points.to_le_bytes());
        put_extents(&mut out, &self.point_chunks);
        put_extents(&mut out, &self.payloads);
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
            op: u64::from_le_bytes(input.array()?),
            lsn: u64::from_le_bytes(input.array()?),
            next_file: u32::from_le_bytes(input.array()?),
            config: input.bytes()?.to_vec(),
            ..Manifest::default()
        };
        for _ in 0..input.len()? {
            let path = input.bytes()?.to_vec();
            manifest.indexes.push((path, input.bytes()?.to_vec()));
        }
        manifest.points = u32::from_le_bytes(input.array()?);
        manifest.point_chunks = extents(input)?;
        manifest.payloads = extents(input)?;
        for _ in 0..input.len()? {
            let rows = u32::from_le_bytes(input.array()?);
            let chunks = extents(input)?;
            let chunks = chunks.into_iter().map(|chunk| (chunk != DROPPED).then_some(chunk)).collect();
            let graph = match input.byte()? {
                0 => None,
                1 => Some(GraphManifest::decode(input)?),
                _ => return Err(Undecodable),
            };
            manifest.fields.push(FieldManifest { rows, chunks, graph });
        }
        if input.0.is_empty() { Ok(manifest) } else { Err(Undecodable) }
    }

    /// Replaces the manifest in a directory: written beside it, synced, renamed over it, the directory synced.
    pub fn store(&self, storage: &dyn Storage, dir: &str) -> Result<(), StorageError> {
        let body = self.encode();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        replace(storage, dir, "MANIFEST", &bytes)
    }

    /// The manifest of a directory; `None` when there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(storage: &dyn Storage, dir: &str) -> Result<Option<Manifest>, BadManifest> {
        let path = format!("{dir}/MANIFEST");
        let of_manifest =
            |error: StorageError| BadManifest::Unreadable(format!("the file MANIFEST: {}", error.public()));
        if !storage.exists(&path).map_err(of_manifest)? {
            return Ok(None);
        }
        let bytes = storage.read(&path).map_err(of_manifest)?;
        // A process that was killed may have left a name that only the cache knows. What is read here decides what
        // is deleted and how far the log is cut, so it must not be taken back by a power cut.
        storage.sync_dir(dir).map_err(of_manifest)?;
        parse(&bytes).map(Some)
    }
}

/// Why a manifest cannot be used.
#[derive(Clone, Debug)]
pub enum BadManifest {
    /// What is wrong with it.
    Damaged(String),
    /// The disk does not give it: a sentence.
    Unreadable(String),
    /// The header is damaged; what follows it is as it was written, and says this.
    Header {
        /// The version in the header.
        version: u32,
        /// What the body says.
        manifest: Box<Manifest>,
    },
    /// Another release wrote it.
    OtherFormat(OtherFormat),
}

impl fmt::Display for BadManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadManifest::Damaged(what) | BadManifest::Unreadable(what) => f.write_str(what),
            BadManifest::Header { version: VERSION, .. } => f.write_str("the file MANIFEST is damaged"),
            BadManifest::Header { version, .. } => write!(
                f,
                "the file MANIFEST is damaged: it has format version {version} and the body of version {VERSION}"
            ),
            BadManifest::OtherFormat(other) => other.fmt(f),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Manifest, BadManifest> {
    let damaged = || BadManifest::Damaged("the file MANIFEST is damaged".to_string());
    let mut input = Input(bytes);
    let mut header = || -> Result<([u8; 8], u32, u32), Undecodable> {
        let magic = input.array::<8>()?;
        Ok((magic, u32::from_le_bytes(input.array()?), u32::from_le_bytes(input.array()?)))
    };
    let (magic, version, crc) = header().map_err(|_| damaged())?;
    if crc != crc32c::crc32c(input.0) {
        return Err(damaged());
    }
    match (Manifest::decode(input.0), &magic == MAGIC, version == VERSION) {
        (Ok(manifest), true, true) => Ok(manifest),
        // The checksum leaves the header out. Another version differs in more than its number.
        (Ok(manifest), ..) => Err(BadManifest::Header { version, manifest: Box::new(manifest) }),
        (Err(_), true, true) => Err(BadManifest::Damaged("the file MANIFEST cannot be decoded".to_string())),
        (Err(_), true, false) => {
            let file = "MANIFEST".to_string();
            Err(BadManifest::OtherFormat(OtherFormat { file, found: version, known: VERSION }))
        }
        (Err(_), false, _) => Err(damaged()),
    }
}

/// Creates a directory, and makes its name and those above it durable.
pub fn make_dir(storage: &dyn Storage, dir: &str) -> Result<(), StorageError> {
    storage.create_dir_all(dir)?;
    storage.sync_dir("")?;
    dir.match_indices('/').try_for_each(|(end, _)| storage.sync_dir(&dir[..end]))
}

/// Replaces a small file atomically and durably.
pub fn replace(storage: &dyn Storage, dir: &str, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
    let (path, temporary) = (format!("{dir}/{name}"), format!("{dir}/{name}.new"));
    if storage.exists(&temporary)? {
        storage.remove(&temporary)?;
    }
    let mut file = storage.create(&temporary)?;
    file.append(bytes)?;
    file.sync()?;
    drop(file);
    storage.rename(&temporary, &path)?;
    storage.sync_dir(dir)
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).expect("a manifest has fewer than 2^32 parts").to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

pub(super) fn put_extents(out: &mut Vec<u8>, extents: &[Extent]) {
    put_count(out, extents.len());
    extents.iter().for_each(|extent| extent.encode(out));
}

fn extents(input: &mut Input<'_>) -> Result<Vec<Extent>, Undecodable> {
    (0..input.len()?).map(|_| Extent::decode(input)).collect()
}
