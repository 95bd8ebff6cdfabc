//! Portable kernels: the fallback, and the reference that the vector levels are compared with.

use crate::{DOT, Kernels, L1, L2, Level};

pub(crate) static KERNELS: Kernels = Kernels {
    level: Level::Scalar,
    dot: one::<DOT>,
    dot4: four::<DOT>,
    l2_squared: one::<L2>,
    l2_squared4: four::<L2>,
    l1: one::<L1>,
    l1_4: four::<L1>,
};

#[inline(always)]
fn step<const OP: u8>(acc: f32, q: f32, r: f32) -> f32 {
    match OP {
        DOT => acc + q * r,
        L2 => acc + (q - r) * (q - r),
        _ => acc + (q - r).abs(),
    }
}

fn one<const OP: u8>(query: &[f32], row: &[f32]) -> f32 {
    assert_eq!(query.len(), row.len(), "vectors of different length");
    let mut acc = [0.0f32; 4];
    let (query_blocks, query_tail) = query.as_chunks::<4>();
    let (row_blocks, row_tail) = row.as_chunks::<4>();
    for (q, r) in query_blocks.iter().zip(row_blocks) {
        for lane in 0..4 {
            acc[lane] = step::<OP>(acc[lane], q[lane], r[lane]);
        }
    }
    for (&q, &r) in query_tail.iter().zip(row_tail) {
        acc[0] = step::<OP>(acc[0], q, r);
    }
    (acc[0] + acc[1]) + (acc[2] + acc[3])
}

fn four<const OP: u8>(query: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
    rows.map(|row| one::<OP>(query, row))
}
