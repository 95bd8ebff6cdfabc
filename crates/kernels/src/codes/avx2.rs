//! AVX2 code kernels, with AVX-VNNI and without.
//!
//! Without it, the product of an unsigned and a signed byte (`vpmaddubsw`) saturates at 16 bits: those of all planes of
//! codes of four bits and fewer stay far below that together, codes of eight bits are widened first.

use std::arch::x86_64::*;

/// One copy of the loop for a set of CPU features and a way to multiply bytes. The parameters are the initial value of
/// the sum of 32 bytes of a row, how the products of a plane are added to it, and how it is added to the accumulator. A
/// row has enough accumulators to hide the latency of an addition.
macro_rules! level {
    ($name:ident, $level:expr, $features:literal, $accumulators:literal, $begin:ident, $add:ident, $end:ident) => {
        pub(super) mod $name {
            use std::arch::x86_64::*;

            use super::super::{CODE_LINE_BYTES, CodeKernels, CodeLevel, QueryLine, dots, lines_of};

            /// Handed out by `CodeKernels::at` only where the CPU has the features; every SAFETY note below rests on
            /// that.
            pub(in super::super) static KERNELS: CodeKernels =
                CodeKernels { level: $level, dots: dots!(one, four) };

            fn one<const BITS: u32>(query: &[QueryLine], row: &[u8]) -> i32 {
                // SAFETY: the CPU has the features, see `KERNELS`.
                let [sum] = unsafe { accumulate::<BITS, 1>(query, [row]) };
                sum
            }

            fn four<const BITS: u32>(query: &[QueryLine], rows: [&[u8]; 4]) -> [i32; 4] {
                // SAFETY: the CPU has the features, see `KERNELS`.
                unsafe { accumulate::<BITS, 4>(query, rows) }
            }

            /// The sums of `N` rows; a line is two vectors.
            #[allow(clippy::needless_range_loop, reason = "an index names a row and an accumulator of it")]
            #[allow(clippy::modulo_one, reason = "a level may have one accumulator")]
            #[target_feature(enable = $features)]
            #[inline]
            fn accumulate<const BITS: u32, const N: usize>(
                query: &[QueryLine],
                rows: [&[u8]; N],
            ) -> [i32; N] {
                let lines = lines_of::<BITS, N>(query, rows);
                let mask = _mm256_set1_epi8(((1u16 << BITS) - 1) as i8);
                let mut acc = [[_mm256_setzero_si256(); $accumulators]; N];
                for line in 0..lines {
                    for half in 0..2 {
                        let mut codes = [_mm256_setzero_si256(); N];
                        let mut sums = [_mm256_setzero_si256(); N];
                        for n in 0..N {
                            let at = line * CODE_LINE_BYTES + half * 32;
                            // SAFETY: line < lines and half < 2, so at + 32 is at most the length of every row.
                            codes[n] = unsafe { _mm256_loadu_si256(rows[n].as_ptr().add(at).cast()) };
                            sums[n] = super::$begin(acc[n][half % $accumulators]);
                        }
                        for plane in 0..8 / BITS as usize {
                            let components = &query[plane * lines + line].0;
                            // SAFETY: a query line has 64 bytes, and half < 2.
                            let q = unsafe { _mm256_loadu_si256(components.as_ptr().add(half * 32).cast()) };
                            for n in 0..N {
                                let code =
                                    if BITS == 8 { codes[n] } else { _mm256_and_si256(codes[n], mask) };
                                sums[n] = super::$add::<BITS>(sums[n], code, q);
                                // Bits of the neighbouring byte come in from above; the mask takes them away.
                                codes[n] = _mm256_srl_epi16(codes[n], _mm_cvtsi32_si128(BITS as i32));
                            }
                        }
                        for n in 0..N {
                            let acc = &mut acc[n][half % $accumulators];
                            *acc = super::$end::<BITS>(*acc, sums[n]);
                        }
                    }
                }
                acc.map(|acc| {
                    let all = acc.into_iter().reduce(|a, b| _mm256_add_epi32(a, b));
                    super::horizontal_sum(all.unwrap_or(_mm256_setzero_si256()))
                })
            }
        }
    };
}

level!(plain, CodeLevel::Avx2, "avx2", 1, start_at_zero, widened, add_to_accumulator);
level!(vnni, CodeLevel::AvxVnni, "avx2,avxvnni", 2, start_at_accumulator, fused, replace_accumulator);

/// The eight sums of 32 bits are the accumulator itself.
#[target_feature(enable = "avx2")]
#[inline]
fn start_at_accumulator(acc: __m256i) -> __m256i {
    acc
}

/// Adds 32 products to eight sums.
#[target_feature(enable = "avx2,avxvnni")]
#[inline]
fn fused<const BITS: u32>(sums: __m256i, code: __m256i, q: __m256i) -> __m256i {
    _mm256_dpbusd_avx_epi32(sums, code, q)
}

#[target_feature(enable = "avx2")]
#[inline]
fn replace_accumulator<const BITS: u32>(_: __m256i, sums: __m256i) -> __m256i {
    sums
}

#[target_feature(enable = "avx2")]
#[inline]
fn start_at_zero(_: __m256i) -> __m256i {
    _mm256_setzero_si256()
}

/// Adds 32 products to eight sums of 32 bits where codes have 8 bits, else to sixteen of 16; the codes are below
/// 2^BITS.
#[target_feature(enable = "avx2")]
#[inline]
fn widened<const BITS: u32>(sums: __m256i, code: __m256i, q: __m256i) -> __m256i {
    if BITS < 8 {
        // At most 15 · 127 · 2 · 2 for four bits, in two planes, and less for fewer.
        return _mm256_add_epi16(sums, _mm256_maddubs_epi16(code, q));
    }
    let zero = _mm256_setzero_si256();
    let sign = _mm256_cmpgt_epi8(zero, q);
    let low = _mm256_madd_epi16(_mm256_unpacklo_epi8(code, zero), _mm256_unpacklo_epi8(q, sign));
    let high = _mm256_madd_epi16(_mm256_unpackhi_epi8(code, zero), _mm256_unpackhi_epi8(q, sign));
    _mm256_add_epi32(sums, _mm256_add_epi32(low, high))
}

/// Adds the sums of [`widened`] to eight accumulators.
#[target_feature(enable = "avx2")]
#[inline]
fn add_to_accumulator<const BITS: u32>(acc: __m256i, sums: __m256i) -> __m256i {
    let sums = if BITS < 8 { _mm256_madd_epi16(sums, _mm256_set1_epi16(1)) } else { sums };
    _mm256_add_epi32(acc, sums)
}

#[target_feature(enable = "avx2")]
#[inline]
fn horizontal_sum(v: __m256i) -> i32 {
    let halves = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
    let pairs = _mm_add_epi32(halves, _mm_unpackhi_epi64(halves, halves));
    _mm_cvtsi128_si32(_mm_add_epi32(pairs, _mm_shuffle_epi32::<1>(pairs)))
}
