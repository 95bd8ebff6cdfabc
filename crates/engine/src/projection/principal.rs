//! The two directions in which vectors differ most: principal components, by randomised subspace iteration (Halko,
//! Martinsson & Tropp, *Finding structure with randomness*, SIAM Review 53(2), 2011, algorithm 4.4).

use super::{Place, Random};
use crate::index::Stopped;
use kithdb_kernels::kernels;

/// Vectors that the directions are found from; the others are only projected.
const MAX_FITTED: usize = 16_384;
/// Bytes of the vectors that the directions are found from, at most.
const FITTED_BYTES: usize = 32 << 20;
/// Directions that are iterated. Those beyond the first two make these converge where eigenvalues are close.
const BLOCK: usize = 8;
/// Multiplications by the covariance.
const ROUNDS: usize = 8;
/// Vectors between two stop checks: about a millisecond.
const STOP_INTERVAL: usize = 256;
/// Turns of the eigenvalue decomposition of a matrix of [`BLOCK`] rows; it converges after five or six.
const MAX_SWEEPS: usize = 20;

/// How many of `count` vectors of `dim` components [`Principal::fit`] is to be given.
pub fn fitted(count: usize, dim: usize) -> usize {
    count.min(MAX_FITTED).min((FITTED_BYTES / (dim.max(1) * size_of::<f32>())).max(2))
}

/// A plane through vectors.
pub struct Principal {
    mean: Vec<f32>,
    directions: [Vec<f32>; 2],
    /// Vectors are multiplied by this first, so that no square overflows.
    scale: f32,
}

impl Principal {
    /// The plane in which `rows`, vectors of `dim` components one after the other, differ most. Fewer than three vectors
    /// have one too; directions in which nothing differs are zero.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true.
    pub fn fit(
        mut rows: Vec<f32>,
        dim: usize,
        seed: u64,
        stop: &impl Fn() -> bool,
    ) -> Result<Principal, Stopped> {
        let largest = rows.iter().fold(0.0f32, |largest, component| largest.max(component.abs()));
        let scale = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        let mean = centre(&mut rows, dim, scale);
        let mut random = Random::new(seed);
        let mut block: Vec<Vec<f32>> =
            (0..BLOCK.min(dim)).map(|_| (0..dim).map(|_| random.signed()).collect()).collect();
        orthonormalise(&mut block);
        for _ in 0..ROUNDS {
            block = times_covariance(&rows, &block, stop)?;
            orthonormalise(&mut block);
        }
        let directions = within(&rows, &block, stop)?;
        Ok(Principal { mean, directions, scale })
    }

    /// Where a vector is in the plane, and the square of its distance from the mean of all.
    pub fn place(&self, vector: &mut [f32]) -> (Place, f64) {
        for (component, mean) in vector.iter_mut().zip(&self.mean) {
            *component = *component * self.scale - mean;
        }
        let dot = kernels().dot;
        let place = [0, 1].map(|axis: usize| finite(dot(vector, &self.directions[axis])));
        (place, f64::from(finite(dot(vector, vector))))
    }
}

fn finite(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(f32::MIN, f32::MAX) }
}

/// Scales all vectors and takes their mean from each. Returns it.
fn centre(rows: &mut [f32], dim: usize, scale: f32) -> Vec<f32> {
    let count = (rows.len() / dim).max(1) as f64;
    let mut sums = vec![0.0f64; dim];
    for row in rows.chunks_exact_mut(dim) {
        for (component, sum) in row.iter_mut().zip(&mut sums) {
            *component *= scale;
            *sum += f64::from(*component);
        }
    }
    let mean: Vec<f32> = sums.into_iter().map(|sum| (sum / count) as f32).collect();
    for row in rows.chunks_exact_mut(dim) {
        row.iter_mut().zip(&mean).for_each(|(component, mean)| *component -= mean);
    }
    mean
}

/// The covariance of the rows, but for its factor, times each direction. The covariance itself is never made.
fn times_covariance(
    rows: &[f32],
    block: &[Vec<f32>],
    stop: &impl Fn() -> bool,
) -> Result<Vec<Vec<f32>>, Stopped> {
    let dim = block.first().map_or(1, Vec::len);
    let mut product = vec![vec![0.0f32; dim]; block.len()];
    let dot = kernels().dot;
    for (at, row) in rows.chunks_exact(dim).enumerate() {
        if at % STOP_INTERVAL == STOP_INTERVAL - 1 && stop() {
            return Err(Stopped);
        }
        for (direction, sums) in block.iter().zip(&mut product) {
            let weight = dot(row, direction);
            sums.iter_mut().zip(row).for_each(|(sum, component)| *sum += weight * component);
        }
    }
    Ok(product)
}

/// Makes the directions unit vectors that are at right angles, by the modified Gram–Schmidt process, twice for the sake of
/// roundings. One that the others span becomes zero.
fn orthonormalise(block: &mut [Vec<f32>]) {
    for at in 0..block.len() {
        let (before, rest) = block.split_at_mut(at);
        let direction = &mut rest[0];
        normalise(direction);
        for other in before.iter().chain(before.iter()) {
            let share = dot_f64(direction, other);
            direction.iter_mut().zip(other).for_each(|(to, from)| *to -= (share * f64::from(*from)) as f32);
        }
        // What is left of a direction that the others span is rounding.
        if dot_f64(direction, direction) < 1e-10 {
            direction.fill(0.0);
        }
        normalise(direction);
    }
}

fn normalise(vector: &mut [f32]) {
    let length = dot_f64(vector, vector).sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|component| *component = (f64::from(*component) / length) as f32);
    }
}

