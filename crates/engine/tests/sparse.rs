//! Random programs on collections with sparse vectors, against a model that multiplies everything.

mod common;

use common::{Random, TestEngine};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::limits::{ResidencyThresholds, Thresholds};
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Small enough that a few hundred rows see full chunks, merged blocks, checkpoints and the vacuum.
const THRESHOLDS: Thresholds = Thresholds {
    checkpoint_bytes: 16 << 10,
    log_budget_bytes: 64 << 10,
    log_segment_bytes: 32 << 10,
    graph_step_rows: 10,
    vacuum_rows: 10,
    order_rows: 30,
    row_chunk_bytes: 16 << 10,
    auto_index_points: 10_000,
    residency: ResidencyThresholds::USUAL,
};

type Sparse = BTreeMap<u32, f32>;

#[derive(Clone, Default)]
struct Point {
    sparse: Option<Sparse>,
    dense: Option<[f32; 2]>,
    n: Option<i64>,
}

/// What a program works on.
struct Program {
    engine: TestEngine,
    random: Random,
    points: BTreeMap<u64, Point>,
    /// There is a field of dense vectors, too.
    has_dense: bool,
    datatype: &'static str,
    idf: bool,
}

impl Program {
    fn new(seed: u64) -> Program {
        let engine = TestEngine::with(SimDisk::new(), seed, THRESHOLDS).expect("an empty disk opens");
        let mut random = Random(seed);
        let has_dense = random.chance(50);
        let datatype = ["float32", "float16", "uint8"][random.below(3) as usize];
        let idf = random.chance(40);
        let modifier = if idf { "idf" } else { "none" };
        let mut body =
            json!({"sparse_vectors": {"s": {"modifier": modifier, "index": {"datatype": datatype}}}});
        if has_dense {
            body["vectors"] = json!({"d": {"size": 2, "distance": "Dot"}});
        }
        engine.ok("create_collection", "c", body);
        if random.chance(50) {
            engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
        }
        Program { engine, random, points: BTreeMap::new(), has_dense, datatype, idf }
    }

    fn sparse(&mut self) -> Sparse {
        let count = self.random.below(7);
        (0..count)
            .map(|_| {
                // A few indices are everywhere, most are rare, one is the last there is.
                let index = match self.random.below(10) {
                    0..5 => self.random.below(4) as u32,
                    5..9 => 10 + self.random.below(40) as u32,
                    _ => u32::MAX,
                };
                (index, self.value())
            })
            .collect()
    }

    /// A value that every step of the way keeps exactly.
    fn value(&mut self) -> f32 {
        match self.datatype {
            "uint8" => self.random.below(9) as f32,
            _ => (self.random.below(65) as f32 - 32.0) / 8.0,
        }
    }

    fn id(&mut self) -> u64 {
        self.random.below(120)
    }

    fn known_id(&mut self) -> Option<u64> {
        let count = self.points.len() as u64;
        (count > 0)
            .then(|| *self.points.keys().nth(self.random.below(count) as usize).expect("below the count"))
    }

    fn upsert(&mut self) {
        let count = 1 + self.random.below(12);
        let mut shown = Vec::new();
        for _ in 0..count {
            let id = self.id();
            let sparse = self.random.chance(90).then(|| self.sparse());
            let dense = (self.has_dense && self.random.chance(70)).then(|| [self.value(), self.value()]);
            let n = self.random.chance(80).then(|| self.random.below(30) as i64);
            let mut vector = json!({});
            if let Some(sparse) = &sparse {
                vector["s"] = self.shown(sparse);
            }
            if let Some(dense) = dense {
                vector["d"] = json!(dense);
            }
            shown.push(
                json!({"id": id, "vector": vector, "payload": n.map_or(json!({}), |n| json!({"n": n}))}),
            );
            self.points.insert(id, Point { sparse, dense, n });
        }
        if self.random.chance(10) {
            // A last point that is refused takes the others with it.
            let before = self.engine.digest("c");
            shown.push(json!({"id": 1, "vector": {"nope": [1]}}));
            let (code, _) = self.engine.refused("upsert_points", "c", json!({"points": shown}));
            assert_eq!(code, "vector_not_found");
            assert_eq!(self.engine.digest("c"), before);
            shown.pop();
        }
        self.engine.ok("upsert_points", "c", json!({"points": shown}));
    }

