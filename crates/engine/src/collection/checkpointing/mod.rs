//! Making checkpoints of a collection: survey, write, store, adopt.

mod adopt;
mod graphs;
mod scrubbing;
mod space;

pub use graphs::GraphPolicy;

use super::Collection;
use super::snapshot::BoundedGraphs;
use crate::checkpoint::{
    CheckpointError, CheckpointFiles, Extent, Folder, Manifest, MovedPayload, RoomNeeded, Survey, Unsound,
    WrittenRows, directory, link_checkpoint, link_files, link_folder, remove_links, verify_extent,
    write_graph, write_view,
};
use crate::faults::PlantedFault;
use crate::field::FieldGraph;
use crate::state::{EditedPayloads, View};
use crate::storage::{ErrorKind, StorageError, make_dir};
use crate::sync::{Mutex, MutexGuard};
use crate::types::{OpNumber, Row};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// The files of a collection, and what is known of the next checkpoint. Its lock is held while a checkpoint is made.
pub(super) struct Checkpointer(Mutex<Checkpoints>);

/// See [`Checkpointer`].
pub(super) struct Checkpoints {
    pub files: CheckpointFiles,
    /// The last survey of what the next checkpoint has to write.
    survey: Option<Survey>,
    /// The last answer of [`Collection::space_needed`]: at which operation and number of a file.
    needed: Option<((OpNumber, u32), RoomNeeded)>,
    /// Readers are being given the files of a checkpoint. A panic leaves it set: another checkpoint could lose track of
    /// which files are in use.
    is_half_adopted: bool,
}

impl Checkpointer {
    /// Over the files of a collection that is opened.
    pub fn new(files: CheckpointFiles) -> Checkpointer {
        Checkpointer(Mutex::new(Checkpoints { files, survey: None, needed: None, is_half_adopted: false }))
    }

    /// Waits for a checkpoint that is being made.
    pub fn lock(&self) -> MutexGuard<'_, Checkpoints> {
        self.0.lock()
    }

    /// `None` while a checkpoint is being made.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, Checkpoints>> {
        self.0.try_lock()
    }
}

/// A graph to be written: field, graph, first row of its tail.
type FreshGraph = (usize, Arc<FieldGraph>, Row);

/// What a checkpoint is to be made of.
struct Plan {
    view: Arc<View>,
    /// Where payloads came from that were edited since the checkpoint before.
    edited: EditedPayloads,
    /// The work that waits in the log for all that is in the view.
    unsaved: usize,
    previous: Manifest,
    is_first: bool,
    graphs: Vec<FreshGraph>,
}

/// What was written for a checkpoint.
struct WrittenCheckpoint {
    /// Number of the data file.
    number: u32,
    manifest: Manifest,
    payloads: Vec<MovedPayload>,
    rows: Vec<WrittenRows>,
}

impl Collection {
    /// Writes a data checkpoint of the current view, and graphs as the policy says. Cuts nothing itself: the
    /// log's owner asks [`Collection::pinned_lsn`] afterwards.
    ///
    /// # Errors
    /// The disk's; the previous checkpoint then stays in force.
    pub fn checkpoint(&self, policy: GraphPolicy) -> Result<(), CheckpointError> {
        let made = self.make_checkpoint(policy);
        self.disk_use.note_change();
        self.health.note_checkpoint(made.as_ref().err().map(ToString::to_string));
        made
    }

    fn make_checkpoint(&self, policy: GraphPolicy) -> Result<(), CheckpointError> {
        let mut checkpoints = self.checkpointer.lock();
        let started = Instant::now();
        if self.is_retired() {
            return Ok(());
        }
        if checkpoints.is_half_adopted {
            return Err(CheckpointError::HalfAdopted);
        }
        checkpoints.files.store_doubtful(&*self.shared.storage)?;
        let Some(mut plan) = self.survey_checkpoint(&mut checkpoints, policy) else { return Ok(()) };
        let Checkpoints { files, is_half_adopted, .. } = &mut *checkpoints;
        let written = self.write_checkpoint(files, &mut plan);
        let written = written.and_then(|written| self.refuse_zeros(files).map(|()| written));
        *is_half_adopted = written.is_ok();
        let stored = written.and_then(|written| self.store_checkpoint(files, &plan, written));
        match stored {
            Ok((number, payloads, rows)) => {
                let adopted = self.adopt_checkpoint(files, plan, number, payloads, rows);
                *is_half_adopted = false;
                adopted?;
                self.shared.checkpoints.add(started.elapsed());
                Ok(files.remove_orphans(&*self.shared.storage)?)
            }
            Err(error) => {
                *is_half_adopted = false;
                // The next checkpoint writes what was edited, and has to verify where it came from.
                self.writer.lock().edited.add(plan.edited);
                Err(error)
            }
        }
    }

