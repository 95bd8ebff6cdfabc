//! Tiles of 6 rows by two or four vectors of 4 queries: 24 sums in registers, four vectors of the panel, one component.

use std::arch::aarch64::*;

use super::scalar::sift_lanes;
use super::{Gate, RowGate, TileKernels, check_gate, shape};
use crate::prefetch_l2;

const ROWS: usize = 6;

/// Handed out by `Kernels::at` only where the CPU has NEON; every SAFETY note below rests on that.
pub(crate) static TILE: TileKernels = TileKernels { rows: ROWS, narrow: 8, wide: 16, dot, sift };

fn dot(panel: &[f32], rows: &[&[u8]], next: &[&[u8]], sums: &mut [f32]) {
    let (dim, lanes) = shape(&TILE, panel, rows, next, sums);
    // The last row is used in place of missing ones; its extra sums are dropped.
    let starts: [*const u8; ROWS] = std::array::from_fn(|row| rows[row.min(rows.len() - 1)].as_ptr());
    // SAFETY: the CPU has NEON. `shape` has checked that every row has `dim` components, that the panel has `dim` ×
    // `lanes` and the sums one for each lane and row.
    unsafe {
        if lanes == TILE.wide {
            tile::<4>(panel.as_ptr(), starts, dim, next, sums.as_mut_ptr(), rows.len());
        } else {
            tile::<2>(panel.as_ptr(), starts, dim, next, sums.as_mut_ptr(), rows.len());
        }
    }
}

/// # Safety
/// `panel` has `dim` × 4·`V` floats, every row `dim` floats of any alignment, `sums` 4·`V` floats for each of the
/// first `count` rows.
#[allow(clippy::needless_range_loop, reason = "a row indexes pointers and sums")]
#[target_feature(enable = "neon")]
unsafe fn tile<const V: usize>(
    panel: *const f32,
    rows: [*const u8; ROWS],
    dim: usize,
    next: &[&[u8]],
    sums: *mut f32,
    count: usize,
) {
    let mut acc = [[vdupq_n_f32(0.0); V]; ROWS];
    let mut at = 0;
    while at < dim {
        // For every line of these rows, one line of each next row is prefetched.
        for row in next {
            if let Some(line) = row.get(at * 4..row.len().min(at * 4 + 64)) {
                prefetch_l2(line);
            }
        }
        let end = dim.min(at + 16);
        while at < end {
            // SAFETY: at < dim, so component `at` of the panel and of every row is there.
            unsafe {
                let queries: [float32x4_t; V] =
                    std::array::from_fn(|v| vld1q_f32(panel.add((at * V + v) * 4)));
                for row in 0..ROWS {
                    let component = rows[row].add(at * 4).cast::<f32>().read_unaligned();
                    for v in 0..V {
                        acc[row][v] = vfmaq_n_f32(acc[row][v], queries[v], component);
                    }
                }
            }
            at += 1;
        }
    }
    for row in 0..ROWS {
        if row < count {
            for v in 0..V {
                // SAFETY: the row is among the first `count`.
                unsafe { vst1q_f32(sums.add((row * V + v) * 4), acc[row][v]) }
            }
        }
    }
}

fn sift(sums: &[f32], gate: &Gate, rows: &[RowGate], passed: &mut [u64]) {
    check_gate(&TILE, sums, gate, rows, passed);
    sift_lanes(sums, gate, rows, passed);
}
