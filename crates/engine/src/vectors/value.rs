//! A vector as requests hold it and as answers show it: dense, sparse, or several rows.

use std::fmt;

/// Elements of a sparse vector, and components of all rows of a multi-vector, at most.
pub const MAX_ELEMENTS: usize = 1 << 20;

/// A vector of one of the three kinds.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorValue {
    /// Components.
    Dense(Vec<f32>),
    /// Indices with values.
    Sparse(SparseVector),
    /// Rows of one length.
    Multi(MultiVector),
}

/// What kind of vector a field takes, or a request sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorKind {
    /// [`VectorValue::Dense`]
    Dense,
    /// [`VectorValue::Sparse`]
    Sparse,
    /// [`VectorValue::Multi`]
    Multi,
}

impl VectorValue {
    /// Which of the three it is.
    pub fn kind(&self) -> VectorKind {
        match self {
            VectorValue::Dense(_) => VectorKind::Dense,
            VectorValue::Sparse(_) => VectorKind::Sparse,
            VectorValue::Multi(_) => VectorKind::Multi,
        }
    }

    /// Components of all its rows; of a sparse vector those that it has.
    pub fn components(&self) -> usize {
        match self {
            VectorValue::Dense(components) => components.len(),
            VectorValue::Sparse(vector) => vector.len(),
            VectorValue::Multi(vector) => vector.components.len(),
        }
    }

    /// Bytes of its numbers.
    pub fn bytes(&self) -> usize {
        4 * match self {
            VectorValue::Dense(components) => components.len(),
            VectorValue::Sparse(vector) => vector.indices.len() + vector.values.len(),
            VectorValue::Multi(vector) => vector.components.len(),
        }
    }
}

impl From<Vec<f32>> for VectorValue {
    fn from(components: Vec<f32>) -> Self {
        VectorValue::Dense(components)
    }
}

impl VectorKind {
    /// The words for messages, with their article.
    pub fn words(self) -> &'static str {
        match self {
            VectorKind::Dense => "a dense vector (an array of numbers)",
            VectorKind::Sparse => "a sparse vector ({\"indices\": […], \"values\": […]})",
            VectorKind::Multi => "a multi vector (an array of arrays of numbers)",
        }
    }
}

/// A sparse vector: what is not listed is zero, but a zero that is listed counts as shared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseVector {
    /// Ascending, distinct.
    pub indices: Vec<u32>,
    /// One for each index, finite.
    pub values: Vec<f32>,
}

/// What is wrong with the lists of a sparse vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SparseFault {
    /// There are not as many values as indices.
    Lengths,
    /// An index comes twice.
    Repeated,
}

impl fmt::Display for SparseFault {
    /// The place in the vector, and what is wrong there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SparseFault::Lengths => "values: must be the same length as indices",
            SparseFault::Repeated => "indices: must be unique",
        })
    }
}

impl SparseVector {
    /// Sorts the elements by index.
    ///
    /// # Errors
    /// When the lists differ in length or an index comes twice.
    pub fn new(indices: Vec<u32>, values: Vec<f32>) -> Result<SparseVector, SparseFault> {
        if indices.len() != values.len() {
            return Err(SparseFault::Lengths);
        }
        if indices.is_sorted_by(|a, b| a < b) {
            return Ok(SparseVector { indices, values });
        }
        let mut elements: Vec<(u32, f32)> = indices.into_iter().zip(values).collect();
        elements.sort_unstable_by_key(|&(index, _)| index);
        if elements.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(SparseFault::Repeated);
        }
        let (indices, values) = elements.into_iter().unzip();
        Ok(SparseVector { indices, values })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Index and value of each element, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }
}

/// Several vectors of one length that stand for one point.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiVector {
    /// Components of a row, at least 1.
    pub dim: usize,
    /// The rows one after the other; a multiple of `dim`, not empty.
    pub components: Vec<f32>,
}

impl MultiVector {
    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.components.chunks_exact(self.dim)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.components.len() / self.dim
    }

    /// Whether there are no rows, which a parser does not let through.
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_elements_are_sorted_and_an_index_comes_once_c2_3() {
        let sorted = SparseVector::new(vec![7, 1, u32::MAX], vec![0.5, -1.0, 2.0]).unwrap();
        assert_eq!(sorted.iter().collect::<Vec<_>>(), [(1, -1.0), (7, 0.5), (u32::MAX, 2.0)]);
        assert_eq!(SparseVector::new(vec![3, 1, 3], vec![0.0; 3]), Err(SparseFault::Repeated));
        assert_eq!(SparseVector::new(vec![3, 3], vec![0.0; 2]), Err(SparseFault::Repeated));
        assert_eq!(SparseVector::new(vec![3], vec![]), Err(SparseFault::Lengths));
        assert!(SparseVector::new(vec![], vec![]).unwrap().is_empty());
    }

    #[test]
    fn a_multi_vector_is_read_row_by_row() {
        let multi = MultiVector { dim: 2, components: vec![1.0, 2.0, 3.0, 4.0] };
        assert_eq!(multi.rows().collect::<Vec<_>>(), [[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(multi.len(), 2);
    }
}
