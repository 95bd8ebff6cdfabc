//! The rows that sparse vectors are kept in.

use half::f16;

use super::element::RowFormat;
use super::value::SparseVector;
use crate::types::{Datatype, Metric};

const INDEX_BYTES: usize = size_of::<u32>();

/// How the elements of a sparse vector are kept as bytes: the indices, ascending, as little-endian `u32`, then the values
/// in the element type of the field. How many there are follows from the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseFormat {
    datatype: Datatype,
}

impl SparseFormat {
    /// The format of a field that keeps this element type.
    pub fn of(datatype: Datatype) -> SparseFormat {
        SparseFormat { datatype }
    }

    /// Bytes of a value.
    pub fn value_bytes(self) -> usize {
        self.values().row_bytes(1)
    }

    /// Bytes of an element: an index and a value.
    pub fn element_bytes(self) -> usize {
        INDEX_BYTES + self.value_bytes()
    }

    /// Rounds the values to the element type.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub fn prepare(self, vector: &mut SparseVector) -> Result<(), String> {
        match self.datatype {
            Datatype::Float32 => {}
            Datatype::Float16 | Datatype::Turbo4 => {
                for value in &mut vector.values {
                    let rounded = f16::from_f32(*value);
                    if !rounded.is_finite() {
                        return Err(format!("{value} is beyond the range of float16"));
                    }
                    *value = rounded.to_f32();
                }
            }
            Datatype::Uint8 => {
                if let Some(bad) =
                    vector.values.iter().find(|v| !(0.0..=255.0).contains(*v) || v.fract() != 0.0)
                {
                    return Err(format!("uint8 vectors take whole numbers from 0 to 255, got {bad}"));
                }
            }
        }
        Ok(())
    }

    /// Appends the row of a prepared vector.
    pub fn encode(self, vector: &SparseVector, out: &mut Vec<u8>) {
        out.reserve(vector.len() * self.element_bytes());
        vector.indices.iter().for_each(|index| out.extend_from_slice(&index.to_le_bytes()));
        self.values().encode(&vector.values, out);
    }

    /// Elements of a row; `None` when no row of this format is that long.
    pub fn len(self, row_bytes: usize) -> Option<usize> {
        row_bytes.is_multiple_of(self.element_bytes()).then_some(row_bytes / self.element_bytes())
    }

    /// A row that [`SparseFormat::encode`] wrote, to be read. Panics when its length is none.
    pub fn row(self, bytes: &[u8]) -> SparseRow<'_> {
        let len = self.len(bytes.len()).expect("a sparse row of a wrong length");
        let (indices, values) = bytes.split_at(len * INDEX_BYTES);
        SparseRow { format: self, indices: indices.as_chunks().0, values }
    }

    /// The format of the values by themselves.
    fn values(self) -> RowFormat {
        RowFormat::of(Metric::Dot, self.datatype)
    }

    /// Appends `count` values that lie in `bytes` one after the other.
    pub fn decode_values(self, bytes: &[u8], count: usize, out: &mut Vec<f32>) {
        self.values().decode(bytes, count, out);
    }
}

/// The elements of a row.
#[derive(Clone, Copy)]
pub struct SparseRow<'a> {
    format: SparseFormat,
    indices: &'a [[u8; INDEX_BYTES]],
    values: &'a [u8],
}

impl<'a> SparseRow<'a> {
    /// Elements.
    pub fn len(self) -> usize {
        self.indices.len()
    }

    /// Whether there is no element.
    pub fn is_empty(self) -> bool {
        self.indices.is_empty()
    }

    /// The index of an element.
    #[inline(always)]
    pub fn index(self, element: usize) -> u32 {
        u32::from_le_bytes(self.indices[element])
    }

