//! The space of deleted and replaced points is reclaimed, and answers do not change meanwhile.

mod common;

use common::{Random, TestEngine};
use kithdb_engine::api;
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::update::{Selection, Update, Versions};
use kithdb_engine::collection::{Collection, GraphPolicy, Write, WriteCall, WriteRequest};
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::Options;
use kithdb_engine::field::{FieldArena, IndexScratch};
use kithdb_engine::limits::{Limits, ResidencyThresholds, Thresholds};
use kithdb_engine::storage::{SimDisk, Storage};
use kithdb_engine::types::{OpNumber, PointId, PointOffset, Row, RowRange};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SIZE: usize = 64;

/// Small enough that hundreds of points see every step.
const THRESHOLDS: Thresholds = Thresholds {
    checkpoint_bytes: 16 << 10,
    log_budget_bytes: 64 << 10,
    log_segment_bytes: 16 << 10,
    graph_step_rows: 50,
    vacuum_rows: 40,
    order_rows: u32::MAX,
    row_chunk_bytes: 4 << 10,
    auto_index_points: 10_000,
    residency: ResidencyThresholds::USUAL,
};

/// What a collection holds, by id.
type Points = BTreeMap<u64, Vec<f32>>;

fn engine(seed: u64, quantization: Value) -> TestEngine {
    engine_of("Euclid", THRESHOLDS, seed, quantization)
}

fn engine_of(distance: &str, thresholds: Thresholds, seed: u64, quantization: Value) -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), seed, thresholds).expect("an empty disk opens");
    let vectors = json!({"size": SIZE, "distance": distance});
    let hnsw = json!({"m": 8, "ef_construct": 64, "full_scan_threshold": 10});
    let body = json!({"vectors": vectors, "hnsw_config": hnsw, "quantization_config": quantization});
    engine.ok("create_collection", "c", body);
    engine
}

fn collection(engine: &TestEngine) -> Arc<Collection> {
    engine.engine().catalog().collections().remove(0)
}

/// Inserts or replaces points with random vectors.
fn put(engine: &TestEngine, points: &mut Points, ids: &[u64], random: &mut Random) {
    for ids in ids.chunks(50) {
        let new: Vec<(u64, Vec<f32>)> = ids.iter().map(|&id| (id, random.vector(SIZE))).collect();
        let point =
            |(id, vector): &(u64, Vec<f32>)| json!({"id": id, "vector": vector, "payload": {"n": id}});
        engine.ok("upsert_points", "c", json!({"points": new.iter().map(point).collect::<Vec<_>>()}));
        points.extend(new);
    }
}

fn delete(engine: &TestEngine, points: &mut Points, ids: &[u64]) {
    engine.ok("delete_points", "c", json!({"points": ids}));
    points.retain(|id, _| !ids.contains(id));
}

fn found(engine: &TestEngine, vector: &[f32], limit: usize) -> Vec<u64> {
    let body = json!({"vector": vector, "limit": limit, "params": {"hnsw_ef": 1000}});
    let client = engine.client();
    let search = || engine.ok("search", "c", body);
    // A collection that has just got its first points has no graph.
    let hits = if client.has_graph("c", "") { client.walking(search) } else { search() };
    hits.as_array().expect("hits").iter().map(|hit| hit["id"].as_u64().expect("a number")).collect()
}

/// Some points find themselves, and a wide search finds all points but one, and none that is gone.
fn assert_whole(engine: &TestEngine, points: &Points, random: &mut Random, when: &str) {
    for _ in 0..10 {
        let (id, vector) =
            points.iter().nth(random.below(points.len() as u64) as usize).expect("it is below the count");
        assert_eq!(found(engine, vector, 1), [*id], "{when}");
    }
    let hits = found(engine, &random.vector(SIZE), points.len() - 1);
    assert_eq!(hits.len(), points.len() - 1, "{when}");
    assert!(hits.iter().all(|id| points.contains_key(id)), "a deleted point was found {when}");
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": points.len()}), "{when}");
}

fn shuffled(count: u64, random: &mut Random) -> Vec<u64> {
    let mut ids: Vec<u64> = (0..count).collect();
    for at in (1..ids.len()).rev() {
        ids.swap(at, random.below(at as u64 + 1) as usize);
    }
    ids
}

fn disk_bytes(engine: &TestEngine) -> u64 {
    let dir = "collections/0000000000000001";
    let files = engine.disk.list(dir).expect("a folder");
    let len = |name: &String| engine.disk.read(&format!("{dir}/{name}")).expect("a file").len() as u64;
    files.iter().map(len).sum()
}

