//! Inner products of many queries with many rows at a time, in the manner of a matrix product.
//!
//! A *panel* holds up to [`TileKernels::wide`] queries component by component: first the first components of all of
//! them, then the second, and so on, zeros where there is no query. A *tile* is a panel times a few rows; its sums stay
//! in registers, so that a component is loaded once for many products (Goto & van de Geijn, *Anatomy of
//! high-performance matrix multiplication*, 2008).
//!
//! Sums are accumulated one component after the other: the error of a sum of n products is at most n·2⁻²⁴ of the sum
//! of their absolute values, to first order.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod scalar;

/// Inner products of all queries of a panel with some rows.
///
/// - `panel`: `lanes` × components, `lanes` one of [`TileKernels::narrow`] and [`TileKernels::wide`];
/// - `rows`: 1 to [`TileKernels::rows`] rows of `f32` components as little-endian bytes, of any alignment;
/// - `next`: bytes to prefetch meanwhile, because they will be needed soon; at most `TileKernels::rows` slices;
/// - `sums`: `lanes` numbers for each row.
///
/// Panics when the lengths do not fit each other.
pub type DotTile = fn(panel: &[f32], rows: &[&[u8]], next: &[&[u8]], sums: &mut [f32]);

/// Which queries of a panel the rows of a tile may be near enough to.
///
/// - `sums`: as a [`DotTile`] leaves them, `lanes` numbers for each row;
/// - `gate`: arrays of `lanes` numbers;
/// - `passed`: for each row a bit for each lane, the first query's lowest.
///
/// A lane is left out when `offset + (base + slope·share + factor·sum) > bound`. A comparison with NaN is false, so
/// such a lane passes. Panics when the lengths do not fit each other.
pub type Sift = fn(sums: &[f32], gate: &Gate, rows: &[RowGate], passed: &mut [u64]);

/// What a row must pass for each query of a panel; the arrays have as many lanes as the panel.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// Added for the query.
    pub offset: Vec<f32>,
    /// What the row's `share` is multiplied with.
    pub slope: Vec<f32>,
    /// Above it, a row is left out.
    pub bound: Vec<f32>,
}

/// The row's part in [`Sift`].
#[derive(Clone, Copy, Debug)]
pub struct RowGate {
    /// Added for the row.
    pub base: f32,
    /// What the queries' `slope` is multiplied with.
    pub share: f32,
    /// What the sums are multiplied with.
    pub factor: f32,
}

/// The kernels for tiles of one level.
#[derive(Debug)]
pub struct TileKernels {
    /// Rows of a full tile. Fewer cost as much.
    pub rows: usize,
    /// Lanes of a panel of few queries.
    pub narrow: usize,
    /// Lanes of a panel of many queries, at most 64.
    pub wide: usize,
    /// Inner products.
    pub dot: DotTile,
    /// The test of rows against the queries' bounds.
    pub sift: Sift,
}

/// Checks the arguments of a [`DotTile`] and returns components and lanes.
fn shape(tile: &TileKernels, panel: &[f32], rows: &[&[u8]], next: &[&[u8]], sums: &[f32]) -> (usize, usize) {
    assert!(
        (1..=tile.rows).contains(&rows.len()) && next.len() <= tile.rows,
        "a tile of {} rows",
        rows.len()
    );
    let dim = rows[0].len() / 4;
    assert!(rows.iter().all(|row| row.len() == dim * 4), "rows of different length");
    let lanes = sums.len() / rows.len();
    assert!(lanes == tile.narrow || lanes == tile.wide, "a panel of {lanes} lanes");
    assert_eq!((lanes * dim, lanes * rows.len()), (panel.len(), sums.len()), "a panel of another length");
    (dim, lanes)
}

/// Checks the arguments of a [`Sift`] and returns the lanes.
fn check_gate(tile: &TileKernels, sums: &[f32], gate: &Gate, rows: &[RowGate], passed: &[u64]) -> usize {
    let lanes = gate.bound.len();
    assert!(lanes == tile.narrow || lanes == tile.wide, "a panel of {lanes} lanes");
    assert_eq!([gate.offset.len(), gate.slope.len()], [lanes; 2], "a gate of several widths");
    assert_eq!((lanes * rows.len(), rows.len()), (sums.len(), passed.len()), "a gate of another width");
    lanes
}
