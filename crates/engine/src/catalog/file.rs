//! The file `CATALOG`, its copy, and the bodies of the catalog's records.
//!
//! No other file has the names of the collections, so there is a copy of it.

use super::OpenError;
use crate::change::Input;
use crate::checkpoint::Manifest;
use crate::config::CollectionConfig;
use crate::faults::PlantedFault;
use crate::recent_operations::RecentOperations;
use crate::storage::header::{BadBody, read_body, with_body_header};
use crate::storage::{ErrorKind, OtherFormat, Storage, StorageError, make_dir, replace};
use crate::types::{IdKind, Lsn};
use crate::wal;
use std::fmt;
use std::sync::Arc;

/// Folder of the file.
const DIR: &str = "catalog";
/// Folder of its copy: the one of the collections, because a folder can be lost too.
pub(super) const COPY_DIR: &str = "collections";
const NAME: &str = "CATALOG";
/// Path of the file.
pub const PATH: &str = "catalog/CATALOG";
/// Path of its copy.
pub const COPY_PATH: &str = "collections/CATALOG";

const MAGIC: &[u8; 8] = b"KITHCATA";
/// The version that this release writes if a collection has string ids. Without one it writes the lowest of the versions
/// below that has all parts of the catalog, so that earlier releases can read it.
const VERSION: u32 = 5;
/// Has aliases.
const WITH_ALIASES: u32 = 4;
/// Has a generation of the store of authentication and no aliases.
const WITHOUT_ALIASES: u32 = 3;
/// Has operations that came with an identity, and neither aliases nor a generation.
const WITHOUT_GENERATION: u32 = 2;
/// Has entries alone.
const WITHOUT_OPERATIONS: u32 = 1;
/// Ends the entries in a file that has further parts: no collection has the number 0.
const END_OF_ENTRIES: [u8; 8] = [0; 8];

/// Number, name and configuration at creation of a collection.
pub type SavedEntry = (u64, String, Arc<CollectionConfig>);

/// What the file holds.
#[derive(Clone, Default)]
pub struct CatalogFile {
    /// LSN of the last record that it includes.
    pub lsn: Lsn,
    /// Number of the next collection.
    pub next_id: u64,
    /// The collections.
    pub entries: Vec<SavedEntry>,
    /// The last operations on the catalog that came with an identity, each with its LSN.
    pub operations: RecentOperations,
    /// The generation of the store of authentication that was noted last (C3.8); 0 where none was.
    pub auth_generation: u64,
    /// The aliases in their order, each with the number of its collection.
    pub aliases: Vec<(u64, String)>,
}

/// The body of a change of aliases: for each alias the number of its collection from then on, 0 for none, and length and
/// bytes of the alias.
pub fn encode_aliases<'a>(aliases: impl Iterator<Item = (u64, &'a str)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (id, alias) in aliases {
        out.extend_from_slice(&id.to_le_bytes());
        out.extend_from_slice(&(alias.len() as u32).to_le_bytes());
        out.extend_from_slice(alias.as_bytes());
    }
    out
}

