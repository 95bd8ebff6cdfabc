//! Rows that come cluster by cluster.

use super::*;

const DIM: usize = 64;

/// Rows of clusters that are `width` times as wide as they are apart, one cluster after the other.
fn sorted_clusters(clusters: usize, size: usize, width: f32) -> Vec<Vec<f32>> {
    let mut random = Random(9);
    let centres = random_rows(&mut random, clusters, DIM);
    let mut near = |centre: &[f32]| centre.iter().map(|x| x + width * random.normal()).collect();
    centres.iter().flat_map(|centre| (0..size).map(|_| near(centre)).collect::<Vec<_>>()).collect()
}

#[test]
fn clusters_that_come_one_after_the_other_are_found() {
    for metric in METRICS {
        for width in [0.01, 0.1] {
            let mut rows = sorted_clusters(50, 200, width);
            if metric == Metric::Dot {
                // Or the longest would be the best for all.
                rows.iter_mut().for_each(|row| {
                    let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
                    row.iter_mut().for_each(|x| *x /= length);
                });
            }
            let rows = arena(&rows, metric).table();
            let graph = build(&rows, 16, metric);
            let queries: Vec<Vec<f32>> = (0..rows.len()).step_by(50).map(|row| vector(&rows, row)).collect();
            let recall = |ef| recall(&graph, &rows, &queries, ef, |_| true);
            let (narrow, wide) = (recall(64), recall(512));
            assert!(narrow > 0.97 && wide > 0.999, "{metric:?}, {width}: recall {narrow}, {wide}");
        }
    }
}
