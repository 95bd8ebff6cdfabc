//! The engine with its threads on a real directory: writers, readers, background work and deletions at once.

mod common;

use common::Random;
use kithdb_engine::engine::{Engine, Options, Request};
use kithdb_engine::error::Error;
use kithdb_engine::limits::{ResidencyThresholds, Thresholds};
use kithdb_engine::storage::{RealDisk, SimDisk};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const SIZE: usize = 64;
const WRITERS: u64 = 3;
const ROUNDS: u64 = 40;

fn open(dir: &Path) -> Engine {
    let thresholds = Thresholds {
        checkpoint_bytes: 64 << 10,
        log_budget_bytes: 256 << 10,
        log_segment_bytes: 32 << 10,
        graph_step_rows: 50,
        vacuum_rows: 60,
        order_rows: 200,
        row_chunk_bytes: 16 << 10,
        auto_index_points: 10_000,
        residency: ResidencyThresholds::USUAL,
    };
    let options = Options { search_threads: 2, thresholds, panics_on_request: true, ..Options::default() };
    Engine::open(Arc::new(RealDisk::open(dir).expect("a directory")), options).expect("it opens")
}

/// Sends a request and waits for its answer.
fn call(
    engine: &Engine,
    operation: &str,
    collection: &str,
    wait: bool,
    body: &Value,
) -> Result<Value, Error> {
    let (send, receive) = mpsc::channel();
    let request = Request { wait, ..common::request(operation, collection, body) };
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    let envelope = receive.recv().expect("every request is answered")?;
    Ok(serde_json::from_slice::<Value>(&envelope).expect("envelopes are JSON")["result"].clone())
}

fn ok(engine: &Engine, operation: &str, collection: &str, body: &Value) -> Value {
    call(engine, operation, collection, true, body).unwrap_or_else(|error| panic!("{operation}: {error}"))
}

fn create(engine: &Engine, name: &str) {
    let vectors = json!({"size": SIZE, "distance": "Euclid"});
    let hnsw = json!({"m": 8, "ef_construct": 32, "full_scan_threshold": 10});
    ok(engine, "create_collection", name, &json!({"vectors": vectors, "hnsw_config": hnsw}));
}

/// A point whose vector and payload carry the same number, and whose id contains the number of its writer.
fn point(id: u64, number: u64) -> Value {
    let mut vector = vec![0.0; SIZE];
    vector[0] = number as f32;
    vector[1] = id as f32;
    json!({"id": id, "vector": vector, "payload": {"number": number}})
}

/// The number that a point carries; panics when its parts disagree.
fn number(point: &Value) -> u64 {
    let number = point["payload"]["number"].as_u64().expect("a payload");
    assert_eq!(point["vector"][0].as_f64(), Some(number as f64), "half an update: {}", point["id"]);
    assert_eq!(point["vector"][1].as_f64(), point["id"].as_f64(), "another point's vector");
    number
}

