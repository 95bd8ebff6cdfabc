//! Random payloads of a few similar values, so that filters often match.

use super::oracle::DATETIMES;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Keys of objects; the first are the most frequent.
const KEYS: [&str; 5] = ["a", "b", "c", "x.y", "größe"];

/// Paths, some more often than others.
const PATHS: [(u32, &str); 14] = [
    (10, "a"),
    (4, "b"),
    (6, "a[].b"),
    (2, "a.b"),
    (2, "a[]"),
    (2, "a[].b[]"),
    (2, "a[].b[].a"),
    (2, "a[0]"),
    (2, "b[1].a"),
    (1, "\"x.y\""),
    (1, "\"x.y\"[].größe"),
    (1, "größe"),
    (1, "\"größe\".a"),
    (1, "c.c.c"),
];

pub(super) const UUIDS: [&str; 3] = [
    "550e8400-e29b-41d4-a716-446655440000",
    "550E8400E29B41D4A716446655440000",
    "urn:uuid:00000000-0000-0000-0000-000000000001",
];
const TEXTS: [&str; 9] = [
    "",
    "red",
    "fox, Red",
    "ré\"d\n",
    "Red ΣΑΣ red fox",
    "ÄPFEL & straße",
    "東京 42 İstanbul",
    "a\u{301}b \\ 🦀",
    "red\tfox red",
];
pub(super) const NUMBERS: [&str; 11] = [
    "0",
    "-0.0",
    "1",
    "1.0",
    "1e0",
    "-2.5",
    "9007199254740993",
    "9007199254740992.0",
    "9223372036854775807",
    "18446744073709551615",
    "-1e300",
];

pub(super) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

pub(super) fn path() -> impl Strategy<Value = &'static str> {
    prop::strategy::Union::new_weighted(PATHS.iter().map(|(weight, path)| (*weight, Just(*path))).collect())
}

pub(super) fn text() -> impl Strategy<Value = Value> {
    let all: Vec<&str> =
        TEXTS.iter().chain(&UUIDS).copied().chain(DATETIMES.iter().map(|(text, _)| *text)).collect();
    prop::sample::select(all).prop_map(|text| json!(text))
}

/// Places around the origin, at the antimeridian and at the poles.
pub(super) fn place() -> impl Strategy<Value = Value> {
    let lon =
        prop::sample::select(vec![-180.0, -179.0, -3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 179.0, 180.0]);
    let lat = prop::sample::select(vec![-90.0, -3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 90.0]);
    (lon, lat).prop_map(|(lon, lat)| json!({"lon": lon, "lat": lat}))
}

/// Objects that are almost places.
fn misplaced() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"lon": 1}),
        json!({"lon": "1", "lat": 1}),
        json!({"lat": 1, "name": "x", "lon": 1}),
        json!({"lon": 1, "lat": null}),
        json!({"lon": [1], "lat": 1}),
        json!({"lon": 181, "lat": 1}),
        json!({"lon": 1, "lat": -91.5}),
    ])
}

pub(super) fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(Value::Null),
        3 => any::<bool>().prop_map(Value::Bool),
        9 => prop::sample::select(&NUMBERS[..]).prop_map(parsed),
        12 => text(),
        4 => place(),
        1 => misplaced(),
    ]
}

/// A value of a payload: scalars, lists, lists of objects, and what nests deeper.
pub(super) fn any_value() -> impl Strategy<Value = Value> {
    let list = prop::collection::vec(scalar(), 0..4).prop_map(Value::Array);
    let objects =
        prop::collection::vec(prop_oneof![6 => object(scalar()), 1 => scalar()], 0..3).prop_map(Value::Array);
    let deep = scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array), object(inner)]
    });
    prop_oneof![3 => scalar(), 2 => list, 3 => objects, 1 => deep]
}

pub(super) fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let [first, second, others @ ..] = KEYS;
    let key = prop_oneof![3 => Just(first), 2 => Just(second), 2 => prop::sample::select(others.to_vec())];
    prop::collection::btree_map(key, inner, 0..4).prop_map(|fields| json!(fields))
}

/// A few values that are similar in every way that conditions distinguish, so that they are often equal.
pub(super) fn alike() -> BoxedStrategy<Value> {
    prop::sample::select(vec![
        "0",
        "-0.0",
        "1",
        "1.0",
        "\"red\"",
        "\"1\"",
        "true",
        "null",
        "{}",
        "[1]",
        "{\"lon\":1,\"lat\":1}",
        "{\"lon\":-1,\"lat\":1}",
        "\"2024-01-01\"",
        "\"2024-01-01T00:00:00Z\"",
        "\"550e8400-e29b-41d4-a716-446655440000\"",
        "\"550E8400E29B41D4A716446655440000\"",
    ])
    .prop_map(parsed)
    .boxed()
}

pub(super) fn one_or_some() -> impl Strategy<Value = Value> {
    prop_oneof![alike(), prop::collection::vec(alike(), 0..4).prop_map(Value::Array)]
}
