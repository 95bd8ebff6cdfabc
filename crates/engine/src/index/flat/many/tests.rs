use proptest::prelude::*;

use super::*;
use crate::arena::RowArena;
use crate::index::flat::scan_range;
use crate::types::Datatype;

const METRICS: [Metric; 4] = [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan];
const DATATYPES: [Datatype; 3] = [Datatype::Float32, Datatype::Float16, Datatype::Uint8];

/// A table of vectors, prepared as the field would.
fn table(metric: Metric, datatype: Datatype, vectors: &[Vec<f32>]) -> RowTable {
    let format = RowFormat::of(metric, datatype);
    let mut arena = RowArena::new(format.row_bytes(vectors[0].len()));
    for vector in vectors {
        let (mut vector, mut row) = (vector.clone(), Vec::new());
        match datatype {
            Datatype::Uint8 => vector.iter_mut().for_each(|v| *v = v.abs().min(255.0).round()),
            _ if metric == Metric::Cosine => kithdb_kernels::normalise(&mut vector),
            _ => {}
        }
        format.encode(&vector, &mut row);
        arena.push(&row);
    }
    arena.table()
}

fn by_descending_row(a: Row, b: Row) -> Ordering {
    b.cmp(&a)
}

/// Checks that a scan for all queries finds what scans for each find.
fn check(
    rows: &RowTable,
    distance: Distance,
    queries: &[Vec<f32>],
    k: usize,
    range: RowRange,
    accept: impl Fn(Row) -> bool,
) {
    let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
    let mut tops: Vec<_> = queries.iter().map(|_| TopK::new(k, by_descending_row)).collect();
    scan_many(rows, distance, &queries, range, &accept, &mut tops, &|| false).unwrap();
    for (query, top) in queries.iter().zip(tops) {
        let mut alone = TopK::new(k, by_descending_row);
        scan_range(rows, distance, query, range, &accept, &mut alone, &|| false).unwrap();
        let bits =
            |found: Vec<(f32, Row)>| found.into_iter().map(|(d, row)| (d.to_bits(), row)).collect::<Vec<_>>();
        assert_eq!(bits(top.into_sorted()), bits(alone.into_sorted()));
    }
}

