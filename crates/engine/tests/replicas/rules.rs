//! What a position, a dry run and a replica mean, one by one.

use super::{COLLECTION, Sent, compared, engine, plain, points, replica, state, upsert};
use crate::common::{SHORT_FILES, TestEngine};
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::{GraphPolicy, OpeningOptions};
use kithdb_engine::engine::Options;
use kithdb_engine::integrity::{LogEnd, Severity, check, repair, verify_files};
use kithdb_engine::limits::Limits;
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::sync::Arc;

const MANIFEST: &str = "collections/0000000000000001/MANIFEST";

fn new_replica() -> TestEngine {
    let engine = replica(1);
    engine.ok("create_collection", COLLECTION, plain());
    engine
}

#[test]
fn a_write_with_a_position_has_the_number_of_it_and_so_have_its_points() {
    let mut engine = new_replica();
    for position in [1, 2, 9, (1 << 33) - 1] {
        let number = position << 20;
        assert_eq!(upsert(&[position]).at(position).ok(&engine)["operation_id"], number);
        let found = engine.ok("query", COLLECTION, json!({"filter": {"must": {"has_id": [position]}}}));
        assert_eq!(found["points"][0]["version"], number);
        let expected = json!({"operation": number, "position": position});
        let has = |state: &Value| json!({"operation": state["operation"], "position": state["position"]});
        assert_eq!(has(&state(&engine)), expected);
        engine.power_cut(position);
        assert_eq!(has(&state(&engine)), expected);
        // An operation without a position takes the number after it.
        assert_eq!(upsert(&[500]).ok(&engine)["operation_id"], number + 1);
        engine.checkpoint();
        engine.restart();
        assert_eq!(state(&engine)["position"], position);
    }
    assert_eq!(engine.engine().status().faults, []);
}

#[test]
fn a_position_that_was_passed_changes_nothing() {
    let mut engine = new_replica();
    let first = upsert(&[1]).at(5).named(7).ok(&engine);
    upsert(&[2]).at(6).ok(&engine);
    for turn in 0..2 {
        let before = state(&engine);
        for position in [5, 6] {
            assert_eq!(upsert(&[3]).at(position).refused(&engine), "position_passed", "{turn}");
            let heavy = json!({"payload": {"a": 1}, "filter": {}});
            assert_eq!(Sent::new("set_payload", heavy).at(position).refused(&engine), "position_passed");
        }
        // With an operation id the answer is that of the first call, whatever its position.
        for position in [5, 6, 7] {
            assert_eq!(upsert(&[3]).at(position).named(7).ok(&engine), first, "{turn}");
        }
        assert_eq!(state(&engine), before, "{turn}");
        engine.restart();
    }
    // A refused write leaves its position to be taken.
    assert_eq!(
        Sent::new("set_payload", json!({"payload": {}, "points": [9]})).at(8).refused(&engine),
        "point_not_found"
    );
    assert_eq!(state(&engine)["position"], 6);
    // A batch that meets its own writes knows its number, also where it is resolved beside the writer.
    for seed in [1, 2] {
        let engine = replica(seed);
        engine.ok("create_collection", COLLECTION, plain());
        upsert(&[1]).at(1).ok(&engine);
        upsert(&[1]).ok(&engine);
        let edit = |more: Value| {
            let mut body = json!({"payload": {"a": 1}});
            body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            json!({"set_payload": body})
        };
        let of_all = edit(json!({"filter": {"must": {"has_id": [1]}}}));
        let batch = |version: u64| {
            let own = json!({"upsert": {"points": [{"id": 1, "vector": [1, 1], "if_version": version}]}});
            Sent::new("batch_update", json!({"operations": [of_all, own, of_all]})).at(4)
        };
        let refused = batch(7).to(&engine).expect_err("it has another version");
        let details = String::from_utf8(refused.details_json()).expect("text");
        assert!(details.contains(&format!("\"found\":\"{}\"", 4 << 20)), "{seed}: {details}");
        batch(4 << 20).ok(&engine);
    }
    upsert(&[9]).at(7).ok(&engine);
    Sent::new("set_payload", json!({"payload": {}, "points": [9]})).at(8).ok(&engine);
}

