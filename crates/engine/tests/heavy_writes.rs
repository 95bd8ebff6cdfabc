//! Writes whose filters take long: they are resolved beside the writer, and nobody waits for them.

mod common;

use common::{Random, TestEngine};
use kithdb_engine::api;
use kithdb_engine::collection::{
    Class, Collection, HeavyWrite, Step, TimeSlice, Write, WriteCall, WriteRequest,
};
use kithdb_engine::deadline::{Cancellation, Deadline};
use kithdb_engine::engine::{Engine, Options, Request};
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

type Answer = mpsc::Receiver<Result<Vec<u8>, Error>>;

const HOUR: Duration = Duration::from_secs(3600);

/// Sends a request to a collection.
fn start(engine: &Engine, operation: &str, collection: &str, body: &Value, gone: &Cancellation) -> Answer {
    let (send, receive) = mpsc::channel();
    let request = Request {
        timeout: Some(HOUR),
        cancellation: gone.clone(),
        ..common::request(operation, collection, body)
    };
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    receive
}

fn result(answer: &Answer) -> Result<Value, Error> {
    let envelope = answer.recv().expect("every request is answered")?;
    Ok(serde_json::from_slice::<Value>(&envelope).expect("envelopes are JSON")["result"].clone())
}

fn call(engine: &Engine, operation: &str, collection: &str, body: &Value) -> Result<Value, Error> {
    result(&start(engine, operation, collection, body, &Cancellation::default()))
}

fn ok(engine: &Engine, operation: &str, collection: &str, body: &Value) -> Value {
    call(engine, operation, collection, body).unwrap_or_else(|error| panic!("{operation}: {error}"))
}

fn create(engine: &Engine, name: &str) {
    ok(engine, "create_collection", name, &json!({"vectors": {"size": 1, "distance": "Dot"}}));
}

/// A collection of points with long texts.
fn with_texts(engine: &Engine, name: &str, points: u64) {
    create(engine, name);
    let text = "the quick brown fox jumps over the lazy dog and runs away ".repeat(20);
    for first in (0..points).step_by(1000) {
        let points: Vec<Value> = (first..first + 1000)
            .map(|id| json!({"id": id, "vector": [id], "payload": {"text": format!("{id} {text}")}}))
            .collect();
        ok(engine, "upsert_points", name, &json!({"points": points}));
    }
}

/// Updates that each have a filter of 100 text conditions that match nothing: with 400 of them minutes of work.
fn heavy(updates: u64) -> Value {
    let updates: Vec<Value> = (0..updates)
        .map(|at| {
            let conditions: Vec<Value> = (0..100)
                .map(|word| json!({"key": "text", "match": {"text": format!("no{at}x{word}")}}))
                .collect();
            json!({"set_payload": {"payload": {"seen": at}, "filter": {"should": conditions}}})
        })
        .collect();
    json!({"operations": updates})
}

fn open(disk: &SimDisk) -> Engine {
    Engine::open(Arc::new(disk.clone()), Options::default()).expect("the disk opens")
}

#[test]
fn light_writes_and_the_catalog_do_not_wait_for_heavy_writes_c4_5() {
    let engine = open(&SimDisk::new());
    for name in ["c", "d"] {
        with_texts(&engine, name, 4000);
    }
    create(&engine, "goes");
    let gone = Cancellation::default();
    let heavy = heavy(400);
    let attack: Vec<Answer> =
        (0..8).map(|at| start(&engine, "batch_update", ["c", "d"][at % 2], &heavy, &gone)).collect();
    for round in 0..20 {
        let point = json!({"points": [{"id": 10_000 + round, "vector": [1], "payload": {"text": "new"}}]});
        for name in ["c", "d"] {
            ok(&engine, "upsert_points", name, &point);
            // Decided by the id and not by a look at each point.
            let by_id = json!({"filter": {"must": [{"has_id": [10_000 + round]}]}});
            ok(&engine, "delete_points", name, &by_id);
        }
        let name = format!("new{round}");
        create(&engine, &name);
        assert_eq!(ok(&engine, "delete_collection", &name, &json!(null)), json!(true));
    }
    assert_eq!(ok(&engine, "delete_collection", "goes", &json!(null)), json!(true));
    for answer in &attack {
        assert!(answer.try_recv().is_err(), "the heavy writes still run");
    }
    gone.cancel();
    for answer in &attack {
        assert_eq!(result(answer).expect_err("nobody waits for it"), Error::Cancelled);
    }
    let seen = json!({"filter": {"must_not": [{"is_empty": {"key": "seen"}}]}});
    assert_eq!(ok(&engine, "count", "c", &seen), json!({"count": 0}));
}

