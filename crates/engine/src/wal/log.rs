//! The log itself: segments, appends, syncs. No threads and no locks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::allocator::try_reserve_in;
use crate::faults::PlantedFault;
use crate::storage::{ErrorKind, Reserve, Storage, StorageError, StorageFile};
use crate::types::{Lsn, OperationId};

use super::LogError;
use super::continuation::{NewSegment, continue_after};
use super::cut_mark::{self, CutMark, MarkFault};
use super::entropy::Entropy;
use super::figures::LogFigures;
use super::format::{
    CATALOG, MAX_BODY_BYTES, NAMED, RECORD_HEADER_LEN, RecordHeader, SEGMENT_HEADER_LEN, Seeded, VERSION,
};
use super::recovery::{BehindDamage, recover};
use super::report::{LogReport, Replayed};
use super::segment::{self, CreateError, Segment};

/// The encoding buffer is given back when it has grown beyond this.
const KEPT_BUFFER_BYTES: usize = 4 << 20;

/// A segment is filled with zeros ahead of its records in steps of its length divided by this (2 MiB of 64).
const FILL_STEP_DIVISOR: u64 = 32;
/// A step takes at most the free space divided by this.
const FILL_ROOM_DIVISOR: u64 = 256;
/// A longer write gains less from zeros that are there already than it costs to write them.
const FILLED_FOR_BYTES: usize = 32 << 10;

/// How a log behaves.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// A segment that would grow beyond this many bytes is followed by a new one (64 MiB). A single flush is never
    /// split, so a segment can be longer.
    pub segment_bytes: u64,
    /// The highest LSN that any checkpoint has applied: the log gives out higher ones only, even if its own files
    /// were lost.
    pub highest_applied: Lsn,
    /// Fixes the random parts (segment seeds, operation ids), for simulations. `None` takes the system's entropy.
    pub entropy: Option<u64>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, highest_applied: Lsn::NONE, entropy: None }
    }
}

/// A record that waits for the next write; its LSN is its place.
pub(super) struct Pending {
    pub(super) collection: u64,
    pub(super) kind: u8,
    /// The identity that came with the call; the log makes one where there is none.
    pub(super) operation: Option<OperationId>,
    pub(super) body: Vec<u8>,
}

