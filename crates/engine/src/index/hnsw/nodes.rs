//! The nodes of the graph: number, row, level, links, lock.

use std::sync::atomic::{AtomicU32, Ordering};

use kithdb_kernels::prefetch_l1;

use super::duplicates::Duplicates;
use super::word::{read_list, write_list};
use crate::arena::LinkArena;
use crate::types::{Node, Row};

/// A node's lock, in its state word. Writers hold it while they change the links of the node.
const LOCKED: u32 = 1 << 31;
/// Position of the level of the node in its state word.
const LEVEL_SHIFT: u32 = 26;
/// The five bits of the level.
const LEVEL: u32 = 31;
/// The state of a duplicate: all bits of the level are set.
const DUPLICATE: u32 = LEVEL << LEVEL_SHIFT;
/// One more than the number of the node's first row of upper links; 0 for none.
const UPPER: u32 = (1 << LEVEL_SHIFT) - 1;

/// Marks a link of the spanning tree, which pruning must keep.
const TREE: u32 = 1 << 31;

/// Marks a link that was compared with the others when the links of its list were last chosen.
const COMPARED: u32 = 1 << 30;

/// No node is above this level: with m = 2 its share is 2⁻²⁴.
pub(super) const MAX_LEVEL: usize = 24;

/// A link as it is stored: one more than the number of the node, and two marks. Zero ends a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link(u32);

impl Link {
    pub(super) fn new(node: Node, in_tree: bool) -> Link {
        Link((node.get() + 1) | if in_tree { TREE } else { 0 })
    }

    /// The same link to a node that has another number.
    pub(super) fn renumbered(self, node: Node) -> Link {
        Link((node.get() + 1) | self.0 & (TREE | COMPARED))
    }

    pub(super) fn with_tree_mark(self) -> Link {
        Link(self.0 | TREE)
    }

    pub(super) fn compared(self, is_compared: bool) -> Link {
        Link(if is_compared { self.0 | COMPARED } else { self.0 & !COMPARED })
    }

    #[inline(always)]
    pub(super) fn node(self) -> Node {
        Node::new(Self::number(self.0).wrapping_sub(1))
    }

    pub(super) fn in_tree(self) -> bool {
        self.0 & TREE != 0
    }

    /// Two compared links of a list need not be compared with each other when the links are chosen again: the one that is
    /// farther from the node belongs to the tree, or is nearer to the node than to the other one (by
    /// [`stretched`](crate::index::distance::stretched) distances).
    pub(super) fn is_compared(self) -> bool {
        self.0 & COMPARED != 0
    }

    /// A word of a list without the marks: one more than the number of the node, or 0 after the last link.
    #[inline(always)]
    pub(super) fn number(word: u32) -> u32 {
        word & !(TREE | COMPARED)
    }
}

/// The number that a new node has been given. Its owner must insert the node: until then the graph counts it although no
/// link names it.
#[derive(Debug)]
#[must_use = "a node that has been allocated must be inserted"]
pub struct Slot {
    node: Node,
}

impl Slot {
    /// The number of the node.
    pub fn node(&self) -> Node {
        self.node
    }
}

/// The links of all nodes. Base links have fixed rows of 2·m, upper links rows of m, one for each level of a node.
pub(super) struct Nodes {
    m: usize,
    seed: u64,
    /// One word a node: one more than its row. It is written last, when everything else of the node is in place.
    rows: LinkArena,
    /// One word a node: lock, level, place of the upper links.
    state: LinkArena,
    base: LinkArena,
    upper: LinkArena,
    upper_rows: AtomicU32,
    pub(super) duplicates: Duplicates,
    len: AtomicU32,
}

impl Nodes {
    /// Greatest number of nodes of a graph. The two top bits of a link are its marks, and 0 is no link.
    pub(super) const MAX: u32 = LinkArena::MAX_ROWS - 1;

    /// An empty graph that expects about `nodes_hint` nodes, 0 when unknown.
    pub(super) fn new(m: usize, seed: u64, nodes_hint: u32) -> Nodes {
        Nodes {
            m,
            seed,
            rows: LinkArena::new(1, nodes_hint),
            state: LinkArena::new(1, nodes_hint),
            base: LinkArena::new(2 * m, nodes_hint),
            upper: LinkArena::new(m, 0),
            upper_rows: AtomicU32::new(0),
            duplicates: Duplicates::new(),
            len: AtomicU32::new(0),
        }
    }

    /// Nodes in the graph.
    pub(super) fn len(&self) -> u32 {
        // Numbers that were refused are taken back at once, but may show for a moment.
        self.len.load(Ordering::Acquire).min(Self::MAX)
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes()
            + self.state.bytes()
            + self.base.bytes()
            + self.upper.bytes()
            + self.duplicates.bytes()
    }

