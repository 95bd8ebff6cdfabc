//! Portable tiles: the fallback, and the reference that the others are tested against.

use super::{Gate, RowGate, TileKernels, check_gate, shape};

pub(crate) static TILE: TileKernels = TileKernels { rows: 4, narrow: 8, wide: 16, dot, sift };

fn dot(panel: &[f32], rows: &[&[u8]], next: &[&[u8]], sums: &mut [f32]) {
    let (_, lanes) = shape(&TILE, panel, rows, next, sums);
    for (row, sums) in rows.iter().zip(sums.chunks_exact_mut(lanes)) {
        sums.fill(0.0);
        for (component, queries) in row.as_chunks::<4>().0.iter().zip(panel.chunks_exact(lanes)) {
            let component = f32::from_le_bytes(*component);
            sums.iter_mut().zip(queries).for_each(|(sum, query)| *sum += query * component);
        }
    }
}

fn sift(sums: &[f32], gate: &Gate, rows: &[RowGate], passed: &mut [u64]) {
    check_gate(&TILE, sums, gate, rows, passed);
    sift_lanes(sums, gate, rows, passed);
}

/// [`Sift`](super::Sift) one lane at a time.
pub(super) fn sift_lanes(sums: &[f32], gate: &Gate, rows: &[RowGate], passed: &mut [u64]) {
    for ((row, sums), passed) in rows.iter().zip(sums.chunks_exact(gate.bound.len())).zip(passed) {
        let lanes = sums.iter().zip(&gate.offset).zip(&gate.slope).zip(&gate.bound).enumerate();
        *passed = lanes.fold(0, |passed, (lane, (((&sum, &offset), &slope), &bound))| {
            let least = offset + (row.base + slope * row.share + row.factor * sum);
            // A comparison with NaN is false, so NaN passes.
            let is_out = least > bound;
            passed | u64::from(!is_out) << lane
        });
    }
}