/// Reads what [`encode_aliases`] wrote.
pub fn decode_aliases(mut bytes: &[u8]) -> Option<Vec<(u64, String)>> {
    let mut aliases = Vec::new();
    while !bytes.is_empty() {
        let (id, rest) = bytes.split_first_chunk()?;
        let (alias, rest) = text(rest)?;
        aliases.push((u64::from_le_bytes(*id), String::from_utf8(alias.to_vec()).ok()?));
        bytes = rest;
    }
    Some(aliases)
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

/// Reads what [`encode_entry`] wrote, and returns the rest of the bytes.
pub fn decode_entry(bytes: &[u8]) -> Option<(SavedEntry, &[u8])> {
    let (id, bytes) = bytes.split_first_chunk()?;
    let (name, bytes) = text(bytes)?;
    let (config, bytes) = text(bytes)?;
    let config = CollectionConfig::restore(config).ok()?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    Some(((u64::from_le_bytes(*id), name, Arc::new(config)), bytes))
}

/// The body of an adoption: for each collection its entry, and the number of the one that it replaces or 0.
pub fn encode_adoption(entries: &[(Vec<u8>, u64)]) -> Vec<u8> {
    entries
        .iter()
        .flat_map(|(entry, replaced)| [entry.as_slice(), &replaced.to_le_bytes()].concat())
        .collect()
}

/// Reads what [`encode_adoption`] wrote.
pub fn decode_adoption(mut bytes: &[u8]) -> Option<Vec<(SavedEntry, Option<u64>)>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let (entry, rest) = decode_entry(bytes)?;
        let (replaced, rest) = rest.split_first_chunk()?;
        entries.push((entry, Some(u64::from_le_bytes(*replaced)).filter(|number| *number != 0)));
        bytes = rest;
    }
    Some(entries)
}

fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, bytes) = bytes.split_first_chunk()?;
    bytes.split_at_checked(u32::from_le_bytes(*len) as usize)
}

/// Why the catalog cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCatalog {
    /// Neither the file nor its copy can be used: why the file cannot.
    Lost(String),
    /// One of them is of another format: nothing is to be touched.
    Refused(String),
    /// The system does not let this user read them, or has no memory or descriptor for it: a sentence.
    Unread(String),
}

/// The content of the two files.
pub struct Found {
    /// The catalog.
    pub file: CatalogFile,
    /// Files that cannot be used, with what is wrong: there is at most one.
    pub fault: Option<(&'static str, String)>,
    /// Folder of the file that differs from the catalog and is to be written again.
    pub stale: Option<&'static str>,
}

impl CatalogFile {
    /// Version of its format.
    fn version(&self) -> u32 {
        let has_strings = self.entries.iter().any(|(_, _, config)| config.ids == IdKind::String);
        if has_strings { VERSION } else { self.layout() }
    }

    /// The lowest version that has these parts.
    fn layout(&self) -> u32 {
        match (self.auth_generation, self.operations.is_empty()) {
            _ if !self.aliases.is_empty() => WITH_ALIASES,
            (0, true) => WITHOUT_OPERATIONS,
            (0, false) => WITHOUT_GENERATION,
            (1.., _) => WITHOUT_ALIASES,
        }
    }

    /// Replaces both files, the copy first: it is never behind the other.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn store(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        [COPY_DIR, DIR].into_iter().try_for_each(|dir| self.store_in(storage, dir))
    }

