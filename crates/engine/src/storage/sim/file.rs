//! The content of a simulated file: what a program sees, what is durable, and what a power cut makes of the rest.

use std::ops::Range;

use super::dice::Dice;

/// A change that no sync has covered yet.
#[derive(Clone, Debug)]
enum Change {
    Append(Vec<u8>),
    Truncate(usize),
}

/// The bytes of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// Bytes whose sync failed. The kernel marks such pages clean, so a later sync succeeds without writing them:
    /// they look fine until the power goes.
    doubtful: Vec<Range<usize>>,
}

impl Content {
    pub(super) fn live(&self) -> &[u8] {
        &self.live
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.live.extend_from_slice(bytes);
            self.pending.push(Change::Append(bytes.to_vec()));
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.live.truncate(len);
        self.pending.push(Change::Truncate(len));
        for range in &mut self.doubtful {
            range.end = range.end.min(len);
        }
        self.doubtful.retain(|range| range.start < range.end);
    }

    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            apply(&mut self.durable, &change);
        }
        debug_assert_eq!(self.durable, self.live);
    }

    /// A sync that reports failure: see [`doubtful`](Self::doubtful).
    pub(super) fn fail_sync(&mut self) {
        let start = stable_len(self.durable.len(), &self.pending);
        self.sync();
        if start < self.live.len() {
            self.doubtful.push(start..self.live.len());
        }
    }

    /// Replaces content and durable content alike: decay of the medium, for tests.
    pub(super) fn rewrite(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.live);
        self.durable.clone_from(&self.live);
        self.pending.clear();
        self.doubtful.clear();
    }

    /// Leaves what the disk holds after the power came back.
    pub(super) fn lose_power(&mut self, dice: &mut Dice) {
        let mut image = if self.pending.is_empty() {
            std::mem::take(&mut self.durable)
        } else {
            match dice.below(5) {
                0 => std::mem::take(&mut self.durable),
                1 => std::mem::take(&mut self.live),
                _ => self.torn(dice),
            }
        };
        for range in std::mem::take(&mut self.doubtful) {
            let range = range.start..range.end.min(image.len());
            if range.is_empty() || dice.chance(50) {
                continue;
            }
            if range.end == image.len() && dice.chance(30) {
                image.truncate(range.start);
            } else {
                spoil(&mut image[range], dice);
            }
        }
        self.pending.clear();
        self.live.clone_from(&image);
        self.durable = image;
    }

    /// Some of the pending changes arrived, the last of them in part, and sectors in any order.
    fn torn(&mut self, dice: &mut Dice) -> Vec<u8> {
        let mut image = std::mem::take(&mut self.durable);
        let arrived = dice.below(self.pending.len() + 1);
        let stable = stable_len(image.len(), &self.pending[..arrived]);
        for change in &self.pending[..arrived] {
            apply(&mut image, change);
        }
        if let Some(Change::Append(bytes)) = self.pending.get(arrived) {
            let grain = [1, 512, 4096][dice.below(3)];
            let end = image.len() + dice.below(bytes.len() + 1);
            // Whole grains of the disk arrive, counted from the start of the file.
            let end = (end / grain * grain).max(image.len());
            image.extend_from_slice(&bytes[..end - image.len()]);
        }
        if dice.chance(60) {
            let sector = [512, 4096][dice.below(2)];
            let percent = [10, 50, 90][dice.below(3)];
            let mut start = stable;
            while start < image.len() {
                let end = ((start / sector + 1) * sector).min(image.len());
                if dice.chance(percent) {
                    spoil(&mut image[start..end], dice);
                }
                start = end;
            }
        }
        image
    }
}

/// How many leading bytes no pending change has touched.
fn stable_len(durable_len: usize, pending: &[Change]) -> usize {
    pending.iter().fold(durable_len, |stable, change| match change {
        Change::Append(_) => stable,
        Change::Truncate(len) => stable.min(*len),
    })
}

fn apply(image: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Append(bytes) => image.extend_from_slice(bytes),
        Change::Truncate(len) => image.truncate(*len),
    }
}

/// What stands in a sector that never arrived: zeros, or whatever the disk held before.
fn spoil(bytes: &mut [u8], dice: &mut Dice) {
    if dice.chance(50) {
        bytes.fill(0);
    } else {
        bytes.fill_with(|| dice.roll() as u8);
    }
}
