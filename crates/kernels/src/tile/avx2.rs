//! Tiles of 6 rows by one or two vectors of 8 queries: 12 sums in registers, two vectors of the panel, one component.

use std::arch::x86_64::*;

use super::{Gate, RowGate, TileKernels, check_gate, shape};

const ROWS: usize = 6;

/// Handed out by `Kernels::at` only where the CPU has AVX2 and FMA; every SAFETY note below rests on that.
pub(crate) static TILE: TileKernels = TileKernels { rows: ROWS, narrow: 8, wide: 16, dot, sift };

fn dot(panel: &[f32], rows: &[&[u8]], next: &[&[u8]], sums: &mut [f32]) {
    let (dim, lanes) = shape(&TILE, panel, rows, next, sums);
    // The last row is used in place of missing ones; its extra sums are dropped.
    let starts: [*const u8; ROWS] = std::array::from_fn(|row| rows[row.min(rows.len() - 1)].as_ptr());
    // SAFETY: the CPU has AVX2 and FMA. `shape` has checked that every row has `dim` components, that the panel has
    // `dim` × `lanes` and the sums one for each lane and row.
    unsafe {
        if lanes == TILE.wide {
            tile::<2>(panel.as_ptr(), starts, dim, next, sums.as_mut_ptr(), rows.len());
        } else {
            tile::<1>(panel.as_ptr(), starts, dim, next, sums.as_mut_ptr(), rows.len());
        }
    }
}

/// # Safety
/// `panel` has `dim` × 8·`V` floats, every row `dim` floats of any alignment, `sums` 8·`V` floats for each of the
/// first `count` rows.
#[allow(clippy::needless_range_loop, reason = "a row indexes pointers and sums")]
#[target_feature(enable = "avx2,fma")]
unsafe fn tile<const V: usize>(
    panel: *const f32,
    rows: [*const u8; ROWS],
    dim: usize,
    next: &[&[u8]],
    sums: *mut f32,
    count: usize,
) {
    let mut acc = [[_mm256_setzero_ps(); V]; ROWS];
    let mut at = 0;
    while at < dim {
        // For every line of these rows, one line of each next row is prefetched.
        for row in next {
            if at * 4 < row.len() {
                _mm_prefetch::<_MM_HINT_T1>(row.as_ptr().wrapping_add(at * 4).cast());
            }
        }
        let end = dim.min(at + 16);
        while at < end {
            // SAFETY: at < dim, so component `at` of the panel and of every row is there.
            unsafe {
                let queries: [__m256; V] =
                    std::array::from_fn(|v| _mm256_loadu_ps(panel.add((at * V + v) * 8)));
                for row in 0..ROWS {
                    let component = _mm256_set1_ps(rows[row].add(at * 4).cast::<f32>().read_unaligned());
                    for v in 0..V {
                        acc[row][v] = _mm256_fmadd_ps(component, queries[v], acc[row][v]);
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
                unsafe { _mm256_storeu_ps(sums.add((row * V + v) * 8), acc[row][v]) }
            }
        }
    }
}

fn sift(sums: &[f32], gate: &Gate, rows: &[RowGate], passed: &mut [u64]) {
    let lanes = check_gate(&TILE, sums, gate, rows, passed);
    // SAFETY: the CPU has AVX2 and FMA, and `check_gate` has seen that the gate has as many lanes as the vectors, and
    // that there are as many sums for each row.
    unsafe {
        if lanes == TILE.wide {
            sift_vectors::<2>(sums, gate, rows, passed);
        } else {
            sift_vectors::<1>(sums, gate, rows, passed);
        }
    }
}

/// # Safety
/// The arrays of `gate` have 8·`V` numbers, and `sums` as many for each row.
#[target_feature(enable = "avx2,fma")]
unsafe fn sift_vectors<const V: usize>(sums: &[f32], gate: &Gate, rows: &[RowGate], passed: &mut [u64]) {
    let vectors = |lanes: &[f32]| -> [__m256; V] {
        // SAFETY: the caller's, for all that this is called with.
        std::array::from_fn(|v| unsafe { _mm256_loadu_ps(lanes.as_ptr().add(8 * v)) })
    };
    let (offset, slope, bound) = (vectors(&gate.offset), vectors(&gate.slope), vectors(&gate.bound));
    for ((row, sums), passed) in rows.iter().zip(sums.chunks_exact(8 * V)).zip(passed) {
        let (base, share, factor) =
            (_mm256_set1_ps(row.base), _mm256_set1_ps(row.share), _mm256_set1_ps(row.factor));
        let sums = vectors(sums);
        *passed = 0;
        for v in 0..V {
            let least = _mm256_fmadd_ps(factor, sums[v], base);
            let least = _mm256_fmadd_ps(slope[v], share, least);
            let least = _mm256_add_ps(offset[v], least);
            let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NGT_UQ>(least, bound[v]));
            *passed |= (mask as u64) << (8 * v);
        }
    }
}
