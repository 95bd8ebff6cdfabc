//! Request bodies with vectors, written by hand: programs spend their time in the engine, not in a JSON library.

use crate::model::{MULTI, Point, ROW, SPARSE, shown};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Vectors of a point by field.
pub type Vectors = BTreeMap<&'static str, Arc<[f32]>>;

/// The body of an upsert.
pub fn upsert(points: &[(u64, Arc<Point>)]) -> String {
    upsert_if(points, &|_| None)
}

/// The same of points that must have versions.
pub fn upsert_if(points: &[(u64, Arc<Point>)], version: &dyn Fn(u64) -> Option<u64>) -> String {
    list(points, |out, (id, point)| put_point(out, *id, &point.vectors, Some(&point.payload), version(*id)))
}

/// A point as it stands in a body.
pub fn point(id: u64, point: &Point) -> String {
    let mut out = String::new();
    put_point(&mut out, id, &point.vectors, Some(&point.payload), None);
    out
}

/// The body of an update of vectors.
pub fn update_vectors(points: &[(u64, Vectors)]) -> String {
    update_vectors_if(points, &|_| None)
}

/// The same of points that must have versions.
pub fn update_vectors_if(points: &[(u64, Vectors)], version: &dyn Fn(u64) -> Option<u64>) -> String {
    list(points, |out, (id, vectors)| put_point(out, *id, vectors, None, version(*id)))
}

/// The body of a search for what is near a vector of a field.
pub fn search(field: &str, vector: &[f32], limit: usize, exact: bool) -> (&'static str, String) {
    let (mut shown, mut body) = (String::new(), String::new());
    put_vector(&mut shown, field, vector);
    let end = format!("\"limit\":{limit},\"params\":{{\"exact\":{exact},\"hnsw_ef\":1000}}}}");
    let operation = match field {
        MULTI => {
            let _ = write!(body, "{{\"query\":{shown},\"using\":\"{field}\",{end}");
            "query"
        }
        "" => {
            let _ = write!(body, "{{\"vector\":{shown},{end}");
            "search"
        }
        _ => {
            let _ = write!(body, "{{\"vector\":{{\"name\":\"{field}\",\"vector\":{shown}}},{end}");
            "search"
        }
    };
    (operation, body)
}

fn list<T>(points: &[T], mut put: impl FnMut(&mut String, &T)) -> String {
    let mut out = String::from("{\"points\":[");
    for (at, point) in points.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        put(&mut out, point);
    }
    out.push_str("]}");
    out
}

fn put_point(
    out: &mut String,
    id: u64,
    vectors: &Vectors,
    payload: Option<&Map<String, Value>>,
    version: Option<u64>,
) {
    let _ = write!(out, "{{\"id\":{},\"vector\":", shown(id));
    match vectors.get("") {
        Some(unnamed) if vectors.len() == 1 => put_vector(out, "", unnamed),
        _ => {
            out.push('{');
            for (at, (name, vector)) in vectors.iter().enumerate() {
                let _ = write!(out, "{}\"{name}\":", if at > 0 { "," } else { "" });
                put_vector(out, name, vector);
            }
            out.push('}');
        }
    }
    if let Some(payload) = payload {
        out.push_str(",\"payload\":");
        out.push_str(&Value::Object(payload.clone()).to_string());
    }
    if let Some(version) = version {
        let _ = write!(out, ",\"if_version\":{version}");
    }
    out.push('}');
}

fn put_vector(out: &mut String, field: &str, vector: &[f32]) {
    match field {
        MULTI => {
            for (at, row) in vector.chunks(ROW).enumerate() {
                out.push_str(if at > 0 { "," } else { "[" });
                put_numbers(out, row.iter());
            }
            out.push(']');
        }
        SPARSE => {
            let indices: Vec<String> =
                (0..vector.len()).filter(|at| vector[*at] != 0.0).map(|at| at.to_string()).collect();
            let _ = write!(out, "{{\"indices\":[{}],\"values\":", indices.join(","));
            put_numbers(out, vector.iter().filter(|value| **value != 0.0));
            out.push('}');
        }
        _ => put_numbers(out, vector.iter()),
    }
}

fn put_numbers<'v>(out: &mut String, values: impl Iterator<Item = &'v f32>) {
    out.push('[');
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.push(',');
        }
        // Eighths between -2 and 2: a sign, a digit, a fraction.
        let eighths = (value * 8.0) as i32;
        if eighths < 0 {
            out.push('-');
        }
        let fractions = ["", ".125", ".25", ".375", ".5", ".625", ".75", ".875"];
        let eighths = eighths.unsigned_abs();
        out.push(char::from(b'0' + (eighths / 8) as u8));
        out.push_str(fractions[eighths as usize % 8]);
    }
    out.push(']');
}
