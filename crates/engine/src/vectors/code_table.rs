//! The codes of one graph.

use std::ops::Range;

use kithdb_kernels::{CodeDot, CodeWidth, Hint, QueryLine, code_kernels, coding_kernels};

use super::code_query::CodeQuery;
use super::encoder::Encoder;
use super::encoder_format::{FormatError, take};
use super::layout::Layout;
use crate::arena::CodeArena;
use crate::types::{Metric, Node};

/// [`kithdb_kernels::CodingKernels::decode`].
type Decode = fn(&[u8], CodeWidth, usize, &mut [i8]) -> i32;

/// The codes of a graph's nodes, each with its scale and bias, and distances to them.
///
/// Nodes are filled once each, in any order and by any threads, while others read; memory never moves. Distances are
/// those of `Distance`, estimated: smaller is better, and always a finite number without −0. A node that was never
/// filled is at the greatest distance.
pub struct CodeTable {
    arena: CodeArena,
    layout: Layout,
    dot: CodeDot,
    decode: Decode,
    metric: Metric,
    kappa: f32,
    /// What a row's scale is multiplied with when the row stands as a query. Below 1 where codes keep a part of the
    /// components only: the scale then makes up for the others, which must not happen twice.
    query_share: f32,
}

impl CodeTable {
    /// An empty table for the codes of an encoder, and of no other.
    pub fn new(encoder: &Encoder) -> CodeTable {
        let layout = encoder.layout();
        CodeTable {
            arena: CodeArena::new(layout.payload_bytes),
            layout,
            metric: encoder.metric(),
            dot: code_kernels().dot(layout.width),
            decode: coding_kernels().decode,
            kappa: encoder.kappa(),
            query_share: layout.components as f32 / encoder.dim() as f32,
        }
    }

    /// The metric whose distances the codes estimate.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Allocates what the codes of the nodes below `end` will need. Without memory it unwinds to the next
    /// `catch` of the allocator.
    pub fn provide(&self, end: u32) {
        self.arena.provide(end);
    }

    /// Writes the code of a node, and leaves `query` standing for the vector. Panics when the node has a code already,
    /// and when the encoder makes codes of another size or the vector has another length.
    pub fn fill(&self, node: Node, encoder: &Encoder, vector: &[f32], query: &mut CodeQuery) {
        assert_eq!(encoder.layout(), self.layout, "an encoder for other codes");
        let (scale, bias) = encoder.encode(vector, query);
        self.arena.write(node.get(), &query.payload, tag_of(scale, bias));
    }

    /// The estimated distance of a node.
    #[inline]
    pub fn one(&self, query: &CodeQuery, node: Node) -> f32 {
        match self.arena.row(node.get()) {
            Some((row, tag)) => self.distance(query, (self.dot.one)(&query.lines, row), tag),
            None => f32::MAX,
        }
    }

    /// The estimated distances of four nodes; the same numbers as [`CodeTable::one`] gives for each.
    #[inline]
    pub fn four(&self, query: &CodeQuery, nodes: [Node; 4]) -> [f32; 4] {
        let [a, b, c, d] = nodes.map(|node| self.arena.row(node.get()));
        let (Some((a, tag_a)), Some((b, tag_b)), Some((c, tag_c)), Some((d, tag_d))) = (a, b, c, d) else {
            return nodes.map(|node| self.one(query, node));
        };
        let [sum_a, sum_b, sum_c, sum_d] = (self.dot.four)(&query.lines, [a, b, c, d]);
        [
            self.distance(query, sum_a, tag_a),
            self.distance(query, sum_b, tag_b),
            self.distance(query, sum_c, tag_c),
            self.distance(query, sum_d, tag_d),
        ]
    }

    /// Asks for the first `bytes` of a node's code.
    #[inline(always)]
    pub fn prefetch(&self, hint: Hint, node: Node, bytes: usize) {
        self.arena.prefetch(hint, node.get(), bytes);
    }

    /// Bytes of memory that are read for a node, whole cache lines.
    pub fn row_bytes(&self) -> usize {
        self.arena.row_bytes()
    }

    /// Makes `query` stand for a node, as precisely as its code is. A node that was never filled stands for the
    /// sample's mean.
    pub fn load(&self, node: Node, query: &mut CodeQuery) {
        query.fit(&self.layout);
        let Some((payload, tag)) = self.arena.payload(node.get()) else {
            query.lines.fill(QueryLine::ZERO);
            (query.factor, query.bias, query.row_bias, query.excess) = (0.0, 0.0, 1.0, 0);
            return;
        };
        let (scale, bias) = factors_of(tag);
        let lines = QueryLine::components_mut(&mut query.lines);
        let mut sum = 0;
        for (plane, (components, places)) in self.layout.planes().enumerate() {
            sum += (self.decode)(&payload[..components.len()], self.layout.width, plane, &mut lines[places]);
        }
        query.factor = self.kappa * self.query_share * scale;
        (query.bias, query.row_bias) = (bias, 1.0);
        query.excess = self.layout.origin() * sum;
    }

