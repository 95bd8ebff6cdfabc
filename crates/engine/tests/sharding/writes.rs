//! Writes that are split.

use crate::cluster::{Cluster, id, point, point_id};
use crate::common::{Random, setting};
use kithdb_engine::api::BodyForm;
use kithdb_engine::json::Reader;
use kithdb_engine::sharding::{Layout, ShardedRequest, shard_of, split_write};
use kithdb_engine::types::{IdKind, Metric};
use serde_json::{Value, json};

fn cluster() -> Cluster {
    Cluster::new(3, Metric::Dot, IdKind::Default)
}

/// The bodies of the shards as JSON.
fn split(cluster: &Cluster, operation: &str, body: &str) -> Vec<Option<Value>> {
    let request = cluster.request(operation, "c", body.as_bytes());
    let parts = split_write(&request, &cluster.layout).unwrap_or_else(|error| panic!("{body}: {error}"));
    let parsed = |part: Vec<u8>| serde_json::from_slice(&part).expect("a part is JSON");
    parts.into_iter().map(|part| part.map(parsed)).collect()
}

fn refusal(cluster: &Cluster, operation: &str, form: BodyForm, body: &str) -> String {
    let request = ShardedRequest { form, ..cluster.request(operation, "c", body.as_bytes()) };
    split_write(&request, &cluster.layout).expect_err(operation).to_string()
}

