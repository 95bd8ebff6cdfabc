//! Verifies the checksums of closed segments without replaying them.

use super::format::{
    HeaderFault, RECORD_HEADER_LEN, RecordHeader, SEGMENT_HEADER_LEN, Seeded, SegmentHeader,
};
use super::segment;
use crate::storage::{ErrorKind, Storage, StorageError};
use crate::types::Lsn;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;

/// A segment that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFault {
    /// Path in the data directory.
    pub path: String,
    /// The last LSN in it.
    pub last: Lsn,
    /// What is wrong with it: words without a path.
    pub what: String,
}

/// What [`verify_closed`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogInspection {
    /// What is wrong, oldest first.
    pub faults: Vec<SegmentFault>,
    /// Bytes that were compared with a checksum.
    pub bytes: u64,
}

/// Why a segment cannot be relied on.
enum Unsound {
    Damaged(String),
    Unreadable(StorageError),
    Stopped,
}

/// Checks the segments that are followed by another: they are not written any more. Segments before one that was begun
/// after damage are left out, since that damage is known. `pace` is called for every piece that was read, with its
/// bytes, and stops the check by returning false.
pub fn verify_closed(
    storage: &dyn Storage,
    paths: &[String],
    pace: &mut dyn FnMut(u64) -> bool,
) -> LogInspection {
    let firsts: Vec<Lsn> = paths.iter().filter_map(|path| segment::first_of(path)).collect();
    let mut found = LogInspection::default();
    let mut from = 0;
    for (at, &first) in firsts.iter().enumerate() {
        let header = storage.read_range(&segment::path(first), 0, SEGMENT_HEADER_LEN);
        if header.is_ok_and(|bytes| SegmentHeader::decode(&bytes).is_ok_and(|header| header.after_damage)) {
            from = at;
        }
    }
    for pair in firsts[from..].windows(2) {
        let (path, last) = (segment::path(pair[0]), pair[1].previous());
        let mut reading = Reading { storage, path: &path, at: 0, bytes: Vec::new(), used: 0, pace };
        let what = match reading.segment(pair[0], last) {
            Ok(()) => {
                found.bytes += reading.at;
                continue;
            }
            Err(Unsound::Stopped) => return found,
            Err(Unsound::Damaged(what)) => what,
            Err(Unsound::Unreadable(error)) if error.kind() == ErrorKind::NotFound => {
                "the file is missing".to_string()
            }
            Err(Unsound::Unreadable(error)) => error.public(),
        };
        found.faults.push(SegmentFault { path, last, what });
    }
    found
}

/// A segment that is read from its beginning on.
struct Reading<'a> {
    storage: &'a dyn Storage,
    path: &'a str,
    /// Bytes of the file that were read.
    at: u64,
    /// The piece read last, and how much of it was used.
    bytes: Vec<u8>,
    used: usize,
    pace: &'a mut dyn FnMut(u64) -> bool,
}

impl Reading<'_> {
    /// Reads the records `first` to `last` and compares everything with its checksum.
    fn segment(&mut self, first: Lsn, last: Lsn) -> Result<(), Unsound> {
        let damaged = |what: String| Err(Unsound::Damaged(what));
        let seeded = match SegmentHeader::decode(&self.take(SEGMENT_HEADER_LEN)?) {
            Ok(header) if header.first == first => header.seeded(),
            Ok(_) | Err(HeaderFault::Damaged) => {
                return damaged("the header of the segment is damaged".to_string());
            }
            Err(HeaderFault::Unsupported(version)) => {
                return damaged(format!("the header of the segment has format version {version}"));
            }
        };
        for lsn in (first.get()..=last.get()).map(Lsn::new) {
            let bytes = self.take(RECORD_HEADER_LEN)?;
            let header = RecordHeader::decode(&bytes, seeded).filter(|header| header.lsn == lsn);
            let Some(header) = header else {
                return damaged(format!("the header of record {lsn} is damaged or missing"));
            };
            if self.checksum(seeded, header.body_len as usize)? != Some(header.body_checksum) {
                return damaged(format!("the body of record {lsn} does not have its checksum"));
            }
        }
        Ok(())
    }

    /// The checksum of the next bytes; `None` where the file ends before them.
    fn checksum(&mut self, seeded: Seeded, mut bytes: usize) -> Result<Option<u32>, Unsound> {
        let mut sum = seeded;
        while bytes > 0 {
            let piece = self.take(bytes.min(PIECE_BYTES))?;
            if piece.is_empty() {
                return Ok(None);
            }
            bytes -= piece.len();
            sum = sum.followed_by(&piece);
        }
        Ok(Some(sum.checksum(&[])))
    }

    /// The next bytes; fewer where the file ends before.
    fn take(&mut self, want: usize) -> Result<Vec<u8>, Unsound> {
        let mut taken = Vec::with_capacity(want);
        while taken.len() < want {
            if self.used == self.bytes.len() {
                let piece = self.storage.read_range(self.path, self.at, PIECE_BYTES);
                self.bytes = piece.map_err(Unsound::Unreadable)?;
                self.at += self.bytes.len() as u64;
                self.used = 0;
                if self.bytes.is_empty() {
                    break;
                }
                if !(self.pace)(self.bytes.len() as u64) {
                    return Err(Unsound::Stopped);
                }
            }
            let end = self.bytes.len().min(self.used + want - taken.len());
            taken.extend_from_slice(&self.bytes[self.used..end]);
            self.used = end;
        }
        Ok(taken)
    }
}