/// The open log.
pub struct Log {
    storage: Arc<dyn Storage>,
    epoch: u32,
    segment_bytes: u64,
    entropy: Entropy,
    /// Oldest first; the last is the one that grows.
    segments: VecDeque<Segment>,
    file: Box<dyn StorageFile>,
    seeded: Seeded,
    pending: Vec<Pending>,
    pending_bytes: u64,
    encoded: Vec<u8>,
    /// The last LSN that the operating system has.
    written: Lsn,
    /// The last LSN that is durable.
    durable: Lsn,
    /// The last record of [`CATALOG`]; 0 where that is unknown.
    catalog: Lsn,
    /// Everything below was cut, or was about to be, as the mark says; `None` where it cannot be read.
    mark: Option<Lsn>,
    poison: Option<StorageError>,
    reserve: Option<Arc<Reserve>>,
    figures: Arc<LogFigures>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("segments", &self.segments)
            .field("written", &self.written)
            .field("durable", &self.durable)
            .field("poison", &self.poison)
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Opens the log in the directory `log` of `storage`, or starts one. Intact records with an LSN above `from`
    /// that were not [`cut`](Self::cut) are shown to `visit` in order (0 is always right, a higher `from` saves
    /// reading); `epoch` goes into everything written from now on.
    ///
    /// When this returns, every visited record is durable. After an error nothing that `visit` saw may be kept.
    pub fn open(
        storage: Arc<dyn Storage>,
        epoch: u32,
        options: LogOptions,
        from: Lsn,
        visit: &mut dyn FnMut(Replayed<'_>),
    ) -> Result<(Self, LogReport), LogError> {
        let prepare = || {
            storage.create_dir_all(segment::DIR)?;
            storage.sync_dir("")?;
            // The name of the last segment may be known to the cache only, if its own sync failed before a restart.
            storage.sync_dir(segment::DIR)
        };
        prepare().map_err(LogError::from_storage)?;
        let applied = PlantedFault::LsnUsedAgain.forgets(options.highest_applied);
        let found = recover(&*storage, from, applied, BehindDamage::Listed, visit)?;
        let next = found.next.max(applied.max(found.covered).next());
        let mut entropy = Entropy::new(options.entropy);
        let mut segments: VecDeque<Segment> = found.segments.iter().copied().collect();
        let (file, seeded) = continue_after(&*storage, &found, next, epoch, &mut entropy, &mut segments)?;
        if let Some(below) = found.mark.below.filter(|_| found.mark.is_stale) {
            // What cannot be written now is written with the next cut.
            let _ = cut_mark::store(&*storage, below);
        }
        let written = next.previous();
        let log = Self {
            storage,
            epoch,
            segment_bytes: options.segment_bytes,
            entropy,
            segments,
            file,
            seeded,
            pending: Vec::new(),
            pending_bytes: 0,
            encoded: Vec::new(),
            written,
            durable: written,
            catalog: found.catalog,
            mark: found.mark.below,
            poison: None,
            reserve: None,
            figures: Arc::default(),
        };
        log.note_disk_bytes();
        Ok((log, found.report))
    }

    /// The same log with a reserve: when a write finds the disk full, the reserve is released and the write is tried
    /// once more.
    pub fn with_reserve(self, reserve: Arc<Reserve>) -> Self {
        Self { reserve: Some(reserve), ..self }
    }

    /// Adds a record to the next write and returns its LSN. `kind` is the caller's own numbering.
    pub fn append(&mut self, collection: u64, kind: u8, body: impl Into<Vec<u8>>) -> Result<Lsn, LogError> {
        self.append_record(Pending { collection, kind, operation: None, body: body.into() })
    }

    /// Appends a whole record, as [`Log::append`] does with the parts of one.
    pub(super) fn append_record(&mut self, record: Pending) -> Result<Lsn, LogError> {
        self.check()?;
        let body = &record.body;
        if body.len() > MAX_BODY_BYTES {
            return Err(LogError::TooLarge { bytes: body.len() });
        }
        let lsn = self.next_lsn();
        self.pending_bytes += (RECORD_HEADER_LEN + body.len()) as u64;
        self.pending.push(record);
        Ok(lsn)
    }

    /// Hands every appended record to the operating system, without a sync: they survive the end of the process, not
    /// that of the machine. Returns the last LSN written.
    ///
    /// After an error none of the records appended since the last write is in the log, and the next append gets the
    /// first of their LSNs (unless the log is poisoned: then their fate is unknown).
    pub fn write(&mut self) -> Result<Lsn, LogError> {
        self.check()?;
        if self.pending.is_empty() {
            return Ok(self.written);
        }
        let mut outcome = self.reserve_or_unwind().and_then(|()| self.write_pending());
        if outcome == Err(LogError::Full) && self.reserve.as_ref().is_some_and(|reserve| reserve.release()) {
            outcome = self.reserve_or_unwind().and_then(|()| self.write_pending());
        }
        self.pending.clear();
        self.pending_bytes = 0;
        outcome.map(|()| self.written)
    }

    /// Makes every appended record durable and returns the last durable LSN. Errors as for [`write`](Self::write);
    /// a failed sync poisons the log.
    pub fn flush(&mut self) -> Result<Lsn, LogError> {
        self.write()?;
        self.sync()?;
        Ok(self.durable)
    }

    /// Deletes the oldest segments that hold no LSN from `below` on. The segment that grows always stays.
    ///
    /// To be called with what durable checkpoints make unnecessary, and no more. After an error the segments that are
    /// left go with the next cut.
    pub fn cut(&mut self, below: Lsn) -> Result<(), LogError> {
        let doomed = self.segments.iter().skip(1).take_while(|next| next.first <= below).count();
        if doomed == 0 {
            return Ok(());
        }
        self.mark_cut(self.segments[doomed].first)?;
        for _ in 0..doomed {
            match self.storage.remove(&segment::path(self.segments[0].first)) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(LogError::from_storage(e)),
                _ => {}
            }
            self.segments.pop_front();
        }
        self.note_disk_bytes();
        self.storage.sync_dir(segment::DIR).map_err(LogError::from_storage)
    }

