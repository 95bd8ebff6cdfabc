//! C25: writes that say which versions their points must have, and what updates say that they skipped.

mod common;

use common::{Random, SHORT_FILES, TestEngine};
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const COLLECTION: &str = "things";

fn new_engine(seed: u64) -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
    engine.ok("create_collection", COLLECTION, json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine
}

fn point(id: u64, n: u64, if_version: Option<u64>) -> Value {
    json!({"id": id, "vector": [1.0, n], "payload": {"n": n}, "if_version": if_version})
}

fn versions(engine: &TestEngine) -> BTreeMap<u64, (u64, u64)> {
    let found = engine.ok("query", COLLECTION, json!({"limit": 1000, "with_payload": true}))["points"].take();
    let of = |point: &Value| {
        let number = |value: &Value| value.as_u64().expect("a number");
        (number(&point["id"]), (number(&point["version"]), number(&point["payload"]["n"])))
    };
    found.as_array().expect("a list").iter().map(of).collect()
}

#[test]
fn a_write_whose_versions_do_not_hold_changes_nothing_and_names_the_points_c25() {
    let engine = new_engine(1);
    engine.ok("upsert_points", COLLECTION, json!({"points": [point(1, 1, Some(0)), point(2, 1, None)]}));
    let before = engine.digest(COLLECTION);
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    let stale = json!({"points": [
        point(1, 9, Some(1)), point(2, 9, Some(7)), point(3, 9, Some(2)), point(3, 9, Some(2)),
        {"id": uuid, "vector": [1, 1], "if_version": 4}, point(4, 9, None),
    ]});
    let conflict =
        |id: &str, expected: &str, found: &str| json!({"id": id, "expected": expected, "found": found});
    let named = json!([conflict("2", "7", "1"), conflict("3", "2", "0"), conflict(uuid, "4", "0")]);
    let (code, details) = engine.refused("upsert_points", COLLECTION, stale.clone());
    assert_eq!(
        (code.as_str(), &details["conflicts"], &details["total"]),
        ("version_conflict", &named, &json!(3))
    );
    // In a batch nothing of the others happens, and later ones see the earlier: point 1 has been changed by then.
    let batch =
        |second: Value| json!({"operations": [{"upsert": {"points": [point(1, 5, Some(1))]}}, second]});
    for second in [
        json!({"upsert": stale}),
        json!({"set_payload": {"payload": {"n": 6}, "points": [1], "if_version": 1}}),
    ] {
        let (code, details) = engine.refused("batch_update", COLLECTION, batch(second));
        assert_eq!(
            (code.as_str(), details["place"].as_str().map(|place| &place[..13])),
            ("version_conflict", Some("operations[1]"))
        );
    }
    for (operation, body) in [
        ("update_vectors", json!({"points": [{"id": 1, "vector": [7, 7], "if_version": 3}]})),
        ("update_vectors", json!({"points": [{"id": 3, "vector": [7, 7], "if_version": 3}]})),
        ("set_payload", json!({"payload": {"n": 6}, "points": [1, 2], "if_version": {"2": 0}})),
        ("overwrite_payload", json!({"payload": {"n": 6}, "points": [1, 2], "if_version": 2})),
        ("delete_payload", json!({"keys": ["n"], "points": [2, 1], "if_version": {"1": 9}})),
        ("clear_payload", json!({"points": [3], "if_version": 9})),
    ] {
        assert_eq!(
            engine.refused(operation, COLLECTION, body.clone()).0,
            "version_conflict",
            "{operation} {body}"
        );
    }
    // Absence is what is expected here, and is an error of its own.
    let absent = json!({"points": [3], "payload": {"n": 1}, "if_version": 0});
    assert_eq!(engine.refused("set_payload", COLLECTION, absent).0, "point_not_found");
    assert_eq!(engine.digest(COLLECTION), before);
    // Each holds with the right version, and the version that a write gives is its operation.
    let done = engine.ok(
        "upsert_points",
        COLLECTION,
        json!({"points": [point(1, 2, Some(1)), point(5, 2, Some(0))]}),
    );
    assert_eq!(done, json!({"operation_id": 2, "status": "completed"}));
    for (operation, body) in [
        ("update_vectors", json!({"points": [{"id": 1, "vector": [7, 7], "if_version": 2}]})),
        ("set_payload", json!({"payload": {"n": 6}, "points": [1, 2], "if_version": {"1": 3, "2": 1}})),
        ("overwrite_payload", json!({"payload": {"n": 6}, "points": [1, 2], "if_version": 4})),
    ] {
        engine.ok(operation, COLLECTION, body);
    }
    assert_eq!(versions(&engine), BTreeMap::from([(1, (5, 6)), (2, (5, 6)), (5, (2, 2))]));
}

