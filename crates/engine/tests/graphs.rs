//! What the settings of a collection make of its graphs and originals.

mod common;

use common::{Random, TestEngine, upsert};
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::{Collection, GraphPolicy};
use kithdb_engine::config::Coding;
use kithdb_engine::engine::Options;
use kithdb_engine::field::IndexScratch;
use kithdb_engine::limits::Thresholds;
use kithdb_engine::memory::{MemoryLimit, NODE_BYTES};
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::sync::Arc;

const SIZE: usize = 64;
const POINTS: u64 = 400;

fn engine(seed: u64) -> TestEngine {
    let thresholds = Thresholds { graph_step_rows: 1, row_chunk_bytes: 4 << 10, ..Thresholds::default() };
    TestEngine::with(SimDisk::new(), seed, thresholds).expect("an empty disk opens")
}

fn create(engine: &TestEngine, vectors: Value, others: Value) {
    let mut body = json!({"vectors": vectors, "hnsw_config": {"m": 8, "full_scan_threshold": 10}});
    body.as_object_mut().expect("an object").extend(others.as_object().expect("an object").clone());
    engine.ok("create_collection", "c", body);
}

/// Vectors of whole numbers, which every datatype keeps.
fn fill(engine: &TestEngine, seed: u64) -> Vec<Vec<f32>> {
    let mut random = Random(seed);
    let vectors: Vec<Vec<f32>> =
        (0..POINTS).map(|_| (0..SIZE).map(|_| random.below(256) as f32).collect()).collect();
    upsert(engine, 0, &vectors);
    vectors
}

fn collection(engine: &TestEngine) -> Arc<Collection> {
    engine.engine().catalog().collections().remove(0)
}

fn status(engine: &TestEngine) -> Value {
    engine.ok("collection_info", "c", json!(null))["status"].clone()
}

/// The best ten by the graph, and by the scan.
fn searches(engine: &TestEngine, vector: &[f32]) -> (Value, Value) {
    let search =
        |params: Value| engine.ok("search", "c", json!({"vector": vector, "limit": 10, "params": params}));
    let params = json!({"hnsw_ef": 500, "quantization": {"oversampling": 40.0}});
    (engine.client().walking(|| search(params)), search(json!({"exact": true})))
}

#[test]
fn every_kind_of_code_finds_what_a_scan_finds_and_is_kept_c4_3() {
    let product = |compression: &str| json!({"product": {"compression": compression}});
    let codes = [
        (json!(null), None),
        (json!({"scalar": {"type": "int8"}}), Some(8)),
        (json!({"scalar": {"type": "int8", "quantile": 0.9}}), Some(8)),
        (json!({"scalar": {"type": "int8", "quantile": 0.5}}), Some(8)),
        (product("x4"), Some(8)),
        (product("x8"), Some(4)),
        (product("x16"), Some(2)),
        (product("x32"), Some(1)),
        (product("x64"), Some(1)),
        (json!({"binary": {}}), Some(1)),
        (json!({"binary": {"encoding": "two_bits"}}), Some(2)),
    ];
    for (at, (quantization, bits)) in codes.into_iter().enumerate() {
        for distance in ["Cosine", "Euclid", "Dot", "Manhattan"] {
            for datatype in ["float32", "float16", "uint8"] {
                let when = format!("{quantization} {distance} {datatype}");
                let mut engine = engine(at as u64);
                let vectors = json!({"size": SIZE, "distance": distance, "datatype": datatype});
                create(&engine, vectors, json!({"quantization_config": quantization}));
                let vectors = fill(&engine, at as u64);
                engine.checkpoint();
                let graph_params =
                    collection(&engine).view().state.config.graph_params(0).expect("a graph is wanted");
                let asked = graph_params.codes.map(|coding| match coding {
                    Coding::Fitting => None,
                    Coding::Asked(params) => Some(params.bits),
                });
                assert_eq!(asked, (distance != "Manhattan").then_some(bits), "{when}");
                let before = searches(&engine, &vectors[7]);
                assert_eq!(before.0, before.1, "{when}");
                engine.restart();
                assert_eq!(status(&engine), json!("green"), "the graph was kept: {when}");
                assert_eq!(searches(&engine, &vectors[7]), before, "{when}");
            }
        }
    }
}

