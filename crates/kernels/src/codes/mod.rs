//! Inner products of packed unsigned codes with a signed 8-bit query: exact integers, the same at every level.
//!
//! # Layout
//! A row is a whole number of 64-byte lines. At `b` bits a component every byte holds one component of each of `8/b`
//! *planes*: byte `j` of an `n`-byte row has component `t·n + j` of the layout in its bits `b·t ..`. The query holds
//! the planes one after the other, `n` bytes each, one signed byte a component. So a row is unpacked by shifts and
//! masks alone, and every load of row and query is a full line.
//!
//! A kernel sums over every byte. Where a row holds something else than components (padding, factors), the query has
//! zeros; where the row has zeros, the query may hold anything.

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

use std::sync::OnceLock;

/// Bytes of a line; the length of a row of codes is a multiple of it.
pub const CODE_LINE_BYTES: usize = 64;

/// Sixty-four components of a query, aligned to a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct QueryLine(pub [i8; CODE_LINE_BYTES]);

impl QueryLine {
    /// A line of zeros.
    pub const ZERO: QueryLine = QueryLine([0; CODE_LINE_BYTES]);

    /// All components of consecutive lines.
    pub fn components_mut(lines: &mut [QueryLine]) -> &mut [i8] {
        let components = lines.len() * CODE_LINE_BYTES;
        // SAFETY: a line is sixty-four `i8` and nothing else, so lines in a row are that many more; the borrow is
        // passed on.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), components) }
    }
}

/// Bits that one component of a row takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum CodeWidth {
    /// One bit.
    One,
    /// Two bits.
    Two,
    /// Four bits.
    Four,
    /// A byte.
    Eight,
}

impl CodeWidth {
    /// All widths, narrowest first.
    pub const ALL: [CodeWidth; 4] = [CodeWidth::One, CodeWidth::Two, CodeWidth::Four, CodeWidth::Eight];

    /// The width of that many bits: 1, 2, 4 or 8.
    pub fn of_bits(bits: u8) -> Option<CodeWidth> {
        CodeWidth::ALL.into_iter().find(|width| width.bits() == usize::from(bits))
    }

    /// Bits a component.
    pub const fn bits(self) -> usize {
        1 << self as usize
    }

    /// Components that share a byte, and query bytes for each byte of a row.
    pub const fn planes(self) -> usize {
        8 / self.bits()
    }
}

/// Σ of products of a query with one row. The query has [`CodeWidth::planes`] bytes for each byte of the row.
pub type OneCode = fn(&[QueryLine], &[u8]) -> i32;

/// The sums for four rows of equal length.
pub type FourCodes = fn(&[QueryLine], [&[u8]; 4]) -> [i32; 4];

/// The instruction sets that code kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeLevel {
    /// 512-bit vectors and byte products that do not saturate (x86-64, AVX-512 F, BW and VNNI).
    Avx512Vnni,
    /// 256-bit vectors and byte products that do not saturate (x86-64, AVX2 and AVX-VNNI).
    AvxVnni,
    /// 256-bit vectors (x86-64, AVX2).
    Avx2,
    /// 128-bit vectors (aarch64).
    Neon,
    /// Portable code; also the reference that the others are tested against.
    Scalar,
}

impl CodeLevel {
    /// All levels, best first.
    const ALL: [CodeLevel; 5] =
        [CodeLevel::Avx512Vnni, CodeLevel::AvxVnni, CodeLevel::Avx2, CodeLevel::Neon, CodeLevel::Scalar];

    /// The levels that this CPU can run, best first; [`CodeLevel::Scalar`] is always the last.
    pub fn available() -> Vec<CodeLevel> {
        CodeLevel::ALL.into_iter().filter(|&level| CodeKernels::at(level).is_some()).collect()
    }

    /// How operators see it: `avx512_vnni`, `avx_vnni`, `avx2`, `neon` or `scalar`.
    pub const fn name(self) -> &'static str {
        match self {
            CodeLevel::Avx512Vnni => "avx512_vnni",
            CodeLevel::AvxVnni => "avx_vnni",
            CodeLevel::Avx2 => "avx2",
            CodeLevel::Neon => "neon",
            CodeLevel::Scalar => "scalar",
        }
    }
}

/// The kernels of one width.
///
/// Both panic when a row is not a whole number of lines or the query does not fit it. Sums are exact as long as
/// they fit an `i32`, which 65,536 components of any width do when the query stays within ±127.
#[derive(Clone, Copy, Debug)]
pub struct CodeDot {
    /// One row.
    pub one: OneCode,
    /// Four rows.
    pub four: FourCodes,
}

/// The kernels of one level for every width.
#[derive(Debug)]
pub struct CodeKernels {
    /// The instruction set that these kernels use.
    pub level: CodeLevel,
    /// By width, in the order of [`CodeWidth::ALL`].
    dots: [CodeDot; 4],
}

impl CodeKernels {
    /// The kernels of one level, or `None` where this CPU lacks its instructions.
    pub fn at(level: CodeLevel) -> Option<&'static CodeKernels> {
        match level {
            CodeLevel::Scalar => Some(&scalar::KERNELS),
            #[cfg(target_arch = "x86_64")]
            CodeLevel::Avx512Vnni
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vnni") =>
            {
                Some(&avx512::KERNELS)
            }
            #[cfg(target_arch = "x86_64")]
            CodeLevel::AvxVnni if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxvnni") => {
                Some(&avx2::vnni::KERNELS)
            }
            #[cfg(target_arch = "x86_64")]
            CodeLevel::Avx2 if is_x86_feature_detected!("avx2") => Some(&avx2::plain::KERNELS),
            #[cfg(target_arch = "aarch64")]
            CodeLevel::Neon if std::arch::is_aarch64_feature_detected!("neon") => Some(&neon::KERNELS),
            _ => None,
        }
    }

    /// The kernels of a width.
    pub fn dot(&self, width: CodeWidth) -> CodeDot {
        self.dots[width as usize]
    }
}

/// The best code kernels of this CPU, chosen at the first call.
pub fn code_kernels() -> &'static CodeKernels {
    static BEST: OnceLock<&'static CodeKernels> = OnceLock::new();
    BEST.get_or_init(|| {
        CodeLevel::available().into_iter().find_map(CodeKernels::at).unwrap_or(&scalar::KERNELS)
    })
}

/// The one-row and four-row function of every width, in the order of [`CodeWidth::ALL`].
macro_rules! dots {
    ($one:ident, $four:ident) => {
        [
            $crate::codes::CodeDot { one: $one::<1>, four: $four::<1> },
            $crate::codes::CodeDot { one: $one::<2>, four: $four::<2> },
            $crate::codes::CodeDot { one: $one::<4>, four: $four::<4> },
            $crate::codes::CodeDot { one: $one::<8>, four: $four::<8> },
        ]
    };
}
use dots;

/// Lines of each row, after checking that they are as many as the query is made for.
#[inline(always)]
fn lines_of<const BITS: u32, const N: usize>(query: &[QueryLine], rows: [&[u8]; N]) -> usize {
    let bytes = rows[0].len();
    assert!(bytes.is_multiple_of(CODE_LINE_BYTES), "a row of {bytes} bytes");
    let lines = bytes / CODE_LINE_BYTES;
    assert_eq!(query.len(), lines * (8 / BITS as usize), "a query for rows of another length");
    for row in rows {
        assert_eq!(row.len(), bytes, "rows of different length");
    }
    lines
}