#[test]
fn what_is_deleted_in_any_phase_of_a_vacuum_stays_deleted() {
    for (seed, quantization) in [(1, json!(null)), (2, json!({"binary": {}}))] {
        let engine = engine(seed, quantization);
        let mut random = Random(seed);
        let mut points = Points::new();
        put(&engine, &mut points, &(0..500).collect::<Vec<_>>(), &mut random);
        engine.work(GraphPolicy::WhenGrown);
        let collection = collection(&engine);
        let nodes =
            |collection: &Collection| collection.snapshot().graphs[0].as_ref().expect("a graph").0.hnsw.len();
        assert_eq!(nodes(&collection), 500);
        let ids = shuffled(500, &mut random);
        let mut ids = ids.chunks(3);
        for doomed in ids.by_ref().take(45) {
            delete(&engine, &mut points, doomed);
        }
        let mut scratch = IndexScratch::default();
        let mut steps = 0;
        loop {
            let when = format!("at step {steps} of seed {seed}");
            let more = collection.index_some(&mut scratch);
            assert_whole(&engine, &points, &mut random, &when);
            if let Some([gone, changed, again]) = ids.next() {
                // One dies, one is replaced, one dies and comes back.
                delete(&engine, &mut points, &[*gone, *again]);
                put(&engine, &mut points, &[*changed, *again], &mut random);
            }
            assert_whole(&engine, &points, &mut random, &when);
            steps += 1;
            if !more && steps > 20 {
                break;
            }
        }
        assert!(nodes(&collection) < 450, "{} nodes for {} points", nodes(&collection), points.len());
    }
}

#[test]
fn memory_and_disk_come_back_down_after_every_point_was_replaced_once() {
    let mut engine = engine(3, json!(null));
    let mut random = Random(3);
    let mut points = Points::new();
    put(&engine, &mut points, &(0..1500).collect::<Vec<_>>(), &mut random);
    engine.checkpoint();
    let before = (collection(&engine).memory(), disk_bytes(&engine));
    for round in 0..3 {
        for ids in shuffled(1500, &mut random).chunks(100) {
            put(&engine, &mut points, ids, &mut random);
            engine.work(GraphPolicy::WhenGrown);
            assert_whole(&engine, &points, &mut random, &format!("in round {round}"));
        }
        for _ in 0..3 {
            engine.work(GraphPolicy::WhenGrown);
        }
        engine.checkpoint();
        let (memory, disk) = (collection(&engine).memory(), disk_bytes(&engine));
        let originals = |memory: &kithdb_engine::collection::MemoryReport| {
            (memory.originals + memory.originals_mapped) as f64
        };
        assert!(
            originals(&memory) < 1.6 * originals(&before.0),
            "round {round}: {memory:?}, before {before:?}"
        );
        assert!(memory.links < 2 * before.0.links, "round {round}: {memory:?}, before {before:?}");
        assert!(disk < 3 * before.1, "round {round}: {disk} bytes on disk, {} before", before.1);
        let digest = engine.digest("c");
        engine.restart();
        assert_eq!(engine.digest("c"), digest);
        assert_whole(&engine, &points, &mut random, "after a restart");
    }
}

#[test]
fn chunks_without_a_live_row_are_dropped_and_stay_dropped_after_a_restart() {
    let mut engine = engine(4, json!(null));
    let mut random = Random(4);
    let mut points = Points::new();
    put(&engine, &mut points, &(0..400).collect::<Vec<_>>(), &mut random);
    engine.checkpoint();
    let held = |engine: &TestEngine| {
        let view = collection(engine).view();
        let rows = &view.fields[0].rows;
        (0..rows.len()).filter(|&row| rows.holds(row)).count()
    };
    assert_eq!(held(&engine), 400);
    delete(&engine, &mut points, &(0..300).collect::<Vec<_>>());
    engine.checkpoint();
    for _ in 0..3 {
        engine.work(GraphPolicy::WhenGrown);
    }
    engine.checkpoint();
    assert!(held(&engine) < 150, "{} rows are held for 100 points", held(&engine));
    assert_whole(&engine, &points, &mut random, "after the vacuum");
    for round in 0..3 {
        let (digest, rows) = (engine.digest("c"), held(&engine));
        if round == 1 {
            engine.power_cut(9);
        } else {
            engine.restart();
        }
        assert_eq!((engine.digest("c"), held(&engine)), (digest, rows));
        assert_whole(&engine, &points, &mut random, "after a restart");
        put(&engine, &mut points, &(400..450).collect::<Vec<_>>(), &mut random);
        engine.work(GraphPolicy::Always);
    }
}