#[test]
fn a_change_of_codes_or_links_is_built_beside_searches_c4_4() {
    let mut engine = engine(1);
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    let vectors = fill(&engine, 1);
    engine.checkpoint();
    assert_eq!(status(&engine), json!("green"));
    let mut scratch = IndexScratch::default();
    for patch in [
        json!({"quantization_config": {"scalar": {"type": "int8", "quantile": 0.99}}}),
        json!({"vectors": {"": {"quantization_config": {"binary": {}}}}}),
        json!({"hnsw_config": {"m": 12}}),
        json!({"hnsw_config": {"ef_construct": 50}}),
        json!({"quantization_config": "Disabled", "vectors": {"": {"quantization_config": "Disabled"}}}),
    ] {
        engine.ok("update_collection", "c", patch.clone());
        assert_eq!(status(&engine), json!("yellow"), "{patch}");
        let mut steps = 0;
        while collection(&engine).index_some(&mut scratch) {
            let (walked, scanned) = searches(&engine, &vectors[steps]);
            assert_eq!(walked, scanned, "step {steps} of {patch}");
            steps += 1;
        }
        assert!(steps > 2, "{patch}");
        assert_eq!(status(&engine), json!("green"), "{patch}");
        engine.checkpoint();
        engine.restart();
        assert_eq!(status(&engine), json!("green"), "{patch}");
    }
}

#[test]
fn originals_are_where_on_disk_says_c4_3() {
    for (on_disk, is_mapped) in [(json!(null), true), (json!(true), true), (json!(false), false)] {
        let mut engine = engine(2);
        create(&engine, json!({"size": SIZE, "distance": "Euclid", "on_disk": on_disk}), json!({}));
        let vectors = fill(&engine, 2);
        let memory = collection(&engine).memory();
        assert!(memory.originals > 0 && memory.originals_mapped == 0, "{memory:?}");
        engine.checkpoint();
        for _ in 0..2 {
            let memory = collection(&engine).memory();
            assert_eq!(memory.originals_mapped > 0, is_mapped, "{on_disk}: {memory:?}");
            assert!(memory.codes > 0 && memory.links > 0 && memory.points > 0, "{memory:?}");
            let (walked, scanned) = searches(&engine, &vectors[3]);
            assert_eq!(walked, scanned);
            engine.restart();
        }
        assert_eq!(engine.engine().status().memory, collection(&engine).memory());
    }
}

#[test]
fn nothing_is_indexed_while_the_threshold_is_zero_c4_3() {
    let engine = engine(3);
    let optimizers = json!({"optimizers_config": {"indexing_threshold": 0}});
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), optimizers);
    let vectors = fill(&engine, 3);
    engine.checkpoint();
    assert!(collection(&engine).snapshot().graphs[0].is_none());
    assert_eq!(status(&engine), json!("green"));
    engine.ok("update_collection", "c", json!({"optimizers_config": {"indexing_threshold": 50}}));
    assert_eq!(status(&engine), json!("yellow"));
    engine.checkpoint();
    assert_eq!(status(&engine), json!("green"));
    assert!(collection(&engine).snapshot().graphs[0].is_some());
    let (walked, scanned) = searches(&engine, &vectors[3]);
    assert_eq!(walked, scanned);
}

