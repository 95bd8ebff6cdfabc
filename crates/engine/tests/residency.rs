//! C24: collections that are not used give their memory back, and the first request wakes them.

mod common;

use common::{Random, SHORT_FILES, TestEngine, request, result_of};
use kithdb_engine::catalog::{Catalog, Entry, ResidenceState};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{
    Engine, Options, Request, index_everything, put_to_sleep, sleep_idle, wake_expiring,
};
use kithdb_engine::field::IndexScratch;
use kithdb_engine::limits::{ResidencyThresholds, Thresholds};
use kithdb_engine::storage::{RealDisk, SimDisk, Storage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const USUAL: ResidencyThresholds = ResidencyThresholds::USUAL;

/// A start opens only what may not sleep.
const NONE_AT_START: Thresholds = Thresholds {
    residency: ResidencyThresholds {
        idle: Some(Duration::ZERO),
        opened_at_start: 0,
        large_bytes: 0,
        ..USUAL
    },
    ..SHORT_FILES
};

fn points(ids: std::ops::Range<u64>, round: u64) -> Value {
    let point = |id: u64| {
        let vector: Vec<f64> = (0..96).map(|at| ((id * 31 + at * 7 + round) % 23) as f64 - 11.0).collect();
        json!({"id": id, "vector": vector, "payload": {"n": id + round}})
    };
    json!({"points": ids.map(point).collect::<Vec<_>>()})
}

fn config() -> Value {
    json!({
        "vectors": {"size": 96, "distance": "Euclid"},
        "hnsw_config": {"m": 4, "ef_construct": 16, "full_scan_threshold": 10},
        "optimizers_config": {"indexing_threshold": 1},
    })
}

/// An engine with a collection that has a graph, a field index, and a log behind its checkpoint.
fn prepared(thresholds: Thresholds) -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), 1, thresholds).expect("an empty disk opens");
    engine.ok("create_collection", "c", config());
    engine.ok("upsert_points", "c", points(0..80, 0));
    engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
    engine.checkpoint();
    engine.ok("upsert_points", "c", points(60..90, 5));
    engine.ok("delete_points", "c", json!({"points": [3, 4]}));
    engine.work(GraphPolicy::Never);
    engine
}

fn entry(catalog: &Catalog, name: &str) -> Arc<Entry> {
    catalog.entries().into_iter().find(|entry| entry.name == name).expect("a collection")
}

fn state(engine: &TestEngine, name: &str) -> Option<ResidenceState> {
    entry(engine.engine().catalog(), name).residence_state()
}

/// Puts a collection to sleep, as background work does once everything is built.
fn sleep(engine: &TestEngine, name: &str) -> bool {
    let catalog = engine.engine().catalog();
    index_everything(catalog, &mut IndexScratch::default());
    put_to_sleep(catalog, &entry(catalog, name))
}

fn info(engine: &TestEngine, name: &str) -> Value {
    engine.ok("collection_info", name, Value::Null)
}

/// The info without what sleep changes.
fn lasting(mut info: Value) -> Value {
    let info_object = info.as_object_mut().expect("an object");
    info_object.remove("residency");
    info_object.remove("size");
    info
}

fn near(engine: &TestEngine, name: &str) -> Value {
    engine.ok("query", name, json!({"query": 12, "limit": 5, "params": {"hnsw_ef": 400}}))
}

