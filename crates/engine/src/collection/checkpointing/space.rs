//! Space on the disk: what the next checkpoint needs of it, and what it gives back.

use super::Checkpoints;
use crate::checkpoint::{LeastFreed, RoomNeeded, Survey, has_room_to_move};
use crate::collection::Collection;
use std::collections::BTreeSet;

/// A file is copied forward when more than its length divided by this is dead. At a half, each byte that is written frees
/// another.
const COMPACTION_DIVISOR: u64 = 2;
/// The divisor where little of the disk is free: three bytes are written at most for each that is freed.
const TIGHT_DISK_COMPACTION_DIVISOR: u64 = 4;
/// The divisor on a full disk, where space matters more than the bytes that are written.
const FULL_DISK_COMPACTION_DIVISOR: u64 = 8;
/// What is copied so that its place becomes free leaves the free space divided by this to the log.
const LOG_ROOM_DIVISOR: u64 = 16;
/// A collection with more points is surveyed for what can be freed on a full disk only: a survey takes some 30 ms.
const MAX_SURVEYED_POINTS: usize = 1 << 20;

impl Collection {
    /// Bytes that the next checkpoint writes, graphs and files that are copied forward left out.
    pub fn bytes_to_write(&self) -> u64 {
        self.surveyed(&mut self.checkpointer.lock()).new_bytes
    }

    /// What the next checkpoint needs at most, without a survey of the points.
    pub fn space_needed(&self) -> RoomNeeded {
        let mut checkpoints = self.checkpointer.lock();
        let view = self.view();
        let now = (view.op, checkpoints.files.next_file);
        // Of thousands of collections few were written since they were asked last.
        let known = checkpoints.needed.filter(|(then, _)| *then == now);
        let compute = || RoomNeeded::of(&view, &checkpoints.files.previous_of(&view.state.config));
        let needed = known.map_or_else(compute, |(_, needed)| needed);
        checkpoints.needed = Some((now, needed));
        needed
    }

    /// Whether a checkpoint is worth making for the room alone that it gives back, on a disk that has little.
    pub fn has_space_to_free(&self) -> bool {
        // A checkpoint that is being written is asked again when it is done.
        let Some(mut checkpoints) = self.checkpointer.try_lock() else { return false };
        checkpoints.files.manifest.is_some() && self.frees_room(&mut checkpoints)
    }

    pub(super) fn frees_room(&self, checkpoints: &mut Checkpoints) -> bool {
        let reserve = &self.shared.reserve;
        let Some(bytes) = reserve.worth_freeing() else { return false };
        if !reserve.is_spent() && self.view().state.points.len() > MAX_SURVEYED_POINTS {
            return false;
        }
        !self.files_to_compact(self.surveyed(checkpoints), bytes).is_empty()
    }

    /// What the next checkpoint has to write, as of now.
    fn surveyed<'a>(&self, checkpoints: &'a mut Checkpoints) -> &'a Survey {
        let view = self.view();
        let Checkpoints { files, survey, .. } = checkpoints;
        let previous = &*files.previous_of(&view.state.config);
        let known = survey.take().filter(|survey| survey.is_of(&view, previous));
        let fresh = || Survey::of(&view, previous, &*self.shared.storage, &files.dir);
        survey.insert(known.unwrap_or_else(fresh))
    }

    /// Files that a checkpoint copies forward: those that give back at least `bytes`, as far as there is room for copies.
    pub(super) fn files_to_compact(&self, survey: &Survey, bytes: u64) -> BTreeSet<u32> {
        let reserve = &self.shared.reserve;
        let divisor = match (reserve.is_spent(), reserve.is_tight()) {
            (true, _) => FULL_DISK_COMPACTION_DIVISOR,
            (false, true) => TIGHT_DISK_COMPACTION_DIVISOR,
            (false, false) => COMPACTION_DIVISOR,
        };
        let free = reserve.little_free();
        let room = free.map_or(u64::MAX, |free| without_log_room(free.saturating_sub(survey.new_bytes)));
        survey.files_to_compact(&LeastFreed { bytes, divisor }, room)
    }

    /// Whether there is room to move rows of that many bytes to the end of their fields.
    pub(in crate::collection) fn has_room_to_move(&self, bytes: u64) -> bool {
        let Some(free) = self.shared.reserve.little_free() else { return true };
        let checkpoints = self.checkpointer.lock();
        let view = self.view();
        let previous = checkpoints.files.previous_of(&view.state.config);
        has_room_to_move(&view, &previous, bytes, without_log_room(free))
    }
}

/// Free space without what is left to the log.
fn without_log_room(free: u64) -> u64 {
    free - free / LOG_ROOM_DIVISOR
}
