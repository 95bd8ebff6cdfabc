//! The graph as bytes.
//!
//! All numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `KITHHNSW` |
//! | 2 | format version, 2 |
//! | 2 | 0 |
//! | 4 | m |
//! | 4 | ef_construct |
//! | 8 | seed |
//! | 4 | n, number of nodes |
//! | 4·n | the row of each node; no row twice |
//! | n | the level of each node |
//! | 4 | number of duplicates |
//! | 8 each | a duplicate, and the node that it is a duplicate of, 4 bytes each; the newest of each node first |
//! | 2·n | number of base links of each node, 0 of a duplicate |
//! | 4 each | the base links, node by node: bits 0–30 the node, bit 31 the tree mark |
//! | | then for every node above level 0, ascending, for layer 1 up to its level: |
//! | 2 | number of links |
//! | 4 each | links |
//!
//! The entry point is the first node of the highest level, the root the one of the lowest row. The bytes have no checksum
//! of their own: the file that they are stored in has one.

use std::fmt;

use super::forest::{PairHash, TreeMarks};
use super::nodes::{Link, MAX_LEVEL, Nodes};
use super::{Hnsw, HnswParams};
use crate::allocator;
use crate::scheduling::in_pieces;
use crate::types::{Node, Row};

const MAGIC: &[u8; 8] = b"KITHHNSW";
const VERSION: u16 = 2;
const TREE: u32 = 1 << 31;

/// Nodes whose base links one thread reads at a time; few in tests, whose graphs are small.
const PIECE_NODES: usize = if cfg!(any(test, feature = "testing")) { 16 } else { 1 << 16 };

/// Stands for a node that is not written.
const LEFT_OUT: u32 = u32::MAX;

/// A graph that was read from bytes.
pub struct ReadGraph {
    /// The graph.
    pub hnsw: Hnsw,
    /// Whether its tree has all nodes, so that each can be reached. Otherwise it needs an [`Hnsw::repair`].
    pub is_connected: bool,
}

/// Why bytes are not a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// They do not begin like one.
    NotAGraph,
    /// They are of a format version that this build does not know.
    UnknownVersion(u16),
    /// They end too early.
    Truncated,
    /// Something in them is out of its range; says what.
    Invalid(&'static str),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::NotAGraph => f.write_str("not a graph file"),
            GraphError::UnknownVersion(version) => write!(f, "graph format version {version} is not known"),
            GraphError::Truncated => f.write_str("the graph file is truncated"),
            GraphError::Invalid(what) => write!(f, "the graph file is damaged: {what}"),
        }
    }
}

impl std::error::Error for GraphError {}