/// Vectors of several kinds: spread out, near duplicates far from the origin, exact duplicates, extremes.
fn vectors(dim: usize, count: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
    let component = prop_oneof![8 => -2.0f32..2.0, 1 => Just(0.0f32), 1 => -200.0f32..200.0];
    (prop::collection::vec(prop::collection::vec(component, dim), count), 0usize..5, any::<u64>()).prop_map(
        |(mut vectors, kind, seed)| {
            let first = vectors[0].clone();
            for (at, vector) in vectors.iter_mut().enumerate().skip(1) {
                let noise = (seed.rotate_left(at as u32) % 17) as f32;
                match kind {
                    // Near the first one, down to the last bits of its components.
                    1 => vector
                        .iter_mut()
                        .zip(&first)
                        .for_each(|(v, f)| *v = f * 1000.0 * (1.0 + *v * 1e-7 * noise)),
                    2 if at % 3 > 0 => vector.clone_from(&first),
                    3 => vector.iter_mut().for_each(|v| *v *= [1e-30, 1e-18, 1e15, 1e18, 1e30][at % 5]),
                    4 => vector.iter_mut().zip(&first).for_each(|(v, f)| *v = f + *v * 1e-4 * noise),
                    _ => {}
                }
            }
            vectors
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn many_queries_find_bit_for_bit_what_each_finds_alone(
        (rows, queries) in (1usize..80).prop_flat_map(|dim| (
            (2usize..150).prop_flat_map(move |count| vectors(dim, count)),
            (1usize..70).prop_flat_map(move |count| vectors(dim, count)),
        )),
        k in 0usize..12, modulus in 1u32..4, from in 0u32..20, near in any::<bool>(),
    ) {
        // Half of the time queries are rows, or nearly: then the best distances are next to nothing.
        let queries: Vec<Vec<f32>> = if near {
            queries.iter().enumerate().map(|(at, _)| rows[at * 7 % rows.len()].clone()).collect()
        } else {
            queries
        };
        for (metric, datatype) in METRICS.iter().flat_map(|&m| DATATYPES.map(|d| (m, d))) {
            let table = table(metric, datatype, &rows);
            let distance = Distance::of(metric, RowFormat::of(metric, datatype));
            let from = from.min(table.len());
            check(&table, distance, &queries, k, RowRange::new(Row::new(from), Row::new(table.len())), |row| row.get() % modulus == 0);
        }
    }
}

#[test]
fn sums_that_overflow_both_ways_are_found_like_any_other() {
    let rows: Vec<Vec<f32>> =
        (0..40).map(|i| vec![3e38, if i % 2 == 0 { 3e38 } else { -3e38 }, i as f32, 1e-40]).collect();
    for metric in [Metric::Dot, Metric::Euclid] {
        let table = table(metric, Datatype::Float32, &rows);
        check(
            &table,
            Distance::of(metric, RowFormat::F32),
            &rows,
            5,
            RowRange::of_len(Row::FIRST, table.len()),
            |_| true,
        );
    }
}

#[test]
fn most_rows_are_left_out_without_a_direct_comparison() {
    let vector = |salt: usize| -> Vec<f32> {
        (0..96).map(|i| (((i * 131 + salt * 7919) * 2_654_435_761) % 10_007) as f32 / 5000.0 - 1.0).collect()
    };
    let (base, asked): (Vec<_>, Vec<_>) =
        ((0..5000).map(vector).collect(), (9000..9040).map(vector).collect());
    for metric in [Metric::Cosine, Metric::Euclid] {
        let rows = table(metric, Datatype::Float32, &base);
        let queries: Vec<&[f32]> = asked.iter().map(Vec::as_slice).collect();
        let mut tops: Vec<_> = queries.iter().map(|_| TopK::new(10, by_descending_row)).collect();
        let mut batch = Batch::new(&rows, Distance::of(metric, RowFormat::F32), &queries, &tops);
        let (mut rest, mut groups) = (0..rows.len(), 0);
        while !rest.is_empty() {
            let group = batch.next_group(&mut rest, &|_| true);
            batch.scan_group(&group, &[], &mut tops);
            groups += 1;
        }
        assert!(groups > 10);
        assert!(batch.direct * 20 < 5000 * 40, "{metric:?}: {} direct comparisons", batch.direct);
    }
}

#[test]
fn a_scan_for_many_stops_when_it_is_told_to() {
    let rows = table(Metric::Euclid, Datatype::Float32, &vec![vec![1.0; 8]; 20_000]);
    let query = [0.0f32; 8];
    for queries in [1, 5] {
        for accepted in [true, false] {
            let asked = std::cell::Cell::new(0);
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() == 2
            };
            let mut tops: Vec<_> = (0..queries).map(|_| TopK::new(3, by_descending_row)).collect();
            let distance = Distance::of(Metric::Euclid, RowFormat::F32);
            let queries = vec![&query[..]; queries];
            let seen = std::cell::Cell::new(0);
            let accept = |_| {
                seen.set(seen.get() + 1);
                accepted
            };
            let result = scan_many(
                &rows,
                distance,
                &queries,
                RowRange::of_len(Row::FIRST, rows.len()),
                &accept,
                &mut tops,
                &stop,
            );
            assert_eq!(result, Err(Stopped));
            assert!(seen.get() <= 3 * MAX_CHECKED, "checked {} rows", seen.get());
        }
    }
}

#[test]
fn no_queries_and_no_rows_are_no_work() {
    let rows = table(Metric::Dot, Datatype::Float32, &[vec![1.0; 3]]);
    let distance = Distance::of(Metric::Dot, RowFormat::F32);
    let mut none: Vec<_> = (0..0).map(|_| TopK::new(3, by_descending_row)).collect();
    scan_many(&rows, distance, &[], RowRange::of_len(Row::FIRST, 1), &|_| true, &mut none, &|| false)
        .unwrap();
    let mut tops: Vec<_> = (0..6).map(|_| TopK::new(3, by_descending_row)).collect();
    scan_many(
        &rows,
        distance,
        &[&[1.0; 3][..]; 6],
        RowRange::of_len(Row::new(1), 0),
        &|_| true,
        &mut tops,
        &|| false,
    )
    .unwrap();
    assert!(tops.into_iter().all(|top| top.into_sorted().is_empty()));
}

#[test]
fn the_share_of_a_row_in_rounding_is_the_length_that_it_is_compared_with() {
    for (metric, datatype, share, factor) in [
        (Metric::Dot, Datatype::Float32, 5.0, -1.0),
        (Metric::Dot, Datatype::Uint8, 5.0, -1.0),
        (Metric::Cosine, Datatype::Float32, 1.0, -1.0),
        // Kept as it was sent, and divided by its length when it is compared.
        (Metric::Cosine, Datatype::Uint8, 1.0, -0.2),
    ] {
        let rows = table(metric, datatype, &[vec![3.0, 4.0]]);
        let distance = Distance::of(metric, RowFormat::of(metric, datatype));
        let (queries, tops) = ([&[1.0f32, 0.0][..]], [TopK::new(1, by_descending_row)]);
        let gate = Batch::new(&rows, distance, &queries, &tops).row_gate(rows.row(0));
        let is_near = |a: f32, b: f32| (a - b).abs() < 1e-5;
        assert!(
            is_near(gate.share, share) && is_near(gate.factor, factor),
            "{metric:?} {datatype:?}: {gate:?}"
        );
    }
}
