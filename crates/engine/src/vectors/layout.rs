//! How the components of a vector lie in a code.

use kithdb_kernels::{CODE_LINE_BYTES, CodeWidth};

/// What a code keeps of a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodeParams {
    /// Bits a component: 8, 4, 2 or 1.
    pub bits: u8,
    /// Keeps the first half of the rotated components only, which is a random projection to half the dimensions.
    pub half: bool,
    /// With 8 bits: the share of components that lie within the range of a code, above 0.5; those beyond it are
    /// clipped. Without it the range is that of the vector and nothing is clipped.
    pub quantile: Option<f32>,
}

impl CodeParams {
    /// That number of bits for every component, nothing clipped.
    pub const fn plain(bits: u8) -> CodeParams {
        CodeParams { bits, half: false, quantile: None }
    }
}

impl Default for CodeParams {
    /// Eight bits for every component, nothing clipped.
    fn default() -> CodeParams {
        CodeParams::plain(8)
    }
}

/// Sizes of a code. A payload of `n` bytes is `8 / bits` planes of `n` components, the last plane possibly shorter;
/// see `CodeKernels` for how kernels read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) width: CodeWidth,
    /// Components that are kept: the first of the rotated vector.
    pub(super) components: usize,
    /// Bytes of a payload, which is also the number of components of a full plane.
    pub(super) payload_bytes: usize,
}

impl Layout {
    /// Panics when the number of bits is none of 8, 4, 2 and 1.
    pub(super) fn of(dim: usize, params: CodeParams) -> Layout {
        let width = CodeWidth::of_bits(params.bits).expect("codes of 8, 4, 2 or 1 bits");
        let components = if params.half { dim.div_ceil(2) } else { dim };
        Layout { width, components, payload_bytes: components.div_ceil(width.planes()) }
    }

    /// Lines of a query: those of a padded row for each plane.
    pub(super) fn query_lines(&self) -> usize {
        self.plane_lines() * self.width.planes()
    }

    fn plane_lines(&self) -> usize {
        self.payload_bytes.div_ceil(CODE_LINE_BYTES)
    }

    /// For each plane that is not empty: its components, and where they are in the query's components.
    pub(super) fn planes(&self) -> impl Iterator<Item = (std::ops::Range<usize>, std::ops::Range<usize>)> {
        let layout = *self;
        (0..layout.width.planes()).map_while(move |plane| {
            let first = plane * layout.payload_bytes;
            let last = layout.components.min(first + layout.payload_bytes);
            let start = plane * layout.plane_lines() * CODE_LINE_BYTES;
            (first < last).then(|| (first..last, start..start + (last - first)))
        })
    }

    /// Packs one code a byte into a payload.
    pub(super) fn pack(&self, codes: &[u8], payload: &mut [u8]) {
        payload.fill(0);
        for (plane, (components, _)) in self.planes().enumerate() {
            let shift = plane * self.width.bits();
            for (byte, &code) in payload.iter_mut().zip(&codes[components]) {
                *byte |= code << shift;
            }
        }
    }

    /// The integer v that a code u stands for is `stretch()·u − origin()`.
    pub(super) fn stretch(&self) -> i32 {
        if self.width == CodeWidth::Eight { 1 } else { 2 }
    }

    /// See [`Layout::stretch`].
    pub(super) fn origin(&self) -> i32 {
        if self.width == CodeWidth::Eight { 128 } else { (1 << self.width.bits()) - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_compression() {
        let payload = |bits, half| Layout::of(768, CodeParams { bits, half, quantile: None }).payload_bytes;
        assert_eq!([8, 4, 2, 1].map(|bits| payload(bits, false)), [768, 384, 192, 96]);
        assert_eq!(payload(1, true), 48);
    }

    #[test]
    fn planes_cover_every_component_once_at_any_dimension() {
        for dim in (1..200).chain([784, 65_536]) {
            for (bits, half) in [(8, false), (4, false), (2, false), (1, false), (1, true)] {
                let layout = Layout::of(dim, CodeParams { bits, half, quantile: None });
                let mut next = 0;
                for (components, places) in layout.planes() {
                    assert_eq!((components.start, components.len()), (next, places.len()));
                    assert!(places.end <= layout.query_lines() * CODE_LINE_BYTES);
                    next = components.end;
                }
                assert_eq!(next, layout.components);
            }
        }
    }
}