    /// Replaces the file in one of the two folders.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn store_in(&self, storage: &dyn Storage, dir: &str) -> Result<(), StorageError> {
        make_dir(storage, dir)?;
        replace(storage, dir, NAME, &with_body_header(MAGIC, self.version(), &self.encode()))
    }

    /// Reads the file, or its copy where the file cannot be used; an empty catalog when there is neither, as before the
    /// first checkpoint.
    ///
    /// # Errors
    /// [`NoCatalog`].
    pub fn load(storage: &dyn Storage) -> Result<Found, NoCatalog> {
        let (main, copy) = (read(storage, DIR), read(storage, COPY_DIR));
        for (read, other) in [(&main, &copy), (&copy, &main)] {
            if let Err(Unusable::OtherFormat(format)) = read
                && (std::ptr::eq(read, &main) || !matches!(other, Ok(Some(_))))
            {
                return Err(NoCatalog::Refused(format.to_string()));
            }
        }
        let damage = |read: &Result<Option<CatalogFile>, Unusable>| {
            read.as_ref().err().map(|why| format!("the file CATALOG {why}"))
        };
        let missing = || "the file CATALOG is missing".to_string();
        for (read, other) in [(&main, &copy), (&copy, &main)] {
            if let Err(Unusable::Storage(error)) = read
                && !matches!(other, Ok(Some(_)))
                && (error.kind().remedy().is_some() || error.kind() == ErrorKind::Exhausted)
            {
                return Err(NoCatalog::Unread(format!("the file CATALOG cannot be read: {error}")));
            }
        }
        let (main_damage, copy_damage) = (damage(&main), damage(&copy));
        match (main.ok().flatten(), copy.ok().flatten()) {
            (Some(file), copy) => {
                let is_same =
                    |copy: CatalogFile| (copy.lsn, copy.auth_generation) == (file.lsn, file.auth_generation);
                let stale = (!copy.is_some_and(is_same)).then_some(COPY_DIR);
                Ok(Found { file, fault: copy_damage.map(|what| (COPY_PATH, what)), stale })
            }
            (None, Some(file)) => {
                let fault = Some((PATH, main_damage.unwrap_or_else(missing)));
                Ok(Found { file, fault, stale: Some(DIR) })
            }
            (None, None) => {
                if let Some(what) = main_damage.or(copy_damage) {
                    return Err(NoCatalog::Lost(what));
                }
                // The log is cut only behind what the file has.
                match wal::was_cut(storage) {
                    Ok(false) => Ok(Found {
                        file: CatalogFile { next_id: 1, ..CatalogFile::default() },
                        fault: None,
                        stale: None,
                    }),
                    Ok(true) => Err(NoCatalog::Lost(missing())),
                    Err(error) => Err(NoCatalog::Lost(format!("the file CATALOG: {}", error.public()))),
                }
            }
        }
    }

    /// Numbers and configurations of a lost catalog, read from the folders of the collections. Their
    /// names are in no other file, so each collection is named after its number. The log may have more.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn from_folders(storage: &dyn Storage) -> Result<CatalogFile, StorageError> {
        let mut file = CatalogFile { next_id: 1, ..CatalogFile::default() };
        for name in storage.list(COPY_DIR)? {
            let Ok(id) = u64::from_str_radix(&name, 16) else { continue };
            file.next_id = file.next_id.max(id.saturating_add(1));
            let manifest = Manifest::salvage(storage, id).ok().flatten();
            let config = manifest.and_then(|manifest| CollectionConfig::restore(&manifest.config).ok());
            if let Some(config) = config {
                file.entries.push((id, format!("recovered-{id}"), Arc::new(config)));
            }
        }
        Ok(file)
    }

    /// What follows the header.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.lsn.get().to_le_bytes());
        body.extend_from_slice(&self.next_id.to_le_bytes());
        for (id, name, config) in &self.entries {
            body.extend_from_slice(&encode_entry(*id, name, config));
        }
        if self.layout() != WITHOUT_OPERATIONS {
            body.extend_from_slice(&END_OF_ENTRIES);
            self.operations.encode(&mut body);
        }
        if self.layout() >= WITHOUT_ALIASES {
            body.extend_from_slice(&self.auth_generation.to_le_bytes());
        }
        body.extend_from_slice(&encode_aliases(self.aliases.iter().map(|(id, alias)| (*id, alias.as_str()))));
        body
    }

    /// Reads what [`CatalogFile::encode`] wrote.
    pub(crate) fn decode(body: &[u8]) -> Option<CatalogFile> {
        let (lsn, body) = body.split_first_chunk()?;
        let (next_id, mut rest) = body.split_first_chunk()?;
        let (mut entries, mut operations, mut auth_generation) = (Vec::new(), RecentOperations::default(), 0);
        let mut aliases = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(&END_OF_ENTRIES) {
                let mut input = Input(after);
                operations = RecentOperations::decode(&mut input).ok()?;
                if !input.0.is_empty() {
                    let (generation, rest) = input.0.split_first_chunk()?;
                    auth_generation = u64::from_le_bytes(*generation);
                    aliases = decode_aliases(rest)?;
                }
                // A file without any of them ends before them, and one without aliases has no generation of 0.
                let has_nothing = operations.is_empty() && auth_generation == 0 && aliases.is_empty();
                if has_nothing || (!input.0.is_empty() && auth_generation == 0 && aliases.is_empty()) {
                    return None;
                }
                break;
            }
            let (entry, after) = decode_entry(rest)?;
            entries.push(entry);
            rest = after;
        }
        Some(CatalogFile {
            lsn: Lsn::new(u64::from_le_bytes(*lsn)),
            next_id: u64::from_le_bytes(*next_id),
            entries,
            operations,
            auth_generation,
            aliases,
        })
    }
}