#[test]
fn a_collection_gives_its_memory_back_and_the_first_request_for_points_wakes_it_c24() {
    let engine = prepared(SHORT_FILES);
    engine.ok(
        "change_aliases",
        "",
        json!({"actions": [{"create_alias": {"collection_name": "c", "alias_name": "a"}}]}),
    );
    let (before, digest, found) = (info(&engine, "c"), engine.digest("c"), near(&engine, "c"));
    assert_eq!(before["residency"]["state"], json!("awake"));
    assert_eq!(before["residency"]["resident_bytes"], before["size"]["memory_bytes"]);
    assert_eq!(before["residency"]["opened_ms"], Value::Null, "it was made by this engine");
    let status = engine.engine().status();
    assert!(sleep(&engine, "c"));
    // What tells of it does not wake it, and says the same.
    let asleep = info(&engine, "c");
    assert_eq!(lasting(asleep.clone()), lasting(before.clone()));
    assert_eq!(
        asleep["residency"],
        json!({"setting": "auto", "state": "asleep", "resident_bytes": 0, "opened_ms": null})
    );
    assert_eq!(asleep["size"]["memory_bytes"], json!(0));
    assert!(asleep["size"]["disk_bytes"].as_u64() > Some(1000));
    assert_eq!(engine.ok("list_collections", "", Value::Null), json!({"collections": [{"name": "c"}]}));
    assert_eq!(engine.ok("collection_exists", "c", Value::Null), json!({"exists": true}));
    engine.ok("collection_status", "c", Value::Null);
    engine.ok("list_aliases", "", Value::Null);
    let now = engine.engine().status();
    assert_eq!((now.asleep, now.points, now.collections), (1, status.points, 1));
    assert_eq!(now.memory.resident(), 0);
    assert!(engine.engine().health_issues().is_empty());
    engine.work(GraphPolicy::Always);
    engine.engine().scrub_once();
    engine.engine().stage().expect("a backup");
    engine.engine().unstage().expect("the disk's");
    assert_eq!(state(&engine, "c"), Some(ResidenceState::Asleep));
    // The first request for points wakes it; by an alias too.
    assert_eq!(engine.digest("a"), digest);
    assert_eq!(state(&engine, "c"), Some(ResidenceState::Awake));
    assert!(info(&engine, "c")["residency"]["opened_ms"].as_f64() > Some(0.0));
    assert_eq!(near(&engine, "c"), found, "its graph is the one that it had");
    engine.work(GraphPolicy::Never);
    assert_eq!(lasting(info(&engine, "c")), lasting(before));
    // And it sleeps again.
    engine.ok("upsert_points", "c", points(200..210, 1));
    let digest = engine.digest("c");
    engine.work(GraphPolicy::Never);
    assert!(sleep(&engine, "c"));
    engine.ok("set_payload", "c", json!({"points": [1], "payload": {"n": 1}}));
    assert_eq!(engine.digest("c"), digest, "a write wakes it too");
}

#[test]
fn a_hot_collection_stays_awake_c24() {
    let mut engine = prepared(NONE_AT_START);
    engine.ok("update_collection", "c", json!({"residency": "hot"}));
    assert_eq!(info(&engine, "c")["residency"]["setting"], json!("hot"));
    assert!(!sleep(&engine, "c"));
    engine.close();
    engine.open().expect("it opens");
    assert_eq!(state(&engine, "c"), Some(ResidenceState::Awake), "a start opens it");
    let error = engine.call("update_collection", "c", json!({"residency": "cold"})).expect_err("unknown");
    assert!(error.to_string().contains("auto or hot"), "{error}");
    engine.ok("update_collection", "c", json!({"residency": null}));
    assert!(sleep(&engine, "c"));
    // A change of the setting wakes it.
    engine.ok("update_collection", "c", json!({"residency": "hot"}));
    assert_eq!((state(&engine, "c"), sleep(&engine, "c")), (Some(ResidenceState::Awake), false));
    engine.ok(
        "create_collection",
        "h",
        json!({"vectors": {"size": 1, "distance": "Dot"}, "residency": "hot"}),
    );
    assert!(!sleep(&engine, "h"));
}

#[test]
fn a_collection_sleeps_only_when_nobody_holds_it_c22_c24() {
    let engine = prepared(SHORT_FILES);
    let page = json!({"limit": 10, "cursor": {"ttl": 60}});
    let envelope =
        engine.client().answer("scroll", "c", None, true, page.to_string().into_bytes()).expect("a page");
    let envelope: Value = serde_json::from_slice(&envelope).expect("JSON");
    assert!(!sleep(&engine, "c"), "a cursor reads it");
    let next = json!({"cursor": envelope["next_cursor"]});
    let more = engine.ok("scroll", "c", next);
    assert_eq!(more["points"].as_array().map(Vec::len), Some(10));
    let held = entry(engine.engine().catalog(), "c").collection();
    assert!(held.is_some() && !sleep(&engine, "c"));
    // One that a write has gone wrong in is reopened by a restart alone.
    engine.ok("create_collection", "d", config());
    entry(engine.engine().catalog(), "d").collection().expect("awake").poison("a test");
    assert!(!sleep(&engine, "d"));
}

