//! `wal_config.durability`: what may be missing after a power cut, and that nothing is after the end of the process.

use crate::common::{Random, SHORT_FILES, TestEngine};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::field::IndexScratch;
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::SimDisk;
use kithdb_engine::types::{Row, RowRange};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

type State = BTreeMap<u64, u64>;

/// A collection, with its state after each of its requests.
struct Tracked {
    name: &'static str,
    level: &'static str,
    states: Vec<State>,
    /// The state that must not be gone behind: everything up to it was synced.
    synced: usize,
}

impl Tracked {
    fn last(&self) -> &State {
        self.states.last().expect("the first state is empty")
    }
}

const LEVELS: [(&str, &str); 4] = [("a", "always"), ("i", "interval"), ("o", "os"), ("p", "os")];

fn create(engine: &TestEngine, name: &str, level: &str) {
    let vectors = json!({"size": 2, "distance": "Dot"});
    engine.ok("create_collection", name, json!({"vectors": vectors, "wal_config": {"durability": level}}));
}

fn state(engine: &TestEngine, name: &str) -> State {
    let digest = engine.digest(name);
    let points = digest["points"].as_array().expect("points");
    let number = |value: &Value| value.as_u64().expect("a number");
    points.iter().map(|point| (number(&point["id"]), number(&point["payload"]["n"]))).collect()
}

fn level(engine: &TestEngine, name: &str) -> Value {
    engine.ok("collection_info", name, json!(null))["config"]["wal_config"]["durability"].clone()
}

/// One request; what it would make of the collection is its next state.
fn write(engine: &TestEngine, random: &mut Random, tracked: &mut Tracked) -> bool {
    let mut next = tracked.last().clone();
    let (number, id) = (tracked.states.len() as u64, random.below(20));
    let done = if random.chance(70) {
        next.insert(id, number);
        next.insert(id + 20, number);
        let point = |id| json!({"id": id, "vector": [id, 1.0], "payload": {"n": number}});
        engine.call("upsert_points", tracked.name, json!({"points": [point(id), point(id + 20)]}))
    } else {
        next.retain(|known, _| known % 7 != id % 7);
        let ids: Vec<u64> = (0..40).filter(|known| known % 7 == id % 7).collect();
        engine.call("delete_points", tracked.name, json!({"points": ids}))
    };
    tracked.states.push(next);
    done.is_ok()
}

#[test]
fn a_power_cut_loses_only_the_last_unsynced_operations_and_a_kill_loses_nothing_c4_3() {
    let thresholds = Thresholds {
        checkpoint_bytes: 20 << 10,
        log_budget_bytes: 60 << 10,
        log_segment_bytes: 8 << 10,
        ..Thresholds::default()
    };
    let mut lost = BTreeMap::<&str, usize>::new();
    for seed in 0..400 {
        let mut random = Random(seed);
        let mut engine = TestEngine::with(SimDisk::new(), seed, thresholds).expect("an empty disk opens");
        let mut all: Vec<Tracked> = LEVELS
            .iter()
            .map(|&(name, level)| {
                create(&engine, name, level);
                Tracked { name, level, states: vec![State::new()], synced: 0 }
            })
            .collect();
        for _ in 0..3 {
            // A mix in which some runs hardly ever sync.
            let favourite = random.below(4) as usize;
            for _ in 0..10 + random.below(60) {
                let at = if random.chance(80) { favourite } else { random.below(4) as usize };
                assert!(write(&engine, &mut random, &mut all[at]));
                let mut synced = all[at].level == "always";
                match random.below(100) {
                    0..4 => {
                        let (from, to) =
                            (all[3].level, ["always", "interval", "os"][random.below(3) as usize]);
                        let patch = json!({"wal_config": {"durability": to}});
                        engine.ok("update_collection", "p", patch);
                        all[3].level = to;
                        let unchanged = all[3].last().clone();
                        all[3].states.push(unchanged);
                        synced |= from == "always" || to == "always";
                    }
                    4..6 => engine.work(GraphPolicy::WhenGrown),
                    6 => {
                        engine.work(GraphPolicy::Always);
                        synced = true;
                    }
                    _ => {}
                }
                if synced {
                    all.iter_mut().for_each(|tracked| tracked.synced = tracked.states.len() - 1);
                }
            }
            let killed = random.chance(30);
            if killed {
                engine.kill();
            } else {
                if random.chance(50) {
                    // In the middle of a request.
                    engine.disk.crash_after(random.below(4));
                    let at = random.below(4) as usize;
                    let done = write(&engine, &mut random, &mut all[at]);
                    if done && all[at].level == "always" {
                        all.iter_mut().for_each(|tracked| tracked.synced = tracked.states.len() - 1);
                    }
                }
                engine.cut(random.next());
            }
            engine.open().expect("it opens after anything");
            for tracked in &mut all {
                let found = state(&engine, tracked.name);
                let least = if killed { tracked.states.len() - 1 } else { tracked.synced };
                let kept = (least..tracked.states.len()).rev().find(|&at| tracked.states[at] == found);
                let Some(kept) = kept else {
                    panic!(
                        "seed {seed}, {} ({}): {found:?} is no state from {least} on",
                        tracked.name, tracked.level
                    )
                };
                let gone = tracked.states.len() - 1 - kept;
                *lost.entry(tracked.level).or_default() += gone;
                tracked.states.truncate(kept + 1);
                // What a start has shown is durable.
                tracked.synced = kept;
            }
            // A change of the level may be among what was lost.
            let names = ["always", "interval", "os"];
            let shown = level(&engine, "p");
            all[3].level = names.into_iter().find(|name| shown == *name).expect("a level");
        }
    }
    assert!(lost["os"] > 0 && lost["interval"] > 0, "the cuts must have hit something: {lost:?}");
}

