//! From a vector to its code (subtract a mean, rotate, round), and from the code to the integers that it encodes.
//!
//! The code is written once, portably and in a shape that compilers turn into vector instructions, and compiled for
//! each level; only the rotation is written out for AVX-512, where compilers fail. No operation is fused or
//! reordered, so every level gives the same bits.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod hadamard;
mod round;

use std::sync::OnceLock;

use crate::codes::CodeWidth;

/// Sums in lanes: the order of additions is that of sixteen accumulators at every level.
const LANES: usize = 16;

/// Sign bits that [`CodingKernels::rotate`] takes for each component.
pub const ROUNDS: usize = hadamard::ROUNDS;

/// Sums over a vector x and its difference r to a mean μ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// ‖r‖².
    pub norm_squared: f32,
    /// ⟨μ, x⟩.
    pub mean_dot: f32,
}

/// Sums over a vector x and the integers v that it was rounded to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantised {
    /// ⟨x, v⟩.
    pub dot: f32,
    /// Σ vᵢ.
    pub sum: i32,
}

/// The instruction sets that the coding kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodingLevel {
    /// AVX-512 F (x86-64).
    Avx512,
    /// AVX2 (x86-64).
    Avx2,
    /// What every CPU of the architecture has.
    Baseline,
}

/// The steps from a vector to its code, at one level; all levels give the same bits.
///
/// Functions over two slices panic when their lengths differ. Input is expected to be finite.
#[derive(Debug)]
pub struct CodingKernels {
    /// The instruction set that these kernels were compiled for.
    pub level: CodingLevel,
    /// `residual(x, μ, r)` writes r = x − μ.
    pub residual: fn(&[f32], &[f32], &mut [f32]) -> Residual,
    /// `rotate(x, signs)` applies an orthogonal transform in place: rounds of sign flips and fast Walsh–Hadamard
    /// transforms. Bit k of `signs[i]` flips component i in round k, [`ROUNDS`] at most.
    ///
    /// Where the length is no power of two, rounds take turns at the greatest power of two of components at the front
    /// and at the back, and between them components of the first half are mixed with those of the second (the
    /// FHT–Kac rotation of RaBitQ-Library). Cost: about 4·n·log₂ n additions.
    pub rotate: fn(&mut [f32], &[u8]),
    /// The greatest absolute component; 0 of an empty vector.
    pub max_abs: fn(&[f32]) -> f32,
    /// `quantise(x, f, v)` writes vᵢ = round(f·xᵢ), at most 127 in absolute value: a query.
    pub quantise: fn(&[f32], f32, &mut [i8]) -> Quantised,
    /// `encode(x, f, width, u)` writes unsigned codes, one a byte, not packed. With eight bits uᵢ encodes
    /// vᵢ = uᵢ − 128 = round(f·xᵢ), at most 127 in absolute value. With fewer bits b it encodes the odd number
    /// vᵢ = 2uᵢ − (2ᵇ − 1) that is nearest to 2·f·xᵢ.
    pub encode: fn(&[f32], f32, CodeWidth, &mut [u8]) -> Quantised,
    /// `decode(u, width, plane, v)` writes the integers vᵢ that codes encode, a byte of which holds as many as fit,
    /// those of plane p in its bits from p · `width` on, and returns Σ vᵢ. At most 65,536 at a time.
    pub decode: fn(&[u8], CodeWidth, usize, &mut [i8]) -> i32,
}

impl CodingKernels {
    /// The kernels of one level, or `None` where this CPU lacks its instructions.
    pub fn at(level: CodingLevel) -> Option<&'static CodingKernels> {
        match level {
            CodingLevel::Baseline => Some(&BASELINE),
            #[cfg(target_arch = "x86_64")]
            CodingLevel::Avx512 if is_x86_feature_detected!("avx512f") => Some(&with_avx512::KERNELS),
            #[cfg(target_arch = "x86_64")]
            CodingLevel::Avx2 if is_x86_feature_detected!("avx2") => Some(&with_avx2::KERNELS),
            #[cfg_attr(not(target_arch = "x86_64"), allow(unreachable_patterns))]
            _ => None,
        }
    }
}

