//! The content of a simulated file: what a program sees, what is durable, and what a power cut makes of the rest.

use std::ops::Range;

use super::random_source::RandomSource;
use crate::storage::memory::tree::Content;

/// A change that no sync has covered yet.
#[derive(Clone, Debug)]
enum Change {
    /// At most at the end of what was there: see [`Content::write`].
    Write {
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate(usize),
}

/// The bytes of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct SimContent {
    live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
    doubtful: Vec<Doubt>,
}

/// Bytes whose sync failed. The kernel marks such pages clean, so a later sync succeeds without writing them, unless
/// they were written again. They read back correctly until a power cut, or until the kernel evicts the pages and reads
/// them from the disk again.
#[derive(Clone, Debug)]
struct Doubt {
    range: Range<usize>,
    /// What the disk held in their place before, from the start of the range on.
    old: Vec<u8>,
}

impl Doubt {
    /// What is left of it when the bytes in `written` are beyond doubt.
    fn outside(&self, written: &Range<usize>) -> impl Iterator<Item = Doubt> {
        let Range { start, end } = self.range;
        [start..end.min(written.start), start.max(written.end)..end]
            .into_iter()
            .filter(|left| !left.is_empty())
            .map(move |left| Doubt {
                old: self.old.get(left.start - start..).unwrap_or_default().to_vec(),
                range: left,
            })
    }
}

impl Content for SimContent {
    fn bytes(&self) -> &[u8] {
        &self.live
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            let change = Change::Write { at, bytes: bytes.to_vec() };
            apply(&mut self.live, &change);
            self.pending.push(change);
        }
    }

    fn truncate(&mut self, len: usize) {
        self.live.truncate(len);
        self.pending.push(Change::Truncate(len));
        for doubt in &mut self.doubtful {
            doubt.range.end = doubt.range.end.min(len);
        }
        self.doubtful.retain(|doubt| !doubt.range.is_empty());
    }
}

impl SimContent {
    pub(super) fn sync(&mut self) {
        for change in &self.pending {
            if let Change::Write { at, bytes } = change {
                let written = *at..at + bytes.len();
                self.doubtful = self.doubtful.iter().flat_map(|doubt| doubt.outside(&written)).collect();
            }
        }
        self.settle();
    }

    fn settle(&mut self) {
        for change in self.pending.drain(..) {
            apply(&mut self.durable, &change);
        }
        debug_assert_eq!(self.durable, self.live);
    }

    /// A sync that reports failure: see [`doubtful`](Self::doubtful).
    pub(super) fn fail_sync(&mut self) {
        let touched = touched(self.durable.len(), &self.pending);
        let old = self.durable[touched.start..].to_vec();
        self.settle();
        let range = touched.start..touched.end.min(self.live.len());
        if !range.is_empty() {
            self.doubtful.push(Doubt { range, old });
        }
    }

    /// The kernel evicts clean pages. Some of the bytes whose sync failed are then read as the disk has them, which is
    /// not what was written. The length stays, because it belongs to the inode and not to the pages.
    pub(super) fn drop_caches(&mut self, random: &mut RandomSource) {
        for Doubt { range, old } in std::mem::take(&mut self.doubtful) {
            let end = range.end.min(self.live.len()).min(self.durable.len());
            if range.start >= end || random.chance(50) {
                // By chance these pages were written before the sync failed.
                continue;
            }
            spoil(&mut self.live[range.start..end], &old, random);
            self.durable[range.start..end].copy_from_slice(&self.live[range.start..end]);
        }
    }

    /// How many changes no sync has covered.
    pub(super) fn unsynced(&self) -> usize {
        self.pending.len()
    }

    /// Simulates a power cut after which exactly those unsynced changes are on the disk for which `arrived` returns
    /// true, each complete. A range without any change on the disk reads as zeros.
    pub(super) fn lose_power_keeping(&mut self, mut arrived: impl FnMut() -> bool) {
        let mut image = std::mem::take(&mut self.durable);
        for change in self.pending.drain(..) {
            if arrived() {
                apply(&mut image, &change);
            }
        }
        self.live.clone_from(&image);
        self.durable = image;
    }

