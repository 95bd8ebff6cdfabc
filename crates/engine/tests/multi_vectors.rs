//! Multi-vectors, as clients meet them: stored, read back, searched, deleted, vacuumed, and there again after a
//! restart.

mod common;

use common::{Random, TestEngine};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::limits::{ResidencyThresholds, Thresholds};
use kithdb_engine::storage::SimDisk;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SIZE: usize = 8;
const METRICS: [&str; 4] = ["Cosine", "Euclid", "Dot", "Manhattan"];

/// Small enough that a hundred points see every step, and that the rows of a vector lie in several chunks.
const THRESHOLDS: Thresholds = Thresholds {
    checkpoint_bytes: 16 << 10,
    log_budget_bytes: 64 << 10,
    log_segment_bytes: 16 << 10,
    graph_step_rows: 50,
    vacuum_rows: 40,
    order_rows: u32::MAX,
    row_chunk_bytes: 1 << 10,
    auto_index_points: 10_000,
    residency: ResidencyThresholds::USUAL,
};

type Rows = Vec<Vec<f32>>;

/// What a collection holds: a point may have no vector.
type Points = BTreeMap<u64, Option<Rows>>;

fn engine(seed: u64, distance: &str, more: &Value) -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), seed, THRESHOLDS).expect("an empty disk opens");
    let mut vector = json!({
        "size": SIZE, "distance": distance, "multivector_config": {"comparator": "max_sim"},
    });
    let more = more.as_object().into_iter().flatten();
    vector.as_object_mut().expect("an object").extend(more.map(|(key, value)| (key.clone(), value.clone())));
    let hnsw = json!({"m": 8, "ef_construct": 64, "full_scan_threshold": 10});
    engine.ok("create_collection", "c", json!({"vectors": {"m": vector}, "hnsw_config": hnsw}));
    engine
}

/// Some rows; components are eighths, which every format keeps.
fn rows(random: &mut Random, most: u64) -> Rows {
    let count = 1 + random.below(most);
    let mut row = || (0..SIZE).map(|_| (random.below(33) as f32 - 16.0) / 8.0).collect();
    (0..count).map(|_| row()).collect()
}

fn put(engine: &TestEngine, points: &mut Points, new: &[(u64, Option<Rows>)]) {
    let point = |(id, rows): &(u64, Option<Rows>)| {
        let vector = rows.as_ref().map_or(json!({}), |rows| json!({"m": rows}));
        json!({"id": id, "vector": vector, "payload": {"odd": id % 2 == 1}})
    };
    engine.ok("upsert_points", "c", json!({"points": new.iter().map(point).collect::<Vec<_>>()}));
    points.extend(new.iter().cloned());
}

fn query(engine: &TestEngine, body: Value) -> Vec<(u64, f64)> {
    let found = engine.ok("query", "c", body);
    let hit = |hit: &Value| (hit["id"].as_u64().expect("an id"), hit["score"].as_f64().expect("a score"));
    found["points"].as_array().expect("hits").iter().map(hit).collect()
}

/// MaxSim by its definition, in f64, as clients see it.
fn max_sim(metric: &str, query: &[Vec<f32>], rows: &[Vec<f32>]) -> f64 {
    let norm = |v: &[f32]| v.iter().map(|&c| f64::from(c).powi(2)).sum::<f64>().sqrt();
    let similarity = |q: &[f32], r: &[f32]| -> f64 {
        let pairs = q.iter().zip(r).map(|(&q, &r)| (f64::from(q), f64::from(r)));
        match metric {
            "Dot" => pairs.map(|(q, r)| q * r).sum(),
            "Cosine" => {
                let norms = norm(q) * norm(r);
                if norms == 0.0 { 0.0 } else { pairs.map(|(q, r)| q * r).sum::<f64>() / norms }
            }
            "Euclid" => -pairs.map(|(q, r)| (q - r).powi(2)).sum::<f64>(),
            _ => -pairs.map(|(q, r)| (q - r).abs()).sum::<f64>(),
        }
    };
    let best = |q: &Vec<f32>| rows.iter().map(|r| similarity(q, r)).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = query.iter().map(best).sum();
    match metric {
        "Euclid" => (-sum).max(0.0).sqrt(),
        "Manhattan" => -sum,
        _ => sum,
    }
}