#[test]
fn only_writes_of_one_collection_take_a_position_and_only_writes_of_points_are_tried() {
    let engine = new_replica();
    let taken = [
        Sent::new("create_field_index", json!({"field_name": "n", "field_schema": "integer"})),
        Sent::new("delete_field_index", Value::Null).of("n"),
        Sent::new("update_collection", json!({"hnsw_config": {"ef_construct": 20}})),
        Sent::new("create_vector_name", json!({"dense": {"size": 2, "distance": "Dot"}})).of("x"),
        Sent::new("delete_vector_name", Value::Null).of("x"),
    ];
    for (position, sent) in (1..).zip(taken) {
        assert_eq!(sent.clone().tried().refused(&engine), "bad_request", "{sent:?}");
        sent.at(position).ok(&engine);
        assert_eq!(state(&engine)["operation"], position << 20);
    }
    for operation in [
        "create_collection",
        "delete_collection",
        "clone_collection",
        "sync_points",
        "count",
        "flush",
        "fill_vectors",
    ] {
        let sent = Sent::new(operation, json!({}));
        assert_eq!(sent.clone().at(9).refused(&engine), "bad_request", "{operation}");
        assert_eq!(sent.tried().refused(&engine), "bad_request", "{operation}");
    }
    for position in [0, 1 << 33, u64::MAX] {
        assert_eq!(upsert(&[1]).at(position).refused(&engine), "bad_request", "{position}");
    }
    let both = Sent { dry_run: true, ..upsert(&[1]).at(9) };
    assert_eq!(both.refused(&engine), "bad_request");
    assert_eq!(state(&engine)["position"], 5);
}

#[test]
fn the_digest_is_of_what_the_points_are_and_not_of_how_they_came() {
    let digest = |sent: &[Sent]| {
        let engine = new_replica();
        sent.iter().for_each(|sent| drop(sent.ok(&engine)));
        state(&engine)["digest"].clone()
    };
    let whole = digest(&[upsert(&[1, 2, 3]).at(1)]);
    assert_eq!(whole, digest(&[upsert(&[3, 1, 2]).at(1)]), "the order of one request");
    let none = digest(&[]);
    assert_eq!(none, "0".repeat(32));
    let deleted = Sent::new("delete_points", json!({"points": [4]}));
    assert_eq!(whole, digest(&[upsert(&[1, 2, 3, 4]).at(1), deleted.at(2)]), "what is gone");
    let index = Sent::new("create_field_index", json!({"field_name": "n", "field_schema": "integer"}));
    assert_eq!(whole, digest(&[upsert(&[1, 2, 3]).at(1), index.at(2)]), "an index");
    let one = |point: Value| digest(&[Sent::new("upsert_points", json!({"points": [point]})).at(1)]);
    let usual = one(json!({"id": 1, "vector": [1, 2], "payload": {"a": 1}}));
    let others = [
        one(json!({"id": 2, "vector": [1, 2], "payload": {"a": 1}})),
        one(json!({"id": "00000000-0000-0000-0000-000000000001", "vector": [1, 2], "payload": {"a": 1}})),
        one(json!({"id": 1, "vector": [1, 3], "payload": {"a": 1}})),
        one(json!({"id": 1, "vector": {}, "payload": {"a": 1}})),
        one(json!({"id": 1, "vector": [1, 2], "payload": {"a": 2}})),
        one(json!({"id": 1, "vector": [1, 2]})),
        digest(&[Sent::new(
            "upsert_points",
            json!({"points": [{"id": 1, "vector": [1, 2], "payload": {"a": 1}}]}),
        )
        .at(2)]),
    ];
    for (at, other) in others.iter().enumerate() {
        assert!(*other != usual && !others[..at].contains(other), "{at}");
    }
    let engine = new_replica();
    assert!(engine.ok("replica_state", COLLECTION, Value::Null).get("digest").is_none());
    assert_eq!(engine.refused("replica_state", COLLECTION, json!({"digests": true})).0, "bad_request");
}