    /// Allocates what `more` nodes will need. Without memory it unwinds to the next `catch` of the allocator.
    pub(super) fn provide(&self, more: u32) {
        let end = self.len().saturating_add(more);
        [&self.rows, &self.state, &self.base].into_iter().for_each(|arena| arena.provide(end));
        // With m = 2, the least, half of the nodes have an upper layer, and each of these two on average.
        self.upper.provide(self.upper_rows.load(Ordering::Relaxed).saturating_add(2 * more));
        self.duplicates.provide(end);
    }

    /// Most links of a node in a layer.
    pub(super) fn capacity(&self, level: usize) -> usize {
        if level == 0 { 2 * self.m } else { self.m }
    }

    /// Most tree links of a node: at least a parent and two children, so that the list has places for other links.
    pub(super) fn tree_capacity(&self) -> usize {
        self.m.max(3)
    }

    /// The level that a new node is given: l or more with probability m⁻ˡ, decided by a hash of its number.
    fn draw_level(&self, node: Node) -> usize {
        let hash = mix(self.seed ^ mix(u64::from(node.get())));
        let mut bound = u64::MAX / self.m as u64;
        let mut level = 0;
        while hash < bound && level < MAX_LEVEL {
            level += 1;
            bound /= self.m as u64;
        }
        level
    }

    /// The level of a node.
    #[inline(always)]
    pub(super) fn level_of(&self, node: Node) -> usize {
        let state = self.state_of(node);
        if state & DUPLICATE == DUPLICATE { 0 } else { (state >> LEVEL_SHIFT & LEVEL) as usize }
    }

    /// Whether a node is a duplicate of another one, and so has no links.
    pub(super) fn is_duplicate(&self, node: Node) -> bool {
        self.state_of(node) & DUPLICATE == DUPLICATE
    }

    /// Makes a node without links a duplicate of another one.
    pub(super) fn add_duplicate(&self, node: Node, first: Node) {
        let state = &self.state.row(node.get())[0];
        // It does not need the place that it was given for upper links.
        state.fetch_and(!UPPER, Ordering::Relaxed);
        state.fetch_or(DUPLICATE, Ordering::Release);
        self.duplicates.push(first, node);
    }

    /// The row of a node that a link, the entry point or the root names. Panics when there is no such node.
    #[inline(always)]
    pub(super) fn row_of(&self, node: Node) -> Row {
        Row::new(self.rows.row(node.get())[0].load(Ordering::Relaxed).wrapping_sub(1))
    }

    /// The row of a node below [`len`](Self::len); none between the allocation of its number and [`place`](Self::place).
    pub(super) fn placed_row(&self, node: Node) -> Option<Row> {
        self.rows.row(node.get()).first()?.load(Ordering::Acquire).checked_sub(1).map(Row::new)
    }

    #[inline(always)]
    fn state_of(&self, node: Node) -> u32 {
        self.state.row(node.get()).first().map_or(0, |state| state.load(Ordering::Acquire))
    }

    /// Gives a row the next number, with a level drawn for it and without links. Panics when there are no more.
    pub(super) fn allocate(&self, row: Row) -> Slot {
        let node = self.next_number();
        let level = self.draw_level(node);
        self.place(node, row, level);
        Slot { node }
    }

    /// Gives a row the next number on a given level, as a file or a rewrite has it.
    pub(super) fn append(&self, row: Row, level: usize) -> Node {
        let node = self.next_number();
        self.place(node, row, level);
        node
    }

    /// Gives rows the first numbers, on given levels, as a file has them: as [`Nodes::append`] one after the other, into a graph
    /// without nodes that was made for as many and that no other thread has.
    pub(super) fn append_all(&self, nodes: impl ExactSizeIterator<Item = (Row, usize)>) {
        let Some(last) = (nodes.len() as u32).checked_sub(1) else { return };
        [&self.rows, &self.state, &self.base].into_iter().for_each(|arena| {
            arena.reserve(last);
        });
        self.len.store(last + 1, Ordering::Release);
        for (number, (row, level)) in (0..).zip(nodes) {
            if level > 0 {
                self.place(Node::new(number), row, level);
            } else {
                self.rows.row(number)[0].store(row.get() + 1, Ordering::Release);
            }
        }
    }

