//! Reading one segment, damaged or not.

use super::LogError;
use super::format::{NAMED, RECORD_HEADER_LEN, RecordHeader, SEGMENT_HEADER_LEN, Seeded, VERSION};
use super::segment;
use crate::faults::PlantedFault;
use crate::types::Lsn;

/// One finding, in file order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// A record whose header is intact; the body may not be.
    Record { header: RecordHeader, body_at: usize, body_ok: bool },
    /// Bytes that are no record. LSNs `lost_from..=lost_to` should be here; `lost_to` is open (`None`) at
    /// the end of the file.
    Hole { offset: usize, lost_from: Lsn, lost_to: Option<Lsn> },
}

impl Item {
    /// The first LSN of the item.
    pub(super) fn lsn(&self) -> Lsn {
        match self {
            Self::Record { header, .. } => header.lsn,
            Self::Hole { lost_from, .. } => *lost_from,
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        matches!(self, Self::Record { body_ok: true, .. })
    }
}

/// Everything after the segment header, up to the record `end`, which the next segment starts with. Where none does,
/// zeros to the end of the file are what was written ahead of records that never came.
pub(super) fn scan(
    bytes: &[u8],
    seeded: Seeded,
    first: Lsn,
    end: Option<Lsn>,
) -> Result<Vec<Item>, LogError> {
    let mut items = Vec::new();
    let mut at = SEGMENT_HEADER_LEN.min(bytes.len());
    let mut expected = first;
    while at < bytes.len() && end.is_none_or(|end| expected < end) {
        let found = RecordHeader::decode(&bytes[at..], seeded).filter(|h| h.lsn >= expected);
        let Some(header) = found else {
            let offset = at;
            if end.is_none() && bytes[at..].iter().all(|byte| *byte == 0) {
                break;
            }
            match find_header(bytes, at + 1, seeded, expected) {
                Some((next_at, next)) => {
                    at = next_at;
                    items.push(Item::Hole {
                        offset,
                        lost_from: expected,
                        lost_to: Some(next.lsn.previous()),
                    });
                    expected = next.lsn;
                    continue;
                }
                None => {
                    items.push(Item::Hole { offset, lost_from: expected, lost_to: None });
                    break;
                }
            }
        };
        if u32::from(header.version) != VERSION || header.flags & !NAMED != 0 {
            let version = u32::from(header.version).max(VERSION + 1);
            return Err(LogError::Unsupported { file: segment::path(first), version });
        }
        if header.lsn > expected {
            let (lost_from, lost_to) = (expected, Some(header.lsn.previous()));
            items.push(Item::Hole { offset: at, lost_from, lost_to });
        }
        let body_at = at + RECORD_HEADER_LEN;
        let body = bytes.get(body_at..body_at + header.body_len as usize);
        let is_sound = |body: &[u8]| seeded.checksum(body) == header.body_checksum;
        let body_ok = body.is_some_and(|body| is_sound(body) || PlantedFault::WrongBodyAccepted.is_on());
        items.push(Item::Record { header, body_at, body_ok });
        at = body_at + header.body_len as usize;
        expected = header.lsn.next();
    }
    if let Some(end) = end {
        items.retain(|item| item.lsn() < end);
    }
    Ok(items)
}

/// The next intact header at or after `from`.
fn find_header(bytes: &[u8], from: usize, seeded: Seeded, expected: Lsn) -> Option<(usize, RecordHeader)> {
    (from..bytes.len().saturating_sub(RECORD_HEADER_LEN - 1)).find_map(|at| {
        let header = RecordHeader::decode(&bytes[at..], seeded)?;
        (header.lsn >= expected).then_some((at, header))
    })
}
