//! Shapes on the globe, and whether a place is inside of one.

mod cells;
mod relation;

pub use cells::{CellRange, cell_number, cover};

use super::document::{Object, Value};

/// Radius of the earth in metres, for distances on a sphere.
const EARTH_RADIUS_M: f64 = 6_371_008.8;

/// The cost of computing a distance, in edges of a polygon.
const DISTANCE_COST: usize = 16;

/// A place, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeoPoint {
    /// Longitude.
    pub lon: f64,
    /// Latitude.
    pub lat: f64,
}

impl GeoPoint {
    /// The place of an object with numeric `lon` and `lat`; `None` for another object.
    pub fn of(object: Object<'_>) -> Option<GeoPoint> {
        let number = |key| object.get(key).and_then(|value: Value<'_>| value.as_f64());
        Some(GeoPoint { lon: number("lon")?, lat: number("lat")? })
    }

    /// Whether the longitude is in −180..=180 and the latitude in −90..=90.
    pub fn is_on_globe(self) -> bool {
        self.lon.abs() <= 180.0 && self.lat.abs() <= 90.0
    }

    /// Distance on the sphere in metres, by the haversine formula.
    pub fn distance_m(self, other: GeoPoint) -> f64 {
        let half_lat = ((other.lat - self.lat).to_radians() / 2.0).sin();
        let half_lon = ((other.lon - self.lon).to_radians() / 2.0).sin();
        let squared = half_lat * half_lat
            + self.lat.to_radians().cos() * other.lat.to_radians().cos() * half_lon * half_lon;
        2.0 * EARTH_RADIUS_M * squared.sqrt().min(1.0).asin()
    }
}

/// The shape of a geo condition. Its border is outside.
#[derive(Clone, Debug, PartialEq)]
pub enum GeoShape {
    /// Between two corners. A box whose west edge is east of its east edge crosses the antimeridian.
    Box {
        /// North-west corner.
        top_left: GeoPoint,
        /// South-east corner.
        bottom_right: GeoPoint,
    },
    /// Nearer than `radius_m` metres.
    Radius {
        /// The centre.
        center: GeoPoint,
        /// In metres.
        radius_m: f64,
    },
    /// Inside a closed ring and outside its holes, on the plane of longitude and latitude.
    Polygon {
        /// At least four places, the last equal to the first.
        exterior: Vec<GeoPoint>,
        /// Rings of the same form.
        interiors: Vec<Vec<GeoPoint>>,
    },
}

impl GeoShape {
    /// The cost of [`GeoShape::contains`], in edges of a polygon.
    pub fn cost(&self) -> usize {
        match self {
            GeoShape::Box { .. } => 1,
            GeoShape::Radius { .. } => DISTANCE_COST,
            GeoShape::Polygon { exterior, interiors } => {
                exterior.len() + interiors.iter().map(Vec::len).sum::<usize>()
            }
        }
    }

    /// Whether a place is inside.
    pub fn contains(&self, place: GeoPoint) -> bool {
        match self {
            GeoShape::Box { top_left, bottom_right } => {
                let (east_of, west_of) = (place.lon > top_left.lon, place.lon < bottom_right.lon);
                let crosses = top_left.lon > bottom_right.lon;
                let between = if crosses { east_of || west_of } else { east_of && west_of };
                between && place.lat < top_left.lat && place.lat > bottom_right.lat
            }
            GeoShape::Radius { center, radius_m } => center.distance_m(place) < *radius_m,
            GeoShape::Polygon { exterior, interiors } => {
                side(exterior, place) == Side::Inside
                    && interiors.iter().all(|hole| side(hole, place) == Side::Outside)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Inside,
    Border,
    Outside,
}

/// The side of a closed ring that a place is on, by ray casting: an odd number of edges east of the place means inside.
fn side(ring: &[GeoPoint], place: GeoPoint) -> Side {
    let mut inside = false;
    for edge in ring.windows(2) {
        let (a, b) = (edge[0], edge[1]);
        // Most edges are entirely north or south of the place.
        if (a.lat > place.lat && b.lat > place.lat) || (a.lat < place.lat && b.lat < place.lat) {
            continue;
        }
        let cross = (b.lon - a.lon) * (place.lat - a.lat) - (b.lat - a.lat) * (place.lon - a.lon);
        let is_beside = place.lon < a.lon.min(b.lon) || place.lon > a.lon.max(b.lon);
        if cross == 0.0 && !is_beside {
            return Side::Border;
        }
        // The half-open comparison counts a vertex for only one of its two edges.
        if (a.lat > place.lat) != (b.lat > place.lat) && (cross > 0.0) == (b.lat > a.lat) {
            inside = !inside;
        }
    }
    if inside { Side::Inside } else { Side::Outside }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lon: f64, lat: f64) -> GeoPoint {
        GeoPoint { lon, lat }
    }

    #[test]
    fn a_box_is_open_and_may_cross_the_antimeridian_c7() {
        let shape = GeoShape::Box { top_left: at(10.0, 55.0), bottom_right: at(15.0, 50.0) };
        assert!(shape.contains(at(13.4, 52.5)));
        for outside in
            [at(10.0, 52.0), at(15.0, 52.0), at(12.0, 55.0), at(12.0, 50.0), at(9.0, 52.0), at(12.0, 56.0)]
        {
            assert!(!shape.contains(outside), "{outside:?}");
        }
        let across = GeoShape::Box { top_left: at(170.0, 10.0), bottom_right: at(-170.0, -10.0) };
        assert!(
            across.contains(at(175.0, 0.0))
                && across.contains(at(-175.0, 0.0))
                && !across.contains(at(0.0, 0.0))
        );
    }

    #[test]
    fn a_radius_is_measured_on_the_sphere_c7() {
        // Berlin to Munich: some 504 km.
        let shape = |radius_m| GeoShape::Radius { center: at(13.4050, 52.5200), radius_m };
        assert!(shape(505_000.0).contains(at(11.5820, 48.1351)));
        assert!(!shape(503_000.0).contains(at(11.5820, 48.1351)));
        assert!(!shape(0.0).contains(at(13.4050, 52.5200)));
        // One degree of the equator, across the antimeridian.
        let equator = GeoShape::Radius { center: at(179.5, 0.0), radius_m: 111_196.0 };
        assert!(equator.contains(at(-179.5, 0.0)));
    }

    #[test]
    fn a_polygon_excludes_its_border_and_its_holes_c7() {
        let ring = |low: f64, high: f64| {
            vec![at(low, low), at(high, low), at(high, high), at(low, high), at(low, low)]
        };
        let shape = GeoShape::Polygon { exterior: ring(0.0, 10.0), interiors: vec![ring(4.0, 6.0)] };
        assert!(shape.contains(at(1.0, 1.0)) && shape.contains(at(5.0, 2.0)) && shape.contains(at(2.0, 5.0)));
        for outside in [
            at(5.0, 5.0),
            at(4.0, 5.0),
            at(0.0, 5.0),
            at(10.0, 10.0),
            at(11.0, 5.0),
            at(-1.0, 0.0),
            at(5.0, 10.0),
        ] {
            assert!(!shape.contains(outside), "{outside:?}");
        }
        let reversed: Vec<_> = ring(0.0, 10.0).into_iter().rev().collect();
        assert!(GeoShape::Polygon { exterior: reversed, interiors: vec![] }.contains(at(5.0, 5.0)));
    }
}