/// The scores of all points that have a vector and pass, best first.
fn expected(metric: &str, query: &[Vec<f32>], points: &Points, passes: impl Fn(u64) -> bool) -> Vec<f64> {
    let having = points.iter().filter_map(|(id, rows)| Some((id, rows.as_ref()?)));
    let mut scores: Vec<f64> =
        having.filter(|(id, _)| passes(**id)).map(|(_, rows)| max_sim(metric, query, rows)).collect();
    scores.sort_by(|a, b| if matches!(metric, "Dot" | "Cosine") { b.total_cmp(a) } else { a.total_cmp(b) });
    scores
}

fn assert_scores(found: &[(u64, f64)], expected: &[f64], when: &str) {
    assert_eq!(found.len(), expected.len(), "{when}");
    for ((id, score), expected) in found.iter().zip(expected) {
        assert!(
            (score - expected).abs() <= 1e-5 * expected.abs().max(1.0),
            "{id} {when}: {score} for {expected}"
        );
    }
}

/// Everything that the engine shows of the collection is what the model says.
fn assert_whole(engine: &TestEngine, metric: &str, points: &Points, random: &mut Random, when: &str) {
    let page = engine.digest("c");
    let shown: Points = page["points"]
        .as_array()
        .expect("a page")
        .iter()
        .map(|point| {
            let rows =
                point["vector"].get("m").map(|rows| serde_json::from_value(rows.clone()).expect("rows"));
            (point["id"].as_u64().expect("an id"), rows)
        })
        .collect();
    if metric == "Cosine" {
        let shape = |points: &Points| -> Vec<(u64, Option<usize>)> {
            points.iter().map(|(id, rows)| (*id, rows.as_ref().map(Vec::len))).collect()
        };
        assert_eq!(shape(&shown), shape(points), "{when}");
    } else {
        assert_eq!(&shown, points, "{when}");
    }
    let having = points.values().flatten().count();
    let count = engine.ok("count", "c", json!({"filter": {"must": {"has_vector": "m"}}}));
    assert_eq!(count, json!({"count": having}), "{when}");
    for _ in 0..2 {
        let asked = rows(random, 5);
        let all = expected(metric, &asked, points, |_| true);
        let odd = expected(metric, &asked, points, |id| id % 2 == 1);
        let filter = json!({"must": {"key": "odd", "match": {"value": true}}});
        for exact in [true, false] {
            let when = format!("{when}, exact: {exact}");
            let params = json!({"exact": exact, "hnsw_ef": 2000});
            let body = |limit: usize| json!({"query": asked, "using": "m", "limit": limit, "params": params});
            let found = query(engine, body(all.len().saturating_sub(1).max(1)));
            assert_scores(&found, &all[..all.len().min(found.len())], &when);
            assert!(found.len() + 1 >= all.len(), "{when}");
            let mut body = body(odd.len() + 1);
            body["filter"] = filter.clone();
            assert_scores(&query(engine, body), &odd, &when);
        }
    }
}

/// A step of a program.
#[derive(Clone, Debug)]
enum Step {
    Put { ids: Vec<u64>, seed: u64 },
    Bare(u64),
    Delete(Vec<u64>),
    Update { id: u64, seed: u64 },
    Drop(Vec<u64>),
    Refused { id: u64, seed: u64 },
    Work,
    Checkpoint,
    Restart,
    PowerCut(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0u64..120;
    let ids = |most| prop::collection::vec(0u64..120, 1..most);
    prop_oneof![
        6 => (ids(40), any::<u64>()).prop_map(|(ids, seed)| Step::Put { ids, seed }),
        1 => id.clone().prop_map(Step::Bare),
        2 => ids(30).prop_map(Step::Delete),
        2 => (id.clone(), any::<u64>()).prop_map(|(id, seed)| Step::Update { id, seed }),
        1 => ids(6).prop_map(Step::Drop),
        1 => (id, any::<u64>()).prop_map(|(id, seed)| Step::Refused { id, seed }),
        3 => Just(Step::Work),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Restart),
        1 => any::<u64>().prop_map(Step::PowerCut),
    ]
}

