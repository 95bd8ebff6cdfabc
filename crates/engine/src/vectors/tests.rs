//! Codes against exact distances.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::index::Distance;
use crate::types::{Metric, Node};

const METRICS: [Metric; 3] = [Metric::Cosine, Metric::Euclid, Metric::Dot];

/// Every width with the standard deviation of ⟨x′, y′⟩ / (‖x′‖‖y′‖) that a code may have, times √dim. From the
/// distortion of the quantiser: with D = 1 − ⟨x′, x̂⟩² / (‖x′‖²‖x̂‖²) it is √(D / (1 − D)) for random directions.
/// For 1 bit ⟨x′, x̂⟩² / … = 2/π, for 2 and 4 bits D = 0.119 and 0.0115 (Max 1960), for 8 bits the step is
/// max / 127 ≈ 0.03 σ. The query's own 8 bits are in the last digit.
const WIDTHS: [(u8, bool, f64); 5] =
    [(8, false, 0.015), (4, false, 0.112), (2, false, 0.38), (1, false, 0.77), (1, true, 1.5)];

fn params(bits: u8, half: bool) -> CodeParams {
    CodeParams { bits, half, quantile: None }
}

/// Normal numbers from a seed, good enough for directions.
struct Normal(u64);

impl Normal {
    fn next(&mut self) -> f32 {
        let mut sum = 0.0;
        for _ in 0..12 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (self.0 >> 40) as f32 / (1u64 << 24) as f32;
        }
        sum - 6.0
    }

    fn vector(&mut self, dim: usize) -> Vec<f32> {
        (0..dim).map(|_| self.next()).collect()
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

fn norm(a: &[f32]) -> f64 {
    dot(a, a).sqrt()
}

/// The exact distance in double precision.
fn exact(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    match metric {
        Metric::Euclid => a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum(),
        _ => -dot(a, b),
    }
}

fn table_of(encoder: &Encoder, vectors: &[Vec<f32>]) -> CodeTable {
    let (table, mut query) = (CodeTable::new(encoder), CodeQuery::new());
    for (node, vector) in (0..).zip(vectors) {
        table.fill(Node::new(node), encoder, vector, &mut query);
    }
    table
}

/// Root of the mean squared error of distances, in units of κ·‖x − μ‖·‖q − μ‖ / √dim.
fn error(metric: Metric, dim: usize, params: CodeParams, from_node: bool) -> f64 {
    let mut normal = Normal(dim as u64);
    // A shared part that centring has to take away, and lengths of a wide range.
    let shared: Vec<f32> = normal.vector(dim).iter().map(|x| 3.0 * x).collect();
    let mut vector = |n: usize| -> Vec<f32> {
        let scale = [0.3, 1.0, 5.0][n % 3];
        normal.vector(dim).iter().zip(&shared).map(|(x, s)| scale * x + s).collect()
    };
    let vectors: Vec<Vec<f32>> = (0..60).map(&mut vector).collect();
    let encoder = Encoder::train(metric, dim, params, &vectors, 7);
    let table = table_of(&encoder, &vectors);
    let mean: Vec<f32> =
        (0..dim).map(|i| vectors.iter().map(|v| v[i]).sum::<f32>() / vectors.len() as f32).collect();
    let length = |v: &[f32]| norm(&v.iter().zip(&mean).map(|(x, m)| x - m).collect::<Vec<_>>());
    let (mut query, mut sum, mut count) = (CodeQuery::new(), 0.0, 0);
    for q in 0..40 {
        let target = if from_node { vectors[q].clone() } else { vector(q) };
        match from_node {
            true => table.load(Node::new(q as u32), &mut query),
            false => encoder.query(&target, &mut query),
        }
        for (node, row) in vectors.iter().enumerate().filter(|&(node, _)| !from_node || node != q) {
            let estimate = f64::from(table.one(&query, Node::new(node as u32)));
            let kappa = if metric == Metric::Euclid { 2.0 } else { 1.0 };
            let unit = kappa * length(row) * length(&target) / (dim as f64).sqrt();
            sum += ((estimate - exact(metric, row, &target)) / unit).powi(2);
            count += 1;
        }
    }
    (sum / f64::from(count)).sqrt()
}

#[test]
fn errors_are_those_of_the_theory_at_every_width_metric_and_dimension() {
    for metric in METRICS {
        for (bits, half, bound) in WIDTHS {
            for dim in [64, 100, 384, 768, 784] {
                let error = error(metric, dim, params(bits, half), false);
                assert!(error < bound * 1.15, "{metric:?} {bits} bits, half {half}, dim {dim}: {error}");
            }
        }
    }
}

#[test]
fn nodes_compare_with_nodes_nearly_as_well_as_queries_do() {
    for metric in METRICS {
        for (bits, half, bound) in WIDTHS {
            // Two codes with independent errors a and b: a² + b² + a²b².
            let both = (2.0 * bound.powi(2) + bound.powi(4)).sqrt();
            let error = error(metric, 384, params(bits, half), true);
            assert!(error < both * 1.25, "{metric:?} {bits} bits, half {half}: {error} of {both}");
        }
    }
}

/// How many of the ten nearest of each of forty vectors are among the forty nearest by codes, as a share.
fn found_by_codes(metric: Metric, params: CodeParams, encoder: &Encoder, vectors: &[Vec<f32>]) -> f64 {
    let (table, mut query, mut found) = (table_of(encoder, vectors), CodeQuery::new(), 0);
    assert_eq!(encoder.params(), params);
    let nearest = |distance: &dyn Fn(usize) -> f64, most: usize| {
        let mut rows: Vec<usize> = (0..vectors.len()).collect();
        rows.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        rows.truncate(most);
        rows
    };
    for target in &vectors[100..140] {
        encoder.query(target, &mut query);
        let by_codes = nearest(&|row| f64::from(table.one(&query, Node::new(row as u32))), 40);
        let exact = nearest(&|row| exact(metric, target, &vectors[row]), 10);
        found += exact.iter().filter(|row| by_codes.contains(row)).count();
    }
    found as f64 / 400.0
}

#[test]
fn one_long_vector_in_the_sample_takes_nothing_from_the_codes_of_the_others() {
    let (dim, params) = (64, params(8, false));
    for metric in [Metric::Euclid, Metric::Dot] {
        for length in [1e3, 1e6, 1e9, 1e19, 1e30] {
            let mut vectors: Vec<Vec<f32>> = {
                let mut normal = Normal(3);
                (0..1_000).map(|_| normal.vector(dim)).collect()
            };
            vectors[0] = vec![length; dim];
            let encoder = Encoder::train(metric, dim, params, &vectors, 1);
            let found = found_by_codes(metric, params, &encoder, &vectors);
            assert!(found > 0.99, "{metric:?}, {length}: {found}");
            assert!(encoder.is_centred(&vectors), "{metric:?}, {length}");
        }
    }
}

#[test]
fn codes_know_when_vectors_have_moved_away_from_their_mean() {
    let (dim, params) = (64, params(8, false));
    let mut normal = Normal(4);
    let mut around = |place: f32| -> Vec<Vec<f32>> {
        let near = |x: Vec<f32>| x.into_iter().map(|x| x + place).collect();
        (0..1_000).map(|_| near(normal.vector(dim))).collect()
    };
    let (first, later) = (around(0.0), around(500.0));
    let encoder = Encoder::train(Metric::Euclid, dim, params, &first, 1);
    assert!(encoder.is_centred(&first) && encoder.is_centred::<Vec<f32>>(&[]) && !encoder.is_centred(&later));
    assert!(found_by_codes(Metric::Euclid, params, &encoder, &later) < 0.9);
    let again = Encoder::train(Metric::Euclid, dim, params, &later, 1);
    assert!(again.is_centred(&later));
    assert!(found_by_codes(Metric::Euclid, params, &again, &later) > 0.99);
    // Nothing is better than what is.
    assert!(encoder.is_centred(&vec![vec![7.0; dim]; 5]));
}

#[test]
fn codes_say_when_they_cannot_tell_neighbours_apart() {
    let (dim, mut normal) = (64, Normal(6));
    let centres: Vec<Vec<f32>> = (0..50).map(|_| normal.vector(dim)).collect();
    let mut around = |width: f32| -> Vec<Vec<f32>> {
        let near =
            |centre: &Vec<f32>, x: Vec<f32>| centre.iter().zip(x).map(|(c, x)| c + width * x).collect();
        (0..1_000).map(|at| near(&centres[at % 50], normal.vector(dim))).collect()
    };
    let scatter = |metric: Metric, vectors: &[Vec<f32>]| {
        let encoder = Encoder::train(metric, dim, params(8, false), vectors, 1);
        let around = |centre: &Vec<f32>| {
            let mut nearest = vectors.to_vec();
            nearest.sort_by(|a, b| exact(metric, centre, a).total_cmp(&exact(metric, centre, b)));
            nearest = nearest[1..].iter().take(10).cloned().collect();
            Neighbourhood { centre: centre.clone(), nearest }
        };
        encoder.scatter(&vectors.iter().step_by(16).map(around).collect::<Vec<_>>())
    };
    // Inner products of a cluster differ by the lengths of its vectors, which codes keep; cosines only by directions.
    let expected = [
        (1.0, [0.01, 0.009, 0.01]),
        (0.1, [0.08, 0.016, 0.1]),
        (0.01, [1.0, 0.09, 6.0]),
        (0.001, [33.0, 0.5, 400.0]),
    ];
    for (width, [euclid, dot, cosine]) in expected {
        let vectors = around(width);
        let mut directions = vectors.clone();
        for direction in &mut directions {
            let length = norm(direction) as f32;
            direction.iter_mut().for_each(|x| *x /= length);
        }
        let cases = [
            (Metric::Euclid, &vectors, euclid),
            (Metric::Dot, &vectors, dot),
            (Metric::Cosine, &directions, cosine),
        ];
        for (metric, vectors, expected) in cases {
            let scatter = scatter(metric, vectors).unwrap();
            assert!((expected / 1.5..expected * 1.5).contains(&scatter), "{width}, {metric:?}: {scatter}");
        }
    }
    for alike in [vec![vec![1.0; dim]; 500], vec![vec![0.0; dim]; 500], vec![vec![1.0; dim]; 1], Vec::new()] {
        assert_eq!(scatter(Metric::Euclid, &alike), None, "nothing to tell apart");
    }
    // Vectors on a line are rounded alike.
    let line: Vec<Vec<f32>> = (0..1_000).map(|at| vec![at as f32 * 1.7; dim]).collect();
    assert!(scatter(Metric::Euclid, &line).unwrap() < 0.1);
}

#[test]
fn estimates_are_unbiased_over_seeds() {
    let (dim, seeds) = (96, 400);
    let mut normal = Normal(5);
    let row = normal.vector(dim);
    // A query that is close to the row: a scale that is too small or too large would show.
    let target: Vec<f32> = row.iter().map(|x| x + 0.5 * normal.next()).collect();
    let sample = [row.clone(), vec![0.0; dim]];
    for (bits, half, bound) in WIDTHS {
        let mut mean = 0.0;
        for seed in 0..seeds {
            let encoder = Encoder::train(Metric::Dot, dim, params(bits, half), &sample, seed);
            let (table, mut query) = (table_of(&encoder, &sample), CodeQuery::new());
            encoder.query(&target, &mut query);
            mean += -f64::from(table.one(&query, Node::new(0))) / f64::from(seeds as u32);
        }
        let unit = norm(&row) * norm(&target) / (dim as f64).sqrt() / f64::from(seeds as u32).sqrt();
        let error = (mean - dot(&row, &target)).abs();
        assert!(error < 4.0 * bound * unit, "{bits} bits, half {half}: {error} of {unit}");
    }
}

#[test]
fn a_clipped_range_helps_what_it_keeps_and_saturates_the_rest() {
    let mut normal = Normal(1);
    let vectors: Vec<Vec<f32>> = (0..50).map(|_| normal.vector(256)).collect();
    for quantile in [0.9, 0.99, 1.0] {
        let params = CodeParams { quantile: Some(quantile), ..CodeParams::default() };
        let encoder = Encoder::train(Metric::Dot, 256, params, &vectors, 3);
        let (table, mut query) = (table_of(&encoder, &vectors), CodeQuery::new());
        encoder.query(&vectors[0], &mut query);
        let estimate = -f64::from(table.one(&query, Node::new(0)));
        let exact = dot(&vectors[0], &vectors[0]);
        assert!((estimate - exact).abs() < 0.02 * exact, "quantile {quantile}: {estimate} of {exact}");
    }
}

#[test]
fn what_fill_leaves_behind_is_the_query_of_that_vector() {
    let mut normal = Normal(9);
    for (bits, half, _) in WIDTHS {
        let vectors: Vec<Vec<f32>> = (0..10).map(|_| normal.vector(70)).collect();
        let encoder = Encoder::train(Metric::Euclid, 70, params(bits, half), &vectors, 1);
        let (table, mut filled, mut asked) = (CodeTable::new(&encoder), CodeQuery::new(), CodeQuery::new());
        for (node, vector) in (0..).zip(&vectors) {
            table.fill(Node::new(node), &encoder, vector, &mut filled);
            encoder.query(vector, &mut asked);
            for other in 0..=node {
                assert_eq!(
                    table.one(&filled, Node::new(other)).to_bits(),
                    table.one(&asked, Node::new(other)).to_bits()
                );
            }
        }
    }
}

#[test]
fn four_nodes_at_once_are_four_times_one() {
    let mut normal = Normal(2);
    for (bits, half, _) in WIDTHS {
        for dim in [3, 64, 130, 784] {
            let vectors: Vec<Vec<f32>> = (0..8).map(|_| normal.vector(dim)).collect();
            let encoder = Encoder::train(Metric::Cosine, dim, params(bits, half), &vectors, 1);
            let (table, mut query) = (table_of(&encoder, &vectors), CodeQuery::new());
            encoder.query(&vectors[3], &mut query);
            for nodes in [[0, 1, 2, 3], [7, 7, 0, 4], [1, 99, 2, u32::MAX]] {
                let one_by_one = nodes.map(|node| table.one(&query, Node::new(node)));
                assert_eq!(table.four(&query, nodes.map(Node::new)), one_by_one);
            }
            assert_eq!(
                table.one(&query, Node::new(99)),
                f32::MAX,
                "a node that was never filled is the worst"
            );
        }
    }
}

/// Any finite number, extremes well represented.
fn component() -> impl Strategy<Value = f32> + Clone {
    prop_oneof![
        4 => -2.0f32..2.0,
        2 => Just(0.0f32),
        1 => Just(f32::MAX),
        1 => Just(f32::MIN),
        1 => any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |x| x.is_finite()),
        1 => (1u32..0x007f_ffff).prop_map(f32::from_bits),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_finite_vectors_give_finite_distances(
        vectors in (1usize..200).prop_flat_map(|dim| {
            let varied = prop::collection::vec(component(), dim);
            let constant = component().prop_map(move |x| vec![x; dim]);
            prop::collection::vec(prop_oneof![3 => varied, 1 => constant], 2..8)
        }),
        width in 0usize..WIDTHS.len(),
        metric in 0usize..METRICS.len(),
        sampled in 0usize..3,
    ) {
        let (bits, half, _) = WIDTHS[width];
        let encoder = Encoder::train(
            METRICS[metric], vectors[0].len(), params(bits, half), &vectors[..sampled.min(vectors.len())], 3,
        );
        let table = table_of(&encoder, &vectors);
        let (mut asked, mut loaded) = (CodeQuery::new(), CodeQuery::new());
        for (node, vector) in (0..).zip(&vectors) {
            encoder.query(vector, &mut asked);
            table.load(Node::new(node), &mut loaded);
            for other in 0..vectors.len() as u32 {
                for query in [&asked, &loaded] {
                    let distance = table.one(query, Node::new(other));
                    prop_assert!(distance.is_finite() && distance.to_bits() != (-0.0f32).to_bits());
                    prop_assert_eq!(table.four(query, [Node::new(other); 4]), [distance; 4]);
                }
            }
        }
    }

    #[test]
    fn duplicates_have_equal_codes_and_a_vector_is_nearest_to_itself(
        dim in 16usize..300, seed in any::<u64>(), scale in -17i32..18,
    ) {
        let mut normal = Normal(seed);
        let scale = 10f32.powi(scale);
        let mut vectors: Vec<Vec<f32>> =
            (0..6).map(|_| normal.vector(dim).iter().map(|x| x * scale).collect()).collect();
        vectors.extend(vec![vectors[0].clone(); 3]);
        let encoder = Encoder::train(Metric::Euclid, dim, CodeParams::default(), &vectors, seed);
        let (table, mut query) = (table_of(&encoder, &vectors), CodeQuery::new());
        encoder.query(&vectors[0], &mut query);
        let itself = table.one(&query, Node::new(0));
        for node in [6, 7, 8] {
            prop_assert_eq!(table.one(&query, Node::new(node)), itself);
        }
        for node in 1..6 {
            prop_assert!(itself < table.one(&query, Node::new(node)));
        }
        let length = dot(&vectors[0], &vectors[0]);
        prop_assert!(f64::from(itself).abs() < 0.02 * length, "{itself} of {length}");
    }

    #[test]
    fn an_encoder_and_its_codes_survive_a_round_trip(
        dim in 1usize..150, width in 0usize..WIDTHS.len(), seed in any::<u64>(), clipped in any::<bool>(),
    ) {
        let (bits, half, _) = WIDTHS[width];
        let params = CodeParams { bits, half, quantile: clipped.then_some(0.95) };
        let mut normal = Normal(seed);
        let vectors: Vec<Vec<f32>> = (0..9).map(|_| normal.vector(dim)).collect();
        let encoder = Encoder::train(Metric::Dot, dim, params, &vectors, seed);
        let table = table_of(&encoder, &vectors[..8]);
        let (mut head, mut codes) = (Vec::new(), Vec::new());
        encoder.write_to(&mut head);
        // Nodes 8 and 9 were never filled.
        table.write_to(0..4, &mut codes);
        table.write_to(4..10, &mut codes);
        prop_assert_eq!(codes.len(), 10 * table.node_bytes());

        let read = Encoder::read_from(&head).expect("an encoder");
        let copy = CodeTable::new(&read);
        copy.read_from(0, &codes[..5 * table.node_bytes()]).expect("codes");
        copy.read_from(5, &codes[5 * table.node_bytes()..]).expect("codes");
        let rewritten = CodeTable::new(&read);
        for node in 0..10 {
            rewritten.copy_node(&copy, Node::new(node), Node::new(9 - node));
        }
        prop_assert!(!copy.is_filled(Node::new(8)) && !rewritten.is_filled(Node::new(1)));
        copy.fill(Node::new(8), &read, &vectors[8], &mut CodeQuery::new());
        table.fill(Node::new(8), &encoder, &vectors[8], &mut CodeQuery::new());
        let (mut before, mut after) = (CodeQuery::new(), CodeQuery::new());
        for vector in &vectors {
            encoder.query(vector, &mut before);
            read.query(vector, &mut after);
            for node in 0..9 {
                let distance = table.one(&before, Node::new(node));
                prop_assert_eq!(distance.to_bits(), copy.one(&after, Node::new(node)).to_bits());
                if node < 8 {
                    prop_assert_eq!(distance.to_bits(), rewritten.one(&after, Node::new(9 - node)).to_bits());
                }
            }
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_without_a_panic(
        at in 0usize..400, value in any::<u8>(), keep in 0usize..400,
    ) {
        let mut normal = Normal(4);
        let vectors: Vec<Vec<f32>> = (0..3).map(|_| normal.vector(40)).collect();
        let encoder = Encoder::train(Metric::Dot, 40, params(2, false), &vectors, 11);
        let (mut head, mut codes) = (Vec::new(), Vec::new());
        encoder.write_to(&mut head);
        table_of(&encoder, &vectors).write_to(0..3, &mut codes);
        for bytes in [&mut head, &mut codes] {
            let index = at % bytes.len();
            bytes[index] = value;
            bytes.truncate(keep.max(1));
        }
        if let Ok(read) = Encoder::read_from(&head) {
            let mut query = CodeQuery::new();
            read.query(&vec![1.0; read.dim()], &mut query);
        }
        let table = CodeTable::new(&encoder);
        if table.read_from(0, &codes).is_ok() {
            let mut query = CodeQuery::new();
            encoder.query(&vectors[0], &mut query);
            prop_assert!((0..3).all(|node| table.one(&query, Node::new(node)).is_finite()));
        }
    }
}

#[test]
fn zero_vectors_are_at_distance_zero_of_each_other_in_every_width() {
    for (bits, half, _) in WIDTHS {
        let vectors = vec![vec![0.0f32; 33]; 5];
        let encoder = Encoder::train(Metric::Cosine, 33, params(bits, half), &vectors, 1);
        let (table, mut query) = (table_of(&encoder, &vectors), CodeQuery::new());
        encoder.query(&vectors[0], &mut query);
        assert_eq!(table.four(&query, [0, 1, 2, 3].map(Node::new)), [0.0; 4]);
    }
}

#[test]
fn a_manhattan_field_has_no_codes() {
    let train = || Encoder::train(Metric::Manhattan, 8, CodeParams::default(), &[] as &[Vec<f32>], 1);
    assert!(std::panic::catch_unwind(|| train().dim()).is_err());
}

fn halves(path: &Path, dim: usize) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(path).expect("the small set");
    let numbers: Vec<f32> =
        bytes.as_chunks::<2>().0.iter().map(|&half| half::f16::from_le_bytes(half).to_f32()).collect();
    numbers.chunks_exact(dim).map(<[f32]>::to_vec).collect()
}

/// Share of the exact ten nearest that are among the `rerank` best by code.
fn recall(metric: Metric, params: CodeParams, rerank: usize) -> f64 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/debian-small");
    let (rows, queries) = (halves(&folder.join("base.f16"), 384), halves(&folder.join("query.f16"), 384));
    let encoder = Encoder::train(metric, 384, params, &rows, 42);
    let (table, mut query) = (table_of(&encoder, &rows), CodeQuery::new());
    let distance = Distance::of(metric, RowFormat::F32);
    let bytes_of = |vector: &Vec<f32>| {
        let mut bytes = Vec::new();
        RowFormat::F32.encode(vector, &mut bytes);
        bytes
    };
    let originals: Vec<Vec<u8>> = rows.iter().map(bytes_of).collect();
    let best = |distance_of: &dyn Fn(u32) -> f32, count: usize| {
        let mut nodes: Vec<(f32, u32)> =
            (0..rows.len() as u32).map(|node| (distance_of(node), node)).collect();
        nodes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        nodes.truncate(count);
        nodes.into_iter().map(|(_, node)| node).collect::<Vec<u32>>()
    };
    let mut found = 0;
    for vector in &queries {
        encoder.query(vector, &mut query);
        let candidates = best(&|node| table.one(&query, Node::new(node)), rerank);
        let truth = best(&|node| distance.one(vector, &originals[node as usize]), 10);
        found += truth.iter().filter(|node| candidates.contains(node)).count();
    }
    found as f64 / (queries.len() * 10) as f64
}

#[test]
fn real_embeddings_are_found_by_their_codes() {
    for metric in METRICS {
        let recall = |bits, half, rerank| recall(metric, params(bits, half), rerank);
        assert!(recall(8, false, 40) >= 0.999, "{metric:?} 8 bits: {}", recall(8, false, 40));
        assert!(recall(8, false, 10) >= 0.98, "{metric:?} 8 bits, no re-rank: {}", recall(8, false, 10));
        assert!(recall(4, false, 40) >= 0.999, "{metric:?} 4 bits: {}", recall(4, false, 40));
        assert!(recall(2, false, 40) >= 0.999, "{metric:?} 2 bits: {}", recall(2, false, 40));
        assert!(recall(1, false, 40) >= 0.99, "{metric:?} 1 bit: {}", recall(1, false, 40));
        assert!(recall(1, true, 40) >= 0.97, "{metric:?} half a bit: {}", recall(1, true, 40));
    }
}
