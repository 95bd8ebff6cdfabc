//! What requests with string ids mean.

use super::common::{TestEngine, request};
use super::{create, ids_of, point, scrolled, strings, upsert};
use kithdb_engine::engine::Access;
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const UUID: &str = "550E8400-E29B-41D4-A716-446655440000";

#[test]
fn integers_come_before_strings_and_strings_in_the_order_of_their_bytes_c21() {
    let engine = strings(1);
    let long = "é".repeat(128);
    let ids = [
        json!(7),
        json!(18_446_744_073_709_551_615_u64),
        json!("\u{0}"),
        json!("10"),
        json!("7"),
        json!("70"),
        json!("A"),
        json!("a"),
        json!("a\"/\n"),
        json!("ab"),
        json!(long),
        json!("😀"),
    ];
    let mut mixed = ids.clone();
    mixed.reverse();
    upsert(&engine, &mixed);
    for limit in [1, 5, 100] {
        assert_eq!(scrolled(&engine, limit), ids, "{limit}");
    }
    let from = engine.ok("scroll", "c", json!({"offset": "70", "limit": 2}));
    assert_eq!(ids_of(&from["points"]), [json!("70"), json!("A")]);
    assert_eq!(from["next_page_offset"], "a");
    // An offset needs not exist.
    let from = engine.ok("scroll", "c", json!({"offset": "ac", "limit": 1}));
    assert_eq!(ids_of(&from["points"]), [json!(long)]);
    let filtered = json!({"filter": {"must": {"key": "n", "range": {"gte": 5}}}, "limit": 3});
    assert_eq!(ids_of(&engine.ok("scroll", "c", filtered)["points"]), ids[..3]);
}

#[test]
fn the_same_digits_are_another_point_as_a_string_and_a_uuid_is_answered_as_given_c21() {
    let engine = strings(1);
    upsert(&engine, &[json!(7), json!("7"), json!(UUID), json!(UUID.to_lowercase())]);
    let info = engine.ok("collection_info", "c", json!(null));
    assert_eq!((&info["ids"], &info["points_count"]), (&json!("string"), &json!(4)));
    let found = engine.ok("retrieve_points", "c", json!({"ids": ["7", UUID], "with_payload": true}));
    assert_eq!(found, json!([{"id": "7", "payload": {"n": 1}}, {"id": UUID, "payload": {"n": 2}}]));
    engine.ok("delete_points", "c", json!({"points": ["7"]}));
    assert_eq!(scrolled(&engine, 10), [json!(7), json!(UUID), json!(UUID.to_lowercase())]);
    let (code, details) = engine.refused("retrieve_points", "c", json!({"ids": [7, "7", "a\"b"]}));
    assert_eq!((code.as_str(), &details["ids"]), ("point_not_found", &json!(["\"7\"", "\"a\\\"b\""])));
}

#[test]
fn a_path_has_the_integer_or_the_string_c21() {
    let engine = strings(1);
    upsert(&engine, &[json!(7), json!("7"), json!("a/b"), json!(UUID)]);
    let get = |path: &str| engine.execute("get_point", "c", Some(path), true, Vec::new());
    for (path, id) in [
        ("7", json!(7)),
        ("\"7\"", json!("7")),
        ("a/b", json!("a/b")),
        ("\"a/b\"", json!("a/b")),
        (UUID, json!(UUID)),
    ] {
        assert_eq!(get(path).unwrap()["id"], id, "{path}");
    }
    for (path, code) in [("\"7", "bad_request"), ("b", "point_not_found"), ("8", "point_not_found")] {
        assert_eq!(get(path).unwrap_err().code(), code, "{path}");
    }
}

#[test]
fn what_is_no_id_is_refused_with_its_place_and_the_default_is_as_ever_c21() {
    let engine = strings(1);
    let longest = "x".repeat(256);
    upsert(&engine, &[json!(longest)]);
    assert_eq!(scrolled(&engine, 10), [json!(longest)]);
    let valid = "valid values are either an unsigned integer or a string of 1 to 256 bytes";
    for wrong in
        [json!(""), json!("x".repeat(257)), json!("é".repeat(129)), json!(-1), json!(1.5), json!([1])]
    {
        let (code, details) = engine.refused("upsert_points", "c", json!({"points": [point(&wrong, 1)]}));
        let message = details["message"].as_str().unwrap();
        assert_eq!(code, "bad_request");
        assert!(message.starts_with("points[0].id: ") && message.ends_with(valid), "{message}");
    }
    let broken = b"{\"ids\": [\"a\xc3\"]}".to_vec();
    assert_eq!(engine.call_bytes("retrieve_points", "c", broken).unwrap_err().code(), "bad_request");
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Dot"}, "ids": "default"}));
    let (_, details) = engine.refused("upsert_points", "d", json!({"points": [point(&json!("a"), 1)]}));
    let message = "points[0].id: value \"a\" is not a valid point ID, valid values are either an unsigned integer or a UUID";
    assert_eq!(details["message"], message);
    assert_eq!(engine.ok("collection_info", "d", json!(null)).get("ids"), None);
    let other = json!({"vectors": {"size": 2, "distance": "Dot"}, "ids": "uuid"});
    assert_eq!(engine.refused("create_collection", "e", other).0, "bad_request");
    assert_eq!(engine.refused("update_collection", "c", json!({"ids": "default"})).0, "bad_request");
}

