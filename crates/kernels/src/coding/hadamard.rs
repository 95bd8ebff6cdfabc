//! Random rotations: sign flips and fast Walsh–Hadamard transforms.

use std::f32::consts::FRAC_1_SQRT_2;

use super::LANES;

/// Rounds where the length is no power of two, as in RaBitQ-Library.
pub(super) const ROUNDS: usize = 4;

/// Rounds where it is one: every round then mixes all components with all others.
const POWER_OF_TWO_ROUNDS: usize = 3;

/// How vectors of one length are rotated.
pub(super) struct Plan {
    /// Components of a transform, a power of two.
    pub(super) block: usize,
    pub(super) rounds: usize,
    /// Whether the halves are mixed after each round.
    pub(super) mixes: bool,
    /// What makes a transform orthogonal.
    pub(super) scale: f32,
    len: usize,
}

impl Plan {
    /// The plan for a vector, or none for an empty one. Panics when there is not one byte of signs a component.
    #[inline(always)]
    pub(super) fn of(x: &[f32], signs: &[u8]) -> Option<Plan> {
        assert_eq!(x.len(), signs.len(), "signs for vectors of another length");
        let block = 1 << x.len().checked_ilog2()?;
        let mixes = block < x.len();
        let rounds = if mixes { ROUNDS } else { POWER_OF_TWO_ROUNDS };
        Some(Plan { block, rounds, mixes, scale: 1.0 / (block as f32).sqrt(), len: x.len() })
    }

    /// The components that a round transforms.
    #[inline(always)]
    pub(super) fn range(&self, round: usize) -> std::ops::Range<usize> {
        if round.is_multiple_of(2) { 0..self.block } else { self.len - self.block..self.len }
    }
}

#[inline(always)]
pub(super) fn rotate(x: &mut [f32], signs: &[u8]) {
    let Some(plan) = Plan::of(x, signs) else { return };
    for round in 0..plan.rounds {
        flip(x, signs, round);
        hadamard(&mut x[plan.range(round)], plan.scale);
        if plan.mixes {
            mix_halves(x);
        }
    }
}

#[inline(always)]
pub(super) fn flip(x: &mut [f32], signs: &[u8], round: usize) {
    for (x, &signs) in x.iter_mut().zip(signs) {
        let sign = (u32::from(signs) << (31 - round)) & (1 << 31);
        *x = f32::from_bits(x.to_bits() ^ sign);
    }
}

/// Turns each pair of a component of the first half and its like in the second by 45 degrees. A middle component
/// stays.
#[inline(always)]
pub(super) fn mix_halves(x: &mut [f32]) {
    let half = x.len() / 2;
    let (front, back) = x.split_at_mut(half);
    let back_start = back.len() - half;
    for (a, b) in front.iter_mut().zip(&mut back[back_start..]) {
        (*a, *b) = ((*a + *b) * FRAC_1_SQRT_2, (*a - *b) * FRAC_1_SQRT_2);
    }
}

/// The Walsh–Hadamard transform of a power of two of components, times `scale`.
#[inline(always)]
fn hadamard(x: &mut [f32], scale: f32) {
    let (vectors, rest) = x.as_chunks_mut::<LANES>();
    if vectors.is_empty() {
        small(rest, scale);
        return;
    }
    for vector in vectors.iter_mut() {
        within(vector, scale);
    }
    // Stages over whole vectors, two at a time: half the passes over memory.
    let mut stride = 1;
    if vectors.len().ilog2() % 2 == 1 {
        for pair in vectors.as_chunks_mut::<2>().0 {
            let [a, b] = *pair;
            *pair = [add(a, b), sub(a, b)];
        }
        stride = 2;
    }
    while stride < vectors.len() {
        for group in vectors.chunks_exact_mut(stride * 4) {
            let (front, back) = group.split_at_mut(stride * 2);
            let (quarter0, quarter1) = front.split_at_mut(stride);
            let (quarter2, quarter3) = back.split_at_mut(stride);
            let quarters = quarter0.iter_mut().zip(quarter1).zip(quarter2.iter_mut().zip(quarter3));
            for ((a, b), (c, d)) in quarters {
                let (sum_ab, diff_ab) = (add(*a, *b), sub(*a, *b));
                let (sum_cd, diff_cd) = (add(*c, *d), sub(*c, *d));
                (*a, *c) = (add(sum_ab, sum_cd), sub(sum_ab, sum_cd));
                (*b, *d) = (add(diff_ab, diff_cd), sub(diff_ab, diff_cd));
            }
        }
        stride *= 4;
    }
}

/// The four stages inside one vector.
#[inline(always)]
fn within(vector: &mut [f32; LANES], scale: f32) {
    let mut v = *vector;
    v = stage::<1>(v);
    v = stage::<2>(v);
    v = stage::<4>(v);
    v = stage::<8>(v);
    for x in &mut v {
        *x *= scale;
    }
    *vector = v;
}

#[inline(always)]
fn stage<const H: usize>(v: [f32; LANES]) -> [f32; LANES] {
    let mut out = v;
    for i in 0..LANES {
        // Adding a negated number is the same as subtracting it, to the bit.
        let own = if i & H == 0 { v[i] } else { -v[i] };
        out[i] = v[i ^ H] + own;
    }
    out
}

/// Fewer components than a vector has lanes.
#[inline(always)]
fn small(x: &mut [f32], scale: f32) {
    let mut stride = 1;
    while stride < x.len() {
        for group in x.chunks_exact_mut(stride * 2) {
            let (front, back) = group.split_at_mut(stride);
            for (a, b) in front.iter_mut().zip(back) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        stride *= 2;
    }
    for x in x {
        *x *= scale;
    }
}

#[inline(always)]
fn add(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    std::array::from_fn(|lane| a[lane] + b[lane])
}

#[inline(always)]
fn sub(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    std::array::from_fn(|lane| a[lane] - b[lane])
}
