//! AVX-512 kernels: 16 lanes, four accumulators a row, masked tails.

use std::arch::x86_64::*;

use crate::rows::{F16, F32, U8, bytes_of, component, component_bytes};
use crate::{DOT, Kernels, L1, L2, Level, RowKernels};

/// Handed out by `Kernels::at` only where the CPU has AVX-512F, BW and VL; every SAFETY note below rests on that.
pub(crate) static KERNELS: Kernels = Kernels {
    level: Level::Avx512,
    dot: pair::<DOT>,
    dot4: pairs::<DOT>,
    l2_squared: pair::<L2>,
    l2_squared4: pairs::<L2>,
    l1: pair::<L1>,
    l1_4: pairs::<L1>,
    rows_f32: rows::<F32>(),
    rows_f16: rows::<F16>(),
    rows_u8: rows::<U8>(),
    tile: &crate::tile::avx512::TILE,
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

fn pair<const OP: u8>(query: &[f32], row: &[f32]) -> f32 {
    one::<OP, F32>(query, bytes_of(row))
}

fn pairs<const OP: u8>(query: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
    four::<OP, F32>(query, rows.map(bytes_of))
}

fn one<const OP: u8, const ELEMENT: u8>(query: &[f32], row: &[u8]) -> f32 {
    // SAFETY: the CPU has AVX-512F, BW and VL, see `KERNELS`.
    let [sum] = unsafe { accumulate::<OP, ELEMENT, 1>(query, [row]) };
    sum
}

fn four<const OP: u8, const ELEMENT: u8>(query: &[f32], rows: [&[u8]; 4]) -> [f32; 4] {
    // SAFETY: the CPU has AVX-512F, BW and VL, see `KERNELS`.
    unsafe { accumulate::<OP, ELEMENT, 4>(query, rows) }
}

fn widen<const ELEMENT: u8>(row: &[u8], out: &mut [f32]) {
    assert_eq!(out.len() * component_bytes(ELEMENT), row.len(), "vectors of different length");
    // SAFETY: the CPU has what the level asks for, see `KERNELS`.
    unsafe { widen_vectors::<ELEMENT>(row, out) }
}

#[target_feature(enable = "avx512f")]
fn widen_vectors<const ELEMENT: u8>(row: &[u8], out: &mut [f32]) {
    let mut at = 0;
    while at + 16 <= out.len() {
        // SAFETY: at + 16 <= len, the number of components of both.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr().add(at), load::<ELEMENT>(row.as_ptr(), at)) }
        at += 16;
    }
    let bytes = component_bytes(ELEMENT);
    for (out, component_bytes) in out[at..].iter_mut().zip(row[at * bytes..].chunks_exact(bytes)) {
        *out = component::<ELEMENT>(component_bytes);
    }
}

/// Sixteen components of a row.
///
/// # Safety
/// Components `at..at + 16` are readable.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load<const ELEMENT: u8>(row: *const u8, at: usize) -> __m512 {
    // SAFETY: the caller's.
    unsafe {
        let place = row.add(at * component_bytes(ELEMENT));
        match ELEMENT {
            F32 => _mm512_loadu_ps(place.cast()),
            F16 => _mm512_cvtph_ps(_mm256_loadu_si256(place.cast())),
            _ => _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(place.cast()))),
        }
    }
}

/// The components that `mask` names, and zeros.
///
/// # Safety
/// The components that `mask` names, counted from `at`, are readable.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
unsafe fn load_masked<const ELEMENT: u8>(row: *const u8, at: usize, mask: __mmask16) -> __m512 {
    // SAFETY: the caller's; masked-out lanes are not accessed.
    unsafe {
        let place = row.add(at * component_bytes(ELEMENT));
        match ELEMENT {
            F32 => _mm512_maskz_loadu_ps(mask, place.cast()),
            F16 => _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, place.cast())),
            _ => _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, place.cast()))),
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn step<const OP: u8>(acc: __m512, q: __m512, r: __m512) -> __m512 {
    match OP {
        DOT => _mm512_fmadd_ps(q, r, acc),
        L2 => {
            let diff = _mm512_sub_ps(q, r);
            _mm512_fmadd_ps(diff, diff, acc)
        }
        _ => _mm512_add_ps(acc, _mm512_abs_ps(_mm512_sub_ps(q, r))),
    }
}

/// The sums of `N` rows. The order of operations within a row is the same for every `N`.
#[allow(clippy::needless_range_loop, reason = "a lane indexes memory and an accumulator of every row")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn accumulate<const OP: u8, const ELEMENT: u8, const N: usize>(query: &[f32], rows: [&[u8]; N]) -> [f32; N] {
    let len = query.len();
    for row in rows {
        assert_eq!(len * component_bytes(ELEMENT), row.len(), "vectors of different length");
    }
    let mut acc = [[_mm512_setzero_ps(); 4]; N];
    let mut at = 0;
    while at + 64 <= len {
        for lane in 0..4 {
            // SAFETY: at + 64 <= len, the length of the query and of every row.
            let q = unsafe { _mm512_loadu_ps(query.as_ptr().add(at + lane * 16)) };
            for n in 0..N {
                // SAFETY: as above.
                let r = unsafe { load::<ELEMENT>(rows[n].as_ptr(), at + lane * 16) };
                acc[n][lane] = step::<OP>(acc[n][lane], q, r);
            }
        }
        at += 64;
    }
    while at + 16 <= len {
        // SAFETY: at + 16 <= len, the length of the query and of every row.
        let q = unsafe { _mm512_loadu_ps(query.as_ptr().add(at)) };
        for n in 0..N {
            // SAFETY: as above.
            let r = unsafe { load::<ELEMENT>(rows[n].as_ptr(), at) };
            acc[n][0] = step::<OP>(acc[n][0], q, r);
        }
        at += 16;
    }
    if at < len {
        let mask: __mmask16 = (1u16 << (len - at)) - 1;
        // SAFETY: masked-out lanes are not accessed, and the others are below len; at < len keeps the pointers inside.
        let q = unsafe { _mm512_maskz_loadu_ps(mask, query.as_ptr().add(at)) };
        for n in 0..N {
            // SAFETY: as above.
            let r = unsafe { load_masked::<ELEMENT>(rows[n].as_ptr(), at, mask) };
            acc[n][1] = step::<OP>(acc[n][1], q, r);
        }
    }
    let mut sums = [0.0; N];
    for n in 0..N {
        let [a, b, c, d] = acc[n];
        sums[n] = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)));
    }
    sums
}
