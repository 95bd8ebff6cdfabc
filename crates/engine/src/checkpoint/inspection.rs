//! The files of one collection against its manifest, without loading them.
//!
//! Used by checks of a directory at rest and by the scrub of one that is served.

use super::cause::Cause;
use super::extents::{self, BadHeader, Extent};
use super::manifest::Manifest;
use super::verification::{Unsound, verify_extent};
use super::{directory, file_path};
use crate::config::CollectionConfig;
use crate::state::Head;
use crate::storage::{ErrorKind, Storage};
use crate::types::{OpNumber, Row, RowRange};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What is wrong with a file that is not there.
const MISSING: &str = "the file is missing";
/// Points in a chunk of the points column.
const CHUNK_POINTS: u32 = super::pass::CHUNK_POINTS as u32;

/// What a part of a collection's files holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The manifest itself.
    Manifest,
    /// A whole file, or its header.
    File,
    /// Points, by their offsets.
    Points(Range<u32>),
    /// Payloads.
    Payloads,
    /// Rows of a vector field.
    Rows {
        /// Name of the field, empty for the unnamed one.
        field: String,
        /// The rows.
        rows: RowRange,
    },
    /// The graph of a vector field: derived data.
    Graph {
        /// Name of the field, empty for the unnamed one.
        field: String,
    },
}

impl Part {
    /// Whether the part can be made again from the others.
    pub fn is_derived(&self) -> bool {
        matches!(self, Part::Graph { .. })
    }
}

/// A part of a file that is not what the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// Path in the data directory.
    pub path: String,
    /// What the part holds.
    pub part: Part,
    /// What is wrong with it: words without a path.
    pub what: String,
    /// What the matter is.
    pub cause: Cause,
}

/// What [`inspect`] found.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// What is wrong, in the order of the manifest's files.
    pub faults: Vec<FileFault>,
    /// Files that the manifest does not name: left by a crash, removed by the next checkpoint.
    pub orphans: Vec<String>,
    /// Files that the manifest names, itself included.
    pub files: u64,
    /// Bytes that were compared with a checksum.
    pub bytes: u64,
    /// Points in the checkpoint, tombstones included.
    pub points: u32,
    /// The last operation in the checkpoint.
    pub op: OpNumber,
}

/// Whether it is the manifest that keeps a collection from being opened, or one of the files that it names.
pub fn is_manifest_damaged(storage: &dyn Storage, id: u64) -> bool {
    Manifest::load(storage, id).is_err()
}

impl Inspection {
    /// Makes sure that this release can read all files. Those of a later release are sound, and readable by that; nothing is
    /// known of those for which the system has no memory.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn refuse_other_formats(&self) -> Result<(), String> {
        let other = self.faults.iter().find(|fault| fault.cause.is_unknown());
        other.map_or(Ok(()), |FileFault { path, what, .. }| Err(format!("{path}: {what}")))
    }

    /// The same of a collection that has had a checkpoint: a manifest that is missing is lost.
    #[must_use]
    pub fn after_checkpoint(mut self, id: u64) -> Inspection {
        if self.files == 0 && self.faults.is_empty() {
            self.faults.push(manifest_fault(id, MISSING.to_string(), Cause::Damaged));
        }
        self
    }

    /// The same without the reads for which the system had no memory or file descriptor: they say nothing of the files.
    #[must_use]
    pub fn without_exhausted(mut self) -> Inspection {
        self.faults.retain(|fault| fault.cause != Cause::Exhausted);
        self
    }
}

/// What the manifest says of one part of a file.
struct StoredPart {
    extent: Extent,
    part: Part,
}

/// Checks the manifest of a collection and everything that it names. `pace` is called for every part that was
/// read, with its bytes, and stops the check by returning false.
pub fn inspect(
    storage: &dyn Storage,
    id: u64,
    row_chunk_bytes: usize,
    pace: &mut dyn FnMut(u64) -> bool,
) -> Inspection {
    inspect_with(storage, id, row_chunk_bytes, None, pace)
}

/// As [`inspect`]; where the manifest is damaged, everything that `known` names is checked, which is the one in force.
pub(crate) fn inspect_with(
    storage: &dyn Storage,
    id: u64,
    row_chunk_bytes: usize,
    known: Option<&Manifest>,
    pace: &mut dyn FnMut(u64) -> bool,
) -> Inspection {
    let dir = directory(id);
    let mut found = Inspection::default();
    let Some(manifest) = manifest_to_check(storage, id, known, &mut found) else {
        // Where the manifest is damaged, it is unknown which files it named.
        if found.faults.is_empty() {
            found.orphans = orphans(storage, &dir, &BTreeMap::new());
        }
        return found;
    };
    let stored_parts = match stored_parts(&manifest, row_chunk_bytes) {
        Ok(found) => found,
        Err(what) => {
            found.faults.push(manifest_fault(id, what, Cause::Damaged));
            return found;
        }
    };
    found.points = manifest.points;
    found.op = manifest.op;
    found.files = 1 + stored_parts.len() as u64;
    found.orphans = orphans(storage, &dir, &stored_parts);
    for (number, stored_parts) in stored_parts {
        let path = file_path(&dir, number);
        if let Err((part, what, cause)) =
            file(storage, &path, manifest.writer_of(number, id), number, &stored_parts)
        {
            found.faults.push(FileFault { path, part, what, cause });
            continue;
        }
        for StoredPart { extent, part } in stored_parts {
            let (what, cause) = match verify_extent(storage, &dir, &extent, pace) {
                Ok(()) => {
                    found.bytes += extent.len;
                    continue;
                }
                Err(Unsound::Stopped) => return found,
                Err(Unsound::Unreadable(error)) => (error.public(), Cause::of(&error)),
                Err(Unsound::Short | Unsound::Damaged) => {
                    let what =
                        format!("{} bytes at {} do not have their checksum", extent.len, extent.offset);
                    (what, Cause::Damaged)
                }
            };
            found.faults.push(FileFault { path: path.clone(), part, what, cause });
        }
    }
    found
}

