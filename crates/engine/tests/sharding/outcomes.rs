//! The answers of shards to their parts of a write, beside that of one collection.

use crate::cluster::{Cluster, METRICS, city, dense, id, point};
use crate::common::{Random, setting};
use kithdb_engine::api::BodyForm;
use kithdb_engine::sharding::split_write;
use kithdb_engine::types::{IdKind, Metric};
use serde_json::{Value, json};

/// Points that are named.
const IDS: u64 = 40;

struct Writer {
    random: Random,
    kind: IdKind,
}

impl Writer {
    fn id(&mut self) -> Value {
        id(self.random.below(IDS), self.kind)
    }

    fn ids(&mut self) -> Vec<Value> {
        (0..1 + self.random.below(6)).map(|_| self.id()).collect()
    }

    fn filter(&mut self) -> Value {
        match self.random.below(2) {
            0 => json!({"must": {"key": "n", "match": {"value": self.random.below(9)}}}),
            _ => json!({"must_not": {"key": "city", "match": {"value": city(&mut self.random)}}}),
        }
    }

    fn upsert(&mut self) -> Value {
        let ids = self.ids();
        let mut body = match self.random.below(4) {
            0 => json!({"batch": {
                "ids": ids,
                "vectors": {"a": ids.iter().map(|_| dense(&mut self.random, 4)).collect::<Vec<_>>()},
                "payloads": ids.iter().map(|_| json!({"n": self.random.below(9)})).collect::<Vec<_>>(),
            }}),
            _ => {
                let points = ids.into_iter().map(|id| point(&mut self.random, id));
                json!({"points": points.collect::<Vec<_>>()})
            }
        };
        match self.random.below(4) {
            0 => body["update_mode"] = json!("insert_only"),
            1 => body["update_mode"] = json!("update_only"),
            2 => body["update_filter"] = self.filter(),
            _ => {}
        }
        body
    }

    /// Names points, or has a filter.
    fn selecting(&mut self, mut body: Value) -> Value {
        match self.random.below(2) {
            0 => body["points"] = json!(self.ids()),
            _ => body["filter"] = self.filter(),
        }
        body
    }

    /// An update: its name in a batch, its operation, and its body.
    fn update(&mut self) -> (&'static str, &'static str, Value) {
        match self.random.below(9) {
            0..3 => ("upsert", "upsert_points", self.upsert()),
            3 | 4 => {
                let points: Vec<Value> = self
                    .ids()
                    .into_iter()
                    .map(|id| json!({"id": id, "vector": {"b": dense(&mut self.random, 2)}}))
                    .collect();
                // The other name of the points has nothing to say.
                let body = json!({"points": points, "vectors": null, "update_filter": self.filter()});
                ("update_vectors", "update_vectors", body)
            }
            5 => ("delete", "delete_points", self.selecting(json!({}))),
            6 => ("set_payload", "set_payload", self.selecting(json!({"payload": {"n": 1}}))),
            7 => ("delete_vectors", "delete_vectors", self.selecting(json!({"vector": ["b"]}))),
            _ => ("clear_payload", "clear_payload", self.selecting(json!({}))),
        }
    }

    fn batch(&mut self) -> Value {
        let operations: Vec<Value> = (0..1 + self.random.below(5))
            .map(|_| {
                let (name, _, body) = self.update();
                json!({name: body})
            })
            .collect();
        json!({"operations": operations})
    }
}

/// How many of the results of a write say that points were left as they were.
fn skips(answer: &Value) -> usize {
    let results = answer.as_array().cloned().unwrap_or_else(|| vec![answer.clone()]);
    results
        .iter()
        .filter(|result| result["skipped"]["ids"].as_array().is_some_and(|ids| ids.len() > 1))
        .count()
}