fn run(engine: &mut TestEngine, points: &mut Points, step: &Step) {
    match step {
        Step::Put { ids, seed } => {
            let mut random = Random(*seed);
            let new: Vec<_> = ids.iter().map(|&id| (id, Some(rows(&mut random, 7)))).collect();
            put(engine, points, &new);
        }
        Step::Bare(id) => put(engine, points, &[(*id, None)]),
        Step::Delete(ids) => {
            engine.ok("delete_points", "c", json!({"points": ids}));
            points.retain(|id, _| !ids.contains(id));
        }
        Step::Update { id, seed } => {
            let new = rows(&mut Random(*seed), 7);
            let body = json!({"points": [{"id": id, "vector": {"m": new}}]});
            match points.get_mut(id) {
                Some(rows) => {
                    engine.ok("update_vectors", "c", body);
                    *rows = Some(new);
                }
                None => drop(engine.refused("update_vectors", "c", body)),
            }
        }
        Step::Drop(ids) => {
            let ids: Vec<u64> = ids.iter().copied().filter(|id| points.contains_key(id)).collect();
            engine.ok("delete_vectors", "c", json!({"vector": ["m"], "points": ids}));
            ids.iter().for_each(|id| drop(points.insert(*id, None)));
        }
        Step::Refused { id, seed } => {
            // The first operation is taken back with the second.
            let new = rows(&mut Random(*seed), 7);
            let operations = json!([
                {"upsert": {"points": [{"id": id, "vector": {"m": new}}]}},
                {"delete_vectors": {"vector": ["m"], "points": [9999]}},
            ]);
            engine.refused("batch_update", "c", json!({"operations": operations}));
        }
        Step::Work => engine.work(GraphPolicy::WhenGrown),
        Step::Checkpoint => engine.checkpoint(),
        Step::Restart => engine.restart(),
        Step::PowerCut(seed) => engine.power_cut(*seed),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn programs_leave_what_a_model_holds_c5(
        seed in any::<u64>(),
        metric in prop::sample::select(METRICS.to_vec()),
        quantization in prop::sample::select(vec![json!(null), json!({"binary": {}}), json!({"scalar": {"type": "int8"}})]),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut engine = engine(seed, metric, &json!({"quantization_config": quantization}));
        let (mut points, mut random) = (Points::new(), Random(seed));
        for (at, step) in steps.iter().enumerate() {
            run(&mut engine, &mut points, step);
            if at % 4 == 3 {
                assert_whole(&engine, metric, &points, &mut random, &format!("after step {at}"));
            }
        }
        engine.checkpoint();
        assert_whole(&engine, metric, &points, &mut random, "at the end");
        engine.restart();
        assert_whole(&engine, metric, &points, &mut random, "after the end");
    }
}

#[test]
fn rows_come_back_down_when_vectors_were_replaced_and_deleted() {
    let mut engine = engine(5, "Dot", &json!({}));
    let (mut points, mut random) = (Points::new(), Random(5));
    let held = |engine: &TestEngine| {
        let view = engine.engine().catalog().collections().remove(0).view();
        let rows = &view.fields[0].rows;
        (0..rows.len()).filter(|&row| rows.holds(row)).count()
    };
    for round in 0..4 {
        for ids in (0..300).collect::<Vec<u64>>().chunks(60) {
            let new: Vec<_> = ids.iter().map(|&id| (id, Some(rows(&mut random, 9)))).collect();
            put(&engine, &mut points, &new);
        }
        (0..4).for_each(|_| engine.work(GraphPolicy::WhenGrown));
        engine.checkpoint();
        let live: usize = points.values().flatten().map(Vec::len).sum();
        assert!(held(&engine) < 2 * live, "round {round}: {} rows are held for {live}", held(&engine));
        assert_whole(&engine, "Dot", &points, &mut random, &format!("in round {round}"));
        engine.restart();
        assert_whole(&engine, "Dot", &points, &mut random, &format!("after round {round}"));
    }
}

#[test]
fn counts_are_of_points_and_not_of_rows_c4_2() {
    let engine = engine(6, "Cosine", &json!({}));
    let (mut points, mut random) = (Points::new(), Random(6));
    let new: Vec<_> = (0..300).map(|id| (id, Some(rows(&mut random, 9)))).collect();
    put(&engine, &mut points, &new);
    let indexed = || engine.ok("collection_info", "c", json!(null))["indexed_vectors_count"].clone();
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(indexed(), json!(300));
    put(&engine, &mut points, &[(300, Some(rows(&mut random, 9))), (7, None)]);
    assert_eq!(indexed(), json!(299));
}

#[test]
fn what_the_graph_does_not_have_yet_is_found_unless_it_is_not_asked_for_c6_2() {
    let engine = engine(8, "Dot", &json!({}));
    let (mut points, mut random) = (Points::new(), Random(8));
    let new: Vec<_> = (0..300).map(|id| (id, Some(rows(&mut random, 5)))).collect();
    put(&engine, &mut points, &new);
    engine.work(GraphPolicy::WhenGrown);
    let best = vec![vec![9.0; SIZE], vec![-9.0; SIZE], vec![4.0; SIZE]];
    put(&engine, &mut points, &[(999, Some(best.clone()))]);
    let ask =
        |params: Value| query(&engine, json!({"query": best, "using": "m", "limit": 3, "params": params}));
    let walking = |params: Value| engine.client().walking(|| ask(params));
    assert_eq!(walking(json!({}))[0].0, 999);
    assert!(walking(json!({"indexed_only": true})).iter().all(|(id, _)| *id != 999));
    assert_eq!(ask(json!({"indexed_only": true})).len(), 3);
}

/// Texts of words from a clustered vocabulary, each word with its own noise: similar to the rows of language models.
fn texts(random: &mut Random, count: u64, size: usize) -> Vec<Rows> {
    let words: Vec<Vec<f32>> = (0..400).map(|_| random.vector(size)).collect();
    let topics: Vec<Vec<u64>> = (0..40).map(|_| (0..25).map(|_| random.below(400)).collect()).collect();
    (0..count)
        .map(|_| {
            let topic = topics[random.below(40) as usize].clone();
            (0..8 + random.below(8))
                .map(|_| {
                    let word =
                        if random.chance(75) { topic[random.below(25) as usize] } else { random.below(400) };
                    let noise = random.vector(size);
                    words[word as usize].iter().zip(noise).map(|(w, n)| w + 0.5 * n).collect()
                })
                .collect()
        })
        .collect()
}

#[test]
fn the_graph_finds_nearly_all_that_an_exact_search_finds() {
    const WIDE: usize = 48;
    for (distance, quantization) in [
        ("Cosine", json!(null)),
        ("Euclid", json!(null)),
        ("Dot", json!({"binary": {"encoding": "two_bits"}})),
    ] {
        let engine = TestEngine::new(11);
        let vector = json!({
            "size": WIDE, "distance": distance, "multivector_config": {"comparator": "max_sim"},
            "quantization_config": quantization,
        });
        engine.ok(
            "create_collection",
            "c",
            json!({"vectors": vector, "hnsw_config": {"full_scan_threshold": 10}}),
        );
        let mut random = Random(11);
        let texts = texts(&mut random, 400, WIDE);
        for (at, chunk) in texts.chunks(100).enumerate() {
            let point = |(i, rows): (usize, &Rows)| json!({"id": at * 100 + i, "vector": rows});
            let points: Vec<Value> = chunk.iter().enumerate().map(point).collect();
            engine.ok("upsert_points", "c", json!({"points": points}));
        }
        engine.checkpoint();
        let (mut hits, mut asked) = (0, 0);
        for text in texts.iter().step_by(20) {
            let asking: Rows = text
                .iter()
                .take(6)
                .map(|row| row.iter().zip(random.vector(WIDE)).map(|(r, n)| r + 0.3 * n).collect())
                .collect();
            let ask = |exact: bool| {
                let params = json!({"exact": exact});
                let ask = json!({"query": asking, "limit": 10, "params": params});
                let found = query(&engine, ask);
                found.into_iter().map(|(id, _)| id).collect::<Vec<u64>>()
            };
            let (found, best) = (engine.client().walking(|| ask(false)), ask(true));
            hits += best.iter().filter(|id| found.contains(id)).count();
            asked += best.len();
        }
        let recall = hits as f64 / asked as f64;
        assert!(recall >= 0.95, "{distance}: {recall}");
        println!("{distance}: recall {recall}");
    }
}

#[test]
fn one_vector_is_a_multi_vector_of_one_row_c2_3() {
    let engine = engine(9, "Dot", &json!({}));
    let row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5];
    engine.ok("upsert_points", "c", json!({"points": [{"id": 1, "vector": {"m": row}}]}));
    let read = engine.ok("retrieve_points", "c", json!({"ids": [1], "with_vector": true}));
    assert_eq!(read[0]["vector"]["m"], json!([row]));
    let expected = [(1, 1.25)];
    assert_eq!(query(&engine, json!({"query": row, "using": "m"})), expected);
    assert_eq!(query(&engine, json!({"query": [row], "using": "m"})), expected);
    let legacy = engine.ok("search", "c", json!({"vector": {"name": "m", "vector": row}}));
    assert_eq!(legacy[0]["score"], json!(1.25));
}

