//! Reads of shards beside those of one collection.

use crate::cluster::{Cluster, METRICS, bytes, city, dense, id, point, rows, sparse};
use crate::common::{Random, setting};
use kithdb_engine::api::Strictness;
use kithdb_engine::types::{IdKind, Metric};
use serde_json::{Value, json};

const POINTS: u64 = 120;

/// Points in the collection, and others in `other`.
pub fn filled(random: &mut Random, shards: u32, metric: Metric, kind: IdKind) -> Cluster {
    let cluster = Cluster::new(shards, metric, kind);
    for (collection, count) in [("c", POINTS), ("other", 30)] {
        let points: Vec<Value> = (0..count).map(|number| point(random, id(number, kind))).collect();
        cluster.write("upsert_points", collection, &json!({"points": points})).expect("good points");
    }
    let some: Vec<Value> = (0..20).map(|_| id(random.below(POINTS), kind)).collect();
    let changes = json!({"operations": [
        {"delete": {"points": some[..5]}},
        {"clear_payload": {"points": [id(50, kind)]}},
        {"set_payload": {"payload": {"extra": 0.1}, "filter": {"must": {"key": "n", "match": {"value": 3}}}}},
        {"delete_vectors": {"vector": ["b"], "filter": {"must": {"key": "city", "match": {"value": "Bern"}}}}},
    ]});
    let changed = cluster.write("batch_update", "c", &changes);
    assert!(changed.is_ok() || changed.unwrap_err().code() == "point_not_found");
    cluster
}

/// What each test of a kind of read has: its numbers, and points.
pub struct Case {
    pub random: Random,
    kind: IdKind,
}

impl Case {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// The id of a point, which is mostly there.
    fn some_id(&mut self) -> Value {
        let most = if self.random.chance(3) { 2 * POINTS } else { POINTS };
        let number = self.random.below(most);
        id(number, self.kind)
    }

    pub fn filter(&mut self) -> Value {
        let random = &mut self.random;
        let condition = match random.below(7) {
            0 => json!({"key": "city", "match": {"value": city(random)}}),
            1 => json!({"key": "n", "range": {"gte": random.below(6)}}),
            2 => json!({"key": "tags", "match": {"any": [city(random), city(random)]}}),
            3 => json!({"has_vector": "b"}),
            4 => json!({"has_id": (0..40).map(|number| id(number, self.kind)).collect::<Vec<_>>()}),
            5 => json!({"must_not": [{"is_empty": {"key": "tags"}}]}),
            _ => json!({"slice": {"total": 2, "index": 1}}),
        };
        let group = ["must", "should", "must_not"][random.below(3) as usize];
        json!({group: [condition]})
    }

    /// An example of a field: a vector, or the id of a point.
    fn example(&mut self, field: &str) -> Value {
        if self.random.chance(40) {
            return self.some_id();
        }
        self.vector(field)
    }

    fn vector(&mut self, field: &str) -> Value {
        match field {
            "a" => json!(dense(&mut self.random, 4)),
            "b" => json!(dense(&mut self.random, 2)),
            "m" => json!(rows(&mut self.random)),
            "u" => bytes(&mut self.random),
            _ => sparse(&mut self.random),
        }
    }

    fn examples(&mut self, field: &str, most: u64) -> Vec<Value> {
        let count = self.below(most + 1);
        (0..count).map(|_| self.example(field)).collect()
    }

    fn pairs(&mut self, field: &str) -> Value {
        let count = 1 + self.below(2);
        (0..count)
            .map(|_| json!({"positive": self.example(field), "negative": self.example(field)}))
            .collect()
    }

    /// What a query asks for in a field, without prefetches.
    fn scored(&mut self, field: &str) -> Value {
        match self.below(9) {
            0 | 1 => self.example(field),
            2 => json!({"nearest": self.example(field)}),
            3 | 4 => {
                let strategy = ["average_vector", "best_score", "sum_scores"][self.below(3) as usize];
                let (positive, negative) = (self.examples(field, 3), self.examples(field, 2));
                json!({"recommend": {"positive": positive, "negative": negative, "strategy": strategy}})
            }
            5 => json!({"discover": {"target": self.example(field), "context": self.pairs(field)}}),
            6 => json!({"context": self.pairs(field)}),
            7 => json!({"relevance_feedback": {
                "target": self.example(field),
                "feedback": [{"example": self.example(field), "score": 0.5}, {"example": self.example(field), "score": 0.25}],
                "strategy": {"naive": {"a": 1.0, "b": 0.5, "c": 0.25}},
            }}),
            _ => self.vector(field),
        }
    }

