//! The fuzzers' corpus, and random mutations of it, through the functions that the fuzzers call: on stable Rust, the
//! same every time.
//!
//! `KITHDB_FUZZ` sets how many mutations each target gets, `KITHDB_FUZZ_SEED` which ones; `fuzz/README.md` has the
//! rest.

mod common;
mod specimen;

use common::{Random, TestEngine};
use kithdb_engine::fuzzing::{TARGETS, Target, pack_checkpoint};
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::{SimDisk, Storage};
use kithdb_engine::types::Lsn;
use kithdb_engine::wal::{Log, LogOptions, Replayed};
use specimen::Sizes;
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Mutations a target in a normal run; targets that open a whole directory get fewer.
const MUTATIONS: u64 = 20_000;
const SLOW: [&str; 1] = ["checkpoint"];
/// Longest input, as the fuzzers have it.
const MAX_BYTES: usize = 16 << 10;
/// Tokens that parsers search for.
const WORDS: [&[u8]; 24] = [
    b"\"must\"",
    b"\"should\"",
    b"\"key\"",
    b"\"match\"",
    b"\"range\"",
    b"\"nested\"",
    b"\"vector\"",
    b"\"points\"",
    b"\"filter\"",
    b"\"limit\"",
    b"null",
    b"true",
    b"-0",
    b"1e999",
    b"18446744073709551615",
    b"\\ud800",
    b"[[",
    b"{}",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\xff\xff\xff\x7f",
    b"\x01\0\0\0",
    b"\0\0\0\x80",
    b"\xc3\x28",
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The inputs of a target, in the order of their names.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let files = fs::read_dir(corpus().join(target)).expect("the corpus has a folder for every target");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file")).collect()
}

/// Changes an input in a few places.
fn mutate(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let len = input.len() as u64;
        let at = random.below(len + 1) as usize;
        let span = |random: &mut Random| {
            let bits = random.below(7);
            1 + random.below(1 << bits) as usize
        };
        match random.below(10) {
            0 | 1 if at < input.len() => input[at] ^= 1 << random.below(8),
            2 if at < input.len() => input[at] = random.next() as u8,
            3 if at < input.len() => {
                input[at] = input[at].wrapping_add(if random.chance(50) { 1 } else { 255 })
            }
            4 => {
                let end = input.len().min(at + span(random));
                input.drain(at..end);
            }
            5 => {
                let end = input.len().min(at + span(random));
                let piece = input[at..end].to_vec();
                let to = random.below(len + 1) as usize;
                input.splice(to..to, piece);
            }
            6 => {
                let word = WORDS[random.below(WORDS.len() as u64) as usize];
                input.splice(at..at, word.iter().copied());
            }
            7 => {
                let word = WORDS[random.below(WORDS.len() as u64) as usize];
                let end = input.len().min(at + word.len());
                input.splice(at..end, word.iter().copied());
            }
            8 => {
                let other = &others[random.below(others.len() as u64) as usize];
                let from = random.below(other.len() as u64 + 1) as usize;
                let end = other.len().min(from + span(random));
                input.splice(at..at, other[from..end].iter().copied());
            }
            _ if random.chance(20) => input.truncate(at),
            _ => {}
        }
    }
    input.truncate(MAX_BYTES);
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

/// Runs a target over its corpus and mutations of it; the first input that fails is kept in a file.
fn replay(name: &str, target: Target) {
    let inputs = inputs(name);
    assert!(!inputs.is_empty(), "the corpus of {name} is empty");
    let run = |input: &[u8]| {
        if catch_unwind(AssertUnwindSafe(|| target(input))).is_err() {
            let path = std::env::temp_dir().join(format!("kithdb-{name}-{:08x}", crc32c::crc32c(input)));
            fs::write(&path, input).expect("the input is kept");
            panic!("{name} fails with {}", path.display());
        }
    };
    inputs.iter().for_each(|input| run(input));
    let share = if SLOW.contains(&name) { 10 } else { 1 };
    let mutations = setting("KITHDB_FUZZ").unwrap_or(MUTATIONS / share);
    let mut random = Random(setting("KITHDB_FUZZ_SEED").unwrap_or(0));
    for _ in 0..mutations {
        let mut input = inputs[random.below(inputs.len() as u64) as usize].clone();
        mutate(&mut input, &inputs, &mut random);
        run(&input);
    }
}

