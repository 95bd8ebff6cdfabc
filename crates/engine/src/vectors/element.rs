//! The rows that originals are kept in.

use half::f16;
use kithdb_kernels::{RowKernels, kernels, norm};

use crate::types::{Datatype, Metric};

/// How the originals of a field are kept as rows of bytes: little-endian components without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
    /// Whole numbers from 0 to 255.
    U8,
    /// Whole numbers from 0 to 255 that are compared by their direction (Cosine): the components as they were sent,
    /// zeros up to a multiple of four bytes, and one over the vector's length as `f32`, or 0 for a vector of zeros.
    U8Unit,
}

impl RowFormat {
    /// The format of a field.
    pub fn of(metric: Metric, datatype: Datatype) -> RowFormat {
        match (datatype, metric) {
            (Datatype::Float32, _) => RowFormat::F32,
            (Datatype::Float16 | Datatype::Turbo4, _) => RowFormat::F16,
            (Datatype::Uint8, Metric::Cosine) => RowFormat::U8Unit,
            (Datatype::Uint8, _) => RowFormat::U8,
        }
    }

    /// Bytes of a row of `dim` components.
    pub fn row_bytes(self, dim: usize) -> usize {
        match self {
            RowFormat::F32 => dim * 4,
            RowFormat::F16 => dim * 2,
            RowFormat::U8 => dim,
            RowFormat::U8Unit => dim.next_multiple_of(4) + 4,
        }
    }

    /// Appends the row of a prepared vector to `out`: one whose components the field's datatype can hold, and that is
    /// normalised under Cosine, but for `uint8`. What the datatype cannot hold is rounded to what it can.
    pub fn encode(self, vector: &[f32], out: &mut Vec<u8>) {
        match self {
            RowFormat::F32 => vector.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
            RowFormat::F16 => {
                vector.iter().for_each(|&v| out.extend_from_slice(&f16::from_f32(v).to_le_bytes()));
            }
            RowFormat::U8 => out.extend(vector.iter().map(|&v| v as u8)),
            RowFormat::U8Unit => {
                out.extend(vector.iter().map(|&v| v as u8));
                out.resize(out.len() + vector.len().next_multiple_of(4) - vector.len(), 0);
                let length = norm(vector);
                let inverse = if length == 0.0 { 0.0 } else { (1.0 / length) as f32 };
                out.extend_from_slice(&inverse.to_le_bytes());
            }
        }
    }

    /// Appends the `dim` components of a row to `out`, as clients read them back (C2.4, C2.6). Panics when the row is
    /// not as long as a row of this format is.
    pub fn decode(self, row: &[u8], dim: usize, out: &mut Vec<f32>) {
        let from = out.len();
        out.resize(from + dim, 0.0);
        (self.kernels().widen)(self.components(row, dim), &mut out[from..]);
    }

    /// Appends the `dim` components of a row to `out`, as they are compared: normalised where the metric
    /// compares directions. Panics when the row is not as long as a row of this format is.
    pub fn decode_for_search(self, row: &[u8], dim: usize, out: &mut Vec<f32>) {
        let from = out.len();
        self.decode(row, dim, out);
        if self == RowFormat::U8Unit {
            let inverse = inverse_norm(row);
            out[from..].iter_mut().for_each(|v| *v *= inverse);
        }
    }
}

impl RowFormat {
    /// The kernels that read the components of a row.
    pub(crate) fn kernels(self) -> &'static RowKernels {
        match self {
            RowFormat::F32 => &kernels().rows_f32,
            RowFormat::F16 => &kernels().rows_f16,
            RowFormat::U8 | RowFormat::U8Unit => &kernels().rows_u8,
        }
    }

    /// The bytes of a row that are its `dim` components. Panics when the row is not as long as a row of this format.
    #[inline(always)]
    pub(crate) fn components(self, row: &[u8], dim: usize) -> &[u8] {
        assert_eq!(row.len(), self.row_bytes(dim), "row of a wrong length");
        if self == RowFormat::U8Unit { &row[..dim] } else { row }
    }
}

/// One over the length of the vector in a row of [`RowFormat::U8Unit`].
#[inline(always)]
pub(crate) fn inverse_norm(row: &[u8]) -> f32 {
    let (_, inverse) = row.split_last_chunk::<4>().expect("such a row ends in four bytes");
    f32::from_le_bytes(*inverse)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMATS: [RowFormat; 4] = [RowFormat::F32, RowFormat::F16, RowFormat::U8, RowFormat::U8Unit];

    proptest! {
        #[test]
        fn what_a_format_can_hold_is_read_back_as_it_was_sent_c2_6(
            bytes in prop::collection::vec(any::<u8>(), 1..70), scale in prop_oneof![Just(1.0f32), Just(0.0)],
        ) {
            let vector: Vec<f32> = bytes.iter().map(|&v| f32::from(v) * scale).collect();
            for format in FORMATS {
                let mut row = vec![9];
                format.encode(&vector, &mut row);
                prop_assert_eq!(row.len(), 1 + format.row_bytes(vector.len()));
                let mut read = vec![-1.0];
                format.decode(&row[1..], vector.len(), &mut read);
                prop_assert_eq!(&read[1..], &vector[..], "{:?}", format);
                let mut compared = vec![-1.0];
                format.decode_for_search(&row[1..], vector.len(), &mut compared);
                if format == RowFormat::U8Unit && vector.iter().any(|&v| v > 0.0) {
                    prop_assert!((norm(&compared[1..]) - 1.0).abs() < 1e-6);
                } else {
                    prop_assert_eq!(&compared[1..], &vector[..]);
                }
            }
        }

        #[test]
        fn floats_are_kept_bit_for_bit_or_rounded_to_f16(vector in prop::collection::vec(any::<f32>(), 1..40)) {
            for (format, kept) in
                [(RowFormat::F32, (|v| v) as fn(f32) -> f32), (RowFormat::F16, |v| f16::from_f32(v).to_f32())]
            {
                let (mut row, mut read) = (Vec::new(), Vec::new());
                format.encode(&vector, &mut row);
                format.decode(&row, vector.len(), &mut read);
                let bits = |v: f32| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() };
                prop_assert!(read.iter().zip(&vector).all(|(&read, &sent)| bits(read) == bits(kept(sent))));
            }
        }
    }

    #[test]
    fn the_format_follows_the_datatype() {
        for metric in [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan] {
            assert_eq!(RowFormat::of(metric, Datatype::Float32).row_bytes(100), 400);
            assert_eq!(RowFormat::of(metric, Datatype::Float16).row_bytes(100), 200);
            let unit = metric == Metric::Cosine;
            assert_eq!(RowFormat::of(metric, Datatype::Uint8).row_bytes(99), if unit { 104 } else { 99 });
        }
    }

    #[test]
    #[should_panic(expected = "row of a wrong length")]
    fn a_row_of_another_dimension_is_refused() {
        RowFormat::F16.decode(&[0; 8], 3, &mut Vec::new());
    }
}
