//! The graph as bytes.
//!
//! All numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `KITHHNSW` |
//! | 2 | format version, 1 |
//! | 1 | metric: 0 Cosine, 1 Euclid, 2 Dot, 3 Manhattan |
//! | 1 | 0 |
//! | 4 | m |
//! | 4 | ef_construct |
//! | 8 | seed |
//! | 4 | rows: every row in the file is below this |
//! | ⌈rows / 8⌉ | one bit a row, lowest first: in the graph or not |
//! | | then for every row in the graph, ascending, for layer 0 up to its level: |
//! | 2 | number of links |
//! | 4 each | links: bits 0–30 the row, bit 31 the tree mark (layer 0 only) |
//!
//! Levels follow from seed and row and are not stored; the entry point is the first row of the highest level. The
//! bytes carry no checksum of their own: the file that they are stored in does.

use std::fmt;
use std::sync::atomic::Ordering;

use super::nodes::Link;
use super::{Hnsw, HnswParams, pack_entry};
use crate::types::Metric;
use crate::vectors::RowFormat;

const MAGIC: &[u8; 8] = b"KITHHNSW";
const VERSION: u16 = 1;
const TREE: u32 = 1 << 31;

/// The metrics by the number that stands for them.
const METRICS: [Metric; 4] = [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan];

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
    /// Appends the graph of the rows below `upto_rows`; links to other rows are left out.
    ///
    /// Rows may be inserted meanwhile. What is read back may then need [`Hnsw::repair`], as it does when `upto_rows`
    /// leaves out rows of the graph.
    pub fn write_to(&self, out: &mut Vec<u8>, upto_rows: u32) {
        let rows = upto_rows.min(self.nodes.end());
        let metric =
            METRICS.iter().position(|&metric| metric == self.metric).expect("every metric is listed");
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[metric as u8, 0]);
        out.extend_from_slice(&(self.params.m as u32).to_le_bytes());
        out.extend_from_slice(&(self.params.ef_construct as u32).to_le_bytes());
        out.extend_from_slice(&self.params.seed.to_le_bytes());
        out.extend_from_slice(&rows.to_le_bytes());
        let mut present = vec![0u8; rows.div_ceil(8) as usize];
        for row in (0..rows).filter(|&row| self.contains(row)) {
            present[row as usize / 8] |= 1 << (row % 8);
        }
        out.extend_from_slice(&present);
        for row in (0..rows).filter(|&row| is_set(&present, row)) {
            for layer in 0..=self.nodes.level_of(row) {
                let count_at = out.len();
                let mut count = 0u16;
                out.extend_from_slice(&count.to_le_bytes());
                self.nodes.for_each_link(row, layer, |link| {
                    // A row that was claimed after the bits were taken is not in this file.
                    if link.row() < rows && is_set(&present, link.row()) {
                        let mark = if link.in_tree() { TREE } else { 0 };
                        out.extend_from_slice(&(link.row() | mark).to_le_bytes());
                        count += 1;
                    }
                });
                out[count_at..count_at + 2].copy_from_slice(&count.to_le_bytes());
            }
        }
    }

    /// Reads a graph of rows below `rows_len`, which have that format and dimension. Every number is checked: whatever the bytes, the outcome is an error or
    /// a graph that is safe to search. Call [`Hnsw::repair`] before relying on it that every row is reachable.
    pub fn read_from(bytes: &[u8], rows_len: u32, format: RowFormat, dim: usize) -> Result<Hnsw, GraphError> {
        let mut reader = Reader { rest: bytes };
        if reader.take(MAGIC.len()).map_err(|_| GraphError::NotAGraph)? != MAGIC {
            return Err(GraphError::NotAGraph);
        }
        let version = reader.u16()?;
        if version != VERSION {
            return Err(GraphError::UnknownVersion(version));
        }
        let metric = *METRICS.get(reader.u16()? as usize).ok_or(GraphError::Invalid("metric"))?;
        let m = reader.u32()? as usize;
        let ef_construct = reader.u32()? as usize;
        let seed = reader.u64()?;
        let rows = reader.u32()?;
        if !(2..=512).contains(&m) {
            return Err(GraphError::Invalid("m"));
        }
        if !(1..=65_536).contains(&ef_construct) {
            return Err(GraphError::Invalid("ef_construct"));
        }
        if rows > rows_len || rows > Hnsw::MAX_ROWS {
            return Err(GraphError::Invalid("more rows than there are vectors"));
        }
        let present = reader.take(rows.div_ceil(8) as usize)?;
        if (rows..rows.next_multiple_of(8)).any(|row| is_set(present, row)) {
            return Err(GraphError::Invalid("a row beyond the last"));
        }
        let graph = Hnsw::new(HnswParams { m, ef_construct, seed }, metric, format, dim);
        graph.read_nodes(&mut reader, rows, present)?;
        if !reader.rest.is_empty() {
            return Err(GraphError::Invalid("bytes behind the end"));
        }
        graph.keep_forest();
        Ok(graph)
    }

    fn read_nodes(&self, reader: &mut Reader, rows: u32, present: &[u8]) -> Result<(), GraphError> {
        let mut highest: Option<(usize, u32)> = None;
        for row in (0..rows).filter(|&row| is_set(present, row)) {
            let level = self.nodes.level_of(row);
            self.nodes.claim(row);
            if highest.is_none_or(|(top, _)| level > top) {
                highest = Some((level, row));
            }
            for layer in 0..=level {
                let links = self.read_links(reader, rows, present, row, layer)?;
                self.nodes.lock(row).write(layer, &links);
            }
        }
        if let Some((level, row)) = highest {
            self.entry.store(pack_entry(row, level), Ordering::Release);
            let first = (0..rows).find(|&row| is_set(present, row)).unwrap_or(row);
            self.root.store(u64::from(first) + 1, Ordering::Release);
        }
        Ok(())
    }

    fn read_links(
        &self,
        reader: &mut Reader,
        rows: u32,
        present: &[u8],
        row: u32,
        layer: usize,
    ) -> Result<Vec<Link>, GraphError> {
        let count = reader.u16()? as usize;
        if count > self.nodes.capacity(layer) {
            return Err(GraphError::Invalid("too many links"));
        }
        let mut links = Vec::with_capacity(count);
        for _ in 0..count {
            let word = reader.u32()?;
            let (to, in_tree) = (word & !TREE, word & TREE != 0);
            if to >= rows || !is_set(present, to) || to == row {
                return Err(GraphError::Invalid("a link to a row that is not in the graph"));
            }
            if self.nodes.level_of(to) < layer || in_tree && layer > 0 {
                return Err(GraphError::Invalid("a link in a layer where it cannot be"));
            }
            links.push(Link::new(to, in_tree));
        }
        Ok(links)
    }
}

fn is_set(bits: &[u8], row: u32) -> bool {
    bits[row as usize / 8] & (1 << (row % 8)) != 0
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
