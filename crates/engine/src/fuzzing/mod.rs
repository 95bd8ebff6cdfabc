//! Entry points of the fuzzers: one function for each kind of bytes that come from outside, a disk or a client.
//!
//! Each takes any bytes. It panics when the code behind it does, and when something does not hold that must hold for
//! every input; it does not matter whether the bytes are accepted. Checksums are made right first where they would keep
//! all but intact files out. `fuzz/README.md` says how the functions are run.

mod directory;
mod log;

pub use directory::{Parts, checkpoint, pack_checkpoint};
pub use log::log;

use crate::api;
use crate::catalog::CatalogFile;
use crate::change;
use crate::checkpoint::Manifest;
use crate::collection::update::{PointInput, Update};
use crate::config::{CollectionConfig, CollectionPatch};
use crate::error::Error;
use crate::filter::{Filter, PointView};
use crate::index::{BuildScratch, Codes, Hnsw, ReadGraph, WalkParams, WalkScratch};
use crate::json::{IdRules, JsonBody, Reader, Watch, read_payload};
use crate::limits::Limits;
use crate::payload::{FieldSchema, JsonPath, Tokenizer};
use crate::types::{IdKind, Metric, PointId, Row};
use crate::vectors::{CodeParams, CodeQuery, CodeTable, Encoder, VectorValue};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// A fuzzed function.
pub type Target = fn(&[u8]);

/// All of them by name, which is that of the corpus' folder too.
pub const TARGETS: [(&str, Target); 9] = [
    ("record", record),
    ("filter", filter),
    ("log", log),
    ("checkpoint", checkpoint),
    ("manifest", manifest),
    ("graph", graph),
    ("request", request),
    ("settings", settings),
    ("arrow", arrow),
];

/// Payloads that filters are evaluated on.
static PAYLOADS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let payloads = [
        r#"{}"#,
        r#"{"n":1,"tag":["red",null,3.5],"flag":true,"a":{"b":[{"c":1},{"c":[2,"x"]}]},"text":"the quick fox"}"#,
        r#"{"n":-9223372036854775808,"place":{"lon":179.9,"lat":-90},"at":"2026-01-01T00:00:00Z","tag":"","a":[]}"#,
    ];
    let normalised = |payload: &&str| {
        let mut out = Vec::new();
        let read = Reader::new(payload.as_bytes()).and_then(|mut reader| read_payload(&mut reader, &mut out));
        read.expect("these are payloads");
        out
    };
    payloads.iter().map(normalised).collect()
});

/// A point that filters are evaluated on.
struct Asked<'a>(&'a [u8]);

impl PointView for Asked<'_> {
    fn id(&self) -> Cow<'_, PointId> {
        Cow::Owned(PointId::Num(7))
    }

    fn has_vector(&self, name: &str) -> bool {
        name.is_empty()
    }

    fn document(&self) -> &[u8] {
        self.0
    }

    fn tokenizer(&self, _path: &JsonPath) -> Option<&Tokenizer> {
        None
    }
}

/// A filter's JSON: it is refused with an error that names a place, or decides points.
pub fn filter(bytes: &[u8]) {
    let limits = Limits { max_filter_conditions: 64, ..Limits::default() };
    let parse = || -> Result<Filter, Error> {
        let mut reader = Reader::new(bytes)?;
        let filter = Filter::parse(&mut reader, &limits)?;
        reader.finish()?;
        Ok(filter)
    };
    match parse() {
        Ok(filter) => {
            assert!(filter.conditions() <= limits.max_filter_conditions, "more conditions than the limit");
            for payload in PAYLOADS.iter() {
                let asked = Asked(payload);
                let alone = filter.matches(&asked);
                let nested = Filter::all_of([Arc::new(filter.clone())]).matches(&asked);
                assert_eq!(alone, nested, "a filter in a filter decides otherwise");
            }
        }
        Err(error) => check_error(&error),
    }
}

/// The body of a request: the first byte says of which endpoint.
pub fn request(bytes: &[u8]) {
    let Some((endpoint, body)) = bytes.split_first() else { return };
    for kind in [IdKind::Default, IdKind::String] {
        let ids = IdRules { kind, ..IdRules::default() };
        if let Err(error) = read_request(*endpoint, &JsonBody::from(body).with_ids(ids)) {
            check_error(&error);
        }
    }
}