    /// The bytes of the value of an element.
    #[inline(always)]
    pub fn value_bytes(self, element: usize) -> &'a [u8] {
        let bytes = self.format.value_bytes();
        &self.values[element * bytes..(element + 1) * bytes]
    }

    /// The value of an element.
    #[inline(always)]
    pub fn value(self, element: usize) -> f32 {
        match *self.value_bytes(element) {
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            [a, b] => f16::from_le_bytes([a, b]).to_f32(),
            [a] => f32::from(a),
            _ => unreachable!("values have one, two or four bytes"),
        }
    }

    /// The vector, as clients read it back.
    pub fn vector(self) -> SparseVector {
        let indices = self.indices.iter().map(|index| u32::from_le_bytes(*index)).collect();
        let mut values = Vec::with_capacity(self.len());
        self.format.decode_values(self.values, self.len(), &mut values);
        SparseVector { indices, values }
    }

    /// The sum of the products over shared indices, added up in their order; `None` when none is shared.
    pub fn dot(self, query: &SparseVector) -> Option<f32> {
        let mut sum = None;
        self.for_each_shared(&query.indices, |place, element| {
            sum = Some(sum.unwrap_or(0.0) + query.values[place] * self.value(element));
        });
        sum.map(finite)
    }

    /// Gives the place among some ascending indices and the element of each index that is shared, in their order.
    #[inline(always)]
    pub fn for_each_shared(self, indices: &[u32], mut each: impl FnMut(usize, usize)) {
        let mut from = 0;
        for (place, &index) in indices.iter().enumerate() {
            from += first_at_least(&self.indices[from..], index);
            if from == self.len() {
                break;
            }
            if self.index(from) == index {
                each(place, from);
                from += 1;
            }
        }
    }
}

/// A sum of products as it is ranked: the difference of two overflows is the worst, an overflow the greatest of its sign.
pub(crate) fn finite(sum: f32) -> f32 {
    if sum.is_nan() { f32::MIN } else { sum.clamp(f32::MIN, f32::MAX) }
}

/// How many of the ascending indices are below `index`: found by doubling steps, because in long queries the next one is
/// near, and then by halving them.
fn first_at_least(indices: &[[u8; INDEX_BYTES]], index: u32) -> usize {
    let at = |place: usize| u32::from_le_bytes(indices[place]);
    let mut step = 1;
    let mut low = 0;
    while low + step <= indices.len() && at(low + step - 1) < index {
        low += step;
        step *= 2;
    }
    let high = (low + step - 1).min(indices.len());
    low + indices[low..high].partition_point(|bytes| u32::from_le_bytes(*bytes) < index)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn vector(range: u32) -> impl Strategy<Value = SparseVector> {
        prop::collection::btree_map(0..range, 0u8..=255, 0..40).prop_map(|elements| {
            let (indices, values) = elements.into_iter().map(|(i, v)| (i, f32::from(v))).unzip();
            SparseVector { indices, values }
        })
    }

    proptest! {
        #[test]
        fn rows_read_back_and_are_multiplied_over_shared_indices(row in vector(60), query in vector(90)) {
            for datatype in [Datatype::Float32, Datatype::Float16, Datatype::Uint8] {
                let format = SparseFormat::of(datatype);
                let mut kept = row.clone();
                format.prepare(&mut kept).unwrap();
                prop_assert_eq!(&kept, &row);
                let mut bytes = Vec::new();
                format.encode(&row, &mut bytes);
                prop_assert_eq!(bytes.len(), row.len() * format.element_bytes());
                prop_assert_eq!(&format.row(&bytes).vector(), &row);
                let other: BTreeMap<u32, f32> = query.iter().collect();
                let products: Vec<f32> =
                    row.iter().filter_map(|(index, value)| Some(other.get(&index)? * value)).collect();
                let expected = (!products.is_empty()).then(|| products.iter().sum::<f32>());
                prop_assert_eq!(format.row(&bytes).dot(&query), expected);
            }
        }
    }

    #[test]
    fn values_are_rounded_or_refused_c2_6() {
        let vector = |value| SparseVector { indices: vec![3], values: vec![value] };
        let prepared = |datatype, value| {
            let mut vector = vector(value);
            SparseFormat::of(datatype).prepare(&mut vector).map(|()| vector.values[0])
        };
        assert_eq!(prepared(Datatype::Float16, 0.1), Ok(f16::from_f32(0.1).to_f32()));
        assert!(prepared(Datatype::Float16, 1e6).unwrap_err().contains("beyond the range of float16"));
        assert_eq!(prepared(Datatype::Uint8, 255.0), Ok(255.0));
        assert!(prepared(Datatype::Uint8, 0.5).is_err() && prepared(Datatype::Uint8, -1.0).is_err());
        assert_eq!(prepared(Datatype::Float32, -0.1), Ok(-0.1));
    }
}