#[test]
fn what_only_the_log_has_is_in_a_checkpoint_before_a_collection_sleeps_c24() {
    for (seed, level) in (0..12).zip(["always", "interval", "os"].into_iter().cycle()) {
        let mut engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
        let mut body = config();
        body["wal_config"] = json!({"durability": level});
        engine.ok("create_collection", "c", body);
        engine.ok("upsert_points", "c", points(0..30, 0));
        engine.work(GraphPolicy::Always);
        engine.ok("upsert_points", "c", points(20..40, 7));
        engine.work(GraphPolicy::Never);
        let digest = engine.digest("c");
        assert!(sleep(&engine, "c"));
        let catalog = engine.engine().catalog();
        catalog.checkpoint().expect("a sound disk");
        assert_eq!(catalog.pinned_lsn(), None, "the log has nothing of it");
        catalog.cut_log();
        if seed % 2 == 0 {
            engine.power_cut(seed);
        }
        assert_eq!(engine.digest("c"), digest, "{level}");
    }
}

#[test]
fn damage_quarantines_the_collection_that_wakes_and_no_other_c24_c10_2() {
    for file in ["MANIFEST", ".data"] {
        let engine = prepared(SHORT_FILES);
        engine.ok("create_collection", "d", config());
        engine.ok("upsert_points", "d", points(0..40, 0));
        engine.work(GraphPolicy::Always);
        let other = engine.digest("d");
        assert!(sleep(&engine, "c") && sleep(&engine, "d"));
        damage(&engine, "c", file);
        assert_eq!(info(&engine, "c")["status"], json!("green"), "nobody has looked");
        let (code, _) = engine.refused("scroll", "c", json!({}));
        assert_eq!(code, "collection_fault", "{file}");
        assert_eq!(info(&engine, "c")["status"], json!("red"));
        assert_eq!(engine.engine().status().quarantined, 1);
        assert_eq!(engine.refused("upsert_points", "c", points(0..1, 0)).0, "collection_fault");
        assert_eq!(engine.digest("d"), other);
        engine.ok("delete_collection", "c", Value::Null);
        engine.ok("create_collection", "c", config());
    }
}

fn damage(engine: &TestEngine, name: &str, file: &str) {
    let folder = format!("collections/{:016x}", entry(engine.engine().catalog(), name).id);
    let names = engine.disk.list(&folder).expect("a folder");
    for name in names.iter().filter(|name| name.ends_with(file)) {
        let flip = |bytes: &mut Vec<u8>| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        };
        engine.disk.decay(&format!("{folder}/{name}"), flip).expect("a file");
    }
}

#[test]
fn the_scrub_finds_damage_of_a_collection_that_sleeps_c24() {
    let engine = prepared(SHORT_FILES);
    assert!(sleep(&engine, "c"));
    damage(&engine, "c", ".data");
    engine.engine().scrub_once();
    assert_eq!(state(&engine, "c"), None, "it is quarantined");
    let report = engine.engine().scrub_report();
    assert!(report.data_failures > 0, "{report:?}");
    assert_eq!(report.findings.front().and_then(|finding| finding.collection.clone()), Some("c".to_string()));
}

#[test]
fn a_collection_does_not_wake_in_an_older_state_c24() {
    let engine = prepared(SHORT_FILES);
    engine.work(GraphPolicy::Always);
    let manifest = format!("collections/{:016x}/MANIFEST", entry(engine.engine().catalog(), "c").id);
    let older = engine.disk.read(&manifest).expect("a manifest");
    let digest = engine.digest("c");
    // Everything that the older one names is still there.
    engine.ok("set_payload", "c", json!({"points": [7], "payload": {"n": 70}}));
    engine.work(GraphPolicy::Never);
    assert!(sleep(&engine, "c"));
    assert_ne!(engine.disk.read(&manifest).expect("a manifest"), older);
    engine.disk.decay(&manifest, |bytes| *bytes = older).expect("a file");
    let (code, details) = engine.refused("scroll", "c", json!({"limit": 1000}));
    assert_eq!(code, "collection_fault", "{details} {}", digest["points"][0]);
}