#[test]
fn a_graph_is_built_anew_when_that_is_asked_for_c12() {
    let engine = engine(5);
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    let vectors = fill(&engine, 5);
    engine.checkpoint();
    let graph = || collection(&engine).snapshot().graphs[0].as_ref().map(|(graph, _)| Arc::clone(graph));
    let before = graph().expect("a graph");
    collection(&engine).rebuild_graphs().expect("there is memory");
    assert_eq!(status(&engine), json!("yellow"));
    assert!(Arc::ptr_eq(&before, &graph().expect("a graph")), "searches use it until the new one is there");
    assert_eq!(engine.ok("rebuild_index", "c", json!(null)), json!(true));
    let after = graph().expect("a graph");
    assert!(!Arc::ptr_eq(&before, &after) && after.hnsw.len() == before.hnsw.len());
    assert_eq!(status(&engine), json!("green"));
    let (walked, scanned) = searches(&engine, &vectors[3]);
    assert_eq!(walked, scanned);
}

#[test]
fn a_graph_for_which_there_is_no_memory_waits_and_the_tail_does_not_c4_4() {
    let limit = 1 << 50;
    let options =
        Options { mode: Mode::Inline { seed: 1 }, memory: MemoryLimit::Bytes(limit), ..Options::default() };
    let engine = TestEngine::with_options(options);
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    let vectors = fill(&engine, 13);
    engine.checkpoint();
    let graph = || collection(&engine).snapshot().graphs[0].as_ref().map(|(graph, _)| Arc::clone(graph));
    let before = graph().expect("a graph");
    engine.ok("update_collection", "c", json!({"hnsw_config": {"m": 12}}));
    upsert(&engine, POINTS, &vectors[..100]);
    let memory = &engine.engine().catalog().shared().memory;
    memory.measure((limit - NODE_BYTES) / 1000 * 970);
    let mut scratch = IndexScratch::default();
    while collection(&engine).index_some(&mut scratch) {}
    let kept = graph().expect("a graph");
    assert!(Arc::ptr_eq(&before, &kept), "there is no room for another one");
    assert_eq!((kept.hnsw.len(), status(&engine)), (500, json!("yellow")));
    memory.measure(0);
    while collection(&engine).index_some(&mut scratch) {}
    let after = graph().expect("a graph");
    assert_eq!((after.hnsw.params().m, after.hnsw.len(), status(&engine)), (12, 500, json!("green")));
}

/// Bytes of the files of the only collection.
fn disk_bytes(engine: &TestEngine) -> usize {
    let dir = "collections/0000000000000001";
    let files = engine.disk.list(dir).expect("a folder");
    files.iter().map(|name| engine.disk.read(&format!("{dir}/{name}")).expect("a file").len()).sum()
}

#[test]
fn a_field_that_is_to_have_no_graph_keeps_no_file_of_one_c4_3() {
    let mut engine = engine(14);
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    let vectors = fill(&engine, 14);
    engine.checkpoint();
    let before = disk_bytes(&engine);
    engine.ok("update_collection", "c", json!({"hnsw_config": {"m": 0}}));
    engine.checkpoint();
    // Codes alone take half a byte for each component.
    let freed = before.saturating_sub(disk_bytes(&engine));
    assert!(freed > POINTS as usize * SIZE / 2, "{freed} bytes");
    engine.restart();
    assert!(collection(&engine).snapshot().graphs[0].is_none());
    let found = engine.ok("search", "c", json!({"vector": vectors[7], "limit": 1}));
    assert_eq!(found[0]["id"], json!(7));
}

#[test]
fn no_more_threads_index_a_collection_than_it_allows_c4_3() {
    let engine = engine(4);
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    engine.ok("update_collection", "c", json!({"hnsw_config": {"max_indexing_threads": 2}}));
    let collection = collection(&engine);
    let first = collection.start_indexing().expect("there is room");
    let second = collection.start_indexing().expect("there is room");
    assert!(collection.start_indexing().is_none());
    drop(first);
    let third = collection.start_indexing().expect("there is room again");
    assert!(collection.start_indexing().is_none());
    drop((second, third));
    engine.ok("update_collection", "c", json!({"optimizers_config": {"max_optimization_threads": 0}}));
    assert!(collection.start_indexing().is_none());
}

