//! The postings of a range of rows.

use crate::types::{Row, RowRange};
use crate::vectors::{SparseFormat, SparseRow};

/// Rows of a range, dead ones and gaps included, at most: places are `u16`.
pub(super) const MAX_BLOCK_ROWS: u32 = 1 << 14;
/// Postings of a block at most: ends of lists are `u32`.
pub(super) const MAX_BLOCK_POSTINGS: usize = 1 << 30;

/// The postings of a range of rows.
pub struct Block {
    format: SparseFormat,
    start: Row,
    rows: u32,
    /// Rows of the range that have postings, or had none when it was made.
    held: u32,
    /// The indices of vectors that occur, ascending.
    terms: Box<[u32]>,
    /// Where the list of each of them ends.
    ends: Box<[u32]>,
    /// Place of each row in the range; ascending in a list.
    places: Box<[u16]>,
    /// The values, in the element type of the field.
    values: Box<[u8]>,
}

/// The rows that have one index.
pub(super) struct List<'a> {
    pub places: &'a [u16],
    pub values: &'a [u8],
}

impl Block {
    /// The block of `rows` rows from `start` on. `row` returns the elements of a row, or none for one that is not to be found.
    pub fn build<'r>(
        format: SparseFormat,
        start: Row,
        rows: u32,
        row: impl Fn(Row) -> Option<SparseRow<'r>>,
    ) -> Block {
        assert!(rows <= MAX_BLOCK_ROWS, "a block of {rows} rows");
        let found: Vec<(u16, SparseRow<'r>)> =
            (0..rows).filter_map(|place| Some((place as u16, row(start.plus(place))?))).collect();
        // Term, row, element of the row: the rows are in the order of their places.
        let mut postings: Vec<(u32, u16, u32)> = Vec::new();
        for (at, (_, row)) in (0u16..).zip(&found) {
            postings.extend((0..row.len()).map(|element| (row.index(element), at, element as u32)));
        }
        postings.sort_unstable_by_key(|&(term, at, _)| (u64::from(term) << 16) | u64::from(at));
        let mut lists = Lists::with_capacity(postings.len(), format);
        for (term, at, element) in postings {
            let (place, row) = found[usize::from(at)];
            lists.open(term);
            lists.places.push(place);
            lists.values.extend_from_slice(row.value_bytes(element as usize));
        }
        lists.into_block(format, start, rows, found.len() as u32)
    }

    /// The block of `rows` rows from `start` on that holds the postings of `parts`, which are blocks of that range in order.
    pub fn merge(format: SparseFormat, start: Row, rows: u32, parts: &[&Block]) -> Block {
        assert!(rows <= MAX_BLOCK_ROWS, "a block of {rows} rows");
        let mut terms: Vec<(u32, u32, u32)> = Vec::new();
        for (part, block) in (0u32..).zip(parts) {
            terms.extend(block.terms.iter().zip(0u32..).map(|(&term, at)| (term, part, at)));
        }
        terms.sort_unstable();
        let postings = parts.iter().map(|block| block.places.len()).sum();
        let mut lists = Lists::with_capacity(postings, format);
        for (term, part, at) in terms {
            let block = parts[part as usize];
            let (list, shift) = (block.list_at(at as usize), (block.start.get() - start.get()) as u16);
            lists.open(term);
            lists.places.extend(list.places.iter().map(|place| place + shift));
            lists.values.extend_from_slice(list.values);
        }
        let held = parts.iter().map(|block| block.held).sum();
        lists.into_block(format, start, rows, held)
    }

    /// The same block without the rows that `is_wanted` does not accept.
    pub fn thinned(&self, is_wanted: impl Fn(Row) -> bool) -> Block {
        let wanted: Vec<bool> = self.range().iter().map(is_wanted).collect();
        let bytes = self.format.value_bytes();
        let mut lists = Lists::with_capacity(0, self.format);
        for (at, &term) in self.terms.iter().enumerate() {
            let list = self.list_at(at);
            for (place, value) in list.places.iter().zip(list.values.chunks_exact(bytes)) {
                if wanted[usize::from(*place)] {
                    lists.open(term);
                    lists.places.push(*place);
                    lists.values.extend_from_slice(value);
                }
            }
        }
        let held = wanted.iter().filter(|wanted| **wanted).count() as u32;
        lists.into_block(self.format, self.start, self.rows, held.min(self.held))
    }

    /// The rows that the block is of, dead ones and gaps included.
    pub fn range(&self) -> RowRange {
        RowRange::of_len(self.start, self.rows)
    }

    /// Rows that were in the block when it was made.
    pub fn held(&self) -> u32 {
        self.held
    }

    /// Postings.
    pub fn postings(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.terms) + size_of_val(&*self.ends) + size_of_val(&*self.places) + self.values.len()
    }

    /// The rows that have an index, if there is one.
    pub(super) fn list(&self, term: u32) -> Option<List<'_>> {
        self.terms.binary_search(&term).ok().map(|at| self.list_at(at))
    }

    /// How many rows have an index.
    pub fn count(&self, term: u32) -> usize {
        self.list(term).map_or(0, |list| list.places.len())
    }

    /// How many rows that `is_wanted` accepts have an index.
    pub fn count_of(&self, term: u32, is_wanted: impl Fn(Row) -> bool) -> usize {
        self.list(term).map_or(0, |list| {
            list.places.iter().filter(|place| is_wanted(self.start.plus(u32::from(**place)))).count()
        })
    }

    pub(super) fn format(&self) -> SparseFormat {
        self.format
    }

    fn list_at(&self, at: usize) -> List<'_> {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let to = self.ends[at] as usize;
        let bytes = self.format.value_bytes();
        List { places: &self.places[from..to], values: &self.values[from * bytes..to * bytes] }
    }
}

/// The lists of a block that is being made, term after term.
struct Lists {
    terms: Vec<u32>,
    ends: Vec<u32>,
    places: Vec<u16>,
    values: Vec<u8>,
}

impl Lists {
    fn with_capacity(postings: usize, format: SparseFormat) -> Lists {
        Lists {
            terms: Vec::new(),
            ends: Vec::new(),
            places: Vec::with_capacity(postings),
            values: Vec::with_capacity(postings * format.value_bytes()),
        }
    }

    /// What follows is of this term, which is not below the one before.
    fn open(&mut self, term: u32) {
        if self.terms.last() != Some(&term) {
            self.close();
            self.terms.push(term);
        }
    }

    fn close(&mut self) {
        if !self.terms.is_empty() {
            self.ends
                .push(u32::try_from(self.places.len()).expect("a block is bounded far below 2^32 postings"));
        }
    }

    fn into_block(mut self, format: SparseFormat, start: Row, rows: u32, held: u32) -> Block {
        self.close();
        Block {
            format,
            start,
            rows,
            held,
            terms: self.terms.into(),
            ends: self.ends.into(),
            places: self.places.into(),
            values: self.values.into(),
        }
    }
}
