//! Random streams of writes, applied by two engines of which one is disturbed: it vacuums, checkpoints, stops, and loses power.

use super::{COLLECTION, Sent, compared, replica, state};
use crate::common::{Random, SHORT_FILES, TestEngine, setting};
use kithdb_engine::collection::{GraphPolicy, OpeningOptions};
use kithdb_engine::error::Error;
use kithdb_engine::integrity::{LogEnd, Severity, UnsoundFile, check, verify_files};
use serde_json::{Value, json};
use std::sync::Arc;

/// Streams of a normal run.
const STREAMS: u64 = 8;
const WRITES: usize = 120;
const DIM: usize = 32;
/// Bits of an operation's number below its position.
const BETWEEN: u64 = (1 << 20) - 1;

fn create(engine: &TestEngine) {
    let vectors = json!({"": {"size": DIM, "distance": "Cosine"},
        "m": {"size": 4, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}},
        "u": {"size": 4, "distance": "Cosine", "datatype": "uint8"}});
    let hnsw = json!({"m": 4, "ef_construct": 16, "full_scan_threshold": 10});
    engine.ok(
        "create_collection",
        COLLECTION,
        json!({"vectors": vectors, "sparse_vectors": {"s": {}}, "hnsw_config": hnsw, "expire_at_key": "until"}),
    );
}

fn vectors(random: &mut Random) -> Value {
    let mut vectors = json!({});
    if random.chance(90) {
        vectors[""] = json!(random.vector(DIM));
    }
    if random.chance(40) {
        let rows = 1 + random.below(3) as usize;
        vectors["m"] = json!((0..rows).map(|_| random.vector(4)).collect::<Vec<_>>());
    }
    if random.chance(30) {
        vectors["u"] = json!((0..4).map(|_| random.below(256)).collect::<Vec<_>>());
    }
    if random.chance(40) {
        vectors["s"] = json!({"indices": [random.below(5), 9], "values": [random.uniform(), 0.5]});
    }
    vectors
}

fn ids(random: &mut Random, most: u64) -> Vec<u64> {
    (0..1 + random.below(most)).map(|_| random.below(90)).collect()
}

fn filter(random: &mut Random) -> Value {
    match random.below(3) {
        0 => json!({"must": {"key": "n", "match": {"value": random.below(6)}}}),
        1 => json!({"must": {"key": "until", "range": {"lte": random.below(2000)}}}),
        _ => json!({"must": {"has_id": ids(random, 20)}}),
    }
}

/// Ids, or a filter.
fn selection(random: &mut Random) -> Value {
    if random.chance(50) { json!({"points": ids(random, 5)}) } else { json!({"filter": filter(random)}) }
}

fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}

fn upsert(random: &mut Random) -> Value {
    let point = |id: u64, random: &mut Random| {
        let mut payload = json!({"n": random.below(6)});
        if random.chance(40) {
            payload["until"] = json!(random.below(2000));
        }
        json!({"id": id, "vector": vectors(random), "payload": payload})
    };
    let mut points: Vec<Value> = ids(random, 20).into_iter().map(|id| point(id, random)).collect();
    if random.chance(15) {
        points[0]["if_version"] = json!(random.below(20) << 20);
    }
    let mut body = json!({"points": points});
    match random.below(8) {
        0 => body["update_mode"] = json!("insert_only"),
        1 => body["update_filter"] = filter(random),
        _ => {}
    }
    body
}

fn update(random: &mut Random) -> (&'static str, Value) {
    let payload = json!({"payload": {"n": random.below(6), "more": random.below(100)}});
    match random.below(10) {
        0..4 => ("upsert", upsert(random)),
        4 => ("delete", selection(random)),
        5 => ("set_payload", with(payload, selection(random))),
        6 => ("overwrite_payload", with(payload, selection(random))),
        7 => ("delete_payload", with(json!({"keys": ["more"]}), selection(random))),
        8 => ("delete_vectors", with(json!({"vectors": ["m", "s"]}), selection(random))),
        _ => {
            let points: Vec<Value> = ids(random, 4)
                .iter()
                .map(|id| json!({"id": id, "vector": {"": random.vector(DIM)}}))
                .collect();
            ("update_vectors", json!({"points": points}))
        }
    }
}