fn read_request(endpoint: u8, body: &JsonBody<'_>) -> Result<(), Error> {
    let limits = &Limits::default();
    // Endpoints that came later have the last bytes, so that the corpus keeps its meaning.
    let place = if endpoint < 247 { endpoint % 19 } else { endpoint - 247 + 19 };
    let text = || std::str::from_utf8(body.text()).ok();
    match place {
        0 => api::upsert(body, limits).map(drop),
        1 => api::delete_points(body, limits).map(drop),
        2 => api::update_vectors(body, limits).map(drop),
        3 => api::delete_vectors(body, limits).map(drop),
        4 => api::set_payload(body, limits).map(drop),
        5 => api::overwrite_payload(body, limits).map(drop),
        6 => api::delete_payload(body, limits).map(drop),
        7 => api::clear_payload(body, limits).map(drop),
        8 => api::batch_update(body, limits).map(drop),
        9 => api::retrieve(body, limits).map(drop),
        10 => api::search(body, limits).map(drop),
        11 => api::search_batch(body, limits).map(drop),
        12 => api::query(body, limits).map(drop),
        13 => api::query_batch(body, limits).map(drop),
        14 => api::scroll(body, limits).map(drop),
        15 => api::count(body, limits).map(drop),
        16 => api::create_field_index(body).map(drop),
        17 => text().map_or(Ok(()), |text| api::path_id(text, body.ids().kind).map(drop)),
        19 => api::recommend(body, limits).map(drop),
        20 => api::discover(body, limits).map(drop),
        21 => api::facet(body, limits).map(drop),
        22 => api::matrix(body, limits).map(drop),
        23 => api::query_groups(body, limits).map(drop),
        24 => api::search_groups(body, limits).map(drop),
        25 => api::recommend_groups(body, limits).map(drop),
        26 => api::change_aliases(body, limits).map(drop),
        // The last place: a plan, or else a sync, or what a worker sends.
        27 => api::plan_sync(body, limits)
            .map(drop)
            .or_else(|_| api::sync_points(body, limits).map(drop))
            .or_else(|_| api::fill_vectors(body).map(drop))
            .or_else(|_| api::reembed_vectors(body).map(drop)),
        _ => text().map_or(Ok(()), |text| api::path_field(text).map(drop)),
    }
}

/// An upsert as an Arrow IPC stream: it is refused with an error that names a place, or its points are such as bodies of
/// JSON have.
pub fn arrow(bytes: &[u8]) {
    let may_go_on = || Ok(());
    for ids in [IdKind::Default, IdKind::String] {
        match api::upsert_arrow(bytes, ids, &Limits::default(), Watch(&may_go_on), &mut |_| Ok(())) {
            Ok(Update::Upsert { points, .. }) => points.iter().for_each(check_point),
            Ok(_) => panic!("another update than an upsert"),
            Err(error) => check_error(&error),
        }
    }
}

/// Checks that a point has what one of JSON can have.
fn check_point(point: &PointInput) {
    let mut payload = Vec::new();
    let read = Reader::new(&point.payload).and_then(|mut reader| {
        read_payload(&mut reader, &mut payload)?;
        reader.finish()
    });
    assert!(read.is_ok() && payload == *point.payload, "a payload that is not in its normal form");
    let is_number = |number: &f32| number.is_finite() && number.to_bits() != (-0.0f32).to_bits();
    for (_, vector) in &point.vectors {
        let numbers = match vector {
            VectorValue::Dense(components) => components,
            VectorValue::Sparse(vector) => &vector.values,
            VectorValue::Multi(vector) => {
                assert_eq!(vector.components.len() % vector.dim, 0, "rows of different lengths");
                &vector.components
            }
        };
        let may_be_empty = matches!(vector, VectorValue::Sparse(_));
        assert!(numbers.iter().all(is_number) && (may_be_empty || !numbers.is_empty()), "a malformed vector");
    }
}

/// Checks that the details of an error can be written.
fn check_error(error: &Error) {
    assert!(!error.code().is_empty() && !error.details_json().is_empty());
    assert!(error.to_string().len() < 1 << 16, "an error of {} bytes", error.to_string().len());
}