/// The share of the exact ten nearest of some rows that the graph finds.
fn recall(engine: &TestEngine, vectors: &[Vec<f32>]) -> f64 {
    let ids = |found: &Value| -> Vec<u64> {
        let found = found.as_array().expect("hits").iter();
        found.map(|hit| hit["id"].as_u64().expect("a number")).collect()
    };
    let found = |vector: &Vec<f32>| {
        let search = |params: Value| {
            ids(&engine.ok("search", "c", json!({"vector": vector, "limit": 10, "params": params})))
        };
        let walked = engine.client().walking(|| search(json!({"hnsw_ef": 100})));
        let scanned = search(json!({"exact": true}));
        scanned.iter().filter(|id| walked.contains(id)).count()
    };
    vectors.iter().map(found).sum::<usize>() as f64 / (10 * vectors.len()) as f64
}

/// Vectors around a place, and their upserts.
fn fill_around(
    engine: &TestEngine,
    random: &mut Random,
    ids: std::ops::Range<u64>,
    place: f32,
) -> Vec<Vec<f32>> {
    let mut vector = || (0..SIZE).map(|_| place + random.below(1000) as f32 / 1000.0).collect::<Vec<f32>>();
    let vectors: Vec<Vec<f32>> = ids.clone().map(|_| vector()).collect();
    upsert(engine, ids.start, &vectors);
    vectors
}

#[test]
fn one_long_vector_does_not_ruin_the_graph_of_the_others() {
    let engine = engine(5);
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    engine.ok("upsert_points", "c", json!({"points": [{"id": 0, "vector": vec![1e6; SIZE]}]}));
    let vectors = fill_around(&engine, &mut Random(5), 1..1001, 0.0);
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(status(&engine), json!("green"));
    let recall = recall(&engine, &vectors[..40]);
    assert!(recall > 0.95, "{recall}");
}

/// An engine that rewrites graphs early, and then checks their codes.
fn orderly(seed: u64) -> TestEngine {
    let thresholds = Thresholds { order_rows: 300, graph_step_rows: 1, ..Thresholds::default() };
    let engine = TestEngine::with(SimDisk::new(), seed, thresholds).expect("an empty disk opens");
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    engine
}

#[test]
fn a_graph_whose_vectors_have_moved_away_from_the_first_ones_gets_new_codes() {
    let (engine, mut random) = (orderly(6), Random(6));
    fill_around(&engine, &mut random, 0..50, 0.0);
    engine.work(GraphPolicy::WhenGrown);
    let vectors = fill_around(&engine, &mut random, 50..1600, 30.0);
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(status(&engine), json!("green"));
    assert!(collection(&engine).memory().codes > 0);
    let recall = recall(&engine, &vectors[..40]);
    assert!(recall > 0.95, "{recall}");
}

