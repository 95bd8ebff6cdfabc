//! Length of a vector and scaling to unit length.
//!
//! Both work in `f64` and without dispatch: the result is the same on every CPU, so stored vectors are too, and no
//! finite `f32` vector overflows or vanishes on the way.

/// How far the squared length of a vector may be from 1 for it to count as normalised already.
const UNIT_TOLERANCE: f64 = 1e-6;

/// The Euclidean length of a vector.
pub fn norm(vector: &[f32]) -> f64 {
    squared_norm(vector).sqrt()
}

/// Scales a vector to unit length.
///
/// A zero vector stays zero. A vector whose squared length is within 1e-6 of 1 is left as it is, so that normalising
/// twice changes nothing and a vector that was read back can be stored again bit for bit.
pub fn normalise(vector: &mut [f32]) {
    let squared = squared_norm(vector);
    if squared == 0.0 || (squared - 1.0).abs() <= UNIT_TOLERANCE {
        return;
    }
    let length = squared.sqrt();
    for x in vector {
        *x = (f64::from(*x) / length) as f32;
    }
}

fn squared_norm(vector: &[f32]) -> f64 {
    let mut acc = [0.0f64; 8];
    let (blocks, tail) = vector.as_chunks::<8>();
    for block in blocks {
        for lane in 0..8 {
            acc[lane] += f64::from(block[lane]) * f64::from(block[lane]);
        }
    }
    for (lane, &x) in tail.iter().enumerate() {
        acc[lane] += f64::from(x) * f64::from(x);
    }
    acc.iter().sum()
}
