//! Rows that come cluster by cluster.

use super::*;
use crate::index::Space;
use crate::index::hnsw::isolated::Origin;

const DIM: usize = 64;

/// Rows of clusters that are `width` times as wide as they are apart, one cluster after the other.
fn sorted_clusters(clusters: usize, size: usize, width: f32) -> Vec<Vec<f32>> {
    let mut random = Random(9);
    let centres = random_rows(&mut random, clusters, DIM);
    let mut near = |centre: &[f32]| centre.iter().map(|x| x + width * random.normal()).collect();
    centres.iter().flat_map(|centre| (0..size).map(|_| near(centre)).collect::<Vec<_>>()).collect()
}

/// Makes a row that long.
fn rescale(row: &mut [f32], length: f32) {
    let factor = length / row.iter().map(|x| x * x).sum::<f32>().sqrt();
    row.iter_mut().for_each(|x| *x *= factor);
}

/// Recall of some of the rows' own vectors.
fn recall_of_rows(graph: &Built, rows: &RowTable, ef: usize) -> f64 {
    let queries: Vec<Vec<f32>> = (0..rows.len()).step_by(50).map(|row| vector(rows, row)).collect();
    recall(graph, rows, &queries, ef, |_| true)
}

#[test]
fn clusters_that_come_one_after_the_other_are_found() {
    for metric in METRICS {
        for width in [0.01, 0.1] {
            let mut rows = sorted_clusters(50, 200, width);
            if metric == Metric::Dot {
                // Or the longest would be the best for all.
                rows.iter_mut().for_each(|row| rescale(row, 1.0));
            }
            let rows = arena(&rows, metric).table();
            let graph = build(&rows, 16, metric);
            let [narrow, wide] = [64, 512].map(|ef| recall_of_rows(&graph, &rows, ef));
            assert!(narrow > 0.97 && wide > 0.999, "{metric:?}, {width}: recall {narrow}, {wide}");
        }
    }
}

#[test]
fn clusters_are_found_after_half_or_nine_tenths_of_each_died() {
    let rows = arena(&sorted_clusters(50, 200, 0.1), Metric::Euclid).table();
    let queries: Vec<Vec<f32>> = (0..rows.len()).step_by(50).map(|row| vector(&rows, row)).collect();
    let graph = build(&rows, 16, Metric::Euclid);
    for keep_every in [2, 10] {
        let is_live = |row: u32| row.is_multiple_of(keep_every);
        let keep = |node| is_live(graph.hnsw.row_of(node).get());
        let (hnsw, _) = graph.hnsw.rewrite(&graph.space(&rows), &keep, 2, &|| false).unwrap();
        let new = Built { hnsw, metric: Metric::Euclid };
        let [narrow, wide] = [64, 512].map(|ef| recall(&new, &rows, &queries, ef, is_live));
        assert!(narrow > 0.97 && wide > 0.999, "one of {keep_every} lives: recall {narrow}, {wide}");
    }
}

#[test]
fn clusters_of_vectors_of_many_lengths_are_found_by_inner_products() {
    for spread in [0.3, 1.0] {
        let mut random = Random(7);
        let mut rows = sorted_clusters(50, 100, 0.1);
        rows.iter_mut().for_each(|row| rescale(row, (spread * random.normal()).exp()));
        for is_sorted in [true, false] {
            if !is_sorted {
                rows.sort_by_cached_key(|_| random.next());
            }
            let rows = arena(&rows, Metric::Dot).table();
            let graph = build(&rows, 16, Metric::Dot);
            let recall = recall_of_rows(&graph, &rows, 64);
            assert!(recall > 0.99, "{spread}, sorted {is_sorted}: recall {recall}");
        }
    }
}

/// Whether a new node is isolated from a group of nodes on the same line, ten from it, where four others are this far.
fn is_isolated_from_group(others: [f32; 4]) -> bool {
    let group = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5];
    let places = [0.0].into_iter().chain(others).chain(group);
    let rows: Vec<Vec<f32>> = places.map(|place| vec![place]).collect();
    let rows = arena(&rows, Metric::Euclid).table();
    let graph = Built::empty(HnswParams { m: 8, ef_construct: 16, seed: 1 }, Metric::Euclid);
    for row in 0..rows.len() {
        graph.hnsw.nodes.append(Row::new(row), 0);
    }
    let space = graph.space(&rows);
    let new = vector(&rows, 0);
    let candidate = |node| Candidate::new(space.one(&new, node), node);
    let mut found: Vec<Candidate> = (1..rows.len()).map(Node::new).map(candidate).collect();
    found.sort_unstable();
    let [mut query, mut probe, mut other]: [Vec<f32>; 3] = Default::default();
    let origin = Origin::of(&space, Node::new(0), &mut query);
    graph.hnsw.is_isolated(0.0, &origin, &found, [&mut probe, &mut other])
}

#[test]
fn a_small_cluster_is_isolated_from_a_group_unless_a_node_is_on_the_way() {
    assert!(is_isolated_from_group([1.0, -1.0, 1.1, -1.1]));
    // The group is less than twice as far as the last of these.
    assert!(!is_isolated_from_group([1.0, -1.0, 1.1, 6.0]));
}
