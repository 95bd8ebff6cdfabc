//! Cursors (C22): pages of one view, whatever is written between them.

mod common;

use common::{Random, TestEngine, request, upsert};
use kithdb_engine::engine::Access;
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

const SIZE: usize = 8;

/// The envelope of a read by a caller.
fn asked(engine: &TestEngine, caller: &str, operation: &str, body: &Value) -> Result<Value, Error> {
    asked_within(engine, caller, None, operation, body)
}

fn asked_within(
    engine: &TestEngine,
    caller: &str,
    access: Option<Arc<Access>>,
    operation: &str,
    body: &Value,
) -> Result<Value, Error> {
    let mut sent = request(operation, "c", body);
    sent.caller = caller.into();
    sent.access = access;
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    engine.engine().execute(sent, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    let answered = answer.lock().unwrap().take().expect("answered before it returns");
    answered.map(|envelope| serde_json::from_slice(&envelope).expect("envelopes are JSON"))
}

fn points_of(envelope: &Value) -> Vec<Value> {
    let result = &envelope["result"];
    result.get("points").unwrap_or(result).as_array().expect("points").clone()
}

fn id(point: &Value) -> u64 {
    point["id"].as_u64().expect("an id")
}

/// All pages of a read, `between` them anything.
fn pages(engine: &TestEngine, operation: &str, body: &Value, mut between: impl FnMut()) -> Vec<Vec<Value>> {
    let mut body = body.clone();
    let mut found = Vec::new();
    loop {
        let envelope =
            asked(engine, "", operation, &body).unwrap_or_else(|error| panic!("{operation}: {error}"));
        found.push(points_of(&envelope));
        let next = envelope.get("next_cursor").expect("a read with a cursor says which is the next");
        if next.is_null() {
            return found;
        }
        between();
        body = json!({"cursor": next});
    }
}

fn filled(seed: u64, count: usize) -> (TestEngine, Random) {
    let engine = TestEngine::new(seed);
    engine.ok(
        "create_collection",
        "c",
        json!({
            "vectors": {"size": SIZE, "distance": "Euclid"},
            "hnsw_config": {"m": 8, "ef_construct": 64, "full_scan_threshold": 10},
            "optimizers_config": {"indexing_threshold": 1},
        }),
    );
    let mut random = Random(seed);
    let vectors: Vec<Vec<f32>> = (0..count).map(|_| random.normals(SIZE)).collect();
    upsert(&engine, 0, &vectors);
    (engine, random)
}

/// Replaces, deletes and adds points.
fn change(engine: &TestEngine, random: &mut Random, count: u64) {
    let id = random.below(count * 2);
    let vector = random.normals(SIZE);
    engine.ok("upsert_points", "c", json!({"points": [{"id": id, "vector": vector, "payload": {"n": 7}}]}));
    engine.ok("delete_points", "c", json!({"points": [random.below(count)]}));
}

#[test]
fn pages_of_every_read_are_those_of_the_first_view_whatever_is_written_between_c22() {
    for seed in 1..4 {
        let count = 230;
        let (engine, mut random) = filled(seed, count);
        let query = random.normals(SIZE);
        let reads = [
            ("scroll", json!({"limit": 20}), json!({"limit": count})),
            ("query", json!({"limit": 20}), json!({"limit": count})),
            ("query", json!({"limit": 17, "query": query}), json!({"limit": count, "query": query})),
            ("search", json!({"limit": 30, "vector": query}), json!({"limit": count, "vector": query})),
            (
                "search",
                json!({"limit": 9, "offset": 5, "vector": query, "score_threshold": 4.0}),
                json!({"limit": count, "offset": 5, "vector": query, "score_threshold": 4.0}),
            ),
        ];
        for (operation, mut paged, whole) in reads {
            let expected = points_of(&asked(&engine, "", operation, &whole).unwrap());
            paged["cursor"] = json!({"ttl": 600});
            let found = pages(&engine, operation, &paged, || change(&engine, &mut random, count as u64));
            let limit = paged["limit"].as_u64().unwrap() as usize;
            assert_eq!(found.concat(), expected, "{operation} {paged}");
            assert!(found[..found.len() - 1].iter().all(|page| page.len() == limit), "{operation} {paged}");
        }
    }
}

#[test]
fn pages_by_a_field_and_of_a_sample_repeat_and_miss_nothing_c22() {
    let (engine, mut random) = filled(5, 120);
    for id in 0..120 {
        engine.ok("set_payload", "c", json!({"payload": {"n": id % 7}, "points": [id]}));
    }
    engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
    engine.build_indexes();
    let ordered = json!({"limit": 120, "order_by": "n"});
    let expected = points_of(&asked(&engine, "", "scroll", &ordered).unwrap());
    let paged = json!({"limit": 11, "order_by": "n", "cursor": {"ttl": 60}});
    let found = pages(&engine, "scroll", &paged, || change(&engine, &mut random, 120)).concat();
    assert_eq!(found, expected);
    let before = engine.ok("count", "c", json!({}))["count"].as_u64().unwrap() as usize;
    let sample = json!({"limit": 10, "query": {"sample": "random"}, "cursor": {"ttl": 60}});
    let found = pages(&engine, "query", &sample, || change(&engine, &mut random, 120)).concat();
    let ids: HashSet<u64> = found.iter().map(id).collect();
    assert_eq!((found.len(), ids.len()), (before, before));
}

#[test]
fn a_page_by_a_field_is_full_although_points_had_expired_before_the_first_c17_c22() {
    let engine = TestEngine::new(15);
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}, "expire_at_key": "until"});
    engine.ok("create_collection", "c", config);
    let point = |id: u64| json!({"id": id, "vector": [id, 1], "payload": {"n": id, "until": if id.is_multiple_of(2) { 1u64 } else { 1 << 40 }}});
    engine.ok("upsert_points", "c", json!({"points": (0..40).map(point).collect::<Vec<_>>()}));
    engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
    engine.build_indexes();
    let paged = json!({"limit": 8, "order_by": "n", "cursor": {"ttl": 60}});
    let sizes: Vec<usize> = pages(&engine, "scroll", &paged, || ()).iter().map(Vec::len).collect();
    assert_eq!(sizes, [8, 8, 4]);
}

