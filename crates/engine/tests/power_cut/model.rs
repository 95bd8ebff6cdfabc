//! What a client was promised: a reference model of collections and points, in ordered maps.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Ids from here on are shown as UUIDs, which sort behind all integers (C6.4).
pub const FIRST_UUID: u64 = 1000;
/// Such UUIDs differ in their last twelve digits.
const UUIDS: u128 = 0x0000_0000_0000_4000_8000 << 48;

/// Everything that a server holds.
pub type Model = BTreeMap<String, Collection>;

/// After which step the writes of a collection are answered; the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Always,
    Interval,
    Os,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::Always, Level::Interval, Level::Os];

    /// As `wal_config.durability` has it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Always => "always",
            Level::Interval => "interval",
            Level::Os => "os",
        }
    }
}

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

/// The UUID of an id, as its number.
pub fn uuid_of(id: u64) -> u128 {
    UUIDS | u128::from(id)
}

/// The vector fields of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// One small unnamed vector, always scanned.
    Small,
    /// One unnamed vector, large enough that some twenty of them get a graph.
    Graph,
    /// Two named vectors, the first with a graph, a multi-vector that may get one, and a sparse one.
    Named,
    /// A sparse vector alone.
    Sparse,
}

/// Name of the sparse vectors. Programs have them as lists of [`Schema::fields`]' length, in which a zero means an
/// index that is not there.
pub const SPARSE: &str = "s";

/// Name of the multi-vectors. Programs have their rows one after the other, at most as many as make up
/// [`Schema::fields`]' length.
pub const MULTI: &str = "m";

/// Name of a vector that is added to collections, and its length: one that gets a graph.
pub const ADDED: (&str, usize) = ("e", 128);

/// Components of a row of a multi-vector.
pub const ROW: usize = 32;

impl Schema {
    /// Name and length of each field.
    pub fn fields(self) -> &'static [(&'static str, usize)] {
        match self {
            Schema::Small => &[("", 3)],
            Schema::Graph => &[("", 128)],
            Schema::Named => &[("a", 128), ("b", 2), (MULTI, 4 * ROW), (SPARSE, 12)],
            Schema::Sparse => &[(SPARSE, 12)],
        }
    }

    /// The body that creates such a collection.
    pub fn creation(self, m: u64, level: Level) -> Value {
        let hnsw = json!({"m": m, "ef_construct": 16, "full_scan_threshold": 10});
        let vectors = match self {
            Schema::Small => json!({"size": 3, "distance": "Dot"}),
            Schema::Graph => json!({"size": 128, "distance": "Euclid"}),
            Schema::Named => json!({
                // A graph without codes.
                "a": {"size": 128, "distance": "Manhattan"},
                "b": {"size": 2, "distance": "Manhattan"},
                MULTI: {"size": ROW, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}},
            }),
            Schema::Sparse => json!({}),
        };
        let sparse = match self {
            Schema::Named | Schema::Sparse => json!({SPARSE: {}}),
            _ => json!(null),
        };
        json!({
            "vectors": vectors, "sparse_vectors": sparse, "hnsw_config": hnsw,
            "wal_config": {"durability": level.name()},
        })
    }

    /// The body that adds a field again that was removed.
    pub fn addition(self, field: &str) -> Value {
        match field {
            SPARSE => json!({"sparse": {}}),
            field if field == ADDED.0 => json!({"dense": {"size": ADDED.1, "distance": "Euclid"}}),
            field => json!({"dense": self.creation(4, Level::Always)["vectors"][field]}),
        }
    }
}

/// The fields that a server shows, each with the size of its vectors or of their rows; none of a sparse one.
pub fn shown_fields(params: &Value) -> BTreeMap<String, Option<u64>> {
    let vectors = &params["vectors"];
    let size = |of: &Value| of["size"].as_u64();
    let named = || vectors.as_object().expect("an object").iter();
    let dense = match size(vectors) {
        Some(size) => vec![(String::new(), Some(size))],
        None => named().map(|(name, of)| (name.clone(), size(of))).collect(),
    };
    let sparse = params["sparse_vectors"].as_object().into_iter().flatten();
    dense.into_iter().chain(sparse.map(|(name, _)| (name.clone(), None))).collect()
}

/// A point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    pub vectors: BTreeMap<&'static str, Arc<[f32]>>,
    pub payload: Map<String, Value>,
}

