//! Recovery: reads the records from the files of a log, and finds the segment for the next records.

use crate::storage::Storage;
use crate::types::{Lsn, OperationId};

use super::LogError;
use super::cut_mark::{self, CutMark};
use super::format::{
    CATALOG, HeaderFault, NAMED, RECORD_HEADER_LEN, RecordHeader, SEGMENT_HEADER_LEN, SegmentHeader,
};
use super::report::{Damage, DamageKind, LogReport, Replayed};
use super::scan::{Item, scan};
use super::segment::{self, Segment};

/// A record of the old tail that must be written again.
pub(super) struct TailRecord {
    pub(super) header: RecordHeader,
    pub(super) body: Vec<u8>,
}

/// The last segment, where everything in it that is not cut is sound.
#[derive(Clone, Copy)]
pub(super) struct Last {
    pub(super) header: SegmentHeader,
    /// Bytes up to the end of the last record that is not cut.
    pub(super) end: u64,
}

/// What the files of the log contain.
pub(super) struct Recovered {
    pub(super) report: LogReport,
    pub(super) segments: Vec<Segment>,
    /// Whole records at the end that nothing proves durable, in order.
    pub(super) tail: Vec<TailRecord>,
    /// The first LSN that no record has.
    pub(super) next: Lsn,
    /// Records up to this one are not shown, so no new one may be among them.
    pub(super) covered: Lsn,
    /// The last segment, where it is sound up to the end of the tail.
    pub(super) last: Option<Last>,
    /// Damage was found that no later segment's mark has acknowledged.
    pub(super) is_behind_damage: bool,
    /// How far the log was cut, according to the mark.
    pub(super) mark: CutMark,
    /// The last record of the catalog that the log has, or had; 0 where nothing says so.
    pub(super) catalog: Lsn,
}

/// One segment as it is on disk.
struct Loaded {
    first: Lsn,
    bytes: Vec<u8>,
    header: Option<SegmentHeader>,
    header_sound: bool,
    items: Vec<Item>,
}

impl Loaded {
    fn read(storage: &dyn Storage, first: Lsn, end: Option<Lsn>) -> Result<Self, LogError> {
        let bytes = storage.read(&segment::path(first)).map_err(LogError::from_storage)?;
        let (header, header_sound) = match SegmentHeader::decode(&bytes) {
            Ok(header) if header.first == first => (Some(header), true),
            // Another segment has taken the place of this one.
            Ok(_) => (None, false),
            Err(HeaderFault::Damaged) => (SegmentHeader::salvage(&bytes), false),
            Err(HeaderFault::Unsupported(version)) => {
                return Err(LogError::Unsupported { file: segment::path(first), version });
            }
        };
        let items = match &header {
            Some(header) => scan(&bytes, header.seeded(), first, end)?,
            None => Vec::new(),
        };
        Ok(Self { first, bytes, header, header_sound, items })
    }

    /// Bytes up to the end of the last record; what follows are zeros.
    fn content_len(&self) -> u64 {
        let end = match self.items.last() {
            Some(Item::Record { header, body_at, .. }) => body_at + header.body_len as usize,
            Some(Item::Hole { .. }) => self.bytes.len(),
            None => SEGMENT_HEADER_LEN,
        };
        end.min(self.bytes.len()) as u64
    }

    /// The last LSN that this segment, as the last one, proves durable.
    fn synced_through(&self) -> Lsn {
        let at_birth = match &self.header {
            Some(header) if self.header_sound => header.synced_through.max(self.first.previous()),
            _ => self.first.previous(),
        };
        let by_records = self.items.iter().filter_map(|item| match item {
            Item::Record { header, .. } => Some(header.synced_through),
            Item::Hole { .. } => None,
        });
        by_records.fold(at_birth, Lsn::max)
    }

    /// Drops what was never acknowledged, and counts it.
    fn cut_tail(&mut self, synced_through: Lsn, report: &mut LogReport) {
        // A named segment has a synced header. One that is damaged says nothing about what followed it.
        let beyond_doubt = usize::from(
            !self.header_sound
                && matches!(self.items.first(), Some(Item::Hole { offset: SEGMENT_HEADER_LEN, .. })),
        );
        let torn = (beyond_doubt..self.items.len())
            .find(|&i| !self.items[i].is_sound() && self.items[i].lsn() > synced_through);
        if let Some(at) = torn {
            let offset = match self.items[at] {
                Item::Hole { offset, .. } => offset,
                Item::Record { body_at, .. } => body_at - RECORD_HEADER_LEN,
            };
            report.torn_bytes = (self.bytes.len() - offset) as u64;
            report.torn_records = self.items[at..].iter().filter(|item| item.is_sound()).count() as u64;
            self.items.truncate(at);
        }
    }