fn target(name: &str) -> Target {
    TARGETS.iter().find(|(known, _)| *known == name).expect("a target").1
}

macro_rules! replayed {
    ($($test:ident: $name:literal;)*) => {
        $(#[test]
        fn $test() {
            replay($name, target($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

replayed! {
    records_of_the_log_are_decoded_or_refused: "record";
    filters_are_parsed_or_refused: "filter";
    segments_of_the_log_open_the_same_every_time: "log";
    checkpoints_open_or_are_refused: "checkpoint";
    manifests_and_catalogs_are_decoded_or_refused: "manifest";
    graphs_are_searched_or_refused: "graph";
    request_bodies_are_parsed_or_refused: "request";
    settings_are_kept_or_refused: "settings";
    streams_of_arrow_are_parsed_or_refused: "arrow";
}

/// A byte, and what follows.
fn tagged(tag: u8, rest: &[u8]) -> Vec<u8> {
    [&[tag], rest].concat()
}

fn requests() -> Vec<(u8, &'static str)> {
    let nested = r#"{"query":{"fusion":"rrf"},"prefetch":[{"query":[0.1,0.2],"using":"a","filter":{"must":[{"key":"n","range":{"gte":1}}]},"limit":20},{"prefetch":{"query":{"indices":[1,7],"values":[0.5,1]},"using":"s"},"query":{"recommend":{"positive":[1],"negative":["6ba7b810-9dad-41d1-80b4-00c04fd430c8"],"strategy":"best_score"}}}],"limit":5,"with_payload":{"exclude":["a.b"]},"lookup_from":{"collection":"x"}}"#;
    let formula = r#"{"prefetch":{"query":[1]},"query":{"formula":{"sum":["$score",{"mult":[0.5,{"key":"n","match":{"any":["a"]}}]},{"exp_decay":{"x":{"datetime_key":"at"},"scale":3600}}]},"defaults":{"n":1}}}"#;
    vec![
        (
            0,
            r#"{"points":[{"id":1,"vector":[0.1,-2,3e-5],"payload":{"a":{"b":[1,null,"x"]},"n":9007199254740993}},{"id":"6ba7b810-9dad-41d1-80b4-00c04fd430c8","vector":{"a":[[1,2],[3,4]],"s":{"indices":[1,5],"values":[0.5,2]}}}]}"#,
        ),
        (
            0,
            r#"{"batch":{"ids":[1,2],"vectors":{"a":[[1,2],[3,4]]},"payloads":[{"a":1},null]},"update_mode":"insert_only","update_filter":{"must":{"key":"n","match":{"value":1}}}}"#,
        ),
        (1, r#"{"points":[1,2,"6ba7b810-9dad-41d1-80b4-00c04fd430c8"]}"#),
        (2, r#"{"points":[{"id":1,"vector":{"a":[1,2]}}],"update_filter":{"has_id":[1]}}"#),
        (3, r#"{"vector":["a"],"filter":{"must_not":{"is_empty":{"key":"a"}}}}"#),
        (4, r#"{"payload":{"a":1,"b":null},"points":[1],"key":"x.y"}"#),
        (5, r#"{"payload":{"a":[1,2,{"c":"d"}]},"filter":{}}"#),
        (6, r#"{"keys":["a","b[].c","\"q.x\".d"],"points":[1]}"#),
        (7, r#"{"filter":{"should":[{"key":"a","match":{"value":true}}]}}"#),
        (
            8,
            r#"{"operations":[{"upsert":{"points":[{"id":1,"vector":[1,2]}]}},{"delete":{"points":[2]}},{"set_payload":{"payload":{"a":1},"points":[1]}},{"delete_vectors":{"vector":["a"],"points":[1]}},{"clear_payload":{"filter":{}}}]}"#,
        ),
        (9, r#"{"ids":[1,2],"with_payload":["a.b"],"with_vector":["a"]}"#),
        (
            10,
            r#"{"vector":{"name":"a","vector":[1,2,3]},"limit":3,"offset":1,"params":{"hnsw_ef":64,"exact":false,"quantization":{"rescore":true,"oversampling":2.5}},"score_threshold":0.5,"with_payload":true}"#,
        ),
        (11, r#"{"searches":[{"vector":[1],"limit":1},{"vector":[2],"filter":{"must":[]}}]}"#),
        (12, nested),
        (12, formula),
        (
            12,
            r#"{"query":{"discover":{"target":1,"context":[{"positive":2,"negative":[1,2]}]}},"using":"a"}"#,
        ),
        (12, r#"{"query":{"nearest":[1,2],"mmr":{"diversity":0.5,"candidates_limit":50}}}"#),
        (12, r#"{"query":{"rrf":{"k":60,"weights":[1,2]}},"prefetch":[{"query":[1]},{"query":[2]}]}"#),
        (
            13,
            r#"{"searches":[{"query":{"order_by":{"key":"n","direction":"desc","start_from":3}}},{"query":{"sample":"random"}}]}"#,
        ),
        (
            14,
            r#"{"limit":10,"offset":"6ba7b810-9dad-41d1-80b4-00c04fd430c8","order_by":"n","with_vector":true}"#,
        ),
        (
            15,
            r#"{"filter":{"min_should":{"conditions":[{"key":"a","values_count":{"gt":1}}],"min_count":1}},"exact":false}"#,
        ),
        (
            16,
            r#"{"field_name":"a.b[]","field_schema":{"type":"text","tokenizer":"prefix","min_token_len":2,"max_token_len":8,"lowercase":true,"stopwords":{"languages":["english"],"custom":["x"]},"stemmer":{"type":"snowball","language":"german"}}}"#,
        ),
        (17, "6ba7b810-9dad-41d1-80b4-00c04fd430c8"),
        (18, r#"a."quo.ted"[0].b[]"#),
        (
            251,
            r#"{"query":[1,2],"prefetch":{"query":1,"limit":3},"group_by":"a[].b","group_size":2,"limit":4,"with_lookup":{"collection":"c","with_payload":["t"],"with_vectors":true}}"#,
        ),
        (252, r#"{"vector":[1,2],"group_by":"a","with_lookup":"c"}"#),
        (253, r#"{"positive":[1,[1,2]],"strategy":"best_score","group_by":"a","group_size":1}"#),
        (
            254,
            r#"{"actions":[{"create_alias":{"alias_name":"a","collection_name":"c"}},{"delete_alias":{"alias_name":"b"}},{"rename_alias":{"old_alias_name":"a","new_alias_name":"d"}}]}"#,
        ),
        (9, r#"{"ids":["doc/1","7",7],"with_payload":true}"#),
    ]
}

const FILTERS: [&str; 10] = [
    r#"{"must":[{"key":"tag","match":{"value":"red"}},{"key":"n","range":{"gte":1,"lt":5.5}}],"must_not":{"has_id":[1,"6ba7b810-9dad-41d1-80b4-00c04fd430c8"]}}"#,
    r#"{"should":[{"key":"a.b[].c","match":{"any":[1,2]}},{"key":"text","match":{"text":"quick fox"}}],"min_should":{"conditions":[{"key":"flag","match":{"value":true}}],"min_count":1}}"#,
    r#"{"must":{"nested":{"key":"a.b","filter":{"must":[{"key":"c","match":{"except":["x",""]}}]}}}}"#,
    r#"{"must":[{"key":"place","geo_radius":{"center":{"lon":179.9,"lat":-90},"radius":1000.5}},{"key":"place","geo_bounding_box":{"top_left":{"lon":170,"lat":10},"bottom_right":{"lon":-170,"lat":-10}}}]}"#,
    r#"{"must":{"key":"place","geo_polygon":{"exterior":{"points":[{"lon":0,"lat":0},{"lon":10,"lat":0},{"lon":10,"lat":10},{"lon":0,"lat":0}]},"interiors":[{"points":[{"lon":1,"lat":1},{"lon":2,"lat":1},{"lon":2,"lat":2},{"lon":1,"lat":1}]}]}}}"#,
    r#"{"must":[{"is_empty":{"key":"a"}},{"is_null":{"key":"tag[]"}},{"key":"x","is_null":false},{"has_vector":""}]}"#,
    r#"{"must":{"key":"at","range":{"gt":"2025-12-31T23:59:59.5+02:00","lte":"2026-02-01"}}}"#,
    r#"{"must":{"must_not":{"should":{"key":"tag[0]","match":{"phrase":"red"}}}}}"#,
    r#"{"must":[{"key":"tag","values_count":{"gte":2}},{"key":"text","match":{"prefix":"the"}},{"key":"text","match":{"text_any":"a b"}}]}"#,
    r#"{"must":[{"key":"n","match":{"any":[1,-9223372036854775808,"x"]}},{"key":"\"a\".b","match":{"value":"\ud83d\ude00"}}]}"#,
];

const SETTINGS: [&str; 5] = [
    "{\"vectors\":{\"size\":4,\"distance\":\"Cosine\"}}\0{\"hnsw_config\":{\"m\":8},\"metadata\":{\"a\":null}}\0\"keyword\"",
    "{\"vectors\":{\"a\":{\"size\":128,\"distance\":\"Dot\",\"datatype\":\"uint8\",\"on_disk\":true,\"hnsw_config\":{\"m\":4,\"ef_construct\":20},\"quantization_config\":{\"scalar\":{\"type\":\"int8\",\"quantile\":0.99,\"always_ram\":true}}},\"m\":{\"size\":8,\"distance\":\"Manhattan\",\"multivector_config\":{\"comparator\":\"max_sim\"}}},\"sparse_vectors\":{\"s\":{\"modifier\":\"idf\",\"index\":{\"on_disk\":true,\"datatype\":\"float16\"}}}}\0{\"vectors\":{\"a\":{\"quantization_config\":\"Disabled\",\"on_disk\":false}},\"quantization_config\":{\"binary\":{\"encoding\":\"one_bit\"}}}\0{\"type\":\"integer\",\"lookup\":true,\"range\":false}",
    "{\"vectors\":{\"size\":3,\"distance\":\"Euclid\"},\"hnsw_config\":{\"m\":16,\"ef_construct\":100,\"full_scan_threshold\":10,\"max_indexing_threads\":2,\"on_disk\":false,\"payload_m\":4},\"optimizers_config\":{\"deleted_threshold\":0.2,\"vacuum_min_vector_number\":1000,\"indexing_threshold\":20000,\"flush_interval_sec\":5},\"wal_config\":{\"durability\":\"interval\",\"wal_capacity_mb\":32},\"quantization_config\":{\"product\":{\"compression\":\"x16\"}},\"shard_number\":2,\"metadata\":{\"k\":[1,2]}}\0{\"optimizers_config\":{\"indexing_threshold\":0},\"params\":{\"on_disk_payload\":true}}\0{\"type\":\"geo\"}",
    "{\"sparse_vectors\":{\"s\":{}}}\0{\"sparse_vectors\":{\"s\":{\"index\":{\"full_scan_threshold\":5}}}}\0{\"type\":\"text\",\"tokenizer\":\"word\",\"lowercase\":true,\"stopwords\":\"english\"}",
    "{\"vectors_config\":{\"\":{\"size\":1,\"distance\":\"Dot\",\"datatype\":\"float16\"}}}\0{}\0{\"type\":\"uuid\",\"is_tenant\":true}",
];

/// Bodies of the records in a log.
fn records(disk: &SimDisk) -> Vec<Vec<u8>> {
    let mut bodies: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    let mut visit = |item: Replayed<'_>| {
        if let Replayed::Record { kind: 1, body, .. } = item {
            // One of every length, so that kinds of changes are not drowned in points.
            bodies.entry(body.len() / 40).or_insert_with(|| body.to_vec());
        }
    };
    let disk = Arc::new(disk.duplicate());
    Log::open(disk, 1, LogOptions::default(), Lsn::NONE, &mut visit).expect("it opens");
    bodies.into_values().filter(|body| body.len() < 4000).collect()
}

#[test]
#[ignore = "writes the corpus"]
fn write_the_corpus() {
    assert!(std::env::var_os("KITHDB_WRITE_CORPUS").is_some(), "set KITHDB_WRITE_CORPUS=1 to write it");
    let thresholds =
        Thresholds { log_segment_bytes: 6 << 10, row_chunk_bytes: 4 << 10, ..Thresholds::default() };
    let mut engine = TestEngine::with(SimDisk::new(), 1, thresholds).expect("an empty disk opens");
    specimen::write(&mut engine, Sizes { points: 12, sparse: 20 }, 1);
    engine.kill();
    let disk = engine.disk.clone();
    let mut corpus: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
    corpus.insert("filter", FILTERS.iter().map(|filter| filter.as_bytes().to_vec()).collect());
    corpus.insert("settings", SETTINGS.iter().map(|settings| settings.as_bytes().to_vec()).collect());
    corpus.insert(
        "request",
        requests().iter().map(|(endpoint, body)| tagged(*endpoint, body.as_bytes())).collect(),
    );
    corpus.insert("record", records(&disk));
    corpus.insert("arrow", streams());
    let (mut manifests, mut checkpoints, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
    let catalog = disk.read("catalog/CATALOG").expect("a catalog");
    manifests.push(tagged(1, &catalog[16..]));
    for dir in disk.list("collections").expect("a folder") {
        let dir = format!("collections/{dir}");
        let manifest = disk.read(&format!("{dir}/MANIFEST")).map(|bytes| bytes[16..].to_vec());
        let Ok(manifest) = manifest else { continue };
        manifests.push(tagged(0, &manifest));
        let mut parts = vec![manifest];
        // Numbers of files go up to that of the last, whichever are left.
        let names = disk.list(&dir).expect("a folder");
        let last =
            names.iter().filter_map(|name| name.strip_suffix(".data")).next_back().expect("a data file");
        for number in 1..=u32::from_str_radix(last, 16).expect("a number") {
            let bytes = disk.read(&format!("{dir}/{number:08x}.data"));
            parts.push(bytes.map_or(Vec::new(), |bytes| bytes[64..].to_vec()));
        }
        let packed = pack_checkpoint(&parts);
        if packed.len() <= MAX_BYTES {
            checkpoints.push(packed);
        }
    }
    // Graphs of their own: those of the specimen are beyond the size of inputs.
    for points in [1, 3, 12, 60] {
        graphs.push(graph_of(points));
    }
    let segments = disk.list("log").expect("a folder");
    let segments: Vec<Vec<u8>> = segments
        .iter()
        .filter(|name| name.ends_with(".log"))
        .map(|name| disk.read(&format!("log/{name}")).expect("a segment"))
        .map(|bytes| [&(bytes.len() as u16).to_le_bytes(), &*bytes].concat())
        .collect();
    let mark = disk.read("log/cut").expect("a mark");
    let mut logs = vec![tagged(1, &small_log())];
    logs.extend(segments.iter().filter(|bytes| bytes.len() < 8000).map(|bytes| tagged(1, bytes)));
    logs.push(tagged(0b111, &[segments[segments.len() - 2..].concat(), mark].concat()));
    corpus.insert("log", logs);
    corpus.insert("manifest", manifests);
    corpus.insert("checkpoint", checkpoints);
    corpus.insert("graph", graphs);
    for (target, inputs) in corpus {
        let dir = self::corpus().join(target);
        fs::create_dir_all(&dir).expect("a folder");
        for (number, input) in inputs.iter().enumerate() {
            fs::write(dir.join(format!("{number:02}")), input).expect("a file");
        }
    }
}

/// Upserts as Arrow IPC streams, of columns of every kind.
fn streams() -> Vec<Vec<u8>> {
    use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder, UInt32Builder};
    use arrow_array::types::{Float32Type, Float64Type, Int8Type};
    use arrow_array::{
        ArrayRef, BooleanArray, FixedSizeListArray, Int64Array, ListArray, RecordBatch, StringArray,
        StringViewArray, StructArray, TimestampMicrosecondArray, UInt64Array,
    };
    use arrow_ipc::writer::StreamWriter;
    let ids = || Arc::new(UInt64Array::from(vec![1, 2])) as ArrayRef;
    let vectors = || {
        let rows = [[1.0, 2.0], [-3.0, 4.5]].map(|row| Some(row.map(Some)));
        Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 2)) as ArrayRef
    };
    let lists = || {
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([Some([Some(0.5)]), None])) as ArrayRef
    };
    let mut indices = ListBuilder::new(UInt32Builder::new());
    indices.append_value([Some(7), Some(1)]);
    indices.append_value([]);
    let mut values = ListBuilder::new(arrow_array::builder::Float32Builder::new());
    values.append_value([Some(1.0), Some(2.0)]);
    values.append_value([]);
    let sparse: Vec<(&str, ArrayRef)> =
        vec![("indices", Arc::new(indices.finish())), ("values", Arc::new(values.finish()))];
    let mut dictionary = StringDictionaryBuilder::<Int8Type>::new();
    dictionary.extend([Some("a"), None]);
    let mut tags = ListBuilder::new(StringBuilder::new());
    tags.append_value([Some("a"), None]);
    tags.append_null();
    let inner: Vec<(&str, ArrayRef)> = vec![("x", Arc::new(Int64Array::from(vec![Some(1), None])))];
    let uuids = ["6ba7b810-9dad-41d1-80b4-00c04fd430c8", "6ba7b810-9dad-41d1-80b4-00c04fd430c9"];
    let tables: Vec<Vec<(&str, ArrayRef)>> = vec![
        vec![("id", ids()), ("vector", vectors())],
        vec![
            ("id", ids()),
            ("vector.a", lists()),
            ("payload", Arc::new(StringArray::from(vec![Some(r#"{"a":[1]}"#), None]))),
        ],
        vec![
            ("id", Arc::new(StringArray::from_iter_values(uuids))),
            ("vector.s", Arc::new(StructArray::try_from(sparse).expect("a struct"))),
            ("flag", Arc::new(BooleanArray::from(vec![Some(true), None]))),
            ("d", Arc::new(dictionary.finish())),
            ("tags", Arc::new(tags.finish())),
        ],
        vec![
            ("id", ids()),
            ("vector", vectors()),
            ("at", Arc::new(TimestampMicrosecondArray::from(vec![0, 1_704_103_200_123_000]))),
            ("view", Arc::new(StringViewArray::from(vec!["longer than twelve bytes", "b"]))),
            ("point", Arc::new(StructArray::try_from(inner).expect("a struct"))),
            ("if_version", ids()),
        ],
    ];
    let written = |columns: Vec<(&str, ArrayRef)>| {
        let columns = columns.into_iter().map(|(name, column)| (name, column, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length");
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
        writer.write(&batch).expect("it is written");
        writer.into_inner().expect("it is written")
    };
    tables.into_iter().map(written).collect()
}

/// A segment of a few short records of two collections.
fn small_log() -> Vec<u8> {
    let disk = SimDisk::new();
    let options = LogOptions { entropy: Some(1), ..LogOptions::default() };
    let (mut log, _) =
        Log::open(Arc::new(disk.clone()), 1, options, Lsn::NONE, &mut |_| {}).expect("it opens");
    for number in 0..5u8 {
        log.append(u64::from(number % 2) + 1, 1, vec![number; usize::from(number)]).expect("it is appended");
        log.flush().expect("it is synced");
    }
    let bytes = disk.read("log/0000000000000001.log").expect("a segment");
    [&(bytes.len() as u16).to_le_bytes(), &*bytes].concat()
}

fn graph_of(points: u32) -> Vec<u8> {
    use kithdb_engine::index::{BuildScratch, Codes, Hnsw, HnswParams};
    use kithdb_engine::types::{Metric, Row};
    use kithdb_engine::vectors::{CodeParams, CodeQuery, CodeTable, Encoder};
    let vectors: Vec<[f32; 2]> = (0..points).map(|at| [(at % 20) as f32, (at * 7 % 11) as f32]).collect();
    let encoder = Encoder::train(Metric::Euclid, 2, CodeParams::default(), &vectors, 1);
    let table = CodeTable::new(&encoder);
    let graph = Hnsw::new(HnswParams { m: 4, ef_construct: 16, seed: 1 });
    let mut scratch = BuildScratch::new();
    for (row, vector) in (0..).zip(&vectors) {
        let slot = graph.allocate(Row::new(row));
        let mut query = CodeQuery::default();
        table.fill(slot.node(), &encoder, vector, &mut query);
        graph.insert(&Codes::new(&table), slot, &query, &mut scratch);
    }
    let mut bytes = Vec::new();
    graph.write_to(&mut bytes, Row::new(u32::MAX));
    bytes
}