impl Hnsw {
    /// Appends the graph of the nodes with rows before `end`, numbered anew without the others, and returns the
    /// present number of each node written, in order: codes are to be written in the same order.
    ///
    /// Nodes may be inserted meanwhile. What is read back may then need [`Hnsw::repair`], as it does when `end` leaves
    /// out nodes of the graph.
    pub fn write_to(&self, out: &mut Vec<u8>, end: Row) -> Vec<Node> {
        let mut written = Vec::new();
        let mut numbers = vec![LEFT_OUT; self.len() as usize];
        for (node, number) in (0..).map(Node::new).zip(&mut numbers) {
            // A node that is being inserted is of a later row.
            if self.nodes.placed_row(node).is_some_and(|row| row < end) {
                *number = written.len() as u32;
                written.push(node);
            }
        }
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&(self.params.m as u32).to_le_bytes());
        out.extend_from_slice(&(self.params.ef_construct as u32).to_le_bytes());
        out.extend_from_slice(&self.params.seed.to_le_bytes());
        out.extend_from_slice(&(written.len() as u32).to_le_bytes());
        out.extend(written.iter().flat_map(|&node| self.nodes.row_of(node).get().to_le_bytes()));
        // Before the levels are read, so that these are 0 for all duplicates listed here.
        let duplicates = self.duplicates_of(&written, &numbers);
        let levels: Vec<u8> = written.iter().map(|&node| self.nodes.level_of(node) as u8).collect();
        out.extend_from_slice(&levels);
        out.extend_from_slice(&(duplicates.len() as u32).to_le_bytes());
        out.extend(duplicates.iter().flatten().flat_map(|number| number.to_le_bytes()));
        let counts_at = out.len();
        out.resize(counts_at + 2 * written.len(), 0);
        for (at, &node) in written.iter().enumerate() {
            let count = self.write_links(out, node, 0, &numbers);
            out[counts_at + 2 * at..][..2].copy_from_slice(&count.to_le_bytes());
        }
        for (&node, &level) in written.iter().zip(&levels) {
            for layer in 1..=usize::from(level) {
                let count_at = out.len();
                out.extend_from_slice(&[0; 2]);
                let count = self.write_links(out, node, layer, &numbers);
                out[count_at..][..2].copy_from_slice(&count.to_le_bytes());
            }
        }
        written
    }

    /// Each duplicate with the node that it is a duplicate of, in new numbers.
    fn duplicates_of(&self, written: &[Node], numbers: &[u32]) -> Vec<[u32; 2]> {
        let mut pairs = Vec::new();
        if !self.nodes.duplicates.exist() {
            return pairs;
        }
        for (first, &node) in (0..).zip(written).filter(|&(_, &node)| !self.nodes.is_duplicate(node)) {
            let known = |node: Node| numbers.get(node.index()).copied().filter(|&number| number != LEFT_OUT);
            let duplicates = self.nodes.duplicates.of(node).filter_map(known);
            pairs.extend(duplicates.map(|duplicate| [duplicate, first]));
        }
        pairs
    }

    fn write_links(&self, out: &mut Vec<u8>, node: Node, layer: usize, numbers: &[u32]) -> u16 {
        let mut count = 0;
        let mut links = Vec::with_capacity(self.nodes.capacity(layer));
        // Under the lock: a list that is being rewritten may seem to have a link twice.
        self.nodes.lock(node).read(layer, &mut links);
        for link in links {
            // A node that was allocated after the numbers were given is not in this file.
            match numbers.get(link.node().index()) {
                Some(&number) if number != LEFT_OUT => {
                    let mark = if link.in_tree() { TREE } else { 0 };
                    out.extend_from_slice(&(number | mark).to_le_bytes());
                    count += 1;
                }
                _ => {}
            }
        }
        count
    }

    /// Reads a graph of some of the first `rows_len` rows, on several threads. Every number is checked: any bytes give an error
    /// or a graph that is safe to walk.
    ///
    /// # Errors
    /// Why the bytes are no such graph.
    pub fn read_from(bytes: &[u8], rows_len: u32, threads: usize) -> Result<ReadGraph, GraphError> {
        let mut reader = Reader { rest: bytes };
        if reader.take(MAGIC.len()).map_err(|_| GraphError::NotAGraph)? != MAGIC {
            return Err(GraphError::NotAGraph);
        }
        let version = reader.u16()?;
        if version != VERSION {
            return Err(GraphError::UnknownVersion(version));
        }
        if reader.u16()? != 0 {
            return Err(GraphError::Invalid("the bytes after the version"));
        }
        let m = reader.u32()? as usize;
        let ef_construct = reader.u32()? as usize;
        let seed = reader.u64()?;
        let count = reader.u32()?;
        if !(2..=Hnsw::MAX_M).contains(&m) {
            return Err(GraphError::Invalid("m"));
        }
        if !(1..=Hnsw::MAX_EF_CONSTRUCT).contains(&ef_construct) {
            return Err(GraphError::Invalid("ef_construct"));
        }
        if count > rows_len || count > Hnsw::MAX_NODES {
            return Err(GraphError::Invalid("more nodes than there are vectors"));
        }
        let rows = reader.words(count as usize)?;
        let levels = reader.take(count as usize)?;
        let mut graph = Hnsw::new(HnswParams { m, ef_construct, seed });
        graph.nodes = Nodes::new(m, seed, count);
        let mut is_taken = allocator::list(rows_len as usize);
        is_taken.resize(rows_len as usize, false);
        let rows = rows.iter().map(|&row| Row::new(u32::from_le_bytes(row)));
        for (row, &level) in rows.clone().zip(levels) {
            match is_taken.get_mut(row.index()) {
                Some(taken @ false) => *taken = true,
                _ => return Err(GraphError::Invalid("a row that there is not, or twice")),
            }
            if usize::from(level) > MAX_LEVEL {
                return Err(GraphError::Invalid("a level"));
            }
        }
        graph.nodes.append_all(rows.zip(levels.iter().map(|&level| level.into())));
        let are_duplicates = graph.read_duplicates(&mut reader, levels)?;
        let marks = graph.read_links(&mut reader, levels, &are_duplicates, threads)?;
        if !reader.rest.is_empty() {
            return Err(GraphError::Invalid("bytes behind the end"));
        }
        graph.choose_entry();
        let pairs = graph.keep_forest(&marks);
        let linked = count as usize - are_duplicates.count;
        Ok(ReadGraph { hnsw: graph, is_connected: pairs + 1 >= linked })
    }

    /// Which nodes are duplicates of another one.
    fn read_duplicates(&self, reader: &mut Reader<'_>, levels: &[u8]) -> Result<DuplicateFlags, GraphError> {
        let count = reader.u32()? as usize;
        let words = reader.words(count.checked_mul(2).ok_or(GraphError::Truncated)?)?;
        let pairs = words.as_chunks::<2>().0.iter().map(|pair| pair.map(u32::from_le_bytes));
        let mut flags = DuplicateFlags::none(levels.len());
        for [duplicate, _] in pairs.clone() {
            if levels.get(duplicate as usize) != Some(&0) || !flags.set(Node::new(duplicate)) {
                return Err(GraphError::Invalid("a duplicate"));
            }
        }
        // The newest was written first.
        for [duplicate, first] in pairs.rev() {
            let (first, duplicate) = (Node::new(first), Node::new(duplicate));
            if !flags.may_be_linked(first) || self.row_of(first) >= self.row_of(duplicate) {
                return Err(GraphError::Invalid("what a node is a duplicate of"));
            }
            self.nodes.add_duplicate(duplicate, first);
        }
        Ok(flags)
    }

    /// Reads the links of all nodes, and returns which of the base layer have tree marks.
    fn read_links(
        &self,
        reader: &mut Reader<'_>,
        levels: &[u8],
        are_duplicates: &DuplicateFlags,
        threads: usize,
    ) -> Result<Vec<TreeMarks>, GraphError> {
        let counts = reader.shorts(levels.len())?;
        let mut pieces = Vec::with_capacity(counts.len().div_ceil(PIECE_NODES));
        for (at, counts) in counts.chunks(PIECE_NODES).enumerate() {
            let links = counts.iter().map(|&count| usize::from(u16::from_le_bytes(count))).sum();
            pieces.push((at * PIECE_NODES, counts, reader.words(links)?));
        }
        let hash = PairHash::new();
        let marks = in_pieces(threads, pieces.len(), |at| {
            let (first, counts, mut words) = pieces[at];
            let mut marks = TreeMarks::with_room(counts.len(), hash, self.nodes.tree_capacity());
            for (node, &count) in (first as u32..).map(Node::new).zip(counts) {
                let links =
                    words.split_off(..u16::from_le_bytes(count).into()).ok_or(GraphError::Truncated)?;
                self.read_list(links, (node, 0), are_duplicates)?;
                let marked =
                    links.iter().map(|&word| u32::from_le_bytes(word)).filter(|word| word & TREE != 0);
                marks.note(node, marked.map(|word| Node::new(word & !TREE)));
            }
            Ok(marks)
        })?;
        for (node, &level) in (0..).map(Node::new).zip(levels) {
            for layer in 1..=usize::from(level) {
                let links = reader.u16()?;
                self.read_list(reader.words(links.into())?, (node, layer), are_duplicates)?;
            }
        }
        Ok(marks)
    }

    fn read_list(
        &self,
        links: &[[u8; 4]],
        (node, layer): (Node, usize),
        are_duplicates: &DuplicateFlags,
    ) -> Result<(), GraphError> {
        let is_too_long = links.len() > self.nodes.words(node, layer).len();
        if is_too_long || !links.is_empty() && !are_duplicates.may_be_linked(node) {
            return Err(GraphError::Invalid("too many links"));
        }
        for &word in links {
            let word = u32::from_le_bytes(word);
            let (to, in_tree) = (Node::new(word & !TREE), word & TREE != 0);
            if !are_duplicates.may_be_linked(to) || to == node {
                return Err(GraphError::Invalid(
                    "a link to itself, to a duplicate, or to a node that there is not",
                ));
            }
            if layer > 0 && (in_tree || self.nodes.level_of(to) < layer) {
                return Err(GraphError::Invalid("a link in a layer where it cannot be"));
            }
        }
        let links = links.iter().map(|&word| u32::from_le_bytes(word));
        self.nodes.write(node, layer, links.map(|word| Link::new(Node::new(word & !TREE), word & TREE != 0)));
        Ok(())
    }
}

