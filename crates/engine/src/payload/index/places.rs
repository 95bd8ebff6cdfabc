//! The index of places on the globe: ordered along a Z-order curve, so that a shape is a few ranges.

use super::bounds::Bounds;
use super::keys::{float_key, float_of_key};
use super::postings::{self, Postings};
use super::{FieldIndex, Values};
use crate::payload::geo::{CellRange, GeoPoint, GeoShape, cell_number, cover};
use std::cell::Cell;

/// A place, ordered by its cell of the last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    cell: u64,
    /// Exact coordinates, as [`float_key`]s. Places in undecided cells are tested without their payloads.
    lon: i64,
    lat: i64,
}

/// A cell with at most this many places is not split: each place is tested.
const SPARSE: usize = 8;

/// The greatest number of cells that a shape is compared with.
const MAX_CELLS: usize = 512;
/// With a budget of fewer cells than this the index is not used.
const MIN_CELLS: usize = 16;
/// The allowed work divided by this goes into the cells of one shape.
const CELLS_DIVISOR: usize = 4;

impl Place {
    /// A place, which is on the globe.
    pub(super) fn new(place: GeoPoint) -> Place {
        Place { cell: cell_number(place), lon: float_key(place.lon), lat: float_key(place.lat) }
    }

    fn point(self) -> GeoPoint {
        GeoPoint { lon: float_of_key(self.lon), lat: float_of_key(self.lat) }
    }

    fn first_of(cell: u64) -> Place {
        Place { cell, lon: i64::MIN, lat: i64::MIN }
    }

    fn last_of(cell: u64) -> Place {
        Place { cell, lon: i64::MAX, lat: i64::MAX }
    }
}

impl FieldIndex {
    /// Places inside a shape.
    ///
    /// `work` is the budget, in comparisons with an edge of a polygon. The work done is subtracted. Points that it does not
    /// suffice for are doubtful: reading their payloads observes the deadline.
    pub fn places_within(&self, shape: &GeoShape, work: &Cell<usize>) -> Bounds {
        let Values::Places(column) = &self.values else { return Bounds::within(self.uncovered_points()) };
        let cost = shape.cost();
        let cells = (work.get() / CELLS_DIVISOR / cost).min(MAX_CELLS);
        if cells < MIN_CELLS {
            return Bounds::within(&self.indexed | &self.uncovered);
        }
        let mut left = work.get() - cells * cost;
        let places = |first, last| column.range(Place::first_of(first)..=Place::last_of(last));
        let mut hits: Vec<&Postings> = Vec::new();
        let mut open: Vec<&Postings> = Vec::new();
        let is_sparse = |first, last| places(first, last).nth(SPARSE).is_none();
        for CellRange { first, last, inside } in cover(shape, cells, is_sparse) {
            for (place, postings) in places(first, last) {
                if inside {
                    hits.push(postings);
                } else if left < cost {
                    open.push(postings);
                } else {
                    left -= cost;
                    if shape.contains(place.point()) {
                        hits.push(postings);
                    }
                }
            }
        }
        work.set(left);
        // Coordinates that are not on the globe may still pass the shape's comparisons.
        let open = &postings::union(open.into_iter()) | self.uncovered();
        Bounds::new(postings::union(hits.into_iter()), open)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FieldKind, FieldSchema};
    use super::*;
    use crate::payload::JsonPath;
    use crate::types::PointOffset;
    use proptest::prelude::*;

    fn index(places: &[Vec<GeoPoint>]) -> FieldIndex {
        let mut index = FieldIndex::new(JsonPath::parse("k").unwrap(), FieldSchema::new(FieldKind::Geo));
        for (offset, places) in places.iter().enumerate() {
            let list: Vec<String> =
                places.iter().map(|at| format!("{{\"lon\":{:?},\"lat\":{:?}}}", at.lon, at.lat)).collect();
            index.insert(
                PointOffset::new(offset as u32),
                format!("{{\"k\":[{}]}}", list.join(",")).as_bytes(),
            );
        }
        index
    }

    fn coordinate(most: f64) -> impl Strategy<Value = f64> + Clone {
        prop_oneof![
            4 => -most..=most,
            2 => (-8i32..=8).prop_map(move |step| f64::from(step) / 8.0 * most),
            1 => prop::sample::select(vec![most, -most, 0.0, -0.0, most.next_down(), -most.next_down(), 5e-324, -1e-310, 1e-12]),
        ]
    }

    fn anywhere() -> impl Strategy<Value = GeoPoint> + Clone {
        (coordinate(180.0), coordinate(90.0)).prop_map(|(lon, lat)| GeoPoint { lon, lat })
    }

    /// Places near `centre`, as far away as `size` degrees.
    fn near(centre: GeoPoint, size: f64) -> impl Strategy<Value = GeoPoint> + Clone {
        (-1.0..=1.0, -1.0..=1.0).prop_map(move |(x, y): (f64, f64)| GeoPoint {
            lon: (centre.lon + size * x).clamp(-180.0, 180.0),
            lat: (centre.lat + size * y).clamp(-90.0, 90.0),
        })
    }

    fn ring(place: impl Strategy<Value = GeoPoint>) -> impl Strategy<Value = Vec<GeoPoint>> {
        prop::collection::vec(place, 3..9).prop_map(|mut ring| {
            ring.push(ring[0]);
            ring
        })
    }