#[test]
fn a_replica_makes_no_field_indexes_by_itself() {
    let made = |is_replica| {
        let engine = engine(1, is_replica);
        engine.ok("create_collection", COLLECTION, plain());
        for from in (0..12_000).step_by(1_000) {
            let points: Vec<Value> = (from..from + 1_000)
                .map(|id| json!({"id": id, "vector": [1, 1], "payload": {"n": id % 50}}))
                .collect();
            engine.ok("upsert_points", COLLECTION, json!({"points": points}));
        }
        for _ in 0..8 {
            engine.ok("count", COLLECTION, json!({"filter": {"must": {"key": "n", "match": {"value": 3}}}}));
        }
        engine.work(GraphPolicy::Never);
        engine
            .ok("collection_info", COLLECTION, Value::Null)
            .get("auto_indexes")
            .is_some_and(|all| all != &json!({}))
    };
    assert_eq!((made(false), made(true)), (true, false));
}

#[test]
fn a_replica_hides_what_is_due_from_reads_and_not_from_writes() {
    let mut engine = replica(1);
    engine.now = Some(100);
    engine.restart();
    engine.ok("create_collection", COLLECTION, with_end());
    let body = json!({"points": [{"id": 1, "vector": [1, 1], "payload": {"until": 50}}, {"id": 2, "vector": [1, 1]}]});
    Sent::new("upsert_points", body).at(1).ok(&engine);
    let count = |engine: &TestEngine| engine.ok("count", COLLECTION, json!({}))["count"].clone();
    for _ in 0..2 {
        engine.work(GraphPolicy::Never);
        assert_eq!((count(&engine), state(&engine)["points"].clone()), (json!(1), json!(2)));
        assert_eq!(engine.engine().status().expired_points, 0);
        engine.restart();
    }
    // A write finds the point on every replica, whatever the clock of that says.
    let edit = json!({"payload": {"a": 1}, "filter": {"must": {"key": "until", "range": {"lte": 60}}}});
    Sent::new("set_payload", edit).at(2).ok(&engine);
    let before = state(&engine);
    assert_eq!(before["operation"], 2 << 20);
    let removal = json!({"filter": {"must": {"key": "until", "range": {"lte": 60}}}});
    Sent::new("delete_points", removal).at(3).ok(&engine);
    assert_eq!(state(&engine)["points"], 1);
    let other = new_replica();
    upsert(&[2]).at(1).ok(&other);
    assert_ne!(compared(&other), compared(&engine));
}

#[test]
fn points_that_have_come_to_their_end_are_removed_by_a_record() {
    let mut engine = replica(1);
    engine.now = Some(100);
    engine.restart();
    engine.ok("create_collection", COLLECTION, with_end());
    let ending = |id: u64, until: Value| json!({"id": id, "vector": [1, 1], "payload": {"until": until}});
    let points: Vec<Value> = (1..=1_200).map(|id| ending(id, json!(50 + id % 2))).collect();
    Sent::new("upsert_points", json!({"points": points})).at(1).ok(&engine);
    let never = [json!(101), json!(7.0), json!([1]), json!("1970"), json!("1970-01-01T00:01:41Z")];
    let others: Vec<Value> = never.into_iter().zip(2_000..).map(|(until, id)| ending(id, until)).collect();
    Sent::new("upsert_points", json!({"points": others})).at(2).ok(&engine);
    let asked = |engine: &TestEngine| engine.ok("replica_state", COLLECTION, json!({"expired": true}));
    // A thousand at most, but for those of one time.
    assert_eq!(asked(&engine)["expired_until"], json!(51_000_000));
    assert!(state(&engine).get("expired_until").is_none());
    let remove = |until: u64| Sent::new("remove_expired", json!({"until": until}));
    assert_eq!(remove(50_000_000).refused(&engine), "bad_request");
    remove(50_000_000).at(3).ok(&engine);
    assert_eq!(
        (&state(&engine)["points"], &asked(&engine)["expired_until"]),
        (&json!(605), &json!(51_000_000))
    );
    // One that has got a later end in the meantime stays.
    Sent::new("set_payload", json!({"payload": {"until": 5000}, "points": [1]})).at(4).ok(&engine);
    remove(51_000_000).at(5).ok(&engine);
    assert_eq!(state(&engine)["points"], json!(6));
    assert!(asked(&engine).get("expired_until").is_none());
    // Its own clock says nothing.
    remove(102_000_000).at(6).ok(&engine);
    assert_eq!(state(&engine)["points"], json!(4));
    engine.restart();
    assert_eq!(state(&engine)["points"], json!(4));
}

