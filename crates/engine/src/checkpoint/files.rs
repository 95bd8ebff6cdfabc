//! Which files a collection has on disk, and which of them count.

use super::extents::file_name;
use super::manifest::Manifest;
use super::{UNFINISHED, directory, file_path};
use crate::config::CollectionConfig;
use crate::faults::PlantedFault;
use crate::storage::{ErrorKind, Storage, StorageError};
use crate::types::OpNumber;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What is on disk of a collection.
pub(crate) struct CheckpointFiles {
    /// The folder.
    pub dir: String,
    /// The manifest in force; `None` before the first checkpoint.
    pub manifest: Option<Manifest>,
    /// Manifests whose writing failed half-way: the next start may read any of them.
    doubtful: Vec<Manifest>,
    /// Number of the next data or graph file.
    pub next_file: u32,
    /// Files that no manifest names stay until there is a manifest: a repair that fails begins again with them.
    pub keeps_orphans: bool,
    collection: u64,
}

impl CheckpointFiles {
    /// Nothing yet.
    pub fn none(collection: u64) -> CheckpointFiles {
        CheckpointFiles {
            dir: directory(collection),
            manifest: None,
            doubtful: Vec::new(),
            next_file: 1,
            keeps_orphans: false,
            collection,
        }
    }

    /// The manifest in force; an empty one before the first checkpoint.
    pub fn previous(&self) -> &Manifest {
        static NONE: LazyLock<Manifest> = LazyLock::new(Manifest::default);
        self.manifest.as_ref().unwrap_or(&NONE)
    }

    /// The manifest in force as a checkpoint of this configuration sees it: with its fields. Where these have changed since,
    /// it has no points, so that all are written with their new rows.
    pub fn previous_of(&self, config: &CollectionConfig) -> Cow<'_, Manifest> {
        let previous = self.previous();
        if config.fields_changed() == OpNumber::NONE || PlantedFault::FieldsOfManifestKept.is_on() {
            return Cow::Borrowed(previous);
        }
        let Ok(before) = CollectionConfig::restore(&previous.config) else {
            // There is none yet.
            return Cow::Borrowed(previous);
        };
        if before.fields_changed() == config.fields_changed() {
            return Cow::Borrowed(previous);
        }
        let kept = |before: Option<usize>| before.and_then(|at| previous.fields.get(at)).cloned();
        let fields = config.positions_in(&before).into_iter().map(|at| kept(at).unwrap_or_default());
        let fields = fields.collect();
        Cow::Owned(Manifest { fields, points: 0, point_chunks: Vec::new(), ..previous.clone() })
    }

    /// Path of a data or graph file.
    pub fn path(&self, number: u32) -> String {
        file_path(&self.dir, number)
    }

    /// Takes `count` file numbers and returns the first. A number is never used twice, not even after a failure.
    pub fn take_numbers(&mut self, count: u32) -> u32 {
        let first = self.next_file;
        self.next_file += count;
        first
    }

    /// Stores the last manifest whose writing failed, if there is one. Where no manifest can be stored, every attempt at a
    /// checkpoint would add files until the disk is full.
    pub fn store_doubtful(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        self.doubtful.last().map_or(Ok(()), |last| last.store(storage, &self.dir))
    }

    /// Puts a manifest in force whose files are durable.
    ///
    /// # Errors
    /// The disk's. The manifest before then stays in force here; the next start may read either.
    pub fn store(&mut self, storage: &dyn Storage, manifest: Manifest) -> Result<(), StorageError> {
        self.doubtful.push(manifest.clone());
        if let Err(error) = manifest.store(storage, &self.dir) {
            if error.kind() == ErrorKind::Full {
                self.forget_unwritten(storage);
            }
            return Err(error);
        }
        self.doubtful.clear();
        self.keeps_orphans = false;
        self.manifest = Some(manifest);
        Ok(())
    }

    /// Removes the files of a manifest that could not be stored, if the manifest before it is on disk: what is read back is
    /// durable, so the new one is nowhere.
    fn forget_unwritten(&mut self, storage: &dyn Storage) {
        let identity = |manifest: &Manifest| (manifest.op, manifest.next_file);
        let before = self.manifest.as_ref().map(identity);
        if !self.keeps_orphans
            && Manifest::load(storage, self.collection)
                .is_ok_and(|found| found.as_ref().map(identity) == before)
        {
            self.doubtful.pop();
            // Best effort: the next checkpoint removes them otherwise.
            let _ = self.remove_orphans(storage);
        }
    }

    /// Removes the files that no manifest names: leftovers of failed checkpoints, files that were copied forward, and the
    /// mark of a copy that is known to the catalog.
    pub fn remove_orphans(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        if self.keeps_orphans && !PlantedFault::RepairRemovesSources.is_on() {
            return Ok(());
        }
        let doubtful = self.doubtful.iter().filter(|_| !PlantedFault::DoubtfulFilesRemoved.is_on());
        let manifests = self.manifest.iter().chain(doubtful);
        let named: BTreeSet<String> = manifests.flat_map(Manifest::files).map(file_name).collect();
        for name in storage.list(&self.dir)? {
            if (name.ends_with(".data") && !named.contains(&name)) || name == UNFINISHED {
                storage.remove(&format!("{}/{name}", self.dir))?;
            }
        }
        Ok(())
    }
}
