//! How an opened log goes on: its old tail is made durable, and a segment takes the next records.

use std::collections::VecDeque;

use crate::storage::{Storage, StorageFile};

use super::LogError;
use super::entropy::Entropy;
use super::format::{RecordHeader, Seeded, SegmentHeader};
use super::recovery::{Recovered, TailRecord};
use super::segment::{self, CreateError, Segment};

/// A segment to be made, with the records it starts with.
pub(super) struct NewSegment<'a> {
    pub(super) first: u64,
    pub(super) after_damage: bool,
    pub(super) epoch: u32,
    /// The last record of the catalog; 0 where that is unknown.
    pub(super) catalog: u64,
    pub(super) records: &'a [TailRecord],
}

impl NewSegment<'_> {
    pub(super) fn create(
        &self,
        storage: &dyn Storage,
        entropy: &mut Entropy,
    ) -> Result<(Box<dyn StorageFile>, Seeded), CreateError> {
        let header = SegmentHeader {
            after_damage: self.after_damage,
            epoch: self.epoch,
            seed: entropy.next(),
            first: self.first,
            synced_through: self.records.last().map_or(self.first - 1, |record| record.header.sequence),
            catalog: self.catalog,
        };
        let seeded = header.seeded();
        let mut content = header.encode();
        for TailRecord { header, body } in self.records {
            let header = RecordHeader { body_checksum: seeded.checksum(body), ..*header };
            content.extend_from_slice(&header.encode(seeded));
            content.extend_from_slice(body);
        }
        Ok((segment::create(storage, self.first, &content)?, seeded))
    }
}

/// Makes the old tail durable and answers the segment that takes the record `next`.
pub(super) fn continue_after(
    storage: &dyn Storage,
    found: &Recovered,
    next: u64,
    epoch: u32,
    entropy: &mut Entropy,
    segments: &mut VecDeque<Segment>,
) -> Result<(Box<dyn StorageFile>, Seeded), LogError> {
    // Sequences are skipped only when log files were lost; the mark keeps that gap from hiding what follows it.
    let mark = found.in_shadow || next > found.next;
    if found.last_is_usable
        && !mark
        && let Some(last) = segments.back()
    {
        let path = segment::path(last.first);
        let reopen = || {
            let mut file = storage.open_append(&path)?;
            // Zeros that were written ahead of records that never came.
            if file.len() > last.bytes {
                file.truncate(last.bytes)?;
            }
            // A truncation whose sync failed before a restart must not be undone by a later power cut: the bytes it
            // took away would stand where new records are expected.
            file.sync()?;
            Ok((file, storage.read(&path)?))
        };
        let (file, bytes) = reopen().map_err(LogError::from_storage)?;
        if let Ok(header) = SegmentHeader::decode(&bytes) {
            return Ok((file, header.seeded()));
        }
    }
    let mut create = |first, after_damage, records: &[TailRecord]| {
        // A segment of the same name held nothing but what the new one starts with; it keeps its mark.
        let replaced = segments.back().filter(|last| last.first == first).copied();
        let after_damage = after_damage || (replaced.is_some() && found.last_is_marked);
        let made = NewSegment { first, after_damage, epoch, catalog: found.catalog, records }
            .create(storage, entropy);
        let (file, seeded) = made.map_err(|error| match error {
            CreateError::Absent(e) | CreateError::Unknown(e) => LogError::from_storage(e),
        })?;
        if replaced.is_some() {
            segments.pop_back();
        }
        segments.push_back(Segment { first, bytes: file.len() });
        Ok((file, seeded))
    };
    match found.tail.first() {
        None => create(next, mark, &[]),
        Some(first) => {
            let copied = create(first.header.sequence, false, &found.tail)?;
            if mark { create(next, true, &[]) } else { Ok(copied) }
        }
    }
}