#[test]
fn every_operation_takes_them_c21() {
    let engine = strings(1);
    let ids: Vec<Value> = ["a", "b", "c", "d", "7"].map(|id| json!(id)).into();
    upsert(&engine, &ids);
    engine.ok("update_vectors", "c", json!({"points": [{"id": "a", "vector": [9.0, 9.0]}]}));
    engine.ok("set_payload", "c", json!({"points": ["a"], "payload": {"k": 1}}));
    engine.ok("overwrite_payload", "c", json!({"points": ["b"], "payload": {"k": 2}}));
    engine.ok("delete_payload", "c", json!({"points": ["a"], "keys": ["n"]}));
    engine.ok("clear_payload", "c", json!({"points": ["c"]}));
    engine.ok("delete_vectors", "c", json!({"points": ["d"], "vector": [""]}));
    let batch = json!({"operations": [
        {"delete": {"points": ["7"]}},
        {"upsert": {"batch": {"ids": ["e", "7"], "vectors": [[1.0, 0.5], [1.0, 0.5]]}}},
    ]});
    engine.ok("batch_update", "c", batch);
    let has_id = json!({"filter": {"must": {"has_id": ["a", "7", "absent"]}}, "with_payload": true});
    let found = engine.ok("scroll", "c", has_id);
    assert_eq!(found["points"], json!([{"id": "7", "payload": {}}, {"id": "a", "payload": {"k": 1}}]));
    assert_eq!(engine.ok("count", "c", json!({"filter": {"must_not": {"has_id": ["a"]}}}))["count"], 5);
    let near =
        engine.ok("query", "c", json!({"query": "e", "limit": 1, "params": {"explain": true, "why": ["a"]}}));
    assert_eq!(ids_of(&near["points"]), [json!("7")]);
    let liked = engine.ok("recommend", "c", json!({"positive": ["e"], "negative": ["a"], "limit": 1}));
    assert_eq!(ids_of(&liked), [json!("7")]);
    let context = json!({"target": "e", "context": [{"positive": "7", "negative": "a"}], "limit": 9});
    assert_eq!(ids_of(&engine.ok("discover", "c", context)).len(), 2);
    let pairs = engine.ok(
        "matrix_pairs",
        "c",
        json!({"sample": 2, "limit": 1, "filter": {"must": {"has_id": ["a", "b"]}}}),
    );
    assert_eq!((&pairs["pairs"][0]["a"], &pairs["pairs"][0]["b"]), (&json!("a"), &json!("b")));
    let slices: u64 = (0..3)
        .map(|index| json!({"filter": {"must": {"slice": {"total": 3, "index": index}}}}))
        .map(|body| engine.ok("count", "c", body)["count"].as_u64().unwrap())
        .sum();
    assert_eq!(slices, 6);
}

#[test]
fn versions_skips_and_syncs_have_them_c21() {
    let engine = strings(1);
    upsert(&engine, &[json!("a"), json!(7), json!("7")]);
    let wrong = json!({"points": ["a", "7"], "payload": {"k": 1}, "if_version": {"a": 1, "\"7\"": 9}});
    let (code, details) = engine.refused("set_payload", "c", wrong);
    assert_eq!((code.as_str(), &details["conflicts"][0]["id"]), ("version_conflict", &json!("\"7\"")));
    let right =
        json!({"points": ["a", "7", 7], "payload": {"k": 1}, "if_version": {"a": 1, "\"7\"": 1, "7": 1}});
    engine.ok("set_payload", "c", right);
    let skipping =
        json!({"points": [point(&json!("a"), 1), point(&json!("new"), 1)], "update_mode": "insert_only"});
    let answer = |id| {
        engine.client().answer_named(
            Some(id),
            "upsert_points",
            "c",
            None,
            true,
            skipping.to_string().into_bytes(),
        )
    };
    let first: Value = serde_json::from_slice(&answer(9).unwrap()).unwrap();
    assert_eq!(first["result"]["skipped"], json!({"count": 1, "ids": ["a"]}));
    let again: Value = serde_json::from_slice(&answer(9).unwrap()).unwrap();
    assert_eq!(again["result"], first["result"]);
    let sync = |points: Value| json!({"scope": {}, "all": true, "hash_key": "h", "points": points});
    let with_hash = |id: &str, h: u64| json!({"id": id, "vector": [1.0, 0.5], "payload": {"h": h}});
    let done = engine.ok("sync_points", "c", sync(json!([with_hash("a", 1), with_hash("b", 1)])));
    assert_eq!((&done["added"], &done["updated"], &done["deleted"]), (&json!(1), &json!(1), &json!(3)));
    let plan = sync(json!([{"id": "a", "hash": 1}, {"id": "b", "hash": 2}, {"id": "7", "hash": 1}]));
    let planned = engine.ok("plan_sync", "c", plan);
    assert_eq!((&planned["needed"], &planned["unchanged"]), (&json!(["b", "7"]), &json!(1)));
    assert_eq!(planned["revision"], done["revision"]);
}

