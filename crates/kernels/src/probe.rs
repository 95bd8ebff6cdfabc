//! What this machine could do at most, for benchmarks to compare with.

use std::hint::black_box;
use std::time::Instant;

use crate::{Level, kernels};

/// Chains of dependent operations that are under way at once: more than latency × units anywhere.
const CHAINS: usize = 12;

/// Floating-point operations a second of one core on `f32` data in registers, with the widest fused multiply-adds (two
/// operations a lane) that the kernels use. The best of five runs of about a hundredth of a second each.
pub fn peak_flops() -> f64 {
    let (run, lanes): (fn(usize) -> f32, usize) = match kernels().level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => (fma_avx512, 16),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => (fma_avx2, 8),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => (fma_neon, 4),
        _ => (fma_scalar, 1),
    };
    let rounds = if lanes == 1 { 1_000_000 } else { 3_000_000 };
    let seconds = best_of_five(|| {
        black_box(run(black_box(rounds)));
    });
    (rounds * CHAINS * lanes * 2) as f64 / seconds
}

/// Bytes a second that one core reads from memory in order, summing them up as `f32`. `buffer` should be several times
/// as large as the last cache, and is read by the inner-product kernel in pieces of a few thousand components. The best
/// of five passes.
pub fn stream_bytes_per_second(buffer: &[f32]) -> f64 {
    const PIECE: usize = 4096;
    let ones = vec![1.0f32; PIECE];
    let pieces = buffer.chunks_exact(PIECE);
    let bytes = pieces.len() * PIECE * size_of::<f32>();
    let seconds = best_of_five(|| {
        let sum: f32 = pieces.clone().map(|piece| (kernels().dot)(&ones, piece)).sum();
        black_box(sum);
    });
    bytes as f64 / seconds
}

fn best_of_five(mut run: impl FnMut()) -> f64 {
    let timed = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..5).map(timed).fold(f64::INFINITY, f64::min)
}

/// `rounds` × [`CHAINS`] fused multiply-adds of vectors; their sum, so that none is left out.
#[cfg(target_arch = "x86_64")]
fn fma_avx512(rounds: usize) -> f32 {
    use std::arch::x86_64::*;
    #[target_feature(enable = "avx512f")]
    fn run(rounds: usize) -> f32 {
        let (a, b) = (_mm512_set1_ps(black_box(0.999)), _mm512_set1_ps(black_box(1e-3)));
        let mut acc = [_mm512_set1_ps(1.0); CHAINS];
        for _ in 0..rounds {
            for sum in &mut acc {
                *sum = _mm512_fmadd_ps(*sum, a, b);
            }
        }
        acc.into_iter().map(|sum| _mm512_reduce_add_ps(sum)).sum()
    }
    // SAFETY: chosen only where the kernels are those of AVX-512.
    unsafe { run(rounds) }
}

#[cfg(target_arch = "x86_64")]
fn fma_avx2(rounds: usize) -> f32 {
    use std::arch::x86_64::*;
    #[target_feature(enable = "avx2,fma")]
    fn run(rounds: usize) -> f32 {
        let (a, b) = (_mm256_set1_ps(black_box(0.999)), _mm256_set1_ps(black_box(1e-3)));
        let mut acc = [_mm256_set1_ps(1.0); CHAINS];
        for _ in 0..rounds {
            for sum in &mut acc {
                *sum = _mm256_fmadd_ps(*sum, a, b);
            }
        }
        acc.into_iter().map(|sum| _mm256_cvtss_f32(sum)).sum()
    }
    // SAFETY: chosen only where the kernels are those of AVX2 and FMA.
    unsafe { run(rounds) }
}

#[cfg(target_arch = "aarch64")]
fn fma_neon(rounds: usize) -> f32 {
    use std::arch::aarch64::*;
    #[target_feature(enable = "neon")]
    fn run(rounds: usize) -> f32 {
        let (a, b) = (vdupq_n_f32(black_box(0.999)), vdupq_n_f32(black_box(1e-3)));
        let mut acc = [vdupq_n_f32(1.0); CHAINS];
        for _ in 0..rounds {
            for sum in &mut acc {
                *sum = vfmaq_f32(b, *sum, a);
            }
        }
        acc.into_iter().map(|sum| vaddvq_f32(sum)).sum()
    }
    // SAFETY: chosen only where the kernels are those of NEON.
    unsafe { run(rounds) }
}

fn fma_scalar(rounds: usize) -> f32 {
    let (a, b) = (black_box(0.999f32), black_box(1e-3f32));
    let mut acc = [1.0f32; CHAINS];
    for _ in 0..rounds {
        for sum in &mut acc {
            *sum = *sum * a + b;
        }
    }
    acc.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probes_give_positive_numbers() {
        assert!(peak_flops() > 0.0);
        assert!(stream_bytes_per_second(&vec![1.0; 1 << 16]) > 0.0);
    }
}
