//! What a client was promised: a reference model of collections and points, in ordered maps.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Ids from here on are shown as UUIDs, which sort behind all integers (C6.4).
pub const FIRST_UUID: u64 = 1000;

/// Everything that a server holds.
pub type Model = BTreeMap<String, Collection>;

/// The id as requests and answers show it.
pub fn shown(id: u64) -> Value {
    if id < FIRST_UUID { json!(id) } else { json!(format!("00000000-0000-4000-8000-{id:012x}")) }
}

/// The id that [`shown`] showed.
pub fn read_id(value: &Value) -> u64 {
    match value.as_str() {
        Some(uuid) => u64::from_str_radix(&uuid[24..], 16).expect("an id of the model"),
        None => value.as_u64().expect("an integer id"),
    }
}

/// The vector fields of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// One small unnamed vector, always scanned.
    Small,
    /// One unnamed vector, large enough that some twenty of them get a graph.
    Graph,
    /// Two named vectors, the first with a graph, and a sparse one.
    Named,
    /// A sparse vector alone.
    Sparse,
}

/// Name of the sparse vectors. Programs have them as lists of [`Schema::fields`]' length, in which a zero stands for an
/// index that is not there.
pub const SPARSE: &str = "s";

impl Schema {
    /// Name and length of each field.
    pub fn fields(self) -> &'static [(&'static str, usize)] {
        match self {
            Schema::Small => &[("", 3)],
            Schema::Graph => &[("", 128)],
            Schema::Named => &[("a", 128), ("b", 2), (SPARSE, 12)],
            Schema::Sparse => &[(SPARSE, 12)],
        }
    }

    /// The body that creates such a collection.
    pub fn creation(self, m: u64) -> Value {
        let hnsw = json!({"m": m, "ef_construct": 16, "full_scan_threshold": 10});
        let vectors = match self {
            Schema::Small => json!({"size": 3, "distance": "Dot"}),
            Schema::Graph => json!({"size": 128, "distance": "Euclid"}),
            Schema::Named => json!({
                "a": {"size": 128, "distance": "Euclid"},
                "b": {"size": 2, "distance": "Manhattan"},
            }),
            Schema::Sparse => json!({}),
        };
        let sparse = match self {
            Schema::Named | Schema::Sparse => json!({SPARSE: {}}),
            _ => json!(null),
        };
        json!({"vectors": vectors, "sparse_vectors": sparse, "hnsw_config": hnsw})
    }

    /// The schema whose creation the server describes so.
    fn of(params: &Value) -> Schema {
        match params["size"].as_u64() {
            Some(3) => Schema::Small,
            Some(_) => Schema::Graph,
            None if params == &json!({}) => Schema::Sparse,
            None => Schema::Named,
        }
    }
}

/// A point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    pub vectors: BTreeMap<String, Vec<f32>>,
    pub payload: Map<String, Value>,
}

impl Point {
    /// Whether a filter of the programs matches: `n` at least so much, or `tag` equal.
    pub fn matches(&self, filter: &Filter) -> bool {
        match filter {
            Filter::AtLeast(bound) => {
                self.payload.get("n").and_then(Value::as_i64).is_some_and(|n| n >= *bound)
            }
            Filter::Tagged(tag) => self.payload.get("tag").and_then(Value::as_str) == Some(tag),
        }
    }
}

/// The filters that programs use; each is about one field, so that field indexes matter.
#[derive(Clone, Debug)]
pub enum Filter {
    AtLeast(i64),
    Tagged(String),
}

impl Filter {
    pub fn json(&self) -> Value {
        match self {
            Filter::AtLeast(bound) => json!({"must": {"key": "n", "range": {"gte": bound}}}),
            Filter::Tagged(tag) => json!({"must": [{"key": "tag", "match": {"value": tag}}]}),
        }
    }
}

