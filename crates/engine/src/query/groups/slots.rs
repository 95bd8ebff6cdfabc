//! The groups that a walk has met, and which of them it has to go on for.

#[cfg(test)]
mod tests;

use crate::field::GroupRows;
use crate::group_keys::{KeyColumn, Keys};
use crate::index::Further;
use crate::types::Row;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Groups beyond the wanted ones that a walk fills too, as a share of them: their estimates may be too great.
const SPARE_DIVISOR: usize = 8;
/// Rows that lie within so many ranks hold a row of a group with their expected rank, most times.
const SPREAD: f64 = 1.3;
/// What comparing a member of a group costs, in distances of a walk.
const MEMBER: f64 = 1.3;
/// What a step of a walk costs, in distances.
const STEP: f64 = 11.0;
/// What a step costs that compares wanted rows only.
const NARROW_STEP: f64 = 5.0;
/// A walk compares all rows until it is so many times as wide as at first. The rows that it has not compared then lead
/// nowhere, so it needs some beyond its width.
const ALL_ROWS: usize = 2;
/// The multiple that counts while there are too few groups: a better group must not be missed.
const ALL_ROWS_FOR_GROUPS: usize = 8;
/// The widest walk.
const MAX_WIDTH: usize = 4096;
/// Bits of the quick look at a group.
const QUICK: u32 = 1024;

/// The places of groups.
type Places = HashMap<u32, usize, BuildHasherDefault<GroupHasher>>;

/// A hasher of the numbers of groups, which follow each other.
#[derive(Default)]
pub(super) struct GroupHasher(u64);

impl Hasher for GroupHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// A group that was met.
pub(super) struct Slot {
    pub key: u32,
    pub rows: GroupRows,
    /// The most points that it has.
    members: u64,
    /// Its best rows are known as well as a walk, or a comparison of all its members, knows them.
    pub is_settled: bool,
}

/// The groups that were met, best first once they were sorted.
pub(super) struct Slots<'k> {
    keys: &'k KeyColumn,
    /// Groups wanted, and rows of each.
    limit: usize,
    size: usize,
    /// Live rows.
    rows: u64,
    pub slots: Vec<Slot>,
    places: Places,
    /// Bits of the groups that were met.
    met: [u64; QUICK as usize / 64],
    /// Bits of the groups that the walk goes on for.
    open: [u64; QUICK as usize / 64],
    /// It goes on for groups that it has not met, too.
    needs_groups: bool,
}