#[test]
fn codes_have_the_fewest_bits_that_distinguish_neighbours() {
    // Like embeddings, these vectors have far fewer degrees of freedom than components.
    let flat = |engine: &TestEngine, random: &mut Random| {
        let directions: Vec<Vec<f32>> =
            (0..8).map(|_| (0..SIZE).map(|_| random.below(1000) as f32 - 500.0).collect()).collect();
        let mut vector = || {
            let mut vector = vec![0.0; SIZE];
            for direction in &directions {
                let share = random.below(1000) as f32 / 1000.0;
                vector.iter_mut().zip(direction).for_each(|(x, d)| *x += share * d);
            }
            vector
        };
        let vectors: Vec<Vec<f32>> = (0..1500).map(|_| vector()).collect();
        upsert(engine, 0, &vectors);
        vectors
    };
    let clusters = |apart: f32| {
        move |engine: &TestEngine, random: &mut Random| {
            let around = |random: &mut Random, cluster: u64| {
                let ids = cluster * 300..cluster * 300 + 300;
                fill_around(engine, random, ids, cluster as f32 * apart)
            };
            (0..5).map(|cluster| around(random, cluster)).last().expect("the last cluster")
        }
    };
    // Bytes of codes where these are asked for.
    let asked = |compression: &str| {
        let engine = engine(8);
        let vectors = json!({"size": SIZE, "distance": "Euclid"});
        create(&engine, vectors, json!({"quantization_config": {"product": {"compression": compression}}}));
        flat(&engine, &mut Random(8));
        engine.work(GraphPolicy::WhenGrown);
        collection(&engine).memory().codes
    };
    let (four, eight) = (asked("x8"), asked("x4"));
    assert!(0 < four && four < eight, "{four}, {eight}");
    type Fill<'f> = &'f dyn Fn(&TestEngine, &mut Random) -> Vec<Vec<f32>>;
    let cases: [(&str, Fill, u64); 3] = [
        ("few degrees of freedom", &flat, four),
        ("clusters", &clusters(2.0), eight),
        ("clusters far apart", &clusters(1000.0), 0),
    ];
    for (case, fill, expected) in cases {
        let mut engine = orderly(8);
        let vectors = fill(&engine, &mut Random(8));
        engine.checkpoint();
        // A restart reads the codes that were kept, and finds nothing to do.
        for _ in 0..2 {
            assert_eq!(collection(&engine).memory().codes, expected, "{case}");
            assert_eq!(status(&engine), json!("green"), "{case}");
            let recall = recall(&engine, &vectors[..40]);
            assert!(recall > 0.95, "{case}: {recall}");
            engine.restart();
        }
    }
}

#[test]
fn what_codes_estimate_is_answered_only_where_codes_were_asked_for_c6_2() {
    for (quantization, is_estimate) in [(json!(null), false), (json!({"scalar": {"type": "int8"}}), true)] {
        let engine = engine(9);
        create(
            &engine,
            json!({"size": SIZE, "distance": "Euclid"}),
            json!({"quantization_config": quantization}),
        );
        let vectors = fill_around(&engine, &mut Random(9), 0..1000, 0.0);
        engine.work(GraphPolicy::WhenGrown);
        assert!(collection(&engine).memory().codes > 0);
        let search = |params: Value| {
            let query: Vec<f32> = vectors[3].iter().map(|x| x + 0.37).collect();
            engine.ok("search", "c", json!({"vector": query, "limit": 10, "params": params}))
        };
        let params = json!({"hnsw_ef": 200, "quantization": {"rescore": false}});
        let estimated = engine.client().walking(|| search(params));
        let exact = search(json!({"exact": true}));
        assert_eq!(estimated != exact, is_estimate, "{quantization}: {estimated}");
    }
}

#[test]
fn vectors_of_another_nature_get_other_codes_before_anything_is_rewritten() {
    let (engine, mut random) = (engine(10), Random(10));
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    fill_around(&engine, &mut random, 0..400, 0.0);
    engine.work(GraphPolicy::WhenGrown);
    assert!(collection(&engine).memory().codes > 0);
    let mut vectors = Vec::new();
    for cluster in 1..5 {
        let ids = cluster * 400..cluster * 400 + 400;
        vectors = fill_around(&engine, &mut random, ids, cluster as f32 * 1000.0);
    }
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(collection(&engine).memory().codes, 0);
    let recall = recall(&engine, &vectors[..40]);
    assert!(recall > 0.95, "{recall}");
}

#[test]
fn the_length_of_a_query_changes_no_order_of_inner_products() {
    let engine = engine(11);
    create(&engine, json!({"size": SIZE, "distance": "Dot"}), json!({}));
    // Far from zero, so that the mean is long.
    let vectors = fill_around(&engine, &mut Random(11), 0..1500, 30.0);
    engine.work(GraphPolicy::WhenGrown);
    assert!(collection(&engine).memory().codes > 0);
    for vector in &vectors[..20] {
        let ids = |scale: f32| -> Vec<Value> {
            let query: Vec<f32> = vector.iter().map(|x| (x - 30.5) * scale).collect();
            let body = json!({"vector": query, "limit": 10, "params": {"hnsw_ef": 50}});
            let hits = engine.client().walked(|| engine.ok("search", "c", body));
            hits.as_array().expect("hits").iter().map(|hit| hit["id"].clone()).collect()
        };
        let (short, long) = (ids(1.0 / 1024.0), ids(1024.0));
        assert_eq!(short, long);
        // Where squares in f32 underflow or overflow, other sums are used.
        for power in [-46, 56] {
            let found = ids(2f32.powi(power));
            let common = found.iter().filter(|id| short.contains(id)).count();
            assert!(common >= 9, "times 2^{power}: {found:?}, not {short:?}");
        }
    }
}