    /// Counts a node that is not in its place yet.
    pub(super) fn next_number(&self) -> Node {
        let number = self
            .len
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |len| (len < Self::MAX).then_some(len + 1));
        Node::new(number.expect("the graph is full"))
    }

    fn place(&self, node: Node, row: Row, level: usize) {
        self.base.reserve(node.get());
        let state = &self.state.reserve(node.get())[0];
        if level > 0 {
            let level = level as u32;
            // With no place left for upper links the node stays in the base layer, which is all that it needs.
            let first = self.upper_rows.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |rows| {
                (rows + level < UPPER).then_some(rows + level)
            });
            if let Ok(first) = first {
                for upper in first..first + level {
                    self.upper.reserve(upper);
                }
                state.fetch_or(level << LEVEL_SHIFT | (first + 1), Ordering::Release);
            }
        }
        self.rows.reserve(node.get())[0].store(row.get() + 1, Ordering::Release);
    }

    /// The link words of a node in a layer that is not above its level. Empty when there are none.
    #[inline(always)]
    pub(super) fn words(&self, node: Node, level: usize) -> &[AtomicU32] {
        if level == 0 {
            return self.base.row(node.get());
        }
        match (self.state_of(node) & UPPER).checked_sub(1) {
            Some(first) => self.upper.row(first + level as u32 - 1),
            None => &[],
        }
    }

    /// Calls `each` with the links of a node, without waiting for writers.
    #[inline(always)]
    pub(super) fn for_each_link(&self, node: Node, level: usize, mut each: impl FnMut(Link)) {
        read_list(self.words(node, level), |word| each(Link(word)));
    }

    /// Asks for the base links of a node in the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, node: Node) {
        prefetch_l1(self.base.row(node.get()));
    }

    /// Waits for the lock of a node.
    pub(super) fn lock(&self, node: Node) -> LockedNode<'_> {
        let state = &self.state.row(node.get())[0];
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
        LockedNode { nodes: self, state, node }
    }

    /// Writes the links of a node that no other thread writes to, at most the capacity of the layer.
    pub(super) fn write(&self, node: Node, level: usize, links: impl IntoIterator<Item = Link>) {
        write_list(self.words(node, level), links.into_iter().map(|link| link.0));
    }
}

/// A node whose links only the holder of this may change.
pub(super) struct LockedNode<'a> {
    nodes: &'a Nodes,
    state: &'a AtomicU32,
    node: Node,
}

impl LockedNode<'_> {
    /// The number of the node.
    pub(super) fn number(&self) -> Node {
        self.node
    }

    /// Appends the links of a layer to `links`.
    pub(super) fn read(&self, level: usize, links: &mut Vec<Link>) {
        self.nodes.for_each_link(self.node, level, |link| links.push(link));
    }

    /// Writes one link of a layer. Readers see it after all that was written before.
    pub(super) fn set(&self, level: usize, place: usize, link: Link) {
        self.nodes.words(self.node, level)[place].store(link.0, Ordering::Release);
    }

    /// Writes all links of a layer, at most its capacity.
    pub(super) fn write(&self, level: usize, links: impl IntoIterator<Item = Link>) {
        self.nodes.write(self.node, level, links);
    }
}

impl Drop for LockedNode<'_> {
    fn drop(&mut self) {
        self.state.fetch_and(!LOCKED, Ordering::Release);
    }
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014), a bijection that mixes all bits.
pub(super) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_thin_out_by_m_and_depend_on_the_seed_and_the_number_only() {
        for m in [2usize, 16, 512] {
            let nodes = Nodes::new(m, 7, 0);
            let count = 200_000u32;
            let above = (0..count).filter(|&node| nodes.draw_level(Node::new(node)) >= 1).count() as f64;
            let expected = f64::from(count) / m as f64;
            assert!((above - expected).abs() < 5.0 * expected.sqrt(), "m {m}: {above} for {expected}");
            assert!((0..count).all(|node| nodes.draw_level(Node::new(node)) <= MAX_LEVEL));
            let third = Node::new(3);
            assert_eq!(nodes.draw_level(third), Nodes::new(m, 7, 0).draw_level(third));
        }
    }

    #[test]
    fn nodes_are_numbered_as_they_come_and_know_their_row_and_level() {
        let nodes = Nodes::new(2, 0, 5);
        for (number, row) in [70_000, 3, u32::MAX - 1].map(Row::new).into_iter().enumerate() {
            let node = Node::new(number as u32);
            assert_eq!(nodes.allocate(row).node(), node);
            assert_eq!(nodes.row_of(node), row);
            assert_eq!(nodes.level_of(node), nodes.draw_level(node));
        }
        let last = Node::new(3);
        assert_eq!(nodes.append(Row::new(9), MAX_LEVEL), last);
        assert_eq!((nodes.level_of(last), nodes.row_of(last), nodes.len()), (MAX_LEVEL, Row::new(9), 4));
        assert_eq!(nodes.words(last, MAX_LEVEL).len(), 2);
    }

    #[test]
    fn a_node_without_a_place_for_upper_links_is_in_the_base_layer_alone() {
        let nodes = Nodes::new(2, 0, 0);
        nodes.upper_rows.store(UPPER - 1, Ordering::Relaxed);
        let node = nodes.append(Row::new(7), 1);
        assert_eq!((nodes.level_of(node), nodes.row_of(node)), (0, Row::new(7)));
        assert_eq!(nodes.words(node, 0).len(), 4);
    }
}
