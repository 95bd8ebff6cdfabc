//! Whether all, none or some of the places of a rectangle are in a shape.

use super::{EARTH_RADIUS_M, GeoPoint, GeoShape};

/// A rectangle of longitudes and latitudes, in degrees of the globe, borders included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rect {
    pub west: f64,
    pub east: f64,
    pub south: f64,
    pub north: f64,
}

/// How the places of a rectangle relate to a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// All are outside.
    Outside,
    /// All are inside.
    Inside,
    /// Unknown: each place has to be tested.
    Border,
}

/// A bound on the rounding error of distances in [`GeoShape::contains`], in metres. The arcsine loses half of the digits for
/// places on opposite sides of the earth, an error of a tenth of a metre. The bound is ten times that.
const DISTANCE_ERROR_M: f64 = 1.0;

/// Differences of latitudes below this make the products of [`super::side`] imprecise or zero.
const LEAST_DIFFERENCE: f64 = 1e-200;

impl Relation {
    fn of(all: bool, none: bool) -> Relation {
        match (all, none) {
            (_, true) => Relation::Outside,
            (true, false) => Relation::Inside,
            (false, false) => Relation::Border,
        }
    }
}

impl GeoShape {
    /// The relation of a rectangle to the shape. It never contradicts [`GeoShape::contains`] for a place in the rectangle,
    /// rounding included: in doubt it is [`Relation::Border`].
    pub(super) fn relation(&self, rect: &Rect) -> Relation {
        match self {
            GeoShape::Box { top_left, bottom_right } => {
                let (west, east) = (top_left.lon, bottom_right.lon);
                let (all_lon, no_lon) = if west > east {
                    (rect.west > west || rect.east < east, rect.east <= west && rect.west >= east)
                } else {
                    (rect.west > west && rect.east < east, rect.east <= west || rect.west >= east)
                };
                let all_lat = rect.north < top_left.lat && rect.south > bottom_right.lat;
                let no_lat = rect.south >= top_left.lat || rect.north <= bottom_right.lat;
                Relation::of(all_lon && all_lat, no_lon || no_lat)
            }
            GeoShape::Radius { center, radius_m } => {
                let nearest = least_distance_m(*center, rect);
                // The farthest place from the centre is the nearest one to its antipode.
                let opposite = GeoPoint {
                    lon: if center.lon > 0.0 { center.lon - 180.0 } else { center.lon + 180.0 },
                    lat: -center.lat,
                };
                let farthest = std::f64::consts::PI * EARTH_RADIUS_M - least_distance_m(opposite, rect);
                Relation::of(farthest + DISTANCE_ERROR_M < *radius_m, nearest - DISTANCE_ERROR_M >= *radius_m)
            }
            GeoShape::Polygon { exterior, interiors } => {
                let mut rings = std::iter::once(exterior).chain(interiors);
                if rings.any(|ring| ring.windows(2).any(|edge| touches(edge[0], edge[1], rect))) {
                    return Relation::Border;
                }
                let centre = GeoPoint {
                    lon: f64::midpoint(rect.west, rect.east),
                    lat: f64::midpoint(rect.south, rect.north),
                };
                let inside = self.contains(centre);
                Relation::of(inside, !inside)
            }
        }
    }
}

/// The distance on the sphere from a place to the nearest one of a rectangle.
fn least_distance_m(from: GeoPoint, rect: &Rect) -> f64 {
    if rect.west <= from.lon && from.lon <= rect.east {
        let lat = from.lat.clamp(rect.south, rect.north);
        return from.distance_m(GeoPoint { lon: from.lon, lat });
    }
    // On each parallel the distance grows with the angle between the meridians.
    let apart = |lon: f64| {
        let degrees = (lon - from.lon).abs();
        degrees.min(360.0 - degrees)
    };
    let lon = if apart(rect.west) <= apart(rect.east) { rect.west } else { rect.east };
    // Along a meridian the cosine of the distance is a sine wave of the latitude. This is its maximum.
    let (sin, cos) = from.lat.to_radians().sin_cos();
    let crest = sin.atan2(cos * apart(lon).to_radians().cos()).to_degrees();
    [rect.south, rect.north, crest.clamp(rect.south, rect.north)]
        .into_iter()
        .map(|lat| from.distance_m(GeoPoint { lon, lat }))
        .fold(f64::INFINITY, f64::min)
}

/// Whether an edge of a polygon may have a place in common with a rectangle.
fn touches(a: GeoPoint, b: GeoPoint, rect: &Rect) -> bool {
    if a.lat.max(b.lat) < rect.south || a.lat.min(b.lat) > rect.north {
        return false;
    }
    let rise = b.lat - a.lat;
    if rise != 0.0 && rise.abs() < LEAST_DIFFERENCE {
        // The result of [`GeoShape::contains`] for places on such an edge's latitude depends on rounding.
        return true;
    }
    if a.lon.max(b.lon) < rect.west || a.lon.min(b.lon) > rect.east {
        return false;
    }
    let cross = |lon: f64, lat: f64| (b.lon - a.lon) * (lat - a.lat) - rise * (lon - a.lon);
    let corners = [
        cross(rect.west, rect.south),
        cross(rect.west, rect.north),
        cross(rect.east, rect.south),
        cross(rect.east, rect.north),
    ];
    !(corners.iter().all(|&side| side > 0.0) || corners.iter().all(|&side| side < 0.0))
}