fn dot_f64(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// The two directions of greatest variance among those that the block spans, the greatest first.
fn within(rows: &[f32], block: &[Vec<f32>], stop: &impl Fn() -> bool) -> Result<[Vec<f32>; 2], Stopped> {
    let dim = block.first().map_or(1, Vec::len);
    let dot = kernels().dot;
    let mut covariance = [[0.0f64; BLOCK]; BLOCK];
    for (at, row) in rows.chunks_exact(dim).enumerate() {
        if at % STOP_INTERVAL == STOP_INTERVAL - 1 && stop() {
            return Err(Stopped);
        }
        let mut places = [0.0f64; BLOCK];
        block.iter().zip(&mut places).for_each(|(direction, place)| *place = f64::from(dot(row, direction)));
        for (a, sums) in places.iter().zip(&mut covariance) {
            sums.iter_mut().zip(&places).for_each(|(sum, b)| *sum += a * b);
        }
    }
    let (values, vectors) = eigen(covariance);
    let mut order: Vec<usize> = (0..BLOCK).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    Ok([order[0], order[1]].map(|which| {
        let mut direction = vec![0.0f32; dim];
        for (basis, weights) in block.iter().zip(&vectors) {
            let weight = weights[which] as f32;
            direction.iter_mut().zip(basis).for_each(|(to, from)| *to += weight * from);
        }
        point_one_way(&mut direction);
        direction
    }))
}

/// A direction and its opposite are as good: the one whose largest component is positive is taken.
fn point_one_way(direction: &mut [f32]) {
    let largest = direction.iter().copied().fold(0.0f32, |a, b| if b.abs() > a.abs() { b } else { a });
    if largest < 0.0 {
        direction.iter_mut().for_each(|component| *component = -*component);
    }
}

type Matrix = [[f64; BLOCK]; BLOCK];

/// Eigenvalues and, in the columns, eigenvectors of a symmetric matrix: Jacobi's method (Golub & Van Loan, *Matrix
/// Computations*, 8.5).
fn eigen(mut matrix: Matrix) -> ([f64; BLOCK], Matrix) {
    let mut vectors = [[0.0; BLOCK]; BLOCK];
    vectors.iter_mut().enumerate().for_each(|(at, row)| row[at] = 1.0);
    for _ in 0..MAX_SWEEPS {
        for p in 0..BLOCK {
            for q in p + 1..BLOCK {
                if matrix[p][q].abs() > f64::EPSILON * (matrix[p][p].abs() + matrix[q][q].abs()) {
                    rotate(&mut matrix, &mut vectors, p, q);
                }
            }
        }
    }
    (std::array::from_fn(|at| matrix[at][at]), vectors)
}

/// The rotation that makes the entries at `(p, q)` and `(q, p)` zero.
fn rotate(matrix: &mut Matrix, vectors: &mut Matrix, p: usize, q: usize) {
    let tau = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
    let tangent = tau.signum() / (tau.abs() + tau.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let turn = |a: f64, b: f64| (cosine * a - sine * b, sine * a + cosine * b);
    for row in matrix.iter_mut().chain(vectors.iter_mut()) {
        (row[p], row[q]) = turn(row[p], row[q]);
    }
    let (of_p, of_q) = (matrix[p], matrix[q]);
    for (at, (a, b)) in of_p.into_iter().zip(of_q).enumerate() {
        (matrix[p][at], matrix[q][at]) = turn(a, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors that differ by 9 along one direction, by 4 along another one, and by 1 along the others.
    fn planted(count: usize, dim: usize) -> Vec<f32> {
        let mut random = Random::new(3);
        let axis = |at: usize| {
            if at == 5 {
                9.0
            } else if at == 2 {
                4.0
            } else {
                1.0
            }
        };
        (0..count * dim).map(|at| 100.0 + axis(at % dim) * random.signed()).collect()
    }

    #[test]
    fn the_plane_is_that_of_the_greatest_variances() {
        let dim = 24;
        let plane = Principal::fit(planted(2_000, dim), dim, 1, &|| false).unwrap();
        let [first, second] = &plane.directions;
        assert!(first[5] > 0.99 && second[2] > 0.98, "{first:?} {second:?}");
        assert!(dot_f64(first, second).abs() < 1e-4);
        let mut mean = vec![100.0; dim];
        let (place, _) = plane.place(&mut mean);
        assert!(place.iter().all(|at| at.abs() < 0.01), "{place:?}");
    }

    #[test]
    fn the_same_vectors_have_the_same_plane() {
        let fit = |seed| Principal::fit(planted(500, 10), 10, seed, &|| false).unwrap().directions;
        assert_eq!(fit(7), fit(7));
    }

    #[test]
    fn vectors_that_do_not_differ_and_huge_ones_have_finite_places() {
        for (rows, dim) in [
            (vec![2.0; 12], 4),
            (vec![0.0; 6], 3),
            (vec![1.0], 1),
            (vec![3e38, -3e38, 3e38, 1.0, -3e38, -3e38], 2),
            (vec![], 5),
        ] {
            let plane = Principal::fit(rows.clone(), dim, 0, &|| false).unwrap();
            for vector in rows.chunks_exact(dim) {
                let (place, square) = plane.place(&mut vector.to_vec());
                assert!(place.iter().all(|at| at.is_finite()) && square.is_finite(), "{rows:?} {place:?}");
            }
        }
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        assert_eq!(Principal::fit(planted(600, 8), 8, 0, &|| true).err(), Some(Stopped));
    }

    #[test]
    fn as_many_vectors_are_fitted_as_the_memory_for_them_holds() {
        assert_eq!(fitted(100, 384), 100);
        assert_eq!(fitted(100_000, 384), MAX_FITTED);
        assert_eq!(fitted(100_000, 65_536), FITTED_BYTES / 65_536 / 4);
    }
}
