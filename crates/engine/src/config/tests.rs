//! Accepting, keeping and answering configurations, and their warnings (C4).

use super::{
    Coding, CollectionConfig, CollectionPatch, Indexing, Modifier, Placement, Quantization,
    SparseIndexParams, SparseParams, VectorParams,
};
use crate::error::Error;
use crate::json::Reader;
use crate::limits::Limits;
use crate::types::{Datatype, Metric};
use crate::vectors::{CodeParams, VectorKind};
use crate::wal::Durability;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// The configuration that the body of a request to create a collection asks for.
pub fn config_of(body: &str) -> Arc<CollectionConfig> {
    let mut reader = Reader::new(body.as_bytes()).expect("a body");
    Arc::new(CollectionConfig::parse(&mut reader, &Limits::default()).expect("a configuration"))
}

fn create(body: &Value) -> Result<CollectionConfig, Error> {
    let text = body.to_string();
    let mut reader = Reader::new(text.as_bytes())?;
    let config = CollectionConfig::parse(&mut reader, &Limits::default())?;
    reader.finish()?;
    Ok(config)
}

fn patch(body: &Value) -> Result<CollectionPatch, Error> {
    let text = body.to_string();
    CollectionPatch::parse(&mut Reader::new(text.as_bytes())?)
}

fn info(config: &CollectionConfig) -> Value {
    let mut out = Vec::new();
    config.write_info_config(&mut out);
    serde_json::from_slice(&out).unwrap()
}

fn plain() -> Value {
    json!({"vectors": {"size": 4, "distance": "Dot"}})
}

/// Everything at once.
fn full() -> Value {
    json!({
        "vectors": {
            "a": {"size": 4, "distance": "Euclid", "hnsw_config": {"m": 8, "ef_search": 77, "on_disk": true},
                "quantization_config": {"binary": {"encoding": "two_bits", "always_ram": true}}, "on_disk": true,
                "datatype": "float16"},
            "b": {"size": 65536, "distance": "Manhattan", "datatype": "uint8", "on_disk": false},
            "c": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}},
        "hnsw_config": {"m": 32, "ef_construct": 200, "ef_search": 50, "full_scan_threshold_kb": 100,
            "max_indexing_threads": 2, "on_disk": true, "payload_m": 4, "inline_storage": true},
        "optimizer_config": {"deleted_threshold": 0.25, "vacuum_min_vector_number": 100, "default_segment_number": 2,
            "max_segment_size_kb": 5, "memmap_threshold": 6, "indexing_threshold_kb": 0, "flush_interval_sec": 9,
            "max_optimization_threads": 3, "prevent_unoptimized": true},
        "wal_config": {"wal_capacity_mb": 64, "wal_segments_ahead": 1, "wal_retain_closed": 2, "durability": "interval"},
        "quantization": {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": false}},
        "on_disk_payload": false, "metadata": {"owner": "me", "n": [1, 2.5]}, "shard_number": 2,
        "replication_factor": 3, "write_consistency_factor": 2, "sharding_method": "auto",
        "sparse_vectors": {"s": {"modifier": "idf", "index": {"full_scan_threshold": 10, "on_disk": true,
            "datatype": "float16"}}, "t": {"index": {}}},
        "strict_mode_config": {"enabled": false, "max_query_limit": 10, "search_max_oversampling": 2.5}})
}

#[test]
fn a_null_removes_a_target_recall_and_nothing_else_c14() {
    let of_field = json!({"size": 4, "distance": "Dot", "hnsw_config": {"m": 8, "target_recall": 0.9}});
    let both = json!({"vectors": of_field, "hnsw_config": {"m": 32, "target_recall": 0.98}});
    let config = create(&both).unwrap();
    let targets = |config: &CollectionConfig| {
        (
            config.hnsw.target_recall,
            config.effective_hnsw("").unwrap().target_recall,
            config.effective_hnsw("").unwrap().m,
        )
    };
    assert_eq!(targets(&config), (Some(0.98), Some(0.9), 8));
    let patched =
        |config: &CollectionConfig, body: Value| config.apply_patch(&patch(&body).unwrap()).unwrap();
    let none = json!({"target_recall": null});
    let field = patched(&config, json!({"vectors": {"": {"hnsw_config": none}}}));
    assert_eq!(targets(&field), (Some(0.98), Some(0.98), 8));
    let collection = patched(&config, json!({"hnsw_config": none}));
    assert_eq!(targets(&collection), (None, Some(0.9), 8));
    assert_eq!((collection.hnsw.m, info(&collection)["hnsw_config"].get("target_recall")), (32, None));
    // As it is stored, and as a creation has it.
    assert_eq!(targets(&patched(&collection, json!({"hnsw_config": {"m": 16}}))), (None, Some(0.9), 8));
    let created =
        json!({"vectors": {"size": 4, "distance": "Dot", "hnsw_config": none}, "hnsw_config": none});
    assert_eq!(create(&created).unwrap(), create(&plain()).unwrap());
}

