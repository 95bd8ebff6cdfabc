//! Build rate, recall and query rate of the graph on a data set.
//!
//! ```text
//! cargo run --release -p kithdb-engine --example hnsw_bench -- DIR [--threads N] [--m M] [--ef-construct E]
//! ```
//!
//! `DIR` holds a `meta.json` that names its files: row-major little-endian `base` and `query` (gzipped where the name
//! ends in `.gz`), `dtype` f16, f32 or u8, `metric` cosine or euclid, and `groundtruth`, i32 rows of the
//! `groundtruth_k` nearest. Recall counts a hit by distance, so ties at the k-th place are hits.

use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use kithdb_engine::arena::{RowArena, RowTable};
use kithdb_engine::index::{BuildScratch, Distance, Hnsw, HnswParams, SearchScratch, TopK, flat};
use kithdb_engine::types::Metric;
use kithdb_engine::vectors::RowFormat;

const K: usize = 10;

struct DataSet {
    name: String,
    dim: usize,
    metric: Metric,
    rows: RowTable,
    queries: Vec<Vec<f32>>,
    /// Distance of the k-th nearest row, by query.
    kth: Vec<f32>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().ok_or("the folder of a data set is needed")?;
    let (mut threads, mut params) = (1, HnswParams { m: 16, ef_construct: 200, seed: 1 });
    while let Some(flag) = args.next() {
        let value: usize = args.next().ok_or("a flag needs a value")?.parse()?;
        match flag.as_str() {
            "--threads" => threads = value,
            "--m" => params.m = value,
            "--ef-construct" => params.ef_construct = value,
            _ => return Err(format!("unknown flag {flag}").into()),
        }
    }
    let data = load(Path::new(&dir))?;
    println!("{}: {} rows × {}, {} queries", data.name, data.rows.len(), data.dim, data.queries.len());

    let graph = Hnsw::new(params, data.metric, RowFormat::F32, data.dim);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads as u32 {
            let (graph, rows) = (&graph, &data.rows);
            scope.spawn(move || {
                let mut scratch = BuildScratch::new();
                for row in (thread..rows.len()).step_by(threads) {
                    graph.insert(rows, row, &mut scratch);
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "build: {seconds:.1} s, {:.0} rows/s on {threads} threads; {:.0} bytes a row; {} rows unreachable",
        f64::from(data.rows.len()) / seconds,
        graph.memory_bytes() as f64 / f64::from(data.rows.len()),
        graph.unreachable().len(),
    );

    let distance = Distance::of(data.metric, RowFormat::F32);
    report("exact", &data, |query| {
        let mut top = TopK::new(K, |a: u32, b: u32| a.cmp(&b));
        flat::scan_range(&data.rows, distance, query, 0..data.rows.len(), &|_| true, &mut top, &|| false)
            .expect("nothing stops it");
        top.into_sorted()
    });
    let mut scratch = SearchScratch::new();
    for ef in [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512] {
        report(&format!("ef {ef}"), &data, |query| {
            graph
                .search(&data.rows, query, ef, &|_| true, &|a, b| a.cmp(&b), &mut scratch, &|| false)
                .expect("nothing stops it")
        });
    }
    Ok(())
}

/// Recall, and the best rate of three rounds after a first one.
fn report(name: &str, data: &DataSet, mut search: impl FnMut(&[f32]) -> Vec<(f32, u32)>) {
    let mut hits = 0;
    for (query, &kth) in data.queries.iter().zip(&data.kth) {
        hits += search(query).iter().take(K).filter(|&&(distance, _)| distance <= kth).count();
    }
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        for query in &data.queries {
            std::hint::black_box(search(query));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let count = data.queries.len() as f64;
    println!("{name:>7}: recall@{K} {:.4}, {:.0} queries/s", hits as f64 / (count * K as f64), count / best);
}

fn load(dir: &Path) -> Result<DataSet, Box<dyn Error>> {
    let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("meta.json"))?)?;
    let text = |key: &str| meta[key].as_str().map(str::to_owned).ok_or(format!("meta.json lacks {key}"));
    let number = |key: &str| meta[key].as_u64().map(|n| n as usize).ok_or(format!("meta.json lacks {key}"));
    let metric = match text("metric")?.as_str() {
        "cosine" => Metric::Cosine,
        "euclid" => Metric::Euclid,
        other => return Err(format!("unknown metric {other}").into()),
    };
    let dim = number("dims")?;
    let vectors = |file: &str| -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
        let bytes = read(&dir.join(file))?;
        let values: Vec<f32> = match text("dtype")?.as_str() {
            "u8" => bytes.into_iter().map(f32::from).collect(),
            "f16" => bytes.as_chunks::<2>().0.iter().map(|&b| half::f16::from_le_bytes(b).to_f32()).collect(),
            "f32" => bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect(),
            other => return Err(format!("unknown dtype {other}").into()),
        };
        Ok(values.chunks_exact(dim).map(<[f32]>::to_vec).collect())
    };
    let mut arena = RowArena::new(RowFormat::F32.row_bytes(dim));
    let mut bytes = Vec::new();
    for row in vectors(&text("base")?)? {
        bytes.clear();
        RowFormat::F32.encode(&row, &mut bytes);
        arena.push(&bytes);
    }
    let rows = arena.table();
    let queries = vectors(&text("query")?)?;
    let truth = read(&dir.join(text("groundtruth")?))?;
    let truth: Vec<u32> = truth.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
    let nearest = truth.chunks_exact(number("groundtruth_k")?);
    let distance = Distance::of(metric, RowFormat::F32);
    let kth = queries.iter().zip(nearest).map(|(query, near)| distance.one(query, rows.row(near[K - 1])));
    Ok(DataSet { name: text("name")?, dim, metric, kth: kth.collect(), rows, queries })
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
