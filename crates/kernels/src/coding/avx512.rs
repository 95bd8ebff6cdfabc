//! The rotation in AVX-512: the additions of the portable one, in the same order.

use std::arch::x86_64::*;

use super::LANES;
use super::hadamard::{Plan, mix_halves};

/// As the portable `rotate`, bit for bit.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn rotate(x: &mut [f32], signs: &[u8]) {
    let Some(plan) = Plan::of(x, signs) else { return };
    if plan.block < LANES {
        return super::hadamard::rotate(x, signs);
    }
    for round in 0..plan.rounds {
        let block = plan.range(round);
        for rest in [0..block.start, block.end..x.len()] {
            flip(&mut x[rest.clone()], &signs[rest], round);
        }
        hadamard(&mut x[block.clone()], &signs[block], round, plan.scale);
        if plan.mixes {
            mix_halves(x);
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn flip(x: &mut [f32], signs: &[u8], round: usize) {
    super::hadamard::flip(x, signs, round);
}

/// Sign flips, then the Walsh–Hadamard transform times `scale` of a power of two of components, 16 at least.
#[target_feature(enable = "avx512f")]
#[inline]
fn hadamard(x: &mut [f32], signs: &[u8], round: usize, scale: f32) {
    let vectors = x.as_chunks_mut::<LANES>().0;
    let shift = _mm_cvtsi32_si128(31 - round as i32);
    for (vector, signs) in vectors.iter_mut().zip(signs.as_chunks::<LANES>().0) {
        // SAFETY: sixteen bytes are read from sixteen, and sixteen floats from as many.
        let (signs, v) =
            unsafe { (_mm_loadu_si128(signs.as_ptr().cast()), _mm512_loadu_si512(vector.as_ptr().cast())) };
        let signs = _mm512_sll_epi32(_mm512_cvtepu8_epi32(signs), shift);
        let signs = _mm512_and_si512(signs, _mm512_set1_epi32(i32::MIN));
        let v = within(_mm512_castsi512_ps(_mm512_xor_si512(v, signs)));
        store(vector, _mm512_mul_ps(v, _mm512_set1_ps(scale)));
    }
    let mut stride = 1;
    if vectors.len().ilog2() % 2 == 1 {
        for [a, b] in vectors.as_chunks_mut::<2>().0 {
            butterfly(a, b);
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
                two_stages(a, b, c, d);
            }
        }
        stride *= 4;
    }
}

/// The four stages inside a vector: in each, a lane is added to its partner, after the one with the higher index has
/// been negated in its own place.
#[target_feature(enable = "avx512f")]
#[inline]
fn within(v: __m512) -> __m512 {
    let v = _mm512_add_ps(_mm512_permute_ps::<0b10_11_00_01>(v), negate(v, 0xaaaa));
    let v = _mm512_add_ps(_mm512_permute_ps::<0b01_00_11_10>(v), negate(v, 0xcccc));
    let v = _mm512_add_ps(_mm512_shuffle_f32x4::<0b10_11_00_01>(v, v), negate(v, 0xf0f0));
    _mm512_add_ps(_mm512_shuffle_f32x4::<0b01_00_11_10>(v, v), negate(v, 0xff00))
}

/// Negates the lanes of a mask.
#[target_feature(enable = "avx512f")]
#[inline]
fn negate(v: __m512, lanes: __mmask16) -> __m512 {
    let signs = _mm512_maskz_set1_epi32(lanes, i32::MIN);
    _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(v), signs))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn butterfly(a: &mut [f32; LANES], b: &mut [f32; LANES]) {
    let (x, y) = (load(a), load(b));
    store(a, _mm512_add_ps(x, y));
    store(b, _mm512_sub_ps(x, y));
}

#[target_feature(enable = "avx512f")]
#[inline]
fn two_stages(a: &mut [f32; LANES], b: &mut [f32; LANES], c: &mut [f32; LANES], d: &mut [f32; LANES]) {
    let [va, vb, vc, vd] = [load(a), load(b), load(c), load(d)];
    let (sum_ab, diff_ab) = (_mm512_add_ps(va, vb), _mm512_sub_ps(va, vb));
    let (sum_cd, diff_cd) = (_mm512_add_ps(vc, vd), _mm512_sub_ps(vc, vd));
    store(a, _mm512_add_ps(sum_ab, sum_cd));
    store(c, _mm512_sub_ps(sum_ab, sum_cd));
    store(b, _mm512_add_ps(diff_ab, diff_cd));
    store(d, _mm512_sub_ps(diff_ab, diff_cd));
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(from: &[f32; LANES]) -> __m512 {
    // SAFETY: sixteen floats are read from sixteen.
    unsafe { _mm512_loadu_ps(from.as_ptr()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(to: &mut [f32; LANES], v: __m512) {
    // SAFETY: sixteen floats are written to sixteen.
    unsafe { _mm512_storeu_ps(to.as_mut_ptr(), v) }
}