#[test]
fn the_unnamed_vector_and_named_ones_are_told_apart_c4_3() {
    let unnamed = create(&plain()).unwrap();
    assert_eq!(unnamed.fields(), [("".into(), VectorParams::new(4, Metric::Dot))]);
    let named =
        create(&json!({"vectors_config": {"size": {"size": 4, "distance": "Dot"}, "b": null}})).unwrap();
    assert_eq!(named.fields(), [("size".into(), VectorParams::new(4, Metric::Dot))]);
    assert_eq!((named.field_index("size"), named.field_index("")), (Some(0), None));
    // langchain-qdrant writes the unnamed vector so.
    let params = json!({"size": 4, "distance": "Dot"});
    let empty = create(&json!({"vectors": {"": params}})).unwrap();
    assert_eq!(empty.fields(), unnamed.fields());
    let beside = create(&json!({"vectors": {"": params, "a": params}})).unwrap();
    assert_eq!((beside.field_index(""), beside.field_index("a")), (Some(0), Some(1)));
    assert_eq!(CollectionConfig::restore(&beside.to_json()).unwrap(), beside);
    let text = r#"{"vectors":{"a":{"size":1,"distance":"Dot"},"a":{"size":2,"distance":"Dot"}}}"#;
    let mut reader = Reader::new(text.as_bytes()).unwrap();
    let repeated = CollectionConfig::parse(&mut reader, &Limits::default()).unwrap();
    assert_eq!(repeated.fields(), [("a".into(), VectorParams::new(2, Metric::Dot))]);
}

#[test]
fn no_vectors_is_the_specified_error_c1_4() {
    for body in [json!({}), json!({"vectors": null}), json!({"vectors": {}}), json!({"vectors": {"a": null}})]
    {
        assert_eq!(create(&body), Err(Error::VectorsConfigRequired), "{body}");
        let text = body.to_string();
        let mut lenient = Reader::new(text.as_bytes()).unwrap();
        lenient.pass_over_unknown();
        let none = CollectionConfig::parse(&mut lenient, &Limits::default()).unwrap();
        assert_eq!(
            (none.positions(), CollectionConfig::restore(&none.to_json())),
            (0, Ok(none.clone())),
            "C12: {body}"
        );
    }
}

#[test]
fn defaults_are_those_of_the_dialect_c4_3() {
    let config = create(&plain()).unwrap();
    let hnsw = config.effective_hnsw("").unwrap();
    assert_eq!((hnsw.m, hnsw.ef_construct, hnsw.ef_search), (16, 100, 64));
    assert_eq!(hnsw.full_scan_threshold_bytes, 10_000 * 1024);
    assert_eq!(config.durability(), Durability::Always);
    assert_eq!(config.field("").unwrap().datatype(), Datatype::Float32);
    assert!(config.warnings().is_empty());
    assert!(config.effective_hnsw("other").is_none());
}

#[test]
fn a_vectors_own_graph_settings_come_before_the_collections_c4_3() {
    let config = create(&full()).unwrap();
    let (a, b) = (config.effective_hnsw("a").unwrap(), config.effective_hnsw("b").unwrap());
    assert_eq!((a.m, a.ef_construct, a.ef_search), (8, 200, 77));
    assert_eq!((b.m, b.ef_construct, b.ef_search), (32, 200, 50));
    assert_eq!(a.full_scan_threshold_bytes, 100 * 1024);
    let odd = create(
        &json!({"vectors": {"size": 4, "distance": "Dot"}, "hnsw_config": {"m": 1, "ef_construct": 4}}),
    );
    assert_eq!(odd.unwrap().effective_hnsw("").unwrap().m, 2);
}