#[test]
fn pages_of_a_walk_repeat_and_miss_nothing_beside_one_answer_c22() {
    let (engine, mut random) = filled(7, 3000);
    engine.checkpoint();
    let query = random.normals(SIZE);
    let body = json!({"limit": 10, "query": query, "params": {"hnsw_ef": 400}, "cursor": {"ttl": 60}});
    let first = engine.client().walking(|| asked(&engine, "", "query", &body).unwrap());
    let mut found = points_of(&first);
    let mut next = first["next_cursor"].clone();
    while found.len() < 400 {
        change(&engine, &mut random, 3000);
        let page = asked(&engine, "", "query", &json!({"cursor": next})).unwrap();
        found.extend(points_of(&page));
        next = page["next_cursor"].clone();
    }
    let ids: HashSet<u64> = found.iter().map(id).collect();
    assert_eq!(ids.len(), 400);
}

#[test]
fn a_page_can_be_asked_for_again_the_last_one_too_c22() {
    let (engine, mut random) = filled(8, 25);
    let first = asked(&engine, "", "scroll", &json!({"limit": 10, "cursor": {"ttl": 5}})).unwrap();
    let second = json!({"cursor": first["next_cursor"]});
    let answers: Vec<Value> = (0..2)
        .map(|_| {
            change(&engine, &mut random, 25);
            asked(&engine, "", "scroll", &second).unwrap()
        })
        .collect();
    assert_eq!(answers[0]["result"], answers[1]["result"]);
    assert_eq!(answers[0]["next_cursor"], answers[1]["next_cursor"]);
    let third = json!({"cursor": answers[0]["next_cursor"]});
    let last: Vec<Value> = (0..2).map(|_| asked(&engine, "", "scroll", &third).unwrap()).collect();
    assert!(last.iter().all(|page| page["next_cursor"].is_null() && page["result"] == last[0]["result"]));
}

