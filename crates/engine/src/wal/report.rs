//! What opening a log reports to its owner.

use std::collections::BTreeMap;
use std::fmt;

use crate::storage::OTHER_IS_SOUND;
use crate::types::{Lsn, OperationId};

use super::cut_mark::{self, MarkFault};
use super::segment;

/// One finding of the replay, in LSN order.
#[derive(Debug)]
pub enum Replayed<'a> {
    /// An intact record.
    Record {
        /// Its position in the order of all records of the server.
        lsn: Lsn,
        /// Epoch of the server that wrote it.
        epoch: u32,
        /// Identity of the operation, where it came with the call.
        operation: Option<OperationId>,
        /// The collection it belongs to.
        collection: u64,
        /// What the body is; the owner's own numbering.
        kind: u8,
        /// The bytes that were appended.
        body: &'a [u8],
    },
    /// A record whose header is intact and whose body is not: its collection cannot be replayed further.
    BadBody {
        /// LSN of the record.
        lsn: Lsn,
        /// The collection it belongs to.
        collection: u64,
        /// What the body was.
        kind: u8,
    },
}

/// What a piece of damage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// Bytes that should hold record headers do not.
    RecordHeader,
    /// The header of a segment is damaged; its records may still have been readable.
    SegmentHeader,
    /// Segments are missing between two others, or before the first although no cut took them.
    Gap,
    /// There is no segment at all, although there were records behind those that were cut.
    Missing,
    /// Neither the note of how far the log was cut nor its copy can be read: what is missing before the first segment
    /// was cut, or is lost.
    CutMark,
}

/// Synced bytes that can no longer be read. (Damaged bodies are [`Replayed::BadBody`].)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What was found.
    pub kind: DamageKind,
    /// First LSN of the segment it was found in (of the one after it, for a gap).
    pub segment: Lsn,
    /// Where in the segment's file, in bytes.
    pub offset: u64,
    /// The first LSN that cannot be read.
    pub lost_from: Lsn,
    /// The last one; less than `lost_from` if nothing was lost, `None` if unknown.
    pub lost_to: Option<Lsn>,
}

impl Damage {
    /// The file that it is about, as a path in the data directory: for a gap the one behind it.
    pub fn file(&self) -> String {
        match self.kind {
            DamageKind::CutMark => cut_mark::PATH.to_string(),
            DamageKind::Missing => segment::DIR.to_string(),
            _ => segment::path(self.segment),
        }
    }

    /// Whether LSNs above `from` are lost.
    pub fn loses_above(&self, from: Lsn) -> bool {
        self.lost_to.is_none_or(|to| to >= self.lost_from && to > from)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { lost_from, .. } = self;
        let records = match self.lost_to {
            Some(to) if to < *lost_from => "no record is lost".to_string(),
            Some(to) if to == *lost_from => format!("record {to} cannot be read"),
            Some(to) => format!("records {lost_from} to {to} cannot be read"),
            None => format!("records from {lost_from} on cannot be read"),
        };
        match self.kind {
            DamageKind::RecordHeader => {
                write!(f, "the bytes from {} on are no record: {records}", self.offset)
            }
            // Whether the next segment can be read is reported for that segment.
            DamageKind::SegmentHeader if self.lost_to.is_some_and(|to| to < *lost_from) => {
                f.write_str("the header of the segment is damaged, or another segment's")
            }
            DamageKind::SegmentHeader => write!(f, "the header of the segment is damaged: {records}"),
            DamageKind::Gap => write!(f, "the segments before this one are missing: {records}"),
            DamageKind::Missing => write!(f, "there is no segment of the log: {records}"),
            DamageKind::CutMark => {
                f.write_str("the mark of how far the log was cut, and its copy, cannot be read: ")?;
                match self.lost_to {
                    Some(to) if to >= *lost_from => {
                        write!(f, "whether records up to {to} were cut or are lost nobody can tell")
                    }
                    _ => f.write_str("no record is lost"),
                }
            }
        }
    }
}

/// The result of opening a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Bytes at the end that a crash left behind and that were never acknowledged; they are no longer part of the log.
    pub torn_bytes: u64,
    /// Whole records among [`torn_bytes`](Self::torn_bytes): written out of order by the dying disk, and useless.
    pub torn_records: u64,
    /// Damage to synced bytes, in order. It is reported at every opening until the log is cut behind it.
    pub damages: Vec<Damage>,
    /// The first damage that loses a record above `from`.
    pub bad_header: Option<Damage>,
    /// The collections with records behind [`bad_header`](Self::bad_header), each with its highest LSN there. The
    /// records were not visited: a collection that has not applied that LSN must be quarantined. Which
    /// collections the lost records themselves belonged to is unknown. Records appended after the damage was first
    /// reported are visited as usual and not listed, so the other collections go on through every restart.
    pub behind: BTreeMap<u64, Lsn>,
    /// A file of the cut mark that cannot be used. Where the other can, nothing is lost.
    pub mark_fault: Option<MarkFault>,
    /// The last record of the catalog that a segment names and that was not met: it was cut, and then the catalog's own
    /// file has it; or it is lost.
    pub catalog_before: Option<Lsn>,
    /// Records visited, damaged bodies included.
    pub visited: u64,
}

impl LogReport {
    /// File, relative to the data directory, and words for each piece of damage, `limit` of them at most.
    pub fn sentences(&self, limit: usize) -> Vec<(String, String)> {
        let mark = self
            .mark_fault
            .iter()
            .filter(|fault| fault.has_other)
            .map(|fault| (fault.path.to_string(), format!("{}; {OTHER_IS_SOUND}", fault.what)));
        let damages = self.damages.iter().map(|damage| (damage.file(), damage.to_string()));
        mark.chain(damages).take(limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damage_says_which_records_cannot_be_read() {
        let says = |kind, lost_to: Option<u64>| {
            let lost_to = lost_to.map(Lsn::new);
            Damage { kind, segment: Lsn::new(1), offset: 96, lost_from: Lsn::new(7), lost_to }.to_string()
        };
        let after_bytes = |lost_to| says(DamageKind::RecordHeader, lost_to);
        let bytes = "the bytes from 96 on are no record";
        assert_eq!(after_bytes(Some(6)), format!("{bytes}: no record is lost"));
        assert_eq!(after_bytes(Some(7)), format!("{bytes}: record 7 cannot be read"));
        assert_eq!(after_bytes(Some(8)), format!("{bytes}: records 7 to 8 cannot be read"));
        assert_eq!(after_bytes(None), format!("{bytes}: records from 7 on cannot be read"));

        let header = "the header of the segment is damaged";
        let of_segment = |lost_to| says(DamageKind::SegmentHeader, lost_to);
        assert_eq!(of_segment(Some(6)), format!("{header}, or another segment's"));
        assert_eq!(of_segment(Some(7)), format!("{header}: record 7 cannot be read"));
        assert_eq!(of_segment(None), format!("{header}: records from 7 on cannot be read"));

        let mark = "the mark of how far the log was cut, and its copy, cannot be read";
        let of_mark = |lost_to| says(DamageKind::CutMark, lost_to);
        assert_eq!(of_mark(Some(6)), format!("{mark}: no record is lost"));
        let unknown = "whether records up to 7 were cut or are lost nobody can tell";
        assert_eq!(of_mark(Some(7)), format!("{mark}: {unknown}"));
    }
}
