//! The forms of a query (C6.3), and the limits on its tree (C2.7).

use super::same;
use crate::api;
use crate::limits::Limits;
use crate::query::tree::{Example, Fusion, Query, QueryNode, Strategy};
use crate::types::PointId;
use crate::vectors::VectorValue;

fn node(body: &str) -> QueryNode {
    api::query(body.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{body}: {error}")).node
}

fn refusal(body: &str, limits: &Limits) -> String {
    api::query(body.as_bytes(), limits).expect_err(body).to_string()
}

#[test]
fn an_example_is_a_vector_of_any_kind_or_an_id_c6_3() {
    let example = |text: &str| match node(&format!(r#"{{"query":{{"nearest":{text}}}}}"#)).query {
        Query::Nearest(example) => example,
        other => panic!("{other:?}"),
    };
    assert_eq!(example("7"), Example::Id(PointId::Num(7)));
    assert!(matches!(example("[1,2]"), Example::Vector(VectorValue::Dense(v), None) if v == [1.0, 2.0]));
    assert!(matches!(example("[[1,2],[3,4]]"), Example::Vector(VectorValue::Multi(v), None) if v.len() == 2));
    let sparse = r#"{"values":[2,1],"indices":[9,4]}"#;
    assert!(matches!(example(sparse), Example::Vector(VectorValue::Sparse(v), None) if v.indices == [4, 9]));
    // The same without the word.
    same("query", &format!(r#"{{"query":{sparse}}}"#), &format!(r#"{{"query":{{"nearest":{sparse}}}}}"#));
    same("query", r#"{"query":[[1],[2]]}"#, r#"{"query":{"nearest":[[1],[2]]}}"#);
}

#[test]
fn several_examples_have_their_defaults_c6_3() {
    let Query::Recommend(recommend) = node(r#"{"query":{"recommend":{"positive":[1,[2]]}}}"#).query else {
        panic!()
    };
    assert_eq!(recommend.positive.len(), 2);
    assert!(recommend.negative.is_empty() && recommend.strategy == Strategy::AverageVector);
    let best = r#"{"query":{"recommend":{"negative":[1],"strategy":"best_score"}}}"#;
    assert!(
        matches!(node(best).query, Query::Recommend(recommend) if recommend.strategy == Strategy::BestScore)
    );
    let pair = r#"{"positive":1,"negative":[2]}"#;
    same(
        "query",
        &format!(r#"{{"query":{{"context":{pair}}}}}"#),
        &format!(r#"{{"query":{{"context":[{pair}]}}}}"#),
    );
    for context in ["", r#","context":null"#, r#","context":[]"#] {
        let body = format!(r#"{{"query":{{"discover":{{"target":1{context}}}}}}}"#);
        assert!(matches!(node(&body).query, Query::Discover(discover) if discover.context.is_empty()));
    }
    let Query::Mmr(mmr) = node(r#"{"query":{"mmr":{},"nearest":1}}"#).query else { panic!() };
    assert_eq!((mmr.diversity, mmr.candidates), (0.5, None));
    let mmr = r#"{"query":{"nearest":1,"mmr":{"diversity":0,"candidates_limit":16384}}}"#;
    assert!(
        matches!(node(mmr).query, Query::Mmr(mmr) if mmr.candidates == Some(16_384) && mmr.diversity == 0.0)
    );
}

#[test]
fn fusions_have_their_defaults_c6_3() {
    let fusion = |text: &str| match node(&format!(r#"{{"prefetch":[{{}},{{}}],"query":{text}}}"#)).query {
        Query::Fusion(fusion) => fusion,
        other => panic!("{other:?}"),
    };
    let plain = Fusion::Rrf { k: 2.0, weights: vec![] };
    assert_eq!(fusion(r#"{"fusion":"rrf"}"#), plain);
    assert_eq!(fusion(r#"{"rrf":{"k":null,"weights":null}}"#), plain);
    assert_eq!(
        fusion(r#"{"rrf":{"k":1,"weights":[3,-0.5]}}"#),
        Fusion::Rrf { k: 1.0, weights: vec![3.0, -0.5] }
    );
    assert_eq!(fusion(r#"{"fusion":"dbsf"}"#), Fusion::Dbsf);
}

#[test]
fn a_prefetch_is_one_or_many_and_has_fields_of_its_own_c6_3() {
    for (prefetch, place) in [(r#"{"limit":3}"#, "prefetch"), (r#"[{"limit":3}]"#, "prefetch[0]")] {
        let root = node(&format!(r#"{{"query":1,"prefetch":{prefetch}}}"#));
        let [inner] = &root.prefetch[..] else { panic!("{root:?}") };
        assert_eq!((inner.limit, &*inner.place), (3, place));
    }
    let root = node(
        r#"{"query":1,"prefetch":[{"query":[1],"using":"a","filter":{},"score_threshold":1,"limit":4,
            "params":{"exact":true},"lookup_from":{"collection":"c"},"prefetch":{},"shard_key":null}]}"#,
    );
    let [inner] = &root.prefetch[..] else { panic!("{root:?}") };
    assert_eq!(
        (&*inner.using, inner.limit, inner.score_threshold, &*inner.place),
        ("a", 4, Some(1.0), "prefetch[0]")
    );
    assert!(inner.filter.is_some() && inner.params.exact && inner.lookup_from.is_some());
    assert!(matches!(inner.prefetch[0].query, Query::ById));
    assert_eq!(
        (inner.prefetch[0].limit, inner.prefetch[0].path("query").as_str()),
        (10, "prefetch[0].prefetch.query")
    );
}

#[test]
fn the_tree_is_limited_c2_7() {
    let deep = |depth: usize| {
        let mut body = r#"{"query":1}"#.to_string();
        for _ in 0..depth {
            body = format!(r#"{{"query":1,"prefetch":[{body}]}}"#);
        }
        body
    };
    node(&deep(64));
    assert!(refusal(&deep(65), &Limits::default()).contains("prefetches depth 65 exceeds max depth 64"));
    let limits =
        Limits { max_prefetch_depth: 2, max_prefetches: 3, max_points_per_request: 4, ..Limits::default() };
    assert!(refusal(&deep(3), &limits).contains("prefetches depth 3 exceeds max depth 2"));
    let wide = r#"{"query":1,"prefetch":[{},{"query":1,"prefetch":[{},{}]}]}"#;
    assert!(
        refusal(wide, &limits)
            .contains("prefetch[1].prefetch: at most 3 prefetches a query (max_prefetches)")
    );
    let many = r#"{"query":{"recommend":{"positive":[1,2,3]}},"prefetch":{"query":{"context":[{"positive":1,"negative":2},{"positive":1,"negative":2}]}}}"#;
    assert!(refusal(many, &limits).contains("at most 4 points or ids a request (max_points_per_request)"));
    let narrow = Limits { max_result_window: 10, ..Limits::default() };
    let body = r#"{"query":1,"limit":10,"prefetch":[{"limit":10},{"limit":10}]}"#;
    assert!(api::query(body.as_bytes(), &narrow).is_ok());
    let eleven = [r#"{"limit":10}"#; 10].join(",");
    let body = format!(r#"{{"query":1,"limit":10,"prefetch":[{eleven}]}}"#);
    assert!(
        refusal(&body, &narrow)
            .contains("must be at most 100 together (10 times max_result_window), got 110")
    );
}