/// Which nodes of a file are duplicates. The nodes themselves know it too, but that would be an access to memory for each link.
struct DuplicateFlags {
    nodes: usize,
    /// How many duplicates there are.
    count: usize,
    /// Empty where there are none, as in most graphs.
    flags: Vec<bool>,
}

impl DuplicateFlags {
    fn none(nodes: usize) -> DuplicateFlags {
        DuplicateFlags { nodes, count: 0, flags: Vec::new() }
    }

    /// False where there is no such node, or it is a duplicate already.
    fn set(&mut self, node: Node) -> bool {
        if self.flags.is_empty() {
            self.flags = allocator::list(self.nodes);
            self.flags.resize(self.nodes, false);
        }
        let is_new = self.flags.get_mut(node.index()).is_some_and(|flag| !std::mem::replace(flag, true));
        self.count += usize::from(is_new);
        is_new
    }

    /// Whether there is such a node, and it is no duplicate.
    #[inline(always)]
    fn may_be_linked(&self, node: Node) -> bool {
        if self.flags.is_empty() {
            node.index() < self.nodes
        } else {
            self.flags.get(node.index()) == Some(&false)
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], GraphError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(GraphError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], GraphError> {
        self.take(N).map(|bytes| bytes.try_into().expect("N bytes were taken"))
    }

    fn words(&mut self, count: usize) -> Result<&'a [[u8; 4]], GraphError> {
        Ok(self.take(count.checked_mul(4).ok_or(GraphError::Truncated)?)?.as_chunks().0)
    }

    fn shorts(&mut self, count: usize) -> Result<&'a [[u8; 2]], GraphError> {
        Ok(self.take(count.checked_mul(2).ok_or(GraphError::Truncated)?)?.as_chunks().0)
    }

    fn u16(&mut self) -> Result<u16, GraphError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, GraphError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, GraphError> {
        self.array().map(u64::from_le_bytes)
    }
}