#[test]
fn points_of_a_collection_that_sleeps_come_to_their_end_c17_c24() {
    let engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    engine.client().set_clock(1_000);
    engine.ok(
        "create_collection",
        "c",
        json!({"vectors": {"size": 1, "distance": "Dot"}, "expire_at_key": "until"}),
    );
    let point = |id: u64, until: u64| json!({"id": id, "vector": [1.0], "payload": {"until": until}});
    engine.ok("upsert_points", "c", json!({"points": [point(1, 2_000), point(2, 3_000)]}));
    engine.work(GraphPolicy::Never);
    let catalog = engine.engine().catalog();
    assert!(sleep(&engine, "c"));
    wake_expiring(catalog);
    assert_eq!(state(&engine, "c"), Some(ResidenceState::Asleep), "nothing is due");
    engine.client().set_clock(2_500);
    wake_expiring(catalog);
    assert_eq!(state(&engine, "c"), Some(ResidenceState::Awake));
    assert!(!sleep(&engine, "c"), "it is to be removed first");
    engine.work(GraphPolicy::Never);
    assert!(sleep(&engine, "c"));
    assert_eq!(info(&engine, "c")["points_count"], json!(1));
}

#[test]
fn the_longest_idle_sleep_while_all_hold_more_than_the_budget_c24() {
    let residency = ResidencyThresholds { idle: None, budget_bytes: Some(1), ..USUAL };
    let engine = prepared(Thresholds { residency, ..SHORT_FILES });
    assert_eq!(sleep_idle(engine.engine().catalog()), 0, "it was used within a second");
    std::thread::sleep(Duration::from_millis(1_050));
    assert_eq!(sleep_idle(engine.engine().catalog()), 1);
    let idle = ResidencyThresholds { idle: Some(Duration::ZERO), ..USUAL };
    let engine = prepared(Thresholds { residency: idle, ..SHORT_FILES });
    engine.ok("create_collection", "d", config());
    assert_eq!(sleep_idle(engine.engine().catalog()), 2, "an empty one too");
    let never = ResidencyThresholds { idle: None, ..USUAL };
    let engine = prepared(Thresholds { residency: never, ..SHORT_FILES });
    assert_eq!(sleep_idle(engine.engine().catalog()), 0);
}

/// Names of the collections that sleep.
fn sleeping(engine: &TestEngine) -> Vec<String> {
    let entries = engine.engine().catalog().entries();
    entries.iter().filter(|one| one.sleeping().is_some()).map(|one| one.name.clone()).collect()
}

fn names(of: &str) -> Vec<String> {
    of.chars().map(String::from).collect()
}

/// An engine with four collections that were written in the order of their names, closed.
fn four(opened_at_start: usize, large_bytes: u64) -> (TestEngine, BTreeMap<String, Value>) {
    let residency = ResidencyThresholds { opened_at_start, large_bytes, ..NONE_AT_START.residency };
    let mut engine =
        TestEngine::with(SimDisk::new(), 1, Thresholds { residency, ..SHORT_FILES }).expect("it opens");
    for name in ["a", "b", "c", "d"] {
        engine.ok("create_collection", name, config());
        engine.ok("upsert_points", name, points(0..40, name.len() as u64));
        engine.ok("create_field_index", name, json!({"field_name": "n", "field_schema": "integer"}));
    }
    engine.work(GraphPolicy::Always);
    let digests = names("abcd").into_iter().map(|name| (name.clone(), engine.digest(&name))).collect();
    engine.close();
    (engine, digests)
}

fn digests(engine: &TestEngine) -> BTreeMap<String, Value> {
    let entries = engine.engine().catalog().entries();
    entries.iter().map(|one| (one.name.clone(), engine.digest(&one.name))).collect()
}