    /// Replaces content and durable content alike: decay of the medium, for tests.
    pub(super) fn rewrite(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.live);
        self.durable.clone_from(&self.live);
        self.pending.clear();
        self.doubtful.clear();
    }

    /// Simulates a power cut.
    pub(super) fn lose_power(&mut self, random: &mut RandomSource) {
        let mut image = if self.pending.is_empty() {
            std::mem::take(&mut self.durable)
        } else {
            match random.below(5) {
                0 => std::mem::take(&mut self.durable),
                1 => std::mem::take(&mut self.live),
                _ => self.torn(random),
            }
        };
        for Doubt { range, old } in std::mem::take(&mut self.doubtful) {
            let range = range.start..range.end.min(image.len());
            if range.is_empty() || random.chance(50) {
                continue;
            }
            if range.end == image.len() && random.chance(30) {
                image.truncate(range.start);
            } else {
                spoil(&mut image[range], &old, random);
            }
        }
        self.pending.clear();
        self.live.clone_from(&image);
        self.durable = image;
    }

    /// Some of the pending changes arrived, the last of them in part, and sectors in any order.
    fn torn(&mut self, random: &mut RandomSource) -> Vec<u8> {
        let mut image = std::mem::take(&mut self.durable);
        let arrived = random.below(self.pending.len() + 1);
        let in_part = match self.pending.get(arrived) {
            Some(Change::Write { at, bytes }) => {
                let grain = [1, 512, 4096][random.below(3)];
                let end = at + random.below(bytes.len() + 1);
                // Whole grains of the disk arrive, counted from the start of the file.
                let end = (end / grain * grain).max(*at);
                Some(Change::Write { at: *at, bytes: bytes[..end - at].to_vec() })
            }
            _ => None,
        };
        self.pending.truncate(arrived);
        self.pending.extend(in_part);
        let touched = touched(image.len(), &self.pending);
        let before = image[touched.start..].to_vec();
        for change in &self.pending {
            apply(&mut image, change);
        }
        let touched = touched.start..touched.end.min(image.len());
        if random.chance(60) {
            let sector = [512, 4096][random.below(2)];
            let percent = [10, 50, 90][random.below(3)];
            let mut start = touched.start;
            while start < touched.end {
                let end = ((start / sector + 1) * sector).min(touched.end);
                if random.chance(percent) {
                    let old = before.get(start - touched.start..).unwrap_or_default();
                    spoil(&mut image[start..end], old, random);
                }
                start = end;
            }
        }
        image
    }
}

/// From the first byte that a pending change has touched to behind the last that one has written.
fn touched(durable_len: usize, pending: &[Change]) -> Range<usize> {
    pending.iter().fold(durable_len..0, |Range { start, end }, change| match change {
        Change::Write { at, bytes } => start.min(*at)..end.max(at + bytes.len()),
        Change::Truncate(len) => start.min(*len)..end,
    })
}

fn apply(image: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { at, bytes } => {
            // A range without any change on the disk reads as zeros.
            image.resize(image.len().max(at + bytes.len()), 0);
            image[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        Change::Truncate(len) => image.truncate(*len),
    }
}

/// The content of a sector that was not written: zeros, bytes of another file, or what this file had there before.
fn spoil(bytes: &mut [u8], old: &[u8], random: &mut RandomSource) {
    match random.below(if old.is_empty() { 2 } else { 3 }) {
        0 => bytes.fill(0),
        1 => bytes.fill_with(|| random.next_u64() as u8),
        _ => {
            let held = old.len().min(bytes.len());
            bytes[..held].copy_from_slice(&old[..held]);
            bytes[held..].fill(0);
        }
    }
}