#[test]
fn a_deletion_ends_the_writes_and_reads_of_its_collection_c4_5() {
    let engine = open(&SimDisk::new());
    let names: Vec<String> = (0..6).map(|at| format!("c{at}")).collect();
    let heavy = heavy(400);
    let attack: Vec<Answer> = names
        .iter()
        .map(|name| {
            with_texts(&engine, name, 1000);
            start(&engine, "batch_update", name, &heavy, &Cancellation::default())
        })
        .collect();
    let searches: Vec<Value> = heavy["operations"]
        .as_array()
        .expect("a batch")
        .iter()
        .map(|update| {
            let filter = &update["set_payload"]["filter"];
            json!({"vector": [1], "filter": filter, "params": {"exact": true}})
        })
        .collect();
    let searches = json!({"searches": searches});
    let read = start(&engine, "search_batch", "c0", &searches, &Cancellation::default());
    thread::sleep(Duration::from_millis(50));
    let deletions: Vec<Answer> = names
        .iter()
        .map(|name| start(&engine, "delete_collection", name, &json!(null), &Cancellation::default()))
        .collect();
    for (name, (deletion, write)) in names.iter().zip(deletions.iter().zip(&attack)) {
        assert_eq!(result(deletion), Ok(json!(true)));
        // One that had not come so far finds the mark.
        let ended = result(write).expect_err("it has hours to go");
        let [gone, marked] =
            [Error::CollectionNotFound(name.clone()), Error::CollectionDeleted(name.clone())];
        assert!(ended == gone || ended == marked, "{ended}");
        create(&engine, name);
        assert_eq!(ok(&engine, "count", name, &json!({})), json!({"count": 0}));
    }
    let ended = result(&read).expect_err("its collection is gone");
    let [gone, marked] = [Error::CollectionNotFound("c0".into()), Error::CollectionDeleted("c0".into())];
    assert!(ended == gone || ended == marked, "{ended}");
}

#[test]
fn deletions_that_wait_hold_no_thread_c4_5() {
    let engine = open(&SimDisk::new());
    let names: Vec<String> = (0..20).map(|at| format!("c{at}")).collect();
    names.iter().for_each(|name| create(&engine, name));
    let users: Vec<_> = names.iter().map(|name| engine.catalog().enter(name).expect("it is there")).collect();
    let none = Cancellation::default();
    let deletions: Vec<Answer> =
        names.iter().map(|name| start(&engine, "delete_collection", name, &json!(null), &none)).collect();
    create(&engine, "other");
    assert_eq!(ok(&engine, "delete_collection", "other", &json!(null)), json!(true));
    assert!(deletions.iter().all(|deletion| deletion.try_recv().is_err()), "they are in use");
    // Two threads mark collections, and the one that has the first may have been paused before it did.
    let begun = Instant::now();
    let config = json!({"vectors": {"size": 1, "distance": "Dot"}});
    let mut late = call(&engine, "create_collection", "c0", &config);
    while late == Err(Error::CollectionExists("c0".into())) && begun.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(1));
        late = call(&engine, "create_collection", "c0", &config);
    }
    assert_eq!(late, Err(Error::CollectionDeleted("c0".into())));
    drop(users);
    assert!(deletions.iter().all(|deletion| result(deletion) == Ok(json!(true))));
    create(&engine, "c0");
}

