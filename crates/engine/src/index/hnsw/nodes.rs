//! The nodes of the graph: presence, level, links, lock.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use kithdb_kernels::prefetch_l1;

use crate::arena::LinkArena;

/// A node's lock, in its state word. Writers hold it while they change the links of the node.
const LOCKED: u32 = 1 << 31;
/// The row is in the graph, or on its way into it.
const PRESENT: u32 = 1 << 30;
/// One more than the number of the node's first row of upper links; 0 for none.
const UPPER: u32 = PRESENT - 1;

/// Marks a link of the spanning tree, which pruning must keep.
const TREE: u32 = 1 << 31;

/// No node is above this level: with m = 2 its share is 2⁻²⁴.
pub(super) const MAX_LEVEL: usize = 24;

/// A link as it is stored: one more than the row, and the tree mark. Zero ends a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    pub(super) fn new(row: u32, in_tree: bool) -> Link {
        Link((row + 1) | if in_tree { TREE } else { 0 })
    }

    #[inline(always)]
    pub(super) fn row(self) -> u32 {
        (self.0 & !TREE).wrapping_sub(1)
    }

    pub(super) fn in_tree(self) -> bool {
        self.0 & TREE != 0
    }
}

/// The links of all nodes. Base links have fixed rows of 2·m, upper links rows of m, one for each level of a node.
pub(super) struct Nodes {
    m: usize,
    seed: u64,
    /// One word a row: lock, presence, place of the upper links.
    state: LinkArena,
    base: LinkArena,
    upper: LinkArena,
    upper_rows: AtomicU32,
    len: AtomicU32,
    /// One more than the greatest row present.
    end: AtomicU32,
}

impl Nodes {
    pub(super) fn new(m: usize, seed: u64) -> Nodes {
        Nodes {
            m,
            seed,
            state: LinkArena::new(1, 0),
            base: LinkArena::new(2 * m, 0),
            upper: LinkArena::new(m, 0),
            upper_rows: AtomicU32::new(0),
            len: AtomicU32::new(0),
            end: AtomicU32::new(0),
        }
    }

    /// Nodes in the graph.
    pub(super) fn len(&self) -> u32 {
        self.len.load(Ordering::Relaxed)
    }

    /// One more than the greatest row present.
    pub(super) fn end(&self) -> u32 {
        self.end.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> usize {
        self.state.bytes() + self.base.bytes() + self.upper.bytes()
    }

    /// Most links of a node in a layer.
    pub(super) fn capacity(&self, level: usize) -> usize {
        if level == 0 { 2 * self.m } else { self.m }
    }

    /// Most tree links of a node: room is left for others, and for a parent and two children at the least.
    pub(super) fn tree_capacity(&self) -> usize {
        self.m.max(3)
    }

    /// The level of a row: l or more with probability m⁻ˡ, decided by a hash.
    pub(super) fn level_of(&self, row: u32) -> usize {
        let hash = mix(self.seed ^ mix(u64::from(row)));
        let mut bound = u64::MAX / self.m as u64;
        let mut level = 0;
        while hash < bound && level < MAX_LEVEL {
            level += 1;
            bound /= self.m as u64;
        }
        level
    }

    pub(super) fn contains(&self, row: u32) -> bool {
        self.state.row(row).first().is_some_and(|state| state.load(Ordering::Acquire) & PRESENT != 0)
    }

    /// Enters a row into the graph, still without links. False when it is there already.
    pub(super) fn claim(&self, row: u32) -> bool {
        let state = &self.state.reserve(row)[0];
        if state.fetch_or(PRESENT, Ordering::AcqRel) & PRESENT != 0 {
            return false;
        }
        self.base.reserve(row);
        let level = self.level_of(row) as u32;
        if level > 0 {
            let first = self.upper_rows.fetch_add(level, Ordering::Relaxed);
            for upper in first..first + level {
                self.upper.reserve(upper);
            }
            state.fetch_or(first + 1, Ordering::Release);
        }
        self.len.fetch_add(1, Ordering::Relaxed);
        self.end.fetch_max(row + 1, Ordering::Relaxed);
        true
    }

    /// The link words of a node in a layer that is not above its level. Empty for a row that is not in the graph.
    #[inline(always)]
    fn words(&self, row: u32, level: usize) -> &[AtomicU32] {
        if level == 0 {
            return self.base.row(row);
        }
        let state = self.state.row(row).first().map_or(0, |state| state.load(Ordering::Acquire));
        match (state & UPPER).checked_sub(1) {
            Some(first) => self.upper.row(first + level as u32 - 1),
            None => &[],
        }
    }

    /// Calls `each` with the links of a node, without waiting for writers.
    #[inline(always)]
    pub(super) fn for_each_link(&self, row: u32, level: usize, mut each: impl FnMut(Link)) {
        for word in self.words(row, level) {
            let link = Link(word.load(Ordering::Relaxed));
            if link.0 == 0 {
                break;
            }
            each(link);
        }
        // What was written before a link to a node was published is seen by who followed the link.
        fence(Ordering::Acquire);
    }

    /// Asks for the base links of a node in the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, row: u32) {
        prefetch_l1(self.base.row(row));
    }

