//! NEON kernels: 4 lanes, four accumulators a row, scalar tails.

use std::arch::aarch64::*;

use crate::{DOT, Kernels, L1, L2, Level};

/// Handed out by `Kernels::at` only where the CPU has NEON; every SAFETY note below rests on that.
pub(crate) static KERNELS: Kernels = Kernels {
    level: Level::Neon,
    dot: one::<DOT>,
    dot4: four::<DOT>,
    l2_squared: one::<L2>,
    l2_squared4: four::<L2>,
    l1: one::<L1>,
    l1_4: four::<L1>,
};

fn one<const OP: u8>(query: &[f32], row: &[f32]) -> f32 {
    // SAFETY: the CPU has NEON, see `KERNELS`.
    let [sum] = unsafe { accumulate::<OP, 1>(query, [row]) };
    sum
}

fn four<const OP: u8>(query: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
    // SAFETY: the CPU has NEON, see `KERNELS`.
    unsafe { accumulate::<OP, 4>(query, rows) }
}

#[target_feature(enable = "neon")]
#[inline]
fn step<const OP: u8>(acc: float32x4_t, q: float32x4_t, r: float32x4_t) -> float32x4_t {
    match OP {
        DOT => vfmaq_f32(acc, q, r),
        L2 => {
            let diff = vsubq_f32(q, r);
            vfmaq_f32(acc, diff, diff)
        }
        _ => vaddq_f32(acc, vabdq_f32(q, r)),
    }
}

fn tail_step<const OP: u8>(acc: f32, q: f32, r: f32) -> f32 {
    match OP {
        DOT => q.mul_add(r, acc),
        L2 => (q - r).mul_add(q - r, acc),
        _ => acc + (q - r).abs(),
    }
}

/// The sums of `N` rows. The order of operations within a row is the same for every `N`.
#[allow(clippy::needless_range_loop, reason = "a lane indexes memory and an accumulator of every row")]
#[target_feature(enable = "neon")]
#[inline]
fn accumulate<const OP: u8, const N: usize>(query: &[f32], rows: [&[f32]; N]) -> [f32; N] {
    let len = query.len();
    for row in rows {
        assert_eq!(len, row.len(), "vectors of different length");
    }
    let mut acc = [[vdupq_n_f32(0.0); 4]; N];
    let mut at = 0;
    while at + 16 <= len {
        for lane in 0..4 {
            // SAFETY: at + 16 <= len, the length of the query and of every row.
            let q = unsafe { vld1q_f32(query.as_ptr().add(at + lane * 4)) };
            for n in 0..N {
                // SAFETY: as above.
                let r = unsafe { vld1q_f32(rows[n].as_ptr().add(at + lane * 4)) };
                acc[n][lane] = step::<OP>(acc[n][lane], q, r);
            }
        }
        at += 16;
    }
    let mut sums = [0.0; N];
    for n in 0..N {
        let [a, b, c, d] = acc[n];
        let blocks = vaddvq_f32(vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d)));
        let tail = query[at..].iter().zip(&rows[n][at..]);
        sums[n] = tail.fold(blocks, |acc, (&q, &r)| tail_step::<OP>(acc, q, r));
    }
    sums
}
