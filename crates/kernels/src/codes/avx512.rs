//! AVX-512 VNNI code kernels: 64 byte products an instruction, summed without saturation.

use std::arch::x86_64::*;

use super::{CODE_LINE_BYTES, CodeKernels, CodeLevel, QueryLine, dots, lines_of};

/// Handed out by `CodeKernels::at` only where the CPU has AVX-512 F, BW and VNNI; every SAFETY note below rests on
/// that.
pub(super) static KERNELS: CodeKernels = CodeKernels { level: CodeLevel::Avx512Vnni, dots: dots!(one, four) };

fn one<const BITS: u32>(query: &[QueryLine], row: &[u8]) -> i32 {
    // SAFETY: the CPU has the features, see `KERNELS`.
    unsafe { sum_one::<BITS>(query, row) }
}

fn four<const BITS: u32>(query: &[QueryLine], rows: [&[u8]; 4]) -> [i32; 4] {
    // SAFETY: the CPU has the features, see `KERNELS`.
    unsafe { sum_four::<BITS>(query, rows) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn sum_one<const BITS: u32>(query: &[QueryLine], row: &[u8]) -> i32 {
    let [[a, b, c, d]] = accumulate::<BITS, 1, 4>(query, [row]);
    _mm512_reduce_add_epi32(_mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn sum_four<const BITS: u32>(query: &[QueryLine], rows: [&[u8]; 4]) -> [i32; 4] {
    let [[a0, a1], [b0, b1], [c0, c1], [d0, d1]] = accumulate::<BITS, 4, 2>(query, rows);
    horizontal_sums([
        _mm512_add_epi32(a0, a1),
        _mm512_add_epi32(b0, b1),
        _mm512_add_epi32(c0, c1),
        _mm512_add_epi32(d0, d1),
    ])
}

/// The products of `N` rows, each in `CHAINS` accumulators: enough of them that the latency of a product is hidden.
#[allow(clippy::needless_range_loop, reason = "an index names a row and an accumulator of it")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn accumulate<const BITS: u32, const N: usize, const CHAINS: usize>(
    query: &[QueryLine],
    rows: [&[u8]; N],
) -> [[__m512i; CHAINS]; N] {
    let lines = lines_of::<BITS, N>(query, rows);
    let mut acc = [[_mm512_setzero_si512(); CHAINS]; N];
    let mut line = 0;
    while line + CHAINS <= lines {
        for chain in 0..CHAINS {
            // SAFETY: line + chain < lines.
            unsafe { add_line::<BITS, N, CHAINS>(&mut acc, chain, query, rows, line + chain, lines) }
        }
        line += CHAINS;
    }
    while line < lines {
        // SAFETY: line < lines.
        unsafe { add_line::<BITS, N, CHAINS>(&mut acc, 0, query, rows, line, lines) }
        line += 1;
    }
    acc
}

/// Adds the products of one line of each row to accumulator `chain`.
///
/// # Safety
/// `line < lines`, every row has `lines` lines, and the query has `8 / BITS` times as many.
#[allow(clippy::needless_range_loop, reason = "an index names a row and an accumulator of it")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
unsafe fn add_line<const BITS: u32, const N: usize, const CHAINS: usize>(
    acc: &mut [[__m512i; CHAINS]; N],
    chain: usize,
    query: &[QueryLine],
    rows: [&[u8]; N],
    line: usize,
    lines: usize,
) {
    let mask = _mm512_set1_epi8(((1u16 << BITS) - 1) as i8);
    let mut codes = [_mm512_setzero_si512(); N];
    for n in 0..N {
        // SAFETY: the caller promises the line; a line is 64 bytes.
        codes[n] = unsafe { _mm512_loadu_si512(rows[n].as_ptr().add(line * CODE_LINE_BYTES).cast()) };
    }
    for plane in 0..8 / BITS as usize {
        // SAFETY: the caller promises `lines` query lines for every plane; a line is aligned to its 64 bytes.
        let q = unsafe { _mm512_load_si512(query.as_ptr().add(plane * lines + line).cast()) };
        for n in 0..N {
            let code = if BITS == 8 { codes[n] } else { _mm512_and_si512(codes[n], mask) };
            acc[n][chain] = _mm512_dpbusd_epi32(acc[n][chain], code, q);
            // Bits of the neighbouring byte come in from above, where the mask takes them away.
            codes[n] = _mm512_srli_epi16::<BITS>(codes[n]);
        }
    }
}

/// The sums of the lanes of four vectors, by one tree of pairwise additions for all.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn horizontal_sums(rows: [__m512i; 4]) -> [i32; 4] {
    let [a, b, c, d] =
        rows.map(|row| _mm256_add_epi32(_mm512_castsi512_si256(row), _mm512_extracti64x4_epi64::<1>(row)));
    let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    let sums = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256::<1>(pairs));
    let mut out = [0; 4];
    // SAFETY: sixteen bytes into an array of sixteen bytes.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), sums) }
    out
}