    /// Surveys what there is to write. `None` where that is nothing.
    fn survey_checkpoint(&self, checkpoints: &mut Checkpoints, policy: GraphPolicy) -> Option<Plan> {
        // The graphs' boundaries before the view: a row below a boundary that a graph leaves out was dead in what readers
        // saw, so it is dead in the view too, and no power cut revives it.
        let bounded = BoundedGraphs::of(&self.view.load());
        let (view, edited, unsaved) = self.settled_view();
        self.shared.storage.yield_point("behind the view of a checkpoint");
        let is_first = checkpoints.files.manifest.is_none();
        let previous = checkpoints.files.previous_of(&view.state.config).into_owned();
        let graphs = self.graphs_to_write(bounded.in_fields_of(&view), &view, &previous, policy);
        let is_same = !is_first && view.op == previous.op && graphs.is_empty();
        if is_same && (policy == GraphPolicy::Always || !self.frees_room(checkpoints)) {
            self.position.unsaved().remove(unsaved);
            return None;
        }
        Some(Plan { view, edited, unsaved, previous, is_first, graphs })
    }

    /// The current view, with every payload where the head says it is, and where those came from that were edited since
    /// the checkpoint before, and the work that waits in the log for all that is in the view.
    ///
    /// A checkpoint moves payloads in the head only ([`Collection::adopt_payloads`]). Views that were made before have
    /// them where they were; a checkpoint of one of those would lose track of which files are in use.
    fn settled_view(&self) -> (Arc<View>, EditedPayloads, usize) {
        let mut head = self.quiet_head();
        let edited = std::mem::take(&mut head.edited);
        self.publish_settled(&head);
        (self.view(), edited, self.unsaved_work())
    }

    /// Writes and syncs data and graphs. After an error nothing of them is left, as far as the disk allows.
    fn write_checkpoint(
        &self,
        files: &mut CheckpointFiles,
        plan: &mut Plan,
    ) -> Result<WrittenCheckpoint, CheckpointError> {
        let storage = &*self.shared.storage;
        let number = files.take_numbers(1 + plan.graphs.len() as u32);
        let made = if plan.is_first { make_dir(storage, &files.dir) } else { Ok(()) };
        let written = made
            .and_then(|()| files.remove_orphans(storage))
            .map_err(CheckpointError::from)
            .and_then(|()| self.write_files(files, plan, number));
        if let Err(error) = &written {
            // The space goes back at once: on a full disk the log needs it.
            let _ = files.remove_orphans(storage);
            if let CheckpointError::Damaged(why) = error {
                self.report_damage(why);
            }
        }
        written
    }

    /// Refuses a checkpoint of what was read since a page of a map could not be.
    fn refuse_zeros(&self, files: &CheckpointFiles) -> Result<(), CheckpointError> {
        let Some(why) = self.report_map_fault() else { return Ok(()) };
        let _ = files.remove_orphans(&*self.shared.storage);
        Err(CheckpointError::Damaged(why))
    }