    /// In a request the elements may come in any order.
    fn shown(&mut self, sparse: &Sparse) -> Value {
        let mut elements: Vec<(u32, f32)> = sparse.iter().map(|(index, value)| (*index, *value)).collect();
        if self.random.chance(50) {
            elements.reverse();
        }
        let (indices, values): (Vec<u32>, Vec<f32>) = elements.into_iter().unzip();
        json!({"indices": indices, "values": values})
    }

    fn change(&mut self) {
        let Some(id) = self.known_id() else { return };
        match self.random.below(6) {
            0..2 => {
                let sparse = self.sparse();
                let vector = json!({"s": self.shown(&sparse)});
                self.engine.ok("update_vectors", "c", json!({"points": [{"id": id, "vector": vector}]}));
                self.points.get_mut(&id).expect("known").sparse = Some(sparse);
            }
            2 => {
                self.engine.ok("delete_vectors", "c", json!({"points": [id], "vector": ["s"]}));
                self.points.get_mut(&id).expect("known").sparse = None;
            }
            3 => {
                let n = self.random.below(30) as i64;
                self.engine.ok("set_payload", "c", json!({"points": [id], "payload": {"n": n}}));
                self.points.get_mut(&id).expect("known").n = Some(n);
            }
            4 => {
                self.engine.ok("delete_points", "c", json!({"points": [id]}));
                self.points.remove(&id);
            }
            _ => {
                let bound = 22 + self.random.below(8) as i64;
                let filter = json!({"must": {"key": "n", "range": {"gte": bound}}});
                self.engine.ok("delete_points", "c", json!({"filter": filter}));
                self.points.retain(|_, point| point.n.is_none_or(|n| n < bound));
            }
        }
    }

    /// A batch whose second half is refused leaves nothing of the first.
    fn refused_batch(&mut self) {
        let sparse = self.sparse();
        let vector = json!({"s": self.shown(&sparse)});
        let id = self.id();
        let operations = json!([
            {"upsert": {"points": [{"id": id, "vector": vector}, {"id": 200, "vector": vector}]}},
            {"delete": {"points": [id]}},
            {"clear_payload": {"points": [999]}},
        ]);
        let (code, _) = self.engine.refused("batch_update", "c", json!({"operations": operations}));
        assert_eq!(code, "point_not_found");
    }

    fn patch(&mut self) {
        self.idf = !self.idf;
        let modifier = if self.idf { "idf" } else { "none" };
        self.engine.ok("update_collection", "c", json!({"sparse_vectors": {"s": {"modifier": modifier}}}));
    }

    /// The query's weights as points are multiplied with them.
    fn weighed(&self, query: &Sparse) -> Sparse {
        if !self.idf {
            return query.clone();
        }
        let vectors: Vec<&Sparse> = self.points.values().filter_map(|point| point.sparse.as_ref()).collect();
        let weigh = |(index, weight): (&u32, &f32)| {
            let shared = vectors.iter().filter(|vector| vector.contains_key(index)).count() as f64;
            let factor = ((vectors.len() as f64 - shared + 0.5) / (shared + 0.5) + 1.0).ln();
            (*index, (f64::from(*weight) * factor) as f32)
        };
        query.iter().map(weigh).collect()
    }

    /// Ids and scores, best first, ties by id.
    fn expected(&self, query: &Sparse, bound: Option<i64>, threshold: Option<f32>) -> Vec<(u64, f32)> {
        let query = self.weighed(query);
        let score = |sparse: &Sparse| {
            let products: Vec<f32> =
                query.iter().filter_map(|(index, weight)| Some(weight * sparse.get(index)?)).collect();
            (!products.is_empty()).then(|| products.iter().fold(0.0, |sum, product| sum + product))
        };
        let mut hits: Vec<(u64, f32)> = self
            .points
            .iter()
            .filter(|(_, point)| bound.is_none_or(|bound| point.n.is_some_and(|n| n >= bound)))
            .filter_map(|(id, point)| Some((*id, score(point.sparse.as_ref()?)?)))
            .filter(|(_, score)| threshold.is_none_or(|threshold| *score >= threshold))
            .collect();
        hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        hits
    }