#[test]
fn heavy_writes_end_when_the_engine_closes_c11_3() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    with_texts(&engine, "c", 4000);
    let heavy = heavy(400);
    let attack: Vec<Answer> =
        (0..3).map(|_| start(&engine, "batch_update", "c", &heavy, &Cancellation::default())).collect();
    engine.close();
    for answer in attack {
        let refused = answer.try_recv().expect("answered before the engine is closed");
        assert_eq!(refused, Err(Error::ShuttingDown));
    }
    drop(engine);
    assert_eq!(ok(&open(&disk), "count", "c", &json!({})), json!({"count": 4000}));
}

#[test]
fn more_heavy_writes_than_may_wait_are_refused_c1_5() {
    let engine = open(&SimDisk::new());
    with_texts(&engine, "c", 4000);
    let (gone, heavy) = (Cancellation::default(), heavy(20));
    let attack: Vec<Answer> = (0..70).map(|_| start(&engine, "batch_update", "c", &heavy, &gone)).collect();
    let answered = || attack.iter().find_map(|answer| answer.try_recv().ok());
    let refused = std::iter::repeat_with(answered).find_map(|answer| {
        thread::sleep(Duration::from_millis(1));
        answer
    });
    assert_eq!(refused.expect("an endless search").expect_err("one too many").code(), "overloaded");
    gone.cancel();
}

#[test]
fn what_the_filters_of_a_request_may_cost_is_bounded_c2_7() {
    let limits = Limits { max_filter_work: 200_000, light_filter_work: 1000, ..Limits::default() };
    let engine = TestEngine::with_limits(limits);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let points: Vec<Value> =
        (0..100).map(|id| json!({"id": id, "vector": [1], "payload": {"n": id}})).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    let update = |n: u64| {
        json!({"set_payload": {"payload": {"x": 1},
        "filter": {"must": [{"key": "n", "match": {"value": n}}]}}})
    };
    let batch = |updates: u64| json!({"operations": (0..updates).map(update).collect::<Vec<_>>()});
    engine.ok("batch_update", "c", batch(5));
    let before = engine.digest("c");
    let (code, details) = engine.refused("batch_update", "c", batch(10));
    assert_eq!(code, "bad_request");
    assert!(details["message"].as_str().expect("a message").contains("max_filter_work"), "{details}");
    assert_eq!(engine.digest("c"), before, "all or nothing");
    // An index leaves less to look at.
    engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
    engine.build_indexes();
    engine.ok("batch_update", "c", batch(10));
}

#[test]
fn what_the_edits_of_a_request_may_read_is_bounded_c2_7() {
    let limits = Limits { max_edited_bytes: 5000, ..Limits::default() };
    let engine = TestEngine::with_limits(limits);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let payload = json!({"text": "x".repeat(1000)});
    engine.ok("upsert_points", "c", json!({"points": [{"id": 1, "vector": [1], "payload": payload}]}));
    let edit = |times: usize| json!({"keys": ["absent"], "points": vec![1; times]});
    engine.ok("delete_payload", "c", edit(4));
    let (code, details) = engine.refused("delete_payload", "c", edit(5));
    assert_eq!(code, "bad_request");
    assert!(details["message"].as_str().expect("a message").contains("max_edited_bytes"), "{details}");
}