#[test]
fn an_example_id_means_all_of_its_rows_and_is_left_out_c6_3() {
    let engine = engine(10, "Euclid", &json!({}));
    let (mut points, mut random) = (Points::new(), Random(10));
    let new: Vec<_> = (0..120).map(|id| (id, Some(rows(&mut random, 6)))).collect();
    put(&engine, &mut points, &new);
    engine.work(GraphPolicy::WhenGrown);
    let asked = points[&17].clone().expect("rows");
    let by_rows =
        query(&engine, json!({"query": asked, "using": "m", "limit": 6, "params": {"hnsw_ef": 2000}}));
    let by_id = query(&engine, json!({"query": 17, "using": "m", "limit": 5, "params": {"hnsw_ef": 2000}}));
    assert_eq!(by_rows[0], (17, 0.0));
    assert_eq!(by_rows[1..], by_id);
}

#[test]
fn each_datatype_keeps_what_it_can_hold_c2_6() {
    for (datatype, distance) in [
        ("float16", "Dot"),
        ("float16", "Cosine"),
        ("uint8", "Euclid"),
        ("uint8", "Cosine"),
        ("float32", "Manhattan"),
    ] {
        let mut engine = engine(12, distance, &json!({"datatype": datatype, "on_disk": true}));
        let sent = [[0, 1, 2, 3, 4, 5, 6, 7], [8, 0, 255, 9, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0]];
        engine.ok("upsert_points", "c", json!({"points": [{"id": 1, "vector": {"m": sent}}]}));
        let read = |engine: &TestEngine| {
            engine.ok("retrieve_points", "c", json!({"ids": [1], "with_vector": true}))[0]["vector"]["m"]
                .clone()
        };
        let before = read(&engine);
        if (datatype, distance) != ("float16", "Cosine") {
            let floats: Rows = serde_json::from_value(before.clone()).expect("rows");
            assert_eq!(floats, sent.map(|row| row.map(|c| c as f32)), "{datatype}");
        }
        let asked: Rows = vec![vec![0.5; SIZE], (0..8).map(|c| c as f32).collect()];
        let rows: Rows = sent.iter().map(|row| row.iter().map(|&c| c as f32).collect()).collect();
        let found = query(&engine, json!({"query": asked, "using": "m"}));
        let expected = max_sim(distance, &asked, &rows);
        let tolerance = if datatype == "float16" { 1e-3 } else { 1e-5 };
        assert!(
            (found[0].1 - expected).abs() <= tolerance * expected.abs().max(1.0),
            "{datatype} {distance}"
        );
        engine.checkpoint();
        engine.restart();
        assert_eq!(read(&engine), before);
    }
}

