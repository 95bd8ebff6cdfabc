//! Filtered pages by id (C6.4): the same points whichever way they are found.

use super::{Random, call, engine};
use serde_json::{Value, json};

const POINTS: u64 = 4000;
const LIMIT: usize = 7;

fn ids_of(page: &Value) -> Vec<u64> {
    let points = page["points"].as_array().expect("points");
    points.iter().map(|point| point["id"].as_u64().expect("a number")).collect()
}

/// Matches are spread over the ids, all at their end, or a few: a pass over the ids meets a page of the first at once, gives
/// up on the second, and is not tried for the third.
#[test]
fn pages_of_spread_clustered_and_rare_matches_are_those_in_the_order_of_ids() {
    let engine = engine(3);
    let body = json!({"vectors": {"size": 1, "distance": "Dot"}});
    call(&engine, "c", "create_collection", &body);
    call(&engine, "c", "create_field_index", &json!({"field_name": "kind", "field_schema": "keyword"}));
    let mut random = Random(1);
    let kind_of = |id: u64, random: &mut Random| match id {
        _ if random.below(40) == 0 => "rare",
        _ if id >= POINTS - 300 => "late",
        _ if random.below(10) == 0 => "spread",
        _ => "other",
    };
    let kinds: Vec<&str> = (0..POINTS).map(|id| kind_of(id, &mut random)).collect();
    // In another order than that of the ids.
    let order = (0..POINTS).map(|at| at * 1001 % POINTS);
    let points: Vec<Value> = order
        .map(|id| json!({"id": id, "vector": [1], "payload": {"kind": kinds[id as usize], "raw": kinds[id as usize]}}))
        .collect();
    call(&engine, "c", "upsert_points", &json!({"points": points}));
    for kind in ["rare", "late", "spread", "other", "absent"] {
        let expected: Vec<u64> = (0..POINTS).filter(|&id| kinds[id as usize] == kind).collect();
        for (key, from) in [("kind", 0), ("kind", POINTS / 2), ("raw", POINTS / 2), ("kind", POINTS - 2)] {
            let body = json!({
                "limit": LIMIT, "offset": from, "filter": {"must": {"key": key, "match": {"value": kind}}},
            });
            let page = call(&engine, "c", "scroll", &body);
            let rest: Vec<u64> = expected.iter().copied().filter(|&id| id >= from).collect();
            let first = &rest[..rest.len().min(LIMIT)];
            assert_eq!(ids_of(&page), first, "{kind} by {key} from {from}");
            assert_eq!(
                page["next_page_offset"].as_u64(),
                rest.get(LIMIT).copied(),
                "{kind} by {key} from {from}"
            );
        }
    }
}