    fn search(&mut self) {
        let query = self.sparse();
        let bound = self.random.chance(50).then(|| self.random.below(31) as i64);
        let threshold = self.random.chance(25).then(|| self.value());
        let (limit, offset) = (1 + self.random.below(20) as usize, self.random.below(4) as usize);
        let mut body = json!({"limit": limit, "offset": offset});
        if let Some(bound) = bound {
            body["filter"] = json!({"must": {"key": "n", "range": {"gte": bound}}});
        }
        if let Some(threshold) = threshold {
            body["score_threshold"] = json!(threshold);
        }
        let vector = self.shown(&query);
        let found = if self.random.chance(50) {
            body["vector"] = json!({"name": "s", "vector": vector});
            self.engine.ok("search", "c", body.clone())
        } else {
            body["query"] = vector;
            body["using"] = json!("s");
            self.engine.ok("query", "c", body.clone())["points"].clone()
        };
        let expected = self.expected(&query, bound, threshold);
        let page: Vec<(u64, f32)> = expected.into_iter().skip(offset).take(limit).collect();
        assert_eq!(scored(&found), page, "{body}");
    }

    fn search_by_example(&mut self) {
        let Some(id) = self.known_id() else { return };
        let body = json!({"query": id, "using": "s", "limit": 1000});
        match self.points[&id].sparse.clone() {
            Some(sparse) => {
                let found = self.engine.ok("query", "c", body)["points"].clone();
                let mut expected = self.expected(&sparse, None, None);
                expected.retain(|(other, _)| *other != id);
                assert_eq!(scored(&found), expected, "like {id}");
            }
            None => {
                let (code, _) = self.engine.refused("query", "c", body);
                assert_eq!(code, "point_without_vector");
            }
        }
    }

    /// Everything that is shown beside searches.
    fn check(&self) {
        let page = self.engine.digest("c");
        let found: BTreeMap<u64, Value> = page["points"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|point| (point["id"].as_u64().expect("a number"), point["vector"].clone()))
            .collect();
        let shown = |point: &Point| {
            let mut vector = json!({});
            if let Some(sparse) = &point.sparse {
                let (indices, values): (Vec<u32>, Vec<f32>) = sparse.iter().unzip();
                vector["s"] = json!({"indices": indices, "values": values});
            }
            if let Some(dense) = point.dense {
                vector["d"] = json!(dense);
            }
            vector
        };
        let expected: BTreeMap<u64, Value> =
            self.points.iter().map(|(id, point)| (*id, shown(point))).collect();
        assert_eq!(found, expected);
        let with_sparse = self.points.values().filter(|point| point.sparse.is_some()).count();
        let count = self.engine.ok("count", "c", json!({"filter": {"must": {"has_vector": "s"}}}));
        assert_eq!(count, json!({"count": with_sparse}));
        let info = self.engine.ok("collection_info", "c", json!(null));
        let vectors = with_sparse + self.points.values().filter(|point| point.dense.is_some()).count();
        assert_eq!(info["indexed_vectors_count"], json!(vectors));
        assert_eq!(info["points_count"], json!(self.points.len()));
        // A field index may still have to be built.
        self.engine.work(GraphPolicy::WhenGrown);
        assert_eq!(self.engine.ok("collection_info", "c", json!(null))["status"], "green");
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            match self.random.below(100) {
                0..25 => self.upsert(),
                25..45 => self.change(),
                45..48 => self.refused_batch(),
                48..50 => self.patch(),
                50..60 => self.engine.work(GraphPolicy::WhenGrown),
                60..63 => self.engine.checkpoint(),
                63..66 => {
                    self.engine.restart();
                    self.check();
                }
                66..68 => {
                    let seed = self.random.next();
                    self.engine.power_cut(seed);
                    self.check();
                }
                68..75 => self.search_by_example(),
                _ => self.search(),
            }
        }
        self.check();
    }
}

fn scored(hits: &Value) -> Vec<(u64, f32)> {
    let hit =
        |hit: &Value| (hit["id"].as_u64().expect("a number"), hit["score"].as_f64().expect("a score") as f32);
    hits.as_array().expect("hits").iter().map(hit).collect()
}

#[test]
fn searches_of_random_programs_are_those_of_a_model_c6_2() {
    for seed in 0..40 {
        Program::new(seed).run(150);
    }
}

#[test]
fn rows_and_postings_of_what_was_replaced_are_given_back() {
    let mut program = Program::new(7);
    let mut sizes = Vec::new();
    for round in 0..60 {
        for _ in 0..10 {
            program.upsert();
        }
        program.engine.work(GraphPolicy::WhenGrown);
        if round % 20 == 19 {
            let memory = program.engine.engine().status().memory;
            sizes.push((memory.originals + memory.originals_mapped, memory.links));
        }
    }
    assert!(sizes[2].0 < 2 * sizes[0].0 && sizes[2].1 < 2 * sizes[0].1, "{sizes:?}");
    program.check();
    program.engine.restart();
    program.check();
}
