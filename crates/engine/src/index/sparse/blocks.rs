//! The blocks of a field, and which rows are in none.

use std::sync::Arc;

use super::block::{Block, MAX_BLOCK_POSTINGS, MAX_BLOCK_ROWS};
use crate::types::Row;
use crate::vectors::{SparseFormat, SparseRow};

/// Blocks of one size that are merged into one of the next.
const FAN_IN: u32 = 8;

/// Rows of the blocks: first ones of `least`, `FAN_IN` of which become one, and `FAN_IN` of those one of the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    least: u32,
}

impl BlockSizes {
    /// Blocks whose greatest have at most [`MAX_BLOCK_ROWS`] rows and whose middle ones about `middle`.
    pub fn around(middle: u32) -> BlockSizes {
        let most = MAX_BLOCK_ROWS / (FAN_IN * FAN_IN);
        BlockSizes { least: (middle / FAN_IN).clamp(1, most) }
    }
}

/// The inverted index of a field. A clone costs two words and never changes.
#[derive(Clone)]
pub struct Blocks {
    sizes: BlockSizes,
    /// In the order of their rows; ranges without a living row may be left out.
    blocks: Arc<Vec<Arc<Block>>>,
    /// Rows from here on are in no block.
    indexed: Row,
}

impl Blocks {
    /// No blocks.
    pub fn new(sizes: BlockSizes) -> Blocks {
        Blocks { sizes, blocks: Arc::new(Vec::new()), indexed: Row::FIRST }
    }

    /// Indexes the rows of a field that has `len` rows, as far as they fill blocks. `row` returns the elements of a row, or none
    /// for one that is not to be found.
    pub fn take_in<'r>(
        &mut self,
        format: SparseFormat,
        len: u32,
        row: impl Fn(Row) -> Option<SparseRow<'r>>,
    ) {
        let step = self.sizes.least;
        while len - self.indexed.get() >= step {
            let block = Block::build(format, self.indexed, step, &row);
            self.indexed = self.indexed.plus(step);
            Arc::make_mut(&mut self.blocks).push(Arc::new(block));
            self.merge_full(format);
        }
    }

    /// Merges the last blocks when they fill the range of a greater one.
    fn merge_full(&mut self, format: SparseFormat) {
        for size in [self.sizes.least * FAN_IN, self.sizes.least * FAN_IN * FAN_IN] {
            if !self.indexed.get().is_multiple_of(size) {
                return;
            }
            let start = Row::new(self.indexed.get() - size);
            let first = self.blocks.partition_point(|block| block.range().start < start);
            let parts: Vec<&Block> = self.blocks[first..].iter().map(|block| &**block).collect();
            if parts.iter().map(|block| block.postings()).sum::<usize>() > MAX_BLOCK_POSTINGS {
                return;
            }
            let merged = Block::merge(format, start, size, &parts);
            let blocks = Arc::make_mut(&mut self.blocks);
            blocks.truncate(first);
            if merged.held() > 0 {
                blocks.push(Arc::new(merged));
            }
        }
    }

    /// Replaces `old` by `new`, or removes it when `new` has no row. Returns whether `old` was still there.
    pub fn replace(&mut self, old: &Arc<Block>, new: Block) -> bool {
        let Some(at) = self.blocks.iter().position(|block| Arc::ptr_eq(block, old)) else { return false };
        let blocks = Arc::make_mut(&mut self.blocks);
        if new.held() == 0 {
            blocks.remove(at);
        } else {
            blocks[at] = Arc::new(new);
        }
        true
    }

    /// The blocks in the order of their rows.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.blocks.iter()
    }

    /// The first row that is in no block.
    pub fn indexed(&self) -> Row {
        self.indexed
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.memory_bytes()).sum()
    }
}
