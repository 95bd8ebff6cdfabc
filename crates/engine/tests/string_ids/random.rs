//! Random operations beside a simple model, with restarts, cuts of the power, checkpoints and clones between them.

use super::common::{Random, SHORT_FILES, TestEngine};
use super::{create, ids_of, scrolled};
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An id as it sorts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    Integer(u64),
    Text(Vec<u8>),
}

impl Id {
    fn json(&self) -> Value {
        match self {
            Id::Integer(number) => json!(number),
            Id::Text(bytes) => json!(std::str::from_utf8(bytes).expect("it was made of a string")),
        }
    }

    /// One of about two hundred, of which many differ late, or only in their kind.
    fn any(random: &mut Random) -> Id {
        let number = random.below(25);
        let text = match random.below(8) {
            0 | 1 => return Id::Integer(number),
            2 => number.to_string(),
            3 => format!("doc-{number}"),
            4 => format!("{}{number}", "p".repeat(14)),
            5 => format!("{}{number}", "s".repeat(29)),
            6 => format!("{}{number:06}", "é".repeat(125)),
            _ => format!("550e8400-e29b-41d4-a716-4466554400{number:02}"),
        };
        Id::Text(text.into_bytes())
    }
}

type Model = BTreeMap<Id, u64>;

fn write(engine: &TestEngine, random: &mut Random, model: &mut Model, step: u64) {
    let ids: Vec<Id> = (0..1 + random.below(6)).map(|_| Id::any(random)).collect();
    match random.below(10) {
        0..6 => {
            let point =
                |id: &Id| json!({"id": id.json(), "vector": [step as f32, 0.5], "payload": {"n": step}});
            let points: Vec<Value> = ids.iter().map(point).collect();
            engine.ok("upsert_points", "c", json!({"points": points}));
            model.extend(ids.into_iter().map(|id| (id, step)));
        }
        6 | 7 => {
            let named: Vec<Value> = ids.iter().map(Id::json).collect();
            engine.ok("delete_points", "c", json!({"points": named}));
            model.retain(|id, _| !ids.contains(id));
        }
        8 => {
            let named: Vec<Value> = ids.iter().map(Id::json).collect();
            let edited = engine.call("set_payload", "c", json!({"points": named, "payload": {"n": step}}));
            let all_there = ids.iter().all(|id| model.contains_key(id));
            assert_eq!(edited.is_ok(), all_there, "{ids:?}");
            if all_there {
                model.extend(ids.into_iter().map(|id| (id, step)));
            }
        }
        _ => {
            let below = step.saturating_sub(40);
            let filter = json!({"must": [{"key": "n", "range": {"lt": below}}, {"has_id": ids.iter().map(Id::json).collect::<Vec<_>>()}]});
            engine.ok("delete_points", "c", json!({"filter": filter}));
            model.retain(|id, n| *n >= below || !ids.contains(id));
        }
    }
}

fn pass(engine: &mut TestEngine, random: &mut Random) {
    match random.below(6) {
        0 => engine.restart(),
        1 => engine.power_cut(random.next()),
        2 => engine.checkpoint(),
        3 => {
            engine.close();
            engine.open().expect("it opens");
        }
        4 => {
            engine.checkpoint();
            engine.restart();
        }
        _ => {
            engine.ok("clone_collection", "c", json!({"name": "clone"}));
            engine.ok("delete_collection", "c", json!(null));
            engine.ok("clone_collection", "clone", json!({"name": "c"}));
            engine.ok("delete_collection", "clone", json!(null));
        }
    }
}

fn compare(engine: &TestEngine, random: &mut Random, model: &Model) {
    let expected: Vec<Value> = model.keys().map(Id::json).collect();
    assert_eq!(scrolled(engine, 1 + random.below(40) as usize), expected);
    let probes: Vec<Id> = (0..12).map(|_| Id::any(random)).collect();
    let named: Vec<Value> = probes.iter().map(Id::json).collect();
    let mut held: Vec<&Id> = probes.iter().filter(|id| model.contains_key(id)).collect();
    held.sort();
    held.dedup();
    let held: Vec<Value> = held.into_iter().map(Id::json).collect();
    let filtered = engine.ok("scroll", "c", json!({"limit": 50, "filter": {"must": {"has_id": named}}}));
    assert_eq!(ids_of(&filtered["points"]), held);
    let retrieved = engine.ok("retrieve_points", "c", json!({"ids": expected, "with_payload": true}));
    let payloads: Vec<u64> =
        retrieved.as_array().unwrap().iter().map(|point| point["payload"]["n"].as_u64().unwrap()).collect();
    assert_eq!(payloads, model.values().copied().collect::<Vec<_>>());
    let from = Id::any(random);
    let page = engine.ok("scroll", "c", json!({"limit": 3, "offset": from.json()}));
    let expected: Vec<Value> = model.range(from..).take(3).map(|(id, _)| id.json()).collect();
    assert_eq!(ids_of(&page["points"]), expected);
}

#[test]
fn random_operations_leave_what_a_simple_model_has_c21() {
    for seed in 1..9 {
        let mut random = Random(seed);
        let mut engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
        create(&engine, "c");
        let mut model = Model::new();
        for step in 1..160 {
            write(&engine, &mut random, &mut model, step);
            if random.chance(8) {
                let before = engine.digest("c");
                pass(&mut engine, &mut random);
                assert_eq!(engine.digest("c"), before, "seed {seed}, step {step}");
            }
            if random.chance(15) {
                compare(&engine, &mut random, &model);
            }
        }
        compare(&engine, &mut random, &model);
    }
}