impl Point {
    /// Whether a filter of the programs matches.
    pub fn matches(&self, filter: &Filter) -> bool {
        let value = |key: &str| self.payload.get(key);
        match filter {
            Filter::AtLeast(bound) => value("n").and_then(Value::as_i64).is_some_and(|n| n >= *bound),
            Filter::Tagged(tag) => value("tag").and_then(Value::as_str) == Some(tag),
            Filter::Below(bound) => value("x").and_then(Value::as_f64).is_some_and(|x| x < *bound),
            Filter::Within(box_) => value("place").is_some_and(|place| {
                let degrees = |axis: &str| place[axis].as_f64().expect("a coordinate");
                box_.holds(degrees("lon"), degrees("lat"))
            }),
            Filter::Mentions(word) => {
                let texts = value("words").and_then(Value::as_str);
                texts.is_some_and(|text| text.split(' ').any(|held| held == *word))
            }
            Filter::Since(day) => {
                // Days of one month, written alike, are in the order of their letters.
                value("day").and_then(Value::as_str).is_some_and(|held| held >= day.as_str())
            }
        }
    }
}

/// Sides of a box, in degrees. Programs have places at whole degrees and sides between them.
#[derive(Clone, Copy, Debug)]
pub struct Sides {
    pub west: f64,
    pub south: f64,
    pub east: f64,
    pub north: f64,
}

impl Sides {
    fn holds(self, lon: f64, lat: f64) -> bool {
        (self.west < lon && lon < self.east) && (self.south < lat && lat < self.north)
    }
}

/// The filters that programs use; each is about one field, so that field indexes matter.
#[derive(Clone, Debug)]
pub enum Filter {
    AtLeast(i64),
    Tagged(String),
    Below(f64),
    Within(Sides),
    Mentions(&'static str),
    Since(String),
}

impl Filter {
    pub fn json(&self) -> Value {
        let condition = match self {
            Filter::AtLeast(bound) => json!({"key": "n", "range": {"gte": bound}}),
            Filter::Tagged(tag) => json!({"key": "tag", "match": {"value": tag}}),
            Filter::Below(bound) => json!({"key": "x", "range": {"lt": bound}}),
            Filter::Within(Sides { west, south, east, north }) => {
                json!({"key": "place", "geo_bounding_box": {
                    "top_left": {"lon": west, "lat": north}, "bottom_right": {"lon": east, "lat": south},
                }})
            }
            Filter::Mentions(word) => json!({"key": "words", "match": {"text": word}}),
            Filter::Since(day) => json!({"key": "day", "range": {"gte": day}}),
        };
        json!({"must": [condition]})
    }
}

/// A collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    pub schema: Schema,
    /// Fields of the schema that were removed.
    pub removed: BTreeSet<&'static str>,
    /// Whether [`ADDED`] is there.
    pub has_added: bool,
    /// What must be found.
    pub points: BTreeMap<u64, Arc<Point>>,
    /// Whether points come to their end.
    pub expires: bool,
    /// Points whose time has come, and that may not be removed yet.
    pub expired: BTreeMap<u64, Arc<Point>>,
    pub indexes: BTreeSet<String>,
    /// Its other names.
    pub aliases: BTreeSet<String>,
    /// `metadata.note`, which a PATCH changes.
    pub note: Option<u64>,
    /// Whether it makes no field indexes by itself, likewise.
    pub is_manual: bool,
    /// Whether its ids are strings (C21): UUIDs are some then.
    pub has_strings: bool,
    /// `hnsw_config.m`, which a PATCH changes.
    pub m: u64,
    /// Whether vectors are quantised, likewise.
    pub quantized: bool,
    /// `wal_config.durability`, likewise.
    pub level: Level,
}

/// The collection that has an alias.
pub fn collection_of<'m>(model: &'m Model, alias: &str) -> Option<&'m Collection> {
    model.values().find(|held| held.aliases.contains(alias))
}

impl Collection {
    pub fn new(schema: Schema, m: u64, level: Level) -> Collection {
        Collection {
            schema,
            removed: BTreeSet::new(),
            has_added: false,
            points: BTreeMap::new(),
            expires: false,
            expired: BTreeMap::new(),
            indexes: BTreeSet::new(),
            aliases: BTreeSet::new(),
            note: None,
            is_manual: false,
            has_strings: false,
            m,
            quantized: false,
            level,
        }
    }

    /// Name and length of each field.
    pub fn fields(&self) -> Vec<(&'static str, usize)> {
        let of_schema = self.schema.fields().iter().filter(|(name, _)| !self.removed.contains(name));
        of_schema.copied().chain(self.has_added.then_some(ADDED)).collect()
    }

    /// The fields as [`shown_fields`] has them.
    pub fn described(&self) -> BTreeMap<String, Option<u64>> {
        let size = |(name, size): (&str, usize)| match name {
            SPARSE => None,
            MULTI => Some(ROW as u64),
            _ => Some(size as u64),
        };
        self.fields().into_iter().map(|field| (field.0.to_string(), size(field))).collect()
    }

    /// The points that a filter matches.
    pub fn matching(&self, filter: &Filter) -> impl Iterator<Item = u64> {
        self.points.iter().filter(|(_, point)| point.matches(filter)).map(|(id, _)| *id)
    }
}