#[test]
fn malformed_multi_vectors_are_refused_by_their_place_c1_4() {
    let engine = engine(13, "Dot", &json!({}));
    let row = [0.5; SIZE];
    let long = vec![vec![0.5; SIZE]; (1 << 20) / SIZE + 1];
    let cases = [
        (json!([]), "vector.m"),
        (json!([[]]), "vector.m"),
        (json!([row, [1.0]]), "vector.m"),
        (json!([[1.0, 2.0]]), r#"dimension_mismatch: {"name":"m","expected":8,"got":2}"#),
        (json!([1.0, 2.0]), r#"dimension_mismatch: {"name":"m","expected":8,"got":2}"#),
        (json!([row, "x"]), "vector.m[1]"),
        (json!({"indices": [1], "values": [1.0]}), "vector.m"),
        (json!(long), "1048576"),
    ];
    for (vector, expected) in cases {
        let body = json!({"points": [{"id": 1, "vector": {"m": vector}}]});
        let error = engine.call("upsert_points", "c", body).expect_err("malformed").to_string();
        assert!(error.contains(expected), "{error} should name {expected}");
    }
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": 0}));
}

#[test]
fn vectors_of_all_kinds_live_side_by_side() {
    let mut engine = TestEngine::with(SimDisk::new(), 14, THRESHOLDS).expect("an empty disk opens");
    let vectors = json!({
        "d": {"size": 2, "distance": "Dot"},
        "m": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}},
        "e": {"size": 1, "distance": "Euclid"},
    });
    engine.ok("create_collection", "c", json!({"vectors": vectors, "sparse_vectors": {"s": {}}}));
    let all = json!({
        "d": [1.0, 2.0], "m": [[1.0, 0.0], [0.0, 3.0], [2.0, 2.0]], "e": [7.0],
        "s": {"indices": [1, 9], "values": [0.5, 2.0]},
    });
    let some = json!({"m": [[5.0, 5.0]], "e": [8.0]});
    let points = json!([{"id": 1, "vector": all}, {"id": 2, "vector": some}]);
    engine.ok("upsert_points", "c", json!({"points": points}));
    let read =
        |engine: &TestEngine| engine.ok("retrieve_points", "c", json!({"ids": [1, 2], "with_vector": true}));
    for round in 0..3 {
        let shown = read(&engine);
        assert_eq!((&shown[0]["vector"], &shown[1]["vector"]), (&all, &some), "round {round}");
        let found = query(&engine, json!({"query": [[1.0, 1.0], [0.0, -1.0]], "using": "m"}));
        assert_eq!(found, [(2, 5.0), (1, 4.0)], "round {round}");
        match round {
            0 => engine.checkpoint(),
            _ => engine.restart(),
        }
    }
    engine.ok("delete_vectors", "c", json!({"vector": ["m", "s"], "points": [1]}));
    assert_eq!(read(&engine)[0]["vector"], json!({"d": [1.0, 2.0], "e": [7.0]}));
}

