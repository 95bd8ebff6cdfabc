//! How rows are prefetched before they are scored, by their size: one table for the process.

use kithdb_kernels::{Hint, LINE_BYTES};
use std::sync::atomic::{AtomicU32, Ordering};

/// Sizes of rows that the table has entries for, in bytes, ascending. A row uses the entry of the nearest size.
pub const SIZES: [usize; 6] = [128, 256, 512, 832, 1536, 3072];

/// Most bytes of originals that are prefetched at a time: the level-2 cache has other uses too.
pub const MAX_BYTES: usize = 32 << 10;

/// What is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// Codes of a graph's nodes.
    Codes,
    /// Original vectors.
    Originals,
}

impl Kind {
    /// Both kinds, in the order of their numbers.
    pub const ALL: [Kind; 2] = [Kind::Codes, Kind::Originals];
}

/// How to prefetch rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cache to prefetch into.
    pub hint: Hint,
    /// Rows ahead of the one that is scored.
    pub rows: u8,
    /// Cache lines of each row, from its beginning.
    pub lines: u8,
}

impl Fetch {
    /// All rows that are known, or all lines of a row.
    pub const EVERY: u8 = u8::MAX;

    /// The entry that is good on most CPUs. On Zen 4 the level-2 hint nearly halves the time of a long row, codes gain a
    /// little from being prefetched all at once, and for originals 4 to 16 rows ahead are equal within noise.
    pub const fn usual(kind: Kind) -> Fetch {
        match kind {
            Kind::Codes => Fetch { hint: Hint::L2, rows: Fetch::EVERY, lines: Fetch::EVERY },
            Kind::Originals => Fetch { hint: Hint::L2, rows: 8, lines: Fetch::EVERY },
        }
    }

    /// The entry in force for rows of that size.
    #[inline]
    pub fn current(kind: Kind, row_bytes: usize) -> Fetch {
        let word = CURRENT[kind as usize][size_class(row_bytes)].load(Ordering::Relaxed);
        Fetch::unpack(word).unwrap_or(Fetch::usual(kind))
    }

    /// Rows of that size that are prefetched before they are scored.
    #[inline]
    pub fn look_ahead(self, kind: Kind, row_bytes: usize) -> usize {
        match (kind, self.rows) {
            (Kind::Codes, Fetch::EVERY) => usize::MAX,
            (Kind::Codes, rows) => usize::from(rows),
            (Kind::Originals, rows) => {
                (MAX_BYTES / self.bytes(row_bytes).max(1)).clamp(1, usize::from(rows).max(1))
            }
        }
    }

    fn pack(self) -> u32 {
        u32::from_be_bytes([0, self.hint as u8 + 1, self.rows, self.lines])
    }

    fn unpack(word: u32) -> Option<Fetch> {
        let [_, hint, rows, lines] = word.to_be_bytes();
        Some(Fetch { hint: *Hint::ALL.get(usize::from(hint).checked_sub(1)?)?, rows, lines })
    }

    /// Bytes from the beginning of a row of that length that are prefetched.
    #[inline]
    pub fn bytes(self, row_bytes: usize) -> usize {
        match self.lines {
            Fetch::EVERY => row_bytes,
            lines => row_bytes.min(usize::from(lines) * LINE_BYTES),
        }
    }
}

/// The entries in force, by kind and size; zero stands for the usual one.
static CURRENT: [[AtomicU32; SIZES.len()]; 2] = [const { [const { AtomicU32::new(0) }; SIZES.len()] }; 2];

/// The nearest of [`SIZES`], by ratio.
fn size_class(row_bytes: usize) -> usize {
    let row_bytes = row_bytes.min(*SIZES.last().expect("there are sizes"));
    SIZES.windows(2).take_while(|pair| row_bytes * row_bytes > pair[0] * pair[1]).count()
}

/// How to prefetch rows of every size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchTable {
    /// By kind and size.
    entries: [[Fetch; SIZES.len()]; 2],
}

impl Default for FetchTable {
    fn default() -> FetchTable {
        FetchTable { entries: Kind::ALL.map(|kind| [Fetch::usual(kind); SIZES.len()]) }
    }
}

impl FetchTable {
    /// The table with the entries that `choose` gives for each kind and number of a size.
    pub fn of(choose: impl Fn(Kind, usize) -> Fetch) -> FetchTable {
        FetchTable { entries: Kind::ALL.map(|kind| std::array::from_fn(|size| choose(kind, size))) }
    }