/// Regression: a checkpoint kept a graph without codes on disk and dropped rows that the graph in memory no longer
/// linked to. The graph on disk still linked to them, so after a restart its walks ended there.
#[test]
fn a_graph_on_disk_links_to_no_row_that_was_dropped() {
    let thresholds = Thresholds { graph_step_rows: 1000, ..THRESHOLDS };
    let mut engine = engine_of("Manhattan", thresholds, 6, json!(null));
    let mut random = Random(6);
    let mut points = Points::new();
    put(&engine, &mut points, &(0..200).collect::<Vec<_>>(), &mut random);
    engine.work(GraphPolicy::Always);
    delete(&engine, &mut points, &(0..100).collect::<Vec<_>>());
    let served = collection(&engine);
    let mut scratch = IndexScratch::default();
    while served.index_some(&mut scratch) {}
    // A tail, because of which the graph is not written again.
    put(&engine, &mut points, &(200..210).collect::<Vec<_>>(), &mut random);
    while served.vacuum_rows() {}
    served.checkpoint(GraphPolicy::WhenGrown).expect("a sound disk");
    drop(served);
    engine.restart();
    let snapshot = collection(&engine).snapshot();
    let table = &snapshot.view.fields[0];
    assert!(table.all_rows().iter().any(|row| !table.holds(row)), "some rows must have been dropped");
    if let Some((graph, _)) = &snapshot.graphs[0] {
        let mut nodes = graph.hnsw.all_nodes();
        assert!(nodes.all(|node| table.holds(graph.hnsw.row_of(node))), "a node of a row that is gone");
    }
}

/// Regression: after a graph was rewritten without its dead nodes, the one on the disk stayed until writes made a checkpoint
/// due. On a small disk that was room for writes.
#[test]
fn the_file_of_a_rewritten_graph_is_replaced_when_nothing_else_is_due() {
    let thresholds = Thresholds { vacuum_rows: 40, order_rows: u32::MAX, ..Thresholds::default() };
    let mut engine = engine_of("Euclid", thresholds, 8, json!({"scalar": {"type": "int8"}}));
    let mut random = Random(8);
    let mut points = Points::new();
    put(&engine, &mut points, &(0..1000).collect::<Vec<_>>(), &mut random);
    engine.work(GraphPolicy::Always);
    let nodes =
        |engine: &TestEngine| collection(engine).snapshot().graphs[0].as_ref().expect("a graph").0.hnsw.len();
    let files = |engine: &TestEngine| engine.disk.list("collections/0000000000000001").expect("a folder");
    // The number after that of the data.
    let old_graph = "00000002.data".to_string();
    assert!(files(&engine).contains(&old_graph) && nodes(&engine) == 1000);
    let before = disk_bytes(&engine);
    delete(&engine, &mut points, &(0..600).collect::<Vec<_>>());
    for _ in 0..3 {
        engine.work(GraphPolicy::WhenGrown);
    }
    assert_eq!(nodes(&engine), 400, "the graph was rewritten");
    assert!(!files(&engine).contains(&old_graph), "the old graph is in {:?}", files(&engine));
    assert!(disk_bytes(&engine) < before, "{} bytes, and {before} before", disk_bytes(&engine));
    // It is written once.
    let settled = files(&engine);
    for _ in 0..3 {
        engine.work(GraphPolicy::WhenGrown);
    }
    assert_eq!(files(&engine), settled);
    engine.restart();
    assert_eq!(nodes(&engine), 400);
    assert_whole(&engine, &points, &mut random, "after a restart");
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(files(&engine), settled, "nor after a restart");
}