/// Settings of a collection, a patch of them, and the schema of a field index, with zero bytes between: what is
/// accepted is written to disk and read back the same.
pub fn settings(bytes: &[u8]) {
    let mut parts = bytes.split(|byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    match api::create_collection(part(), &Limits::default()) {
        Ok(config) => {
            is_kept(&config);
            let patch = Reader::new(part()).and_then(|mut reader| CollectionPatch::parse(&mut reader));
            if let Ok(Ok(patched)) = patch.map(|patch| config.apply_patch(&patch)) {
                is_kept(&patched);
            }
        }
        Err(error) => {
            check_error(&error);
            part();
        }
    }
    let read = |bytes: &[u8]| Reader::new(bytes).and_then(|mut reader| FieldSchema::parse(&mut reader));
    if let Ok(schema) = read(part()) {
        let mut written = Vec::new();
        schema.write_json(&mut written);
        let again = read(&written).expect("a schema that was written can be read");
        let mut twice = Vec::new();
        again.write_json(&mut twice);
        assert_eq!(twice, written, "a schema changes when it is kept");
    }
}

fn is_kept(config: &CollectionConfig) {
    let json = config.to_json();
    let restored = CollectionConfig::restore(&json).expect("settings that were written can be read");
    assert_eq!(
        String::from_utf8_lossy(&restored.to_json()),
        String::from_utf8_lossy(&json),
        "settings change when they are kept"
    );
}

/// The body of a record of the log: what can be decoded is what its encoding decodes to.
pub fn record(bytes: &[u8]) {
    let Ok((op, changes)) = change::decode(bytes) else { return };
    let mut encoded = Vec::new();
    change::encode(op, &changes, &mut encoded);
    let mut again = Vec::new();
    let (decoded_op, decoded) = change::decode(&encoded).expect("what was encoded can be decoded");
    change::encode(decoded_op, &decoded, &mut again);
    assert_eq!(again, encoded, "a record changes when it is written again");
}

/// The body of a manifest or of a catalog, as the first byte says.
pub fn manifest(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, body)) => {
            let Ok(decoded) = Manifest::decode(body) else { return };
            let again = Manifest::decode(&decoded.encode()).expect("what was encoded can be decoded");
            assert_eq!(again.encode(), decoded.encode(), "a manifest changes when it is written again");
        }
        Some((_, body)) => {
            let Some(decoded) = CatalogFile::decode(body) else { return };
            let again = CatalogFile::decode(&decoded.encode()).expect("what was encoded can be decoded");
            assert_eq!(again.encode(), decoded.encode(), "a catalog changes when it is written again");
        }
        None => {}
    }
}

/// The links of a graph: what can be read is searched, repaired, and written to what reads back the same.
pub fn graph(bytes: &[u8]) {
    const ROWS: u32 = 1_000;
    let Ok(ReadGraph { hnsw: graph, is_connected }) = Hnsw::read_from(bytes, ROWS, 1) else { return };
    let sample: [[f32; 4]; 0] = [];
    let encoder = Encoder::train(Metric::Euclid, 4, CodeParams::default(), &sample, 1);
    let table = CodeTable::new(&encoder);
    let mut query = CodeQuery::default();
    for node in graph.all_nodes() {
        let row = graph.row_of(node).get();
        assert!(row < ROWS, "row {row} of {ROWS}");
        table.fill(node, &encoder, &[row as f32, (row % 7) as f32, (row % 3) as f32, 1.0], &mut query);
    }
    let space = Codes::new(&table);
    let mut scratch = WalkScratch::new();
    let found = graph.walk(&space, &query, &WalkParams::wide(10), &|_| true, &mut scratch, &|| false);
    assert!(
        found.is_ok_and(|found| found.iter().all(|hit| hit.node().get() < graph.len())),
        "a node that there is not"
    );
    let links = graph.repair(&space, &mut BuildScratch::new());
    assert_eq!(is_connected, links == 0, "whether a graph is connected");
    let (mut written, mut again) = (Vec::new(), Vec::new());
    graph.write_to(&mut written, Row::new(u32::MAX));
    let read = Hnsw::read_from(&written, ROWS, 2).expect("a graph that was written can be read").hnsw;
    read.write_to(&mut again, Row::new(u32::MAX));
    assert_eq!(again, written, "a graph changes when it is written again");
}