#[test]
fn examples_and_groups_are_looked_up_by_the_ids_of_the_other_collection_c21() {
    let engine = strings(1);
    let uuid = UUID.to_lowercase();
    upsert(&engine, &[json!("doc"), json!(UUID), json!("near")]);
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    let points = json!([
        {"id": 1, "vector": [0.0, 0.5], "payload": {"of": "doc"}},
        {"id": UUID, "vector": [1.0, 0.5], "payload": {"of": UUID}},
    ]);
    engine.ok("upsert_points", "d", json!({"points": points}));
    let near =
        engine.ok("query", "d", json!({"query": "doc", "lookup_from": {"collection": "c"}, "limit": 1}));
    assert_eq!(ids_of(&near["points"]), [json!(1)]);
    let near =
        engine.ok("query", "c", json!({"lookup_from": {"collection": "d"}, "query": uuid, "limit": 1}));
    assert_eq!(
        ids_of(&near["points"]),
        [json!(UUID)],
        "a string that is also an id of the other is no example here"
    );
    let wrong = json!({"query": "doc", "lookup_from": {"collection": "d"}, "limit": 1});
    assert_eq!(engine.refused("query", "c", wrong).0, "bad_request");
    let grouped = json!({"query": [0.0, 0.5], "group_by": "of", "limit": 5, "with_lookup": "c"});
    let groups = engine.ok("query_groups", "d", grouped);
    let lookups: Vec<&Value> =
        groups["groups"].as_array().unwrap().iter().map(|one| &one["lookup"]["id"]).collect();
    assert_eq!(lookups, [&json!("doc"), &json!(UUID)]);
}

#[test]
fn the_filter_of_a_token_names_ids_of_any_collection_c21() {
    let engine = strings(1);
    upsert(&engine, &[json!("doc"), json!(UUID), json!(7)]);
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    let points = json!([{"id": UUID, "vector": [1.0, 0.5]}, {"id": 8, "vector": [1.0, 0.5]}]);
    engine.ok("upsert_points", "d", json!({"points": points}));
    let filter = json!({"filter": {"must": {"has_id": ["doc", UUID, 7]}}});
    let access = Access::parse(filter.to_string().as_bytes(), &Limits::default()).unwrap();
    let count =
        |collection: &str| read(&engine, access.clone(), "count", collection).unwrap()["count"].clone();
    assert_eq!((count("c"), count("d")), (json!(3), json!(1)));
    assert_eq!(
        Access::parse(br#"{"filter": {"must": {"has_id": [""]}}}"#, &Limits::default()).unwrap_err().code(),
        "internal"
    );
}

fn read(engine: &TestEngine, access: Access, operation: &str, collection: &str) -> Result<Value, Error> {
    let mut sent = request(operation, collection, &json!({}));
    sent.access = Some(Arc::new(access));
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    engine.engine().execute(sent, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    let answered = answer.lock().unwrap().take().expect("answered before it returns");
    answered.map(|envelope| super::common::result_of(&envelope))
}

#[test]
fn a_collection_takes_the_name_of_one_with_other_ids_c21() {
    let engine = strings(1);
    upsert(&engine, &[json!("a")]);
    engine.ok("delete_collection", "c", json!(null));
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    assert_eq!(
        engine.refused("upsert_points", "c", json!({"points": [point(&json!("a"), 1)]})).0,
        "bad_request"
    );
    create(&engine, "d");
    let aliases = json!({"actions": [{"create_alias": {"alias_name": "e", "collection_name": "d"}}]});
    engine.ok("change_aliases", "", aliases);
    engine.ok("upsert_points", "e", json!({"points": [point(&json!("a"), 1)]}));
    assert_eq!(engine.ok("count", "d", json!({}))["count"], 1);
}
