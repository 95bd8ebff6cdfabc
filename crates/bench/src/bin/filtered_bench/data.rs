//! Payloads for filters that match a given share of the points: any of them, those near a query, those far from it.

use kithdb_bench::data_set::DataSet;

/// Shares of the points that the filters match, in percent, with the number of cells that serve each.
pub const SHARES: [(f64, usize); 4] = [(50.0, 16), (10.0, 80), (1.0, 800), (0.1, 2000)];

/// A partition of the points by the nearest of some of them, its pivots.
pub struct Cells {
    pivots: Vec<Vec<f32>>,
    /// Cell of each point.
    pub of: Vec<u32>,
    sizes: Vec<usize>,
}

impl Cells {
    /// Cells around evenly spread pivots, by squared Euclidean distance of normalised vectors under Cosine.
    pub fn new(data: &DataSet, count: usize) -> Cells {
        let step = (data.base.len() / count).max(1);
        let pivots: Vec<Vec<f32>> = data.base.iter().step_by(step).take(count).cloned().collect();
        let mut of = vec![0; data.base.len()];
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let part = data.base.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            for (cells, points) in of.chunks_mut(part).zip(data.base.chunks(part)) {
                let pivots = &pivots;
                scope.spawn(move || {
                    for (cell, point) in cells.iter_mut().zip(points) {
                        *cell = by_distance(pivots, point)[0];
                    }
                });
            }
        });
        let mut sizes = vec![0; pivots.len()];
        of.iter().for_each(|&cell| sizes[cell as usize] += 1);
        Cells { pivots, of, sizes }
    }

    /// The cells nearest to a query, or farthest from it, that hold about so many points together.
    pub fn around(&self, query: &[f32], points: usize, nearest: bool) -> Vec<u32> {
        let mut order = by_distance(&self.pivots, query);
        if !nearest {
            order.reverse();
        }
        let mut held = 0;
        let wanted = order.into_iter().take_while(|&cell| {
            let more = held < points;
            held += self.sizes[cell as usize];
            more
        });
        wanted.collect()
    }
}

fn by_distance(pivots: &[Vec<f32>], to: &[f32]) -> Vec<u32> {
    let distance = |pivot: &[f32]| {
        let mut sums = [0f32; 16];
        for (a, b) in pivot.as_chunks::<16>().0.iter().zip(to.as_chunks::<16>().0) {
            for lane in 0..16 {
                sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
            }
        }
        sums.iter().sum::<f32>()
    };
    let mut order: Vec<(f32, u32)> = pivots.iter().map(|pivot| distance(pivot)).zip(0..).collect();
    if !order.is_empty() {
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    }
    order.into_iter().map(|(_, cell)| cell).collect()
}