/// The manifest to check the files against, if there is one: that of the folder, or `known` where that cannot be used.
/// What is wrong with the folder's is added to the faults.
fn manifest_to_check(
    storage: &dyn Storage,
    id: u64,
    known: Option<&Manifest>,
    found: &mut Inspection,
) -> Option<Manifest> {
    let (what, cause) = match Manifest::load(storage, id) {
        // Without a known manifest this is a collection before its first checkpoint.
        Ok(None) if known.is_some() => (MISSING.to_string(), Cause::Damaged),
        Ok(manifest) => return manifest,
        Err(bad) => (bad.to_string(), bad.cause()),
    };
    found.faults.push(manifest_fault(id, what, cause));
    known.cloned()
}

fn manifest_fault(id: u64, what: String, cause: Cause) -> FileFault {
    FileFault { path: format!("{}/MANIFEST", directory(id)), part: Part::Manifest, what, cause }
}

/// Checks the header of a file. The error says which part goes with it.
fn file(
    storage: &dyn Storage,
    path: &str,
    collection: u64,
    number: u32,
    stored_parts: &[StoredPart],
) -> Result<(), (Part, String, Cause)> {
    let part = match stored_parts {
        [StoredPart { part, .. }, ..] if part.is_derived() => part.clone(),
        _ => Part::File,
    };
    let (what, cause) = match storage.read_range(path, 0, extents::HEADER_BYTES) {
        Ok(header) => match extents::check_header(&header, collection, number) {
            Ok(()) => return Ok(()),
            Err(BadHeader::Damaged(_)) => ("the header of the file is damaged".to_string(), Cause::Damaged),
            Err(BadHeader::OtherFormat(other)) => (other.to_string(), Cause::OtherFormat),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => (MISSING.to_string(), Cause::Damaged),
        Err(error) => (error.public(), Cause::of(&error)),
    };
    Err((part, what, cause))
}

/// Everything that a manifest names, by file and then by place.
fn stored_parts(
    manifest: &Manifest,
    row_chunk_bytes: usize,
) -> Result<BTreeMap<u32, Vec<StoredPart>>, String> {
    let config = CollectionConfig::restore(&manifest.config).map_err(|error| error.to_string())?;
    if manifest.fields.len() != config.positions() {
        return Err("the manifest and the configuration disagree on the vector fields".to_string());
    }
    let names = config.fields().iter().map(|(name, _)| name);
    let names: Vec<String> =
        names.chain(config.sparse_fields().iter().map(|(name, _)| name)).map(ToString::to_string).collect();
    let head = Head::new(config.into(), row_chunk_bytes);
    let dense = head.fields.iter().map(|field| field.chunk_rows());
    let chunk_rows: Vec<u32> = dense.chain(head.sparse.iter().map(|field| field.chunk_rows())).collect();
    let mut all = Vec::new();
    for (at, extent) in (0..).zip(&manifest.point_chunks) {
        let from = CHUNK_POINTS.saturating_mul(at);
        let points = from..manifest.points.min(from.saturating_add(CHUNK_POINTS));
        all.push(StoredPart { extent: *extent, part: Part::Points(points) });
    }
    all.extend(manifest.payloads.iter().map(|extent| StoredPart { extent: *extent, part: Part::Payloads }));
    for ((kept, name), chunk_rows) in manifest.fields.iter().zip(&names).zip(chunk_rows) {
        for (at, extent) in (0u32..).zip(&kept.chunks) {
            let from = chunk_rows.saturating_mul(at);
            let end = kept.rows.min(from.saturating_add(chunk_rows));
            let rows = RowRange::new(Row::new(from), Row::new(end));
            let part = Part::Rows { field: name.clone(), rows };
            all.extend(extent.map(|extent| StoredPart { extent, part }));
        }
        if let Some(graph) = &kept.graph {
            let part = || Part::Graph { field: name.clone() };
            all.extend(graph.extents().map(|extent| StoredPart { extent, part: part() }));
        }
    }
    let mut by_file: BTreeMap<u32, Vec<StoredPart>> = BTreeMap::new();
    all.into_iter().for_each(|part| by_file.entry(part.extent.file).or_default().push(part));
    by_file.values_mut().for_each(|stored_parts| stored_parts.sort_by_key(|part| part.extent.offset));
    Ok(by_file)
}

fn orphans(storage: &dyn Storage, dir: &str, named: &BTreeMap<u32, Vec<StoredPart>>) -> Vec<String> {
    let named: BTreeSet<String> = named.keys().map(|number| format!("{number:08x}.data")).collect();
    let files = storage.list(dir).unwrap_or_default();
    let orphans = files.into_iter().filter(|name| name != "MANIFEST" && !named.contains(name));
    orphans.map(|name| format!("{dir}/{name}")).collect()
}