    /// Makes the mark durable before anything below it goes.
    fn mark_cut(&mut self, below: Lsn) -> Result<(), LogError> {
        PlantedFault::CutMarkLost
            .skips(|| cut_mark::store(&*self.storage, below))
            .map_err(LogError::from_storage)?;
        self.mark = Some(below);
        Ok(())
    }

    /// Reads the mark of how far the log was cut and its copy, and writes both again when they are not what was
    /// written. Returns what is wrong with one of them, and the outcome of writing them.
    pub fn repair_mark(&mut self) -> Option<(MarkFault, Result<(), LogError>)> {
        let found = cut_mark::load(&*self.storage);
        let (is_stale, fault) = match found {
            Ok(CutMark { below, is_stale, fault }) => {
                let is_other = below.is_some() && below != self.mark;
                // Without both files it reads as if nothing had been cut.
                let is_behind = below.is_some() && below < self.mark;
                (is_stale || is_other, fault.or_else(|| is_behind.then(MarkFault::lost)))
            }
            Err(error) => (true, Some(MarkFault::unreadable(&error))),
        };
        let repaired = match self.mark {
            Some(below) if is_stale || fault.is_some() => self.mark_cut(below),
            // Neither file could be read when the log was opened. The next cut writes both.
            _ => return None,
        };
        fault.map(|fault| (fault, repaired))
    }

    /// Path and length in bytes of every segment, oldest first.
    pub fn segments(&self) -> Vec<(String, u64)> {
        self.segments.iter().map(|segment| (segment::path(segment.first), segment.bytes)).collect()
    }

    /// Whether there is a segment besides the one that grows.
    pub fn has_finished_segments(&self) -> bool {
        self.segments.len() > 1
    }

    /// Bytes of all segments on disk.
    pub fn size_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// What others may know of it while it is written.
    pub(super) fn figures(&self) -> &Arc<LogFigures> {
        &self.figures
    }

    fn note_disk_bytes(&self) {
        let ended = self.size_bytes() - self.end();
        self.figures.note_disk_bytes(ended + self.file.len());
    }

    /// The lowest LSN that the log may still hold.
    pub fn oldest_lsn(&self) -> Lsn {
        self.segments.front().map_or(self.written.next(), |segment| segment.first)
    }

    /// The LSN that the next append gets.
    pub fn next_lsn(&self) -> Lsn {
        self.written.next().plus(self.pending.len() as u64)
    }

    /// The last LSN that is durable.
    pub fn durable_lsn(&self) -> Lsn {
        self.durable
    }

    fn check(&self) -> Result<(), LogError> {
        match &self.poison {
            Some(cause) => Err(LogError::Poisoned(cause.clone())),
            None => Ok(()),
        }
    }

    /// Takes no more writes after a panic in one: what of it is on the disk is unknown.
    pub(super) fn poison_after_panic(&mut self, what: &str) -> LogError {
        self.poison(StorageError::new(ErrorKind::Io, "write", segment::DIR, format!("a defect: {what}")))
    }

    fn poison(&mut self, cause: StorageError) -> LogError {
        self.poison = (!PlantedFault::FailedSyncTriedAgain.is_on()).then(|| cause.clone());
        LogError::Poisoned(cause)
    }

    /// Makes what was written durable.
    pub(super) fn sync(&mut self) -> Result<(), LogError> {
        self.check()?;
        if self.durable < self.written {
            let started = Instant::now();
            PlantedFault::LogNotSynced.skips(|| self.file.sync()).map_err(|e| self.poison(e))?;
            self.figures.syncs.add(started.elapsed());
            self.durable = self.written;
        }
        Ok(())
    }

    /// Starts a new segment if the pending records do not fit into the current one.
    fn reserve_or_unwind(&mut self) -> Result<(), LogError> {
        let current = self.end();
        if current <= SEGMENT_HEADER_LEN as u64 || current + self.pending_bytes <= self.segment_bytes {
            return Ok(());
        }
        self.start_segment()
    }

    /// Ends the segment that grows, so that a cut can take it too. One that holds no record stays.
    pub fn rotate(&mut self) -> Result<(), LogError> {
        self.check()?;
        if self.end() <= SEGMENT_HEADER_LEN as u64 { Ok(()) } else { self.start_segment() }
    }