fn with_end() -> Value {
    json!({"vectors": {"size": 2, "distance": "Dot"}, "expire_at_key": "until"})
}

#[test]
fn a_replica_says_what_its_vectors_and_payloads_take() {
    let engine = new_replica();
    let size = |engine: &TestEngine| {
        let state = engine.ok("replica_state", COLLECTION, json!({"size": true}));
        (state["vector_bytes"].as_u64().unwrap(), state["payload_bytes"].as_u64().unwrap())
    };
    assert_eq!(size(&engine), (0, 0));
    upsert(&[1, 2, 3]).at(1).ok(&engine);
    let (vectors, payloads) = size(&engine);
    assert_eq!(vectors, 3 * 8);
    Sent::new("set_payload", json!({"payload": {"text": "a long one"}, "points": [1]})).at(2).ok(&engine);
    assert!(size(&engine).0 == vectors && size(&engine).1 > payloads);
}

#[test]
fn a_replica_begins_no_reembedding() {
    let engine = new_replica();
    let (code, details) = engine.refused("reembed_vectors", COLLECTION, json!({}));
    assert_eq!(
        (code.as_str(), details["message"].as_str()),
        ("bad_request", Some("re-embedding is not available in a cluster"))
    );
}

#[test]
fn what_comes_from_a_stream_meets_no_limit_of_strict_mode_and_a_dry_run_no_rate() {
    let engine = new_replica();
    let strict =
        json!({"strict_mode_config": {"enabled": true, "write_rate_limit": 3, "upsert_max_batchsize": 2}});
    engine.ok("update_collection", COLLECTION, strict);
    for position in 1..20 {
        upsert(&[1, 2]).at(position).ok(&engine);
        upsert(&[1, 2]).tried().ok(&engine);
    }
    upsert(&[1, 2, 3]).at(20).ok(&engine);
    // The other limits hold.
    assert_eq!(upsert(&[1, 2, 3]).tried().refused(&engine), "bad_request");
    upsert(&[1, 2]).ok(&engine);
    assert_eq!(upsert(&[1, 2]).refused(&engine), "rate_limited");
}

#[test]
fn a_write_from_a_stream_may_be_longer_than_the_limits_of_its_node() {
    let limits = Limits { max_points_per_request: 2, max_filter_conditions: 1, ..Limits::default() };
    let options = Options { mode: Mode::Inline { seed: 1 }, is_replica: true, limits, ..Options::default() };
    let engine = TestEngine::with_options(options);
    engine.ok("create_collection", COLLECTION, plain());
    assert_eq!(upsert(&[1, 2, 3]).refused(&engine), "bad_request");
    upsert(&[1, 2, 3]).at(1).ok(&engine);
    let condition = json!({"key": "a", "match": {"value": 1}});
    let by_filter = Sent::new("delete_points", json!({"filter": {"must_not": [condition, condition]}}));
    assert_eq!(by_filter.refused(&engine), "filter_parse");
    by_filter.at(2).ok(&engine);
    assert_eq!(state(&engine)["points"], json!(0));
}

#[test]
fn a_dry_run_takes_neither_a_number_nor_its_id() {
    let mut engine = new_replica();
    upsert(&[1]).at(1).ok(&engine);
    let before = state(&engine);
    let tried = upsert(&[2]).named(7).tried().ok(&engine);
    assert_eq!(tried["operation_id"], 1 << 20);
    let wrong = Sent::new("upsert_points", json!({"points": [{"id": 1, "vector": [1]}]})).tried();
    assert_eq!(wrong.refused(&engine), "dimension_mismatch");
    assert_eq!(state(&engine), before);
    engine.power_cut(1);
    assert_eq!(state(&engine), before);
    // One of a call that was applied is answered as that.
    let done = upsert(&[2]).named(7).at(2).ok(&engine);
    assert_eq!(upsert(&[2]).named(7).tried().ok(&engine), done);
    assert_eq!(engine.ok("count", COLLECTION, json!({})), json!({"count": 2}));
}

