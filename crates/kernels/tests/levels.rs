//! Every level against the scalar reference and against an `f64` reference, and the one-row form against the four-row form.

use kithdb_kernels::{FourRows, Kernels, Level, OneRow, available, kernels, norm, normalise};
use proptest::prelude::*;

/// Name, one row, four rows, exact term of one component.
type Case = (&'static str, OneRow, FourRows, fn(f64, f64) -> f64);

/// Every kernel of a level.
fn table(k: &Kernels) -> [Case; 3] {
    [
        ("dot", k.dot, k.dot4, |q, r| q * r),
        ("l2_squared", k.l2_squared, k.l2_squared4, |q, r| (q - r) * (q - r)),
        ("l1", k.l1, k.l1_4, |q, r| (q - r).abs()),
    ]
}

/// The exact sum and a bound on the rounding error of an `f32` sum of these terms in any order.
fn reference(term: fn(f64, f64) -> f64, q: &[f32], r: &[f32]) -> (f64, f64) {
    let (mut sum, mut magnitude) = (0.0, 0.0);
    for (&q, &r) in q.iter().zip(r) {
        let t = term(f64::from(q), f64::from(r));
        sum += t;
        magnitude += t.abs();
    }
    let roundings = q.len() as f64 + 4.0;
    (sum, roundings * (magnitude * f64::from(f32::EPSILON) + f64::from(f32::MIN_POSITIVE)))
}

/// Checks all levels on five vectors that start `offset` floats into their buffers.
fn check(buffers: &[Vec<f32>; 5], offset: usize) {
    let [q, a, b, c, d] = buffers.each_ref().map(|buffer| &buffer[offset..]);
    for level in available() {
        let k = Kernels::at(level).expect("an available level");
        for (name, one, four, term) in table(k) {
            let together = four(q, [a, b, c, d]);
            for (row, result) in [a, b, c, d].into_iter().zip(together) {
                let alone = one(q, row);
                assert_eq!(
                    alone.to_bits(),
                    result.to_bits(),
                    "{level:?} {name}: one row and four rows differ"
                );
                let (exact, bound) = reference(term, q, row);
                let error = (f64::from(alone) - exact).abs();
                assert!(error <= bound, "{level:?} {name} len {}: {alone} is not {exact}", q.len());
            }
        }
    }
}

/// Ordinary values with some zeros, denormals and large ones among them.
fn component() -> impl Strategy<Value = f32> + Clone {
    prop_oneof![
        8 => -2.0f32..2.0,
        1 => Just(0.0f32),
        1 => Just(-0.0f32),
        1 => (1u32..0x007f_ffff).prop_map(f32::from_bits),
        1 => -1e15f32..1e15,
    ]
}

fn five_vectors() -> impl Strategy<Value = ([Vec<f32>; 5], usize)> {
    (1usize..=2048, 0usize..17).prop_flat_map(|(len, offset)| {
        let vector = prop::collection::vec(component(), len + offset);
        ([vector.clone(), vector.clone(), vector.clone(), vector.clone(), vector], Just(offset))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn levels_agree_with_the_exact_sum_on_any_length_and_alignment((buffers, offset) in five_vectors()) {
        check(&buffers, offset);
    }

    #[test]
    fn normalising_gives_unit_length_and_is_idempotent(mut v in prop::collection::vec(component(), 1..300)) {
        let before = norm(&v);
        normalise(&mut v);
        if before == 0.0 {
            prop_assert!(v.iter().all(|&x| x == 0.0));
        } else {
            prop_assert!((norm(&v) - 1.0).abs() < 1e-5, "length {}", norm(&v));
            let once = v.clone();
            normalise(&mut v);
            prop_assert_eq!(once, v);
        }
    }
}

#[test]
fn every_short_length_is_exact_on_small_integers() {
    for len in 0..=200usize {
        let vector = |salt: usize| (0..len).map(|i| ((i * 7 + salt) % 11) as f32 - 5.0).collect::<Vec<f32>>();
        let (q, rows) = (vector(3), [vector(0), vector(1), vector(2), vector(4)]);
        for level in available() {
            let k = Kernels::at(level).expect("an available level");
            for (name, one, four, term) in table(k) {
                let together = four(&q, rows.each_ref().map(Vec::as_slice));
                for (row, result) in rows.iter().zip(together) {
                    let (exact, _) = reference(term, &q, row);
                    assert_eq!(f64::from(result), exact, "{level:?} {name} len {len}");
                    assert_eq!(f64::from(one(&q, row)), exact, "{level:?} {name} len {len}");
                }
            }
        }
    }
}

#[test]
fn empty_vectors_give_zero() {
    for level in available() {
        let k = Kernels::at(level).expect("an available level");
        for (_, one, four, _) in table(k) {
            assert_eq!(one(&[], &[]), 0.0);
            assert_eq!(four(&[], [&[]; 4]), [0.0; 4]);
        }
    }
}

#[test]
fn different_lengths_panic_at_every_level() {
    for level in available() {
        let k = Kernels::at(level).expect("an available level");
        for (_, one, four, _) in table(k) {
            let (long, short) = ([1.0f32; 40], [1.0f32; 39]);
            assert!(std::panic::catch_unwind(|| one(&long, &short)).is_err());
            assert!(std::panic::catch_unwind(|| four(&long, [&long, &long, &long, &short])).is_err());
        }
    }
}

#[test]
fn overflow_is_infinite_and_never_a_wrong_number() {
    let (q, r) = (vec![3e38f32; 33], vec![-3e38f32; 33]);
    for level in available() {
        let k = Kernels::at(level).expect("an available level");
        assert_eq!((k.dot)(&q, &r), f32::NEG_INFINITY);
        assert_eq!((k.l2_squared)(&q, &r), f32::INFINITY);
        assert_eq!((k.l1)(&q, &r), f32::INFINITY);
    }
}

#[test]
fn vectors_of_extreme_length_are_normalised() {
    for scale in [1e-45f32, 1e-30, 1e30, 3e38] {
        let mut v = vec![scale; 12];
        normalise(&mut v);
        assert!((norm(&v) - 1.0).abs() < 1e-6, "scale {scale}");
    }
}

#[test]
fn the_best_level_is_chosen_and_scalar_is_always_there() {
    let levels = available();
    assert_eq!(levels.last(), Some(&Level::Scalar));
    assert_eq!(kernels().level, levels[0]);
}
