//! Distance kernels over `f32` vectors and over [codes](CodeKernels), and [what makes codes](CodingKernels): one
//! module per instruction set, chosen once at run time.
//!
//! Clients send vectors as text: [`read_list`] parses the numbers of a JSON list.
//!
//! A query is always `f32`; rows are `f32` vectors too, or rows of bytes that hold `f32`, `f16` or `u8` components
//! ([`RowKernels`]).
//!
//! Every kernel exists for one row and for four rows at a time. Both forms run the same sequence of floating-point
//! operations for a pair of vectors, so a score never depends on which form computed it: an exact scan, a graph walk
//! and a lookup of single rows agree bit for bit. Different *levels* round differently and agree only approximately.
//!
//! ```
//! let k = kithdb_kernels::kernels();
//! assert_eq!((k.dot)(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
//! ```

mod codes;
mod coding;
mod decimals;
mod normalise;
pub mod peak;
mod prefetch;
mod rows;
mod scalar;
mod tile;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

use std::sync::OnceLock;

pub use codes::{
    CODE_LINE_BYTES, CodeDot, CodeKernels, CodeLevel, CodeWidth, FourCodes, OneCode, QueryLine, code_kernels,
};
pub use coding::{CodingKernels, CodingLevel, Quantised, ROUNDS, Residual, coding_kernels};
pub use decimals::{read_f32, read_list};
pub use normalise::{norm, normalise};
pub use prefetch::{Hint, LINE_BYTES, prefetch_l1, prefetch_l2, prefetch_range};
pub use rows::{FourByteRows, OneByteRow, RowKernels, Widen, bytes_of};
pub use tile::{DotTile, Gate, RowGate, Sift, TileKernels};

/// A kernel over a query and one row; both have the same length.
pub type OneRow = fn(&[f32], &[f32]) -> f32;

/// A kernel over a query and four rows; all five have the same length.
pub type FourRows = fn(&[f32], [&[f32]; 4]) -> [f32; 4];

/// The instruction sets that kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// 512-bit vectors with masked tails (x86-64, AVX-512F, BW and VL).
    Avx512,
    /// 256-bit vectors with fused multiply-add (x86-64, AVX2, FMA and F16C).
    Avx2,
    /// 128-bit vectors with fused multiply-add (aarch64).
    Neon,
    /// Portable code; also the reference that the others are tested against.
    Scalar,
}

impl Level {
    /// How operators see it: `avx512`, `avx2`, `neon` or `scalar`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Avx512 => "avx512",
            Level::Avx2 => "avx2",
            Level::Neon => "neon",
            Level::Scalar => "scalar",
        }
    }
}

/// One kernel of each kind, all of the same level.
///
/// Every function panics when the lengths of its vectors differ. Empty vectors give 0. Finite input may overflow to
/// an infinity, and an inner product that overflows in both directions is NaN.
#[derive(Debug)]
pub struct Kernels {
    /// The instruction set that these kernels use.
    pub level: Level,
    /// Inner product, Σ qᵢrᵢ.
    pub dot: OneRow,
    /// Inner products of one query with four rows.
    pub dot4: FourRows,
    /// Squared Euclidean distance, Σ (qᵢ − rᵢ)².
    pub l2_squared: OneRow,
    /// Squared Euclidean distances of one query to four rows.
    pub l2_squared4: FourRows,
    /// Manhattan distance, Σ |qᵢ − rᵢ|.
    pub l1: OneRow,
    /// Manhattan distances of one query to four rows.
    pub l1_4: FourRows,
    /// Kernels over rows of `f32` components.
    pub rows_f32: RowKernels,
    /// Kernels over rows of `f16` components.
    pub rows_f16: RowKernels,
    /// Kernels over rows of `u8` components.
    pub rows_u8: RowKernels,
    /// Kernels for many queries and rows at a time.
    pub tile: &'static TileKernels,
}

impl Kernels {
    /// The kernels of one level, or `None` where this CPU lacks its instructions.
    pub fn at(level: Level) -> Option<&'static Kernels> {
        match level {
            Level::Scalar => Some(&scalar::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl") =>
            {
                Some(&avx512::KERNELS)
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2
                if is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c") =>
            {
                Some(&avx2::KERNELS)
            }
            #[cfg(target_arch = "aarch64")]
            Level::Neon if std::arch::is_aarch64_feature_detected!("neon") => Some(&neon::KERNELS),
            _ => None,
        }
    }
}

/// The levels that this CPU can run, best first; `Level::Scalar` is always the last.
pub fn available() -> Vec<Level> {
    [Level::Avx512, Level::Avx2, Level::Neon, Level::Scalar]
        .into_iter()
        .filter(|&level| Kernels::at(level).is_some())
        .collect()
}

/// The best kernels of this CPU, chosen at the first call.
pub fn kernels() -> &'static Kernels {
    static BEST: OnceLock<&'static Kernels> = OnceLock::new();
    BEST.get_or_init(|| available().into_iter().find_map(Kernels::at).unwrap_or(&scalar::KERNELS))
}

// What a kernel accumulates per component; a const parameter, so that each level states its loop only once.
const DOT: u8 = 0;
const L2: u8 = 1;
const L1: u8 = 2;