#[test]
fn a_start_opens_what_was_written_last_and_leaves_the_rest_asleep_c24() {
    let (mut engine, before) = four(1, 0);
    engine.open().expect("it opens");
    assert_eq!(sleeping(&engine), names("abc"));
    assert_eq!(engine.engine().status().points, 160);
    let asleep = info(&engine, "a");
    assert_eq!((&asleep["points_count"], &asleep["indexed_vectors_count"]), (&json!(40), &json!(40)));
    assert_eq!(asleep["payload_schema"]["n"]["points"], json!(40));
    assert_eq!(digests(&engine), before);
    assert_eq!(sleeping(&engine), names(""));
    engine.work(GraphPolicy::Never);
    assert_eq!(lasting(info(&engine, "a")), lasting(asleep));
}

#[test]
fn a_start_with_many_collections_leaves_small_ones_asleep_whenever_they_were_written_c24() {
    for (opened_at_start, large_bytes, asleep) in [(3, 1 << 30, "abcd"), (4, 1 << 30, ""), (3, 1, "a")] {
        let (mut engine, before) = four(opened_at_start, large_bytes);
        engine.open().expect("it opens");
        assert_eq!(sleeping(&engine), names(asleep), "{opened_at_start} of 4, {large_bytes}");
        assert_eq!(digests(&engine), before);
    }
}

#[test]
fn a_start_opens_collections_of_which_the_log_has_later_records_c24() {
    let (mut engine, mut before) = four(0, 0);
    engine.open().expect("it opens");
    assert_eq!(sleeping(&engine), names("abcd"));
    engine.ok("upsert_points", "b", points(30..60, 3));
    before.insert("b".to_string(), engine.digest("b"));
    engine.restart();
    assert_eq!(sleeping(&engine), names("acd"), "a kill leaves its records in the log");
    assert_eq!(digests(&engine), before);
    engine.restart();
    assert_eq!(digests(&engine), before);
}

#[test]
fn without_sound_summaries_a_start_opens_everything_c24() {
    let (engine, before) = four(0, 0);
    for kind in 0..4 {
        let mut copy = engine.duplicate();
        let path = "catalog/SUMMARIES";
        match kind {
            0 => copy.disk.remove(path).expect("a file"),
            1 => copy.disk.decay(path, |bytes| bytes[20] ^= 1).expect("a file"),
            2 => copy.disk.decay(path, |bytes| bytes.truncate(30)).expect("a file"),
            _ => {
                // One that is sound and of an earlier time.
                let old = copy.disk.read(path).expect("a file");
                copy.open().expect("it opens");
                for name in ["a", "b", "c", "d"] {
                    copy.ok("delete_points", name, json!({"points": [1]}));
                    copy.ok("upsert_points", name, points(1..2, 9));
                    copy.ok("upsert_points", name, points(1..2, name.len() as u64));
                }
                copy.close();
                copy.disk.decay(path, |bytes| *bytes = old).expect("a file");
            }
        }
        copy.open().expect("it opens");
        assert_eq!(sleeping(&copy), names(""), "{kind}");
        assert_eq!(digests(&copy), before, "{kind}");
    }
}

#[test]
fn everything_that_is_done_to_collections_is_done_to_those_that_sleep_c24() {
    let (mut engine, before) = four(0, 0);
    engine.open().expect("it opens");
    let asleep = |engine: &TestEngine| {
        for name in sleeping_or_not(engine) {
            sleep(engine, &name);
        }
    };
    engine.ok("clone_collection", "a", json!({"name": "e"}));
    engine.work(GraphPolicy::Always);
    asleep(&engine);
    assert_eq!(engine.digest("e"), before["a"]);
    engine.ok("delete_collection", "b", Value::Null);
    assert_eq!(engine.refused("scroll", "b", json!({})).0, "collection_not_found");
    engine.ok("create_collection", "b", config());
    assert_eq!(engine.ok("count", "b", json!({}))["count"], json!(0));
    engine.work(GraphPolicy::Always);
    asleep(&engine);
    engine.ok("flush", "c", Value::Null);
    engine.work(GraphPolicy::Always);
    asleep(&engine);
    let example = json!({"query": 5, "lookup_from": {"collection": "d"}, "limit": 1});
    assert_eq!(engine.ok("query", "e", example)["points"][0]["id"], json!(5));
    engine.restart();
    assert_eq!(engine.digest("c"), before["c"]);
    assert_eq!(engine.digest("d"), before["d"]);
}

fn sleeping_or_not(engine: &TestEngine) -> Vec<String> {
    engine.engine().catalog().entries().iter().map(|one| one.name.clone()).collect()
}