/// Regression: the query is in a cluster that the filter excludes. The walk started at a few arbitrary matches, which
/// missed some of the other clusters, and without a field index it started at no match.
#[test]
fn a_filter_that_excludes_the_cluster_of_the_query_hides_no_other_cluster() {
    let (engine, mut random) = (engine(14), Random(14));
    let (dim, clusters) = (32, 30);
    let links = json!({"m": 16, "full_scan_threshold": 10});
    create(&engine, json!({"size": dim, "distance": "Cosine"}), json!({"hnsw_config": links}));
    let centres: Vec<Vec<f32>> = (0..clusters).map(|_| random.normals(dim)).collect();
    let mut near =
        |cluster: usize| -> Vec<f32> { centres[cluster].iter().map(|x| x + 0.3 * random.normal()).collect() };
    let points: Vec<Value> = (0..24_000)
        .map(|id| json!({"id": id, "vector": near(id % clusters), "payload": {"section": id % 10}}))
        .collect();
    points.chunks(1000).for_each(|points| drop(engine.ok("upsert_points", "c", json!({"points": points}))));
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(status(&engine), json!("green"));
    let queries: Vec<Vec<f32>> = (0..60).map(|at| near(at * 10 % clusters + 5 + at % 5)).collect();
    for is_indexed in [false, true] {
        if is_indexed {
            let field = json!({"field_name": "section", "field_schema": "integer"});
            engine.ok("create_field_index", "c", field);
            engine.build_indexes();
        }
        let filter = json!({"must": [{"key": "section", "match": {"any": [0, 1, 2, 3, 4]}}]});
        let best = |vector: &Vec<f32>, params: Value| {
            let search = json!({"vector": vector, "limit": 10, "filter": filter, "params": params});
            engine.ok("search", "c", search)
        };
        let ids = |hits: Value| -> Vec<Value> {
            hits.as_array().expect("hits").iter().map(|hit| hit["id"].clone()).collect()
        };
        let (mut common, mut nearest) = (0, 0);
        for query in &queries {
            let found = ids(engine.client().walked(|| best(query, json!({}))));
            let exact = ids(best(query, json!({"exact": true})));
            common += exact.iter().filter(|id| found.contains(id)).count();
            let cluster = |ids: &[Value]| ids[0].as_u64().map(|id| id % clusters as u64);
            nearest += usize::from(cluster(&found) == cluster(&exact));
        }
        assert!(nearest >= 54 && common >= 530, "indexed {is_indexed}: {common} of 600, {nearest} of 60");
    }
}

#[test]
fn duplicates_displace_no_other_vectors_c2_4() {
    let (engine, mut random) = (engine(12), Random(12));
    create(&engine, json!({"size": SIZE, "distance": "Euclid"}), json!({}));
    let mut vector = || (0..SIZE).map(|_| random.below(1000) as f32 / 1000.0).collect::<Vec<f32>>();
    let different: Vec<Vec<f32>> = (0..20).map(|_| vector()).collect();
    let vectors: Vec<Vec<f32>> = (0..3000).map(|at| different[at * 7 % 20].clone()).collect();
    upsert(&engine, 0, &vectors);
    engine.work(GraphPolicy::WhenGrown);
    for _ in 0..40 {
        let query = vector();
        // Fewer than there are copies of each.
        let search =
            |params: Value| engine.ok("search", "c", json!({"vector": query, "limit": 10, "params": params}));
        let exact = search(json!({"exact": true}));
        for params in [
            json!({"hnsw_ef": 50}),
            json!({"hnsw_ef": 50, "quantization": {"ignore": true}}),
            json!({"hnsw_ef": 50, "quantization": {"oversampling": 3}}),
        ] {
            let found = engine.client().walked(|| search(params.clone()));
            assert_eq!(found, exact, "{params}");
        }
    }
}