#[test]
fn readers_see_whole_updates_in_order_while_everything_runs_c6_6() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    create(&engine, "c");
    ok(&engine, "create_field_index", "c", &json!({"field_name": "number", "field_schema": "integer"}));
    let done = AtomicBool::new(false);
    // Number of the last batch that each writer was answered for.
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (engine, acknowledged) = (&engine, &acknowledged);
                scope.spawn(move || {
                    for round in 1..=ROUNDS {
                        // All points of a writer carry the number of its last batch: one batch is one change.
                        let ids = (0..20).map(|at| writer * 1000 + at);
                        let points: Vec<Value> = ids.clone().map(|id| point(id, round)).collect();
                        let wait = round % 3 != 0;
                        call(engine, "upsert_points", "c", wait, &json!({"points": points}))
                            .expect("a write");
                        if wait {
                            let mine = json!({"ids": ids.clone().collect::<Vec<_>>(), "with_vector": true});
                            let read = ok(engine, "retrieve_points", "c", &mine);
                            assert!(
                                read.as_array().expect("points").iter().all(|point| number(point) == round)
                            );
                            acknowledged[writer as usize].store(round, Ordering::Release);
                        }
                        // Points that are deleted make dead rows in the graph, and data files with few live bytes in
                        // the checkpoints.
                        let churn: Vec<Value> =
                            (100..130).map(|at| point(writer * 1000 + at, round)).collect();
                        ok(engine, "upsert_points", "c", &json!({"points": churn}));
                        let gone: Vec<u64> = (100..130).map(|at| writer * 1000 + at).collect();
                        ok(engine, "delete_points", "c", &json!({"points": gone}));
                    }
                })
            })
            .collect();
        for reader in 0..2 {
            let (engine, acknowledged, done) = (&engine, &acknowledged, &done);
            scope.spawn(move || {
                let mut random = Random(reader);
                let mut seen = [0; WRITERS as usize];
                while !done.load(Ordering::Acquire) {
                    let writer = random.below(WRITERS);
                    let at_least = acknowledged[writer as usize].load(Ordering::Acquire);
                    let ids: Vec<u64> = (0..20).map(|at| writer * 1000 + at).collect();
                    let filter = json!({"must": {"has_id": ids}});
                    let page = json!({"filter": filter, "limit": 100, "with_vector": true});
                    let page = ok(engine, "scroll", "c", &page)["points"].clone();
                    let numbers: Vec<u64> = page.as_array().expect("points").iter().map(number).collect();
                    assert!(numbers.is_empty() && at_least == 0 || numbers.len() == 20, "{numbers:?}");
                    assert!(numbers.windows(2).all(|pair| pair[0] == pair[1]), "two batches in one view: {numbers:?}");
                    let now = numbers.first().copied().unwrap_or(0);
                    assert!(now >= at_least, "{now} was read after {at_least} was acknowledged");
                    assert!(now >= seen[writer as usize], "time went backwards");
                    seen[writer as usize] = now;
                    // The index and the points agree within one view.
                    let query = point(writer * 1000, now)["vector"].clone();
                    let exact = random.chance(50);
                    let search = json!({"vector": query, "limit": 5, "with_payload": true, "with_vector": true,
                        "filter": {"must": {"key": "number", "range": {"gte": now}}}, "params": {"exact": exact}});
                    for hit in ok(engine, "search", "c", &search).as_array().expect("hits") {
                        assert!(number(hit) >= now);
                    }
                }
            });
        }
        for writer in writers {
            writer.join().expect("no writer fails");
        }
        done.store(true, Ordering::Release);
    });
    let expected = WRITERS * 20;
    assert_eq!(ok(&engine, "count", "c", &json!({})), json!({"count": expected}));
    engine.close();
    drop(engine);
    let engine = open(dir.path());
    let page = ok(&engine, "scroll", "c", &json!({"limit": 1000, "with_vector": true}))["points"].clone();
    assert_eq!(page.as_array().map(Vec::len), Some(expected as usize));
    assert!(page.as_array().expect("points").iter().all(|point| number(point) == ROUNDS));
}

/// A point of `g` is the nearest to its own vector; the search is narrow enough to walk a graph of a thousand points.
fn assert_finds_itself(engine: &Engine, id: u64) {
    let search = json!({"vector": point(id, id * 3)["vector"], "limit": 1, "params": {"hnsw_ef": 32}});
    let found = ok(engine, "search", "g", &search);
    assert_eq!((&found[0]["id"], &found[0]["score"]), (&json!(id), &json!(0.0)));
}

#[test]
fn every_point_is_found_while_it_is_being_indexed() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    create(&engine, "g");
    for batch in 0..40u64 {
        let points: Vec<Value> = (batch * 25..batch * 25 + 25).map(|id| point(id, id * 3)).collect();
        ok(&engine, "upsert_points", "g", &json!({"points": points}));
        for id in [batch * 25, batch * 25 + 24, batch * 12] {
            assert_finds_itself(&engine, id);
        }
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while ok(&engine, "collection_info", "g", &json!(null))["status"] != json!("green") {
        assert!(Instant::now() < deadline, "indexing comes to an end");
        thread::sleep(Duration::from_millis(5));
    }
    let info = ok(&engine, "collection_info", "g", &json!(null));
    assert_eq!(info["indexed_vectors_count"], json!(1000));
    let walks = engine.status().searches.wide_walks;
    for id in 0..100 {
        assert_finds_itself(&engine, id * 10);
    }
    let searches = engine.status().searches;
    assert!(searches.wide_walks == walks + 100 && searches.hops >= 100, "{searches:?}");
}

