//! Walks through a graph in which the rows of expired points still are.

use crate::common::{Random, TestEngine};
use crate::{COLLECTION, ids, new_engine, set_clock};
use serde_json::{Value, json};

const POINTS: u64 = 2000;

/// Points of which a third has come to its end and is not removed. Some are not in the graph.
fn walked() -> (TestEngine, Random) {
    let engine = new_engine(
        1,
        json!({
            "vectors": {"size": 8, "distance": "Euclid"}, "expire_at_key": "until",
            "hnsw_config": {"m": 8, "ef_construct": 64, "full_scan_threshold": 10},
        }),
    );
    let mut random = Random(5);
    let mut write = |ids: std::ops::Range<u64>| {
        let payload =
            |id: u64| json!({"until": if id.is_multiple_of(3) { 200 } else { 300 }, "kind": id % 5});
        let points = ids.map(|id| json!({"id": id, "vector": random.normals(8), "payload": payload(id)}));
        engine.ok("upsert_points", COLLECTION, json!({"points": points.collect::<Vec<_>>()}));
    };
    (0..4).for_each(|part| write(part * 500..part * 500 + 500));
    engine.checkpoint();
    write(POINTS..POINTS + 40);
    set_clock(&engine, 200);
    (engine, random)
}

fn grouped(groups: &Value) -> Vec<u64> {
    let groups = groups["groups"].as_array().expect("groups");
    groups.iter().flat_map(|group| ids(&group["hits"])).collect()
}

#[test]
fn walks_find_no_point_whose_time_has_come_c17() {
    let (engine, mut random) = walked();
    let alive = (0..POINTS + 40).filter(|id| id % 3 != 0).count();
    let kinds = json!({"must": {"key": "kind", "range": {"lt": 4}}});
    for _ in 0..10 {
        let query = random.normals(8);
        for filter in [Value::Null, kinds.clone()] {
            let body = json!({"query": query, "limit": 200, "filter": filter, "params": {"hnsw_ef": 400}});
            let found = engine.client().walking(|| ids(&engine.ok("query", COLLECTION, body)["points"]));
            assert_eq!(found.len(), 200);
            assert!(found.iter().all(|id| id % 3 != 0), "{found:?}");
        }
        let body = json!({"query": query, "group_by": "kind", "limit": 5, "group_size": 40});
        let found = engine.client().walking(|| grouped(&engine.ok("query_groups", COLLECTION, body)));
        assert_eq!(found.len(), 5 * 40);
        assert!(found.iter().all(|id| id % 3 != 0), "{found:?}");
    }
    // So many that only what is left fills the groups.
    let body = json!({"query": random.normals(8), "group_by": "kind", "limit": 5, "group_size": 1000});
    assert_eq!(grouped(&engine.ok("query_groups", COLLECTION, body.clone())).len(), alive);
    let map = engine.ok("project_points", COLLECTION, json!({"sample": 3000, "seed": 1}));
    assert_eq!(map["ids"].as_array().expect("ids").len(), alive);
    // What was kept of the groups has those that were hidden.
    engine.ok("update_collection", COLLECTION, json!({"expire_at_key": null}));
    assert_eq!(grouped(&engine.ok("query_groups", COLLECTION, body)).len(), POINTS as usize + 40);
}
