//! Portable kernels: the fallback, and the reference that the vector levels are compared with.

use crate::rows::{F16, F32, U8, bytes_of, component, component_bytes};
use crate::{DOT, Kernels, L1, L2, Level, RowKernels};

pub(crate) static KERNELS: Kernels = Kernels {
    level: Level::Scalar,
    dot: pair::<DOT>,
    dot4: pairs::<DOT>,
    l2_squared: pair::<L2>,
    l2_squared4: pairs::<L2>,
    l1: pair::<L1>,
    l1_4: pairs::<L1>,
    rows_f32: rows::<F32>(),
    rows_f16: rows::<F16>(),
    rows_u8: rows::<U8>(),
    tile: &crate::tile::scalar::TILE,
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

fn widen<const ELEMENT: u8>(row: &[u8], out: &mut [f32]) {
    assert_eq!(out.len() * component_bytes(ELEMENT), row.len(), "vectors of different length");
    for (out, bytes) in out.iter_mut().zip(row.chunks_exact(component_bytes(ELEMENT))) {
        *out = component::<ELEMENT>(bytes);
    }
}

#[inline(always)]
fn step<const OP: u8>(acc: f32, q: f32, r: f32) -> f32 {
    match OP {
        DOT => acc + q * r,
        L2 => acc + (q - r) * (q - r),
        _ => acc + (q - r).abs(),
    }
}

fn pair<const OP: u8>(query: &[f32], row: &[f32]) -> f32 {
    one::<OP, F32>(query, bytes_of(row))
}

fn pairs<const OP: u8>(query: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
    four::<OP, F32>(query, rows.map(bytes_of))
}

fn one<const OP: u8, const ELEMENT: u8>(query: &[f32], row: &[u8]) -> f32 {
    let bytes = component_bytes(ELEMENT);
    assert_eq!(query.len() * bytes, row.len(), "vectors of different length");
    let mut acc = [0.0f32; 4];
    let (query_blocks, query_tail) = query.as_chunks::<4>();
    let mut row = row.chunks_exact(bytes).map(component::<ELEMENT>);
    for q in query_blocks {
        for (acc, (&q, r)) in acc.iter_mut().zip(q.iter().zip(&mut row)) {
            *acc = step::<OP>(*acc, q, r);
        }
    }
    for (&q, r) in query_tail.iter().zip(row) {
        acc[0] = step::<OP>(acc[0], q, r);
    }
    (acc[0] + acc[1]) + (acc[2] + acc[3])
}

fn four<const OP: u8, const ELEMENT: u8>(query: &[f32], rows: [&[u8]; 4]) -> [f32; 4] {
    rows.map(|row| one::<OP, ELEMENT>(query, row))
}
