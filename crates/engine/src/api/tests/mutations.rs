//! Valid bodies damaged at random: never a panic, and a refusal that names a place.

use super::{accepted, message, parse};
use crate::error::Error;
use crate::limits::Limits;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Bodies that use every field there is.
fn valid_bodies() -> Vec<(&'static str, Value)> {
    let filter = json!({"must": [{"key": "a.b[]", "match": {"any": ["x"]}}, {"has_id": [1]}],
        "should": {"key": "n", "range": {"gt": 1, "lte": 2.5}}, "must_not": [{"is_empty": {"key": "e"}}],
        "min_should": {"conditions": [{"key": "a", "values_count": {"gt": 1}}], "min_count": 1}});
    let point = json!({"id": 1, "vector": {"a": [1.5, 2.0], "b": [1]}, "payload": {"k": [1, {"x": null}]}});
    let search = json!({"vector": {"name": "a", "vector": [1, 2.5]}, "limit": 3, "offset": 1, "filter": filter,
        "params": {"hnsw_ef": 10, "exact": true, "quantization": {"oversampling": 2.0}}, "score_threshold": 0.5,
        "with_payload": {"include": ["a"]}, "with_vector": ["a"]});
    let query = json!({"query": {"nearest": [1, 2]}, "using": "a", "filter": filter, "limit": 2, "with_payload": ["x"],
        "lookup_from": {"collection": "c", "vector": "v"}, "params": {"acorn": {"enable": true}}});
    let ordered = json!({"query": {"order_by": {"key": "a", "direction": "desc", "start_from": 1.5}}});
    let vectors = json!({"vectors": {"a": {"size": 4, "distance": "Dot", "hnsw_config": {"m": 8}, "on_disk": true,
        "datatype": "uint8", "quantization_config": {"scalar": {"type": "int8", "quantile": 0.9}}}},
        "hnsw_config": {"m": 8, "ef_construct": 64, "ef_search": 32, "full_scan_threshold": 10},
        "optimizers_config": {"deleted_threshold": 0.5, "max_optimization_threads": "auto"},
        "wal_config": {"wal_capacity_mb": 1, "durability": "os"}, "metadata": {"a": 1}, "shard_number": 2,
        "quantization_config": {"product": {"compression": "x4"}}, "strict_mode_config": {"enabled": false}});
    let selected = json!({"payload": {"a": {"b": 1}}, "key": "x.y", "points": [1, 2]});
    vec![
        ("upsert_points", json!({"points": [point, {"id": 2, "vector": [1, 2]}], "update_filter": filter})),
        ("upsert_points", json!({"batch": {"ids": [1, 2], "vectors": [[1], [2]], "payloads": [{}, null]}})),
        (
            "sync_points",
            json!({"scope": filter, "hash_key": "k", "sync_id": "s", "last": true, "staged": 1, "if_revision": "0".repeat(32),
                "points": [{"id": 1, "vector": {"a": [1.5]}, "payload": {"k": "h"}}, {"id": 2, "hash": "h"}]}),
        ),
        ("sync_points", json!({"scope": {}, "all": true, "hash_key": "k", "points": [], "model": "m"})),
        ("plan_sync", json!({"scope": filter, "hash_key": "k.l[0]", "points": [{"id": 1, "hash": 7}]})),
        ("reembed_vectors", json!({"model": {"name": "m", "text_key": "a.b"}, "size": 3, "rate": 10})),
        ("reembed_vectors", json!({"model": "m"})),
        ("commit_reembedding", json!({"allow_missing": true})),
        ("next_texts", json!({"limit": 3, "error": "why"})),
        (
            "fill_vectors",
            json!({"begun": 1, "points": [{"at": 3, "input": {"text": "a", "model": "qdrant/bm25"}}]}),
        ),
        ("update_vectors", json!({"points": [{"id": 1, "vector": {"a": [1]}}]})),
        ("delete_vectors", json!({"vector": ["a"], "filter": filter})),
        ("delete_points", json!({"points": [1, "550e8400-e29b-41d4-a716-446655440000"]})),
        ("set_payload", selected.clone()),
        ("overwrite_payload", selected.clone()),
        ("delete_payload", json!({"keys": ["a", "b[0]"], "filter": filter})),
        ("clear_payload", json!({"filter": filter})),
        ("batch_update", json!({"operations": [{"upsert": {"points": [point]}}, {"set_payload": selected}]})),
        ("retrieve_points", json!({"ids": [1, 2], "with_payload": true, "with_vector": true})),
        ("search", search.clone()),
        ("search_batch", json!({"searches": [search]})),
        ("query", query.clone()),
        ("query_batch", json!({"searches": [query, ordered]})),
        (
            "scroll",
            json!({"filter": filter, "limit": 5, "order_by": {"key": "a", "start_from": "2020-01-01"}}),
        ),
        ("count", json!({"filter": filter, "exact": true})),
        (
            "project_points",
            json!({"filter": filter, "sample": 9, "using": "a", "method": "pca", "neighbors": 7, "seed": 3}),
        ),
        ("create_collection", vectors),
        (
            "update_collection",
            json!({"vectors": {"a": {"hnsw_config": {"m": 4}, "quantization_config": "Disabled"}},
            "params": {"replication_factor": 2}, "optimizers_config": {"indexing_threshold": 0}, "metadata": {"a": null}}),
        ),
        (
            "create_field_index",
            json!({"field_name": "a", "field_schema": {"type": "integer", "range": true}}),
        ),
    ]
}

#[test]
fn the_bodies_to_be_damaged_are_valid() {
    for (operation, body) in valid_bodies() {
        accepted(operation, &body.to_string());
    }
}

