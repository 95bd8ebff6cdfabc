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

/// What is known of the places of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// None is in the shape.
    Outside,
    /// All are in the shape.
    Inside,
    /// Each has to be looked at.
    Border,
}

/// What the distances of [`GeoShape::contains`] may be off by, in metres. The arcsine loses half of the digits for
/// places on opposite sides of the earth, which is a tenth of a metre; rectangles are judged with ten times that.
const DISTANCE_ERROR_M: f64 = 1.0;

/// Difference of latitudes below which the products of [`super::side`] lose their digits or vanish.
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
    /// What the shape has of a rectangle. It is told so that [`GeoShape::contains`] never says otherwise of a place
    /// in the rectangle, rounding included: whatever is closer than that is a border.
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
                // The farthest place is the nearest one to the other side of the earth.
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

/// Distance on the sphere to the nearest place of a rectangle.
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
    // Along a meridian the cosine of the distance is a sine wave of the latitude; this is its crest.
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
        // What such an edge decides about places on its latitude, however far, is left to [`GeoShape::contains`].
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