fn options() -> OpeningOptions {
    OpeningOptions { threads: 1, row_chunk_bytes: SHORT_FILES.row_chunk_bytes }
}

/// Whether check and verification find damage.
fn is_damaged(disk: &SimDisk) -> (bool, bool) {
    let report = check(Arc::new(disk.clone()), None, options()).expect("it can be checked");
    let worst = report.findings.listed.iter().map(|finding| finding.severity).max();
    let row_chunk_bytes = options().row_chunk_bytes;
    let unsound = verify_files(Arc::new(disk.clone()), row_chunk_bytes, LogEnd::PerhapsTorn);
    (worst >= Some(Severity::Damage), !unsound.expect("it can be verified").is_empty())
}

/// Writes at so many positions, each behind some that it leaves out.
fn fill(engine: &TestEngine, from: u64, writes: u64) -> u64 {
    (0..writes).fold(from, |position, at| {
        upsert(&(at..at + 8).collect::<Vec<u64>>()).at(position + 3).ok(engine);
        position + 3
    })
}

#[test]
fn records_that_are_missing_before_a_position_are_noticed_by_all() {
    let mut engine = new_replica();
    let first = fill(&engine, 0, 5);
    engine.checkpoint();
    let old = engine.disk.duplicate();
    // Whatever the log had of these is cut.
    let second = fill(&engine, first, 60);
    engine.checkpoint();
    fill(&engine, second, 60);
    engine.kill();
    assert_eq!(is_damaged(&engine.disk), (false, false));
    let folder = "collections/0000000000000001";
    engine.disk.remove_dir_all(folder).expect("it is there");
    engine.disk.create_dir_all(folder).expect("a folder");
    for name in old.list(folder).expect("a folder") {
        let bytes = old.read(&format!("{folder}/{name}")).expect("a file");
        let mut copy = engine.disk.create(&format!("{folder}/{name}")).expect("a file");
        copy.append(&bytes).and_then(|()| copy.sync()).expect("room");
    }
    assert_eq!(is_damaged(&engine.disk), (true, true));
    engine.open().expect("it opens");
    let faults = engine.engine().status().faults;
    assert!(matches!(&faults[..], [(_, fault)] if fault.contains("is missing from the log")), "{faults:?}");
    engine.kill();
    let storage: Arc<dyn Storage> = Arc::new(engine.disk.clone());
    let report = repair(&storage, "stamp", false, options()).expect("it can be repaired");
    let losses = &report.repaired[0].losses;
    let lost: Vec<(u64, u64)> =
        losses.operations.iter().map(|range| (range.start.get(), range.end.get())).collect();
    let [(from, to)] = lost[..] else { panic!("{lost:?}") };
    assert!(from == (first << 20) + 1 && to > from && to & 0xf_ffff == 1, "{lost:?}");
    engine.open().expect("it opens");
    assert_eq!(engine.engine().status().faults, []);
    assert_eq!(state(&engine)["position"], second + 180);
}

#[test]
fn a_manifest_that_is_gone_is_noticed_where_the_log_begins_with_a_position() {
    let mut engine = new_replica();
    let position = fill(&engine, 0, 60);
    engine.checkpoint();
    fill(&engine, position, 3);
    engine.kill();
    engine.disk.remove(MANIFEST).expect("it is there");
    assert_eq!(is_damaged(&engine.disk), (true, true));
    engine.open().expect("it opens");
    let faults = engine.engine().status().faults;
    assert!(matches!(&faults[..], [(_, fault)] if fault.contains("MANIFEST is missing")), "{faults:?}");
    assert_eq!(engine.refused("upsert_points", COLLECTION, points(&[1])).0, "collection_fault");
}

#[test]
fn the_digest_of_a_point_never_changes() {
    let engine = new_replica();
    assert_eq!(state(&engine)["digest"], "0".repeat(32));
    let body = json!({"points": [{"id": 1, "vector": [1, 2], "payload": {"a": 1}}]});
    Sent::new("upsert_points", body).at(1).ok(&engine);
    assert_eq!(state(&engine)["digest"], "90f0fdceb099843efef6cbb775aff9bc");
}