#[test]
fn turbo_is_codes_of_its_width_and_originals_of_16_bits_c4_3() {
    let body = json!({"vectors": {"a": {"size": 4, "distance": "Euclid", "datatype": "turbo4",
        "quantization_config": {"turbo": {"bits": "bits2", "always_ram": true}}}},
        "quantization_config": {"turbo": {}}});
    let config = create(&body).unwrap();
    let shown = info(&config);
    assert_eq!(shown["params"]["vectors"], body["vectors"]);
    assert_eq!(shown["quantization_config"], json!({"turbo": {}}));
    assert_eq!(CollectionConfig::restore(&config.to_json()).unwrap(), config);
    assert_eq!(config.fields()[0].1.row_bytes(), 8);
    assert_eq!(config.warnings(), ["vectors.a.datatype: turbo4 is kept as float16"]);
    for (bits, width) in [("bits1", 1), ("bits1_5", 2), ("bits2", 2), ("bits4", 4)] {
        let asked = json!({"vectors": {"size": 4, "distance": "Dot"}, "quantization_config": {"turbo": {"bits": bits}}});
        let graph_params = create(&asked).unwrap().graph_params(0).unwrap();
        assert_eq!(graph_params.codes, Some(Coding::Asked(CodeParams::plain(width))), "{bits}");
    }
    let sparse = json!({"sparse_vectors": {"s": {"index": {"datatype": "turbo4"}}}});
    assert!(create(&sparse).unwrap_err().to_string().contains("sparse_vectors.s.index.datatype"));
    let both = json!({"turbo": {}, "binary": {}});
    assert!(
        create(&json!({"vectors": {"size": 4, "distance": "Dot"}, "quantization_config": both})).is_err()
    );
}