    /// A node of a query with so many levels of prefetches at most.
    fn node(&mut self, levels: u64) -> Value {
        let field = ["a", "a", "b", "m", "s"][self.below(5) as usize];
        let mut node = json!({"using": field, "limit": 1 + self.below(12), "params": {"exact": true}});
        node["query"] = self.scored(field);
        if levels > 0 && self.random.chance(70) {
            let count = 1 + self.below(3);
            node["prefetch"] = (0..count).map(|_| self.node(levels - 1)).collect();
            match self.below(6) {
                0 | 1 => {
                    node["query"] = json!({"fusion": (["rrf", "dbsf"][self.below(2) as usize])});
                }
                2 => {
                    let weights: Vec<u64> = (0..count).map(|_| 1 + self.below(3)).collect();
                    node["query"] = json!({"rrf": {"k": 1 + self.below(5), "weights": weights}});
                }
                3 => {
                    node["query"] = json!({
                        "formula": {"sum": ["$score", {"mult": [0.5, "$score[1]"]}, {"mult": ["n", 0.1]},
                            {"key": "city", "match": {"value": "Bern"}}]},
                        "defaults": {"n": 2, "$score[1]": 0.125},
                    });
                    if count == 1 {
                        node["query"]["formula"]["sum"][1] = json!(0.5);
                    }
                }
                _ => {}
            }
        } else if self.random.chance(10) {
            node["query"] = json!({"order_by": {"key": "n", "direction": "desc"}});
        } else if self.random.chance(5) {
            node.as_object_mut().unwrap().remove("query");
        }
        let kind = &node["query"];
        if kind["fusion"].is_string() || kind["rrf"].is_object() || kind["formula"].is_object() {
            node.as_object_mut().unwrap().remove("using");
        } else if self.random.chance(10) {
            node["lookup_from"] = json!({"collection": "other"});
        } else if field == "a" && self.random.chance(20) && kind["order_by"].is_null() && !kind.is_null() {
            node["score_threshold"] = json!(-0.5 + self.below(4) as f64 / 2.0);
        }
        if self.random.chance(40) {
            node["filter"] = self.filter();
        }
        node
    }

    /// What a read shows of its points.
    fn shown(&mut self, body: &mut Value) {
        match self.below(6) {
            0 => body["with_payload"] = json!(true),
            1 => body["with_payload"] = json!(["city", "tags"]),
            2 => body["with_payload"] = json!({"exclude": ["n"]}),
            _ => {}
        }
        match self.below(5) {
            0 => body["with_vector"] = json!(true),
            1 => body["with_vectors"] = json!(["a", "s"]),
            2 => {
                // The other name has nothing to say.
                body["with_vector"] = json!(["a"]);
                body["with_vectors"] = Value::Null;
            }
            _ => {}
        }
    }

    pub fn query(&mut self) -> Value {
        let levels = self.below(3);
        let mut body = self.node(levels);
        if self.random.chance(30) {
            body["offset"] = json!(self.below(6));
        }
        if self.random.chance(10) {
            body["limit"] = json!(70 + self.below(30));
        }
        self.shown(&mut body);
        body
    }

    pub fn search(&mut self) -> Value {
        let field = ["a", "b", "s"][self.below(3) as usize];
        let mut body = json!({
            "vector": {"name": field, "vector": self.vector(field)}, "limit": 1 + self.below(30), "params": {"exact": true},
        });
        if self.random.chance(50) {
            body["filter"] = self.filter();
        }
        if self.random.chance(30) {
            body["offset"] = json!(self.below(10));
        }
        self.shown(&mut body);
        body
    }
}

/// Runs `read` for each number of shards, metric and kind of ids.
pub fn each_case(times: u64, mut read: impl FnMut(&Cluster, &mut Case)) {
    let times = times * setting("KITHDB_SHARDING_FACTOR").unwrap_or(1);
    for (at, metric) in METRICS.into_iter().enumerate() {
        let kind = if at % 2 == 0 { IdKind::Default } else { IdKind::String };
        let mut random = Random(setting("KITHDB_SHARDING_SEED").unwrap_or(11) + at as u64);
        let cluster = filled(&mut random, 2 + at as u32, metric, kind);
        let mut case = Case { random, kind };
        for _ in 0..times {
            read(&cluster, &mut case);
        }
    }
}