#[test]
fn strategies_compare_whole_vectors_by_their_inner_similarity_c6_3() {
    for metric in METRICS {
        let engine = engine(15, metric, &json!({}));
        let (mut points, mut random) = (Points::new(), Random(15));
        let new: Vec<_> = (0..40).map(|id| (id, Some(rows(&mut random, 4)))).collect();
        put(&engine, &mut points, &new);
        let (a, b, c) = (rows(&mut random, 3), rows(&mut random, 3), rows(&mut random, 3));
        // Larger is better, and no root under Euclid.
        let similarity = |query: &Rows, rows: &Rows| match max_sim(metric, query, rows) {
            score if metric == "Euclid" => -score * score,
            score if metric == "Manhattan" => -score,
            score => score,
        };
        let squash = |x: f64| 0.5 * (x / (1.0 + x.abs()) + 1.0);
        let scored = |score: &dyn Fn(&Rows) -> f64| {
            let mut scores: Vec<f64> = points.values().flatten().map(score).collect();
            scores.sort_by(|a, b| b.total_cmp(a));
            scores.truncate(10);
            scores
        };
        let best_score = scored(&|rows| {
            let (positive, negative) = (similarity(&a, rows).max(similarity(&b, rows)), similarity(&c, rows));
            if positive > negative { squash(positive) } else { -squash(negative) }
        });
        let sum_scores = scored(&|rows| similarity(&a, rows) + similarity(&b, rows) - similarity(&c, rows));
        let discover = scored(&|rows| {
            let (near, far) = (similarity(&b, rows), similarity(&c, rows));
            let rank = if near > far {
                1.0
            } else if near < far {
                -1.0
            } else {
                0.0
            };
            rank + squash(similarity(&a, rows))
        });
        let ask = |query_body: Value| query(&engine, json!({"query": query_body, "using": "m", "limit": 10}));
        let recommend = |strategy: &str| {
            ask(json!({"recommend": {"positive": [a, b], "negative": [c], "strategy": strategy}}))
        };
        assert_scores(&recommend("best_score"), &best_score, metric);
        assert_scores(&recommend("sum_scores"), &sum_scores, metric);
        let found = ask(json!({"discover": {"target": a, "context": [{"positive": b, "negative": c}]}}));
        assert_scores(&found, &discover, metric);
        // The average of multi-vectors is all of their rows, those of the negative ones negated.
        let negated = c.iter().map(|row| row.iter().map(|c| -c).collect());
        let together: Rows = a.iter().cloned().chain(b.iter().cloned()).chain(negated).collect();
        let average = expected(metric, &together, &points, |_| true);
        assert_scores(&recommend("average_vector"), &average[..10], metric);
        // What a prefetch has found is compared again.
        let body = json!({
            "prefetch": {"query": b, "using": "m", "limit": 40, "filter": {"must": {"key": "odd", "match": {"value": true}}}},
            "query": a, "using": "m", "limit": 10,
        });
        assert_scores(&query(&engine, body), &expected(metric, &a, &points, |id| id % 2 == 1)[..10], metric);
        let body = json!({"query": {"nearest": a, "mmr": {"diversity": 0.0, "candidates_limit": 20}}, "using": "m", "limit": 10});
        assert_scores(&query(&engine, body), &expected(metric, &a, &points, |_| true)[..10], metric);
    }
}

#[test]
fn marginal_relevance_asks_how_well_a_candidate_is_covered_by_what_was_chosen_c6_3() {
    let engine = TestEngine::with(SimDisk::new(), 16, THRESHOLDS).expect("an empty disk opens");
    let vectors =
        json!({"m": {"size": 1, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}});
    engine.ok("create_collection", "c", json!({"vectors": vectors}));
    // 1 is found first. The second row of 2 is far from 1, while 1 itself is as near to 2 as to 3.
    let points = json!([
        {"id": 1, "vector": {"m": [[2.0]]}},
        {"id": 2, "vector": {"m": [[1.0], [-3.0], [-3.0]]}},
        {"id": 3, "vector": {"m": [[0.9]]}},
    ]);
    engine.ok("upsert_points", "c", json!({"points": points}));
    let mmr = json!({"nearest": [[1.0]], "mmr": {"diversity": 0.5, "candidates_limit": 10}});
    let found = query(&engine, json!({"query": mmr, "using": "m"}));
    assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2, 3]);
}