#[test]
fn of_a_thresholds_two_names_the_last_value_counts_and_null_takes_back_its_own_c1_8_c1_10() {
    let optimizers = ["max_segment_size", "memmap_threshold", "indexing_threshold"];
    for (object, name) in optimizers
        .map(|name| ("optimizers_config", name))
        .into_iter()
        .chain([("hnsw_config", "full_scan_threshold"), ("sparse_vectors", "full_scan_threshold")])
    {
        let shown = |members: &str| {
            let members = members.replace("kb", &format!("{name}_kb")).replace("own", name);
            let inner = match object {
                "sparse_vectors" => format!("{{\"s\": {{\"index\": {{{members}}}}}}}"),
                _ => format!("{{{members}}}"),
            };
            let text =
                format!("{{\"vectors\": {{\"size\": 4, \"distance\": \"Dot\"}}, \"{object}\": {inner}}}");
            let read =
                CollectionConfig::parse(&mut Reader::new(text.as_bytes()).unwrap(), &Limits::default());
            let shown = info(&read.unwrap());
            match object {
                "sparse_vectors" => shown["params"]["sparse_vectors"]["s"]["index"][name].clone(),
                "optimizers_config" => shown["optimizer_config"][name].clone(),
                _ => shown[object][name].clone(),
            }
        };
        let default = shown("");
        for (members, expected) in [
            (r#""own": 11, "kb": null"#, json!(11)),
            (r#""kb": 11, "own": null"#, json!(11)),
            (r#""own": 11, "kb": 12"#, json!(12)),
            (r#""kb": 11, "own": 12"#, json!(12)),
            (r#""own": 11, "kb": 12, "kb": null"#, json!(11)),
            (r#""own": 11, "own": null"#, default.clone()),
        ] {
            assert_eq!(shown(members), expected, "{object}.{name}: {members}");
        }
    }
}

#[test]
fn what_is_kept_reads_back_equal() {
    for body in [plain(), full()] {
        let config = create(&body).unwrap();
        let kept = config.to_json();
        assert_eq!(CollectionConfig::restore(&kept).unwrap(), config);
        assert_eq!(CollectionConfig::restore(&kept).unwrap().to_json(), kept);
    }
    assert!(CollectionConfig::restore(b"").is_err());
    assert!(CollectionConfig::restore(b"{}").unwrap().fields().is_empty());
}

#[test]
fn info_shows_only_names_that_strict_clients_know_c4_2() {
    let shown = info(&create(&full()).unwrap());
    assert_eq!(
        shown["params"],
        json!({"vectors": {
            "a": {"size": 4, "distance": "Euclid", "hnsw_config": {"m": 8, "on_disk": true},
                "quantization_config": {"binary": {"always_ram": true, "encoding": "two_bits"}}, "on_disk": true,
                "datatype": "float16"},
            "b": {"size": 65536, "distance": "Manhattan", "on_disk": false, "datatype": "uint8"},
            "c": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}},
            "sparse_vectors": {"s": {"modifier": "idf", "index": {"full_scan_threshold": 10, "on_disk": true,
                "datatype": "float16"}}, "t": {"index": {}}},
            "shard_number": 2, "replication_factor": 3, "write_consistency_factor": 2, "on_disk_payload": false})
    );
    assert_eq!(shown["hnsw_config"]["ef_search"], 50);
    assert_eq!(shown["optimizer_config"]["max_optimization_threads"], 3);
    assert_eq!(
        shown["wal_config"],
        json!({"wal_capacity_mb": 64, "wal_segments_ahead": 1, "wal_retain_closed": 2, "durability": "interval"})
    );
    let scalar: Value =
        serde_json::from_str(r#"{"scalar":{"type":"int8","quantile":0.99,"always_ram":false}}"#).unwrap();
    assert_eq!(shown["quantization_config"], scalar);
    assert_eq!(shown["metadata"].to_string(), r#"{"owner":"me","n":[1,2.5]}"#);
    assert_eq!(shown["strict_mode_config"]["max_query_limit"], 10);
    let only_ours = json!({"vectors": {"size": 4, "distance": "Dot", "hnsw_config": {"ef_search": 9}}});
    assert_eq!(
        info(&create(&only_ours).unwrap())["params"]["vectors"],
        json!({"size": 4, "distance": "Dot"})
    );
}

#[test]
fn every_setting_without_effect_has_its_warning_c4_3() {
    let release = [
        "vectors.a.hnsw_config.on_disk",
        "sparse_vectors.s.index.full_scan_threshold",
        "hnsw_config.on_disk",
        "hnsw_config.payload_m",
        "hnsw_config.inline_storage",
        "optimizers_config.default_segment_number",
        "optimizers_config.max_segment_size",
        "optimizers_config.memmap_threshold",
        "optimizers_config.flush_interval_sec",
        "optimizers_config.prevent_unoptimized",
        "wal_config.wal_capacity_mb",
        "wal_config.wal_segments_ahead",
        "wal_config.wal_retain_closed",
        "on_disk_payload",
    ]
    .map(|name| format!("{name} has no effect in this release"));
    let node = ["shard_number", "replication_factor", "write_consistency_factor"]
        .map(|name| format!("{name} has no effect on one node"));
    assert_eq!(create(&full()).unwrap().warnings(), [&release[..], &node[..]].concat());
}

#[test]
fn indexing_follows_the_settings_of_graph_and_optimizer_c4_3() {
    let with = |hnsw: Value, optimizers: Value| {
        let vectors = json!({"size": 4, "distance": "Dot"});
        let body = json!({"vectors": vectors, "hnsw_config": hnsw, "optimizers_config": optimizers});
        create(&body).unwrap()
    };
    let indexing = |hnsw: Value, optimizers: Value| with(hnsw, optimizers).indexing(0);
    assert_eq!(indexing(json!({}), json!({})), Indexing::Above { bytes: 10_000 * 1024 });
    assert_eq!(indexing(json!({"full_scan_threshold": 10}), json!({})), Indexing::Above { bytes: 10_240 });
    let later = json!({"indexing_threshold": 20_000});
    assert_eq!(indexing(json!({}), later), Indexing::Above { bytes: 20_000 * 1024 });
    assert_eq!(indexing(json!({}), json!({"indexing_threshold": 0})), Indexing::Paused);
    assert_eq!(indexing(json!({}), json!({"max_optimization_threads": 0})), Indexing::Paused);
    assert_eq!(indexing(json!({"m": 0}), json!({"indexing_threshold": 0})), Indexing::Never);
    assert_eq!(with(json!({}), json!({})).max_indexers(), usize::MAX);
    assert_eq!(with(json!({"max_indexing_threads": 3}), json!({})).max_indexers(), 3);
    let both = with(json!({"max_indexing_threads": 3}), json!({"max_optimization_threads": 2}));
    assert_eq!(both.max_indexers(), 2);
}

#[test]
fn originals_are_placed_as_the_vector_asks_c4_3() {
    let place = |on_disk: Value| {
        create(&json!({"vectors": {"size": 4, "distance": "Dot", "on_disk": on_disk}})).unwrap().placement(0)
    };
    assert_eq!(place(json!(null)), Placement::Mapped);
    assert_eq!(place(json!(false)), Placement::Memory);
    assert_eq!(place(json!(true)), Placement::Disk);
}

#[test]
fn sparse_fields_stand_alone_or_behind_the_others_c4_3() {
    let alone = create(&json!({"sparse_vectors": {"s": {}, "t": null}})).unwrap();
    assert_eq!((alone.fields().len(), alone.sparse_fields().len(), alone.positions()), (0, 1, 1));
    assert_eq!((alone.vector_position("s"), alone.vector_position("t")), (Some(0), None));
    assert_eq!(info(&alone)["params"]["vectors"], json!({}));
    assert_eq!(info(&alone)["params"]["sparse_vectors"], json!({"s": {}}));
    assert_eq!(CollectionConfig::restore(&alone.to_json()).unwrap(), alone);
    let beside = create(&full()).unwrap();
    let positions = ["a", "b", "c", "s", "t", ""].map(|name| beside.vector_position(name));
    assert_eq!(positions, [Some(0), Some(1), Some(2), Some(3), Some(4), None]);
    assert_eq!(
        [0, 2, 3].map(|at| beside.kind_at(at)),
        [VectorKind::Dense, VectorKind::Multi, VectorKind::Sparse]
    );
    assert_eq!([1, 4].map(|at| beside.name_at(at)), ["b", "t"]);
    assert_eq!(beside.sparse_fields()[0].1.datatype(), Datatype::Float16);
    assert_eq!(beside.sparse_fields()[0].1.modifier(), Modifier::Idf);
    assert!(info(&create(&plain()).unwrap())["params"].get("sparse_vectors").is_none());
}

#[test]
fn malformed_sparse_fields_are_refused_c4_3() {
    for (sparse, why) in [
        (json!({"": {}}), "Sparse vector name cannot be empty"),
        (json!({"a": {}}), "Dense and sparse vector names must be unique - duplicate found with 'a'"),
        (json!({"x/y": {}}), "a vector name must not hold"),
        (json!({"s": {"modifier": "bm25"}}), "sparse_vectors.s.modifier: expected one of none, idf"),
        (json!({"s": {"index": {"datatype": "int8"}}}), "sparse_vectors.s.index.datatype: "),
        (
            json!({"s": {"index": {"full_scan_threshold": -1}}}),
            "sparse_vectors.s.index.full_scan_threshold: ",
        ),
        (json!({"s": {"size": 4}}), "sparse_vectors.s.size: unknown field"),
        (json!({"s": 1}), "sparse_vectors.s: "),
        (json!(["s"]), "sparse_vectors: "),
    ] {
        let body = json!({"vectors": {"a": {"size": 1, "distance": "Dot"}}, "sparse_vectors": sparse});
        let Err(Error::BadRequest(message)) = create(&body) else { panic!("{body}") };
        assert!(message.contains(why), "{message} lacks {why}");
    }
    let many: serde_json::Map<_, _> = (0..64).map(|at| (format!("s{at}"), json!({}))).collect();
    assert!(create(&json!({"sparse_vectors": many})).is_ok());
    let body = json!({"vectors": {"size": 1, "distance": "Dot"}, "sparse_vectors": many});
    let Err(Error::BadRequest(message)) = create(&body) else { panic!() };
    assert!(message.contains("max_named_vectors"), "{message}");
}

#[test]
fn a_patch_changes_sparse_fields_but_not_their_datatype_c4_4() {
    let before = create(&full()).unwrap();
    let change = json!({"sparse_vectors": {
        "s": {"modifier": "none", "index": {"on_disk": false, "datatype": "float16"}},
        "t": {"modifier": "idf"}}});
    let after = before.apply_patch(&patch(&change).unwrap()).unwrap();
    let index = SparseIndexParams {
        full_scan_threshold: Some(10),
        on_disk: Some(false),
        memory: None,
        datatype: Some(Datatype::Float16),
    };
    assert_eq!(
        after.sparse_fields()[0].1,
        SparseParams { index: Some(index), modifier: Some(Modifier::None), model: None }
    );
    assert_eq!(after.sparse_fields()[1].1.modifier(), Modifier::Idf);
    let other = patch(&json!({"sparse_vectors": {"t": {"index": {"datatype": "uint8"}}}})).unwrap();
    assert!(matches!(before.apply_patch(&other), Err(Error::BadRequest(_))));
    let unknown = patch(&json!({"sparse_vectors": {"a": {}}})).unwrap();
    assert_eq!(before.apply_patch(&unknown), Err(Error::VectorNotFound("a".into())));
}

#[test]
fn a_patch_merges_field_by_field_c4_4() {
    let before = create(&full()).unwrap();
    let change = json!({
        "vectors": {"a": {"hnsw_config": {"m": 9}, "quantization_config": "Disabled", "on_disk": false},
                    "b": {"hnsw_config": {"ef_construct": 11}, "quantization_config": {"product": {"compression": "x8"}}}},
        "hnsw_config": {"m": 24}, "optimizers_config": {"max_optimization_threads": "auto", "flush_interval_sec": 1},
        "params": {"replication_factor": 5, "read_fan_out_factor": 2, "on_disk_payload": true},
        "quantization_config": "Disabled", "metadata": {"owner": null, "n": {"x": 1}, "new": true}});
    let after = before.apply_patch(&patch(&change).unwrap()).unwrap();
    let a = after.field("a").unwrap();
    assert_eq!((a.hnsw.m, a.hnsw.ef_search, a.on_disk), (Some(9), Some(77), Some(false)));
    assert_eq!(a.quantization, None);
    let b = after.field("b").unwrap();
    assert_eq!(b.hnsw.ef_construct, Some(11));
    assert!(matches!(b.quantization, Some(Quantization::Product { compression: "x8", .. })));
    assert_eq!((after.hnsw.m, after.hnsw.ef_construct), (24, 200));
    assert_eq!((after.optimizers.max_optimization_threads, after.optimizers.flush_interval_sec), (None, 1));
    assert_eq!((after.params.replication_factor, after.params.shard_number), (5, 2));
    assert_eq!(after.quantization, None);
    let metadata: Value = serde_json::from_slice(after.metadata.as_deref().unwrap()).unwrap();
    assert_eq!(metadata, json!({"n": {"x": 1}, "new": true}));
    assert_eq!(CollectionConfig::restore(&after.to_json()).unwrap(), after);
    let unset = patch(&json!({"vectors": {"a": {"hnsw_config": {}}}})).unwrap();
    assert!(after.apply_patch(&unset).unwrap().field("a").unwrap().hnsw.is_empty());
    assert_eq!(before.apply_patch(&patch(&json!({})).unwrap()).unwrap(), before);
}

#[test]
fn a_patch_of_an_undeclared_vector_is_refused_c4_4() {
    let config = create(&plain()).unwrap();
    let unnamed = patch(&json!({"vectors": {"": {"on_disk": true}}})).unwrap();
    assert_eq!(config.apply_patch(&unnamed).unwrap().field("").unwrap().on_disk, Some(true));
    let other = patch(&json!({"vectors": {"x": {"on_disk": true}}})).unwrap();
    assert_eq!(config.apply_patch(&other), Err(Error::VectorNotFound("x".into())));
    for body in [json!({"vectors": {"": {"size": 8}}}), json!({"vectors": {"": {"distance": "Dot"}}})] {
        assert!(matches!(patch(&body), Err(Error::BadRequest(_))), "{body}");
    }
}

#[test]
fn names_of_vectors_are_bounded_c2_2_c2_7() {
    let named = |name: &str| create(&json!({"vectors": {name: {"size": 1, "distance": "Dot"}}}));
    for good in ["a", "ü", "image-512", "a b", &"x".repeat(200)] {
        assert!(named(good).is_ok(), "{good}");
    }
    for bad in [
        ".",
        "..",
        " a",
        "a ",
        "a/b",
        "a\\b",
        "a<",
        "a>",
        "a:",
        "a\"",
        "a|",
        "a?",
        "a*",
        "a\n",
        &"x".repeat(201),
    ] {
        assert!(matches!(named(bad), Err(Error::BadRequest(_))), "{bad:?}");
    }
}

fn setting(values: Vec<Value>) -> impl Strategy<Value = Option<Value>> {
    prop::option::of(prop::sample::select(values))
}

proptest! {
    #[test]
    fn any_accepted_configuration_survives_the_disk(
        size in 1u64..=65_536, distance in prop::sample::select(vec!["Cosine", "Euclid", "Dot", "Manhattan"]),
        names in prop::collection::btree_set("[a-zé_.-]{1,8}x", 0..5),
        m in setting(vec![json!(0), json!(1), json!(48)]), ef in setting(vec![json!(4), json!(512)]),
        deleted in prop::option::of(0.0f64..=1.0), threads in setting(vec![json!("auto"), json!(0), json!(7)]),
        quantile in prop::option::of(0.5f64..=1.0), durability in setting(vec![json!("always"), json!("os")]),
        metadata in prop::option::of("[a-z\"\\\\é]{0,6}"), fan_out in prop::option::of(0u64..9),
    ) {
        let params = json!({"size": size, "distance": distance, "hnsw_config": {"m": m, "ef_search": ef}});
        let vectors = if names.is_empty() { params } else { names.iter().map(|name| (name.clone(), params.clone())).collect() };
        let body = json!({
            "vectors": vectors, "hnsw_config": {"ef_construct": ef},
            "optimizers_config": {"deleted_threshold": deleted, "max_optimization_threads": threads},
            "wal_config": {"durability": durability},
            "quantization_config": quantile.map(|quantile| json!({"scalar": {"type": "int8", "quantile": quantile}})),
            "metadata": metadata.map(|text| json!({text.clone(): [text, null, {}]}))});
        let config = create(&body).unwrap();
        let change = patch(&json!({"params": {"read_fan_out_factor": fan_out}})).unwrap();
        let config = config.apply_patch(&change).unwrap();
        let kept = config.to_json();
        prop_assert_eq!(&CollectionConfig::restore(&kept).unwrap(), &config);
        prop_assert_eq!(CollectionConfig::restore(&kept).unwrap().to_json(), kept);
        info(&config);
    }
}

#[test]
fn memory_placements_are_kept_and_override_the_older_settings_c4_3() {
    let body = json!({
        "vectors": {
            "a": {"size": 4, "distance": "Dot", "memory": "cold", "on_disk": false, "hnsw_config": {"memory": "cold"}},
            "b": {"size": 4, "distance": "Dot", "memory": "cached", "on_disk": true,
                "quantization_config": {"scalar": {"type": "int8", "memory": "pinned"}}},
        },
        "sparse_vectors": {"s": {"index": {"memory": "pinned"}}, "t": {"index": {"on_disk": true}}},
        "payload": {"memory": "cached"},
    });
    let config = create(&body).unwrap();
    let placements = [0, 1, 2, 3].map(|position| config.placement(position));
    assert_eq!(placements, [Placement::Disk, Placement::Mapped, Placement::Memory, Placement::Disk]);
    assert_eq!(CollectionConfig::restore(&config.to_json()).unwrap(), config);
    let params = &info(&config)["params"];
    assert_eq!(params["vectors"]["a"], body["vectors"]["a"]);
    assert_eq!(params["vectors"]["b"], body["vectors"]["b"]);
    assert_eq!((&params["sparse_vectors"], &params["payload"]), (&body["sparse_vectors"], &body["payload"]));
    let change = json!({"vectors": {"a": {"memory": "cached"}}, "params": {"payload": {"memory": "cold"}}});
    let after = config.apply_patch(&patch(&change).unwrap()).unwrap();
    assert_eq!(
        (after.placement(0), &info(&after)["params"]["payload"]),
        (Placement::Mapped, &json!({"memory": "cold"}))
    );
    for refused in [
        json!({"vectors": {"size": 4, "distance": "Dot", "memory": "pinned"}}),
        json!({"vectors": {"size": 4, "distance": "Dot", "memory": "hot"}}),
        json!({"vectors": {"size": 4, "distance": "Dot"}, "payload": {"memory": "pinned"}}),
    ] {
        let error = create(&refused).unwrap_err().to_string();
        assert!(error.contains("memory"), "{error}");
    }
    assert!(patch(&json!({"vectors": {"a": {"memory": "pinned"}}})).is_err());
}