/// A write of points.
fn points_write(random: &mut Random) -> Sent {
    if random.chance(15) {
        let updates: Vec<Value> = (0..1 + random.below(4))
            .map(|_| {
                let (key, body) = update(random);
                json!({ key: body })
            })
            .collect();
        return Sent::new("batch_update", json!({"operations": updates}));
    }
    let (key, body) = update(random);
    let operation = match key {
        "upsert" => "upsert_points",
        "delete" => "delete_points",
        other => other,
    };
    Sent::new(operation, body)
}

/// Any write that may be in a stream.
fn write(random: &mut Random) -> Sent {
    match random.below(21) {
        0 => Sent::new("create_field_index", json!({"field_name": "n", "field_schema": "integer"})),
        1 => Sent::new("delete_field_index", Value::Null).of("n"),
        2 => Sent::new("update_collection", json!({"hnsw_config": {"ef_construct": 16 + random.below(8)}})),
        3 => {
            let field = json!({"dense": {"size": 2, "distance": "Dot"}});
            Sent::new("create_vector_name", field).of("x")
        }
        4 => Sent::new("delete_vector_name", Value::Null).of("x"),
        5 => Sent::new("remove_expired", json!({"until": random.below(2000) * 1_000_000})),
        _ => points_write(random),
    }
}

/// Whether an error is no answer to the write: the replica tries again.
fn is_no_answer(error: &Error) -> bool {
    matches!(error.code(), "internal" | "collection_fault" | "overloaded" | "shutting_down" | "storage_full")
}

/// Something that happens to a replica beside its stream.
fn disturb(engine: &mut TestEngine, random: &mut Random) {
    match random.below(9) {
        0..4 => engine.work(GraphPolicy::Never),
        4 => engine.work(GraphPolicy::WhenGrown),
        5 => engine.checkpoint(),
        6 => engine.restart(),
        7 => engine.power_cut(random.next()),
        _ => {
            engine.close();
            engine.open().expect("it opens");
        }
    }
}

/// Delivers a write until it is answered, with a crash in the middle now and then. `None` where the first delivery was applied
/// and its answer lost.
fn deliver(engine: &mut TestEngine, sent: &Sent, random: &mut Random) -> Option<Result<Value, Error>> {
    let crashes = random.chance(15);
    if crashes {
        engine.disk.crash_after(random.below(8));
    }
    let first = sent.to(engine);
    if crashes {
        if random.chance(50) { engine.power_cut(random.next()) } else { engine.restart() }
    }
    match first {
        Err(error) if is_no_answer(&error) => match sent.to(engine) {
            Err(error) if error.code() == "position_passed" => None,
            second => Some(second),
        },
        first => Some(first),
    }
}

/// What is said of a write, in a form that can be compared.
fn shown(result: Result<Value, Error>) -> Result<Value, (String, String)> {
    result.map_err(|error| {
        assert!(!is_no_answer(&error) && error.code() != "position_passed", "{error}");
        (error.code().to_string(), String::from_utf8_lossy(&error.details_json()).into_owned())
    })
}

/// Whether anything that a replica does by itself took a number.
fn has_own_numbers(engine: &TestEngine) -> bool {
    let last = engine.ok("replica_state", COLLECTION, Value::Null)["operation"].as_u64();
    last.expect("a number") & BETWEEN != 0
}

