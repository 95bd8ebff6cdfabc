//! Exact search as a share of what the machine can do, both measured here and now.

use crate::data::Data;
use crate::exact;
use kithdb_kernels::peak;
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

/// Best of so many, interleaved: what is asked for is the machine's limit.
const ROUNDS: usize = 7;

/// Bytes that are streamed: far more than the caches hold.
const STREAM_BYTES: usize = 512 << 20;

/// Queries of a batch.
pub const BATCH: usize = 64;

/// Queries of a scan one by one, for each round.
const SINGLE: usize = 8;

const MULTIPLY_ADD_ROUNDS: u32 = 20_000_000;

/// Rates of one core: a stream of reads and an exact scan, in bytes a second; multiply-adds and 64 batched exact
/// searches, in floating-point operations a second.
pub fn measure(data: &Data) -> Value {
    let rows = f64::from(data.table.len());
    let all_bytes = rows * data.row_bytes() as f64;
    let single = &data.queries[..SINGLE.min(data.queries.len())];
    let batch = &data.queries[..BATCH.min(data.queries.len())];
    let stream: Vec<u64> = vec![1; STREAM_BYTES / 8];
    let (mut stream_best, mut scan_best, mut peak_best, mut batch_best) = (0f64, 0f64, 0f64, 0f64);
    let operations = 2.0 * rows * data.dims as f64;
    for _ in 0..ROUNDS {
        let seconds = timed(|| black_box(stream_sum(black_box(&stream))));
        stream_best = stream_best.max(STREAM_BYTES as f64 / seconds);
        let seconds = timed(|| black_box(exact::one_by_one(data, single)));
        scan_best = scan_best.max(all_bytes * single.len() as f64 / seconds);
        let start = Instant::now();
        if let Some(done) = peak::multiply_adds(MULTIPLY_ADD_ROUNDS) {
            peak_best = peak_best.max(done as f64 / start.elapsed().as_secs_f64());
        }
        let seconds = timed(|| black_box(exact::all_at_once(data, batch)));
        batch_best = batch_best.max(operations * batch.len() as f64 / seconds);
    }
    json!({
        "scanned_bytes": all_bytes,
        "stream_bytes_per_s": stream_best,
        "scan_bytes_per_s": scan_best,
        "peak_flops": (peak_best > 0.0).then_some(peak_best),
        "batch": batch.len(),
        "batch_flops": batch_best,
    })
}

fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Reads everything once; eight sums, so that adding is not what limits it.
fn stream_sum(words: &[u64]) -> u64 {
    let mut sums = [0u64; 8];
    for block in words.as_chunks::<8>().0 {
        for (sum, word) in sums.iter_mut().zip(block) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}