/// How a value is damaged.
#[derive(Clone, Debug)]
enum Damage {
    Remove,
    Replace(Value),
    AddField,
    AddElement(Value),
}

fn damage() -> impl Strategy<Value = Damage> {
    let values = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!(u64::MAX)),
        Just(serde_json::from_str("1e400").unwrap()),
        Just(serde_json::from_str("99999999999999999999999").unwrap()),
        Just(json!("")),
        Just(json!("text")),
        Just(json!([])),
        Just(json!([[1]])),
        Just(json!({})),
        Just(json!({"indices": [1], "values": [1]})),
        Just(json!({"key": "a"})),
    ];
    prop_oneof![
        Just(Damage::Remove),
        values.clone().prop_map(Damage::Replace),
        Just(Damage::AddField),
        values.prop_map(Damage::AddElement),
    ]
}

/// Number of values in a tree.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum::<usize>(),
        Value::Object(map) => map.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// Damages the `at`-th value; false when the value is to be removed by its parent.
fn apply(value: &mut Value, at: &mut usize, damage: &Damage) -> bool {
    if *at == 0 {
        *at = usize::MAX;
        match (damage, value) {
            (Damage::Remove, _) => return false,
            (Damage::AddField, Value::Object(map)) => drop(map.insert("surprise".into(), json!(1))),
            (Damage::AddElement(new), Value::Array(list)) => list.push(new.clone()),
            (Damage::Replace(new) | Damage::AddElement(new), value) => *value = new.clone(),
            (Damage::AddField, value) => *value = json!({"surprise": 1}),
        }
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(list) => list.retain_mut(|value| *at == usize::MAX || apply(value, at, damage)),
        Value::Object(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            for key in keys {
                if *at != usize::MAX && !apply(&mut map[&key], at, damage) {
                    map.shift_remove(&key);
                }
            }
        }
        _ => {}
    }
    true
}

/// The text of a value, in which the `at`-th one has its key twice where it is a field: with `before` of it first.
fn with_repeat(value: &Value, at: &mut usize, before: &impl Fn(&Value) -> Value) -> String {
    let is_next = |at: &mut usize| {
        *at = at.wrapping_sub(1);
        *at == usize::MAX
    };
    match value {
        Value::Array(list) => {
            let texts = list.iter().map(|value| {
                is_next(at);
                with_repeat(value, at, before)
            });
            format!("[{}]", texts.collect::<Vec<_>>().join(","))
        }
        Value::Object(map) => {
            let texts = map.iter().map(|(key, value)| {
                let key = json!(key);
                let repeat = if is_next(at) { format!("{key}:{},", before(value)) } else { String::new() };
                format!("{repeat}{key}:{}", with_repeat(value, at, before))
            });
            format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
        }
        value => value.to_string(),
    }
}

/// What was read, without where it was in the body and the names of vectors that models are looked up for.
fn without_places(read: &str) -> String {
    let without = |read: &str, from: &str, end: &dyn Fn(&str) -> usize| {
        let mut parts = read.split(from);
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |all, part| all + &part[end(part)..])
    };
    let digits = |part: &str| part.find(|byte: char| !byte.is_ascii_digit()).unwrap_or(part.len());
    let names = |part: &str| part.find("])").unwrap_or_default();
    without(&without(read, "end: ", &digits), "VectorModels([", &names)
}

/// A field of the body, `body` for the body itself, or a byte of it.
fn names_a_place(error: &Error) -> bool {
    let text = message(error);
    match error {
        Error::VectorsConfigRequired => true,
        Error::MissingField(field) => !field.is_empty(),
        _ => text.split_once(": ").is_some_and(|(place, why)| {
            !why.is_empty()
                && !place.is_empty()
                && (place == "Body is not valid JSON" || !place.contains(' '))
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn damaged_bodies_are_accepted_or_refused_by_place_c1_11(
        pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), damage in damage(),
    ) {
        let bodies = valid_bodies();
        let (operation, mut body) = bodies[pick.index(bodies.len())].clone();
        let mut at = at.index(count(&body));
        if !apply(&mut body, &mut at, &damage) {
            body = Value::Null;
        }
        if let Err(error) = parse(operation, body.to_string().as_bytes(), &Limits::default()) {
            prop_assert!(names_a_place(&error), "{} {}: {}", operation, body, error);
        }
    }

    /// A part of a value that is read before the error in it is found must leave nothing behind.
    #[test]
    fn of_a_repeated_key_a_damaged_value_changes_nothing_c1_8(
        pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), within in any::<prop::sample::Index>(),
        damage in damage(),
    ) {
        let bodies = valid_bodies();
        let (operation, body) = &bodies[pick.index(bodies.len())];
        let damaged = |value: &Value| {
            let mut value = value.clone();
            let mut within = within.index(count(&value));
            if apply(&mut value, &mut within, &damage) { value } else { Value::Null }
        };
        let text = with_repeat(body, &mut at.index(count(body)), &damaged);
        let read = parse(operation, text.as_bytes(), &Limits::default()).map(|read| without_places(&read));
        let expected = without_places(&accepted(operation, &body.to_string()));
        prop_assert!(read.as_ref() == Ok(&expected), "{operation} {text}\n{read:?}\n{expected}");
    }

    #[test]
    fn cut_and_garbled_bytes_never_panic(
        pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let bodies = valid_bodies();
        let (operation, body) = bodies[pick.index(bodies.len())].clone();
        let mut bytes = body.to_string().into_bytes();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        let _ = parse(operation, &bytes, &Limits::default());
    }
}