    fn tail(&self, synced_through: Lsn) -> Vec<TailRecord> {
        let mut tail = Vec::new();
        for item in &self.items {
            if let Item::Record { header, body_at, body_ok: true } = *item
                && header.lsn > synced_through
            {
                tail.push(TailRecord { header, body: self.body(&header, body_at).to_vec() });
            }
        }
        tail
    }

    fn body(&self, header: &RecordHeader, body_at: usize) -> &[u8] {
        &self.bytes[body_at..body_at + header.body_len as usize]
    }
}

/// What becomes of records behind damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BehindDamage {
    /// They are listed, because it is unknown whether they can be applied.
    Listed,
    /// They are listed and visited, for a repair.
    Shown,
}

/// The owner's view of the replay.
struct Replay<'a> {
    from: Lsn,
    visit: &'a mut dyn FnMut(Replayed<'_>),
    report: LogReport,
    is_behind_damage: bool,
    behind_damage: BehindDamage,
    /// The last record of the catalog that was met.
    catalog: Lsn,
}

impl Replay<'_> {
    fn damage(&mut self, damage: Damage) {
        if damage.loses_above(self.from) {
            self.is_behind_damage = true;
            self.report.bad_header.get_or_insert_with(|| damage.clone());
        }
        self.report.damages.push(damage);
    }

    fn record(&mut self, header: &RecordHeader, body: Option<&[u8]>) {
        let &RecordHeader { lsn, epoch, op_id, flags, collection, kind, .. } = header;
        let operation = (flags & NAMED != 0).then(|| OperationId::new(op_id));
        if collection == CATALOG {
            self.catalog = lsn;
        }
        if lsn <= self.from {
            return;
        }
        if self.is_behind_damage {
            let highest = self.report.behind.entry(collection).or_default();
            *highest = lsn.max(*highest);
            if self.behind_damage == BehindDamage::Listed {
                return;
            }
        }
        self.report.visited += 1;
        (self.visit)(match body {
            Some(body) => Replayed::Record { lsn, epoch, operation, collection, kind, body },
            None => Replayed::BadBody { lsn, collection, kind },
        });
    }

    /// Visits a segment; returns the LSN after its last.
    fn segment(&mut self, loaded: &Loaded, end: Option<Lsn>) -> Lsn {
        let named = loaded.header.filter(|_| loaded.header_sound).map_or(Lsn::NONE, |header| header.catalog);
        if named > self.catalog {
            // It was cut, or it is lost: the catalog's own file decides which.
            self.report.catalog_before = Some(named);
            self.catalog = named;
        }
        let mut next = loaded.first;
        for item in &loaded.items {
            match *item {
                Item::Record { header, body_at, body_ok } => {
                    self.record(&header, body_ok.then(|| loaded.body(&header, body_at)));
                    next = header.lsn.next();
                }
                Item::Hole { offset, lost_from, lost_to } => {
                    let lost_to = lost_to.or_else(|| end.map(Lsn::previous));
                    self.damage(Damage {
                        kind: DamageKind::RecordHeader,
                        segment: loaded.first,
                        offset: offset as u64,
                        lost_from,
                        lost_to,
                    });
                    // Where the end is unknown: no more records than headers fit, so that no LSN is given twice.
                    let at_most = ((loaded.bytes.len() - offset) / RECORD_HEADER_LEN) as u64;
                    next = lost_to.unwrap_or(lost_from.plus(at_most)).next();
                }
            }
        }
        next
    }
}

/// Reads the log and shows every intact record above `from` that was not cut to `visit`. Changes nothing on disk.
/// `applied` is the highest LSN that any checkpoint has applied: the log had it once.
pub(super) fn recover(
    storage: &dyn Storage,
    from: Lsn,
    applied: Lsn,
    behind_damage: BehindDamage,
    visit: &mut dyn FnMut(Replayed<'_>),
) -> Result<Recovered, LogError> {
    let firsts = segment::list(storage).map_err(LogError::from_storage)?;
    let mark = cut_mark::load(storage)?;
    let oldest = firsts.first().copied().unwrap_or(Lsn::FIRST);
    let from = from.max(mark.below.unwrap_or(oldest).previous());
    let report = LogReport { mark_fault: mark.fault.clone(), ..LogReport::default() };
    let replay = Replay { from, visit, report, is_behind_damage: false, behind_damage, catalog: Lsn::NONE };
    let (segments, next, last) = (Vec::new(), from.next(), None);
    let mut recovery = Recovery { storage, applied, replay, segments, next, last };
    recovery.start(&mark, oldest, firsts.is_empty());
    for (i, &first) in firsts.iter().enumerate() {
        recovery.segment(first, firsts.get(i + 1).copied())?;
    }
    let Recovery { replay, segments, next, last, .. } = recovery;
    let Replay { report, is_behind_damage, catalog, .. } = replay;
    let (tail, last) = last.unwrap_or_default();
    Ok(Recovered { last, report, segments, tail, next, covered: from, is_behind_damage, mark, catalog })
}

/// A recovery on its way through the segments.
struct Recovery<'a> {
    storage: &'a dyn Storage,
    applied: Lsn,
    replay: Replay<'a>,
    segments: Vec<Segment>,
    /// Behind the last record that was found or is known to be lost.
    next: Lsn,
    /// The tail of the last segment, and the segment where it is sound.
    last: Option<(Vec<TailRecord>, Option<Last>)>,
}

