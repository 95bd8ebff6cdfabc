//! Exact scans as shares of what one core can do: its stream of reads, and its fused multiply-adds.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin scan_bench -- [DIM] [ROWS]
//! ```
//!
//! Rows are random (768 components and 150,000 rows by default). Everything is measured in turns in one run. The best of
//! seven rounds counts, because the machine's limit is the question.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use kithdb_engine::arena::{RowArena, RowTable};
use kithdb_engine::index::{Distance, TopK, flat};
use kithdb_engine::types::{Datatype, Metric, Row, RowRange};
use kithdb_engine::vectors::RowFormat;
use kithdb_kernels::peak;

const K: usize = 10;
const BATCHES: [usize; 4] = [4, 16, 64, 256];
const ROUNDS: usize = 7;
const MULTIPLY_ADD_ROUNDS: u32 = 5_000_000;
const STREAM_BYTES: usize = 512 << 20;

/// What is measured, and its rate so far: bytes or operations a second.
struct Contest {
    name: String,
    /// Whether multiply-adds are measured, in operations a second; otherwise the stream is, in bytes a second.
    is_compute: bool,
    best: f64,
    run: Box<dyn Fn() -> f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|arg| arg.parse::<usize>());
    let dim = numbers.next().transpose()?.unwrap_or(768);
    let rows = numbers.next().transpose()?.unwrap_or(150_000);
    let mut random = 1u64;
    let mut vector = || -> Vec<f32> {
        let component = |_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 40) as f32 / 65_536.0
        };
        (0..dim).map(component).collect()
    };
    let queries: Vec<Vec<f32>> = (0..256).map(|_| vector()).collect();
    let words: Vec<u64> = vec![1; STREAM_BYTES / 8];
    let mut contests = vec![
        contest("stream of reads", false, move || {
            black_box(stream_sum(black_box(&words)));
            STREAM_BYTES as f64
        }),
        contest("multiply-adds", true, || peak::multiply_adds(MULTIPLY_ADD_ROUNDS).unwrap_or(0) as f64),
    ];
    for datatype in [Datatype::Float32, Datatype::Float16, Datatype::Uint8] {
        let format = RowFormat::of(Metric::Euclid, datatype);
        let mut arena = RowArena::new(format.row_bytes(dim));
        let mut bytes = Vec::new();
        for _ in 0..rows {
            bytes.clear();
            format.encode(&vector(), &mut bytes);
            arena.push(&bytes);
        }
        for metric in [Metric::Euclid, Metric::Dot] {
            let distance = Distance::of(metric, format);
            let (table, query) = (arena.table(), queries[0].clone());
            let name = format!("{} {}", datatype.name(), metric.name());
            contests
                .push(contest(&format!("{name}, one query"), false, move || one(&table, distance, &query)));
            for batch in BATCHES {
                let (table, queries) = (arena.table(), queries[..batch].to_vec());
                let work = move || many(&table, distance, &queries);
                contests.push(contest(&format!("{name}, {batch} queries"), true, work));
            }
        }
    }
    for _ in 0..ROUNDS {
        for contest in &mut contests {
            let start = Instant::now();
            let done = (contest.run)();
            contest.best = contest.best.max(done / start.elapsed().as_secs_f64());
        }
    }
    let (stream, peak) = (contests[0].best, contests[1].best);
    for contest in contests {
        let (unit, limit) = if contest.is_compute { ("GFLOP/s", peak) } else { ("GB/s", stream) };
        println!("{:32} {:7.1} {unit:8} {:.2}", contest.name, contest.best / 1e9, contest.best / limit);
    }
    Ok(())
}

fn contest(name: &str, is_compute: bool, run: impl Fn() -> f64 + 'static) -> Contest {
    Contest { name: name.to_owned(), is_compute, best: 0.0, run: Box::new(run) }
}

/// Scans for one query; answers the bytes that were read.
fn one(rows: &RowTable, distance: Distance, query: &[f32]) -> f64 {
    let mut top = TopK::new(K, |a: Row, b: Row| a.cmp(&b));
    flat::scan_range(
        rows,
        distance,
        query,
        RowRange::of_len(Row::FIRST, rows.len()),
        &|_| true,
        &mut top,
        &|| false,
    )
    .expect("nothing stops it");
    black_box(top.into_sorted());
    f64::from(rows.len()) * rows.row_bytes() as f64
}

/// Scans for many queries; answers the operations of their products.
fn many(rows: &RowTable, distance: Distance, queries: &[Vec<f32>]) -> f64 {
    let dim = queries[0].len();
    let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
    let mut tops: Vec<_> = queries.iter().map(|_| TopK::new(K, |a: Row, b: Row| a.cmp(&b))).collect();
    flat::scan_many(
        rows,
        distance,
        &queries,
        RowRange::of_len(Row::FIRST, rows.len()),
        &|_| true,
        &mut tops,
        &|| false,
    )
    .expect("nothing stops it");
    black_box(tops.into_iter().map(TopK::into_sorted).collect::<Vec<_>>());
    2.0 * f64::from(rows.len()) * (dim * queries.len()) as f64
}

/// Reads everything once; eight sums, so that additions are not the limit.
fn stream_sum(words: &[u64]) -> u64 {
    let mut sums = [0u64; 8];
    for block in words.as_chunks::<8>().0 {
        for (sum, word) in sums.iter_mut().zip(block) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}