/// Queues an upsert of each list of points, which counts as one of so many bytes, and writes the queue. Says how far the
/// collection was when each was answered.
fn answers_of_a_queue(lists: &[(Vec<u64>, usize)]) -> Vec<(usize, u64)> {
    let engine = TestEngine::new(1);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let collection = engine.engine().catalog().collections().remove(0);
    let (send, answers) = mpsc::channel();
    let mut leader = None;
    for (at, (ids, bytes)) in lists.iter().enumerate() {
        let points: Vec<Value> = ids.iter().map(|id| json!({"id": id, "vector": [1]})).collect();
        let body = json!({"points": points}).to_string();
        let limits = Limits { max_points_per_request: 1 << 20, ..Limits::default() };
        let updates = vec![api::upsert(body.as_bytes(), &limits).expect("an update")];
        let (send, seen) = (send.clone(), Arc::clone(&collection));
        let reply = move |result: Result<_, _>| {
            result.expect("a sound log");
            send.send((at, seen.view().op.get())).expect("the test waits");
        };
        let deadline = Deadline::new(Instant::now(), HOUR, "Upsert");
        let write = Write::Points { updates, batch: None, within: None };
        let (bytes, reply) = (*bytes, Box::new(reply));
        let call = WriteCall::plain(deadline, bytes, reply);
        let got = collection.enqueue(WriteRequest { write, call });
        leader = leader.or(got);
    }
    leader.expect("nobody else writes").run();
    answers.try_iter().collect()
}

/// What was accepted is logged and answered, whatever comes behind it in the queue.
#[test]
fn a_small_write_does_not_wait_for_a_long_one_behind_it() {
    let answers = answers_of_a_queue(&[(vec![1], 100), (vec![2], 4 << 20)]);
    assert_eq!(answers, [(0, 1), (1, 2)]);
}

#[test]
fn a_group_ends_when_its_time_is_over_whatever_comes_behind_it() {
    // It takes several times as long as a group may, though nothing says so before.
    let answers = answers_of_a_queue(&[((0..40_000).collect(), 100), (vec![1], 100)]);
    assert_eq!(answers, [(0, 1), (1, 2)]);
}

#[test]
fn writes_are_classed_by_what_their_filters_may_cost() {
    let engine = TestEngine::new(1);
    let is_heavy = |name: &str, bytes: usize, selection: Value| {
        engine.ok("create_collection", name, json!({"vectors": {"size": 1, "distance": "Dot"}}));
        let text = "x".repeat(bytes);
        let points: Vec<Value> =
            (0..200).map(|id| json!({"id": id, "vector": [1], "payload": {"text": text}})).collect();
        engine.ok("upsert_points", name, json!({"points": points}));
        let collections = engine.engine().catalog().entries();
        let entry = collections.iter().find(|entry| entry.name == name).expect("it was created");
        let collection = entry.collection().expect("it is served");
        let mut body = json!({"payload": {"seen": 1}});
        body.as_object_mut().expect("an object").append(&mut selection.as_object().expect("one").clone());
        begin(&collection, &json!({"operations": [{"set_payload": body}]})).is_some()
    };
    let by_text = json!({"filter": {"must": [{"key": "text", "match": {"text": "a"}}]}});
    assert!(is_heavy("long", 10_000, by_text.clone()), "2 MB under a condition");
    assert!(!is_heavy("short", 100, by_text), "20 KB under a condition");
    assert!(!is_heavy("named", 10_000, json!({"points": [1, 2, 3]})), "no condition");
}

/// An engine whose every filter is resolved beside the writer, or by it.
fn resolving(beside: bool) -> TestEngine {
    let light = if beside { 0 } else { u64::MAX >> 8 };
    let limits = Limits { light_filter_work: light, ..Limits::default() };
    let engine = TestEngine::with_limits(limits);
    let field = json!({"size": 1, "distance": "Dot"});
    engine.ok("create_collection", "c", json!({"vectors": {"a": field, "b": field}}));
    engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
    engine.engine().catalog().shared().clock.set_seconds(100);
    engine
}

fn any_point(random: &mut Random) -> Value {
    let mut vector = json!({"a": [random.below(5)]});
    if random.chance(50) {
        vector["b"] = json!([1]);
    }
    let text = ["red", "green fox", "Red-fox", "blue"][random.below(4) as usize];
    let until = [50, 200, 300][random.below(3) as usize];
    let payload = json!({"n": random.below(6), "t": text, "until": until});
    json!({"id": random.below(30), "vector": vector, "payload": payload})
}

