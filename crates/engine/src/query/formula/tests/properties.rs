//! Random formulas are worth what a naive evaluator says.

use super::oracle::{DATETIMES, Input, score};
use super::{ID, Point, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-3, 1e30, 1e300, -1e300]),
        2 => -100.0f64..100.0,
    ]
    .prop_map(|number| json!(number))
}

fn place() -> impl Strategy<Value = Value> {
    (-180i32..=180, -90i32..=90).prop_map(|(lon, lat)| json!({"lon": lon, "lat": lat}))
}

fn datetime() -> impl Strategy<Value = Value> {
    prop::sample::select(&DATETIMES[..]).prop_map(|(text, _)| json!(text))
}

/// Numbers more often than not, so that most formulas have a value.
fn stored() -> impl Strategy<Value = Value> {
    let one = || {
        prop_oneof![
            12 => number(),
            1 => Just(Value::Null),
            1 => Just(json!("red")),
            1 => Just(json!(true)),
            2 => place(),
            2 => datetime(),
        ]
    };
    prop_oneof![9 => one(), 1 => prop::collection::vec(one(), 0..3).prop_map(Value::Array)]
}

fn payload() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(&KEYS[..]), stored(), 0..=KEYS.len())
        .prop_map(|fields| json!(fields))
}

fn defaults() -> impl Strategy<Value = Value> {
    let filled = |value: &Value| !value.is_null();
    let values = prop::collection::btree_map(
        prop::sample::select(&KEYS[..]),
        stored().prop_filter("a null is no default", filled),
        0..=KEYS.len(),
    );
    let scores = prop::collection::btree_map(0usize..4, number(), 0..3);
    (values, scores).prop_map(|(values, scores)| {
        let mut all = json!(values);
        for (prefetch, score) in scores {
            all[format!("$score[{prefetch}]")] = score;
        }
        all
    })
}

fn key() -> impl Strategy<Value = Value> {
    prop::sample::select(&KEYS[..]).prop_map(|key| json!(key))
}

fn expression() -> impl Strategy<Value = Value> {
    let score = prop::sample::select(vec!["$score", "$score[0]", "$score[1]", "$score[2]", "$score[9]"]);
    let leaf = prop_oneof![
        4 => number(),
        4 => score.prop_map(|name| json!(name)),
        4 => key(),
        1 => prop::collection::vec(ID - 1..ID + 2, 0..3).prop_map(|ids| json!({"has_id": ids})),
        1 => key().prop_map(|key| json!({"key": key, "match": {"value": "red"}})),
        1 => datetime().prop_map(|text| json!({"datetime": text})),
        1 => key().prop_map(|key| json!({"datetime_key": key})),
        1 => (place(), key()).prop_map(|(origin, to)| json!({"geo_distance": {"origin": origin, "to": to}})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let lists = prop::sample::select(vec!["sum", "mult"]);
        let functions = prop::sample::select(vec!["neg", "abs", "sqrt", "exp", "ln", "log10"]);
        let curves = prop::sample::select(vec!["lin_decay", "exp_decay", "gauss_decay"]);
        // With powers of two it makes no difference which of the factors is divided by the scale.
        let scale = prop::option::of(prop::sample::select(vec![0.25, 1.0, 2.0, 1024.0]));
        let midpoint = prop::option::of(prop::sample::select(vec![0.1, 0.5, 0.75]));
        prop_oneof![
            4 => (lists, prop::collection::vec(inner.clone(), 0..4)).prop_map(|(list, terms)| json!({list: terms})),
            3 => (functions, inner.clone()).prop_map(|(function, x)| json!({function: x})),
            2 => (inner.clone(), inner.clone(), prop::option::of(number()))
                .prop_map(|(left, right, zero)| json!({"div": {"left": left, "right": right, "by_zero_default": zero}})),
            1 => (inner.clone(), inner.clone())
                .prop_map(|(base, exponent)| json!({"pow": {"base": base, "exponent": exponent}})),
            2 => (curves, inner.clone(), prop::option::of(inner), scale, midpoint).prop_map(
                |(curve, x, target, scale, midpoint)| json!({curve: {"x": x, "target": target, "scale": scale, "midpoint": midpoint}})
            ),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]
    #[test]
    fn random_formulas_agree_with_a_naive_evaluator_c6_3(
        expression in expression(),
        payload in payload(),
        defaults in defaults(),
        scores in prop::collection::vec(prop::option::of(-10.0f32..10.0), 0..4),
    ) {
        let query = json!({"formula": expression, "defaults": defaults});
        let formula = parse(&query.to_string()).map_err(|error| TestCaseError::fail(format!("{query}: {error}")))?;
        let point = Point::new(&payload.to_string());
        let expected = score(&expression, &Input { id: ID, payload: &payload, scores: &scores, defaults: &defaults });
        let found = formula.evaluate(&point, &scores, None);
        prop_assert_eq!(found.as_ref().ok(), expected.as_ref(), "{} on {}: {:?}", query, payload, found);
    }
}
