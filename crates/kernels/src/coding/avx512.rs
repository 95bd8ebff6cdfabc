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

/// Sign flips, then the Walsh–Hadamard transform times `scale` of a power of two of components, 16 at least. Stages
/// come in the order of the portable code; several share a pass over memory.
#[target_feature(enable = "avx512f")]
#[inline]
fn hadamard(x: &mut [f32], signs: &[u8], round: usize, scale: f32) {
    let vectors = x.as_chunks_mut::<LANES>().0;
    let signs = signs.as_chunks::<LANES>().0;
    let (fours, rest) = vectors.as_chunks_mut::<4>();
    let (fours_signs, rest_signs) = signs.as_chunks::<4>();
    for (four, signs) in fours.iter_mut().zip(fours_signs) {
        let mut v = [_mm512_setzero_ps(); 4];
        for i in 0..4 {
            v[i] = first_stages(&four[i], &signs[i], round, scale);
        }
        let v = transform4(v);
        for i in 0..4 {
            store(&mut four[i], v[i]);
        }
    }
    for (vector, signs) in rest.iter_mut().zip(rest_signs) {
        let v = first_stages(vector, signs, round, scale);
        store(vector, v);
    }
    if let [a, b] = rest {
        let (va, vb) = (load(a), load(b));
        store(a, _mm512_add_ps(va, vb));
        store(b, _mm512_sub_ps(va, vb));
    }
    let mut stride = 4;
    while stride < vectors.len() {
        stride *= match vectors.len() / stride {
            2 => pass::<2>(vectors, stride),
            4 => pass::<4>(vectors, stride),
            _ => pass::<8>(vectors, stride),
        };
    }
}

/// The stages of strides from `stride` to `stride · RADIX / 2` vectors; returns `RADIX`.
#[allow(clippy::needless_range_loop, reason = "an index names a vector in memory and in registers")]
#[target_feature(enable = "avx512f")]
#[inline]
fn pass<const RADIX: usize>(vectors: &mut [[f32; LANES]], stride: usize) -> usize {
    for group in vectors.chunks_exact_mut(stride * RADIX) {
        for first in 0..stride {
            let mut v = [_mm512_setzero_ps(); RADIX];
            for i in 0..RADIX {
                v[i] = load(&group[first + i * stride]);
            }
            let mut half = 1;
            while half < RADIX {
                for i in 0..RADIX {
                    if i & half == 0 {
                        let (a, b) = (v[i], v[i + half]);
                        v[i] = _mm512_add_ps(a, b);
                        v[i + half] = _mm512_sub_ps(a, b);
                    }
                }
                half *= 2;
            }
            for i in 0..RADIX {
                store(&mut group[first + i * stride], v[i]);
            }
        }
    }
    RADIX
}

/// The stages between four vectors.
#[target_feature(enable = "avx512f")]
#[inline]
fn transform4([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
    let (sum_ab, diff_ab) = (_mm512_add_ps(a, b), _mm512_sub_ps(a, b));
    let (sum_cd, diff_cd) = (_mm512_add_ps(c, d), _mm512_sub_ps(c, d));
    [
        _mm512_add_ps(sum_ab, sum_cd),
        _mm512_add_ps(diff_ab, diff_cd),
        _mm512_sub_ps(sum_ab, sum_cd),
        _mm512_sub_ps(diff_ab, diff_cd),
    ]
}

/// Sign flips, the four stages inside a vector, and the scale. In a stage, a lane is added to its partner, after the
/// one with the higher index has been negated in its own place; multiplying by −1 on the way to an addition is exact.
#[target_feature(enable = "avx512f")]
#[inline]
fn first_stages(vector: &[f32; LANES], signs: &[u8; LANES], round: usize, scale: f32) -> __m512 {
    let shift = _mm_cvtsi32_si128(31 - round as i32);
    // SAFETY: sixteen bytes are read from sixteen.
    let signs = unsafe { _mm_loadu_si128(signs.as_ptr().cast()) };
    let signs = _mm512_sll_epi32(_mm512_cvtepu8_epi32(signs), shift);
    let signs = _mm512_and_si512(signs, _mm512_set1_epi32(i32::MIN));
    let v = _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(load(vector)), signs));
    let v = _mm512_fmadd_ps(v, negative_in(0xaaaa), _mm512_permute_ps::<0b10_11_00_01>(v));
    let v = _mm512_fmadd_ps(v, negative_in(0xcccc), _mm512_permute_ps::<0b01_00_11_10>(v));
    let v = _mm512_fmadd_ps(v, negative_in(0xf0f0), _mm512_shuffle_f32x4::<0b10_11_00_01>(v, v));
    let v = _mm512_fmadd_ps(v, negative_in(0xff00), _mm512_shuffle_f32x4::<0b01_00_11_10>(v, v));
    _mm512_mul_ps(v, _mm512_set1_ps(scale))
}

/// −1 in the lanes of a mask, 1 in the others.
#[target_feature(enable = "avx512f")]
#[inline]
fn negative_in(lanes: __mmask16) -> __m512 {
    _mm512_mask_blend_ps(lanes, _mm512_set1_ps(1.0), _mm512_set1_ps(-1.0))
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
