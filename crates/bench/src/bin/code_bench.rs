//! Times the code kernels and the steps of coding in level-1 cache: `cargo run --release -p kithdb-bench --bin code_bench`.
//!
//! Prints the best of several rounds; levels take turns within a round.

use std::hint::black_box;
use std::time::Instant;

use kithdb_kernels::{
    CODE_LINE_BYTES, CodeKernels, CodeLevel, CodeWidth, CodingKernels, CodingLevel, QueryLine,
};

const ROUNDS: usize = 7;

/// Best time of one call in nanoseconds.
fn best(calls: usize, mut call: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..calls {
            call();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / calls as f64);
    }
    best
}

fn main() {
    println!("one row of 768 components, ns: alone, in fours");
    for width in CodeWidth::ALL {
        let bytes = (768 / width.planes()).next_multiple_of(CODE_LINE_BYTES);
        let rows: Vec<Vec<u8>> =
            (0..4).map(|n| (0..bytes).map(|i| (i * 31 + n * 7) as u8).collect()).collect();
        let rows = [&rows[0][..], &rows[1][..], &rows[2][..], &rows[3][..]];
        let query = vec![QueryLine([3; 64]); bytes / CODE_LINE_BYTES * width.planes()];
        for level in CodeLevel::available() {
            let dot = CodeKernels::at(level).expect("an available level").dot(width);
            let calls = if level == CodeLevel::Scalar { 2_000 } else { 50_000 };
            let one = best(calls, || {
                black_box((dot.one)(black_box(&query), black_box(rows[0])));
            });
            let four = best(calls, || {
                black_box((dot.four)(black_box(&query), black_box(rows)));
            });
            println!("{:>2} bits  {level:<12?} {one:8.1} {:8.1}", width.bits(), four / 4.0);
        }
    }
    println!("one vector, ns: residual, rotate, max, quantise, these four, encode 8 / 4 / 2 / 1 bits");
    for dim in [128, 384, 768, 784, 1536] {
        let vector: Vec<f32> = (0..dim).map(|i| ((i * 7919 % 1009) as f32 / 1009.0) - 0.5).collect();
        let (mean, signs) = (vec![0.01f32; dim], (0..dim).map(|i| ((i * 31) >> 2) as u8).collect::<Vec<_>>());
        for level in CodingLevel::available() {
            let k = CodingKernels::at(level).expect("an available level");
            let out = &mut vec![0.0f32; dim][..];
            let (mut query, mut codes) = (vec![0i8; dim], vec![0u8; dim]);
            let calls = 5_000;
            let residual = best(calls, || {
                black_box((k.residual)(black_box(&vector), &mean, &mut *out));
            });
            let rotate = best(calls, || (k.rotate)(black_box(&mut *out), &signs));
            let max = best(calls, || {
                black_box((k.max_abs)(black_box(&*out)));
            });
            let quantise = best(calls, || {
                black_box((k.quantise)(black_box(&*out), 40.0, &mut query));
            });
            let encode = [CodeWidth::Eight, CodeWidth::Four, CodeWidth::Two, CodeWidth::One].map(|width| {
                best(calls, || {
                    black_box((k.encode)(black_box(&*out), 40.0, width, &mut codes));
                })
            });
            let whole = best(calls, || {
                (k.residual)(black_box(&vector), &mean, &mut *out);
                (k.rotate)(&mut *out, &signs);
                let max = (k.max_abs)(&*out);
                black_box((k.quantise)(&*out, 127.0 / max, &mut query));
            });
            let encode = encode.map(|ns| format!("{ns:.0}")).join(" / ");
            println!(
                "{dim:>5}  {level:<9?} {residual:6.0} {rotate:6.0} {max:6.0} {quantise:6.0} {whole:6.0}   {encode}"
            );
        }
    }
}
