//! How rows are asked for ahead of their scoring, by their size: one table for the process.

use kithdb_kernels::Hint;
use std::sync::atomic::{AtomicU16, Ordering};

/// Sizes of rows that the table has entries for, in bytes, ascending. A row counts as the nearest one.
pub const SIZES: [usize; 6] = [128, 256, 512, 832, 1536, 3072];

/// Bytes of originals that are asked for ahead at most, for the level-2 cache has other uses too.
pub const MOST_BYTES: usize = 32 << 10;

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

/// How to ask for rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cache that they are to come to.
    pub hint: Hint,
    /// Rows ahead of the one that is scored.
    pub rows: u8,
}

impl Fetch {
    /// As many rows ahead as there are.
    pub const EVERY: u8 = u8::MAX;

    /// What is good on most CPUs. On Zen 4 the level-2 hint nearly halves the time of a long row, codes gain a little
    /// from being asked for all at once, and originals are equal within noise from 4 to 16 rows ahead.
    pub const fn usual(kind: Kind) -> Fetch {
        match kind {
            Kind::Codes => Fetch { hint: Hint::L2, rows: Fetch::EVERY },
            Kind::Originals => Fetch { hint: Hint::L2, rows: 8 },
        }
    }

    /// What is in force for rows of that size.
    #[inline]
    pub fn current(kind: Kind, row_bytes: usize) -> Fetch {
        let word = CURRENT[kind as usize][size_class(row_bytes)].load(Ordering::Relaxed);
        Fetch::unpack(word).unwrap_or(Fetch::usual(kind))
    }

    /// Rows of that size that are asked for ahead of scoring.
    #[inline]
    pub fn look_ahead(self, kind: Kind, row_bytes: usize) -> usize {
        match (kind, self.rows) {
            (Kind::Codes, Fetch::EVERY) => usize::MAX,
            (Kind::Codes, rows) => usize::from(rows),
            (Kind::Originals, rows) => (MOST_BYTES / row_bytes.max(1)).clamp(1, usize::from(rows).max(1)),
        }
    }

    fn pack(self) -> u16 {
        (self.hint as u16 + 1) << 8 | u16::from(self.rows)
    }

    fn unpack(word: u16) -> Option<Fetch> {
        let hint = usize::from(word >> 8).checked_sub(1)?;
        Some(Fetch { hint: *Hint::ALL.get(hint)?, rows: word as u8 })
    }
}

/// The entries in force, by kind and size; zero stands for the usual one.
static CURRENT: [[AtomicU16; SIZES.len()]; 2] = [const { [const { AtomicU16::new(0) }; SIZES.len()] }; 2];

/// The nearest of [`SIZES`], by ratio.
fn size_class(row_bytes: usize) -> usize {
    let row_bytes = row_bytes.min(*SIZES.last().expect("there are sizes"));
    SIZES.windows(2).take_while(|pair| row_bytes * row_bytes > pair[0] * pair[1]).count()
}

/// How to ask for rows of every size.
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

    /// A line for each entry: kind, size, hint, rows ahead.
    pub fn to_text(&self) -> String {
        self.lines().map(|(line, fetch)| format!("{line} {:?} {}\n", fetch.hint, fetch.rows)).collect()
    }

    /// Reads exactly what [`FetchTable::to_text`] writes.
    pub fn from_text(text: &str) -> Option<FetchTable> {
        let mut table = FetchTable::default();
        let names: Vec<String> = table.lines().map(|(name, _)| name).collect();
        let mut lines = text.split_terminator('\n');
        for (name, entry) in names.iter().zip(table.entries.as_flattened_mut()) {
            let (hint, rows) =
                lines.next()?.strip_prefix(name.as_str())?.strip_prefix(' ')?.split_once(' ')?;
            let hint = Hint::ALL.into_iter().find(|known| format!("{known:?}") == hint)?;
            *entry = Fetch { hint, rows: rows.parse().ok()? };
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
        assert_eq!(Fetch { hint: Hint::L1, rows: 4 }.look_ahead(Kind::Codes, 832), 4);
    }

    #[test]
    fn a_table_survives_words_and_text() {
        let table = FetchTable::of(|kind, size| Fetch {
            hint: Hint::ALL[(size + kind as usize) % 4],
            rows: [4, 8, Fetch::EVERY][size % 3],
        });
        for fetch in table.entries.as_flattened() {
            assert_eq!(Fetch::unpack(fetch.pack()), Some(*fetch));
        }
        assert_eq!(FetchTable::from_text(&table.to_text()), Some(table));
        assert!(FetchTable::default().to_text().starts_with("codes 128 L2 255\ncodes 256 L2 255\n"));
    }

    #[test]
    fn a_text_that_is_not_whole_is_refused() {
        let text = FetchTable::default().to_text();
        for end in 0..text.len() {
            assert_eq!(FetchTable::from_text(&text[..end]), None, "cut at {end}");
        }
        for (from, to) in [("L2", "L4"), ("128", "129"), (" 8\n", " 256\n"), (" 8\n", " +8\n")] {
            assert_eq!(FetchTable::from_text(&text.replacen(from, to, 1)), None, "{to}");
        }
        assert_eq!(FetchTable::from_text(&(text + "\n")), None);
    }
}