#[test]
fn points_by_their_ids_are_those_of_one_collection() {
    each_case(40, |cluster, case| {
        let ids: Vec<Value> = (0..case.below(12)).map(|_| case.some_id()).collect();
        let mut body = json!({"ids": ids});
        case.shown(&mut body);
        let _ = cluster.same("retrieve_points", None, &body);
        let one = case.some_id();
        let path = if one.is_number() { one.to_string() } else { format!("{one}") };
        let path = if case.kind == IdKind::Default { path.replace('"', "") } else { path };
        let _ = cluster.same("get_point", Some(&path), &Value::Null);
    });
}

#[test]
fn absent_ids_are_left_out_where_a_retrieve_is_lenient() {
    let mut cluster = filled(&mut Random(3), 3, Metric::Dot, IdKind::Default);
    cluster.strictness = Strictness::Lenient;
    let body = json!({"ids": [1, 7, 777, 4, 1], "with_payload": false, "unknown": 1});
    assert_eq!(cluster.same("retrieve_points", None, &body).unwrap().as_array().map(Vec::len), Some(3));
}

#[test]
fn pages_are_those_of_one_collection() {
    each_case(40, |cluster, case| {
        let mut body = json!({"limit": 1 + case.below(40)});
        match case.below(3) {
            0 => body["offset"] = case.some_id(),
            1 => {
                let key = ["n", "f", "list"][case.below(3) as usize];
                let direction = ["asc", "desc"][case.below(2) as usize];
                body["order_by"] = json!({"key": key, "direction": direction, "start_from": case.below(5)});
            }
            _ => {}
        }
        if case.random.chance(50) {
            body["filter"] = case.filter();
        }
        case.shown(&mut body);
        cluster.same("scroll", None, &body).expect("a page");
    });
}

#[test]
fn counts_and_facets_are_those_of_one_collection() {
    each_case(20, |cluster, case| {
        let mut body = json!({});
        if case.random.chance(70) {
            body["filter"] = case.filter();
        }
        cluster.same("count", None, &body).expect("a count");
        body["key"] = json!(["n", "city", "tags", "list", "f", "none"][case.below(6) as usize]);
        body["limit"] = json!(1 + case.below(6));
        cluster.same("facet", None, &body).expect("a facet");
    });
}

#[test]
fn a_facet_of_many_values_is_exact() {
    let cluster = Cluster::new(3, Metric::Dot, IdKind::Default);
    let mut random = Random(5);
    // Each value is held once in a shard, but a few that are held by two shards.
    let points: Vec<Value> = (0..3000u64)
        .map(|number| {
            let value = if random.chance(20) { random.below(300) } else { 1000 + number };
            json!({"id": number, "vector": {}, "payload": {"v": value}})
        })
        .collect();
    cluster.write("upsert_points", "c", &json!({"points": points})).unwrap();
    for limit in [1, 5, 250, 2000] {
        cluster.same("facet", None, &json!({"key": "v", "limit": limit})).unwrap();
    }
}

#[test]
fn searches_are_those_of_one_collection() {
    each_case(40, |cluster, case| {
        let body = case.search();
        cluster.same("search", None, &body).expect("a search");
        let searches: Vec<Value> = (0..1 + case.below(4)).map(|_| case.search()).collect();
        cluster.same("search_batch", None, &json!({"searches": searches})).expect("searches");
    });
}

#[test]
fn queries_are_those_of_one_collection() {
    let mut good = 0;
    each_case(300, |cluster, case| {
        let body = case.query();
        good += u32::from(cluster.same("query", None, &body).is_ok());
    });
    assert!(good > 400, "only {good} queries were good");
    each_case(20, |cluster, case| {
        let searches: Vec<Value> = (0..1 + case.below(4)).map(|_| case.query()).collect();
        let _ = cluster.same("query_batch", None, &json!({"searches": searches}));
    });
}

#[test]
fn recommendations_and_discoveries_are_those_of_one_collection() {
    each_case(60, |cluster, case| {
        let field = ["a", "s"][case.below(2) as usize];
        let (positive, negative) = (case.examples(field, 3), case.examples(field, 2));
        let strategy = ["average_vector", "best_score", "sum_scores"][case.below(3) as usize];
        let mut body = json!({"positive": positive, "negative": negative, "strategy": strategy,
            "using": field, "limit": 7, "offset": case.below(3)});
        if case.random.chance(20) {
            body["lookup_from"] = json!({"collection": "other", "vector": field});
        }
        case.shown(&mut body);
        let _ = cluster.same("recommend", None, &body);
        let mut body = json!({"context": case.pairs(field), "using": field, "limit": 7});
        if case.random.chance(70) {
            body["target"] = case.example(field);
        }
        let _ = cluster.same("discover", None, &body);
        let _ = cluster.same(
            "discover_batch",
            None,
            &json!({"searches": [body, {"target": case.example("a"), "using": "a"}]}),
        );
    });
}

