//! Bytes of the log: segment headers and record headers. `docs/formats.md` has the tables.

use crate::storage::header::{Sealed, seal, unseal};
use crate::types::Lsn;

/// First bytes of every segment.
const MAGIC: [u8; 8] = *b"KITHLOG\0";
/// Format of segments and records that this code writes and reads.
pub(super) const VERSION: u32 = 1;
/// Bytes before the first record of a segment.
pub(super) const SEGMENT_HEADER_LEN: usize = 52;
/// Bytes before the body of a record.
pub(super) const RECORD_HEADER_LEN: usize = 60;
/// The longest body of a record: 1 GiB.
pub const MAX_BODY_BYTES: usize = 1 << 30;
/// The collection whose records say which collections there are. Segments name the last of them, so that the loss of
/// one is noticed even if other records are lost with it.
pub const CATALOG: u64 = 0;

/// Whether a number can be an LSN: they start at 1, and half of the range is far more than will ever be used, so that
/// arithmetic on numbers read from disk cannot overflow.
pub(super) fn is_lsn(number: u64) -> bool {
    (1..=u64::MAX / 2).contains(&number)
}

/// Record flag: the identity of the operation came with the call, so that the call may be repeated.
pub(super) const NAMED: u8 = 2;

/// Segment flag: damage before this segment was reported when it was started, and dealt with.
const AFTER_DAMAGE: u32 = 1;

/// CRC32C that starts from a segment's seed, so that bytes of another segment do not pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeded(u32);

impl Seeded {
    fn new(seed: u64) -> Self {
        Self(crc32c::crc32c(&seed.to_le_bytes()))
    }

    /// What continues the checksum behind these bytes.
    pub(super) fn followed_by(self, bytes: &[u8]) -> Self {
        Self(crc32c::crc32c_append(self.0, bytes))
    }

    pub(super) fn checksum(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, bytes)
    }
}

/// Start of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) after_damage: bool,
    pub(super) epoch: u32,
    pub(super) seed: u64,
    /// LSN of its first record; also its name.
    pub(super) first: Lsn,
    /// The last LSN that was durable when the segment got its name.
    pub(super) synced_through: Lsn,
    /// The last record of [`CATALOG`] before the first of this segment; 0 where that is unknown.
    pub(super) catalog: Lsn,
}

/// Why a segment header could not be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderFault {
    /// Too short, wrong magic or wrong checksum.
    Damaged,
    /// Intact, and of a later format.
    Unsupported(u32),
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> Vec<u8> {
        // A record that is 2^32 records back was written to the catalog's own file long ago.
        let (first, catalog) = (self.first.get(), self.catalog.get());
        let catalog = (1..first).contains(&catalog).then(|| first - catalog);
        let catalog = catalog.and_then(|distance| u32::try_from(distance).ok()).unwrap_or(0);
        let flags = if self.after_damage { AFTER_DAMAGE } else { 0 };
        let mut fields = Vec::with_capacity(SEGMENT_HEADER_LEN);
        for number in [flags, self.epoch, catalog] {
            fields.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.seed, first, self.synced_through.get()] {
            fields.extend_from_slice(&number.to_le_bytes());
        }
        seal(&MAGIC, VERSION, &fields)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, HeaderFault> {
        let header = bytes.get(..SEGMENT_HEADER_LEN).ok_or(HeaderFault::Damaged)?;
        let Sealed { version, .. } = unseal(header, &MAGIC).ok_or(HeaderFault::Damaged)?;
        let fields = Self::fields(header);
        if !is_lsn(fields.first.get()) || !is_lsn(fields.synced_through.get().max(1)) {
            return Err(HeaderFault::Damaged);
        }
        match (version, u32_at(header, 12)) {
            (VERSION, flags) if flags & !AFTER_DAMAGE == 0 => Ok(fields),
            (VERSION, _) => Err(HeaderFault::Unsupported(VERSION + 1)),
            (version, _) => Err(HeaderFault::Unsupported(version)),
        }
    }

    /// The fields without a check, for a header whose checksum is wrong: with the seed its records may still be read.
    pub(super) fn salvage(bytes: &[u8]) -> Option<Self> {
        bytes.get(..SEGMENT_HEADER_LEN).map(Self::fields)
    }

    fn fields(header: &[u8]) -> Self {
        let (first, distance) = (u64_at(header, 32), u64::from(u32_at(header, 20)));
        Self {
            after_damage: u32_at(header, 12) & AFTER_DAMAGE != 0,
            epoch: u32_at(header, 16),
            seed: u64_at(header, 24),
            first: Lsn::new(first),
            synced_through: Lsn::new(u64_at(header, 40)),
            catalog: Lsn::new(if distance == 0 { 0 } else { first.saturating_sub(distance) }),
        }
    }

    pub(super) fn seeded(&self) -> Seeded {
        Seeded::new(self.seed)
    }
}

/// Start of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) body_len: u32,
    pub(super) version: u8,
    pub(super) kind: u8,
    /// [`NAMED`]. Bit 0 is reserved for a frame that is continued by the next record; none is written yet.
    pub(super) flags: u8,
    pub(super) epoch: u32,
    pub(super) body_checksum: u32,
    pub(super) lsn: Lsn,
    /// The last LSN that was durable when this record was written.
    pub(super) synced_through: Lsn,
    pub(super) op_id: u128,
    pub(super) collection: u64,
}

impl RecordHeader {
    pub(super) fn encode(&self, seeded: Seeded) -> [u8; RECORD_HEADER_LEN] {
        let mut out = [0; RECORD_HEADER_LEN];
        out[..4].copy_from_slice(&self.body_len.to_le_bytes());
        out[4] = self.version;
        out[5] = self.kind;
        out[6] = self.flags;
        out[8..12].copy_from_slice(&self.epoch.to_le_bytes());
        out[12..16].copy_from_slice(&self.body_checksum.to_le_bytes());
        out[16..24].copy_from_slice(&self.lsn.get().to_le_bytes());
        out[24..32].copy_from_slice(&self.synced_through.get().to_le_bytes());
        out[32..48].copy_from_slice(&self.op_id.to_le_bytes());
        out[48..56].copy_from_slice(&self.collection.to_le_bytes());
        let checksum = seeded.checksum(&out[..56]);
        out[56..].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// The header at the start of `bytes`, if its checksum is right.
    pub(super) fn decode(bytes: &[u8], seeded: Seeded) -> Option<Self> {
        let header = bytes.get(..RECORD_HEADER_LEN)?;
        // The cheap tests first: the search for a header behind damage calls this for every byte of a file.
        if header[7] != 0 || u32_at(header, 0) as usize > MAX_BODY_BYTES {
            return None;
        }
        let parsed = Self {
            body_len: u32_at(header, 0),
            version: header[4],
            kind: header[5],
            flags: header[6],
            epoch: u32_at(header, 8),
            body_checksum: u32_at(header, 12),
            lsn: Lsn::new(u64_at(header, 16)),
            synced_through: Lsn::new(u64_at(header, 24)),
            op_id: u128::from(u64_at(header, 32)) | u128::from(u64_at(header, 40)) << 64,
            collection: u64_at(header, 48),
        };
        let plausible = is_lsn(parsed.lsn.get()) && parsed.synced_through < parsed.lsn;
        (plausible && seeded.checksum(&header[..56]) == u32_at(header, 56)).then_some(parsed)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
