//! Code kernels of every level against plain sums, and the coding kernels of every level against each other.

use kithdb_kernels::{
    CODE_LINE_BYTES, CodeKernels, CodeLevel, CodeWidth, CodingKernels, CodingLevel, QueryLine, code_kernels,
    coding_kernels,
};
use proptest::prelude::*;

fn query_lines(components: &[i8]) -> Vec<QueryLine> {
    components.as_chunks::<CODE_LINE_BYTES>().0.iter().map(|&line| QueryLine(line)).collect()
}

/// The sum by the definition of the layout.
fn expected(width: CodeWidth, query: &[i8], row: &[u8]) -> i32 {
    let (bits, mut sum) = (width.bits(), 0i64);
    for (at, &q) in query.iter().enumerate() {
        let (plane, byte) = (at / row.len(), row[at % row.len()]);
        let code = u32::from(byte) >> (bits * plane) & ((1 << bits) - 1);
        sum += i64::from(q) * i64::from(code);
    }
    i32::try_from(sum).expect("a sum that fits")
}

fn check(width: CodeWidth, query: &[i8], rows: [&[u8]; 4]) {
    let lines = query_lines(query);
    let exact = rows.map(|row| expected(width, query, row));
    for level in CodeLevel::available() {
        let dot = CodeKernels::at(level).expect("an available level").dot(width);
        assert_eq!((dot.four)(&lines, rows), exact, "{level:?} {width:?} four, {} lines", lines.len());
        assert_eq!(rows.map(|row| (dot.one)(&lines, row)), exact, "{level:?} {width:?} one");
    }
}

fn width() -> impl Strategy<Value = CodeWidth> {
    prop::sample::select(CodeWidth::ALL.to_vec())
}

/// Bytes with the extremes well represented.
fn byte() -> impl Strategy<Value = u8> + Clone {
    prop_oneof![4 => any::<u8>(), 1 => Just(255u8), 1 => Just(0u8), 1 => Just(128u8)]
}

fn codes_and_query() -> impl Strategy<Value = (CodeWidth, Vec<i8>, [Vec<u8>; 4])> {
    (width(), 1usize..=20).prop_flat_map(|(width, lines)| {
        let bytes = lines * CODE_LINE_BYTES;
        let row = prop::collection::vec(byte(), bytes);
        let query = prop::collection::vec(byte().prop_map(|b| b as i8), bytes * width.planes());
        (Just(width), query, [row.clone(), row.clone(), row.clone(), row])
    })
}