#[test]
fn hits_that_differ_from_each_other_are_those_of_one_collection() {
    each_case(40, |cluster, case| {
        let field = ["a", "b", "m", "s", "u"][case.below(5) as usize];
        let mut mmr = json!({"diversity": case.below(5) as f64 / 4.0});
        if case.random.chance(50) {
            mmr["candidates_limit"] = json!(1 + case.below(30));
        }
        let mut body = json!({"query": {"nearest": case.example(field), "mmr": mmr}, "using": field, "limit": 1 + case.below(12)});
        if case.random.chance(30) {
            body["prefetch"] = json!([case.node(0)]);
        }
        if case.random.chance(30) {
            body = json!({"prefetch": [body, case.node(0)], "query": {"fusion": "rrf"}});
        }
        case.shown(&mut body);
        let _ = cluster.same("query", None, &body);
    });
}

#[test]
fn groups_are_those_of_one_collection() {
    each_case(60, |cluster, case| {
        let by = ["city", "n", "tags", "list", "odd"][case.below(5) as usize];
        let mut body = case.search();
        body.as_object_mut().unwrap().remove("offset");
        body["group_by"] = json!(by);
        body["limit"] = json!(1 + case.below(5));
        body["group_size"] = json!(1 + case.below(4));
        cluster.same("search_groups", None, &body).expect("groups");
        let mut body = case.query();
        body.as_object_mut().unwrap().remove("offset");
        body["group_by"] = json!(by);
        body["limit"] = json!(1 + case.below(4));
        body["group_size"] = json!(1 + case.below(4));
        if case.random.chance(30) {
            body["with_lookup"] = json!({"collection": "other", "with_payload": ["city"]});
        }
        let _ = cluster.same("query_groups", None, &body);
    });
}

#[test]
fn a_distance_matrix_of_all_points_is_that_of_one_collection() {
    each_case(10, |cluster, case| {
        let field = ["a", "b", "m", "s", "u"][case.below(5) as usize];
        let body = json!({"sample": 2 * POINTS, "limit": 1 + case.below(5), "using": field, "filter": case.filter()});
        cluster.same("matrix_pairs", None, &body).expect("a matrix");
        cluster.same("matrix_offsets", None, &body).expect("a matrix");
    });
}

#[test]
fn what_weights_of_other_shards_would_decide_is_refused() {
    let mut cluster = filled(&mut Random(5), 2, Metric::Dot, IdKind::Default);
    cluster.layout.may_weigh = true;
    let matrix = |field: &str| json!({"sample": 10, "using": field});
    let error =
        cluster.together("matrix_pairs", None, &matrix("s")).expect_err("weights are those of each shard");
    assert!(error.to_string().contains("modifier idf"), "{error}");
    let near = json!({"nearest": {"indices": [1], "values": [1.0]}, "mmr": {"diversity": 0.5}});
    let error = cluster.together("query", None, &json!({"query": near, "using": "s"}));
    assert!(error.expect_err("likewise").to_string().contains("modifier idf"));
    cluster.together("matrix_pairs", None, &matrix("a")).expect("dense vectors have no weights");
}

#[test]
fn others_with_one_score_are_in_the_order_of_their_ids_c2_4() {
    let cluster = Cluster::new(2, Metric::Euclid, IdKind::Default);
    // The squares of the distances to the first differ by the last bit, and their roots do not.
    let rows = [[0.0, 0.0, 0.0, 0.0], [1.0, 0.000_345_266_98, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]];
    let points: Vec<Value> =
        (1..).zip(rows).map(|(id, row)| json!({"id": id, "vector": {"a": row}})).collect();
    cluster.write("upsert_points", "c", &json!({"points": points})).expect("points");
    let found = cluster.same("matrix_pairs", None, &json!({"sample": 9, "limit": 2, "using": "a"})).unwrap();
    let first: Vec<&Value> = found["pairs"].as_array().unwrap().iter().take(2).collect();
    assert_eq!(first, [&json!({"a": 1, "b": 2, "score": 1.0}), &json!({"a": 1, "b": 3, "score": 1.0})]);
}