impl Recovery<'_> {
    /// Reports what the cut mark and the absence of segments say.
    fn start(&mut self, mark: &CutMark, oldest: Lsn, is_empty: bool) {
        if mark.below.is_none() {
            let (kind, lost_to) = (DamageKind::CutMark, Some(oldest.previous()));
            self.replay.damage(Damage { kind, segment: oldest, offset: 0, lost_from: Lsn::FIRST, lost_to });
        }
        // The segment that grows is never deleted, but by a repair, which cuts behind all that was applied.
        if is_empty && mark.below.is_some_and(|below| self.applied >= below) {
            self.replay.damage(Damage {
                kind: DamageKind::Missing,
                segment: Lsn::NONE,
                offset: 0,
                lost_from: self.next,
                lost_to: None,
            });
            self.next = self.behind_applied();
        }
    }

    /// So far behind everything that was applied that the next start finds a gap.
    fn behind_applied(&self) -> Lsn {
        self.applied.plus(2)
    }

    /// Reads the segment that begins with `first`; `end` is the first record of the next one.
    fn segment(&mut self, first: Lsn, end: Option<Lsn>) -> Result<(), LogError> {
        if let Some(end) = end.filter(|end| *end <= self.replay.from.next()) {
            let file = self.storage.open_append(&segment::path(first)).map_err(LogError::from_storage)?;
            self.segments.push(Segment { first, bytes: file.len() });
            self.next = end;
            return Ok(());
        }
        let loaded = Loaded::read(self.storage, first, end)?;
        self.segments.push(Segment { first, bytes: loaded.content_len() });
        if first > self.next {
            let (kind, lost_to) = (DamageKind::Gap, Some(first.previous()));
            let gap = Damage { kind, segment: first, offset: 0, lost_from: self.next, lost_to };
            // Segments below `from` are the rest of an interrupted cut.
            if gap.loses_above(self.replay.from) {
                self.replay.damage(gap);
            }
        }
        // Without its seed nothing in a segment can be read. In the last one it is unknown how much that was.
        let is_unreadable = !loaded.header_sound && loaded.items.is_empty() && end.is_none();
        if !loaded.header_sound {
            let lost_to = if is_unreadable { None } else { Some(first.previous()) };
            let kind = DamageKind::SegmentHeader;
            self.replay.damage(Damage { kind, segment: first, offset: 0, lost_from: first, lost_to });
        } else if loaded.header.is_some_and(|header| header.after_damage) {
            self.replay.is_behind_damage = false;
        }
        match end {
            Some(_) => self.next = self.replay.segment(&loaded, end),
            None => self.last_segment(loaded, is_unreadable),
        }
        Ok(())
    }

    /// Visits the last segment, whose end may be torn.
    fn last_segment(&mut self, mut loaded: Loaded, is_unreadable: bool) {
        let first = loaded.first;
        // The damage of its header, if any, was reported before this.
        let damages = self.replay.report.damages.len();
        // No checkpoint has records that the log never had.
        let proven = loaded.synced_through();
        let synced_through = proven.max(self.applied);
        loaded.cut_tail(synced_through, &mut self.replay.report);
        self.next = self.replay.segment(&loaded, None);
        if is_unreadable {
            // The segment that follows must not take the name of this one.
            self.next = first.next();
        } else if self.next <= synced_through {
            // Records are missing that were durable: they were lost, not torn.
            let lost_to = (self.applied <= proven).then_some(proven);
            let (kind, offset) = (DamageKind::RecordHeader, loaded.bytes.len() as u64);
            self.replay.damage(Damage { kind, segment: first, offset, lost_from: self.next, lost_to });
            self.next = synced_through.next();
        }
        if self.replay.report.damages[damages..].iter().any(|damage| damage.lost_to.is_none()) {
            // As if there were no segment.
            self.next = self.next.max(self.behind_applied());
        }
        // A body that is damaged may end behind the file, and would swallow what is appended to it.
        let intact = loaded.header_sound
            && self.replay.report.damages.len() == damages
            && loaded.items.iter().all(Item::is_sound);
        let end = loaded.content_len();
        let sound = loaded.header.filter(|_| intact).map(|header| Last { header, end });
        self.last = Some((loaded.tail(synced_through), sound));
    }
}