#[test]
fn a_patch_of_the_level_is_as_durable_as_the_stricter_of_the_two_c4_4() {
    for seed in 0..30 {
        for (from, to) in [("always", "os"), ("os", "always"), ("interval", "always"), ("always", "interval")]
        {
            let mut engine = TestEngine::new(seed);
            create(&engine, "c", from);
            let point = json!({"points": [{"id": 1, "vector": [1.0, 2.0], "payload": {"n": 5}}]});
            engine.ok("upsert_points", "c", point);
            engine.ok("update_collection", "c", json!({"wal_config": {"durability": to}}));
            engine.power_cut(seed);
            assert_eq!(level(&engine, "c"), json!(to));
            assert_eq!(state(&engine, "c"), State::from([(1, 5)]));
        }
    }
}

#[test]
fn a_patch_leaves_the_other_settings_of_the_log_alone_and_names_a_bad_one_c4_4() {
    let engine = TestEngine::new(1);
    let wal = json!({"wal_capacity_mb": 64, "durability": "os"});
    let vectors = json!({"size": 2, "distance": "Dot"});
    engine.ok("create_collection", "c", json!({"vectors": vectors, "wal_config": wal}));
    engine.ok("update_collection", "c", json!({"wal_config": {"durability": "interval"}}));
    engine.ok("update_collection", "c", json!({"wal_config": {"durability": null}}));
    let shown = engine.ok("collection_info", "c", json!(null))["config"]["wal_config"].clone();
    assert_eq!(shown["wal_capacity_mb"], json!(64));
    assert_eq!(shown["durability"], json!("interval"));
    let (code, details) =
        engine.refused("update_collection", "c", json!({"wal_config": {"durability": "no"}}));
    assert_eq!(code, "bad_request");
    assert!(details.to_string().contains("wal_config.durability"), "{details}");
}

/// Regression: a checkpoint read the boundary of a graph after the view that it wrote. Points that were deleted in
/// between were left out of the graph. When a power cut undid the deletion, no search found them.
#[test]
fn points_whose_deletion_a_power_cut_undoes_are_found() {
    let mut brought_back = 0;
    for seed in 0..20 {
        let mut engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
        let hnsw = json!({"m": 8, "ef_construct": 64, "full_scan_threshold": 10});
        let vectors = json!({"size": 64, "distance": "Euclid"});
        engine.ok("create_collection", "c", json!({"vectors": vectors, "hnsw_config": hnsw}));
        let mut random = Random(seed);
        let vectors: Vec<Vec<f32>> = (0..120).map(|_| random.vector(64)).collect();
        let put = |ids: Range<usize>| {
            let points: Vec<Value> = ids.map(|id| json!({"id": id, "vector": vectors[id]})).collect();
            engine.ok("upsert_points", "c", json!({"points": points}));
        };
        put(0..100);
        engine.work(GraphPolicy::Always);
        put(100..120);
        engine.ok("update_collection", "c", json!({"wal_config": {"durability": "os"}}));
        let served = engine.engine().catalog().collections().remove(0);
        let (client, other) = (engine.client(), Arc::clone(&served));
        engine.disk.interleave(Some(Arc::new(move |place: &str| {
            if place == "behind the view of a checkpoint" {
                client.ok("delete_points", "c", json!({"points": (100..120).collect::<Vec<_>>()}));
                while other.index_some(&mut IndexScratch::default()) {}
            }
        })));
        served.checkpoint(GraphPolicy::Always).expect("a sound disk");
        engine.disk.interleave(None);
        drop(served);
        engine.power_cut(seed);
        let snapshot = engine.engine().catalog().collections().remove(0).snapshot();
        let (graph, boundary) = snapshot.graphs[0].as_ref().expect("a graph");
        let in_graph: BTreeSet<Row> = graph.hnsw.all_nodes().map(|node| graph.hnsw.row_of(node)).collect();
        let table = &snapshot.view.fields[0];
        let is_lost = |&row: &Row| table.alive(row, snapshot.view.op) && !in_graph.contains(&row);
        assert_eq!(
            RowRange::new(Row::FIRST, *boundary).iter().find(is_lost),
            None,
            "seed {seed}: a live row that no walk meets"
        );
        brought_back += usize::from(table.live() == 120);
    }
    assert!(brought_back > 0, "no cut took the deletion back");
}
