//! AVX2 kernels: 8 lanes, four accumulators a row, masked tails.

use std::arch::x86_64::*;

use crate::rows::{F16, F32, U8, bytes_of, component, component_bytes};
use crate::{DOT, Kernels, L1, L2, Level, RowKernels};

/// Handed out by `Kernels::at` only where the CPU has AVX2, FMA and F16C; every SAFETY note below rests on that.
pub(crate) static KERNELS: Kernels = Kernels {
    level: Level::Avx2,
    dot: pair::<DOT>,
    dot4: pairs::<DOT>,
    l2_squared: pair::<L2>,
    l2_squared4: pairs::<L2>,
    l1: pair::<L1>,
    l1_4: pairs::<L1>,
    rows_f32: rows::<F32>(),
    rows_f16: rows::<F16>(),
    rows_u8: rows::<U8>(),
    tile: &crate::tile::avx2::TILE,
};

const fn rows<const ELEMENT: u8>() -> RowKernels {
    RowKernels {
        dot: one::<DOT, ELEMENT>,
        dot4: four::<DOT, ELEMENT>,
        l2_squared: one::<L2, ELEMENT>,
        l2_squared4: four::<L2, ELEMENT>,
        l1: one::<L1, ELEMENT>,
        l1_4: four::<L1, ELEMENT>,
        widen: widen::<ELEMENT>,
    }
}

/// Eight lanes from `TAIL_MASK[8 - n..]` have their first `n` set.
static TAIL_MASK: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

fn pair<const OP: u8>(query: &[f32], row: &[f32]) -> f32 {
    one::<OP, F32>(query, bytes_of(row))
}

fn pairs<const OP: u8>(query: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
    four::<OP, F32>(query, rows.map(bytes_of))
}

fn one<const OP: u8, const ELEMENT: u8>(query: &[f32], row: &[u8]) -> f32 {
    // SAFETY: the CPU has AVX2, FMA and F16C, see `KERNELS`.
    let [sum] = unsafe { accumulate::<OP, ELEMENT, 1>(query, [row]) };
    sum
}

/// Two pairs: four rows with four accumulators each would not fit the sixteen registers.
fn four<const OP: u8, const ELEMENT: u8>(query: &[f32], [a, b, c, d]: [&[u8]; 4]) -> [f32; 4] {
    // SAFETY: the CPU has AVX2, FMA and F16C, see `KERNELS`.
    let ([a, b], [c, d]) =
        unsafe { (accumulate::<OP, ELEMENT, 2>(query, [a, b]), accumulate::<OP, ELEMENT, 2>(query, [c, d])) };
    [a, b, c, d]
}

fn widen<const ELEMENT: u8>(row: &[u8], out: &mut [f32]) {
    assert_eq!(out.len() * component_bytes(ELEMENT), row.len(), "vectors of different length");
    // SAFETY: the CPU has what the level asks for, see `KERNELS`.
    unsafe { widen_vectors::<ELEMENT>(row, out) }
}

#[target_feature(enable = "avx2,f16c")]
fn widen_vectors<const ELEMENT: u8>(row: &[u8], out: &mut [f32]) {
    let mut at = 0;
    while at + 8 <= out.len() {
        // SAFETY: at + 8 <= len, the number of components of both.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(at), load::<ELEMENT>(row.as_ptr(), at)) }
        at += 8;
    }
    let bytes = component_bytes(ELEMENT);
    for (out, component_bytes) in out[at..].iter_mut().zip(row[at * bytes..].chunks_exact(bytes)) {
        *out = component::<ELEMENT>(component_bytes);
    }
}

/// Eight components of a row.
///
/// # Safety
/// Components `at..at + 8` are readable.
#[target_feature(enable = "avx2,f16c")]
#[inline]
unsafe fn load<const ELEMENT: u8>(row: *const u8, at: usize) -> __m256 {
    // SAFETY: the caller's.
    unsafe {
        let place = row.add(at * component_bytes(ELEMENT));
        match ELEMENT {
            F32 => _mm256_loadu_ps(place.cast()),
            F16 => _mm256_cvtph_ps(_mm_loadu_si128(place.cast())),
            _ => _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(place.cast()))),
        }
    }
}

