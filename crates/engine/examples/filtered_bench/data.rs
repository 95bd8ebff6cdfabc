//! The data set, and payload whose filters match a wanted share of it: any points, those near a query, those far from it.

use std::error::Error;
use std::io::Read;
use std::path::Path;

/// Shares of the points that the filters match, in percent, with the number of cells that serve each.
pub const SHARES: [(f64, usize); 4] = [(50.0, 16), (10.0, 80), (1.0, 800), (0.1, 2000)];

/// Vectors of a folder with a `meta.json`.
pub struct DataSet {
    pub name: String,
    /// As a collection is asked for it.
    pub metric: &'static str,
    pub base: Vec<Vec<f32>>,
    pub queries: Vec<Vec<f32>>,
}

impl DataSet {
    /// Reads `base` and `query`, of the element type `dtype` (f16, f32 or u8), gzipped where the name ends in `.gz`.
    pub fn load(dir: &Path) -> Result<DataSet, Box<dyn Error>> {
        let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("meta.json"))?)?;
        let text = |key: &str| meta[key].as_str().map(str::to_owned).ok_or(format!("meta.json lacks {key}"));
        let metric = match text("metric")?.as_str() {
            "cosine" => "Cosine",
            "euclid" => "Euclid",
            "dot" => "Dot",
            other => return Err(format!("unknown metric {other}").into()),
        };
        let dim = meta["dims"].as_u64().ok_or("meta.json lacks dims")? as usize;
        let vectors = |file: &str| -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
            let bytes = read(&dir.join(file))?;
            let values: Vec<f32> = match text("dtype")?.as_str() {
                "u8" => bytes.into_iter().map(f32::from).collect(),
                "f16" => {
                    bytes.as_chunks::<2>().0.iter().map(|&b| half::f16::from_le_bytes(b).to_f32()).collect()
                }
                "f32" => bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect(),
                other => return Err(format!("unknown dtype {other}").into()),
            };
            Ok(values.chunks_exact(dim).map(<[f32]>::to_vec).collect())
        };
        Ok(DataSet {
            name: text("name")?,
            metric,
            base: vectors(&text("base")?)?,
            queries: vectors(&text("query")?)?,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain)?;
        return Ok(plain);
    }
    Ok(bytes)
}

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