    fn start_segment(&mut self) -> Result<(), LogError> {
        // A later segment proves that everything before it was durable.
        PlantedFault::SegmentEndsUnsynced.skips(|| self.sync())?;
        self.give_back_zeros()?;
        let first = self.written.next();
        let (epoch, catalog) = (self.epoch, self.catalog);
        let plan = NewSegment { first, after_damage: false, epoch, catalog, records: &[] };
        match plan.create(&*self.storage, &mut self.entropy) {
            Ok((file, seeded)) => {
                self.segments.push_back(Segment { first, bytes: file.len() });
                self.file = file;
                self.seeded = seeded;
                self.note_disk_bytes();
                Ok(())
            }
            Err(CreateError::Absent(e)) => Err(LogError::from_storage(e)),
            // Records appended to the old segment would be ignored if the name survived after all.
            Err(CreateError::Unknown(e)) => Err(self.poison(e)),
        }
    }

    /// The offset of the next record. Only zeros, if anything, follow it in the segment.
    fn end(&self) -> u64 {
        self.segments.back().map_or(0, |segment| segment.bytes)
    }

    /// Writes zeros behind the records, so that the syncs of the next ones have no new length and no new blocks of the
    /// file to write. On a disk with little free space fewer zeros, or none, are written; records do not need them.
    fn fill_ahead(&mut self, end: u64) {
        let spare = self.storage.free_bytes().map_or(u64::MAX, |free| free / FILL_ROOM_DIVISOR);
        let step = spare.min(self.segment_bytes / FILL_STEP_DIVISOR);
        let room = self.segment_bytes.saturating_sub(end).min(step);
        if room > 0 && self.file.append(&vec![0; room as usize]).is_err() {
            // If the cut fails, only zeros are left there.
            let _ = self.file.truncate(end);
        }
    }

    /// Cuts the zeros off, so that a segment that is complete is as long as its records.
    pub(super) fn give_back_zeros(&mut self) -> Result<(), LogError> {
        self.check()?;
        let end = self.end();
        if self.file.len() > end {
            self.file.truncate(end).map_err(LogError::from_storage)?;
            self.file.sync().map_err(|e| self.poison(e))?;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> Result<(), LogError> {
        self.encoded.clear();
        let bytes = usize::try_from(self.pending_bytes).unwrap_or(usize::MAX);
        try_reserve_in(&mut self.encoded, bytes).map_err(|_| LogError::NoMemory)?;
        let mut lsn = self.written;
        for record in &self.pending {
            lsn = lsn.next();
            let header = RecordHeader {
                body_len: record.body.len() as u32,
                version: VERSION as u8,
                kind: record.kind,
                flags: if record.operation.is_some() { NAMED } else { 0 },
                epoch: self.epoch,
                body_checksum: self.seeded.checksum(&record.body),
                lsn,
                synced_through: self.durable,
                op_id: record.operation.map_or_else(|| self.entropy.op_id(), OperationId::get),
                collection: record.collection,
            };
            self.encoded.extend_from_slice(&header.encode(self.seeded));
            self.encoded.extend_from_slice(&record.body);
        }
        let before = self.end();
        let end = before + self.encoded.len() as u64;
        if let Err(error) = self.file.write_at(before, &self.encoded) {
            // Synced before the failure is reported: a record that was reported failed must never come back.
            let sync = |file: &mut dyn StorageFile| PlantedFault::RollBackNotSynced.skips(|| file.sync());
            let undo = || self.file.truncate(before).and_then(|()| sync(&mut *self.file));
            let undone = PlantedFault::AppendNotRolledBack.skips(undo);
            return match undone {
                Ok(()) => {
                    self.durable = self.written;
                    Err(LogError::from_storage(error))
                }
                Err(e) => Err(self.poison(e)),
            };
        }
        if let Some(at) = self.pending.iter().rposition(|record| record.collection == CATALOG) {
            self.catalog = self.written.next().plus(at as u64);
        }
        let is_synced_each_time = self.durable == self.written;
        self.written = lsn;
        if let Some(segment) = self.segments.back_mut() {
            segment.bytes = end;
        }
        if is_synced_each_time && self.encoded.len() <= FILLED_FOR_BYTES && self.file.len() == end {
            self.fill_ahead(end);
        }
        if self.encoded.capacity() > KEPT_BUFFER_BYTES {
            self.encoded = Vec::new();
        }
        self.note_disk_bytes();
        Ok(())
    }
}