#[test]
fn a_read_that_has_one_page_keeps_nothing_and_one_without_a_cursor_says_nothing_c22() {
    let (engine, _) = filled(9, 10);
    for limit in [10, 11] {
        let body = json!({"limit": limit, "cursor": {"ttl": 5}});
        assert!(asked(&engine, "", "scroll", &body).unwrap()["next_cursor"].is_null());
    }
    assert_eq!(engine.engine().status().cursors.open, 0);
    assert_eq!(asked(&engine, "", "scroll", &json!({"limit": 5})).unwrap().get("next_cursor"), None);
}

#[test]
fn unknown_cursors_and_those_of_others_are_not_found_c22() {
    let (mut engine, _) = filled(10, 30);
    engine.ok("create_collection", "d", json!({"vectors": {"size": SIZE, "distance": "Dot"}}));
    let open = |caller: &str| {
        let body = json!({"limit": 10, "cursor": {"ttl": 600}});
        json!({"cursor": asked(&engine, caller, "scroll", &body).unwrap()["next_cursor"]})
    };
    let next = open("token 1");
    assert_eq!(asked(&engine, "token 2", "scroll", &next), Err(Error::CursorNotFound));
    assert_eq!(asked(&engine, "", "scroll", &next), Err(Error::CursorNotFound));
    assert_eq!(asked(&engine, "token 1", "query", &next), Err(Error::CursorNotFound));
    let of_other = engine.refused("scroll", "d", next.clone());
    assert_eq!(of_other.0, "cursor_not_found");
    for text in ["", "x", &"0".repeat(33), &format!("{}r0", "0".repeat(32))] {
        assert_eq!(asked(&engine, "token 1", "scroll", &json!({"cursor": text})), Err(Error::CursorNotFound));
    }
    assert_eq!(points_of(&asked(&engine, "token 1", "scroll", &next).unwrap()).len(), 10);
    // A collection that was made again under the name is another one.
    engine.ok("delete_collection", "c", Value::Null);
    engine.ok("create_collection", "c", json!({"vectors": {"size": SIZE, "distance": "Dot"}}));
    assert_eq!(asked(&engine, "token 1", "scroll", &next), Err(Error::CursorNotFound));
    // Nothing survives a start.
    let next = {
        upsert(&engine, 0, &vec![vec![0.5; SIZE]; 30]);
        let body = json!({"limit": 10, "cursor": {"ttl": 600}});
        json!({"cursor": asked(&engine, "", "scroll", &body).unwrap()["next_cursor"]})
    };
    engine.restart();
    assert_eq!(asked(&engine, "", "scroll", &next), Err(Error::CursorNotFound));
}

#[test]
fn a_caller_with_a_filter_finds_its_points_on_every_page_c15_c22() {
    let (engine, _) = filled(11, 60);
    for id in 0..60 {
        engine.ok("set_payload", "c", json!({"payload": {"tenant": id % 2}, "points": [id]}));
    }
    let within = |tenant: u64| {
        let filter = json!({"filter": {"must": {"key": "tenant", "match": {"value": tenant}}}}).to_string();
        Some(Arc::new(Access::parse(filter.as_bytes(), &Limits::default()).unwrap()))
    };
    for (operation, body) in
        [("scroll", json!({"limit": 7})), ("query", json!({"limit": 7, "query": [1, 2, 3, 4, 5, 6, 7, 8]}))]
    {
        let mut body = body;
        body["cursor"] = json!({"ttl": 9});
        let mut found = Vec::new();
        loop {
            let envelope = asked_within(&engine, "token 1", within(0), operation, &body).unwrap();
            found.extend(points_of(&envelope).iter().map(id));
            if envelope["next_cursor"].is_null() {
                break;
            }
            body = json!({"cursor": envelope["next_cursor"]});
        }
        found.sort_unstable();
        assert_eq!(found, (0..60).step_by(2).collect::<Vec<u64>>(), "{operation}");
    }
    // Its limits were changed between two pages.
    let body = json!({"limit": 7, "cursor": {"ttl": 9}});
    let first = asked_within(&engine, "token 1", within(0), "scroll", &body).unwrap();
    let next = json!({"cursor": first["next_cursor"]});
    assert_eq!(
        points_of(&asked_within(&engine, "token 1", within(1), "scroll", &next).unwrap()),
        [] as [Value; 0]
    );
}

