//! NEON code kernels: 16 byte products at a time, widened to 16 bits.

use std::arch::aarch64::*;

use super::{CODE_LINE_BYTES, CodeKernels, CodeLevel, QueryLine, dots, lines_of};

/// Handed out by `CodeKernels::at` only where the CPU has NEON; every SAFETY note below rests on that.
pub(super) static KERNELS: CodeKernels = CodeKernels { level: CodeLevel::Neon, dots: dots!(one, four) };

fn one<const BITS: u32>(query: &[QueryLine], row: &[u8]) -> i32 {
    // SAFETY: the CPU has NEON, see `KERNELS`.
    let [sum] = unsafe { accumulate::<BITS, 1>(query, [row]) };
    sum
}

fn four<const BITS: u32>(query: &[QueryLine], rows: [&[u8]; 4]) -> [i32; 4] {
    // SAFETY: the CPU has NEON, see `KERNELS`.
    unsafe { accumulate::<BITS, 4>(query, rows) }
}

/// The sums of `N` rows; the vectors of a line alternate between two accumulators.
#[allow(clippy::needless_range_loop, reason = "an index names a row and an accumulator of it")]
#[target_feature(enable = "neon")]
#[inline]
fn accumulate<const BITS: u32, const N: usize>(query: &[QueryLine], rows: [&[u8]; N]) -> [i32; N] {
    let lines = lines_of::<BITS, N>(query, rows);
    let mask = vdupq_n_u8(((1u16 << BITS) - 1) as u8);
    let mut acc = [[vdupq_n_s32(0); 2]; N];
    for line in 0..lines {
        for part in 0..CODE_LINE_BYTES / 16 {
            let mut codes = [vdupq_n_u8(0); N];
            for n in 0..N {
                // SAFETY: line < lines and part < 4, so the sixteen bytes lie inside every row.
                codes[n] = unsafe { vld1q_u8(rows[n].as_ptr().add(line * CODE_LINE_BYTES + part * 16)) };
            }
            for plane in 0..8 / BITS as usize {
                let components = &query[plane * lines + line].0;
                // SAFETY: a query line has 64 bytes, and part < 4.
                let q = unsafe { vld1q_s8(components.as_ptr().add(part * 16)) };
                for n in 0..N {
                    let code = vandq_u8(codes[n], mask);
                    acc[n][part % 2] = step::<BITS>(acc[n][part % 2], code, q);
                    codes[n] = vshlq_u8(codes[n], vdupq_n_s8(-(BITS as i8)));
                }
            }
        }
    }
    acc.map(|[a, b]| vaddvq_s32(vaddq_s32(a, b)))
}

/// Adds 16 products to four sums; the codes are below 2^BITS.
#[target_feature(enable = "neon")]
#[inline]
fn step<const BITS: u32>(acc: int32x4_t, code: uint8x16_t, q: int8x16_t) -> int32x4_t {
    if BITS < 8 {
        // Such codes are positive as signed bytes, and two products fit 16 bits.
        let code = vreinterpretq_s8_u8(code);
        let low = vmull_s8(vget_low_s8(code), vget_low_s8(q));
        return vpadalq_s16(acc, vmlal_high_s8(low, code, q));
    }
    let (code_low, q_low) = (vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(code))), vmovl_s8(vget_low_s8(q)));
    let (code_high, q_high) = (vreinterpretq_s16_u16(vmovl_high_u8(code)), vmovl_high_s8(q));
    let acc = vmlal_s16(acc, vget_low_s16(code_low), vget_low_s16(q_low));
    let acc = vmlal_high_s16(acc, code_low, q_low);
    let acc = vmlal_s16(acc, vget_low_s16(code_high), vget_low_s16(q_high));
    vmlal_high_s16(acc, code_high, q_high)
}