#[test]
fn an_update_lists_what_it_skipped_and_a_repeat_does_too_c25() {
    let mut engine = new_engine(1);
    engine.ok("upsert_points", COLLECTION, json!({"points": [point(1, 1, None), point(2, 2, None)]}));
    let named = |engine: &TestEngine, id: u128, operation: &str, body: &Value| {
        let body = body.to_string().into_bytes();
        let answer = engine.client().answer_named(Some(id), operation, COLLECTION, None, true, body);
        common::result_of(&answer.expect("it succeeds"))
    };
    let insert = json!({"points": [point(3, 3, None), point(2, 9, None), point(1, 9, None), point(2, 9, None)],
        "update_mode": "insert_only"});
    let only_two = json!({"must": [{"key": "n", "match": {"value": 2}}]});
    let batch = json!({"operations": [
        {"upsert": {"points": [point(7, 7, None)], "update_mode": "update_only"}},
        {"set_payload": {"payload": {"m": 1}, "points": [1]}},
        {"upsert": {"points": [point(1, 5, None), point(2, 4, None)], "update_filter": only_two}},
        {"update_vectors": {"update_filter": only_two, "points": [
            {"id": 1, "vector": [0, 0]}, {"id": 2, "vector": [0, 0]}, {"id": 1, "vector": [0, 1]}]}},
    ]});
    let first = named(&engine, 1, "upsert_points", &insert);
    assert_eq!(first["skipped"], json!({"count": 2, "ids": [1, 2]}));
    let both = named(&engine, 2, "batch_update", &batch);
    let skipped: Vec<&Value> = both.as_array().expect("a list").iter().map(|one| &one["skipped"]).collect();
    let ids = |ids: &[u64]| json!({"count": ids.len(), "ids": ids});
    assert_eq!(skipped, [&ids(&[7]), &Value::Null, &ids(&[1]), &ids(&[1, 2])]);
    let many: Vec<Value> = (0..1200).map(|id| point(10_000 + id, 0, None)).collect();
    let all = named(&engine, 3, "upsert_points", &json!({"points": many, "update_mode": "update_only"}));
    assert_eq!(
        (&all["skipped"]["count"], all["skipped"]["ids"].as_array().map(Vec::len)),
        (&json!(1200), Some(1000))
    );
    let passages: [fn(&mut TestEngine); 4] = [
        |_| {},
        TestEngine::restart,
        |engine| {
            engine.checkpoint();
            engine.restart();
        },
        |engine| engine.power_cut(3),
    ];
    for (at, pass) in passages.into_iter().enumerate() {
        pass(&mut engine);
        assert_eq!(named(&engine, 1, "upsert_points", &insert), first, "{at}");
        assert_eq!(named(&engine, 2, "batch_update", &batch), both, "{at}");
        assert_eq!(
            named(&engine, 3, "upsert_points", &json!({"points": many, "update_mode": "update_only"})),
            all,
            "{at}"
        );
    }
    let manifest = engine.disk.read("collections/0000000000000001/MANIFEST").expect("a manifest");
    assert_eq!(manifest[8], 6, "the version that has skipped points");
}

/// What a random write is expected to do, by a model of versions and numbers.
struct Model(BTreeMap<u64, (u64, u64)>);

/// Refused for its versions, or what it skipped.
type Outcome = Result<Vec<Vec<u64>>, ()>;

fn number(random: &mut Random) -> u64 {
    random.below(4)
}