impl CodingLevel {
    /// The levels that this CPU can run, best first; [`CodingLevel::Baseline`] is always the last.
    pub fn available() -> Vec<CodingLevel> {
        [CodingLevel::Avx512, CodingLevel::Avx2, CodingLevel::Baseline]
            .into_iter()
            .filter(|&level| CodingKernels::at(level).is_some())
            .collect()
    }
}

/// The best coding kernels of this CPU, chosen at the first call.
pub fn coding_kernels() -> &'static CodingKernels {
    static BEST: OnceLock<&'static CodingKernels> = OnceLock::new();
    BEST.get_or_init(|| CodingLevel::available().into_iter().find_map(CodingKernels::at).unwrap_or(&BASELINE))
}

static BASELINE: CodingKernels = CodingKernels {
    level: CodingLevel::Baseline,
    residual: round::residual,
    rotate: hadamard::rotate,
    max_abs: round::max_abs,
    quantise: round::quantise,
    encode: round::encode,
    decode: round::decode,
};

/// The same functions compiled with more CPU features.
#[cfg(target_arch = "x86_64")]
macro_rules! level {
    ($name:ident, $level:expr, $features:literal, $rotate:path) => {
        mod $name {
            use super::*;

            /// Handed out by `CodingKernels::at` only where the CPU has the features; every SAFETY note below rests
            /// on that.
            pub(super) static KERNELS: CodingKernels =
                CodingKernels { level: $level, residual, rotate, max_abs, quantise, encode, decode };

            fn residual(x: &[f32], mean: &[f32], out: &mut [f32]) -> Residual {
                #[target_feature(enable = $features)]
                fn compiled(x: &[f32], mean: &[f32], out: &mut [f32]) -> Residual {
                    round::residual(x, mean, out)
                }
                // SAFETY: the CPU has the features, see `KERNELS`.
                unsafe { compiled(x, mean, out) }
            }

            fn rotate(x: &mut [f32], signs: &[u8]) {
                #[target_feature(enable = $features)]
                fn compiled(x: &mut [f32], signs: &[u8]) {
                    $rotate(x, signs);
                }
                // SAFETY: the CPU has the features, see `KERNELS`.
                unsafe { compiled(x, signs) }
            }

            fn max_abs(x: &[f32]) -> f32 {
                #[target_feature(enable = $features)]
                fn compiled(x: &[f32]) -> f32 {
                    round::max_abs(x)
                }
                // SAFETY: the CPU has the features, see `KERNELS`.
                unsafe { compiled(x) }
            }

            fn quantise(x: &[f32], factor: f32, out: &mut [i8]) -> Quantised {
                #[target_feature(enable = $features)]
                fn compiled(x: &[f32], factor: f32, out: &mut [i8]) -> Quantised {
                    round::quantise(x, factor, out)
                }
                // SAFETY: the CPU has the features, see `KERNELS`.
                unsafe { compiled(x, factor, out) }
            }

            fn encode(x: &[f32], factor: f32, width: CodeWidth, out: &mut [u8]) -> Quantised {
                #[target_feature(enable = $features)]
                fn compiled(x: &[f32], factor: f32, width: CodeWidth, out: &mut [u8]) -> Quantised {
                    round::encode(x, factor, width, out)
                }
                // SAFETY: the CPU has the features, see `KERNELS`.
                unsafe { compiled(x, factor, width, out) }
            }

            fn decode(codes: &[u8], width: CodeWidth, plane: usize, out: &mut [i8]) -> i32 {
                #[target_feature(enable = $features)]
                fn compiled(codes: &[u8], width: CodeWidth, plane: usize, out: &mut [i8]) -> i32 {
                    round::decode(codes, width, plane, out)
                }
                // SAFETY: the CPU has the features, see `KERNELS`.
                unsafe { compiled(codes, width, plane, out) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
level!(with_avx512, CodingLevel::Avx512, "avx512f", avx512::rotate);
#[cfg(target_arch = "x86_64")]
level!(with_avx2, CodingLevel::Avx2, "avx2", hadamard::rotate);