    /// Copies the code of a node of another table of the same encoder. Does nothing where there is none. Panics when
    /// the codes are of another size or the node has one already.
    pub fn copy_node(&self, from: &CodeTable, from_node: Node, to_node: Node) {
        assert_eq!(from.layout, self.layout, "codes of another encoder");
        if let Some((payload, tag)) = from.arena.payload(from_node.get()) {
            self.arena.write(to_node.get(), payload, tag);
        }
    }

    /// Whether two nodes have the same code, scale and bias, and so the same distance from every query.
    pub fn is_same(&self, a: Node, b: Node) -> bool {
        matches!((self.arena.payload(a.get()), self.arena.payload(b.get())), (Some(a), Some(b)) if a == b)
    }

    /// Whether a node has its code.
    pub fn is_filled(&self, node: Node) -> bool {
        self.arena.row(node.get()).is_some()
    }

    /// One past the greatest node that was ever reserved or filled.
    pub fn len(&self) -> u32 {
        self.arena.len()
    }

    /// Whether no node was ever reserved or filled.
    pub fn is_empty(&self) -> bool {
        self.arena.is_empty()
    }

    /// Bytes that a node takes in a file.
    pub fn node_bytes(&self) -> usize {
        self.layout.payload_bytes + size_of::<u64>()
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.arena.bytes()
    }

    /// Appends the codes of some nodes, [`CodeTable::node_bytes`] each, as [`CodeTable::read_from`] reads them. A node
    /// without a code is zeros. Others may be filled meanwhile.
    pub fn write_to(&self, nodes: Range<u32>, out: &mut Vec<u8>) {
        out.reserve(nodes.len() * self.node_bytes());
        for node in nodes {
            match self.arena.payload(node) {
                Some((payload, tag)) => {
                    out.extend_from_slice(payload);
                    out.extend_from_slice(&tag.to_le_bytes());
                }
                None => out.resize(out.len() + self.node_bytes(), 0),
            }
        }
    }

    /// Reserves the codes of the nodes below `end`, so that threads which fill them at the same time do not write to the same
    /// memory.
    pub fn reserve(&self, end: u32) {
        self.arena.reserve(end);
    }

    /// Fills the nodes from `first` on with codes that [`CodeTable::write_to`] wrote. Panics when one of them has a
    /// code already or would be beyond the greatest node there can be.
    pub fn read_from(&self, first: u32, bytes: &[u8]) -> Result<(), FormatError> {
        if !bytes.len().is_multiple_of(self.node_bytes()) {
            return Err(FormatError("codes that end within a node"));
        }
        for (node, bytes) in (first..).zip(bytes.chunks_exact(self.node_bytes())) {
            let (payload, mut rest) = bytes.split_at(self.layout.payload_bytes);
            let tag = u64::from_le_bytes(take(&mut rest)?);
            let (scale, bias) = factors_of(tag);
            if tag == 0 {
                continue;
            }
            if tag != tag_of(scale, bias) || !(scale.is_finite() && bias.is_finite() && scale >= 0.0) {
                return Err(FormatError("a code with factors that are no numbers"));
            }
            self.arena.write(node, payload, tag);
        }
        Ok(())
    }

    #[inline(always)]
    fn distance(&self, query: &CodeQuery, sum: i32, tag: u64) -> f32 {
        let (scale, bias) = factors_of(tag);
        // Both within 2³¹: 65,536 components of at most 127 · 128 and 2 · 127 · 15.
        let product = self.layout.stretch() * sum - query.excess;
        let distance = (query.bias + query.row_bias * bias) - (query.factor * scale) * product as f32;
        // NaN is the difference of two overflows, and the worst. Adding zero turns −0 into 0.
        if distance.is_nan() { f32::MAX } else { distance.clamp(f32::MIN, f32::MAX) + 0.0 }
    }
}

/// Scale and bias as the tag of a row: the arena takes the lowest bit, which is the last digit of the scale.
fn tag_of(scale: f32, bias: f32) -> u64 {
    u64::from(bias.to_bits()) << 32 | u64::from(scale.to_bits() | 1)
}

#[inline(always)]
fn factors_of(tag: u64) -> (f32, f32) {
    (f32::from_bits(tag as u32), f32::from_bits((tag >> 32) as u32))
}
