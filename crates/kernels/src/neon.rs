//! NEON kernels: 4 lanes, four accumulators a row, scalar tails.

use std::arch::aarch64::*;

use crate::rows::{F16, F32, U8, bytes_of, component, component_bytes};
use crate::{DOT, Kernels, L1, L2, Level, RowKernels};

/// Handed out by `Kernels::at` only where the CPU has NEON; every SAFETY note below rests on that.
pub(crate) static KERNELS: Kernels = Kernels {
    level: Level::Neon,
    dot: pair::<DOT>,
    dot4: pairs::<DOT>,
    l2_squared: pair::<L2>,
    l2_squared4: pairs::<L2>,
    l1: pair::<L1>,
    l1_4: pairs::<L1>,
    rows_f32: rows::<F32>(),
    rows_f16: rows::<F16>(),
    rows_u8: rows::<U8>(),
    tile: &crate::tile::neon::TILE,
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
    // SAFETY: the CPU has NEON, see `KERNELS`.
    let [sum] = unsafe { accumulate::<OP, ELEMENT, 1>(query, [row]) };
    sum
}

fn four<const OP: u8, const ELEMENT: u8>(query: &[f32], rows: [&[u8]; 4]) -> [f32; 4] {
    // SAFETY: the CPU has NEON, see `KERNELS`.
    unsafe { accumulate::<OP, ELEMENT, 4>(query, rows) }
}

fn widen<const ELEMENT: u8>(row: &[u8], out: &mut [f32]) {
    assert_eq!(out.len() * component_bytes(ELEMENT), row.len(), "vectors of different length");
    // SAFETY: the CPU has what the level asks for, see `KERNELS`.
    unsafe { widen_vectors::<ELEMENT>(row, out) }
}

#[target_feature(enable = "neon")]
fn widen_vectors<const ELEMENT: u8>(row: &[u8], out: &mut [f32]) {
    let mut at = 0;
    while at + 4 <= out.len() {
        // SAFETY: at + 4 <= len, the number of components of both.
        unsafe { vst1q_f32(out.as_mut_ptr().add(at), load::<ELEMENT>(row.as_ptr(), at)) }
        at += 4;
    }
    let bytes = component_bytes(ELEMENT);
    for (out, component_bytes) in out[at..].iter_mut().zip(row[at * bytes..].chunks_exact(bytes)) {
        *out = component::<ELEMENT>(component_bytes);
    }
}

/// Four components of a row.
///
/// # Safety
/// Components `at..at + 4` are readable.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn load<const ELEMENT: u8>(row: *const u8, at: usize) -> float32x4_t {
    // SAFETY: the caller's; the loads need no alignment.
    unsafe {
        let place = row.add(at * component_bytes(ELEMENT));
        match ELEMENT {
            F32 => vreinterpretq_f32_u8(vld1q_u8(place)),
            F16 => vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(place))),
            _ => {
                let four = vcreate_u8(u64::from(place.cast::<u32>().read_unaligned()));
                vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(four))))
            }
        }
    }
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
fn accumulate<const OP: u8, const ELEMENT: u8, const N: usize>(query: &[f32], rows: [&[u8]; N]) -> [f32; N] {
    let len = query.len();
    for row in rows {
        assert_eq!(len * component_bytes(ELEMENT), row.len(), "vectors of different length");
    }
    let mut acc = [[vdupq_n_f32(0.0); 4]; N];
    let mut at = 0;
    while at + 16 <= len {
        for lane in 0..4 {
            // SAFETY: at + 16 <= len, the length of the query and of every row.
            let q = unsafe { vld1q_f32(query.as_ptr().add(at + lane * 4)) };
            for n in 0..N {
                // SAFETY: as above.
                let r = unsafe { load::<ELEMENT>(rows[n].as_ptr(), at + lane * 4) };
                acc[n][lane] = step::<OP>(acc[n][lane], q, r);
            }
        }
        at += 16;
    }
    let mut sums = [0.0; N];
    for n in 0..N {
        let [a, b, c, d] = acc[n];
        let blocks = vaddvq_f32(vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d)));
        let bytes = component_bytes(ELEMENT);
        let tail = rows[n][at * bytes..].chunks_exact(bytes).map(component::<ELEMENT>);
        sums[n] = query[at..].iter().zip(tail).fold(blocks, |acc, (&q, r)| tail_step::<OP>(acc, q, r));
    }
    sums
}
