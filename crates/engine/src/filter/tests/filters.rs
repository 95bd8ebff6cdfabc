//! Random filters: every condition of C7, in every group, nested.

use super::documents::{NUMBERS, UUIDS, alike, parsed, path, place, text};
use super::oracle::DATETIMES;
use proptest::prelude::*;
use serde_json::{Value, json};

fn integer() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["0", "1", "-1", "9007199254740993", "9223372036854775807"]).prop_map(parsed)
}

fn bounds(value: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(vec!["gt", "gte", "lt", "lte"]), value, 0..3)
        .prop_map(|bounds| json!(bounds))
}

fn number_bounds() -> impl Strategy<Value = Value> {
    bounds(prop::sample::select(&NUMBERS[..]).prop_map(parsed))
}

fn instant_bounds() -> impl Strategy<Value = Value> {
    bounds(prop::sample::select(&DATETIMES[..]).prop_map(|(text, _)| json!(text)))
}

fn words() -> impl Strategy<Value = Value> {
    let kinds = prop::sample::select(vec!["text", "text_any", "phrase"]);
    let queries = vec![
        "FOX red",
        "Red",
        "red red",
        "",
        "é 1",
        "äpfel STRASSE",
        "straße",
        "東京",
        "σασ Red",
        "σας",
        "-- !",
    ];
    (kinds, prop::sample::select(queries)).prop_map(|(kind, text)| json!({kind: text}))
}

/// A closed ring through places, and rings of degenerate forms.
fn ring() -> impl Strategy<Value = Value> {
    let ring = |points: &[(i32, i32)]| json!({"points": points.iter().map(|(lon, lat)| json!({"lon": lon, "lat": lat})).collect::<Vec<_>>()});
    prop::sample::select(vec![
        ring(&[(-2, -2), (2, -2), (2, 2), (-2, 2), (-2, -2)]),
        ring(&[(-1, -1), (-1, 1), (1, 1), (1, -1), (-1, -1)]),
        ring(&[(0, 0), (3, 0), (0, 3), (0, 0)]),
        // An L, whose inner corner is no vertex of its hull.
        ring(&[(-3, -3), (3, -3), (3, -1), (-1, -1), (-1, 3), (-3, 3), (-3, -3)]),
        // Two lobes that touch in the origin.
        ring(&[(-2, -2), (2, 2), (2, -2), (-2, 2), (-2, -2)]),
        ring(&[(-3, 0), (3, 0), (1, 0), (-3, 0)]),
        ring(&[(1, 1), (1, 1), (1, 1), (1, 1)]),
        ring(&[(-180, -90), (180, -90), (180, 90), (-180, 90), (-180, -90)]),
    ])
}

fn geo() -> impl Strategy<Value = Value> {
    let radius =
        prop::sample::select(vec![0, 1, 60_000, 112_000, 200_000, 5_000_000, 10_010_000, 21_000_000]);
    prop_oneof![
        (place(), radius)
            .prop_map(|(center, radius)| json!({"geo_radius": {"center": center, "radius": radius}})),
        (place(), place()).prop_map(|(top_left, bottom_right)| {
            json!({"geo_bounding_box": {"top_left": top_left, "bottom_right": bottom_right}})
        }),
        (ring(), prop::option::of(prop::collection::vec(ring(), 0..3))).prop_map(|(exterior, interiors)| {
            json!({"geo_polygon": {"exterior": exterior, "interiors": interiors}})
        }),
    ]
}

fn clause() -> impl Strategy<Value = Value> {
    let matching = prop_oneof![
        prop_oneof![text(), integer(), any::<bool>().prop_map(Value::Bool)]
            .prop_map(|value| json!({"value": value})),
        prop::collection::vec(text(), 0..4).prop_map(|list| json!({"any": list})),
        prop::collection::vec(integer(), 0..4).prop_map(|list| json!({"any": list})),
        prop::collection::vec(text(), 0..4).prop_map(|list| json!({"except": list})),
        prop::collection::vec(integer(), 0..4).prop_map(|list| json!({"except": list})),
        prop::sample::select(vec!["", "r", "red", "2024-01", "550e", "ré\"d", "東"])
            .prop_map(|text| json!({"prefix": text})),
        prop::sample::select(vec!["", "e", "ed", "24-0", "0e84", "é\"", "東", "n"])
            .prop_map(|text| json!({"substring": text})),
        words(),
    ];
    prop_oneof![
        6 => matching.prop_map(|clause| json!({"match": clause})),
        2 => number_bounds().prop_map(|range| json!({"range": range})),
        1 => instant_bounds().prop_map(|range| json!({"range": range})),
        1 => bounds((0u64..4).prop_map(|n| json!(n))).prop_map(|count| json!({"values_count": count})),
        1 => any::<bool>().prop_map(|wanted| json!({"is_empty": wanted})),
        1 => any::<bool>().prop_map(|wanted| json!({"is_null": wanted})),
        2 => geo(),
    ]
}