#[test]
fn each_point_goes_to_its_shard_with_its_text() {
    let cluster = cluster();
    let points: Vec<String> = (0..40u64)
        .map(|number| {
            let id = id(number, IdKind::Default);
            format!(r#"{{ "vector":{{"b":[1e-3, 1.50]}}, "id": {id},"payload":{{"big":12345678901234567890123}} }}"#)
        })
        .collect();
    let body = format!(r#"{{"update_mode":"insert_only","points":[{}]}}"#, points.join(" , "));
    let request = cluster.request("upsert_points", "c", body.as_bytes());
    let parts = split_write(&request, &cluster.layout).unwrap();
    let mut found = 0;
    for (shard, part) in parts.into_iter().enumerate() {
        let text = String::from_utf8(part.expect("forty points are in all shards")).unwrap();
        let parsed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["update_mode"], "insert_only");
        for point in parsed["points"].as_array().unwrap() {
            assert_eq!(cluster.shard_of(&point["id"]), shard as u32);
            found += 1;
        }
        assert!(points.iter().filter(|point| text.contains(point.as_str())).count() > 0);
    }
    assert_eq!(found, 40);
}

#[test]
fn columns_lines_ids_and_versions_are_split() {
    let cluster = cluster();
    let ids: Vec<Value> = (0..30).map(|number| id(number, IdKind::Default)).collect();
    let column: Vec<Value> = (0..30).map(|at| json!([at, 1.5])).collect();
    let payloads: Vec<Value> =
        (0..30).map(|at| if at % 2 == 0 { json!(null) } else { json!({"at": at}) }).collect();
    let batch = json!({"batch": {"ids": ids, "vectors": {"b": column, "a": null}, "payloads": payloads}});
    for (shard, part) in split(&cluster, "upsert_points", &batch.to_string()).into_iter().enumerate() {
        let batch = &part.expect("thirty points are in all shards")["batch"];
        for (at, own) in batch["ids"].as_array().unwrap().iter().enumerate() {
            assert_eq!(cluster.shard_of(own), shard as u32);
            let place = ids.iter().position(|id| id == own).unwrap();
            assert_eq!(batch["vectors"]["b"][at], column[place]);
            assert_eq!(batch["payloads"][at], payloads[place]);
        }
    }
    let versions: Value = ids.iter().map(|id| (id.to_string().replace('"', ""), json!(3))).collect();
    let body = json!({"points": ids, "if_version": versions, "payload": {"x": 1}});
    let mut left = 30;
    for part in split(&cluster, "set_payload", &body.to_string()).into_iter().flatten() {
        let points = part["points"].as_array().unwrap();
        assert_eq!(part["if_version"].as_object().unwrap().len(), points.len());
        assert_eq!(part["payload"], json!({"x": 1}));
        left -= points.len();
    }
    assert_eq!(left, 0);
    let lines = "{\"id\":1,\"vector\":{}}\r\n\n {\"id\":2,\"vector\":{}} \n{\"id\":5,\"vector\":{}}";
    let request =
        ShardedRequest { form: BodyForm::Lines, ..cluster.request("upsert_points", "c", lines.as_bytes()) };
    let parts = split_write(&request, &cluster.layout).unwrap();
    let lines: usize = parts.iter().flatten().map(|part| part.split(|byte| *byte == b'\n').count() - 1).sum();
    assert_eq!(lines, 3);
}

#[test]
fn what_concerns_all_shards_goes_to_all() {
    let cluster = cluster();
    let filter = r#"{"filter":{"must":[{"key":"n","match":{"value":1}}]},"points":null}"#;
    for (operation, body) in [
        ("delete_points", filter),
        ("clear_payload", filter),
        ("create_field_index", r#"{"field_name":"n","field_schema":"integer"}"#),
        ("update_collection", "{}"),
        ("create_vector_name", r#"{"dense":{"size":2,"distance":"Dot"}}"#),
    ] {
        let parts = split(&cluster, operation, body);
        assert!(parts.iter().all(|part| *part == Some(serde_json::from_str(body).unwrap())), "{operation}");
    }
    let nothing = split(&cluster, "delete_points", r#"{"points":[]}"#);
    assert_eq!(nothing, [Some(json!({"points": []})), None, None], "it has an answer");
}

#[test]
fn a_batch_is_split_operation_by_operation() {
    let cluster = cluster();
    let of_shard = |shard: u32| (0..).find(|number| cluster.shard_of(&json!(number)) == shard).unwrap();
    let (first, second) = (of_shard(0), of_shard(1));
    let body = json!({"operations": [
        {"upsert": {"points": [{"id": first, "vector": {}}, {"id": second, "vector": {}}]}},
        {"set_payload": {"payload": {"a": 1}, "points": [second]}},
        {"delete": {"filter": {}}},
    ]});
    let names = |part: &Option<Value>| -> Vec<String> {
        let operations = part.iter().flat_map(|part| part["operations"].as_array().unwrap().clone());
        operations.map(|operation| operation.as_object().unwrap().keys().next().unwrap().clone()).collect()
    };
    let parts: Vec<Vec<String>> =
        split(&cluster, "batch_update", &body.to_string()).iter().map(names).collect();
    // Where a shard has no part it deletes no points.
    assert_eq!(parts[0], ["upsert", "delete", "delete"]);
    assert_eq!(parts[1], ["upsert", "set_payload", "delete"]);
    assert_eq!(parts[2], ["delete", "delete", "delete"]);
    let alone =
        json!({"operations": [{"delete": {"points": [first]}}, {"clear_payload": {"points": [first]}}]});
    let parts = split(&cluster, "batch_update", &alone.to_string());
    assert_eq!(parts, [Some(alone), None, None]);
}

#[test]
fn what_is_not_available_is_refused_and_one_shard_takes_everything() {
    let cluster = cluster();
    for (operation, form) in [
        ("sync_points", BodyForm::Json),
        ("reembed_vectors", BodyForm::Json),
        ("clone_collection", BodyForm::Json),
        ("upsert_points", BodyForm::Arrow),
    ] {
        let refused = refusal(&cluster, operation, form, "{}");
        assert!(
            refused.contains("is not available for a collection of several shards in a cluster"),
            "{refused}"
        );
    }
    assert!(
        refusal(&cluster, "upsert_points", BodyForm::Json, r#"{"points":[{"id":-1,"vector":[1]}]}"#)
            .contains("points[0].id")
    );
    let one = Layout { shards: 1, ..cluster.layout.clone() };
    let request = ShardedRequest { form: BodyForm::Arrow, ..cluster.request("sync_points", "c", b"any") };
    assert_eq!(split_write(&request, &one).unwrap(), [Some(b"any".to_vec())]);
}

/// A body that is written to, byte by byte.
fn damaged(random: &mut Random, body: &str) -> Vec<u8> {
    let mut bytes = body.as_bytes().to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(3) {
            0 => bytes[at] = b"{}[]\",:0x-"[random.below(10) as usize],
            1 => drop(bytes.remove(at)),
            _ => {
                let from = random.below(bytes.len() as u64) as usize;
                let (from, to) = (from.min(at), from.max(at));
                let part = bytes[from..to].to_vec();
                bytes.splice(to..to, part);
            }
        }
        if bytes.is_empty() {
            return bytes;
        }
    }
    bytes
}

#[test]
fn no_body_makes_it_panic_and_the_parts_have_the_points_of_the_body() {
    let cluster = cluster();
    let mut random = Random(7);
    let mut good = 0;
    for _ in 0..setting("KITHDB_SHARDING_BODIES").unwrap_or(3_000) {
        let points: Vec<Value> = (0..1 + random.below(5))
            .map(|_| {
                let number = random.below(50);
                point(&mut random, id(number, IdKind::Default))
            })
            .collect();
        let ids: Vec<&Value> = points.iter().map(|point| &point["id"]).collect();
        let (operation, body) = match random.below(5) {
            0 => ("upsert_points", json!({"points": points})),
            1 => ("delete_points", json!({"points": ids})),
            2 => ("set_payload", json!({"payload": {"a": [1, "b"]}, "points": ids, "key": "x"})),
            3 => (
                "upsert_points",
                json!({"batch": {
                    "ids": ids, "vectors": ids.iter().map(|_| json!([1, 2])).collect::<Vec<_>>(),
                }}),
            ),
            _ => (
                "batch_update",
                json!({"operations": [
                    {"upsert": {"points": points}}, {"delete_vectors": {"points": ids, "vector": ["a"]}},
                ]}),
            ),
        };
        let body = damaged(&mut random, &body.to_string());
        let request = cluster.request(operation, "c", &body);
        let Ok(parts) = split_write(&request, &cluster.layout) else { continue };
        good += 1;
        let mut found = Vec::new();
        for (shard, part) in parts.iter().enumerate() {
            let Some(part) = part else { continue };
            let own = ids_of(part);
            let is_of_shard = |id: &Value| shard_of(&point_id(id, IdKind::Default), 3) == shard as u32;
            assert!(own.iter().all(is_of_shard), "{}", String::from_utf8_lossy(part));
            found.extend(own.into_iter().map(|id| id.to_string()));
        }
        let mut expected: Vec<String> = ids_of(&body).into_iter().map(|id| id.to_string()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(&body));
    }
    assert!(good > 100, "only {good} bodies were good");
}

/// The ids that a body names.
fn ids_of(body: &[u8]) -> Vec<Value> {
    assert!(Reader::new(body).and_then(|mut reader| reader.skip()).is_ok());
    let body: Value = serde_json::from_slice(body).expect("a good body is JSON");
    let mut found = Vec::new();
    let of_operation = |operation: &Value, found: &mut Vec<Value>| {
        if let Some(points) = operation["points"].as_array() {
            found.extend(
                points
                    .iter()
                    .map(|point| if point.is_object() { point["id"].clone() } else { point.clone() }),
            );
        } else if let Some(ids) = operation["batch"]["ids"].as_array() {
            found.extend(ids.clone());
        }
    };
    match body["operations"].as_array() {
        Some(operations) => operations.iter().for_each(|operation| {
            let bodies = operation.as_object().expect("an object").values();
            bodies.for_each(|body| of_operation(body, &mut found));
        }),
        None => of_operation(&body, &mut found),
    }
    found
}
