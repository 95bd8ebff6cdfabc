//! The geo conditions of the naive implementation: distances by chords, polygons by winding numbers.

use super::oracle::number;
use serde_json::Value;

fn place(value: &Value) -> Option<(f64, f64)> {
    let object = value.as_object()?;
    let degrees = |key: &str| object.get(key).filter(|value| value.is_number()).map(number);
    Some((degrees("lon")?, degrees("lat")?))
}

pub(super) fn in_radius(clause: &Value, value: &Value) -> bool {
    let on_sphere = |(lon, lat): (f64, f64)| {
        let (lon, lat) = (lon.to_radians(), lat.to_radians());
        [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
    };
    let Some(here) = place(value) else { return false };
    let (a, b) = (on_sphere(place(&clause["center"]).unwrap()), on_sphere(here));
    let chord = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    2.0 * (chord / 2.0).min(1.0).asin() * 6_371_008.8 < number(&clause["radius"])
}

pub(super) fn in_box(clause: &Value, value: &Value) -> bool {
    let Some((lon, lat)) = place(value) else { return false };
    let (west, north) = place(&clause["top_left"]).unwrap();
    let (east, south) = place(&clause["bottom_right"]).unwrap();
    let between = if west > east { lon > west || lon < east } else { lon > west && lon < east };
    between && lat < north && lat > south
}

/// Inside the exterior and outside every hole, borders belonging to neither.
pub(super) fn in_polygon(clause: &Value, value: &Value) -> bool {
    let Some(here) = place(value) else { return false };
    let holes = clause["interiors"].as_array().into_iter().flatten();
    matches!(windings(&clause["exterior"], here), Some(turns) if turns != 0)
        && holes.into_iter().all(|hole| windings(hole, here) == Some(0))
}

/// How often a ring runs around a place, to the left counted positive; `None` when the place is on the ring.
fn windings(ring: &Value, (lon, lat): (f64, f64)) -> Option<i32> {
    let corners: Vec<(f64, f64)> =
        ring["points"].as_array().unwrap().iter().map(|one| place(one).unwrap()).collect();
    let mut turns = 0;
    for edge in corners.windows(2) {
        let ((x1, y1), (x2, y2)) = (edge[0], edge[1]);
        // Above zero when the place is left of the edge. Coordinates are halves, so this is exact.
        let left = (x2 - x1) * (lat - y1) - (lon - x1) * (y2 - y1);
        let along = (lon - x1) * (lon - x2) <= 0.0 && (lat - y1) * (lat - y2) <= 0.0;
        if left == 0.0 && along {
            return None;
        }
        if y1 <= lat && lat < y2 && left > 0.0 {
            turns += 1;
        }
        if y2 <= lat && lat < y1 && left < 0.0 {
            turns -= 1;
        }
    }
    Some(turns)
}
