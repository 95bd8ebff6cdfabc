//! Rows as bytes: what a component is, and the table of kernels that read it.

/// A kernel over a query and one row of bytes, which holds as many components as the query.
pub type OneByteRow = fn(&[f32], &[u8]) -> f32;

/// A kernel over a query and four rows of bytes.
pub type FourByteRows = fn(&[f32], [&[u8]; 4]) -> [f32; 4];

/// Writes the components of a row of bytes to as many floats.
pub type Widen = fn(&[u8], &mut [f32]);

/// One kernel of each kind over rows of one element type, which need no alignment.
///
/// Components are little-endian and follow each other without gaps. They are widened to `f32`, which is exact, and
/// compared in `f32`. Every function panics when a row is not as long as the query asks.
#[derive(Debug)]
pub struct RowKernels {
    /// Inner product, Σ qᵢrᵢ.
    pub dot: OneByteRow,
    /// Inner products of one query with four rows.
    pub dot4: FourByteRows,
    /// Squared Euclidean distance, Σ (qᵢ − rᵢ)².
    pub l2_squared: OneByteRow,
    /// Squared Euclidean distances of one query to four rows.
    pub l2_squared4: FourByteRows,
    /// Manhattan distance, Σ |qᵢ − rᵢ|.
    pub l1: OneByteRow,
    /// Manhattan distances of one query to four rows.
    pub l1_4: FourByteRows,
    /// The components as `f32`.
    pub widen: Widen,
}

// The element type of a row; a const parameter, so that each level states its loop only once.
pub(crate) const F32: u8 = 0;
pub(crate) const F16: u8 = 1;
pub(crate) const U8: u8 = 2;

/// Bytes of a component.
pub(crate) const fn component_bytes(element: u8) -> usize {
    match element {
        F32 => 4,
        F16 => 2,
        _ => 1,
    }
}

/// The component that `component_bytes` bytes encode.
#[inline(always)]
pub(crate) fn component<const ELEMENT: u8>(bytes: &[u8]) -> f32 {
    match (ELEMENT, bytes) {
        (F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
        (F16, &[a, b]) => half::f16::from_le_bytes([a, b]).to_f32_const(),
        (_, &[a]) => f32::from(a),
        _ => unreachable!("as many bytes as a component has"),
    }
}

/// A vector as a row of `f32` components, for kernels that take bytes.
pub fn bytes_of(vector: &[f32]) -> &[u8] {
    // SAFETY: the bytes of floats are initialised, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(vector.as_ptr().cast(), size_of_val(vector)) }
}