/// A clause that often holds for [`alike`] values.
pub(super) fn alike_clause() -> impl Strategy<Value = Value> {
    let of = |kind: fn(&Value) -> bool| alike().prop_filter("of the kind", kind).boxed();
    let (text, whole) = (of(Value::is_string), of(Value::is_i64));
    let list = prop_oneof![
        prop::collection::vec(text.clone(), 0..4).prop_map(Value::Array),
        prop::collection::vec(whole.clone(), 0..3).prop_map(Value::Array),
    ]
    .boxed();
    prop_oneof![
        prop_oneof![text, whole, any::<bool>().prop_map(Value::Bool)]
            .prop_map(|value| json!({"match": {"value": value}})),
        list.clone().prop_map(|list| json!({"match": {"any": list}})),
        list.prop_map(|list| json!({"match": {"except": list}})),
        prop::sample::select(vec!["", "r", "55", "2024"]).prop_map(|text| json!({"match": {"prefix": text}})),
        prop::sample::select(vec!["", "e", "50e", "-01"])
            .prop_map(|text| json!({"match": {"substring": text}})),
        words().prop_map(|words| json!({"match": words})),
        bounds(of(Value::is_number)).prop_map(|range| json!({"range": range})),
        instant_bounds().prop_map(|range| json!({"range": range})),
        bounds((0u64..3).prop_map(|n| json!(n))).prop_map(|count| json!({"values_count": count})),
        any::<bool>().prop_map(|wanted| json!({"is_empty": wanted})),
        any::<bool>().prop_map(|wanted| json!({"is_null": wanted})),
        geo(),
    ]
}

fn ids() -> impl Strategy<Value = Value> {
    let id = prop_oneof![
        2 => (0u64..12).prop_map(|id| json!(id)),
        2 => (0u128..12).prop_map(|id| json!(format!("00000000-0000-0000-0000-{id:012X}"))),
        1 => prop::sample::select(&UUIDS[..]).prop_map(|id| json!(id)),
    ];
    prop::collection::vec(id, 0..4).prop_map(|ids| json!({"has_id": ids}))
}

fn condition() -> impl Strategy<Value = Value> {
    let field = (path(), prop::collection::vec(clause(), 1..3)).prop_map(|(path, clauses)| {
        let mut fields = serde_json::Map::new();
        fields.insert("key".into(), json!(path));
        for clause in clauses {
            fields.extend(clause.as_object().unwrap().clone());
        }
        Value::Object(fields)
    });
    let leaf = prop_oneof![
        8 => field,
        1 => path().prop_map(|path| json!({"is_empty": {"key": path}})),
        1 => path().prop_map(|path| json!({"is_null": {"key": path}})),
        1 => ids(),
        1 => prop::sample::select(vec!["", "image", "none"]).prop_map(|name| json!({"has_vector": name})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let keys = vec!["a", "a[]", "b", "a[].b", "\"x.y\"", "größe[]"];
        let nested = (prop::sample::select(keys), any_filter(inner.clone()))
            .prop_map(|(key, filter)| json!({"nested": {"key": key, "filter": filter}}));
        prop_oneof![2 => any_filter(inner), 1 => nested]
    })
}

fn any_filter(conditions: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let list = || prop::collection::vec(conditions.clone(), 0..3);
    (list(), list(), list(), prop::option::of((list(), 1u64..4))).prop_map(
        |(must, should, must_not, at_least)| {
            let mut filter = json!({});
            for (group, list) in [("must", must), ("should", should), ("must_not", must_not)] {
                if !list.is_empty() {
                    filter[group] = Value::Array(list);
                }
            }
            if let Some((conditions, min_count)) = at_least {
                filter["min_should"] = json!({"conditions": conditions, "min_count": min_count});
            }
            filter
        },
    )
}

/// Mostly one condition alone, whose bounds no other condition can hide.
pub(super) fn filter() -> impl Strategy<Value = Value> {
    let groups = prop::sample::select(vec!["must", "should", "must_not"]);
    let nested = (prop::sample::select(vec!["a", "b"]), any_filter(condition().boxed()))
        .prop_map(|(key, filter)| json!({"must": {"nested": {"key": key, "filter": filter}}}));
    prop_oneof![
        6 => (groups, condition()).prop_map(|(group, condition)| json!({group: condition})),
        1 => nested,
        3 => any_filter(condition().boxed()),
    ]
}