/// Regression: an indexer read the live rows and was then delayed. Points were deleted, their rows were dropped because
/// no graph linked to them, and another indexer began a graph. The first indexer then inserted its outdated rows: where
/// vectors are compared by their originals, the first node of the graph could not be read any more.
#[test]
fn an_indexer_that_was_delayed_inserts_no_row_that_was_dropped_meanwhile() {
    let engine = engine_of("Manhattan", THRESHOLDS, 10, json!(null));
    let mut random = Random(10);
    let mut points = Points::new();
    put(&engine, &mut points, &(0..400).collect::<Vec<_>>(), &mut random);
    let served = collection(&engine);
    let (other, is_done) = (Arc::clone(&served), AtomicBool::new(false));
    engine.disk.interleave(Some(Arc::new(move |place: &str| {
        if place != "taking in a tail" || is_done.swap(true, Ordering::Relaxed) {
            return;
        }
        let ids = (0..200).map(PointId::Num).collect();
        let write = Write::Points {
            updates: vec![Update::Delete(Selection::Ids(ids, Versions::Any))],
            batch: None,
            within: None,
        };
        let deadline = Deadline::new(Instant::now(), Duration::from_secs(60), "Test");
        let call = WriteCall::plain(deadline, 1, Box::new(|_| ()));
        if let Some(leader) = other.enqueue(WriteRequest { write, call }) {
            leader.run();
        }
        while other.vacuum_rows() {}
        assert!(other.snapshot().graphs[0].is_none());
        other.index_some(&mut IndexScratch::default());
        assert!(other.snapshot().graphs[0].as_ref().is_some_and(|(graph, _)| graph.hnsw.is_empty()));
    })));
    let mut scratch = IndexScratch::default();
    served.index_some(&mut scratch);
    engine.disk.interleave(None);
    points.retain(|id, _| *id >= 200);
    while served.index_some(&mut scratch) {}
    let snapshot = served.snapshot();
    let table = &snapshot.view.fields[0];
    assert!(table.all_rows().iter().any(|row| !table.holds(row)), "some rows must have been dropped");
    let (graph, _) = snapshot.graphs[0].as_ref().expect("a graph");
    assert_eq!(graph.hnsw.len(), 200);
    assert!(
        graph.hnsw.all_nodes().all(|node| table.holds(graph.hnsw.row_of(node))),
        "a node of a row that is gone"
    );
    assert_whole(&engine, &points, &mut random, "after the delay");
}

/// Regression: tombstones were never reused, so each deleted id left a point in memory and in every checkpoint.
#[test]
fn tombstones_of_deleted_points_are_reused() {
    for (seed, quantization) in [(7, json!(null)), (8, json!({"binary": {}}))] {
        let mut engine = engine(seed, quantization);
        engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
        let mut random = Random(seed);
        let mut points = Points::new();
        for round in 0..16 {
            let when = format!("in round {round} of seed {seed}");
            put(&engine, &mut points, &(round * 50..round * 50 + 50).collect::<Vec<_>>(), &mut random);
            if round >= 4 {
                let ids: Vec<u64> = points.keys().copied().collect();
                let doomed: Vec<u64> = (0..50).map(|_| ids[random.below(150) as usize]).collect();
                delete(&engine, &mut points, &doomed);
            }
            engine.work(GraphPolicy::WhenGrown);
            assert_whole(&engine, &points, &mut random, &when);
            let within = json!({"filter": {"must": [{"key": "n", "range": {"gte": round * 25}}]}});
            let expected = points.keys().filter(|&&id| id >= round * 25).count();
            assert_eq!(engine.ok("count", "c", within), json!({"count": expected}), "{when}");
            if round % 4 == 3 {
                let digest = engine.digest("c");
                if round % 8 == 3 {
                    engine.restart()
                } else {
                    engine.power_cut(seed)
                }
                assert_eq!(engine.digest("c"), digest, "{when}");
                engine.build_indexes();
            }
            let places = collection(&engine).view().state.points.len();
            assert!(places <= points.len() + 100, "{places} places for {} points {when}", points.len());
        }
    }
}

/// Regression: a vacuum that found an empty queue became the writer, and wrote for all requests until the queue was
/// empty again. No collection was checkpointed meanwhile.
#[test]
fn a_vacuum_does_not_write_for_other_requests() {
    let engine = engine(9, json!(null));
    let mut random = Random(9);
    let mut points = Points::new();
    put(&engine, &mut points, &(0..300).collect::<Vec<_>>(), &mut random);
    engine.checkpoint();
    delete(&engine, &mut points, &(0..300).filter(|id| id % 3 > 0).collect::<Vec<_>>());
    let served = collection(&engine);
    // Leaked, so that the leader can run after the vacuum.
    let client: &'static Arc<Collection> = Box::leak(Box::new(Arc::clone(&served)));
    let leader = Arc::new(Mutex::new(None));
    let answer = Arc::clone(&leader);
    engine.disk.interleave(Some(Arc::new(move |place: &str| {
        let mut answer = answer.lock().unwrap();
        if place.starts_with("log/") && answer.is_none() {
            let write = Write::Points { updates: Vec::new(), batch: None, within: None };
            let deadline = Deadline::new(Instant::now(), Duration::from_secs(60), "Test");
            let call = WriteCall::plain(deadline, 1, Box::new(|_| ()));
            *answer = Some(client.enqueue(WriteRequest { write, call }));
        }
    })));
    assert!(served.vacuum_rows(), "a chunk is emptied");
    engine.disk.interleave(None);
    let leader = leader.lock().unwrap().take().expect("a write beside the vacuum");
    leader.expect("a write beside a vacuum is not written by it").run();
    assert_whole(&engine, &points, &mut random, "after the vacuum");
}