fn assert_sound(engine: &mut TestEngine) {
    assert_eq!(engine.engine().status().faults, []);
    engine.kill();
    let options = OpeningOptions { threads: 1, row_chunk_bytes: SHORT_FILES.row_chunk_bytes };
    let report = check(Arc::new(engine.disk.clone()), None, options).expect("it can be checked");
    let worst = report.findings.listed.iter().map(|finding| finding.severity).max();
    assert_eq!(worst.unwrap_or(Severity::Note), Severity::Note, "{:?}", report.findings.listed);
    let unsound = verify_files(Arc::new(engine.disk.clone()), options.row_chunk_bytes, LogEnd::PerhapsTorn);
    let unsound: Vec<UnsoundFile> = unsound.expect("it can be verified");
    assert!(unsound.is_empty(), "{unsound:?}");
    engine.open().expect("it opens");
}

#[test]
fn replicas_that_apply_the_same_stream_end_in_the_same_state() {
    let mut moved = 0;
    for case in 0..setting("KITHDB_STREAMS").unwrap_or(STREAMS) {
        let mut random = Random(case);
        let (mut calm, mut disturbed) = (replica(case), replica(case + 1));
        // Clocks differ, and points come to their end on one of them.
        (calm.now, disturbed.now) = (Some(100), Some(900));
        for engine in [&mut calm, &mut disturbed] {
            engine.close();
            engine.open().expect("it opens");
            create(engine);
        }
        let mut position = 0;
        let mut stream: Vec<Sent> = Vec::new();
        for at in 0..WRITES {
            position += 1 + random.below(3);
            let mut sent = write(&mut random).at(position);
            if random.chance(50) {
                sent = sent.named(random.next().into());
            }
            let expected = shown(sent.to(&calm));
            match deliver(&mut disturbed, &sent, &mut random) {
                Some(result) => assert_eq!(shown(result), expected, "case {case}, write {at}: {sent:?}"),
                None => assert!(expected.is_ok(), "case {case}, write {at}: {sent:?}"),
            }
            stream.push(sent);
            if random.chance(40) {
                disturb(&mut disturbed, &mut random);
                moved += u64::from(has_own_numbers(&disturbed));
            }
            if at % 10 == 0 {
                assert_eq!(
                    compared(&disturbed),
                    compared(&calm),
                    "case {case}, write {at}: {:?}",
                    stream[at]
                );
                // What was applied before is recognised.
                let before = state(&disturbed);
                for again in stream.iter().rev().take(5) {
                    let outcome = again.to(&disturbed);
                    let is_known = again.id.is_some() && outcome.is_ok();
                    assert!(is_known || outcome.is_err(), "{again:?}: {outcome:?}");
                }
                assert_eq!(state(&disturbed), before, "case {case}, write {at}");
            }
        }
        for engine in [&mut calm, &mut disturbed] {
            assert_sound(engine);
        }
        assert_eq!(compared(&disturbed), compared(&calm), "case {case}");
        assert!(compared(&calm)["points"].as_u64() > Some(0), "case {case}");
    }
    assert!(moved > 0, "no replica moved rows");
}

#[test]
fn a_dry_run_answers_as_the_write_would_and_changes_nothing() {
    let mut outcomes = (0, 0);
    for case in 0..4 {
        let mut random = Random(100 + case);
        let engine = replica(case);
        create(&engine);
        for at in 1..80 {
            let sent = points_write(&mut random);
            let before = state(&engine);
            let tried = shown(sent.clone().named(7000 + at).tried().to(&engine));
            assert_eq!(state(&engine), before, "case {case}: {sent:?}");
            let done = shown(sent.clone().named(7000 + at).at(at as u64).to(&engine));
            // A batch that meets what it has written itself is told its own number, which a dry run has not.
            let told = |error: &(String, String)| {
                let details = if error.0 == "version_conflict" { "" } else { &error.1 };
                (error.0.clone(), details.to_string())
            };
            let told = |result: &Result<Value, _>| result.as_ref().err().map(told);
            assert_eq!(told(&tried), told(&done), "case {case}: {sent:?}");
            let count = if done.is_ok() { &mut outcomes.0 } else { &mut outcomes.1 };
            *count += 1;
            if random.chance(20) {
                engine.work(GraphPolicy::Never);
            }
        }
    }
    assert!(outcomes.0 > 50 && outcomes.1 > 20, "{outcomes:?}");
}
