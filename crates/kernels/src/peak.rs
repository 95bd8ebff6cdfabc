//! The peak floating-point rate of one core, for benchmarks that state their results as a share of it.

use crate::{Level, available};

/// Independent chains of multiply-adds: enough to hide the latency of two units.
const CHAINS: usize = 12;

/// Runs fused multiply-adds on registers alone, with the widest vectors that this CPU has. Returns how many
/// floating-point operations that were, two for each lane of each multiply-add; `None` where no kernel uses such
/// instructions. Divided by the time it took, that is the peak rate of the core.
pub fn multiply_adds(rounds: u32) -> Option<u64> {
    let lanes = match available()[0] {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            // SAFETY: the level is available only where the CPU has AVX-512F.
            std::hint::black_box(unsafe { avx512(rounds) });
            16
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            // SAFETY: the level is available only where the CPU has AVX2 and FMA.
            std::hint::black_box(unsafe { avx2(rounds) });
            8
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon => {
            // SAFETY: the level is available only where the CPU has NEON.
            std::hint::black_box(unsafe { neon(rounds) });
            4
        }
        _ => return None,
    };
    Some(u64::from(rounds) * CHAINS as u64 * lanes * 2)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(rounds: u32) -> std::arch::x86_64::__m512 {
    use std::arch::x86_64::*;
    let (factor, addend) = (std::hint::black_box(_mm512_set1_ps(0.5)), _mm512_set1_ps(0.25));
    let mut chains = [_mm512_set1_ps(1.0); CHAINS];
    for _ in 0..rounds {
        for chain in &mut chains {
            *chain = _mm512_fmadd_ps(*chain, factor, addend);
        }
    }
    chains.into_iter().reduce(|a, b| _mm512_add_ps(a, b)).unwrap_or(addend)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(rounds: u32) -> std::arch::x86_64::__m256 {
    use std::arch::x86_64::*;
    let (factor, addend) = (std::hint::black_box(_mm256_set1_ps(0.5)), _mm256_set1_ps(0.25));
    let mut chains = [_mm256_set1_ps(1.0); CHAINS];
    for _ in 0..rounds {
        for chain in &mut chains {
            *chain = _mm256_fmadd_ps(*chain, factor, addend);
        }
    }
    chains.into_iter().reduce(|a, b| _mm256_add_ps(a, b)).unwrap_or(addend)
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn neon(rounds: u32) -> std::arch::aarch64::float32x4_t {
    use std::arch::aarch64::*;
    let (factor, addend) = (std::hint::black_box(vdupq_n_f32(0.5)), vdupq_n_f32(0.25));
    let mut chains = [vdupq_n_f32(1.0); CHAINS];
    for _ in 0..rounds {
        for chain in &mut chains {
            *chain = vfmaq_f32(addend, *chain, factor);
        }
    }
    chains.into_iter().reduce(|a, b| vaddq_f32(a, b)).unwrap_or(addend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted_by_lane_and_round() {
        if let Some(one) = multiply_adds(1) {
            assert!(one >= 2 * 4 * CHAINS as u64);
            assert_eq!(multiply_adds(1000), Some(1000 * one));
        }
    }
}
