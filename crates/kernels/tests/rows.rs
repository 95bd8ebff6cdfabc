//! Kernels over rows of bytes: every level and element type against the pairs of `f32` vectors, and one row against
//! four.

use half::f16;
use kithdb_kernels::{FourByteRows, Kernels, OneByteRow, RowKernels, available};
use proptest::prelude::*;

/// How a component is written to a row.
type Write = fn(f32, &mut Vec<u8>);

/// Name of an element type, its kernels, how a component is written, and how it rounds a number.
type Element<'a> = (&'static str, &'a RowKernels, Write, fn(f32) -> f32);

fn elements(k: &Kernels) -> [Element<'_>; 3] {
    [
        ("f32", &k.rows_f32, |v, out| out.extend(v.to_le_bytes()), |v| v),
        (
            "f16",
            &k.rows_f16,
            |v, out| out.extend(f16::from_f32(v).to_le_bytes()),
            |v| f16::from_f32(v).to_f32(),
        ),
        ("u8", &k.rows_u8, |v, out| out.push(v as u8), |v| f32::from(v as u8)),
    ]
}

fn kinds(k: &RowKernels) -> [(&'static str, OneByteRow, FourByteRows); 3] {
    [("dot", k.dot, k.dot4), ("l2_squared", k.l2_squared, k.l2_squared4), ("l1", k.l1, k.l1_4)]
}

/// Checks that typed rows give, bit for bit, what the widened vectors give, `offset` bytes into a buffer.
fn check(query: &[f32], rows: [&[f32]; 4], offset: usize) {
    for level in available() {
        let k = Kernels::at(level).expect("an available level");
        let pairs = [k.dot, k.l2_squared, k.l1];
        for (element, typed, write, kept) in elements(k) {
            let widened = rows.map(|row| row.iter().map(|&v| kept(v)).collect::<Vec<f32>>());
            let encoded = rows.map(|row| {
                let mut bytes = vec![0xff; offset];
                row.iter().for_each(|&v| write(v, &mut bytes));
                bytes
            });
            let encoded = encoded.each_ref().map(|bytes| &bytes[offset..]);
            for ((name, one, four), pair) in kinds(typed).into_iter().zip(pairs) {
                let together = four(query, encoded);
                for ((row, bytes), together) in widened.iter().zip(encoded).zip(together) {
                    let alone = one(query, bytes);
                    let len = query.len();
                    let case = format!("{level:?} {element} {name} len {len}");
                    assert_eq!(alone.to_bits(), together.to_bits(), "{case}: one row and four rows differ");
                    assert_eq!(alone.to_bits(), pair(query, row).to_bits(), "{case}: not as widened");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn typed_rows_give_what_their_widened_vectors_give(
        (vectors, offset) in (1usize..=700, 0usize..17).prop_flat_map(|(len, offset)| {
            let component = prop_oneof![4 => -300.0f32..300.0, 1 => Just(0.0f32), 1 => -1e-6f32..1e-6];
            (prop::collection::vec(prop::collection::vec(component, len), 5), Just(offset))
        }),
    ) {
        let [query, a, b, c, d] = &vectors[..] else { unreachable!("five vectors") };
        check(query, [a, b, c, d], offset);
    }
}

#[test]
fn every_short_length_of_every_element_type() {
    for len in 0..=140usize {
        let vector = |salt: usize| (0..len).map(|i| ((i * 7 + salt) % 256) as f32).collect::<Vec<f32>>();
        let rows = [vector(0), vector(100), vector(200), vector(251)];
        check(&vector(3), rows.each_ref().map(Vec::as_slice), len % 3);
    }
}

#[test]
fn bytes_are_compared_exactly() {
    let row: Vec<u8> = (0..=255).collect();
    let query: Vec<f32> = (0..=255u8).rev().map(f32::from).collect();
    let differences = (0..=255i64).map(|r| (255 - r) - r);
    for level in available() {
        let k = &Kernels::at(level).expect("an available level").rows_u8;
        assert_eq!((k.dot)(&query, &row), (0..=255i64).map(|r| (255 - r) * r).sum::<i64>() as f32);
        assert_eq!((k.l2_squared)(&query, &row), differences.clone().map(|d| d * d).sum::<i64>() as f32);
        assert_eq!((k.l1)(&query, &row), differences.clone().map(i64::abs).sum::<i64>() as f32);
    }
}

#[test]
fn the_extremes_of_f16_are_widened_exactly() {
    // The greatest, the least normal and the least subnormal number, and infinities.
    let bits = [0x7bffu16, 0xfbff, 0x0400, 0x0001, 0x8001, 0x8000, 0x7c00, 0xfc00];
    for level in available() {
        let k = &Kernels::at(level).expect("an available level").rows_f16;
        for bits in bits {
            for len in [1, 9, 16, 37] {
                let mut row = vec![0u8; len * 2];
                row[len * 2 - 2..].copy_from_slice(&bits.to_le_bytes());
                let mut query = vec![0.0; len];
                query[len - 1] = 1.0;
                let expected = f16::from_bits(bits).to_f32();
                assert_eq!((k.dot)(&query, &row), expected, "{level:?} {bits:04x} len {len}");
                assert_eq!((k.l1)(&vec![0.0; len], &row), expected.abs(), "{level:?} {bits:04x} len {len}");
            }
        }
    }
}

#[test]
fn rows_of_a_wrong_length_panic_at_every_level() {
    for level in available() {
        let k = Kernels::at(level).expect("an available level");
        for (_, typed, write, _) in elements(k) {
            let mut row = Vec::new();
            (0..39).for_each(|_| write(1.0, &mut row));
            for (_, one, _) in kinds(typed) {
                assert!(std::panic::catch_unwind(|| one(&[1.0; 40], &row)).is_err());
            }
        }
    }
}