    /// Writes and syncs data and graphs of a view.
    fn write_files(
        &self,
        files: &CheckpointFiles,
        plan: &mut Plan,
        number: u32,
    ) -> Result<WrittenCheckpoint, CheckpointError> {
        let Plan { view, edited, previous, is_first, .. } = &*plan;
        let log = &self.shared.log;
        let folder = Folder { storage: &*self.shared.storage, dir: &files.dir, collection: self.id };
        // Only records that did not wait for a sync can be behind.
        let is_ahead_of_log = || log.durable_lsn() < view.lsn;
        if *is_first && is_ahead_of_log() {
            // Data without a manifest and without records are taken for those of a manifest that was lost.
            log.sync().map_err(CheckpointError::Log)?;
        }
        let has_old_data = !is_first && view.op == previous.op;
        // Without graphs it is made for the room that it gives back.
        let mut written = if has_old_data && !plan.graphs.is_empty() {
            let manifest = previous.clone();
            WrittenCheckpoint { number, manifest, payloads: Vec::new(), rows: Vec::new() }
        } else {
            self.write_data(&folder, number, view, edited, previous)?
        };
        written.manifest.next_file = files.next_file;
        for (number, (field, graph, indexed)) in (number + 1..).zip(std::mem::take(&mut plan.graphs)) {
            written.manifest.fields[field].graph = Some(write_graph(&folder, number, &graph, indexed)?);
        }
        written.manifest.forget_unnamed_files();
        PlantedFault::DataNamesNotSynced.skips(|| folder.storage.sync_dir(folder.dir))?;
        if log.durable_lsn() < plan.view.lsn && !PlantedFault::CheckpointAheadOfLog.is_on() {
            // Neither data nor graph may be ahead of the log: a graph leaves out rows that died in what readers see.
            log.sync().map_err(CheckpointError::Log)?;
        }
        Ok(written)
    }

    /// Writes and syncs what is new of a view.
    fn write_data(
        &self,
        folder: &Folder<'_>,
        number: u32,
        view: &View,
        edited: &EditedPayloads,
        previous: &Manifest,
    ) -> Result<WrittenCheckpoint, CheckpointError> {
        let survey = Survey::of(view, previous, folder.storage, folder.dir);
        let compacted = self.files_to_compact(&survey, self.shared.reserve.worth_freeing().unwrap_or(0));
        PlantedFault::DecayGetsChecksum.skips(|| self.verify_copied(previous, &compacted, edited))?;
        let written = write_view(folder, number, view, previous, compacted)?;
        let crate::checkpoint::Written { manifest, payloads, rows } = written;
        Ok(WrittenCheckpoint { number, manifest, payloads, rows })
    }

    /// Checks once more what is about to be written again: what is copied forward out of the compacted files, and the
    /// payloads that were edited since. Under a new checksum, bytes that have decayed since they were opened would count
    /// as sound from then on.
    fn verify_copied(
        &self,
        previous: &Manifest,
        compacted: &BTreeSet<u32>,
        edited: &EditedPayloads,
    ) -> Result<(), CheckpointError> {
        let rows = previous.fields.iter().flat_map(|field| field.chunks.iter().flatten());
        let of_compacted = previous.point_chunks.iter().chain(&previous.payloads).chain(rows);
        let of_compacted = of_compacted.filter(|extent| compacted.contains(&extent.file));
        let is_edited = |extent: &&Extent| {
            !compacted.contains(&extent.file) && edited.touches(extent.file, extent.offset, extent.len)
        };
        let of_edited = previous.payloads.iter().filter(is_edited);
        of_compacted.chain(of_edited).try_for_each(|extent| self.verify_extent(extent))
    }

    /// Compares an extent in the collection's folder with its checksum.
    pub(super) fn verify_extent(&self, extent: &Extent) -> Result<(), CheckpointError> {
        match verify_extent(&*self.shared.storage, &directory(self.id), extent, &mut |_| true) {
            // A disk that fails now may answer the next time; a file that is gone is gone.
            Err(Unsound::Unreadable(error)) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            Err(why) => Err(CheckpointError::Damaged(why.sentence(extent))),
            Ok(()) => Ok(()),
        }
    }

    /// Puts the manifest in force. Returns the number of the data file and what readers may take from it.
    fn store_checkpoint(
        &self,
        files: &mut CheckpointFiles,
        plan: &Plan,
        written: WrittenCheckpoint,
    ) -> Result<(u32, Vec<MovedPayload>, Vec<WrittenRows>), CheckpointError> {
        let WrittenCheckpoint { number, manifest, payloads, rows } = written;
        files.store(&*self.shared.storage, manifest)?;
        self.position.note_checkpoint(plan.view.lsn);
        // What was published meanwhile still counts.
        self.position.unsaved().remove(plan.unsaved);
        self.shared.reserve.forget(plan.unsaved as u64);
        Ok((number, payloads, rows))
    }