/// The components from `at` on, fewer than eight, and zeros; `mask` names as many lanes.
#[target_feature(enable = "avx2,f16c")]
#[inline]
fn load_tail<const ELEMENT: u8>(row: &[u8], at: usize, mask: __m256i) -> __m256 {
    let tail = &row[at * component_bytes(ELEMENT)..];
    if ELEMENT == F32 {
        // SAFETY: masked-out lanes are not accessed, and the others are the tail.
        return unsafe { _mm256_maskload_ps(tail.as_ptr().cast(), mask) };
    }
    let mut padded = [0u8; 16];
    padded[..tail.len()].copy_from_slice(tail);
    // SAFETY: eight components of at most two bytes are in the sixteen.
    unsafe { load::<ELEMENT>(padded.as_ptr(), 0) }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn step<const OP: u8>(acc: __m256, q: __m256, r: __m256) -> __m256 {
    match OP {
        DOT => _mm256_fmadd_ps(q, r, acc),
        L2 => {
            let diff = _mm256_sub_ps(q, r);
            _mm256_fmadd_ps(diff, diff, acc)
        }
        _ => _mm256_add_ps(acc, _mm256_andnot_ps(_mm256_set1_ps(-0.0), _mm256_sub_ps(q, r))),
    }
}

/// The sums of `N` rows. The order of operations within a row is the same for every `N`.
#[allow(clippy::needless_range_loop, reason = "a lane indexes memory and an accumulator of every row")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn accumulate<const OP: u8, const ELEMENT: u8, const N: usize>(query: &[f32], rows: [&[u8]; N]) -> [f32; N] {
    let len = query.len();
    for row in rows {
        assert_eq!(len * component_bytes(ELEMENT), row.len(), "vectors of different length");
    }
    let mut acc = [[_mm256_setzero_ps(); 4]; N];
    let mut at = 0;
    while at + 32 <= len {
        for lane in 0..4 {
            // SAFETY: at + 32 <= len, the length of the query and of every row.
            let q = unsafe { _mm256_loadu_ps(query.as_ptr().add(at + lane * 8)) };
            for n in 0..N {
                // SAFETY: as above.
                let r = unsafe { load::<ELEMENT>(rows[n].as_ptr(), at + lane * 8) };
                acc[n][lane] = step::<OP>(acc[n][lane], q, r);
            }
        }
        at += 32;
    }
    while at + 8 <= len {
        // SAFETY: at + 8 <= len, the length of the query and of every row.
        let q = unsafe { _mm256_loadu_ps(query.as_ptr().add(at)) };
        for n in 0..N {
            // SAFETY: as above.
            let r = unsafe { load::<ELEMENT>(rows[n].as_ptr(), at) };
            acc[n][0] = step::<OP>(acc[n][0], q, r);
        }
        at += 8;
    }
    if at < len {
        // SAFETY: 1 <= len - at <= 7, so the eight words read lie inside the sixteen of the table.
        let mask = unsafe { _mm256_loadu_si256(TAIL_MASK.as_ptr().add(8 - (len - at)).cast()) };
        // SAFETY: masked-out lanes are not accessed, and the others are below len; at < len keeps the pointers inside.
        let q = unsafe { _mm256_maskload_ps(query.as_ptr().add(at), mask) };
        for n in 0..N {
            let r = load_tail::<ELEMENT>(rows[n], at, mask);
            acc[n][1] = step::<OP>(acc[n][1], q, r);
        }
    }
    let mut sums = [0.0; N];
    for n in 0..N {
        let [a, b, c, d] = acc[n];
        sums[n] = horizontal_sum(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
    }
    sums
}

#[target_feature(enable = "avx2")]
#[inline]
fn horizontal_sum(v: __m256) -> f32 {
    let halves = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    let pairs = _mm_add_ps(halves, _mm_movehl_ps(halves, halves));
    _mm_cvtss_f32(_mm_add_ss(pairs, _mm_shuffle_ps::<1>(pairs, pairs)))
}
