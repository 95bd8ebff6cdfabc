//! One vector that stands for examples: the strategy `average_vector` of a recommendation.

use crate::vectors::{MultiVector, SparseVector, VectorValue};
use std::collections::BTreeMap;

/// avg(positive), or 2·avg(positive) − avg(negative): as far on the side of the positive examples as these are from the
/// negative ones. Sparse vectors index by index; of multi-vectors all rows, those of negative examples negated. `None`
/// without a positive example. All vectors fit one field.
pub fn of(positive: &[VectorValue], negative: &[VectorValue]) -> Option<VectorValue> {
    Some(match positive.first()? {
        VectorValue::Dense(first) => VectorValue::Dense(dense(first.len(), positive, negative)),
        VectorValue::Sparse(_) => VectorValue::Sparse(sparse(positive, negative)),
        VectorValue::Multi(first) => VectorValue::Multi(rows(first.dim, positive, negative)),
    })
}

/// The factor of each example in 2·avg(positive) − avg(negative).
fn shares(positive: &[VectorValue], negative: &[VectorValue]) -> (f64, f64) {
    if negative.is_empty() {
        (1.0 / positive.len() as f64, 0.0)
    } else {
        (2.0 / positive.len() as f64, -1.0 / negative.len() as f64)
    }
}

/// Every example with its factor.
fn shared<'v>(
    positive: &'v [VectorValue],
    negative: &'v [VectorValue],
) -> impl Iterator<Item = (&'v VectorValue, f64)> {
    let (for_positive, for_negative) = shares(positive, negative);
    let positive = positive.iter().map(move |vector| (vector, for_positive));
    positive.chain(negative.iter().map(move |vector| (vector, for_negative)))
}

fn dense(dim: usize, positive: &[VectorValue], negative: &[VectorValue]) -> Vec<f32> {
    let mut sums = vec![0.0f64; dim];
    for (vector, share) in shared(positive, negative) {
        if let VectorValue::Dense(components) = vector {
            sums.iter_mut().zip(components).for_each(|(sum, &value)| *sum += share * f64::from(value));
        }
    }
    sums.into_iter().map(finite).collect()
}

fn sparse(positive: &[VectorValue], negative: &[VectorValue]) -> SparseVector {
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    for (vector, share) in shared(positive, negative) {
        if let VectorValue::Sparse(sparse) = vector {
            for (index, value) in sparse.iter() {
                *sums.entry(index).or_default() += share * f64::from(value);
            }
        }
    }
    let (indices, values) = sums.into_iter().map(|(index, sum)| (index, finite(sum))).unzip();
    SparseVector { indices, values }
}

fn rows(dim: usize, positive: &[VectorValue], negative: &[VectorValue]) -> MultiVector {
    let of = |vectors: &[VectorValue], sign: f32| -> Vec<f32> {
        let rows = vectors.iter().filter_map(|vector| match vector {
            VectorValue::Multi(multi) => Some(&multi.components),
            VectorValue::Dense(_) | VectorValue::Sparse(_) => None,
        });
        rows.flatten().map(|value| sign * value).collect()
    };
    MultiVector { dim, components: [of(positive, 1.0), of(negative, -1.0)].concat() }
}

/// The nearest finite `f32`.
fn finite(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN, f32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(indices: &[u32], values: &[f32]) -> VectorValue {
        VectorValue::Sparse(SparseVector { indices: indices.to_vec(), values: values.to_vec() })
    }

    #[test]
    fn dense_examples_are_averaged_and_mirrored_at_the_negative_ones_c6_3() {
        let [a, b, c] = [[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]].map(|v| VectorValue::Dense(v.to_vec()));
        assert_eq!(of(&[a.clone(), b.clone()], &[]), Some(VectorValue::Dense(vec![2.0, 3.0])));
        assert_eq!(of(&[a, b], &[c]), Some(VectorValue::Dense(vec![4.0, 5.0])));
        let great = VectorValue::Dense(vec![f32::MAX, f32::MIN]);
        let less = VectorValue::Dense(vec![f32::MIN, f32::MAX]);
        assert_eq!(of(std::slice::from_ref(&great), &[less]), Some(great));
        assert_eq!(of(&[], &[sparse(&[], &[])]), None);
    }

    #[test]
    fn sparse_examples_are_averaged_index_by_index_c6_3() {
        let (a, b, c) = (sparse(&[1, 5], &[2.0, 4.0]), sparse(&[5, 9], &[4.0, 2.0]), sparse(&[7], &[3.0]));
        assert_eq!(of(&[a.clone(), b.clone()], &[]), Some(sparse(&[1, 5, 9], &[1.0, 4.0, 1.0])));
        assert_eq!(of(&[a, b], &[c]), Some(sparse(&[1, 5, 7, 9], &[2.0, 8.0, -3.0, 2.0])));
    }

    #[test]
    fn rows_of_multi_vectors_are_put_together_c6_3() {
        let multi =
            |components: &[f32]| VectorValue::Multi(MultiVector { dim: 2, components: components.to_vec() });
        let (a, b) = (multi(&[1.0, 2.0]), multi(&[3.0, 4.0, 5.0, 6.0]));
        assert_eq!(of(&[a.clone(), b], &[a]), Some(multi(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -1.0, -2.0])));
    }
}
