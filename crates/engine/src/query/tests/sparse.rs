//! Searches of sparse vectors through the engine.

use super::{call, engine};
use serde_json::{Value, json};

#[test]
fn a_corpus_weighs_a_query_as_a_collection_of_its_points_does_c6_2() {
    let engine = engine(3);
    // A point has one of three indices, and one that all have.
    let point = |id: u64| {
        let vector = json!({"indices": [id % 3, 7], "values": [1.0, 0.5]});
        json!({"id": id, "vector": {"s": vector}, "payload": {"tenant": id % 4}})
    };
    for (collection, step) in [("all", 1), ("tenant", 4)] {
        let config = json!({"vectors": {}, "sparse_vectors": {"s": {"modifier": "idf"}}});
        call(&engine, collection, "create_collection", &config);
        let points: Vec<Value> = (0..20).step_by(step).map(point).collect();
        call(&engine, collection, "upsert_points", &json!({"points": points}));
    }
    let hits = |collection: &str, filter: &Value, params: Value| -> Vec<(u64, f64)> {
        let query = json!({"indices": [0, 1, 2, 7], "values": [1.0, 1.0, 1.0, 1.0]});
        let body = json!({"query": query, "using": "s", "limit": 20, "filter": filter, "params": params});
        let result = call(&engine, collection, "query", &body);
        let hit = |hit: &Value| (hit["id"].as_u64().unwrap(), hit["score"].as_f64().unwrap());
        result["points"].as_array().unwrap().iter().map(hit).collect()
    };
    let tenant = json!({"must": {"key": "tenant", "match": {"value": 0}}});
    let weighed = hits("all", &tenant, json!({"idf": {"corpus": tenant}}));
    let alone = hits("tenant", &json!(null), json!({}));
    assert_eq!(alone.len(), 5);
    assert!(alone.iter().map(|(id, _)| id).eq(weighed.iter().map(|(id, _)| id)), "{weighed:?} {alone:?}");
    for ((_, score), (_, expected)) in weighed.iter().zip(&alone) {
        assert!((score - expected).abs() < 1e-6, "{weighed:?} beside {alone:?}");
    }
}