#[test]
fn collections_come_and_go_under_load_c4_5() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    create(&engine, "stays");
    let done = AtomicBool::new(false);
    let kept = AtomicU64::new(0);
    thread::scope(|scope| {
        let (engine, done, kept) = (&engine, &done, &kept);
        let load: Vec<_> = (0..2u64)
            .map(|worker| {
                scope.spawn(move || {
                    let mut id = worker * 1_000_000;
                    while !done.load(Ordering::Acquire) {
                        id += 1;
                        match call(engine, "upsert_points", "goes", true, &json!({"points": [point(id, id)]}))
                        {
                            Ok(_) => {}
                            Err(error) => {
                                assert!(
                                    ["collection_not_found", "collection_deleted"].contains(&error.code()),
                                    "{error}"
                                );
                            }
                        }
                        match call(
                            engine,
                            "scroll",
                            "goes",
                            true,
                            &json!({"limit": 1000, "with_vector": true}),
                        ) {
                            Ok(page) => page["points"].as_array().expect("points").iter().for_each(|point| {
                                number(point);
                            }),
                            Err(error) => {
                                assert!(
                                    ["collection_not_found", "collection_deleted"].contains(&error.code()),
                                    "{error}"
                                );
                            }
                        }
                        ok(engine, "upsert_points", "stays", &json!({"points": [point(id, id)]}));
                        kept.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for _ in 0..30 {
            create(engine, "goes");
            thread::sleep(Duration::from_millis(10));
            assert_eq!(ok(engine, "delete_collection", "goes", &json!(null)), json!(true));
            assert_eq!(ok(engine, "collection_exists", "goes", &json!(null)), json!({"exists": false}));
        }
        done.store(true, Ordering::Release);
        for worker in load {
            worker.join().expect("no worker fails");
        }
    });
    let expected = json!({"count": kept.load(Ordering::Relaxed)});
    assert_eq!(ok(&engine, "count", "stays", &json!({})), expected);
    engine.close();
    drop(engine);
    let engine = open(dir.path());
    assert_eq!(ok(&engine, "count", "stays", &json!({})), expected);
    let left = std::fs::read_dir(dir.path().join("collections")).expect("a folder");
    let folders = left.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_dir())).count();
    assert_eq!(folders, 1, "the files of deleted collections are gone");
}

/// Reads by an alias while it is given to one collection after the other, each of which is deleted when it has lost the alias.
#[test]
fn an_alias_names_a_collection_at_any_time_and_ids_are_read_as_those_of_that_collection_c12() {
    const ROUNDS: usize = 150;
    const ID: &str = "550E8400-E29B-41D4-A716-446655440000";
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    let create = |name: &str, ids: &str| {
        ok(
            &engine,
            "create_collection",
            name,
            &json!({"vectors": {"size": 1, "distance": "Dot"}, "ids": ids}),
        );
        ok(&engine, "upsert_points", name, &json!({"points": [{"id": ID, "vector": [1]}]}));
    };
    let give_to = |name: &str| {
        let create = json!({"create_alias": {"alias_name": "live", "collection_name": name}});
        ok(&engine, "change_aliases", "", &json!({"actions": [create]}));
    };
    for kinds in [["default", "default"], ["default", "string"]] {
        let is_done = AtomicBool::new(false);
        let name = |at: usize| format!("{}-{at}", kinds[1]);
        create(&name(0), kinds[0]);
        give_to(&name(0));
        thread::scope(|scope| {
            let readers = [0, 1].map(|_| {
                scope.spawn(|| {
                    let mut reads = 0;
                    while !is_done.load(Ordering::Acquire) {
                        reads += 1;
                        match call(&engine, "retrieve_points", "live", true, &json!({"ids": [ID]})) {
                            Ok(points) => assert_eq!(points.as_array().map(Vec::len), Some(1), "{kinds:?}"),
                            // A read that was read for the ids of the other collection, or that has entered the one that goes, and
                            // that is named by its name then.
                            Err(error) => {
                                let is_of_alias = error.to_string().contains("live");
                                let is_other = error.code() == "collection_not_found" && kinds[0] != kinds[1];
                                let has_gone = error.code() == "collection_deleted" || !is_of_alias;
                                assert!(is_other || has_gone, "{kinds:?}: {error}");
                            }
                        }
                    }
                    reads
                })
            });
            for at in 1..ROUNDS {
                create(&name(at), kinds[at % 2]);
                give_to(&name(at));
                ok(&engine, "delete_collection", &name(at - 1), &json!(null));
            }
            is_done.store(true, Ordering::Release);
            let reads = readers.map(|reader| reader.join().expect("no reader fails"));
            assert!(reads.iter().all(|reads| *reads > ROUNDS), "{reads:?}");
        });
        ok(&engine, "delete_collection", &name(ROUNDS - 1), &json!(null));
    }
}

#[test]
fn a_panic_in_one_request_leaves_the_engine_serving() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    create(&engine, "c");
    for operation in ["count", "upsert_points", "create_collection", "search"] {
        for _ in 0..5 {
            let error = call(&engine, operation, "__panic__", true, &json!({})).expect_err("it panics");
            assert_eq!(error.code(), "internal_panic");
        }
    }
    ok(&engine, "upsert_points", "c", &json!({"points": [point(1, 1)]}));
    assert_eq!(ok(&engine, "count", "c", &json!({})), json!({"count": 1}));
}

#[test]
fn requests_after_the_close_are_refused_and_nothing_before_it_is_lost() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    create(&engine, "c");
    let acknowledged = AtomicU64::new(0);
    thread::scope(|scope| {
        for worker in 0..3u64 {
            let (engine, acknowledged) = (&engine, &acknowledged);
            scope.spawn(move || {
                for id in worker * 1_000_000.. {
                    match call(engine, "upsert_points", "c", true, &json!({"points": [point(id, id)]})) {
                        Ok(_) => acknowledged.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(error.code(), "shutting_down", "{error}");
                            return;
                        }
                    };
                }
            });
        }
        thread::sleep(Duration::from_millis(100));
        engine.close();
    });
    drop(engine);
    let engine = open(dir.path());
    let expected = acknowledged.load(Ordering::Relaxed);
    assert_eq!(ok(&engine, "count", "c", &json!({})), json!({"count": expected}));
}

