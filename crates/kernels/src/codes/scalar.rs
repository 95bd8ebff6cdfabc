//! Portable code kernels: the fallback, and the reference that the vector levels are compared with.

use super::{CODE_LINE_BYTES, CodeKernels, CodeLevel, QueryLine, dots, lines_of};

pub(super) static KERNELS: CodeKernels = CodeKernels { level: CodeLevel::Scalar, dots: dots!(one, four) };

fn one<const BITS: u32>(query: &[QueryLine], row: &[u8]) -> i32 {
    let lines = lines_of::<BITS, 1>(query, [row]);
    let mask = ((1u16 << BITS) - 1) as u8;
    let mut sum = 0i32;
    for plane in 0..8 / BITS {
        let planes = &query[plane as usize * lines..][..lines];
        for (QueryLine(components), codes) in planes.iter().zip(row.chunks_exact(CODE_LINE_BYTES)) {
            for (&q, &byte) in components.iter().zip(codes) {
                sum += i32::from(q) * i32::from((byte >> (BITS * plane)) & mask);
            }
        }
    }
    sum
}

fn four<const BITS: u32>(query: &[QueryLine], rows: [&[u8]; 4]) -> [i32; 4] {
    rows.map(|row| one::<BITS>(query, row))
}