/// A random operation of a batch; what it does to the model.
fn operation(random: &mut Random, model: &mut Model, next: u64) -> (Value, Outcome) {
    let ids: Vec<u64> = {
        let first = random.below(12);
        (first..first + 1 + random.below(3)).collect()
    };
    let expected = |random: &mut Random, model: &Model, id: u64| match random.below(8) {
        0 => Some(random.below(3)),
        1..4 => Some(model.0.get(&id).map_or(0, |point| point.0)),
        _ => None,
    };
    let (mode, bound) = (random.below(3), random.chance(40).then(|| number(random)));
    let filter = bound.map(|bound| json!({"must": [{"key": "n", "range": {"gte": bound}}]}));
    let n = number(random);
    let given: Vec<Option<u64>> = ids.iter().map(|id| expected(random, model, *id)).collect();
    let holds = ids.iter().zip(&given).all(|(id, version)| {
        version.is_none_or(|version| version == model.0.get(id).map_or(0, |point| point.0))
    });
    if random.chance(30) {
        let present: Vec<u64> = ids.iter().copied().filter(|id| model.0.contains_key(id)).collect();
        let version = random.chance(30).then(|| random.below(3));
        let body = json!({"payload": {"n": n}, "points": present, "if_version": version});
        let holds = present.iter().all(|id| version.is_none_or(|version| version == model.0[id].0));
        if holds {
            model.0.extend(present.iter().map(|id| (*id, (next, n))));
        }
        return (json!({"set_payload": body}), if holds { Ok(vec![vec![]]) } else { Err(()) });
    }
    let points: Vec<Value> = ids.iter().zip(&given).map(|(id, version)| point(*id, n, *version)).collect();
    let mode_name = ["upsert", "insert_only", "update_only"][mode as usize];
    let body = json!({"upsert": {"points": points, "update_mode": mode_name, "update_filter": filter}});
    if !holds {
        return (body, Err(()));
    }
    let mut skipped = Vec::new();
    for id in ids {
        let skips = match model.0.get(&id) {
            Some(_) if mode == 1 => true,
            Some((_, held)) => bound.is_some_and(|bound| *held < bound),
            None => mode == 2,
        };
        if skips {
            skipped.push(id);
        } else {
            model.0.insert(id, (next, n));
        }
    }
    (body, Ok(vec![skipped]))
}

#[test]
fn random_writes_meet_versions_as_a_model_does_c25() {
    let cases = common::setting("CONDITIONAL_WRITES").unwrap_or(300);
    // With an even seed each filter is resolved beside the writer.
    for seed in 1..=2 {
        let (mut engine, mut random, mut model, mut next) =
            (new_engine(seed), Random(seed), Model(BTreeMap::new()), 1);
        for case in 0..cases {
            let mut after = Model(model.0.clone());
            let (mut operations, mut outcome) = (Vec::new(), Ok(Vec::new()));
            for _ in 0..1 + random.below(3) {
                let (body, done) = operation(&mut random, &mut after, next);
                operations.push(body);
                outcome = outcome.and_then(|mut all: Vec<Vec<u64>>| {
                    all.extend(done?);
                    Ok(all)
                });
            }
            let answer = engine.call("batch_update", COLLECTION, json!({"operations": operations}));
            match (answer, outcome) {
                (Ok(results), Ok(skipped)) => {
                    let shown = |ids: &Vec<u64>| match ids.is_empty() {
                        true => Value::Null,
                        false => json!({"count": ids.len(), "ids": ids}),
                    };
                    for (result, skipped) in results.as_array().expect("a list").iter().zip(&skipped) {
                        assert_eq!(
                            (&result["skipped"], &result["operation_id"]),
                            (&shown(skipped), &json!(next))
                        );
                    }
                    (model, next) = (after, next + 1);
                }
                (Err(error), Err(())) => assert_eq!(error.code(), "version_conflict"),
                (answer, outcome) => {
                    panic!("seed {seed}, case {case}: {operations:?}\n{answer:?}\n{outcome:?}")
                }
            }
            if case % 50 == 49 {
                engine.power_cut(case);
            }
            assert_eq!(versions(&engine), model.0, "seed {seed}, case {case}");
        }
    }
}
