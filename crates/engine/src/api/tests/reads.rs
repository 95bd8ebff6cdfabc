//! Bodies of reads (C5.2, C6).

use super::{accepted, refused, same};
use crate::api;
use crate::limits::Limits;
use crate::payload::PayloadSelector;
use crate::query::request::{Direction, StartFrom, VectorSelector};
use crate::query::tree::{Example, QuantizationParams, Query, QueryRequest, SearchParams};
use crate::types::{IdKind, PointId};
use crate::vectors::VectorValue;

fn query(body: &str) -> QueryRequest {
    api::query(body.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{body}: {error}"))
}

#[test]
fn a_search_has_the_defaults_of_c6_2() {
    let request = api::search(br#"{"vector":[0.5,1]}"#, &Limits::default()).unwrap();
    assert!(
        matches!(&request.node.query, Query::Nearest(Example::Vector(VectorValue::Dense(v), None)) if *v == [0.5, 1.0])
    );
    assert_eq!((&*request.node.using, request.node.limit, request.offset), ("", 10, 0));
    let quantization = QuantizationParams { ignore: false, rescore: true, oversampling: None };
    let params = SearchParams {
        hnsw_ef: None,
        target_recall: None,
        exact: false,
        indexed_only: false,
        quantization,
        ..SearchParams::default()
    };
    assert_eq!(request.node.params, params);
    assert_eq!(request.with.payload, PayloadSelector::None);
    assert_eq!(request.with.vector, VectorSelector::None);
    assert!(
        request.node.filter.is_none()
            && request.node.score_threshold.is_none()
            && request.node.lookup_from.is_none()
    );
}

#[test]
fn a_search_reads_every_field_c6_1_c6_2() {
    let body = br#"{"vector":{"name":"a","vector":[1]},"top":3,"offset":4,"score_threshold":-0.5,"filter":{},
        "params":{"hnsw_ef":32,"exact":true,"indexed_only":true,"acorn":{"enable":true,"max_selectivity":0.4},
                  "quantization":{"ignore":true,"rescore":false,"oversampling":1.5}},
        "with_payload":{"exclude":["a.b"]},"with_vectors":["a",""],"shard_key":null}"#;
    let request = api::search(body, &Limits::default()).unwrap();
    assert_eq!((&*request.node.using, request.node.limit, request.offset), ("a", 3, 4));
    let quantization = QuantizationParams { ignore: true, rescore: false, oversampling: Some(1.5) };
    let params = SearchParams {
        hnsw_ef: Some(32),
        target_recall: None,
        exact: true,
        indexed_only: true,
        quantization,
        ..SearchParams::default()
    };
    assert_eq!(request.node.params, params);
    assert_eq!(request.node.score_threshold, Some(-0.5));
    assert!(request.node.filter.is_some());
    assert!(matches!(&request.with.payload, PayloadSelector::Exclude(paths) if paths.len() == 1));
    assert_eq!(request.with.vector, VectorSelector::Named(vec!["a".into(), "".into()]));
}

#[test]
fn null_is_absent_c1_10() {
    same(
        "search",
        r#"{"vector":[1]}"#,
        r#"{"vector":[1],"filter":null,"params":null,"limit":null,"top":null,"offset":null,"with_payload":null,
            "with_vector":null,"with_vectors":null,"score_threshold":null,"shard_key":null,"anything":null}"#,
    );
    same("query", "{}", r#"{"query":null,"prefetch":null,"using":null,"lookup_from":null,"limit":null}"#);
    same("query", "{}", r#"{"prefetch":[]}"#);
    same("scroll", "{}", r#"{"offset":null,"order_by":null,"filter":null,"with_payload":null}"#);
    same("count", "", r#"{"filter":null,"exact":null,"shard_key":null}"#);
    same("search", r#"{"vector":[1],"limit":5}"#, r#"{"vector":[1],"limit":2,"limit":5}"#);
    same("search", r#"{"vector":[1]}"#, r#"{"vector":[1],"limit":2,"limit":null}"#);
}

#[test]
fn a_query_takes_the_forms_of_this_release_c6_3() {
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    assert!(matches!(query("{}").node.query, Query::ById));
    assert!(
        matches!(query(r#"{"query":[1,2]}"#).node.query, Query::Nearest(Example::Vector(VectorValue::Dense(v), None)) if v.len() == 2)
    );
    assert!(matches!(query(r#"{"query":7}"#).node.query, Query::Nearest(Example::Id(PointId::Num(7)))));
    let by_uuid = query(&format!(r#"{{"query":"{uuid}"}}"#)).node.query;
    assert!(matches!(by_uuid, Query::Nearest(Example::Id(PointId::Uuid(_)))));
    assert!(matches!(
        query(r#"{"query":{"nearest":[1]}}"#).node.query,
        Query::Nearest(Example::Vector(VectorValue::Dense(_), None))
    ));
    assert!(matches!(
        query(r#"{"query":{"nearest":7,"mmr":null}}"#).node.query,
        Query::Nearest(Example::Id(_))
    ));
    assert!(matches!(query(r#"{"query":{"sample":"random"}}"#).node.query, Query::Sample));
    let Query::OrderBy(order) = query(r#"{"query":{"order_by":"a.b"},"offset":3}"#).node.query else {
        panic!()
    };
    assert_eq!(
        (order.key.to_string().as_str(), order.direction, order.start_from),
        ("a.b", Direction::Asc, None)
    );
    let looked_up =
        query(r#"{"query":7,"using":"v","lookup_from":{"collection":"c","vector":"w","shard_key":null}}"#);
    let from = looked_up.node.lookup_from.unwrap();
    assert_eq!(
        (&*looked_up.node.using, from.collection.as_str(), from.vector.as_deref()),
        ("v", "c", Some("w"))
    );
}

#[test]
fn an_ordering_starts_at_a_number_or_a_date_c6_4() {
    let start = |text: &str| {
        let body = format!(r#"{{"order_by":{{"key":"a","direction":"desc","start_from":{text}}}}}"#);
        let order = api::scroll(body.as_bytes(), &Limits::default()).unwrap().order_by.unwrap();
        assert_eq!(order.direction, Direction::Desc);
        order.start_from
    };
    assert_eq!(start("5"), Some(StartFrom::Integer(5)));
    assert_eq!(start("-9223372036854775808"), Some(StartFrom::Integer(i64::MIN)));
    assert_eq!(start("9223372036854775808"), Some(StartFrom::Float(9_223_372_036_854_775_808.0)));
    assert_eq!(start("1.5"), Some(StartFrom::Float(1.5)));
    assert_eq!(start("\"1970-01-01T00:00:01Z\""), Some(StartFrom::Datetime(1_000_000)));
    assert_eq!(start("null"), None);
}

#[test]
fn retrieve_scroll_and_count_have_their_defaults_c5_2_c6_1_c6_4_c6_5() {
    let limits = Limits::default();
    let request = api::retrieve(br#"{"ids":[3,1,3]}"#, &limits).unwrap();
    assert_eq!(request.ids, [3, 1, 3].map(PointId::Num));
    assert_eq!((request.with.payload, request.with.vector), (PayloadSelector::All, VectorSelector::None));
    let request = api::scroll(b"{}", &limits).unwrap();
    assert_eq!((request.limit, request.with.payload), (10, PayloadSelector::All));
    assert!(api::count(b"", &limits).unwrap().exact);
    assert!(!api::count(br#"{"exact":false}"#, &limits).unwrap().exact);
    let one = api::get_point("18446744073709551615", IdKind::Default).unwrap();
    assert_eq!((one.ids, one.with.vector), (vec![PointId::Num(u64::MAX)], VectorSelector::All));
    assert!(api::get_point("abc", IdKind::Default).is_err());
}

#[test]
fn the_window_and_the_names_are_limited_c2_7() {
    let limits = Limits { max_result_window: 20, max_named_vectors: 2, ..Limits::default() };
    assert!(api::search(br#"{"vector":[1],"limit":15,"offset":5}"#, &limits).is_ok());
    let error = api::search(br#"{"vector":[1],"limit":15,"offset":6}"#, &limits).unwrap_err().to_string();
    assert!(
        error.contains("limit: limit + offset must be at most 20 (max_result_window), got 21"),
        "{error}"
    );
    let body = br#"{"searches":[{"query":1},{"query":1,"limit":21}]}"#;
    let error = api::query_batch(body, &limits).unwrap_err().to_string();
    assert!(error.contains("searches[1].limit: limit + offset"), "{error}");
    // A page by id has the window's worth and an offset to go on with; one by a field has none.
    assert_eq!(api::scroll(br#"{"limit":999999999}"#, &limits).unwrap().limit, 20);
    let error = api::scroll(br#"{"limit":21,"order_by":"n"}"#, &limits).unwrap_err().to_string();
    assert!(
        error.contains("limit: limit + offset must be at most 20 (max_result_window), got 21"),
        "{error}"
    );
    let error =
        api::search(br#"{"vector":[1],"with_vector":["a","b","c"]}"#, &limits).unwrap_err().to_string();
    assert!(error.contains("with_vector: at most 2 vector names (max_named_vectors)"), "{error}");
    let body = br#"{"points":[{"id":1,"vector":{"a":[1],"b":[1],"c":[1]}}]}"#;
    let error = api::upsert(body, &limits).unwrap_err().to_string();
    assert!(error.contains("points[0].vector: at most 2 named vectors (max_named_vectors)"), "{error}");
}

#[test]
fn the_paths_of_a_payload_that_a_read_shows_are_limited() {
    let list = |count: usize| format!("[{}]", vec![r#""a""#; count].join(","));
    for (most, more) in [(list(1_024), list(1_025)), (list(0), format!(r#"{{"exclude":{}}}"#, list(1_025)))] {
        let read = |paths: &str| {
            api::search(format!(r#"{{"vector":[1],"with_payload":{paths}}}"#).as_bytes(), &Limits::default())
        };
        assert!(read(&most).is_ok());
        let error = read(&more).unwrap_err().to_string();
        assert!(
            error.contains("with_payload") && error.contains(": at most 1024 paths a request"),
            "{error}"
        );
    }
}

#[test]
fn what_codes_are_used_for_is_checked_c6_2() {
    let quantization = |text: &str| {
        let body = format!(r#"{{"vector":[1],"params":{{"quantization":{text}}}}}"#);
        api::search(body.as_bytes(), &Limits::default()).map(|request| request.node.params.quantization)
    };
    assert_eq!(quantization("null").unwrap(), QuantizationParams::default());
    assert_eq!(quantization(r#"{"rescore":null,"ignore":null}"#).unwrap(), QuantizationParams::default());
    assert_eq!(quantization(r#"{"oversampling":1}"#).unwrap().oversampling, Some(1.0));
    assert_eq!(quantization(r#"{"oversampling":1e300}"#).unwrap().oversampling, Some(f32::MAX));
    let error = quantization(r#"{"oversampling":0.5}"#).unwrap_err().to_string();
    assert!(error.contains("value 0.5 invalid, must be 1 or larger"), "{error}");
    assert!(quantization(r#"{"ignore":1}"#).is_err());
}

#[test]
fn batches_keep_their_order_and_may_be_empty_c6_2_c6_3() {
    let limits = Limits::default();
    let searches =
        api::search_batch(br#"{"searches":[{"vector":[1],"limit":1},{"vector":[1],"limit":2}]}"#, &limits);
    assert_eq!(searches.unwrap().iter().map(|search| search.node.limit).collect::<Vec<_>>(), [1, 2]);
    assert!(api::query_batch(br#"{"searches":[]}"#, &limits).unwrap().is_empty());
    refused("search_batch", "{}", "searches");
    accepted("query_batch", r#"{"searches":[{},{"query":{"sample":"random"}}]}"#);
}

#[test]
fn a_message_never_holds_the_whole_body() {
    let long = "k".repeat(1 << 20);
    for body in [
        format!(r#"{{"{long}":1}}"#),
        format!(r#"{{"query":{{"{long}":1}}}}"#),
        format!(r#"{{"query":"{long}"}}"#),
        format!(r#"{{"with_payload":["{long}"]}}"#),
        format!(r#"{{"query":{{"sample":"{long}"}}}}"#),
    ] {
        let error = api::query(body.as_bytes(), &Limits::default()).unwrap_err();
        assert!(super::message(&error).len() < 1_000);
    }
}