#[test]
fn each_point_is_in_a_sample_as_often_as_another() {
    let mut random = Random(9);
    let cluster = filled(&mut random, 3, Metric::Dot, IdKind::Default);
    let all = cluster.alone("count", None, &json!({})).unwrap()["count"].as_u64().unwrap();
    let mut found = std::collections::HashMap::new();
    for _ in 0..400 {
        let sample = cluster
            .together("query", None, &json!({"query": {"sample": "random"}, "limit": 10, "offset": 3}))
            .unwrap();
        let points = sample["points"].as_array().unwrap().clone();
        assert_eq!(points.len(), 10);
        for point in points {
            *found.entry(point["id"].to_string()).or_insert(0u64) += 1;
        }
    }
    // 4000 draws of about 115 points: 35 each, with a deviation below 6.
    assert!(found.len() as u64 == all && found.values().all(|count| (8..=70).contains(count)), "{found:?}");
    let some = json!({"prefetch": {"query": {"order_by": "n"}, "limit": 5}, "query": {"sample": "random"}, "with_payload": true});
    let sampled = cluster.together("query", None, &some).unwrap();
    assert_eq!(sampled["points"].as_array().unwrap().len(), 5);
    assert!(sampled["points"][0]["payload"]["n"].is_number());
}

#[test]
fn a_shard_that_does_not_answer_is_left_out() {
    let mut cluster = filled(&mut Random(4), 3, Metric::Dot, IdKind::Default);
    let body = json!({"limit": 1000, "with_payload": false});
    let all = cluster.together("scroll", None, &body).unwrap();
    cluster.silent = Some(1);
    let found = cluster.together("scroll", None, &body).unwrap();
    let others: Vec<&Value> = all["points"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|point| cluster.shard_of(&point["id"]) != 1)
        .collect();
    assert_eq!(found["points"].as_array().unwrap().iter().collect::<Vec<_>>(), others);
    let here = (0..).find(|number| cluster.shard_of(&json!(number)) == 1 && number % 3 == 1).unwrap();
    let body = json!({"query": here, "using": "a"});
    assert_eq!(cluster.together("query", None, &body).unwrap_err().code(), "shard_unavailable");
    let point = cluster.together("get_point", Some(&here.to_string()), &Value::Null);
    assert_eq!(point.unwrap_err().code(), "shard_unavailable");
    assert_eq!(cluster.together("retrieve_points", None, &json!({"ids": [here]})).unwrap(), json!([]));
}

#[test]
fn a_collection_may_be_named_by_each_of_its_names_in_a_lookup() {
    let mut cluster = filled(&mut Random(5), 3, Metric::Dot, IdKind::Default);
    cluster.other_names = vec!["alias".to_string()];
    let here = (0..POINTS).find(|number| number % 3 == 1).unwrap();
    let query =
        |name: &str| json!({"query": here, "using": "a", "lookup_from": {"collection": name, "vector": "a"}});
    let own = cluster.same("query", None, &query("c")).expect("hits");
    assert!(own["points"].as_array().unwrap().iter().all(|hit| hit["id"] != here), "the example is no hit");
    assert_eq!(cluster.together("query", None, &query("alias")).expect("hits"), own);
    let groups = |name: &str| json!({"query": here, "using": "a", "group_by": "n", "with_lookup": name});
    let own = cluster.same("query_groups", None, &groups("c")).expect("groups");
    assert_eq!(cluster.together("query_groups", None, &groups("alias")).expect("groups"), own);
}

#[test]
fn what_is_not_available_is_refused() {
    let cluster = Cluster::new(2, Metric::Dot, IdKind::Default);
    for (operation, body) in [
        ("scroll", json!({"cursor": {"ttl": 5}})),
        ("query", json!({"cursor": {"ttl": 5}})),
        ("search", json!({"cursor": "abc"})),
        ("plan_sync", json!({})),
        ("project_points", json!({})),
    ] {
        let refused = cluster.together(operation, None, &body).unwrap_err().to_string();
        assert!(
            refused.contains("is not available for a collection of several shards in a cluster"),
            "{refused}"
        );
    }
    let unknown = cluster.together(
        "query",
        None,
        &json!({"query": 1, "using": "a", "lookup_from": {"collection": "no"}}),
    );
    assert_eq!(unknown.unwrap_err().code(), "collection_not_found");
}