fn any_filter(random: &mut Random) -> Value {
    let (word, name) = (["red", "fox", "r"][random.below(3) as usize], ["a", "b"][random.below(2) as usize]);
    let mut condition = || match random.below(5) {
        0 => json!({"key": "n", "match": {"value": random.below(6)}}),
        1 => json!({"key": "t", "match": {"text": word}}),
        2 => json!({"key": "seen", "range": {"gte": random.below(4)}}),
        3 => json!({"has_vector": name}),
        _ => json!({"has_id": [random.below(30), random.below(30), random.below(30)]}),
    };
    let (one, other) = (condition(), condition());
    let kind = ["must", "should", "must_not"][random.below(3) as usize];
    json!({kind: [one, other]})
}

/// One update that cannot fail whatever points there are.
fn any_update(random: &mut Random) -> Value {
    let filter = any_filter(random);
    match random.below(9) {
        0 => json!({"delete": {"filter": filter}}),
        1 => json!({"delete": {"points": [random.below(30)]}}),
        2 => json!({"set_payload": {"payload": {"seen": random.below(5)}, "filter": filter}}),
        3 => json!({"overwrite_payload": {"payload": {"n": random.below(6), "t": "fox"}, "filter": filter}}),
        4 => json!({"delete_payload": {"keys": ["seen", "t"], "filter": filter}}),
        5 => json!({"clear_payload": {"filter": filter}}),
        6 => json!({"delete_vectors": {"vector": ["b"], "filter": filter}}),
        7 => json!({"upsert": {"points": [any_point(random), any_point(random)]}}),
        _ => {
            let mode = ["upsert", "insert_only", "update_only"][random.below(3) as usize];
            let points = [any_point(random), any_point(random), any_point(random)];
            json!({"upsert": {"points": points, "update_filter": filter, "update_mode": mode}})
        }
    }
}

fn any_batch(random: &mut Random) -> Value {
    let updates: Vec<Value> = (0..1 + random.below(6)).map(|_| any_update(random)).collect();
    json!({"operations": updates})
}

/// A batch on its way beside the writer; none when it has no filter.
fn begin(collection: &Arc<Collection>, batch: &Value) -> Option<(HeavyWrite, mpsc::Receiver<Option<Error>>)> {
    let updates = api::batch_update(batch.to_string().as_bytes(), &Limits::default()).expect("a batch");
    let (send, answer) = mpsc::channel();
    let deadline = Deadline::new(Instant::now(), HOUR, "Batch update");
    let reply = Box::new(move |result: Result<_, _>| send.send(result.err()).expect("the test waits"));
    let write = Write::Points { updates, batch: None, within: None };
    let call = WriteCall::plain(deadline, 1, reply);
    match collection.classify(WriteRequest { write, call }) {
        Class::Heavy(heavy) => Some((heavy, answer)),
        Class::Light(_) => None,
    }
}

