//! Data files: immutable files of extents, each with its checksum in the manifest.
//!
//! The format is described byte by byte in `docs/formats.md`.

use super::cause::Unopened;
use crate::change::{Input, Undecodable};
use crate::faults::PlantedFault;
use crate::storage::header::{Sealed, seal, unseal};
use crate::storage::{Map, OtherFormat, Storage, StorageError, StorageFile};
use std::fmt;

/// First bytes of a data file and of a graph file.
const MAGIC: &[u8; 8] = b"KITHDATA";
/// Version of the format that this release writes and reads.
const VERSION: u32 = 1;
/// Bytes of the header: magic, version, file number, collection, checksum of these, zeros.
pub(crate) const HEADER_BYTES: usize = 64;
/// Bytes of the header before the zeros.
const SEALED_BYTES: usize = 28;
/// Extents start at multiples of this.
const ALIGN: u64 = 64;

/// Where an extent is, and what it must hash to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of the file.
    pub file: u32,
    /// CRC32C of the bytes.
    pub crc: u32,
    /// Place in the file.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

impl Extent {
    /// Where the first extent of a file begins.
    #[cfg(feature = "fuzzing")]
    pub(crate) const FIRST: u64 = HEADER_BYTES as u64;

    /// Appends the 24 bytes that stand for the extent in a manifest.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.file.to_le_bytes());
        out.extend_from_slice(&self.crc.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
    }

    /// Reads what [`Extent::encode`] wrote.
    pub(crate) fn decode(input: &mut Input<'_>) -> Result<Extent, Undecodable> {
        Ok(Extent {
            file: u32::from_le_bytes(input.array()?),
            crc: u32::from_le_bytes(input.array()?),
            offset: u64::from_le_bytes(input.array()?),
            len: u64::from_le_bytes(input.array()?),
        })
    }

    /// Appends the number of some extents and each of them.
    pub fn encode_all(extents: &[Extent], out: &mut Vec<u8>) {
        let count = u32::try_from(extents.len()).expect("a list in a manifest has fewer than 2^32 extents");
        out.extend_from_slice(&count.to_le_bytes());
        extents.iter().for_each(|extent| extent.encode(out));
    }

    /// Reads what [`Extent::encode_all`] wrote.
    pub(crate) fn decode_all(input: &mut Input<'_>) -> Result<Vec<Extent>, Undecodable> {
        (0..input.len()?).map(|_| Extent::decode(input)).collect()
    }

    /// The extent's bytes, unchecked.
    ///
    /// # Errors
    /// A sentence when the file is too short.
    pub fn bytes<'a>(&self, map: &'a Map) -> Result<&'a [u8], String> {
        let end = self.offset.checked_add(self.len).filter(|&end| end <= map.len() as u64);
        let end =
            end.ok_or_else(|| format!("the file {} is shorter than MANIFEST says", file_name(self.file)))?;
        Ok(&map[self.offset as usize..end as usize])
    }
}

/// What the header of a data file says between its version and its checksum.
fn header_fields(collection: u64, number: u32) -> Vec<u8> {
    [number.to_le_bytes().as_slice(), &collection.to_le_bytes()].concat()
}

/// Name of a data or graph file in its collection's folder.
pub fn file_name(number: u32) -> String {
    format!("{number:08x}.data")
}

/// Whether a folder has data files with anything in them.
///
/// # Errors
/// When the disk refuses.
pub fn any_in(storage: &dyn Storage, dir: &str) -> Result<bool, Unopened> {
    let has_data = |name: &String| -> Result<bool, StorageError> {
        Ok(name.ends_with(".data") && storage.len_of(&format!("{dir}/{name}"))? > HEADER_BYTES as u64)
    };
    let names =
        storage.list(dir).map_err(|error| Unopened::unread("the folder of the collection", &error))?;
    let found: Result<Vec<bool>, StorageError> = names.iter().map(has_data).collect();
    found.map(|found| found.contains(&true)).map_err(|error| Unopened::unread("a .data file", &error))
}

/// A data file being written.
pub struct ExtentWriter {
    file: Box<dyn StorageFile>,
    number: u32,
    at: u64,
}

impl ExtentWriter {
    /// Creates the file and writes its header.
    pub fn create(
        storage: &dyn Storage,
        path: &str,
        collection: u64,
        number: u32,
    ) -> Result<Self, StorageError> {
        let mut header = seal(MAGIC, VERSION, &header_fields(collection, number));
        header.resize(HEADER_BYTES, 0);
        let mut file = storage.create(path)?;
        file.append(&header)?;
        Ok(ExtentWriter { file, number, at: HEADER_BYTES as u64 })
    }

    /// Appends an extent.
    pub fn append(&mut self, bytes: &[u8]) -> Result<Extent, StorageError> {
        let extent = Extent {
            file: self.number,
            crc: crc32c::crc32c(bytes),
            offset: self.at,
            len: bytes.len() as u64,
        };
        self.file.append(bytes)?;
        let padding = (ALIGN - extent.len % ALIGN) % ALIGN;
        self.file.append(&[0; ALIGN as usize][..padding as usize])?;
        self.at += extent.len + padding;
        Ok(extent)
    }

    /// Makes the file durable. Its directory entry is the caller's to sync.
    pub fn finish(mut self) -> Result<(), StorageError> {
        PlantedFault::DataNotSynced.skips(|| self.file.sync())
    }
}

/// Opens a data file and checks its header, which it reads: nothing of the map is touched yet.
///
/// # Errors
/// What is wrong with the file.
pub fn open(storage: &dyn Storage, path: &str, collection: u64, number: u32) -> Result<Map, Unopened> {
    let of_file = |error| Unopened::unread(&format!("the file {}", file_name(number)), &error);
    let header = storage.read_range(path, 0, HEADER_BYTES).map_err(of_file)?;
    check_header(&header, collection, number).map_err(Unopened::from)?;
    storage.map(path).map_err(of_file)
}

/// Why the header of a data file cannot be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadHeader {
    /// It is not what was written: a sentence.
    Damaged(String),
    /// Another release wrote the file.
    OtherFormat(OtherFormat),
}

impl From<BadHeader> for Unopened {
    fn from(bad: BadHeader) -> Self {
        match bad {
            BadHeader::Damaged(what) => what.into(),
            BadHeader::OtherFormat(other) => other.into(),
        }
    }
}

impl fmt::Display for BadHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadHeader::Damaged(what) => f.write_str(what),
            BadHeader::OtherFormat(other) => other.fmt(f),
        }
    }
}

/// Checks the header of a data file, with which `bytes` begin.
///
/// # Errors
/// What is wrong with the file.
pub fn check_header(bytes: &[u8], collection: u64, number: u32) -> Result<(), BadHeader> {
    let file = file_name(number);
    let damaged = || BadHeader::Damaged(format!("the file {file} has a damaged header"));
    let header = bytes.get(..HEADER_BYTES).ok_or_else(damaged)?;
    let Sealed { version, fields } = unseal(&header[..SEALED_BYTES], MAGIC).ok_or_else(damaged)?;
    if fields != header_fields(collection, number) {
        return Err(damaged());
    }
    if version == VERSION {
        Ok(())
    } else {
        Err(BadHeader::OtherFormat(OtherFormat { file, found: version, known: VERSION }))
    }
}
