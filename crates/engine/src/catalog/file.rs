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
use crate::types::Lsn;
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
/// Version of the format that this release writes, where there is a generation of the store of authentication.
const VERSION: u32 = 3;
/// The version without it, where there are operations that came with an identity.
const WITHOUT_GENERATION: u32 = 2;
/// The version without either.
const WITHOUT_OPERATIONS: u32 = 1;
/// Follows the entries where operations or a generation come: no collection has that number.
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
    /// The system does not let this user read them: a sentence.
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
        match (self.auth_generation, self.operations.is_empty()) {
            (0, true) => WITHOUT_OPERATIONS,
            (0, false) => WITHOUT_GENERATION,
            (1.., _) => VERSION,
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
        if let (Err(Unusable::Storage(error)), Err(_) | Ok(None))
        | (Err(_) | Ok(None), Err(Unusable::Storage(error))) = (&main, &copy)
            && error.kind().remedy().is_some()
        {
            return Err(NoCatalog::Unread(format!("the file CATALOG cannot be read: {error}")));
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
        if self.version() != WITHOUT_OPERATIONS {
            body.extend_from_slice(&END_OF_ENTRIES);
            self.operations.encode(&mut body);
        }
        if self.version() == VERSION {
            body.extend_from_slice(&self.auth_generation.to_le_bytes());
        }
        body
    }

    /// Reads what [`CatalogFile::encode`] wrote.
    pub(crate) fn decode(body: &[u8]) -> Option<CatalogFile> {
        let (lsn, body) = body.split_first_chunk()?;
        let (next_id, mut rest) = body.split_first_chunk()?;
        let (mut entries, mut operations, mut auth_generation) = (Vec::new(), RecentOperations::default(), 0);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(&END_OF_ENTRIES) {
                let mut input = Input(after);
                operations = RecentOperations::decode(&mut input).ok()?;
                auth_generation = match input.0 {
                    // A file with neither operations nor a generation ends before them.
                    [] if operations.is_empty() => return None,
                    [] => 0,
                    rest => Some(u64::from_le_bytes(rest.try_into().ok()?)).filter(|number| *number > 0)?,
                };
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
mod tests {
    use super::*;
    use crate::storage::SimDisk;
    use crate::storage::header::BODY_HEADER_BYTES;
    use crate::types::OperationId;

    fn file(lsn: u64) -> CatalogFile {
        CatalogFile { lsn: Lsn::new(lsn), next_id: 7, ..CatalogFile::default() }
    }

    fn spoil(disk: &SimDisk, path: &str, at: usize) {
        disk.decay(path, |bytes| bytes[at] ^= 1).expect("the file is there");
    }

    #[test]
    fn the_copy_replaces_a_file_that_cannot_be_used_and_both_are_to_be_written_again() {
        let disk = SimDisk::new();
        file(5).store(&disk).expect("a disk that works");
        let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("both are sound"));
        assert!(found.file.lsn == Lsn::new(5) && found.fault.is_none() && found.stale.is_none());
        spoil(&disk, COPY_PATH, 20);
        let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the file is sound"));
        assert_eq!(found.fault, Some((COPY_PATH, "the file CATALOG is damaged".to_string())));
        assert_eq!(found.stale, Some(COPY_DIR));
        file(6).store(&disk).expect("a disk that works");
        for (lost, what) in [(false, "the file CATALOG is damaged"), (true, "the file CATALOG is missing")] {
            if lost {
                disk.remove(PATH).expect("it is there");
            } else {
                spoil(&disk, PATH, 20);
            }
            let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the copy is sound"));
            assert_eq!((found.file.lsn, found.fault), (Lsn::new(6), Some((PATH, what.to_string()))));
        }
        spoil(&disk, COPY_PATH, 20);
        let lost = NoCatalog::Lost("the file CATALOG is damaged".to_string());
        assert_eq!(CatalogFile::load(&disk).err(), Some(lost));
    }

    #[test]
    fn a_file_without_a_generation_is_what_it_was_and_each_version_has_a_body_of_its_own_c3_8() {
        let mut operations = RecentOperations::default();
        operations.note(OperationId::new(3), 4);
        let kinds =
            [(false, 0), (true, 0), (false, 9), (true, u64::MAX)].map(|(has_operations, generation)| {
                let operations =
                    if has_operations { operations.clone() } else { RecentOperations::default() };
                CatalogFile { operations, auth_generation: generation, ..file(5) }
            });
        assert_eq!(kinds.each_ref().map(CatalogFile::version), [1, 2, 3, 3]);
        for kind in &kinds {
            let disk = SimDisk::new();
            kind.store(&disk).expect("a disk that works");
            let read = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("both are sound")).file;
            assert_eq!((read.auth_generation, read.encode()), (kind.auth_generation, kind.encode()));
            assert_eq!(noted_auth_generation(&disk).ok(), Some(kind.auth_generation));
            for version in 1..=3 {
                disk.decay(PATH, |bytes| bytes[8] = version).expect("the file is there");
                let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the copy is sound"));
                assert_eq!(found.fault.is_none(), u32::from(version) == kind.version());
            }
        }
        // No release wrote a generation of 0, or a half one.
        let whole = kinds[2].encode();
        let without = &whole[..whole.len() - 8];
        assert!(CatalogFile::decode(&[without, &[0; 8]].concat()).is_none());
        assert!((0..8).all(|cut| CatalogFile::decode(&whole[..whole.len() - 8 + cut]).is_none()));
    }

    #[test]
    fn a_copy_with_another_generation_is_to_be_written_again_c3_8() {
        let disk = SimDisk::new();
        file(5).store(&disk).expect("a disk that works");
        CatalogFile { auth_generation: 2, ..file(5) }.store_in(&disk, COPY_DIR).expect("a disk that works");
        let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("both are sound"));
        assert_eq!((found.file.auth_generation, found.stale), (0, Some(COPY_DIR)));
    }

    /// What a later release may write: another body, with the right checksum.
    fn write_later(disk: &SimDisk, path: &str) {
        let later = |bytes: &mut Vec<u8>| {
            bytes[8] = 9;
            bytes.truncate(BODY_HEADER_BYTES + 5);
            let crc = crc32c::crc32c(&bytes[BODY_HEADER_BYTES..]);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        };
        disk.decay(path, later).expect("the file is there");
    }

    #[test]
    fn a_later_format_is_refused_and_a_changed_version_number_alone_is_damage() {
        let disk = SimDisk::new();
        file(5).store(&disk).expect("a disk that works");
        spoil(&disk, PATH, 9);
        let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the copy is sound"));
        assert!(
            found.fault.is_some_and(|(path, what)| path == PATH && what.contains("the body of version 1"))
        );
        file(5).store(&disk).expect("a disk that works");
        write_later(&disk, PATH);
        let refused = CatalogFile::load(&disk).err();
        assert!(matches!(refused, Some(NoCatalog::Refused(why)) if why.contains("format version 9")));
        write_later(&disk, COPY_PATH);
        assert!(matches!(CatalogFile::load(&disk).err(), Some(NoCatalog::Refused(_))));
        // A later release that ended after it had written the copy and before it wrote the file.
        file(5).store(&disk).expect("a disk that works");
        write_later(&disk, COPY_PATH);
        assert!(
            CatalogFile::load(&disk)
                .is_ok_and(|found| found.fault.is_some() && found.stale == Some(COPY_DIR))
        );
    }
}