#[test]
fn a_body_with_a_wrong_cursor_is_refused_with_its_place_c22() {
    let (engine, _) = filled(12, 10);
    let refused = |operation: &str, body: Value, part: &str| {
        let (code, details) = engine.refused(operation, "c", body.clone());
        let message = details["message"].as_str().or(details["field"].as_str()).unwrap_or_default();
        assert!(
            ["bad_request", "missing_field"].contains(&&*code) && message.contains(part),
            "{operation} {body}: {code} {message}"
        );
    };
    let vector = [1; SIZE];
    for ttl in [json!(0), json!(601), json!(1.5), json!("5"), json!(-1)] {
        refused("scroll", json!({"cursor": {"ttl": ttl}}), "cursor.ttl");
    }
    refused("scroll", json!({"cursor": {}}), "cursor.ttl");
    refused("scroll", json!({"cursor": {"ttl": 5, "of": 1}}), "cursor.of");
    refused("scroll", json!({"cursor": 5}), "cursor");
    for (operation, mut body) in [
        ("scroll", json!({"limit": 5})),
        ("query", json!({"query": vector})),
        ("search", json!({"vector": vector, "limit": 3})),
    ] {
        body["cursor"] = json!("0".repeat(33));
        refused(operation, body, "cursor: a further page is asked for by its cursor alone");
    }
    let text = format!("{{\"cursor\": \"{}\", \"limit\": 5}}", "0".repeat(33)).into_bytes();
    let Err(Error::BadRequest(why)) = engine.call_bytes("scroll", "c", text) else { panic!("it is refused") };
    assert_eq!(why, "cursor: a further page is asked for by its cursor alone");
    let cursor = json!({"ttl": 5});
    let search = json!({"vector": vector, "limit": 3, "cursor": cursor});
    let query = json!({"query": vector, "cursor": cursor});
    refused("search_batch", json!({"searches": [search]}), "searches[0].cursor");
    refused("query_batch", json!({"searches": [query]}), "searches[0].cursor");
    refused("recommend", json!({"positive": [1], "limit": 3, "cursor": cursor}), "cursor");
    refused("query_groups", json!({"query": vector, "group_by": "a", "cursor": cursor}), "cursor");
    refused("query", json!({"query": vector, "params": {"explain": true}, "cursor": cursor}), "cursor");
}

#[test]
fn too_many_cursors_are_refused_and_those_that_are_open_go_on_c22() {
    let (engine, _) = filled(13, 30);
    let most = Limits::default().max_cursors;
    let body = json!({"limit": 10, "cursor": {"ttl": 600}});
    let open: Vec<Value> =
        (0..most).map(|_| asked(&engine, "", "scroll", &body).unwrap()["next_cursor"].clone()).collect();
    let Err(Error::Overloaded(why)) = asked(&engine, "", "scroll", &body) else { panic!("one too many") };
    assert_eq!(why, "1000 cursors are open, the most at a time (max_cursors)");
    for next in open.iter().take(3) {
        assert_eq!(points_of(&asked(&engine, "", "scroll", &json!({"cursor": next})).unwrap()).len(), 10);
    }
    // One whose last page was answered makes room.
    let last = asked(&engine, "", "scroll", &json!({"cursor": open[0]})).unwrap()["next_cursor"].clone();
    assert!(asked(&engine, "", "scroll", &json!({"cursor": last})).unwrap()["next_cursor"].is_null());
    assert!(asked(&engine, "", "scroll", &body).unwrap()["next_cursor"].is_string());
    // A read of one page needs none.
    let whole = json!({"limit": 100, "cursor": {"ttl": 600}});
    assert_eq!(points_of(&asked(&engine, "", "scroll", &whole).unwrap()).len(), 30);
}

