//! The file `CATALOG` and the bodies of the catalog's records.

use crate::collection::config::CollectionConfig;
use crate::collection::{make_dir, replace};
use crate::storage::{Storage, StorageError};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"KITHCATA";
/// Version of the format that this release writes and reads.
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;

/// Number, name and configuration at creation of a collection.
pub type SavedEntry = (u64, String, Arc<CollectionConfig>);

/// What the file holds.
#[derive(Default)]
pub struct CatalogFile {
    /// Log sequence of the last record that it includes.
    pub lsn: u64,
    /// Number of the next collection.
    pub next_id: u64,
    /// The collections.
    pub entries: Vec<SavedEntry>,
}

/// The body of a creation: number, then lengths and bytes of name and configuration.
pub fn encode_entry(id: u64, name: &str, config: &CollectionConfig) -> Vec<u8> {
    let mut out = id.to_le_bytes().to_vec();
    for text in [name.as_bytes(), config.to_json().as_ref()] {
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(text);
    }
    out
}

/// Reads what [`encode_entry`] wrote, and answers what follows.
pub fn decode_entry(bytes: &[u8]) -> Option<(SavedEntry, &[u8])> {
    let (id, bytes) = bytes.split_first_chunk()?;
    let (name, bytes) = text(bytes)?;
    let (config, bytes) = text(bytes)?;
    let config = CollectionConfig::restore(config).ok()?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    Some(((u64::from_le_bytes(*id), name, Arc::new(config)), bytes))
}

fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, bytes) = bytes.split_first_chunk()?;
    bytes.split_at_checked(u32::from_le_bytes(*len) as usize)
}

impl CatalogFile {
    /// Replaces the file.
    pub fn store(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        let body = self.encode();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        make_dir(storage, "catalog")?;
        replace(storage, "catalog", "CATALOG", &bytes)
    }

    /// Reads the file; an empty catalog when there is none.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn load(storage: &dyn Storage) -> Result<CatalogFile, String> {
        let of_catalog = |error: StorageError| format!("the file CATALOG: {}", error.public());
        if !storage.exists("catalog/CATALOG").map_err(of_catalog)? {
            // The log is cut only behind what the file has.
            if storage.exists("log/cut").map_err(of_catalog)? {
                return Err("the file CATALOG is missing".to_string());
            }
            return Ok(CatalogFile { lsn: 0, next_id: 1, entries: Vec::new() });
        }
        let bytes = storage.read("catalog/CATALOG").map_err(of_catalog)?;
        // As for a manifest: the log is cut on the strength of this file, so its name must be durable.
        storage.sync_dir("catalog").map_err(of_catalog)?;
        let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or("the file CATALOG is too short")?;
        let number = |range: std::ops::Range<usize>| {
            u32::from_le_bytes(header[range].try_into().expect("four bytes of the header"))
        };
        let (version, crc) = (number(8..12), number(12..16));
        if &header[..8] != MAGIC {
            return Err("the file CATALOG is not a catalog".to_string());
        }
        if version != VERSION {
            return Err(format!(
                "the file CATALOG has format version {version}; this release reads version {VERSION}"
            ));
        }
        if crc != crc32c::crc32c(body) {
            return Err("the file CATALOG is damaged".to_string());
        }
        Self::decode(body).ok_or_else(|| "the file CATALOG cannot be decoded".to_string())
    }

    /// What follows the header.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.lsn.to_le_bytes());
        body.extend_from_slice(&self.next_id.to_le_bytes());
        for (id, name, config) in &self.entries {
            body.extend_from_slice(&encode_entry(*id, name, config));
        }
        body
    }

    /// Reads what [`CatalogFile::encode`] wrote.
    pub(crate) fn decode(body: &[u8]) -> Option<CatalogFile> {
        let (lsn, body) = body.split_first_chunk()?;
        let (next_id, mut rest) = body.split_first_chunk()?;
        let mut entries = Vec::new();
        while !rest.is_empty() {
            let (entry, after) = decode_entry(rest)?;
            entries.push(entry);
            rest = after;
        }
        Some(CatalogFile { lsn: u64::from_le_bytes(*lsn), next_id: u64::from_le_bytes(*next_id), entries })
    }
}