#[test]
fn a_write_that_is_resolved_beside_others_is_in_order_with_them_c5_11() {
    let cases = common::setting("HEAVY_WRITE_CASES").unwrap_or(400);
    let (mut beside, mut overtaken) = (0, 0);
    for seed in 0..cases {
        let random = &mut Random(seed);
        let (tested, reference) = (resolving(true), resolving(false));
        let both = |operation: &str, body: Value| {
            tested.ok(operation, "c", body.clone());
            reference.ok(operation, "c", body);
        };
        let points: Vec<Value> = (0..1 + random.below(25)).map(|_| any_point(random)).collect();
        both("upsert_points", json!({"points": points}));
        if random.chance(50) {
            // Of the points whose time has come nothing is removed here.
            both("update_collection", json!({"expire_at_key": "until"}));
        }
        if random.chance(70) {
            tested.build_indexes();
            reference.build_indexes();
        }
        let collection = tested.engine().catalog().collections().remove(0);
        let batch = any_batch(random);
        let Some((mut heavy, answer)) = begin(&collection, &batch) else { continue };
        beside += 1;
        loop {
            // A step ends with the filter that it evaluates, since its time is over.
            match heavy.step(TimeSlice::until(Instant::now())) {
                Step::Done => break,
                Step::Resolved(rest) => break rest.write(),
                Step::More(rest) => heavy = rest,
            }
            for _ in 0..random.below(3) {
                overtaken += 1;
                match random.below(12) {
                    2 => {
                        let key = if random.chance(50) { json!("until") } else { Value::Null };
                        both("update_collection", json!({"expire_at_key": key}));
                    }
                    0 => {
                        let schema = json!({"field_name": "t", "field_schema": {"type": "text", "tokenizer": "prefix"}});
                        both("create_field_index", schema);
                    }
                    1 => {
                        tested.build_indexes();
                        reference.build_indexes();
                    }
                    _ => both("batch_update", any_batch(random)),
                }
            }
        }
        assert_eq!(answer.recv().expect("an answer"), None, "seed {seed}");
        reference.ok("batch_update", "c", batch.clone());
        assert_eq!(tested.digest("c"), reference.digest("c"), "seed {seed}: {batch}");
        for filter in (0..5).map(|_| any_filter(random)) {
            let count = |engine: &TestEngine| engine.ok("count", "c", json!({"filter": filter}));
            assert_eq!(count(&tested), count(&reference), "seed {seed}: {filter}");
        }
    }
    assert!(beside > cases / 2 && overtaken > cases / 2, "{beside} beside the writer, {overtaken} overtaken");
}

/// Each claim takes the points of a range that nobody has. If one were applied as it was resolved, without a look at what
/// others took meanwhile, it would take theirs.
#[test]
fn claims_of_concurrent_clients_never_overlap_c5_11() {
    const CLIENTS: u64 = 4;
    const ROUNDS: u64 = 40;
    let limits = Limits { light_filter_work: 0, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let engine = Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens");
    create(&engine, "c");
    let points: Vec<Value> =
        (0..ROUNDS * 10 + 60).map(|id| json!({"id": id, "vector": [1], "payload": {"n": id}})).collect();
    ok(&engine, "upsert_points", "c", &json!({"points": points}));
    let owned = |owner: u64| {
        let filter = json!({"must": [{"key": "owner", "match": {"value": owner}}]});
        ok(&engine, "scroll", "c", &json!({"filter": filter, "limit": 1000, "with_payload": false}))
    };
    let claims: Vec<(u64, Value)> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (engine, owned) = (&engine, &owned);
                let claim = move |round: u64| {
                    let owner = client * 1000 + round;
                    let range = json!({"gte": round * 10, "lt": round * 10 + 60});
                    let free =
                        json!({"must": [{"is_empty": {"key": "owner"}}, {"key": "n", "range": range}]});
                    // The second update sees the first: it has nothing to take.
                    let claim =
                        |owner: u64| json!({"set_payload": {"payload": {"owner": owner}, "filter": free}});
                    let batch = json!({"operations": [claim(owner), claim(999_999)]});
                    ok(engine, "batch_update", "c", &batch);
                    (owner, owned(owner))
                };
                scope.spawn(move || (0..ROUNDS).map(claim).collect::<Vec<_>>())
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client fails")).collect()
    });
    for (owner, taken) in &claims {
        assert_eq!(owned(*owner), *taken, "what {owner} had is taken");
    }
    let nobody = json!({"must": [{"is_empty": {"key": "owner"}}]});
    let left = ok(&engine, "count", "c", &json!({"filter": nobody}));
    assert_eq!(left, json!({"count": 10}), "the last range ends before the last points");
    assert_eq!(owned(999_999)["points"], json!([]));
}