#[test]
fn what_a_cursor_holds_back_is_counted_and_bounded_by_what_was_there_c22() {
    let (engine, mut random) = filled(14, 2000);
    engine.checkpoint();
    let body = json!({"limit": 10, "cursor": {"ttl": 600}});
    let next = asked(&engine, "", "scroll", &body).unwrap()["next_cursor"].clone();
    let mut before = engine.engine().status().cursors.bytes;
    assert_eq!(before, body.to_string().len() as u64, "the view is the present one");
    for _ in 0..3 {
        change(&engine, &mut random, 2000);
        let now = engine.engine().status().cursors.bytes;
        assert!(now > before);
        before = now;
    }
    let all = engine.engine().status().memory;
    for _ in 0..40 {
        (0..50).for_each(|_| change(&engine, &mut random, 2000));
    }
    let now = engine.engine().status().cursors.bytes;
    assert!(now <= all.points + all.payloads + all.field_indexes, "{now} of {all:?}");
    assert_eq!(points_of(&asked(&engine, "", "scroll", &json!({"cursor": next})).unwrap()).len(), 10);
    engine.ok("delete_collection", "c", Value::Null);
    engine.engine().catalog().remove_detached();
    let now = engine.engine().status().cursors.bytes;
    assert_eq!(now, body.to_string().len() as u64, "only its query is left, until it is swept");
}

#[test]
fn a_page_leaves_out_what_has_expired_since_the_first_c17_c22() {
    let engine = TestEngine::new(16);
    engine.client().set_clock(100);
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}, "expire_at_key": "until"});
    engine.ok("create_collection", "c", config);
    let point = |id: u64| json!({"id": id, "vector": [id, 1], "payload": {"n": id, "until": 200 + id % 2}});
    engine.ok("upsert_points", "c", json!({"points": (0..20).map(point).collect::<Vec<_>>()}));
    engine.ok("create_field_index", "c", json!({"field_name": "n", "field_schema": "integer"}));
    engine.build_indexes();
    for (operation, body) in [
        ("scroll", json!({"limit": 10})),
        ("scroll", json!({"limit": 10, "order_by": "n"})),
        ("query", json!({"limit": 10, "query": [-1, 0]})),
    ] {
        let mut body = body;
        body["cursor"] = json!({"ttl": 60});
        engine.client().set_clock(100);
        let found = pages(&engine, operation, &body, || engine.client().set_clock(200));
        let ids: Vec<Vec<u64>> = found.iter().map(|page| page.iter().map(id).collect()).collect();
        let (first, rest) = ids.split_first().expect("a page");
        assert_eq!(first[..], (0..10).collect::<Vec<u64>>(), "{operation} {body}");
        assert_eq!(rest.concat(), [11, 13, 15, 17, 19], "{operation} {body}");
    }
}

#[test]
fn a_cursor_ends_with_its_time_c22() {
    let (engine, _) = filled(17, 30);
    let first = asked(&engine, "", "scroll", &json!({"limit": 10, "cursor": {"ttl": 1}})).unwrap();
    let next = json!({"cursor": first["next_cursor"]});
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(asked(&engine, "", "scroll", &next), Err(Error::CursorNotFound));
}

#[test]
fn cursors_that_hold_too_much_back_are_refused_and_those_that_are_open_go_on_c22() {
    let (engine, _) = filled(18, 400);
    let text = "y".repeat(12 << 10);
    let payload = |note: u64| json!({"payload": {"text": text, "note": note}, "filter": {}});
    engine.ok("set_payload", "c", payload(0));
    let body = json!({"limit": 10, "cursor": {"ttl": 600}});
    let mut open = Vec::new();
    // Each of them holds back all the payloads, some five megabytes.
    let why = loop {
        match asked(&engine, "", "scroll", &body) {
            Ok(first) if open.len() < 70 => open.push(first["next_cursor"].clone()),
            Ok(_) => panic!("{} cursors are open", open.len()),
            Err(Error::Overloaded(why)) => break why,
            Err(error) => panic!("{error}"),
        }
        engine.ok("set_payload", "c", payload(open.len() as u64));
    };
    assert_eq!(why, "the open cursors hold 256 MiB back, the most at a time");
    assert!(open.len() > 40, "{} are open", open.len());
    for next in &open {
        assert_eq!(points_of(&asked(&engine, "", "scroll", &json!({"cursor": next})).unwrap()).len(), 10);
    }
}