/// The generation of the store of authentication in the files of a folder that an engine may have open. 0 where there is
/// none, and where the catalog is lost, without which no engine opens.
///
/// # Errors
/// When the files cannot be read, or another release wrote them.
pub fn noted_auth_generation(storage: &dyn Storage) -> Result<u64, OpenError> {
    match CatalogFile::load(storage) {
        Ok(found) => Ok(found.file.auth_generation),
        Err(NoCatalog::Lost(_)) => Ok(0),
        Err(why) => Err(why.into()),
    }
}

/// What is wrong with the catalog's file or its copy.
pub struct CatalogFault {
    /// Which of the two.
    pub path: &'static str,
    /// A sentence.
    pub what: String,
    /// Whether the other is sound.
    pub has_other: bool,
    /// Whether another release wrote it, so that this one cannot verify it.
    pub is_of_other_release: bool,
}

/// What is wrong with the catalog's file or its copy, if anything is.
pub fn catalog_fault(storage: &dyn Storage) -> Option<CatalogFault> {
    let (path, what, has_other, is_of_other_release) = match CatalogFile::load(storage) {
        Ok(Found { fault, .. }) => {
            let (path, what) = fault?;
            (path, what, true, false)
        }
        Err(NoCatalog::Lost(what) | NoCatalog::Unread(what)) => (PATH, what, false, false),
        Err(NoCatalog::Refused(what)) => (PATH, what, false, true),
    };
    Some(CatalogFault { path, what, has_other, is_of_other_release })
}

/// Why one of the two files cannot be used.
#[derive(Clone, Debug)]
enum Unusable {
    /// Another release wrote it.
    OtherFormat(OtherFormat),
    /// The rest of a sentence that begins with the name of the file.
    Damaged(String),
    /// The disk refuses to read it.
    Storage(StorageError),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::OtherFormat(other) => write!(f, "has format version {}", other.found),
            Unusable::Damaged(what) => f.write_str(what),
            Unusable::Storage(error) => write!(f, "cannot be read: {}", error.public()),
        }
    }
}

/// Reads one of the files; `None` when it is not there.
fn read(storage: &dyn Storage, dir: &str) -> Result<Option<CatalogFile>, Unusable> {
    let bytes = match storage.read(&format!("{dir}/{NAME}")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(Unusable::Storage)?,
    };
    // As for a manifest: the log is cut because this file has its records, so its name must be durable.
    PlantedFault::CachedCatalogTrusted.skips(|| storage.sync_dir(dir)).map_err(Unusable::Storage)?;
    let decode = |body: &[u8]| CatalogFile::decode(body).map(|file| (file.version(), file));
    read_body(&bytes, MAGIC, WITHOUT_OPERATIONS..=VERSION, decode).map(Some).map_err(|bad| match bad {
        BadBody::Undecodable => Unusable::Damaged("cannot be decoded".to_string()),
        BadBody::Header { version, body } if version != body.version() => Unusable::Damaged(format!(
            "is damaged: it has format version {version} and the body of version {}",
            body.version()
        )),
        BadBody::Damaged | BadBody::Header { .. } => Unusable::Damaged("is damaged".to_string()),
        BadBody::OtherFormat { version: found } => {
            Unusable::OtherFormat(OtherFormat { file: NAME.to_string(), found, known: VERSION })
        }
    })
}

#[cfg(test)]
mod tests;