fn vector() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(prop_oneof![8 => -2.0f32..2.0, 1 => Just(0.0f32), 1 => -1e12f32..1e12], 1..900)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_level_gives_the_exact_sum((width, query, rows) in codes_and_query()) {
        check(width, &query, rows.each_ref().map(Vec::as_slice));
    }

    #[test]
    fn coding_gives_the_same_bits_at_every_level(x in vector(), seed in any::<u8>(), factor in 0.1f32..200.0) {
        let signs: Vec<u8> = (0..x.len()).map(|i| (i as u8).wrapping_mul(73) ^ seed).collect();
        let mean: Vec<f32> = x.iter().rev().map(|x| x * 0.3).collect();
        let mut results = Vec::new();
        for level in CodingLevel::available() {
            let k = CodingKernels::at(level).expect("an available level");
            let mut rotated = vec![0.0; x.len()];
            let residual = (k.residual)(&x, &mean, &mut rotated);
            (k.rotate)(&mut rotated, &signs);
            let (max, mut query) = ((k.max_abs)(&rotated), vec![0i8; x.len()]);
            let quantised = (k.quantise)(&rotated, factor, &mut query);
            let codes = CodeWidth::ALL.map(|width| {
                let mut codes = vec![0u8; x.len()];
                let sums = (k.encode)(&rotated, factor, width, &mut codes);
                (codes, sums.dot.to_bits(), sums.sum)
            });
            let bits: Vec<u32> = rotated.iter().map(|x| x.to_bits()).collect();
            let sums = [residual.norm_squared, residual.mean_dot, max, quantised.dot].map(f32::to_bits);
            results.push((bits, sums, quantised.sum, query, codes));
        }
        prop_assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn codes_are_decoded_to_the_integers_that_they_encode(codes in prop::collection::vec(any::<u8>(), 0..900)) {
        for level in CodingLevel::available() {
            let k = CodingKernels::at(level).expect("an available level");
            for width in CodeWidth::ALL {
                for plane in 0..width.planes() {
                    let integers = codes.iter().map(|&byte| match width {
                        CodeWidth::Eight => i32::from(byte) - 128,
                        _ => {
                            let top = (1 << width.bits()) - 1;
                            2 * (i32::from(byte) >> (plane * width.bits()) & top) - top
                        }
                    });
                    let expected: Vec<i32> = integers.collect();
                    let mut got = vec![0i8; codes.len()];
                    let sum = (k.decode)(&codes, width, plane, &mut got);
                    prop_assert_eq!(sum, expected.iter().sum::<i32>());
                    prop_assert!(got.iter().map(|&v| i32::from(v)).eq(expected), "{:?}, {:?}", level, width);
                }
            }
        }
    }

    #[test]
    fn a_rotation_keeps_lengths_and_inner_products(x in vector(), seed in any::<u64>()) {
        let signs: Vec<u8> = (0..x.len() as u64).map(|i| ((i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        let y: Vec<f32> = x.iter().rev().map(|x| x.sin()).collect();
        let (mut rx, mut ry) = (x.clone(), y.clone());
        let k = coding_kernels();
        (k.rotate)(&mut rx, &signs);
        (k.rotate)(&mut ry, &signs);
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
        let (xx, yy) = (dot(&x, &x), dot(&y, &y));
        prop_assert!((dot(&rx, &rx) - xx).abs() <= 1e-5 * xx);
        prop_assert!((dot(&rx, &ry) - dot(&x, &y)).abs() <= 1e-5 * (xx * yy).sqrt());
    }

    #[test]
    fn codes_are_the_nearest_levels(x in prop::collection::vec(-1.0f32..1.0, 1..200)) {
        let k = coding_kernels();
        for width in CodeWidth::ALL {
            let top = (1u32 << width.bits()) - 1;
            let factor = if width == CodeWidth::Eight { 127.0 } else { (top + 1) as f32 / 2.0 };
            let mut codes = vec![0u8; x.len()];
            let sums = (k.encode)(&x, factor, width, &mut codes);
            let v = |u: u8| match width {
                CodeWidth::Eight => f64::from(u) - 128.0,
                _ => 2.0 * f64::from(u) - f64::from(top),
            };
            let (unit, mut sum, mut dot) = (if width == CodeWidth::Eight { 1.0 } else { 2.0 }, 0.0, 0.0);
            for (&x, &u) in x.iter().zip(&codes) {
                prop_assert!(u32::from(u) <= top);
                let exact = f64::from(x) * f64::from(factor) * unit;
                prop_assert!((v(u) - exact).abs() <= unit / 2.0 + 1e-4, "{width:?}: {x} became {u}");
                sum += v(u);
                dot += v(u) * f64::from(x);
            }
            prop_assert_eq!(f64::from(sums.sum), sum);
            prop_assert!((f64::from(sums.dot) - dot).abs() <= 1e-4 * (1.0 + dot.abs()));
        }
    }
}

#[test]
fn the_greatest_sums_of_65_536_components_do_not_overflow() {
    for width in CodeWidth::ALL {
        let bytes = 65_536 / width.planes();
        for q in [127i8, -127] {
            check(
                width,
                &vec![q; 65_536],
                [&vec![255u8; bytes], &vec![0; bytes], &vec![1; bytes], &vec![128; bytes]],
            );
        }
    }
}

#[test]
fn query_components_at_zero_bytes_do_not_count() {
    for width in CodeWidth::ALL {
        let mut row = vec![0u8; 128];
        row[..70].fill(0xa5);
        let mut query: Vec<i8> = (0..128 * width.planes()).map(|i| (i * 37) as i8).collect();
        let before = expected(width, &query, &row);
        for (at, q) in query.iter_mut().enumerate() {
            if at % 128 >= 70 {
                *q = -99;
            }
        }
        check(width, &query, [&row; 4]);
        assert_eq!(expected(width, &query, &row), before);
    }
}

#[test]
fn rows_that_do_not_fit_the_query_panic_at_every_level() {
    for level in CodeLevel::available() {
        for width in CodeWidth::ALL {
            let dot = CodeKernels::at(level).expect("an available level").dot(width);
            let query = query_lines(&vec![1i8; 128 * width.planes()]);
            let (fits, short, ragged) = ([1u8; 128], [1u8; 64], [1u8; 100]);
            for bad in [&short[..], &ragged[..]] {
                assert!(std::panic::catch_unwind(|| (dot.one)(&query, bad)).is_err());
                assert!(std::panic::catch_unwind(|| (dot.four)(&query, [&fits, &fits, &fits, bad])).is_err());
            }
        }
    }
}

#[test]
fn the_best_level_is_chosen_and_portable_code_is_always_there() {
    assert_eq!(CodeLevel::available().last(), Some(&CodeLevel::Scalar));
    assert_eq!(code_kernels().level, CodeLevel::available()[0]);
    assert_eq!(CodingLevel::available().last(), Some(&CodingLevel::Baseline));
    assert_eq!(coding_kernels().level, CodingLevel::available()[0]);
}