#[test]
fn pages_by_a_field_with_lists_have_each_value_of_each_point_c22() {
    let (engine, _) = filled(19, 5);
    let list: Vec<u64> = (0..1000).collect();
    engine.ok("set_payload", "c", json!({"payload": {"n": list}, "points": [0]}));
    for id in 1..5 {
        engine.ok("set_payload", "c", json!({"payload": {"n": 2000 + id}, "points": [id]}));
    }
    let whole = points_of(&asked(&engine, "", "scroll", &json!({"order_by": "n", "limit": 2000})).unwrap());
    assert_eq!(whole.len(), 1004);
    for (operation, mut body) in [
        ("scroll", json!({"order_by": "n", "limit": 3})),
        ("query", json!({"query": {"order_by": "n"}, "limit": 3})),
    ] {
        body["cursor"] = json!({"ttl": 60});
        let found: Vec<u64> = pages(&engine, operation, &body, || ()).concat().iter().map(id).collect();
        assert_eq!(found, whole.iter().map(id).collect::<Vec<_>>(), "{operation}");
    }
}

#[test]
fn pages_by_marginal_relevance_go_on_and_a_sample_keeps_to_the_window_c22() {
    let (engine, mut random) = filled(20, 300);
    let paged = |query: Value| {
        let body = json!({"query": query, "limit": 10, "cursor": {"ttl": 60}});
        let found: Vec<u64> = pages(&engine, "query", &body, || ()).concat().iter().map(id).collect();
        assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len(), "no point twice");
        found.len()
    };
    let nearest = random.normals(SIZE);
    assert_eq!(paged(json!({"nearest": nearest, "mmr": {"diversity": 0.5}})), 300);
    assert_eq!(paged(json!({"nearest": nearest, "mmr": {"diversity": 0.5, "candidates_limit": 30}})), 30);
    assert_eq!(paged(json!({"sample": "random"})), 300);
}

#[test]
fn a_cursor_counts_the_vectors_of_its_query_c22() {
    let engine = TestEngine::new(21);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 4096, "distance": "Dot"}}));
    let mut random = Random(21);
    let vectors: Vec<Vec<f32>> = (0..40).map(|_| random.normals(4096)).collect();
    upsert(&engine, 0, &vectors);
    let examples: Vec<u64> = (0..30).collect();
    let recommend = json!({"recommend": {"positive": examples, "strategy": "sum_scores"}});
    let body = json!({"query": recommend, "limit": 1, "cursor": {"ttl": 600}});
    asked(&engine, "", "query", &body).expect("a page");
    let bytes = engine.engine().status().cursors.bytes;
    assert!(bytes >= 30 * 4096 * 4, "{bytes}");
}

#[test]
fn a_first_page_that_fails_leaves_no_cursor_open_c22() {
    let (engine, _) = filled(22, 30);
    engine.ok("set_payload", "c", json!({"payload": {"text": "y".repeat(1 << 20)}, "filter": {}}));
    let body = json!({"limit": 20, "with_payload": true, "cursor": {"ttl": 600}});
    let mut sent = request("scroll", "c", &body);
    sent.answer_budget = Some(1 << 20);
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    engine.engine().execute(sent, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    answer.lock().unwrap().take().expect("answered").expect_err("the page is too long");
    assert_eq!(engine.engine().status().cursors.open, 0);
    asked(&engine, "", "scroll", &body).expect("a page within the limits");
    assert_eq!(engine.engine().status().cursors.open, 1);
}