#[test]
fn answers_to_updates_and_batches_are_those_of_one_collection() {
    let times = 150 * setting("KITHDB_SHARDING_FACTOR").unwrap_or(1);
    let (mut good, mut skipped) = (0, 0);
    for (at, metric) in METRICS.into_iter().enumerate() {
        let kind = if at % 2 == 0 { IdKind::Default } else { IdKind::String };
        let cluster = Cluster::new(2 + at as u32, metric, kind);
        let random = Random(setting("KITHDB_SHARDING_SEED").unwrap_or(17) + at as u64);
        let mut writer = Writer { random, kind };
        let all: Vec<Value> =
            (0..IDS - 4).map(|number| point(&mut writer.random, id(number, kind))).collect();
        cluster.write("upsert_points", "c", &json!({"points": all})).expect("good points");
        for _ in 0..times {
            let (operation, body) = match writer.random.chance(50) {
                true => ("batch_update", writer.batch()),
                false => {
                    let (_, operation, body) = writer.update();
                    (operation, body)
                }
            };
            if let Ok(answer) = cluster.write(operation, "c", &body) {
                good += 1;
                skipped += skips(&answer);
            }
        }
        let everything = json!({"limit": 1000, "with_payload": true, "with_vector": true});
        cluster.same("query", None, &everything).expect("a page");
    }
    assert!(
        good > 200 && skipped > 50,
        "only {good} writes were good, and {skipped} left points as they were"
    );
}

#[test]
fn every_operation_of_a_batch_has_its_result_and_its_place() {
    let cluster = Cluster::new(3, Metric::Dot, IdKind::Default);
    let of_shard = |shard: u32| (0..).find(|number| cluster.shard_of(&json!(number)) == shard).unwrap();
    let (first, second) = (of_shard(0), of_shard(1));
    let upsert = |id: u64| json!({"upsert": {"points": [{"id": id, "vector": {}}]}});
    let batch = json!({"operations": [upsert(first), upsert(second), {"delete": {"points": [first]}}]});
    let answer = cluster.write("batch_update", "c", &batch).unwrap();
    let result = json!({"operation_id": 1 << 20, "status": "completed"});
    assert_eq!(answer, json!([result, result, result]));
    let conflicting = json!({"operations": [
        upsert(first),
        {"set_payload": {"payload": {"a": 1}, "points": [second]}},
        {"set_payload": {"payload": {"a": 2}, "points": [second], "if_version": 5}},
    ]});
    let body = conflicting.to_string();
    let parts = split_write(&cluster.request("batch_update", "c", body.as_bytes()), &cluster.layout).unwrap();
    let part = parts.into_iter().nth(1).flatten().unwrap();
    let refused = cluster.engine.call_bytes("batch_update", "c1", part).unwrap_err();
    let details = String::from_utf8(refused.details_json()).unwrap();
    assert!(refused.code() == "version_conflict" && details.contains("operations[2]"), "{details}");
}

#[test]
fn lines_are_answered_as_points_in_a_list() {
    let cluster = Cluster::new(3, Metric::Dot, IdKind::Default);
    let lines: Vec<String> = (0..20).map(|id| format!("{{\"id\":{id},\"vector\":{{}}}}")).collect();
    let lines = lines.join("\n");
    let answer = cluster.write_bytes("upsert_points", "c", BodyForm::Lines, lines.as_bytes()).unwrap();
    assert_eq!(answer, json!({"operation_id": 1 << 20, "status": "completed"}));
    assert_eq!(cluster.same("count", None, &json!({})).unwrap(), json!({"count": 20}));
}

#[test]
fn a_list_of_skipped_points_is_as_long_as_that_of_one_collection() {
    let cluster = Cluster::new(3, Metric::Dot, IdKind::Default);
    let points: Vec<Value> =
        (0..2_500u64).map(|id| json!({"id": (id * 7919) % 2_500, "vector": {}})).collect();
    let body = json!({"points": points, "update_mode": "insert_only"});
    cluster.write("upsert_points", "c", &body).unwrap();
    let again = cluster.write("upsert_points", "c", &body).unwrap();
    assert_eq!(
        (&again["skipped"]["count"], again["skipped"]["ids"].as_array().map(Vec::len)),
        (&json!(2_500), Some(1_000))
    );
}