#[test]
fn whatever_sleeps_and_wakes_between_operations_the_points_are_those_of_the_model_c24() {
    let programs = common::setting("RESIDENCY_PROGRAMS").unwrap_or(60);
    let first = common::setting("RESIDENCY_SEED").unwrap_or(0);
    for seed in first..first + programs {
        let mut random = Random(seed);
        let mut engine = TestEngine::with(SimDisk::new(), seed, NONE_AT_START).expect("an empty disk opens");
        let mut model = BTreeMap::<&str, BTreeMap<u64, u64>>::new();
        let mut slept = 0;
        for step in 0..80 {
            let name = ["a", "b", "c"][random.below(3) as usize];
            if !model.contains_key(name) {
                engine.ok("create_collection", name, config());
                model.insert(name, BTreeMap::new());
            }
            let held = model.get_mut(name).expect("made");
            let from = random.below(60);
            let to = from + 1 + random.below(20);
            match random.below(100) {
                0..25 => {
                    engine.ok("upsert_points", name, points(from..to, step));
                    held.extend((from..to).map(|id| (id, id + step)));
                }
                25..35 => {
                    let ids: Vec<u64> = held.range(from..to).map(|(id, _)| *id).collect();
                    if !ids.is_empty() {
                        engine.ok("delete_points", name, json!({"points": ids}));
                    }
                    held.retain(|id, _| !(from..to).contains(id));
                }
                35..45 => {
                    let filter = json!({"must": [{"key": "n", "range": {"gte": from, "lt": to}}]});
                    engine.ok("set_payload", name, json!({"payload": {"n": from}, "filter": filter}));
                    held.values_mut().filter(|n| (from..to).contains(n)).for_each(|n| *n = from);
                }
                45..47 => {
                    engine.ok("delete_collection", name, Value::Null);
                    model.remove(name);
                    continue;
                }
                47..50 => {
                    engine.close();
                    engine.open().expect("it opens");
                }
                50..53 => engine.restart(),
                53..56 => engine.power_cut(random.next()),
                56..66 => engine.work(GraphPolicy::Never),
                66..70 => engine.work(GraphPolicy::Always),
                70..73 => engine.engine().catalog().write_summaries().expect("a sound disk"),
                73..90 => slept += sleep_idle(engine.engine().catalog()),
                _ => {}
            }
            if random.chance(40) {
                check(&engine, name, &model[name], seed);
            }
        }
        model.iter().for_each(|(name, held)| check(&engine, name, held, seed));
        assert!(slept > 0, "seed {seed}");
    }
}

fn check(engine: &TestEngine, name: &str, held: &BTreeMap<u64, u64>, seed: u64) {
    assert_eq!(info(engine, name)["points_count"], json!(held.len()), "seed {seed}, {name}");
    let found = engine.ok("scroll", name, json!({"limit": 1000}));
    let found: BTreeMap<u64, u64> = found["points"]
        .as_array()
        .expect("points")
        .iter()
        .map(|point| (point["id"].as_u64().expect("an id"), point["payload"]["n"].as_u64().expect("n")))
        .collect();
    assert_eq!(&found, held, "seed {seed}, {name}");
}

/// The answer to a request of an engine with threads.
fn ask(engine: &Engine, request: Request) -> Result<Value, String> {
    let (send, receive) = mpsc::channel();
    let reply = move |answer: Result<Vec<u8>, kithdb_engine::error::Error>| {
        send.send(answer).expect("somebody waits");
    };
    engine.execute(request, Box::new(reply));
    let answer = receive.recv_timeout(Duration::from_secs(60)).expect("an answer");
    answer.map(|envelope| result_of(&envelope)).map_err(|error| error.code().to_string())
}

/// Options with which collections sleep whenever they can, many times a second.
fn sleepy() -> Options {
    let usual = Options::default();
    let residency = ResidencyThresholds { idle: Some(Duration::ZERO), opened_at_start: 0, ..USUAL };
    Options { thresholds: Thresholds { residency, ..usual.thresholds }, ..usual }.eager()
}

