//! Sets of vectors that are unlike embeddings: a search through the graph must find their nearest neighbours, too.

mod common;

use common::{Random, TestEngine, upsert};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};

const ROWS: usize = 2000;
const QUERIES: usize = 50;
const LIMIT: usize = 10;
const EF: u64 = 32;

/// A set and queries of the same shape behind it.
struct Shape {
    name: &'static str,
    distance: &'static str,
    vectors: Vec<Vec<f32>>,
}

fn shape(
    name: &'static str,
    distance: &'static str,
    mut vector: impl FnMut(usize, &mut Random) -> Vec<f32>,
) -> Shape {
    let mut numbers = Random(name.len() as u64);
    Shape { name, distance, vectors: (0..ROWS + QUERIES).map(|row| vector(row, &mut numbers)).collect() }
}

fn shapes() -> Vec<Shape> {
    let mut numbers = Random(1);
    let basis: Vec<Vec<f32>> = (0..8).map(|_| numbers.normals(256)).collect();
    let centres: Vec<Vec<f32>> = (0..20).map(|_| numbers.normals(64)).collect();
    let far: Vec<f32> = numbers.normals(64).iter().map(|x| 100.0 * x).collect();
    let of_low_rank = |numbers: &mut Random| {
        let parts = numbers.normals(basis.len());
        let sum = |at: usize| parts.iter().zip(&basis).map(|(part, row)| part * row[at]).sum::<f32>();
        (0..256).map(|at| sum(at) + 0.001 * numbers.normal()).collect::<Vec<f32>>()
    };
    let in_cluster = |row: usize, spread: f32, numbers: &mut Random| -> Vec<f32> {
        centres[row % 20].iter().map(|x| x + spread * numbers.normal()).collect()
    };
    vec![
        shape("low rank", "Cosine", |_, numbers| of_low_rank(numbers)),
        shape("low rank, of many lengths", "Euclid", |_, numbers| of_low_rank(numbers)),
        shape("lengths over three orders", "Dot", |_, numbers| {
            let length = numbers.normal().exp();
            numbers.normals(64).iter().map(|x| length * x).collect()
        }),
        shape("whole numbers", "Euclid", |_, numbers| {
            (0..64).map(|_| (4.0 * numbers.uniform()).floor()).collect()
        }),
        shape("bits", "Cosine", |_, numbers| {
            (0..64).map(|at| f32::from(at == 0 || numbers.uniform() < 0.2)).collect()
        }),
        shape("small differences far from the origin", "Euclid", |row, numbers| {
            let near = in_cluster(row, 0.2, numbers);
            far.iter().zip(near).map(|(far, near)| far + 0.1 * near).collect()
        }),
        shape("a narrow cone", "Cosine", |row, numbers| {
            in_cluster(row, 0.3, numbers).iter().map(|x| 10.0 + 0.3 * x).collect()
        }),
        shape("components over six orders", "Euclid", |_, numbers| {
            (0..64).map(|at| 10f32.powi(at % 7 - 3) * numbers.normal()).collect()
        }),
        shape("tight clusters", "Cosine", |row, numbers| in_cluster(row, 0.01, numbers)),
        shape("clusters by their sides", "Manhattan", |row, numbers| in_cluster(row, 0.5, numbers)),
        shape("two components", "Euclid", |_, numbers| vec![numbers.uniform(), numbers.uniform()]),
        shape("mostly zeros", "Cosine", |_, numbers| {
            let mut vector = vec![0.0; 256];
            for _ in 0..12 {
                let at = numbers.uniform() * numbers.uniform() * 256.0;
                vector[at as usize] = numbers.uniform() + 0.01;
            }
            vector
        }),
        shape("each twenty times", "Euclid", |row, numbers| {
            in_cluster(row / 20, if row % 20 == 0 { 0.3 } else { 0.0 }, numbers)
        }),
        shape("half of them zero", "Dot", |row, numbers| {
            if row % 2 == 0 || row >= ROWS { numbers.normals(64) } else { vec![0.0; 64] }
        }),
    ]
}

/// The scores of the best.
fn scores(engine: &TestEngine, vector: &[f32], params: Value) -> Vec<f64> {
    let search = json!({"vector": vector, "limit": LIMIT, "params": params});
    let hits = engine.ok("search", "c", search);
    hits.as_array().expect("hits").iter().map(|hit| hit["score"].as_f64().expect("a score")).collect()
}

/// Share of the hits whose score is at least that of the last exact hit.
fn recall(engine: &TestEngine, shape: &Shape, ignore: bool) -> f64 {
    let is_length = matches!(shape.distance, "Euclid" | "Manhattan");
    let found = |vector: &Vec<f32>| {
        let exact = scores(engine, vector, json!({"exact": true}));
        let last = *exact.last().expect("a hit");
        let slack = 1e-5 * last.abs() + 1e-9;
        let params = json!({"hnsw_ef": EF, "quantization": {"ignore": ignore}});
        let walked = engine.client().walked(|| scores(engine, vector, params));
        assert_eq!(walked.len(), exact.len(), "{}", shape.name);
        walked
            .iter()
            .filter(|&&score| if is_length { score <= last + slack } else { score >= last - slack })
            .count()
    };
    shape.vectors[ROWS..].iter().map(found).sum::<usize>() as f64 / (LIMIT * QUERIES) as f64
}

#[test]
fn sets_of_every_shape_are_found_by_codes_as_by_originals_c4_3() {
    for (seed, shape) in shapes().into_iter().enumerate() {
        let thresholds = Thresholds { graph_step_rows: 1, ..Thresholds::default() };
        let engine = TestEngine::with(SimDisk::new(), seed as u64, thresholds).expect("an empty disk opens");
        let vectors = json!({"size": shape.vectors[0].len(), "distance": shape.distance});
        let body = json!({"vectors": vectors, "hnsw_config": {"full_scan_threshold": 10}});
        engine.ok("create_collection", "c", body);
        upsert(&engine, 0, &shape.vectors[..ROWS]);
        engine.work(GraphPolicy::WhenGrown);
        let info = engine.ok("collection_info", "c", json!(null));
        assert_eq!((&info["status"], &info["indexed_vectors_count"]), (&json!("green"), &json!(ROWS)));
        let [codes, originals] = [false, true].map(|ignore| recall(&engine, &shape, ignore));
        assert!(codes >= 0.9, "{}: {codes}", shape.name);
        assert!(codes >= originals - 0.03, "{}: {codes} by codes, {originals} by originals", shape.name);
    }
}
