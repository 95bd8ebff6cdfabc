//! Random writes beside a re-embedding, restarts and power cuts among them, compared with a model.

use super::common::{Random, SHORT_FILES, TestEngine, setting};
use super::worker::{Batch, abort, begin, commit, embed_all, fill, next, report, vector_of};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const IDS: u64 = 24;
const STEPS: u64 = 120;

/// What the collection must have of a point.
#[derive(Clone, Debug)]
struct Known {
    text: Option<String>,
    old: Option<Vec<f32>>,
}

struct Run {
    engine: TestEngine,
    random: Random,
    points: BTreeMap<u64, Known>,
    is_under_way: bool,
    /// Texts that were given out before other writes.
    waiting: Option<Batch>,
}

impl Run {
    fn new(seed: u64) -> Run {
        let engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
        let vectors = json!({"a": {"size": 2, "distance": "Euclid"}, "b": {"size": 1, "distance": "Dot"}});
        let sparse = if seed.is_multiple_of(2) { json!({"s": {}}) } else { json!({}) };
        let hnsw = json!({"m": 4, "ef_construct": 16, "full_scan_threshold": 10});
        let body = json!({"vectors": vectors, "sparse_vectors": sparse, "hnsw_config": hnsw});
        engine.ok("create_collection", "c", body);
        let model = json!({"name": "old", "text_key": "t"});
        engine.ok("update_collection", "c", json!({"vectors": {"a": {"model": model}}}));
        let random = Random(seed);
        Run { engine, random, points: BTreeMap::new(), is_under_way: false, waiting: None }
    }

    fn text(&mut self) -> Option<String> {
        (!self.random.chance(15)).then(|| format!("text {}", self.random.below(6)))
    }

    fn upsert(&mut self, id: u64) {
        let (text, has_vector) = (self.text(), self.random.chance(80));
        let old = has_vector.then(|| self.random.vector(2));
        let mut vector = json!({"b": [self.random.uniform()]});
        if let Some(old) = &old {
            vector["a"] = json!(old);
        }
        let payload = text.as_ref().map_or(json!({}), |text| json!({"t": text}));
        let point = json!({"id": id, "vector": vector, "payload": payload});
        self.engine.ok("upsert_points", "c", json!({"points": [point]}));
        self.points.insert(id, Known { text, old });
    }

    /// A write to a point that exists.
    fn change(&mut self, id: u64) {
        let kind = self.random.below(6);
        let (text, old) = (format!("text {}", self.random.below(6)), self.random.vector(2));
        let Some(known) = self.points.get_mut(&id) else { return };
        let ids = json!([id]);
        match kind {
            0 => {
                self.engine.ok("delete_points", "c", json!({"points": ids}));
                self.points.remove(&id);
            }
            1 => {
                self.engine.ok("set_payload", "c", json!({"points": ids, "payload": {"t": text}}));
                known.text = Some(text);
            }
            2 => {
                self.engine.ok("set_payload", "c", json!({"points": ids, "payload": {"n": 1}}));
            }
            3 => {
                self.engine.ok("clear_payload", "c", json!({"points": ids}));
                known.text = None;
            }
            4 => {
                let body = json!({"points": [{"id": id, "vector": {"a": old}}], "model": {"a": "old"}});
                self.engine.ok("update_vectors", "c", body);
                known.old = Some(old);
            }
            _ => {
                self.engine.ok("delete_vectors", "c", json!({"points": ids, "vector": ["a"]}));
                known.old = None;
            }
        }
    }

    /// The vectors of field `a`, compared with what they must be.
    fn check(&self, expected: impl Fn(&Known) -> Option<Vec<f32>>) {
        let digest = self.engine.digest("c");
        let points = digest["points"].as_array().expect("points");
        assert_eq!(points.len(), self.points.len());
        for point in points {
            let known = &self.points[&point["id"].as_u64().expect("an id")];
            let found = point["vector"].get("a").map(|vector| {
                let components = vector.as_array().expect("components").iter();
                components.map(|component| component.as_f64().expect("a number") as f32).collect::<Vec<_>>()
            });
            assert_eq!(found, expected(known), "{point}");
            assert_eq!(point["payload"].get("t").and_then(Value::as_str), known.text.as_deref());
        }
    }

    fn check_old(&self) {
        self.check(|known| known.old.clone());
    }

    /// Does something with the re-embedding.
    fn embed(&mut self) {
        if !self.is_under_way {
            begin(&self.engine, "a");
            self.is_under_way = true;
            return;
        }
        match self.waiting.take() {
            Some(batch) => {
                fill(&self.engine, "a", batch).expect("they are taken");
            }
            None => {
                let limit = 1 + self.random.below(8) as usize;
                self.waiting = next(&self.engine, "a", limit);
            }
        }
    }

    /// Ends the re-embedding, one way or the other.
    fn end(&mut self) {
        if !self.is_under_way {
            return;
        }
        self.waiting = None;
        self.is_under_way = false;
        self.check_old();
        if self.random.chance(30) {
            abort(&self.engine, "a").expect("there is one");
            return self.check_old();
        }
        embed_all(&self.engine, "a", 5);
        let due = self.points.values().filter(|known| known.old.is_some());
        let missing = due.filter(|known| known.text.is_none()).count();
        assert_eq!(report(&self.engine, "a")["missing_texts"], missing);
        assert_eq!(commit(&self.engine, "a", false).is_ok(), missing == 0);
        if missing > 0 {
            commit(&self.engine, "a", true).expect("it is allowed");
        }
        let made = |known: &Known| known.old.as_ref().and(known.text.as_deref()).map(vector_of);
        self.check(made);
        if self.random.chance(50) {
            self.engine.restart();
            self.check(made);
        }
        self.back();
    }

    /// Makes the field what it was, for the next one.
    fn back(&mut self) {
        self.engine.execute("delete_vector_name", "c", Some("a"), true, Vec::new()).expect("it is there");
        let field = json!({"dense": {"size": 2, "distance": "Euclid"}}).to_string().into_bytes();
        self.engine.execute("create_vector_name", "c", Some("a"), true, field).expect("it is new");
        let model = json!({"name": "old", "text_key": "t"});
        self.engine.ok("update_collection", "c", json!({"vectors": {"a": {"model": model}}}));
        self.points.values_mut().for_each(|known| known.old = None);
    }

    fn step(&mut self, seed: u64) {
        let id = self.random.below(IDS);
        match self.random.below(100) {
            0..30 => self.upsert(id),
            30..60 => self.change(id),
            60..88 => self.embed(),
            88..91 => self.end(),
            91..96 => self.engine.work(GraphPolicy::WhenGrown),
            96..98 => self.engine.restart(),
            _ => self.engine.power_cut(seed),
        }
    }
}

#[test]
fn random_writes_and_restarts_beside_re_embeddings_leave_what_a_model_has_c19() {
    let seeds = setting("KITHDB_REEMBEDDINGS").unwrap_or(12);
    for seed in 0..seeds {
        let mut run = Run::new(seed);
        for step in 0..STEPS {
            run.step(seed * STEPS + step);
        }
        run.check(|known| known.old.clone());
        run.end();
    }
}
