//! Hundreds of ids that are written and deleted in runs, beside a sorted map: the index of ids has many lists then.

mod common;

use common::{Random, SHORT_FILES, TestEngine};
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The step in which each id was written last.
type Model = BTreeMap<u64, u64>;

/// How a number is written as an id; both kinds sort as numbers do.
#[derive(Clone, Copy)]
enum Kind {
    Integer,
    Uuid,
}

impl Kind {
    fn id(self, number: u64) -> Value {
        match self {
            Kind::Integer => json!(number),
            Kind::Uuid => json!(format!("00000000-0000-0000-0000-{number:012x}")),
        }
    }
}

/// Numbers next to each other, ascending or descending, that begin near a multiple of 100.
fn run(random: &mut Random) -> Vec<u64> {
    let start = 500 + 100 * random.below(12) + random.below(3) - 1;
    let len = [1, 1, 1, 2, 62 + random.below(5), random.below(300)][random.below(6) as usize];
    let ascends = random.chance(50);
    (0..len).map(|at| if ascends { start + at } else { start - at }).collect()
}

fn compare(engine: &TestEngine, kind: Kind, model: &Model, when: &str) {
    let page = engine.ok("scroll", "c", json!({"limit": 10_000}));
    let of_page: Vec<(Value, u64)> = page["points"]
        .as_array()
        .expect("points")
        .iter()
        .map(|point| (point["id"].clone(), point["payload"]["n"].as_u64().expect("a number")))
        .collect();
    assert_eq!(of_page, model.iter().map(|(id, n)| (kind.id(*id), *n)).collect::<Vec<_>>(), "{when}");
    let ids: Vec<Value> = model.keys().map(|id| kind.id(*id)).collect();
    let retrieved = engine.ok("retrieve_points", "c", json!({"ids": ids}));
    assert_eq!(retrieved.as_array().map(Vec::len), Some(model.len()), "{when}");
}

#[test]
fn runs_of_ids_that_are_written_and_deleted_leave_what_a_sorted_map_has_c5() {
    for (seed, kind) in (1..5).flat_map(|seed| [(seed, Kind::Integer), (seed, Kind::Uuid)]) {
        let (mut random, mut model) = (Random(seed), Model::new());
        let mut engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
        engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
        for step in 0..60 {
            let (run, when) = (run(&mut random), format!("seed {seed}, step {step}"));
            if random.chance(60) {
                for part in run.chunks(1 + random.below(100) as usize) {
                    let point = |id: &u64| json!({"id": kind.id(*id), "vector": [1], "payload": {"n": step}});
                    let points: Vec<Value> = part.iter().map(point).collect();
                    engine.ok("upsert_points", "c", json!({"points": points}));
                }
                model.extend(run.into_iter().map(|id| (id, step)));
            } else {
                let ids: Vec<Value> = run.iter().map(|id| kind.id(*id)).collect();
                engine.ok("delete_points", "c", json!({"points": ids}));
                model.retain(|id, _| !run.contains(id));
            }
            compare(&engine, kind, &model, &when);
            match random.below(30) {
                0 => engine.restart(),
                1 => engine.power_cut(random.next()),
                2 => engine.checkpoint(),
                _ => continue,
            }
            compare(&engine, kind, &model, &when);
        }
    }
}