#[test]
fn requests_and_sleep_run_side_by_side_and_nothing_is_lost_c24() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = || {
        Engine::open(Arc::new(RealDisk::open(dir.path()).expect("a directory")), sleepy()).expect("it opens")
    };
    let engine = open();
    let rounds = common::setting("RESIDENCY_ROUNDS").unwrap_or(40);
    for name in ["a", "b"] {
        ask(&engine, request("create_collection", name, &config())).expect("made");
    }
    std::thread::scope(|scope| {
        for writer in 0..2_u64 {
            let engine = &engine;
            scope.spawn(move || {
                for round in 0..rounds {
                    for name in ["a", "b"] {
                        let from = writer * 10_000 + round * 5;
                        ask(engine, request("upsert_points", name, &points(from..from + 5, 0)))
                            .expect("a write");
                        let count =
                            ask(engine, request("count", name, &json!({}))).expect("a count")["count"]
                                .clone();
                        assert!(count.as_u64() >= Some((round + 1) * 5), "{count}");
                    }
                    if round % 4 == writer {
                        std::thread::sleep(Duration::from_millis(25));
                    }
                }
            });
        }
        let engine = &engine;
        scope.spawn(move || {
            for _ in 0..rounds * 2 {
                let search = json!({"vector": vec![1.0; 96], "limit": 3});
                ask(engine, request("search", "a", &search)).expect("a search");
                ask(engine, request("collection_info", "b", &Value::Null)).expect("an info");
                std::thread::sleep(Duration::from_millis(3));
            }
        });
    });
    for _ in 0..20 {
        // Once nobody uses them they sleep, however busy they were.
        let until = Instant::now() + Duration::from_secs(60);
        while engine.status().asleep < 2 {
            assert!(Instant::now() < until, "they do not sleep");
            std::thread::sleep(Duration::from_millis(5));
        }
        ask(&engine, request("count", "a", &json!({}))).expect("a count");
        ask(&engine, request("upsert_points", "b", &points(0..1, 0))).expect("a write");
    }
    assert!(engine.status().wakes.counts.iter().sum::<u64>() >= 40);
    let all = |engine: &Engine| {
        ["a", "b"]
            .map(|name| ask(engine, request("count", name, &json!({}))).expect("a count")["count"].clone())
    };
    let expected = json!(rounds * 10);
    assert_eq!(all(&engine), [expected.clone(), expected.clone()]);
    drop(engine);
    assert_eq!(all(&open()), [expected.clone(), expected]);
}

/// A file that is a pipe blocks who opens it until somebody writes to it.
#[cfg(unix)]
#[test]
fn a_request_that_waits_for_a_wake_ends_at_its_timeout_and_the_wake_goes_on_c24_c1_10() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = Engine::open(Arc::new(RealDisk::open(dir.path()).expect("a directory")), Options::default())
        .expect("it opens");
    for name in ["c", "d"] {
        ask(&engine, request("create_collection", name, &config())).expect("made");
        ask(&engine, request("upsert_points", name, &points(0..20, 0))).expect("written");
    }
    let catalog = engine.catalog();
    let entry = entry(catalog, "c");
    while !put_to_sleep(catalog, &entry) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let manifest = dir.path().join(format!("collections/{:016x}/MANIFEST", entry.id));
    let kept = std::fs::read(&manifest).expect("a manifest");
    std::fs::remove_file(&manifest).expect("a file");
    assert!(std::process::Command::new("mkfifo").arg(&manifest).status().expect("mkfifo").success());
    let scroll = |timeout| Request { timeout, ..request("scroll", "c", &json!({"limit": 100})) };
    for _ in 0..2 {
        assert_eq!(ask(&engine, scroll(Some(Duration::from_millis(100)))), Err("timeout".to_string()));
    }
    // Others are served, and what tells of it does not wait.
    ask(&engine, request("count", "d", &json!({}))).expect("served");
    let info = ask(&engine, request("collection_info", "c", &Value::Null)).expect("told");
    assert_eq!(info["residency"]["state"], json!("waking"));
    std::fs::write(&manifest, &kept).expect("somebody reads");
    // The next reads find a file again.
    let found = ask(&engine, scroll(None)).expect("it is awake");
    assert_eq!(found["points"].as_array().map(Vec::len), Some(20));
}
