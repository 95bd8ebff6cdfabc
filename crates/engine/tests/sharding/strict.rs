//! Strict mode: a request is checked as a whole, and shards answer its parts.

use crate::cluster::Cluster;
use crate::common::request;
use crate::reads::each_case;
use kithdb_engine::engine::{CollectionSize, Request, StrictScope};
use kithdb_engine::error::Error;
use kithdb_engine::types::{IdKind, Metric};
use serde_json::{Value, json};

fn limit(cluster: &Cluster, limits: Value) {
    let mut mode = json!({
        "enabled": true, "max_query_limit": null, "filter_max_conditions": null, "condition_max_size": null,
        "search_max_batchsize": null, "unindexed_filtering_retrieve": null, "read_rate_limit": null,
    });
    mode.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
    cluster.write("update_collection", "c", &json!({"strict_mode_config": mode})).unwrap();
}

#[test]
fn reads_are_refused_and_answered_as_by_one_collection() {
    let (mut answered, mut refused) = (0, 0);
    each_case(120, |cluster, case| {
        if case.random.chance(10) {
            let limits = json!({
                "max_query_limit": 4 + case.below(30), "filter_max_conditions": case.below(3),
                "condition_max_size": 20 + case.below(40), "search_max_batchsize": 1 + case.below(3),
                "unindexed_filtering_retrieve": case.random.chance(50),
            });
            limit(cluster, limits);
            cluster
                .write("create_field_index", "c", &json!({"field_name": "city", "field_schema": "keyword"}))
                .unwrap();
        }
        let (operation, body) = match case.below(6) {
            0 => ("search", case.search()),
            1 | 2 => ("query", case.query()),
            3 => ("query_batch", json!({"searches": [case.query(), case.query()]})),
            4 => ("count", json!({"filter": case.filter()})),
            _ => ("scroll", json!({"filter": case.filter(), "limit": 1 + case.below(30)})),
        };
        let together =
            cluster.check(operation, None, &body).and_then(|()| cluster.together(operation, None, &body));
        match (cluster.alone(operation, None, &body), together) {
            (Ok(alone), Ok(together)) => {
                assert_eq!(together, alone, "{operation} {body}");
                answered += 1;
            }
            (Err(alone), Err(together)) => {
                assert_eq!(together.to_string(), alone.to_string(), "{operation} {body}");
                refused += u32::from(alone.to_string().contains("strict mode"));
            }
            (alone, together) => panic!("{operation} {body}: {alone:?}, {together:?}"),
        }
    });
    assert!(answered > 50 && refused > 50, "{answered} answered, {refused} refused");
}

#[test]
fn a_check_takes_tokens_of_the_whole_and_parts_take_none() {
    let cluster = Cluster::new(3, Metric::Dot, IdKind::Default);
    limit(&cluster, json!({"read_rate_limit": 2, "max_query_limit": 5}));
    let fused = json!({"prefetch": [{"query": [1, 1], "using": "b", "limit": 5}, {"query": [1, 2], "using": "b", "limit": 5}],
        "query": {"fusion": "rrf"}, "limit": 5});
    let refused = cluster.check("query", None, &fused).unwrap_err();
    assert!(refused.to_string().contains("takes 3 tokens, which exceeds read_rate_limit: 2"), "{refused}");
    cluster.check("count", None, &json!({})).unwrap();
    cluster.check("count", None, &json!({})).unwrap();
    assert_eq!(cluster.check("count", None, &json!({})).unwrap_err().code(), "rate_limited");
    for _ in 0..10 {
        cluster.together("query", None, &fused).unwrap();
    }
}

/// What the first shard says of an upsert of so many points, or of a part of one.
fn tried(cluster: &Cluster, points: u64, scope: StrictScope) -> Result<(), Error> {
    let points: Vec<Value> =
        (0..points).map(|id| json!({"id": id, "vector": {"b": [1, 2]}, "payload": {"n": 1}})).collect();
    let dry_run = !scope.is_check();
    let upsert = request("upsert_points", "c0", &json!({"points": points}));
    cluster.call(Request { strict_scope: scope, dry_run, ..upsert }).map(drop)
}

#[test]
fn a_write_is_checked_as_a_whole_and_its_parts_for_the_size_of_all_shards() {
    let cluster = Cluster::new(3, Metric::Dot, IdKind::Default);
    let limits = json!({
        "upsert_max_batchsize": 5, "max_points_count": 10, "write_rate_limit": 100,
        "max_collection_vector_size_bytes": 1000, "max_collection_payload_size_bytes": 1000,
    });
    limit(&cluster, limits);
    let check = StrictScope::Check { timeout: None };
    assert!(tried(&cluster, 6, check).unwrap_err().to_string().contains("upsert_max_batchsize: 5"));
    // The others have more.
    tried(&cluster, 5, check).unwrap();
    let part = |elsewhere| StrictScope::Part { elsewhere };
    tried(&cluster, 9, part(CollectionSize::default())).unwrap();
    tried(&cluster, 4, part(CollectionSize { points: 6, vector_bytes: 999, payload_bytes: 999 })).unwrap();
    for (elsewhere, limit) in [
        (CollectionSize { points: 7, ..CollectionSize::default() }, "max_points_count: 10"),
        (
            CollectionSize { vector_bytes: 1000, ..CollectionSize::default() },
            "max_collection_vector_size_bytes",
        ),
        (
            CollectionSize { payload_bytes: 1000, ..CollectionSize::default() },
            "max_collection_payload_size_bytes",
        ),
    ] {
        let refused = tried(&cluster, 4, part(elsewhere)).unwrap_err().to_string();
        assert!(refused.contains(limit), "{refused}");
    }
    // A check changes nothing.
    assert_eq!(cluster.engine.ok("count", "c0", json!({})), json!({"count": 0}));
    let timeout = StrictScope::Check { timeout: Some(60) };
    limit_timeout(&cluster);
    assert!(tried(&cluster, 1, timeout).unwrap_err().to_string().contains("max_timeout: 30"));
    tried(&cluster, 1, check).unwrap();
}

fn limit_timeout(cluster: &Cluster) {
    limit(cluster, json!({"max_timeout": 30}));
}
