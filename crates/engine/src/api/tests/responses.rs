//! The bytes of answers.

use crate::api::response::{
    CollectionInfo, CollectionStatus, Envelope, FieldIndexInfo, PointView, ResidencyInfo, ShownVectors,
    UpdateStatus, pack_vectors, vectors_to_json, write_bool, write_collection_info, write_collections,
    write_count, write_elements, write_exists, write_list, write_page, write_query_result, write_record,
    write_scored_point, write_update_result, write_update_results,
};
use crate::config::{CollectionConfig, VectorParams};
use crate::field::calibration::RecallEstimate;
use crate::json::{PackedVectors, Reader};
use crate::payload::FieldSchema;
use crate::query::OrderValue;
use crate::types::{Metric, PointId};
use crate::vectors::{MultiVector, SparseVector, VectorValue};
use std::time::Duration;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    let _: serde_json::Value = serde_json::from_slice(&out).expect("valid JSON");
    String::from_utf8(out).unwrap()
}

fn bare(id: &PointId) -> PointView<'_> {
    PointView { id, payload: None, vectors: None, order_value: None }
}

#[test]
fn the_envelope_holds_the_result_and_the_time_in_seconds_c1_1() {
    for (elapsed, seconds) in [
        (Duration::from_micros(345), "0.000345000"),
        (Duration::from_millis(12_345), "12.345000000"),
        (Duration::ZERO, "0.000000000"),
    ] {
        let body = written(|out| {
            let envelope = Envelope::start(out);
            write_bool(out, true);
            envelope.finish(out, elapsed);
        });
        assert_eq!(body, format!(r#"{{"time":{seconds},"status":"ok","result":true}}"#));
    }
}

#[test]
fn the_envelope_may_start_behind_other_bytes() {
    let mut out = b"before".to_vec();
    let envelope = Envelope::start(&mut out);
    write_count(&mut out, 7);
    envelope.finish(&mut out, Duration::from_secs(1_000));
    let expected = r#"before{"time":1000.000000000,"status":"ok","result":{"count":7}}"#;
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn update_results_name_operation_and_status_c5() {
    let one = written(|out| write_update_result(out, u64::MAX, UpdateStatus::Completed, None));
    assert_eq!(one, r#"{"operation_id":18446744073709551615,"status":"completed"}"#);
    let two = written(|out| write_update_results(out, 4, 2, UpdateStatus::Acknowledged, &[]));
    assert_eq!(
        two,
        r#"[{"operation_id":4,"status":"acknowledged"},{"operation_id":4,"status":"acknowledged"}]"#
    );
}

#[test]
fn small_results_c4_1_c4_6_c6_5() {
    assert_eq!(written(|out| write_exists(out, false)), r#"{"exists":false}"#);
    assert_eq!(written(|out| write_count(out, 3)), r#"{"count":3}"#);
    let list = written(|out| write_collections(out, ["a", "ü\""]));
    assert_eq!(list, r#"{"collections":[{"name":"a"},{"name":"ü\""}]}"#);
}

#[test]
fn a_hit_shows_what_was_asked_for_c6_1_c6_7() {
    let plain = written(|out| write_scored_point(out, &bare(&PointId::Num(9_007_199_254_740_993)), 7, 0.1));
    assert_eq!(plain, r#"{"id":9007199254740993,"version":7,"score":0.1}"#);
    let full = PointView {
        id: &PointId::Uuid(PointId::parse_uuid("550E8400E29B41D4A716446655440000").unwrap()),
        payload: Some(br#"{"a":1}"#),
        vectors: Some(ShownVectors::Values(&[("", vec![0.25, -1.0].into())])),
        order_value: Some(OrderValue::Float(1.5)),
    };
    assert_eq!(
        written(|out| write_scored_point(out, &full, 1, 1.0)),
        r#"{"id":"550e8400-e29b-41d4-a716-446655440000","version":1,"score":1.0,"payload":{"a":1},"vector":[0.25,-1.0],"order_value":1.5}"#
    );
    let ordered = PointView { order_value: Some(OrderValue::Integer(i64::MIN)), ..bare(&PointId::Num(1)) };
    assert_eq!(written(|out| write_record(out, &ordered)), r#"{"id":1,"order_value":-9223372036854775808}"#);
}

#[test]
fn packed_vectors_stand_beside_what_says_where_they_are() {
    let mut packed = PackedVectors::default();
    let sparse = SparseVector::new(vec![7, 0], vec![0.5, -1.0]).unwrap();
    let multi = MultiVector { dim: 1, components: vec![3.0, 4.0] };
    let vectors = [
        ("a", VectorValue::Dense(vec![1.0, 2.0])),
        ("s", VectorValue::Sparse(sparse)),
        ("m", VectorValue::Multi(multi)),
    ];
    let mut out = written(|out| pack_vectors(&vectors, &mut packed, out)).into_bytes();
    let json = r#"{"a":[0,2],"s":{"indices":[0,7],"values":[2,2]},"m":[[4,1],[5,1]]}"#;
    assert_eq!(out, json.as_bytes());
    packed.append_to(&mut out);
    let floats: Vec<u8> =
        [1.0f32, 2.0, -1.0, 0.5, 3.0, 4.0].iter().flat_map(|float| float.to_le_bytes()).collect();
    assert_eq!(out[json.len()..], [&floats[..], &(json.len() as u32).to_le_bytes()].concat());
}

#[test]
fn vectors_read_back_bare_named_or_none_c2_6() {
    let shown = |vectors: &[(&str, VectorValue)]| written(|out| vectors_to_json(vectors, out));
    let dense = |components: &[f32]| VectorValue::Dense(components.to_vec());
    assert_eq!(shown(&[("", dense(&[1.0, 0.1]))]), "[1.0,0.1]");
    assert_eq!(shown(&[("a", dense(&[1.0]))]), r#"{"a":[1.0]}"#);
    assert_eq!(shown(&[("", dense(&[1.0])), ("a", dense(&[2.0]))]), r#"{"":[1.0],"a":[2.0]}"#);
    let sparse = SparseVector::new(vec![7, 0], vec![0.5, -1.0]).unwrap();
    assert_eq!(
        shown(&[("", dense(&[1.0])), ("s", VectorValue::Sparse(sparse))]),
        r#"{"":[1.0],"s":{"indices":[0,7],"values":[-1.0,0.5]}}"#
    );
    let multi = MultiVector { dim: 2, components: vec![1.0, 2.0, 3.0, 4.0] };
    assert_eq!(shown(&[("", VectorValue::Multi(multi))]), "[[1.0,2.0],[3.0,4.0]]");
    assert_eq!(shown(&[]), "{}");
}

#[test]
fn pages_and_query_results_c6_3_c6_4() {
    let page = written(|out| {
        write_page(out, Some(&PointId::Num(3)), |out| {
            write_elements(out, [1, 2], |out, id| write_record(out, &bare(&PointId::Num(id))));
        });
    });
    assert_eq!(page, r#"{"points":[{"id":1},{"id":2}],"next_page_offset":3}"#);
    assert_eq!(written(|out| write_page(out, None, |_| ())), r#"{"points":[],"next_page_offset":null}"#);
    let query = written(|out| {
        write_query_result(out, |out| {
            write_elements(out, [1, 2], |out, id| write_scored_point(out, &bare(&PointId::Num(id)), 1, 0.5));
        });
    });
    assert_eq!(query, r#"{"points":[{"id":1,"version":1,"score":0.5},{"id":2,"version":1,"score":0.5}]}"#);
    assert_eq!(written(|out| write_list(out, [0u8; 0], |_, _| ())), "[]");
}

#[test]
fn a_collections_info_is_what_strict_clients_parse_c4_2() {
    let config = CollectionConfig::with_fields(vec![("".into(), VectorParams::new(4, Metric::Cosine))]);
    let schema = |text: &str| FieldSchema::parse(&mut Reader::new(text.as_bytes()).unwrap()).unwrap();
    let (bare, object) = (schema("\"keyword\""), schema(r#"{"type":"integer","lookup":true,"range":true}"#));
    let indexes = [
        FieldIndexInfo { field: "city", schema: &bare, points: 12 },
        FieldIndexInfo { field: "n", schema: &object, points: 11 },
    ];
    let info = CollectionInfo {
        status: CollectionStatus::Green,
        fault: None,
        indexed_vectors_count: Some(1000),
        points_count: Some(1001),
        segments_count: 1,
        config: &config,
        indexes: &indexes,
        auto_indexes: &[],
        reembeddings: &[],
        recall_estimate: Some(RecallEstimate { recall: 0.98, low: 0.97, high: 0.99, samples: 64, at: 7 }),
        bytes: Some((70, 80)),
        residency: Some(ResidencyInfo {
            state: "awake",
            resident_bytes: 70,
            opened: Some(Duration::from_micros(1500)),
        }),
    };
    let shown: serde_json::Value =
        serde_json::from_str(&written(|out| write_collection_info(out, &info))).unwrap();
    // The answer that all clients accept.
    let expected = serde_json::json!({
        "status": "green", "optimizer_status": "ok", "warnings": [], "indexed_vectors_count": 1000,
        "points_count": 1001, "segments_count": 1,
        "config": {
            "params": {"vectors": {"size": 4, "distance": "Cosine"}, "shard_number": 1, "replication_factor": 1,
                "write_consistency_factor": 1, "on_disk_payload": true},
            "hnsw_config": {"m": 16, "ef_construct": 100, "ef_search": 64, "full_scan_threshold": 10000,
                "max_indexing_threads": 0, "on_disk": false},
            "optimizer_config": {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000,
                "default_segment_number": 0, "indexing_threshold": 10000, "flush_interval_sec": 5,
                "max_optimization_threads": null},
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0, "durability": "always"},
            "quantization_config": null},
        "payload_schema": {
            "city": {"data_type": "keyword", "params": null, "points": 12},
            "n": {"data_type": "integer", "params": {"type": "integer", "lookup": true, "range": true}, "points": 11}},
        "recall_estimate": {"recall": 0.98, "low": 0.97, "high": 0.99, "samples": 64, "at": 7},
        "size": {"memory_bytes": 70, "disk_bytes": 80},
        "residency": {"setting": "auto", "state": "awake", "resident_bytes": 70, "opened_ms": 1.5}
    });
    assert_eq!(shown, expected);
}

#[test]
fn a_fault_is_red_and_named_c10_2() {
    let config = CollectionConfig::with_fields(Vec::new());
    let info = CollectionInfo {
        status: CollectionStatus::Red,
        fault: Some("the manifest is damaged"),
        indexed_vectors_count: None,
        points_count: Some(0),
        segments_count: 0,
        config: &config,
        indexes: &[],
        auto_indexes: &[],
        reembeddings: &[],
        recall_estimate: None,
        bytes: None,
        residency: None,
    };
    let shown: serde_json::Value =
        serde_json::from_str(&written(|out| write_collection_info(out, &info))).unwrap();
    assert_eq!(shown["status"], "red");
    assert_eq!(shown["optimizer_status"]["error"], "the manifest is damaged");
    assert_eq!(shown["config"]["params"]["vectors"], serde_json::json!({}));
}