    /// Lets readers take what was written from the files.
    fn adopt_checkpoint(
        &self,
        files: &CheckpointFiles,
        plan: Plan,
        number: u32,
        payloads: Vec<MovedPayload>,
        rows: Vec<WrittenRows>,
    ) -> Result<(), StorageError> {
        if payloads.is_empty() && rows.is_empty() {
            return Ok(());
        }
        let storage = &*self.shared.storage;
        let map = storage.map(&files.path(number))?;
        self.adopt_payloads(payloads, number, &map);
        storage.yield_point("between payloads and rows");
        self.adopt_rows(rows, &plan.view.state.config, &map);
        drop(plan);
        storage.yield_point("between rows and the view");
        self.publish_settled(&self.quiet_head());
        Ok(())
    }

    /// Makes a checkpoint with all graphs, and the folder of the collection `number` with links to its files. Durable when
    /// it returns.
    ///
    /// # Errors
    /// As [`Collection::checkpoint`]. What is in the folder then is to be discarded.
    pub fn link_copy(&self, number: u64) -> Result<(), CheckpointError> {
        let link = |manifest: &Manifest, from: &str| {
            let copy = manifest.of_copy(self.id, number, self.shared.log.durable_lsn());
            link_checkpoint(&*self.shared.storage, from, &copy, number)
        };
        self.with_checkpoint(link)
    }

    /// Makes a checkpoint with all graphs, and links its files into a folder that is there: for a snapshot. They do not
    /// change any more. What an owner of the folder has linked there that ended meanwhile is removed.
    ///
    /// # Errors
    /// As [`Collection::checkpoint`].
    pub fn link_snapshot(&self, into: &str) -> Result<(), CheckpointError> {
        self.with_checkpoint(|manifest, from| {
            let storage = &*self.shared.storage;
            PlantedFault::LinksNotRemoved.skips(|| remove_links(storage, into))?;
            link_files(storage, from, manifest, into)
        })
    }

    /// Makes a checkpoint, and calls `link` with the manifest and its folder while no other is made.
    fn with_checkpoint(
        &self,
        link: impl FnOnce(&Manifest, &str) -> Result<(), StorageError>,
    ) -> Result<(), CheckpointError> {
        PlantedFault::CopyWithoutCheckpoint.skips(|| self.checkpoint(GraphPolicy::Always))?;
        let checkpoints = self.checkpointer.lock();
        let CheckpointFiles { manifest, dir, .. } = &checkpoints.files;
        // A collection that is deleted makes no first checkpoint.
        let gone = || CheckpointError::Damaged("the collection is deleted".to_string());
        link(manifest.as_ref().ok_or_else(gone)?, dir)?;
        self.refuse_zeros(&checkpoints.files)
    }

    /// Removes the files that no checkpoint names, which the next checkpoint does otherwise.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove_orphans(&self) -> Result<(), StorageError> {
        self.checkpointer.lock().files.remove_orphans(&*self.shared.storage)
    }

    /// Removes the files of a deleted collection, for good.
    ///
    /// # Errors
    /// The disk's; the next start removes what is left.
    pub fn remove_files(&self) -> Result<(), StorageError> {
        self.health.retire();
        let checkpoints = self.checkpointer.lock();
        self.position.unsaved().remove(usize::MAX);
        let (storage, dir) = (&self.shared.storage, &checkpoints.files.dir);
        if PlantedFault::FilesEmptiedFirst.is_on() {
            storage.list(dir)?.iter().try_for_each(|name| storage.truncate(&format!("{dir}/{name}"), 0))?;
        }
        storage.remove_dir_all(dir)
    }

    /// Links the checkpoint of this collection into the same folder below `into`. No checkpoint runs meanwhile, so
    /// that manifest and files belong together; a collection that was deleted has nothing to link.
    ///
    /// # Errors
    /// The disk's.
    pub fn stage(&self, into: &str) -> Result<(), StorageError> {
        let _checkpoints = self.checkpointer.lock();
        if self.is_retired() { Ok(()) } else { link_folder(&*self.shared.storage, self.id, into) }
    }
}