/// Regression: a writer that waited for each answer did not help with indexing. Its rows were counted in the view of
/// the readers, which has them only after their sync.
#[test]
fn one_writer_that_waits_for_its_answers_keeps_the_tail_short() {
    let disk = SimDisk::new();
    let thresholds = Thresholds { order_rows: u32::MAX, ..Thresholds::default() };
    let options = Options { search_threads: 1, thresholds, ..Options::default() };
    let engine = Engine::open(Arc::new(disk.clone()), options).expect("it opens");
    create(&engine, "c");
    let put = |from: u64, count: u64| {
        let points: Vec<Value> = (from..from + count).map(|id| point(id, id * id % 1009)).collect();
        ok(&engine, "upsert_points", "c", &json!({"points": points}));
    };
    put(0, 1000);
    let collection = engine.catalog().collections().remove(0);
    while !collection.is_settled() {
        thread::sleep(Duration::from_millis(1));
    }
    // The indexers make no progress while this is held.
    let held_up = Arc::new(());
    let gate = Arc::downgrade(&held_up);
    disk.interleave(Some(Arc::new(move |place: &str| {
        while place == "taking in a tail" && gate.strong_count() > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    })));
    let mut longest = 0;
    for from in (1000..16_000).step_by(500) {
        put(from, 500);
        ok(&engine, "search", "c", &json!({"vector": vec![0.0; SIZE], "limit": 1}));
        let snapshot = collection.snapshot();
        let indexed = snapshot.graphs[0].as_ref().map_or(0, |(_, indexed)| indexed.get());
        longest = longest.max(snapshot.view.fields[0].len() - indexed);
    }
    drop(held_up);
    // Writers help from 4,096 rows of 64 components on, with three for each that they write.
    assert!(longest < 6000, "a tail of {longest} rows");
}