#[test]
fn clusters_that_codes_cannot_resolve_are_walked_by_their_originals() {
    let (mut engine, mut random) = (orderly(7), Random(7));
    let mut vectors = Vec::new();
    for cluster in 0..5 {
        vectors =
            fill_around(&engine, &mut random, cluster * 300..cluster * 300 + 300, cluster as f32 * 1000.0);
    }
    engine.checkpoint();
    for _ in 0..2 {
        assert_eq!(status(&engine), json!("green"), "the graph was kept");
        assert_eq!(collection(&engine).memory().codes, 0);
        let recall = recall(&engine, &vectors[..40]);
        assert!(recall > 0.95, "{recall}");
        engine.restart();
    }
    // A client that asks for narrow codes wants their size.
    engine.ok("update_collection", "c", json!({"quantization_config": {"binary": {}}}));
    engine.work(GraphPolicy::WhenGrown);
    assert!(collection(&engine).memory().codes > 0);
    engine.ok("update_collection", "c", json!({"quantization_config": "Disabled"}));
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(collection(&engine).memory().codes, 0);
    // Vectors that the codes can distinguish do not help the others.
    let spread = |random: &mut Random| (0..SIZE).map(|_| random.below(1 << 20) as f32).collect::<Vec<f32>>();
    let points: Vec<Value> =
        (2000..8000).map(|id| json!({"id": id, "vector": spread(&mut random)})).collect();
    points.chunks(500).for_each(|points| drop(engine.ok("upsert_points", "c", json!({"points": points}))));
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(collection(&engine).memory().codes, 0);
    let gone: Vec<u64> = (0..1500).collect();
    engine.ok("delete_points", "c", json!({"points": gone}));
    engine.work(GraphPolicy::WhenGrown);
    assert!(collection(&engine).memory().codes > 0);
}

#[test]
fn clusters_that_are_inserted_one_after_the_other_are_found_with_all_codes() {
    let (dim, clusters, each) = (64, 50, 200);
    for (seed, codes) in [json!(null), json!({"binary": {}}), json!({"product": {"compression": "x16"}})]
        .into_iter()
        .enumerate()
    {
        let (engine, mut random) = (engine(seed as u64), Random(31));
        let links = json!({"m": 16, "full_scan_threshold": 10});
        let others = json!({"quantization_config": codes, "hnsw_config": links});
        create(&engine, json!({"size": dim, "distance": "Euclid"}), others);
        let centres: Vec<Vec<f32>> = (0..clusters).map(|_| random.normals(dim)).collect();
        let mut near = |centre: &[f32]| centre.iter().map(|x| x + 0.05 * random.normal()).collect();
        let vectors: Vec<Vec<f32>> =
            centres.iter().flat_map(|centre| (0..each).map(|_| near(centre)).collect::<Vec<_>>()).collect();
        upsert(&engine, 0, &vectors);
        engine.work(GraphPolicy::WhenGrown);
        assert_eq!(status(&engine), json!("green"));
        // Codes of one bit distinguish clusters, but not the points of a cluster.
        let is_found = |&at: &usize| {
            let search = json!({"vector": vectors[at], "limit": 1, "params": {"hnsw_ef": 100}});
            let hits = engine.ok("search", "c", search);
            hits[0]["id"].as_u64().is_some_and(|id| id as usize / each == at / each)
        };
        let asked: Vec<usize> = (0..vectors.len()).step_by(50).collect();
        let found = asked.iter().filter(|&at| is_found(at)).count();
        assert!(found >= 196, "{codes}: {found} of {}", asked.len());
    }
}
