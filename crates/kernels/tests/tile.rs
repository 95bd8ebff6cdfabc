//! Tiles of every level: sums against `f64`, the sieve against its definition, widening against single components.

use half::f16;
use kithdb_kernels::{Gate, Kernels, RowGate, available, bytes_of};
use proptest::prelude::*;

fn numbers(len: usize, salt: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 + salt * 101) % 223) as f32 / 64.0 - 1.7).collect()
}

#[test]
fn sums_of_every_shape_are_inner_products() {
    for level in available() {
        let tile = Kernels::at(level).expect("an available level").tile;
        for dim in [0, 1, 2, 7, 15, 16, 17, 33, 64, 100, 785] {
            for (lanes, count) in
                [tile.narrow, tile.wide].into_iter().flat_map(|l| (1..=tile.rows).map(move |c| (l, c)))
            {
                let panel = numbers(dim * lanes, 5);
                // Odd starts: rows of a map have no alignment.
                let rows: Vec<Vec<u8>> = (0..count)
                    .map(|row| [vec![1; row % 5], bytes_of(&numbers(dim, row)).to_vec()].concat())
                    .collect();
                let rows: Vec<&[u8]> =
                    rows.iter().enumerate().map(|(row, bytes)| &bytes[row % 5..]).collect();
                let next = &rows[..count.min(2)];
                let mut sums = vec![f32::NAN; lanes * count];
                (tile.dot)(&panel, &rows, next, &mut sums);
                for (row, sums) in sums.chunks_exact(lanes).enumerate() {
                    for (lane, &sum) in sums.iter().enumerate() {
                        let products = numbers(dim, row)
                            .into_iter()
                            .enumerate()
                            .map(|(i, r)| f64::from(r) * f64::from(panel[i * lanes + lane]));
                        let (exact, size) = products.fold((0.0, 0.0), |(s, a), p| (s + p, a + p.abs()));
                        let bound = size * (dim as f64 + 2.0) * f64::from(f32::EPSILON) / 2.0;
                        assert!(
                            (f64::from(sum) - exact).abs() <= bound,
                            "{level:?} {dim} {lanes} {row} {lane}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    for level in available() {
        let tile = Kernels::at(level).expect("an available level").tile;
        let row = [0u8; 40];
        let refused = |panel: usize, rows: &[&[u8]], sums: usize| {
            let (panel, mut sums) = (vec![0.0; panel], vec![0.0; sums]);
            std::panic::catch_unwind(move || (tile.dot)(&panel, rows, &[], &mut sums)).is_err()
        };
        assert!(!refused(10 * tile.wide, &[&row[..]; 2], 2 * tile.wide));
        assert!(refused(10 * tile.wide, &[], 0));
        assert!(refused(10 * tile.wide - 1, &[&row[..]; 2], 2 * tile.wide));
        assert!(refused(10 * tile.wide, &[&row[..]; 2], 2 * tile.wide + 1));
        assert!(refused(10 * tile.wide, &[&row[..], &row[4..]], 2 * tile.wide));
        assert!(refused(10 * tile.wide, &vec![&row[..]; tile.rows + 1], (tile.rows + 1) * tile.wide));
        assert!(refused(10 * (tile.wide + 1), &[&row[..]], tile.wide + 1));
        let gate = Gate { offset: vec![0.0; tile.wide], slope: vec![0.0; tile.wide], bound: vec![0.0; 3] };
        let row = RowGate { base: 0.0, share: 0.0, factor: 0.0 };
        let sift = |sums: usize, gate: &Gate, passed: usize| {
            let (sums, mut passed) = (vec![0.0; sums], vec![0; passed]);
            std::panic::catch_unwind(move || (tile.sift)(&sums, gate, &[row; 2], &mut passed)).is_err()
        };
        assert!(sift(2 * tile.wide, &gate, 2));
        let gate = Gate { bound: vec![0.0; tile.wide], ..gate };
        assert!(!sift(2 * tile.wide, &gate, 2));
        assert!(sift(2 * tile.wide - 1, &gate, 2));
        assert!(sift(2 * tile.wide, &gate, 3));
    }
}

proptest! {
    // Small whole numbers: the order of operations and fusing make no difference.
    #[test]
    fn the_sieve_keeps_what_may_be_within_the_bound_at_every_level(
        lanes in prop::collection::vec((-9i8..9, -9i8..9, -9i8..9, -40i8..40), 64),
        rows in prop::collection::vec((-9i8..9, -9i8..9, -9i8..9), 1..4), odd in 0usize..64, what in 0usize..3,
    ) {
        let column = |pick: fn(&(i8, i8, i8, i8)) -> i8| lanes.iter().map(|l| f32::from(pick(l))).collect::<Vec<f32>>();
        let mut sums = column(|l| l.0);
        sums[odd] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][what];
        let gate_of = |row: &(i8, i8, i8)| RowGate { base: row.0.into(), share: row.1.into(), factor: row.2.into() };
        let rows: Vec<RowGate> = rows.iter().map(gate_of).collect();
        for level in available() {
            let tile = Kernels::at(level).expect("an available level").tile;
            for width in [tile.narrow, tile.wide] {
                let gate = Gate {
                    offset: column(|l| l.1)[..width].to_vec(), slope: column(|l| l.2)[..width].to_vec(), bound: column(|l| l.3)[..width].to_vec(),
                };
                // The sums of each row begin one lane later.
                let turned = |row: usize| (0..width).map(move |lane| (lane + row) % width);
                let tile_sums: Vec<f32> = (0..rows.len()).flat_map(turned).map(|lane| sums[lane]).collect();
                let mut passed = vec![u64::MAX; rows.len()];
                (tile.sift)(&tile_sums, &gate, &rows, &mut passed);
                for ((row, sums), passed) in rows.iter().zip(tile_sums.chunks_exact(width)).zip(passed) {
                    prop_assert!(width == 64 || passed >> width == 0);
                    for (lane, sum) in sums.iter().enumerate() {
                        let least = gate.offset[lane] + (row.base + gate.slope[lane] * row.share + row.factor * sum);
                        let is_out = least > gate.bound[lane];
                        prop_assert_eq!(passed >> lane & 1 == 0, is_out, "{:?} lane {}", level, lane);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_widened_component_by_component(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        for level in available() {
            let k = Kernels::at(level).expect("an available level");
            let mut out = vec![0.0; bytes.len()];
            (k.rows_u8.widen)(&bytes, &mut out);
            prop_assert!(out.iter().zip(&bytes).all(|(&wide, &byte)| wide == f32::from(byte)));
            let halves = bytes.as_chunks::<2>().0;
            let mut out = vec![0.0; halves.len()];
            (k.rows_f16.widen)(halves.as_flattened(), &mut out);
            let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            prop_assert!(out.iter().zip(halves).all(|(&wide, &half)| same(wide, f16::from_le_bytes(half).to_f32())));
            let floats = bytes.as_chunks::<4>().0;
            let mut out = vec![0.0; floats.len()];
            (k.rows_f32.widen)(floats.as_flattened(), &mut out);
            prop_assert!(out.iter().zip(floats).all(|(&wide, &float)| same(wide, f32::from_le_bytes(float))));
        }
    }
}
