//! Random writes, times and restarts, beside a model.

use crate::common::{self, Random};
use crate::{COLLECTION, config, ids, new_engine, set_clock};
use kithdb_engine::collection::GraphPolicy;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A point of the model: its time, and a number.
type Points = BTreeMap<u64, (Option<i64>, u64)>;

fn visible(model: &Points, now: i64) -> Vec<u64> {
    model.iter().filter(|(_, (until, _))| until.is_none_or(|until| until > now)).map(|(id, _)| *id).collect()
}

/// A random write; what it does to the model at a time.
fn write(random: &mut Random, model: &mut Points, now: i64) -> (&'static str, Value, bool) {
    let id = random.below(30);
    let until = random.chance(70).then(|| now + random.below(20) as i64 - 3);
    let n = random.below(4);
    // What has come to its end is as if it were deleted.
    model.retain(|_, (until, _)| until.is_none_or(|until| until > now));
    let exists = model.contains_key(&id);
    match random.below(10) {
        0..5 => {
            let (mode, skips) = [("upsert", false), ("insert_only", exists), ("update_only", !exists)]
                [random.below(3) as usize];
            let point = json!({"id": id, "vector": [1, n], "payload": {"until": until, "kind": "a", "n": n}});
            if !skips {
                model.insert(id, (until, n));
            }
            ("upsert", json!({"points": [point], "update_mode": mode}), true)
        }
        5 => {
            model.remove(&id);
            ("delete", json!({"points": [id]}), true)
        }
        6 => {
            model.retain(|_, (_, held)| *held != n);
            ("delete", json!({"filter": {"must": {"key": "n", "match": {"value": n}}}}), true)
        }
        7 => {
            if let Some(point) = model.get_mut(&id) {
                point.0 = until;
            }
            ("set_payload", json!({"payload": {"until": until}, "points": [id]}), exists)
        }
        8 => {
            model.values_mut().filter(|(_, held)| *held == n).for_each(|point| point.0 = until);
            (
                "set_payload",
                json!({"payload": {"until": until}, "filter": {"must": {"key": "n", "match": {"value": n}}}}),
                true,
            )
        }
        _ => {
            let version = u64::from(exists);
            let body = json!({"payload": {"until": until}, "points": [id], "if_version": 0});
            // Absence is expected of a point that is there, or the point is not.
            ("set_payload", body, version > 1)
        }
    }
}

#[test]
fn random_writes_and_times_agree_with_a_model_c17() {
    let cases = common::setting("EXPIRY_CASES").unwrap_or(250);
    for seed in 1..=2 {
        let (mut engine, mut random, mut model, mut now) =
            (new_engine(seed, config()), Random(seed), Points::new(), 100);
        for case in 0..cases {
            set_clock(&engine, now);
            let mut after = model.clone();
            let (mut operations, mut succeeds) = (Vec::new(), true);
            for _ in 0..1 + random.below(3) {
                let (key, body, done) = write(&mut random, &mut after, now);
                operations.push(json!({key: body}));
                succeeds &= done;
            }
            let answer = engine.call("batch_update", COLLECTION, json!({"operations": operations}));
            assert_eq!(answer.is_ok(), succeeds, "seed {seed}, case {case}: {operations:?}: {answer:?}");
            if succeeds {
                model = after;
            }
            match random.below(12) {
                0 => engine.power_cut(case),
                1 => engine.restart(),
                2 => engine.checkpoint(),
                3 => engine.work(GraphPolicy::Never),
                4 if !model.is_empty() => {
                    let body = json!({"field_name": "n", "field_schema": "integer"});
                    engine.ok("create_field_index", COLLECTION, body);
                }
                5 => {
                    let dropped =
                        engine.execute("delete_field_index", COLLECTION, Some("n"), true, Vec::new());
                    dropped.expect("an absent index is no error");
                }
                _ => {}
            }
            now += random.below(4) as i64;
            set_clock(&engine, now);
            let expected = visible(&model, now);
            let scrolled = ids(&engine.ok("scroll", COLLECTION, json!({"limit": 100}))["points"]);
            assert_eq!(scrolled, expected, "seed {seed}, case {case}");
            let found = ids(&engine.ok("search", COLLECTION, json!({"vector": [1, 1], "limit": 100})));
            assert_eq!(found, expected, "seed {seed}, case {case}");
            let count =
                |filter: Value| engine.ok("count", COLLECTION, json!({"filter": filter}))["count"].take();
            assert_eq!(count(json!({})), expected.len(), "seed {seed}, case {case}");
            let matching = expected.iter().filter(|id| model[*id].1 == 1).count();
            assert_eq!(
                count(json!({"must": {"key": "n", "match": {"value": 1}}})),
                matching,
                "seed {seed}, case {case}"
            );
        }
    }
}