/// Regression: each row that was ever written kept sixteen bytes forever, so 100 million updates of one point took 1.6
/// GB.
#[test]
fn rows_of_dropped_chunks_cost_nothing_before_and_after_they_are_loaded() {
    let body = br#"{"vectors":{"size":1,"distance":"Dot"}}"#;
    let config = api::create_collection(body, &Limits::default()).expect("a configuration");
    let arena = || FieldArena::new(&config.fields()[0].1, 64 << 10);
    // The places and deaths of this many rows take one chunk each.
    let (dropped, kept) = (1u32 << 19, 100u32);
    let mut written = arena();
    for row in 0..dropped + kept {
        written.push(&(row as f32).to_le_bytes(), PointOffset::new(row));
    }
    let before = written.table();
    (0..dropped).for_each(|row| written.kill(Row::new(row), OpNumber::new(7)));
    (0..dropped / written.chunk_rows()).for_each(|chunk| written.release(chunk));
    let mut loaded = arena();
    (0..dropped / loaded.chunk_rows()).for_each(|_| loaded.load_dropped());
    for row in 0..kept {
        loaded.push(&(row as f32).to_le_bytes(), PointOffset::new(row));
    }
    for arena in [&mut written, &mut loaded] {
        let table = arena.table();
        assert!(table.columns_bytes() < 5 << 20, "{} bytes", table.columns_bytes());
        assert!(
            [0, 1, dropped - 1]
                .map(Row::new)
                .iter()
                .all(|&row| !table.alive(row, OpNumber::NONE) && !arena.is_alive(row))
        );
        let live = RowRange::of_len(Row::new(dropped), kept);
        assert!(live.iter().all(|row| table.alive(row, OpNumber::new(9))));
        let owner = PointOffset::new(3);
        let next = arena.push(&1f32.to_le_bytes(), owner);
        assert_eq!((next, arena.owner(next), arena.is_alive(next)), (live.end, owner, true));
    }
    assert_eq!(
        (before.owner(Row::new(5)), before.alive(Row::new(5), OpNumber::new(6))),
        (PointOffset::new(5), true),
        "a table that was taken before"
    );
}

#[test]
fn when_row_numbers_are_used_up_only_what_writes_vectors_is_refused() {
    let limits = Limits { max_rows: 500, ..Limits::default() };
    let options =
        Options { mode: Mode::Inline { seed: 1 }, thresholds: THRESHOLDS, limits, ..Options::default() };
    let mut engine = TestEngine::with_options(options);
    engine.ok("create_collection", "c", json!({"vectors": {"size": SIZE, "distance": "Euclid"}}));
    let random = &mut Random(5);
    // Each round takes fifty numbers, whatever dies of the rows before, and the vacuum some more.
    let rounds = (0..20).find(|_| {
        let points: Vec<Value> = (0..50).map(|id| json!({"id": id, "vector": random.vector(SIZE)})).collect();
        engine.work(GraphPolicy::WhenGrown);
        engine.call("upsert_points", "c", json!({"points": points})).is_err()
    });
    assert!(rounds.is_some_and(|rounds| (5..=11).contains(&rounds)), "{rounds:?}");
    for _ in 0..2 {
        let points = json!([{"id": 1, "vector": random.vector(SIZE), "payload": {"hash": "new"}}]);
        let sync = json!({"points": points, "scope": {}, "all": true, "hash_key": "hash"});
        let writes = [("upsert_points", json!({"points": points})), ("sync_points", sync)];
        for (operation, body) in writes {
            let (code, details) = engine.refused(operation, "c", body);
            assert_eq!(code, "internal");
            assert!(
                details["message"].as_str().is_some_and(|text| text.contains("a new collection")),
                "{operation}: {details}"
            );
        }
        engine.ok("set_payload", "c", json!({"payload": {"n": 7}, "points": [2]}));
        engine.ok("search", "c", json!({"vector": random.vector(SIZE), "limit": 3}));
        engine.work(GraphPolicy::WhenGrown);
        engine.restart();
    }
    engine.ok("delete_points", "c", json!({"points": [1]}));
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": 49}));
    assert_eq!(engine.engine().status().faults, []);
}