    /// Waits for the lock of a node.
    pub(super) fn lock(&self, row: u32) -> LockedNode<'_> {
        let state = &self.state.row(row)[0];
        let mut tries = 0u32;
        while state.fetch_or(LOCKED, Ordering::Acquire) & LOCKED != 0 {
            tries += 1;
            // The holder works for some microseconds unless its thread was taken off the core.
            if tries.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        LockedNode { nodes: self, state, row }
    }
}

/// A node whose links only the holder of this may change.
pub(super) struct LockedNode<'a> {
    nodes: &'a Nodes,
    state: &'a AtomicU32,
    row: u32,
}

impl LockedNode<'_> {
    /// Appends the links of a layer to `links`.
    pub(super) fn read(&self, level: usize, links: &mut Vec<Link>) {
        self.nodes.for_each_link(self.row, level, |link| links.push(link));
    }

    /// Writes one link of a layer. Readers see it after all that was written before.
    pub(super) fn set(&self, level: usize, place: usize, link: Link) {
        self.nodes.words(self.row, level)[place].store(link.0, Ordering::Release);
    }

    /// Writes all links of a layer, at most its capacity.
    pub(super) fn write(&self, level: usize, links: &[Link]) {
        let words = self.nodes.words(self.row, level);
        assert!(links.len() <= words.len(), "{} links in a row of {}", links.len(), words.len());
        let values = links.iter().map(|link| link.0).chain(std::iter::repeat(0));
        for (word, value) in words.iter().zip(values) {
            word.store(value, Ordering::Release);
        }
    }
}

impl Drop for LockedNode<'_> {
    fn drop(&mut self) {
        self.state.fetch_and(!LOCKED, Ordering::Release);
    }
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014), a bijection that mixes all bits.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_thin_out_by_m_and_depend_on_the_seed_and_row_only() {
        for m in [2usize, 16, 512] {
            let nodes = Nodes::new(m, 7);
            let rows = 200_000u32;
            let above = (0..rows).filter(|&row| nodes.level_of(row) >= 1).count() as f64;
            let expected = f64::from(rows) / m as f64;
            assert!((above - expected).abs() < 5.0 * expected.sqrt(), "m {m}: {above} for {expected}");
            assert!((0..rows).all(|row| nodes.level_of(row) <= MAX_LEVEL));
            assert_eq!(nodes.level_of(3), Nodes::new(m, 7).level_of(3));
        }
    }

    #[test]
    fn a_row_is_claimed_once() {
        let nodes = Nodes::new(2, 0);
        assert!(!nodes.contains(70_000));
        assert!(nodes.claim(70_000));
        assert!(!nodes.claim(70_000));
        assert_eq!((nodes.contains(70_000), nodes.len(), nodes.end()), (true, 1, 70_001));
    }
}
