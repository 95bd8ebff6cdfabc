//! Corrects the checksums of a fuzzer's bytes, so that they get past the first test.

use super::format::{RECORD_HEADER_LEN, RecordHeader, SEGMENT_HEADER_LEN, SegmentHeader, is_lsn};
use super::segment;
use crate::types::Lsn;

/// Makes the checksums of a segment right: of its header, and of its records as their lengths say where they are.
pub(crate) fn seal_segment(bytes: &mut [u8]) {
    let Some(header) = SegmentHeader::salvage(bytes) else { return };
    let checksum = crc32c::crc32c(&bytes[..48]);
    bytes[48..52].copy_from_slice(&checksum.to_le_bytes());
    let seeded = header.seeded();
    let mut at = SEGMENT_HEADER_LEN;
    while let Some(record) = bytes.get_mut(at..).filter(|rest| rest.len() >= RECORD_HEADER_LEN) {
        let (header, rest) = record.split_at_mut(RECORD_HEADER_LEN);
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let body = &rest[..length.min(rest.len())];
        header[12..16].copy_from_slice(&seeded.checksum(body).to_le_bytes());
        let checksum = seeded.checksum(&header[..56]);
        header[56..].copy_from_slice(&checksum.to_le_bytes());
        // What still is no header ends the chain, as it does for a reader.
        if RecordHeader::decode(header, seeded).is_none() {
            return;
        }
        at += RECORD_HEADER_LEN + length;
    }
}

/// Makes the checksum of a cut mark right.
pub(crate) fn seal_mark(bytes: &mut [u8]) {
    if let Some((content, checksum)) = bytes.split_last_chunk_mut() {
        *checksum = crc32c::crc32c(content).to_le_bytes();
    }
}

/// The path of a segment, as its header says; of the first one where that cannot be.
pub(crate) fn path_of(bytes: &[u8]) -> String {
    let first = SegmentHeader::salvage(bytes).map_or(Lsn::FIRST, |header| header.first);
    segment::path(if is_lsn(first.get()) { first } else { Lsn::FIRST })
}
