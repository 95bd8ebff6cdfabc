//! Continuing an opened log: its old tail is made durable, and a segment takes the next records.

use std::collections::VecDeque;

use crate::faults::PlantedFault;
use crate::storage::{ErrorKind, Storage, StorageFile};
use crate::types::Lsn;

use super::LogError;
use super::entropy::Entropy;
use super::format::{RecordHeader, Seeded, SegmentHeader};
use super::recovery::{Last, Recovered, TailRecord};
use super::segment::{self, CreateError, Segment};

/// A segment to be made, with the records it starts with.
pub(super) struct NewSegment<'a> {
    pub(super) first: Lsn,
    pub(super) after_damage: bool,
    pub(super) epoch: u32,
    /// The last record of the catalog; 0 where that is unknown.
    pub(super) catalog: Lsn,
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
            synced_through: self.records.last().map_or(self.first.previous(), |record| record.header.lsn),
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

/// Makes the old tail durable and returns the segment that takes the record `next`.
pub(super) fn continue_after(
    storage: &dyn Storage,
    found: &Recovered,
    next: Lsn,
    epoch: u32,
    entropy: &mut Entropy,
    segments: &mut VecDeque<Segment>,
) -> Result<(Box<dyn StorageFile>, Seeded), LogError> {
    // LSNs are skipped only when log files were lost; the mark keeps that gap from hiding what follows it.
    let mark = found.is_behind_damage || next > found.next;
    let is_trusted = found.tail.is_empty() || PlantedFault::LastGroupTrusted.is_on();
    let durable = is_trusted && found.report.torn_bytes == 0;
    let sound = found.last.filter(|_| !mark);
    if let (Some(last), true) = (sound, durable) {
        return go_on(storage, last, &[], segments);
    }
    let mut create = |first, after_damage, records: &[TailRecord]| {
        // A segment of the same name held nothing but what the new one starts with; it keeps its mark.
        let replaced = segments.back().is_some_and(|last| last.first == first);
        let after_damage =
            after_damage || (replaced && found.last.is_some_and(|last| last.header.after_damage));
        let made = NewSegment { first, after_damage, epoch, catalog: found.catalog, records }
            .create(storage, entropy);
        let (file, seeded) = made?;
        if replaced {
            segments.pop_back();
        }
        segments.push_back(Segment { first, bytes: file.len() });
        Ok((file, seeded))
    };
    let made = match found.tail.first() {
        None => create(next, mark, &[]),
        Some(first) => create(first.header.lsn, false, &found.tail)
            .and_then(|copied| if mark { create(next, true, &[]) } else { Ok(copied) }),
    };
    match (made, sound) {
        // A disk that is full must not keep a server from starting.
        (Err(CreateError::Absent(error)), Some(last)) if error.kind() == ErrorKind::Full => {
            go_on(storage, last, &found.tail, segments)
        }
        (made, _) => made.map_err(|error| match error {
            CreateError::Absent(error) | CreateError::Unknown(error) => LogError::from_storage(error),
        }),
    }
}

/// Continues in the last segment. Its tail is overwritten with the same bytes. So bytes that a failed sync before a
/// restart left only in the cache become durable, and a power cut meanwhile changes nothing. This needs no space.
fn go_on(
    storage: &dyn Storage,
    last: Last,
    tail: &[TailRecord],
    segments: &mut VecDeque<Segment>,
) -> Result<(Box<dyn StorageFile>, Seeded), LogError> {
    let seeded = last.header.seeded();
    let bytes: Vec<u8> = tail
        .iter()
        .flat_map(|TailRecord { header, body }| [&header.encode(seeded)[..], body].concat())
        .collect();
    let write = || {
        let mut file = storage.open_append(&segment::path(last.header.first))?;
        // What was cut, and zeros that were written ahead of records that never came.
        if file.len() > last.end {
            file.truncate(last.end)?;
        }
        if !bytes.is_empty() {
            file.write_at(last.end - bytes.len() as u64, &bytes)?;
        }
        // A truncation whose sync failed before a restart must not be undone by a later power cut: the old bytes would
        // be in the place of new records.
        PlantedFault::TruncationTrusted.skips(|| file.sync())?;
        Ok(file)
    };
    let file = write().map_err(LogError::from_storage)?;
    segments.pop_back();
    segments.push_back(Segment { first: last.header.first, bytes: file.len() });
    Ok((file, seeded))
}