    fn shape(
        place: impl Strategy<Value = GeoPoint> + Clone + 'static,
        size: f64,
    ) -> impl Strategy<Value = GeoShape> {
        let metres = prop_oneof![
            0.0..size * 111_195.0,
            0.0..2.1e7,
            prop::sample::select(vec![-1.0, 0.0, 1e300, 20_015_115.0])
        ];
        prop_oneof![
            (place.clone(), place.clone())
                .prop_map(|(top_left, bottom_right)| GeoShape::Box { top_left, bottom_right }),
            (place.clone(), metres).prop_map(|(center, radius_m)| GeoShape::Radius { center, radius_m }),
            (ring(place.clone()), prop::collection::vec(ring(place), 0..3))
                .prop_map(|(exterior, interiors)| GeoShape::Polygon { exterior, interiors }),
        ]
    }

    /// Points with a few places each, and shapes, which may have corners in common with the places.
    fn scene() -> impl Strategy<Value = (Vec<Vec<GeoPoint>>, Vec<GeoShape>)> {
        let size = prop::sample::select(vec![200.0, 30.0, 1.0, 1e-3, 1e-7, 1e-12]);
        (anywhere(), size).prop_flat_map(|(centre, size)| {
            let place = prop_oneof![3 => near(centre, size).boxed(), 1 => anywhere().boxed()];
            let points = prop::collection::vec(prop::collection::vec(place, 0..4), 1..60);
            (Just(size), points).prop_flat_map(move |(size, points)| {
                let all: Vec<GeoPoint> = points.iter().flatten().copied().chain([centre]).collect();
                let place = prop_oneof![
                    2 => near(centre, size).boxed(),
                    1 => anywhere().boxed(),
                    1 => prop::sample::select(all).boxed(),
                ];
                (Just(points), prop::collection::vec(shape(place.boxed(), size), 4..10))
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]
        #[test]
        fn the_index_finds_what_the_shape_contains_c7((points, shapes) in scene()) {
            let index = index(&points);
            for shape in shapes {
                let expected: Vec<u32> = (0..points.len() as u32)
                    .filter(|&at| points[at as usize].iter().any(|place| shape.contains(*place)))
                    .collect();
                let bounds = index.places_within(&shape, &Cell::new(1 << 22));
                prop_assert!(bounds.is_exact());
                prop_assert_eq!(bounds.certain().numbers(), expected, "{:?}", shape);
            }
        }
    }

    #[test]
    fn large_sets_are_found_through_cells_that_are_inside_c7() {
        let places: Vec<Vec<GeoPoint>> = (0..20_000u32)
            .map(|n| {
                let (x, y) =
                    (f64::from(n.wrapping_mul(2_654_435_761)), f64::from(n.wrapping_mul(48_271) << 16));
                let most = f64::from(u32::MAX);
                vec![GeoPoint { lon: x / most * 360.0 - 180.0, lat: y / most * 180.0 - 90.0 }]
            })
            .collect();
        let index = index(&places);
        let at = |lon, lat| GeoPoint { lon, lat };
        let star: Vec<GeoPoint> = (0..=10)
            .map(|n| {
                let (angle, far) = (f64::from(n % 10) * 0.628_318_53, if n % 2 == 0 { 80.0 } else { 30.0 });
                at(angle.cos() * far, angle.sin() * far)
            })
            .collect();
        let hole = vec![at(-5.0, -5.0), at(5.0, -5.0), at(0.0, 10.0), at(-5.0, -5.0)];
        for shape in [
            GeoShape::Radius { center: at(179.0, 10.0), radius_m: 3_000_000.0 },
            GeoShape::Radius { center: at(10.0, 89.0), radius_m: 2_500_000.0 },
            GeoShape::Radius { center: at(-50.0, -90.0), radius_m: 15_000_000.0 },
            GeoShape::Box { top_left: at(170.0, 60.0), bottom_right: at(-150.0, -60.0) },
            GeoShape::Polygon { exterior: star.clone(), interiors: vec![hole] },
            // So many edges that places are left open.
            GeoShape::Polygon { exterior: star.repeat(501), interiors: vec![] },
        ] {
            let bounds = index.places_within(&shape, &Cell::new(1 << 22));
            let expected = |at: &u32| shape.contains(places[*at as usize][0]);
            assert!(bounds.certain().iter().all(|at| expected(&at.get())));
            let possible = bounds.possible();
            assert!(
                (0..places.len() as u32).filter(expected).all(|at| possible.contains(PointOffset::new(at))),
                "{shape:?}"
            );
            assert!(bounds.is_exact() || shape.cost() > 1_000);
            assert!(bounds.certain().len() > 100, "{} for {} edges", bounds.certain().len(), shape.cost());
            // With next to nothing to do it with, everything is left open.
            let idle = index.places_within(&shape, &Cell::new(15));
            assert_eq!((idle.certain().len(), idle.doubtful().len()), (0, 20_000));
        }
    }

    #[test]
    fn other_values_stay_in_doubt_c7() {
        let mut index = index(&[vec![GeoPoint { lon: 1.0, lat: 1.0 }]]);
        for (offset, value) in
            [r#"{"lon":500,"lat":0}"#, r#"{"lon":"1","lat":1}"#, "null", "[]", r#""1,1""#].iter().enumerate()
        {
            index.insert(PointOffset::new(offset as u32 + 1), format!("{{\"k\":{value}}}").as_bytes());
        }
        let across = GeoShape::Box {
            top_left: GeoPoint { lon: 170.0, lat: 10.0 },
            bottom_right: GeoPoint { lon: -170.0, lat: -10.0 },
        };
        // 500 is east of 170, as the evaluation of the payload says.
        let bounds = index.places_within(&across, &Cell::new(1 << 22));
        assert_eq!(bounds.certain().len(), 0);
        assert_eq!(bounds.doubtful().numbers(), [1, 2, 5]);
        assert_eq!(index.points_count(), 1);
    }
}
