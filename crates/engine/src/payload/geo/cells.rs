//! A quadtree of cells over longitude and latitude, and the cells that cover a shape.
//!
//! The cells of the last level are numbered along a Z-order curve (G. M. Morton, "A computer oriented geodetic data
//! base", 1966), so that every larger cell is one range of numbers and an ordered map serves any shape.

use super::relation::{Rect, Relation};
use super::{GeoPoint, GeoShape};
use std::collections::VecDeque;

/// Levels below the cell of the whole world. Cells of the last one are some 4 cm wide at the equator.
const LEVELS: u32 = 30;
/// Cells along one side of the world at the last level.
const SIDE: f64 = (1u64 << LEVELS) as f64;
/// Degrees that a cell's rectangle is widened by on each side: a tenth of a millimetre. This exceeds every rounding error in
/// computations with it.
const MARGIN: f64 = 1e-9;

/// The number of the cell of the last level that has a place, which is on the globe.
pub fn cell_number(place: GeoPoint) -> u64 {
    let along = |share: f64| ((share * SIDE) as u64).min((1 << LEVELS) - 1);
    spread(along((place.lon + 180.0) / 360.0)) | spread(along((place.lat + 90.0) / 180.0)) << 1
}

/// A range of cell numbers, both ends included, that a shape covers at least in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRange {
    /// First cell number.
    pub first: u64,
    /// Last cell number.
    pub last: u64,
    /// Whether every place in these cells is in the shape. Otherwise each has to be tested.
    pub inside: bool,
}

/// Ranges of cells, ascending and disjoint, that cover a shape.
///
/// At most `most` cells are compared with the shape. Cells that are undecided then have `inside` false.
/// `is_sparse` says whether a range of cell numbers, both ends included, has so few places that testing each is no
/// slower than splitting the cell.
pub fn cover(shape: &GeoShape, most: usize, is_sparse: impl Fn(u64, u64) -> bool) -> Vec<CellRange> {
    let mut found = Vec::new();
    let mut compared = 0;
    // Level by level, so that only the smallest cells are undecided when the budget runs out.
    let mut waiting = VecDeque::from([Cell::WORLD]);
    while let Some(cell) = waiting.pop_front() {
        compared += 1;
        let inside = match shape.relation(&cell.rect()) {
            Relation::Outside => continue,
            Relation::Inside => true,
            Relation::Border => false,
        };
        let (first, last) = (cell.first, cell.last());
        let is_cut = !inside && cell.level < LEVELS && compared + waiting.len() + 4 <= most;
        if is_cut && !is_sparse(first, last) {
            waiting.extend(cell.quarters());
        } else {
            found.push(CellRange { first, last, inside });
        }
    }
    found.sort_unstable_by_key(|range| range.first);
    found.dedup_by(|next, range| {
        let joins = range.inside == next.inside && range.last + 1 == next.first;
        if joins {
            range.last = next.last;
        }
        joins
    });
    found
}

/// A cell of any level.
#[derive(Clone, Copy, Debug)]
struct Cell {
    level: u32,
    /// The smallest number of the cells of the last level in it.
    first: u64,
}

impl Cell {
    const WORLD: Cell = Cell { level: 0, first: 0 };

    /// The greatest number of the cells of the last level in it.
    fn last(self) -> u64 {
        self.first + ((1 << (2 * (LEVELS - self.level))) - 1)
    }

    fn quarters(self) -> impl Iterator<Item = Cell> {
        let level = self.level + 1;
        let step = 1u64 << (2 * (LEVELS - level));
        (0..4).map(move |quarter| Cell { level, first: self.first + quarter * step })
    }

    /// A rectangle around every place whose number is in the cell.
    fn rect(self) -> Rect {
        let side = (1u64 << (LEVELS - self.level)) as f64;
        let (x, y) = (gather(self.first) as f64, gather(self.first >> 1) as f64);
        let lon = |x: f64| x / SIDE * 360.0 - 180.0;
        let lat = |y: f64| y / SIDE * 180.0 - 90.0;
        Rect {
            west: (lon(x) - MARGIN).max(-180.0),
            east: (lon(x + side) + MARGIN).min(180.0),
            south: (lat(y) - MARGIN).max(-90.0),
            north: (lat(y + side) + MARGIN).min(90.0),
        }
    }
}

/// Masks of [`spread`] and [`gather`]: runs of 32, 16, 8, 4, 2 and 1 bits, with gaps of the same length.
const RUNS: [u64; 6] = [
    0x0000_0000_ffff_ffff,
    0x0000_ffff_0000_ffff,
    0x00ff_00ff_00ff_00ff,
    0x0f0f_0f0f_0f0f_0f0f,
    0x3333_3333_3333_3333,
    0x5555_5555_5555_5555,
];

/// Moves bit n of a number below 2^32 to bit 2n.
fn spread(number: u64) -> u64 {
    RUNS[1..].iter().zip([16, 8, 4, 2, 1]).fold(number, |bits, (mask, shift)| (bits | bits << shift) & mask)
}

/// Moves bit 2n to bit n, and drops the odd bits.
fn gather(number: u64) -> u64 {
    let even = number & RUNS[5];
    RUNS[..5]
        .iter()
        .rev()
        .zip([1, 2, 4, 8, 16])
        .fold(even, |bits, (mask, shift)| (bits | bits >> shift) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_that_are_spread_are_gathered_again(number in 0u64..1 << 32, other in 0u64..1 << 32) {
            let both = spread(number) | spread(other) << 1;
            prop_assert_eq!((gather(both), gather(both >> 1)), (number, other));
        }

        #[test]
        fn a_place_is_in_the_rectangles_of_its_cells(lon in -180.0..=180.0, lat in -90.0..=90.0, level in 0..=LEVELS) {
            let number = cell_number(GeoPoint { lon, lat });
            let below = 2 * (LEVELS - level);
            let cell = Cell { level, first: number >> below << below };
            let rect = cell.rect();
            prop_assert!(rect.west <= lon && lon <= rect.east && rect.south <= lat && lat <= rect.north);
            prop_assert!(cell.first <= number && number <= cell.last());
        }
    }

    #[test]
    fn the_corners_of_the_world_have_cells() {
        let number = |lon, lat| cell_number(GeoPoint { lon, lat });
        assert_eq!(number(-180.0, -90.0), 0);
        assert_eq!(number(180.0, 90.0), Cell::WORLD.last());
        assert_eq!(number(180.0, -90.0) | number(-180.0, 90.0), Cell::WORLD.last());
    }

    #[test]
    fn a_cover_is_bounded_whatever_the_shape() {
        let ring: Vec<GeoPoint> = (0..=100)
            .map(|n| {
                let angle = f64::from(n % 100) / 100.0 * std::f64::consts::TAU;
                GeoPoint { lon: 150.0 * angle.cos(), lat: 80.0 * angle.sin() }
            })
            .collect();
        for most in [1, 16, 512] {
            let shape = GeoShape::Polygon { exterior: ring.clone(), interiors: vec![] };
            let ranges = cover(&shape, most, |_, _| false);
            assert!(!ranges.is_empty() && ranges.len() <= most, "{}", ranges.len());
            assert!(ranges.windows(2).all(|pair| pair[0].last < pair[1].first));
            assert!(most < 512 || ranges.iter().any(|range| range.inside));
        }
    }
}
