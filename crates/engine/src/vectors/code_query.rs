//! A vector in the form in which codes are compared with it.

use kithdb_kernels::QueryLine;

use super::layout::Layout;

/// A vector as [`CodeTable`](super::CodeTable) compares codes with it: eight bits a component with a scale and a bias.
/// It stands for a query after [`Encoder::query`](super::Encoder::query), for a node after
/// [`CodeTable::fill`](super::CodeTable::fill) and [`CodeTable::load`](super::CodeTable::load). Reused, it allocates
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct CodeQuery {
    /// Components in the planes of the layout, zero where there is none.
    pub(super) lines: Vec<QueryLine>,
    /// κ times the scale of the components.
    pub(super) factor: f32,
    pub(super) bias: f32,
    /// The factor of the bias of a row.
    pub(super) row_bias: f32,
    /// By how much the kernel's sum is too great: the layout's origin times the sum of the components.
    pub(super) excess: i32,
    /// The rotated residual, while a vector is being encoded.
    pub(super) rotated: Vec<f32>,
    /// The part of the mean that is subtracted from a query, while it is being encoded.
    pub(super) part_of_mean: Vec<f32>,
    /// Its codes, one a byte.
    pub(super) codes: Vec<u8>,
    /// Its codes, packed.
    pub(super) payload: Vec<u8>,
}

impl CodeQuery {
    /// A query that is not filled yet.
    pub fn new() -> CodeQuery {
        CodeQuery::default()
    }

    /// Gives the components the size of a layout. What is there of the same layout stays: it is overwritten by the
    /// caller, and the places between planes are zero already.
    #[inline]
    pub(super) fn fit(&mut self, layout: &Layout) {
        let fits = self.lines.len() == layout.query_lines()
            && self.codes.len() == layout.components
            && self.payload.len() == layout.payload_bytes;
        if !fits {
            self.lines.clear();
            self.lines.resize(layout.query_lines(), QueryLine::ZERO);
            self.codes.resize(layout.components, 0);
            self.payload.resize(layout.payload_bytes, 0);
        }
    }
}