/// A collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    pub schema: Schema,
    pub points: BTreeMap<u64, Point>,
    pub indexes: BTreeSet<String>,
    /// `metadata.note`, which a PATCH changes.
    pub note: Option<u64>,
    /// `hnsw_config.m`, likewise.
    pub m: u64,
}

impl Collection {
    pub fn new(schema: Schema, m: u64) -> Collection {
        Collection { schema, points: BTreeMap::new(), indexes: BTreeSet::new(), note: None, m }
    }

    /// The collection as two answers of the server show it: its info, and a scroll over everything.
    pub fn read(info: &Value, page: &Value) -> Collection {
        let config = &info["config"];
        let schema = Schema::of(&config["params"]["vectors"]);
        assert_eq!(page["next_page_offset"], Value::Null, "one page holds everything");
        let points: BTreeMap<u64, Point> = page["points"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|point| read_point(schema, point))
            .collect();
        let read = Collection {
            schema,
            indexes: info["payload_schema"].as_object().expect("an object").keys().cloned().collect(),
            note: config["metadata"]["note"].as_u64(),
            m: config["hnsw_config"]["m"].as_u64().expect("a number"),
            points,
        };
        assert_eq!(info["points_count"].as_u64(), Some(read.points.len() as u64), "points_count");
        assert_eq!(page["points"].as_array().map(Vec::len), Some(read.points.len()), "no id twice");
        read
    }
}

fn read_point(schema: Schema, point: &Value) -> (u64, Point) {
    let numbers = |v: &Value| -> Vec<f32> {
        v.as_array().expect("components").iter().map(|c| c.as_f64().expect("a number") as f32).collect()
    };
    let components = |v: &Value| {
        if v.is_array() {
            return numbers(v);
        }
        let mut spread = vec![0.0; 12];
        for (index, value) in numbers(&v["indices"]).into_iter().zip(numbers(&v["values"])) {
            spread[index as usize] = value;
        }
        spread
    };
    let vectors = match (&point["vector"], schema) {
        (Value::Object(named), Schema::Named | Schema::Sparse) => {
            named.iter().map(|(name, vector)| (name.clone(), components(vector))).collect()
        }
        (Value::Object(none), _) => {
            assert!(none.is_empty(), "an unnamed vector is a list");
            BTreeMap::new()
        }
        (vector, _) => BTreeMap::from([(String::new(), components(vector))]),
    };
    let payload = point["payload"].as_object().expect("a payload").clone();
    (read_id(&point["id"]), Point { vectors, payload })
}

/// The difference of two models in a few lines.
pub fn difference(found: &Model, expected: &Model) -> String {
    let mut out = String::new();
    let names: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    for name in names {
        let (Some(a), Some(b)) = (found.get(name), expected.get(name)) else {
            out += &format!(
                "{name}: found {}, expected {}\n",
                found.contains_key(name),
                expected.contains_key(name)
            );
            continue;
        };
        let ids: BTreeSet<&u64> = a.points.keys().chain(b.points.keys()).collect();
        let wrong: Vec<String> = ids
            .into_iter()
            .filter(|id| a.points.get(id) != b.points.get(id))
            .map(|id| match (a.points.get(id), b.points.get(id)) {
                (Some(_), None) => format!("{id} should be absent"),
                (None, _) => format!("{id} is missing"),
                (Some(a), Some(b)) if a.vectors == b.vectors => {
                    format!("{id} {:?} != {:?}", a.payload, b.payload)
                }
                _ => format!("{id} has another vector"),
            })
            .collect();
        let heads = |c: &Collection| (c.schema, c.indexes.clone(), c.note, c.m);
        if heads(a) != heads(b) {
            out += &format!("{name}: {:?} != {:?}\n", heads(a), heads(b));
        }
        if !wrong.is_empty() {
            out += &format!("{name}: {} of {} points: {}\n", wrong.len(), b.points.len(), wrong.join("; "));
        }
    }
    out
}