    /// Puts the table in force for the searches and insertions that begin from now on, in the whole process. It changes
    /// how long these take, and nothing else.
    pub fn install(&self) {
        for (words, entries) in CURRENT.iter().zip(&self.entries) {
            words.iter().zip(entries).for_each(|(word, fetch)| word.store(fetch.pack(), Ordering::Relaxed));
        }
    }

    /// A line for each entry: kind, size, hint, rows ahead, lines of each.
    pub fn to_text(&self) -> String {
        let text = |(name, Fetch { hint, rows, lines }): (String, Fetch)| {
            format!("{name} {hint:?} {rows} {lines}\n")
        };
        self.lines().map(text).collect()
    }

    /// Reads exactly what [`FetchTable::to_text`] writes.
    pub fn from_text(text: &str) -> Option<FetchTable> {
        let mut table = FetchTable::default();
        let names: Vec<String> = table.lines().map(|(name, _)| name).collect();
        let mut lines = text.split_terminator('\n');
        for (name, entry) in names.iter().zip(table.entries.as_flattened_mut()) {
            let mut words = lines.next()?.strip_prefix(name.as_str())?.strip_prefix(' ')?.split(' ');
            let hint = words.next()?;
            let hint = Hint::ALL.into_iter().find(|known| format!("{known:?}") == hint)?;
            *entry = Fetch { hint, rows: words.next()?.parse().ok()?, lines: words.next()?.parse().ok()? };
        }
        (lines.next().is_none() && table.to_text() == text).then_some(table)
    }

    /// Each entry after the name that it has in a text.
    fn lines(&self) -> impl Iterator<Item = (String, Fetch)> {
        let kinds = Kind::ALL.into_iter().zip(self.entries);
        kinds.flat_map(|(kind, entries)| {
            let name = move |size| format!("{kind:?} {size}").to_lowercase();
            SIZES.into_iter().map(name).zip(entries)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_as_the_nearest_size() {
        for (row_bytes, size) in [
            (1, 128),
            (64, 128),
            (192, 256),
            (448, 512),
            (640, 512),
            (704, 832),
            (1200, 1536),
            (65_536, 3072),
        ] {
            assert_eq!(SIZES[size_class(row_bytes)], size, "{row_bytes}");
        }
        SIZES.iter().enumerate().for_each(|(class, &size)| assert_eq!(size_class(size), class));
        assert_eq!(SIZES[size_class(usize::MAX)], 3072);
    }

    #[test]
    fn originals_are_asked_for_within_a_share_of_the_cache() {
        let ahead = |row_bytes| Fetch::usual(Kind::Originals).look_ahead(Kind::Originals, row_bytes);
        assert_eq!([64, 1536, 4096, 8192, 16_384, 100_000].map(ahead), [8, 8, 8, 4, 2, 1]);
        assert_eq!(Fetch::usual(Kind::Codes).look_ahead(Kind::Codes, 832), usize::MAX);
        assert_eq!(Fetch { hint: Hint::L1, rows: 4, lines: 2 }.look_ahead(Kind::Codes, 832), 4);
    }

    #[test]
    fn no_more_of_a_row_is_asked_for_than_it_has() {
        let begun = Fetch { hint: Hint::L2, rows: 8, lines: 4 };
        assert_eq!([64, 256, 257, 6144].map(|row_bytes| begun.bytes(row_bytes)), [64, 256, 256, 256]);
        assert_eq!(Fetch::usual(Kind::Codes).bytes(100_000), 100_000);
    }

    #[test]
    fn a_table_survives_words_and_text() {
        let table = FetchTable::of(|kind, size| Fetch {
            hint: Hint::ALL[(size + kind as usize) % 4],
            rows: [4, 8, Fetch::EVERY][size % 3],
            lines: [Fetch::EVERY, 4][size % 2],
        });
        for fetch in table.entries.as_flattened() {
            assert_eq!(Fetch::unpack(fetch.pack()), Some(*fetch));
        }
        assert_eq!(FetchTable::from_text(&table.to_text()), Some(table));
        assert!(FetchTable::default().to_text().starts_with("codes 128 L2 255 255\ncodes 256 L2 255 255\n"));
    }

    #[test]
    fn a_text_that_is_not_whole_is_refused() {
        let text = FetchTable::default().to_text();
        for end in 0..text.len() {
            assert_eq!(FetchTable::from_text(&text[..end]), None, "cut at {end}");
        }
        for (from, to) in [("L2", "L4"), ("128", "129"), (" 8 ", " 256 "), (" 8 ", " +8 "), ("255\n", "\n")] {
            assert_eq!(FetchTable::from_text(&text.replacen(from, to, 1)), None, "{to}");
        }
        assert_eq!(FetchTable::from_text(&(text + "\n")), None);
    }
}