impl<'k> Slots<'k> {
    pub fn new(keys: &'k KeyColumn, (limit, size): (usize, usize), rows: u64) -> Slots<'k> {
        let none = [0; QUICK as usize / 64];
        let (slots, places) = (Vec::new(), Places::default());
        Slots { keys, limit, size, rows, slots, places, met: none, open: none, needs_groups: true }
    }

    /// Whether further groups are wanted: those that were met within the width of the walk are too few. A group beyond it may
    /// not be the next best.
    pub fn needs_groups(&self) -> bool {
        self.needs_groups
    }

    /// Adds a row to its groups, which are added where they are new and `adds_groups` says so.
    pub fn add(&mut self, (estimate, row): (f32, Row), keys: Keys<'_>, adds_groups: bool) {
        for key in keys.iter() {
            let known = self.places.get(&key).copied();
            let place = match known {
                Some(place) => place,
                None if adds_groups => self.new_slot(key),
                None => continue,
            };
            self.slots[place].rows.estimates.push((estimate, row));
        }
    }

    /// Whether one of these groups was met.
    #[inline(always)]
    pub fn has_any(&self, keys: Keys<'_>) -> bool {
        keys.iter().any(|key| {
            let bit = key % QUICK;
            self.met[bit as usize / 64] >> (bit % 64) & 1 == 1 && self.places.contains_key(&key)
        })
    }

    /// Adds a row with its distance.
    pub fn add_exact(&mut self, (distance, row): (f32, Row), keys: Keys<'_>) {
        for key in keys.iter() {
            let place = self.places.get(&key).copied().unwrap_or_else(|| self.new_slot(key));
            self.slots[place].rows.exact.push((distance, row));
        }
    }

    fn new_slot(&mut self, key: u32) -> usize {
        let members = self.keys.at_most(key);
        self.slots.push(Slot { key, rows: GroupRows::default(), members, is_settled: false });
        self.places.insert(key, self.slots.len() - 1);
        let bit = key % QUICK;
        self.met[bit as usize / 64] |= 1 << (bit % 64);
        self.slots.len() - 1
    }

    /// Sorts the groups by their best rows.
    pub fn sort(&mut self) {
        self.slots.sort_by_cached_key(|slot| ordered(slot.rows.best()));
        self.places = self.slots.iter().enumerate().map(|(place, slot)| (slot.key, place)).collect();
    }

    /// The groups that are to be filled: the best, and a few more.
    fn targets(&mut self) -> &mut [Slot] {
        let most = self.limit + self.limit.div_ceil(SPARE_DIVISOR);
        let most = most.min(self.slots.len());
        &mut self.slots[..most]
    }

    /// Notes which groups are settled where a walk has met about all rows up to the estimate `radius`.
    pub fn settle(&mut self, radius: f32) {
        let size = self.size;
        self.targets().iter_mut().for_each(|slot| slot.settle(size, radius));
        let within = self.slots.iter().filter(|slot| slot.rows.best() <= radius).count();
        self.needs_groups = within < self.limit.min(self.keys.groups());
    }

    /// Whether the walk is to go on, for all it is known.
    pub fn goes_on(&mut self, began: usize, width: usize) -> bool {
        width < MAX_WIDTH && (self.needs_groups || self.best_width(began, width) > width)
    }

    /// How the walk is to go on, if it is. It was `began` wide at first.
    pub fn further(&mut self, began: usize, width: usize) -> Option<Further> {
        let doubled = width.saturating_mul(2).min(MAX_WIDTH);
        let best = self.best_width(began, width);
        let next = if self.needs_groups { doubled } else { best.min(doubled) };
        self.note_open();
        let factor = if self.needs_groups { ALL_ROWS_FOR_GROUPS } else { ALL_ROWS };
        let only_wanted = width >= began.saturating_mul(factor);
        (next > width).then_some(Further { width: next, only_wanted })
    }

    /// The width at which walking on, and then comparing the members of the groups that it may not fill, costs least.
    fn best_width(&mut self, began: usize, width: usize) -> usize {
        let (size, rows) = (self.size as f64, self.rows.max(1) as f64);
        let open: Vec<(f64, f64)> = self
            .targets()
            .iter()
            .filter(|slot| !slot.is_settled)
            .map(|slot| (SPREAD * size * rows / slot.members.max(1) as f64, MEMBER * slot.members as f64))
            .collect();
        let (now, turn) = (width as f64, began.saturating_mul(ALL_ROWS) as f64);
        let cost = |then: f64| {
            let compared: f64 = open.iter().filter(|(rank, _)| *rank > then).map(|(_, cost)| cost).sum();
            let all = (then.min(turn) - now).max(0.0);
            let narrow = (then - now.max(turn)).max(0.0);
            STEP * all + NARROW_STEP * narrow + compared
        };
        let widths = open.iter().map(|&(rank, _)| rank).filter(|&rank| rank <= MAX_WIDTH as f64);
        let best = widths.chain([now]).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
        best.map_or(width, |best| best.ceil() as usize).max(width)
    }

    fn note_open(&mut self) {
        self.open = [0; QUICK as usize / 64];
        let most = self.targets().len();
        for slot in self.slots[..most].iter().filter(|slot| !slot.is_settled) {
            let bit = slot.key % QUICK;
            self.open[bit as usize / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether the walk wants a row of these groups: of those that are to be filled and, while there are too few, of new
    /// ones. A few others may be wanted too.
    #[inline(always)]
    pub fn wants(&self, keys: Keys<'_>) -> bool {
        keys.iter().any(|key| {
            let bit = key % QUICK;
            self.open[bit as usize / 64] >> (bit % 64) & 1 == 1
                || (self.needs_groups && !self.places.contains_key(&key))
        })
    }

    /// Places of the groups whose members are to be compared: those that a walk has not filled, and those that it was not
    /// made wider for.
    pub fn unfilled(&mut self, width: usize) -> Vec<usize> {
        let (size, rows) = (self.size, self.rows.max(1) as f64);
        let is_unfilled = |slot: &Slot| {
            let known = (slot.rows.estimates.len() + slot.rows.exact.len()) as u64;
            let was_left_out = SPREAD * size as f64 * rows / slot.members.max(1) as f64 > width as f64;
            !slot.is_settled && known < slot.members && (known < size as u64 || was_left_out)
        };
        let targets = self.targets().iter().enumerate();
        targets.filter(|(_, slot)| is_unfilled(slot)).map(|(place, _)| place).collect()
    }
}

impl Slot {
    /// Settles the group if all its rows are known, or as many as are wanted within the radius.
    fn settle(&mut self, size: usize, radius: f32) {
        let (estimates, exact) = (&self.rows.estimates, &self.rows.exact);
        let within = estimates.iter().chain(exact).filter(|&&(estimate, _)| estimate <= radius).count();
        let known = (estimates.len() + exact.len()) as u64;
        self.is_settled |= within >= size || known >= self.members;
    }
}

/// A key with the order of the distances.
fn ordered(distance: f32) -> u32 {
    let bits = distance.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}
