//! The plans of a search agree with each other and with the exact scan, whatever was written before.

use super::Random;
use crate::engine::Engine;
use crate::query::planner::{Plan, forced};
use crate::storage::fault_elsewhere;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Components of a vector: so many that a few hundred points outgrow the exact scan.
const SIZE: usize = 32;
const K: usize = 10;
const PLANS: [Plan; 3] = [Plan::Scan, Plan::Wide, Plan::TwoHop];

impl Random {
    /// In one of two clusters; coordinates are coarse, so that ties happen.
    fn vector(&mut self, cluster: u64) -> Vec<f32> {
        (0..SIZE).map(|_| (self.below(64) + 40 * cluster) as f32 / 16.0 - 1.0).collect()
    }
}

struct Collection {
    engine: Engine,
    random: Random,
    ids: u64,
}

/// What a case is made of.
#[derive(Clone, Debug)]
struct Setup {
    seed: u64,
    distance: &'static str,
    quantization: Value,
    points: u64,
    /// Points in each hundred that are updated, deleted (`deleted`), and added once the graph is built (`tail`).
    updated: u64,
    deleted: u64,
    tail: u64,
}

fn setup() -> impl Strategy<Value = Setup> {
    let distance = prop::sample::select(vec!["Euclid", "Cosine", "Dot", "Manhattan"]);
    let quantization = prop::sample::select(vec![
        json!(null),
        json!({"scalar": {"type": "int8"}}),
        json!({"binary": {"encoding": "two_bits"}}),
        json!({"product": {"compression": "x8"}}),
    ]);
    (any::<u64>(), distance, quantization, 250u64..600, 0u64..40, 0u64..40, 0u64..30).prop_map(
        |(seed, distance, quantization, points, updated, deleted, tail)| Setup {
            seed,
            distance,
            quantization,
            points,
            updated,
            deleted,
            tail,
        },
    )
}

impl Collection {
    fn new(setup: &Setup) -> Collection {
        let mut collection =
            Collection { engine: super::engine(setup.seed), random: Random(setup.seed), ids: 0 };
        let hnsw = json!({"m": 8, "ef_construct": 48, "full_scan_threshold": 10});
        let vectors =
            json!({"v": {"size": SIZE, "distance": setup.distance}, "w": {"size": 2, "distance": "Dot"}});
        let body =
            json!({"vectors": vectors, "hnsw_config": hnsw, "quantization_config": setup.quantization});
        collection.call("create_collection", &body);
        let index = |field: &str, schema: &str| json!({"field_name": field, "field_schema": schema});
        collection.call("create_field_index", &index("n", "integer"));
        collection.call("create_field_index", &index("cluster", "keyword"));
        collection.insert(setup.points);
        collection.index();
        let share = |percent: u64| setup.points * percent / 100;
        for _ in 0..share(setup.updated) {
            let id = collection.random.below(collection.ids);
            let point = collection.point(id);
            collection.call("upsert_points", &json!({"points": [point]}));
        }
        if setup.seed.is_multiple_of(2) {
            collection.index();
        }
        let gone: Vec<u64> =
            (0..share(setup.deleted)).map(|_| collection.random.below(collection.ids)).collect();
        collection.call("delete_points", &json!({"points": gone}));
        collection.insert(share(setup.tail));
        collection
    }

    fn call(&self, operation: &str, body: &Value) -> Value {
        super::call(&self.engine, "c", operation, body)
    }

    /// A point with a vector in one of the clusters; one in twenty has none.
    fn point(&mut self, id: u64) -> Value {
        let cluster = self.random.below(2);
        let payload = json!({"n": self.random.below(1000), "raw": self.random.below(1000),
            "cluster": if cluster == 0 { "near" } else { "far" }});
        let vector = if self.random.below(20) == 0 {
            json!({"w": [1, 2]})
        } else {
            json!({"v": self.random.vector(cluster)})
        };
        json!({"id": id, "vector": vector, "payload": payload})
    }

    fn insert(&mut self, count: u64) {
        let points: Vec<Value> = (self.ids..self.ids + count).map(|id| self.point(id)).collect();
        self.ids += count;
        if !points.is_empty() {
            self.call("upsert_points", &json!({"points": points}));
        }
    }

    fn index(&self) {
        self.engine.work_in_background(crate::collection::GraphPolicy::WhenGrown);
    }

    /// A filter of any selectivity: none, indexed, by document, both, by id, and those of the other cluster only.
    fn filter(&mut self) -> Value {
        let upper = [1, 5, 30, 150, 600, 1000][self.random.below(6) as usize];
        let range = |key: &str| json!({"key": key, "range": {"lt": upper}});
        match self.random.below(7) {
            0 => json!(null),
            1 => json!({"must": [range("raw")]}),
            2 => json!({"must": [range("n")], "must_not": [{"key": "raw", "range": {"lt": 200}}]}),
            3 => json!({"must": [{"key": "cluster", "match": {"value": "far"}}]}),
            4 => json!({"must": [{"has_id": (0..upper).collect::<Vec<_>>()}]}),
            _ => json!({"must": [range("n")]}),
        }
    }

    fn search(&self, plan: Option<Plan>, vector: &[f32], filter: &Value, params: &Value) -> Value {
        let body = json!({"vector": {"name": "v", "vector": vector}, "limit": K, "filter": filter, "params": params});
        with_plan(&self.engine, plan, || self.call("search", &body))
    }
}

/// Runs one search that begins with a plan, unless it is an exact one. It may run more than once: again whenever a map of
/// the process meets a page that it cannot read, and those of other tests do.
fn with_plan<T>(engine: &Engine, plan: Option<Plan>, search: impl FnOnce() -> T) -> T {
    let before = engine.status().searches;
    forced::set(plan);
    let found = search();
    forced::set(None);
    let after = engine.status().searches;
    let (wide, two_hop) = (after.wide_walks - before.wide_walks, after.two_hop_walks - before.two_hop_walks);
    let (asked, others) = match plan {
        Some(Plan::Wide) => (wide, two_hop),
        Some(Plan::TwoHop) => (two_hop, wide),
        _ => return found,
    };
    let exact = after.exact_scans - before.exact_scans;
    assert!(asked + exact > 0 && others == 0, "the search began with {plan:?}: {asked}, {exact}, {others}");
    found
}

/// How many of the exact hits were found.
fn common(found: &Value, exact: &Value) -> usize {
    let ids = |hits: &Value| -> Vec<Value> {
        hits.as_array().expect("a list").iter().map(|hit| hit["id"].clone()).collect()
    };
    let found = ids(found);
    ids(exact).iter().filter(|id| found.contains(id)).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn plans_differ_in_what_they_cost_and_not_in_what_they_answer(setup in setup()) {
        let mut collection = Collection::new(&setup);
        let every = json!({"hnsw_ef": 2000, "quantization": {"oversampling": 200}});
        let originals = json!({"hnsw_ef": 2000, "quantization": {"ignore": true}});
        let (mut wanted, mut narrow, mut estimated) = (0, [0; 3], 0);
        for _ in 0..12 {
            let vector = collection.random.vector(0);
            let filter = collection.filter();
            let exact = collection.search(None, &vector, &filter, &json!({"exact": true}));
            let count = exact.as_array().expect("a list").len();
            wanted += count;
            for params in [&every, &originals] {
                for plan in [None, Some(Plan::Scan), Some(Plan::Wide)] {
                    let found = collection.search(plan, &vector, &filter, params);
                    prop_assert_eq!(&found, &exact, "{:?} under {}", plan, filter);
                }
            }
            // A scan of the originals misses nothing at any width.
            let ignore = json!({"quantization": {"ignore": true}});
            prop_assert_eq!(&collection.search(Some(Plan::Scan), &vector, &filter, &ignore), &exact);
            for (at, plan) in PLANS.into_iter().enumerate() {
                let found = collection.search(Some(plan), &vector, &filter, &json!({"hnsw_ef": 64}));
                let hits = found.as_array().expect("a list");
                prop_assert_eq!(hits.len(), count, "{:?} under {}", plan, filter);
                narrow[at] += common(&found, &exact);
                // Scores are those of the originals, whatever found them.
                for hit in hits {
                    let exact = exact.as_array().expect("a list").iter().find(|one| one["id"] == hit["id"]);
                    prop_assert!(exact.is_none_or(|one| one["score"] == hit["score"]), "{:?}: {}", plan, hit);
                }
            }
            let codes_alone = json!({"hnsw_ef": 64, "quantization": {"rescore": false}});
            let found = collection.search(None, &vector, &filter, &codes_alone);
            prop_assert_eq!(found.as_array().expect("a list").len(), count);
            estimated += common(&found, &exact);
        }
        for (plan, found) in PLANS.into_iter().zip(narrow) {
            // A bound for a single case of some hundred hits, in data without structure and under every metric.
            prop_assert!(found * 4 >= wanted * 3, "{:?} found {} of {}", plan, found, wanted);
        }
        // Two bits a component are coarse on data without structure.
        prop_assert!(estimated * 10 >= wanted * 3, "codes alone found {} of {}", estimated, wanted);
    }
}

#[test]
fn an_example_is_left_out_by_every_plan_c6_3() {
    let setup = Setup {
        seed: 4,
        distance: "Euclid",
        quantization: json!(null),
        points: 400,
        updated: 10,
        deleted: 10,
        tail: 10,
    };
    let collection = Collection::new(&setup);
    let example = (0..400).find(|id| {
        let found = collection.call("retrieve_points", &json!({"ids": [id], "with_vector": true}));
        !found[0]["vector"]["v"].is_null()
    });
    let id = example.expect("some point has a vector");
    for filter in [json!(null), json!({"must": [{"key": "n", "range": {"lt": 500}}]})] {
        let body =
            json!({"query": id, "using": "v", "limit": K, "filter": filter, "params": {"hnsw_ef": 1000}});
        let exact = {
            let mut body = body.clone();
            body["params"] = json!({"exact": true});
            collection.call("query", &body)
        };
        for plan in PLANS {
            let found = with_plan(&collection.engine, Some(plan), || collection.call("query", &body));
            assert!(found["points"].as_array().expect("a list").iter().all(|hit| hit["id"] != json!(id)));
            if plan != Plan::TwoHop {
                assert_eq!(found, exact, "{plan:?}");
            }
        }
    }
}

/// The ids of some hits with their scores.
fn scores(hits: &Value) -> Vec<(u64, f64)> {
    let hit = |hit: &Value| (hit["id"].as_u64().expect("an id"), hit["score"].as_f64().expect("a score"));
    hits.as_array().expect("a list").iter().map(hit).collect()
}

/// A collection with the one vector `v` and a graph over these points, in this order.
fn graph_over(config: Value, points: &[Value]) -> Engine {
    let engine = super::engine(11);
    let hnsw = json!({"m": 8, "ef_construct": 48, "full_scan_threshold": 10});
    let mut body = json!({"hnsw_config": hnsw});
    body.as_object_mut().expect("an object").extend(config.as_object().expect("an object").clone());
    super::call(&engine, "c", "create_collection", &body);
    for points in points.chunks(500) {
        super::call(&engine, "c", "upsert_points", &json!({"points": points}));
    }
    engine.work_in_background(crate::collection::GraphPolicy::WhenGrown);
    engine
}

#[test]
fn a_search_that_runs_again_for_a_page_that_could_not_be_read_answers_by_the_same_plan() {
    let vector = |id: u64| -> Vec<u64> { (0..SIZE as u64).map(|at| (id * 31 + at * 7) % 50).collect() };
    let points: Vec<Value> = (0..400).map(|id| json!({"id": id, "vector": {"v": vector(id)}})).collect();
    let engine = graph_over(json!({"vectors": {"v": {"size": SIZE, "distance": "Euclid"}}}), &points);
    let body = json!({"vector": {"name": "v", "vector": vector(401)}, "limit": K});
    for plan in PLANS {
        let search =
            || scores(&with_plan(&engine, Some(plan), || super::call(&engine, "c", "search", &body)));
        let found = search();
        // The maps of other engines of the process: as when their tests run at the same time.
        forced::meanwhile(fault_elsewhere);
        assert_eq!(search(), found, "{plan:?}");
    }
}

#[test]
fn vectors_that_share_a_code_have_scores_of_their_own_where_codes_are_ignored_c7() {
    // The mean is zero, so that a code of one bit a component says no more than signs and sums.
    let odd = || (-39..40).step_by(2);
    let places = odd().flat_map(|x| odd().map(move |y| json!([x, y])));
    let points: Vec<Value> =
        places.enumerate().map(|(id, vector)| json!({"id": id, "vector": {"v": vector}})).collect();
    let config =
        json!({"vectors": {"v": {"size": 2, "distance": "Dot"}}, "quantization_config": {"binary": {}}});
    let engine = graph_over(config, &points);
    for plan in PLANS {
        let search = |params: Value| {
            let body =
                json!({"vector": {"name": "v", "vector": [1, 5]}, "limit": points.len(), "params": params});
            scores(&with_plan(&engine, Some(plan), || super::call(&engine, "c", "search", &body)))
        };
        let exact = search(json!({"exact": true}));
        assert_eq!(exact.len(), points.len());
        for ignore in [false, true] {
            let found = search(json!({"hnsw_ef": 4000, "quantization": {"ignore": ignore}}));
            let wrong = found.iter().zip(&exact).find(|(found, exact)| found != exact);
            assert_eq!((found.len(), wrong), (exact.len(), None), "{plan:?}, ignore: {ignore}");
        }
    }
}

#[test]
fn equal_vectors_are_answered_by_id_whatever_the_plan_c2_4() {
    let vector: Vec<u32> = (0..SIZE as u32).collect();
    // Those of the lowest ids come last.
    let points: Vec<Value> = (0..400).rev().map(|id| json!({"id": id, "vector": {"v": vector}})).collect();
    for codes in [json!(null), json!({"scalar": {"type": "int8"}})] {
        let config =
            json!({"vectors": {"v": {"size": SIZE, "distance": "Euclid"}}, "quantization_config": codes});
        let engine = graph_over(config, &points);
        for plan in PLANS {
            let hits = |quantization: Value| {
                let params = json!({"quantization": quantization});
                let body = json!({"vector": {"name": "v", "vector": vector}, "limit": K, "params": params});
                scores(&with_plan(&engine, Some(plan), || super::call(&engine, "c", "search", &body)))
            };
            let lowest: Vec<(u64, f64)> = (0..K as u64).map(|id| (id, 0.0)).collect();
            for quantization in [json!({}), json!({"ignore": true}), json!({"oversampling": 3})] {
                assert_eq!(hits(quantization.clone()), lowest, "{plan:?} with {quantization} over {codes}");
            }
            let ids: Vec<u64> = hits(json!({"rescore": false})).into_iter().map(|(id, _)| id).collect();
            assert!(ids.into_iter().eq(0..K as u64), "{plan:?} by codes alone, {codes}");
        }
    }
}

#[test]
fn plans_agree_on_few_components_and_on_the_greatest_and_least_numbers() {
    let codes = [
        json!(null),
        json!({"scalar": {"type": "int8", "quantile": 0.5}}),
        json!({"binary": {}}),
        json!({"binary": {"encoding": "two_bits"}}),
        json!({"product": {"compression": "x8"}}),
        json!({"product": {"compression": "x64"}}),
    ];
    let mut case = 0;
    for distance in ["Euclid", "Cosine", "Dot", "Manhattan"] {
        for (datatype, numbers) in [
            ("float32", vec![0.0, 1.0, -1.0, 0.1, 7.0, 1e-30, -1e-38, 1e-45, 1e15, -1e19, 3e38, -3e38]),
            ("float32", vec![0.0, 1.0, 2.0, -0.5]),
            ("float16", vec![0.0, 1.0, -1.0, 0.1, 6e-8, 65504.0, -65504.0]),
            ("uint8", vec![0.0, 1.0, 2.0, 127.0, 255.0]),
        ] {
            for size in [1, 2, 3, 5, 17] {
                case += 1;
                let random = &mut Random(case);
                let vector = |random: &mut Random| -> Vec<f32> {
                    (0..size).map(|_| numbers[random.below(numbers.len() as u64) as usize]).collect()
                };
                let count = 2_600 / size as u64 + 40;
                let points: Vec<Value> = (0..count)
                    .rev()
                    .map(|id| json!({"id": id, "vector": {"v": vector(random)}, "payload": {"n": id % 7}}))
                    .collect();
                let params = json!({"size": size, "distance": distance, "datatype": datatype});
                let quantization = &codes[case as usize % codes.len()];
                let config = json!({"vectors": {"v": params}, "quantization_config": quantization});
                let engine = graph_over(config.clone(), &points);
                for (turn, filter) in
                    [json!(null), json!({"must": {"key": "n", "range": {"lt": 3}}})].iter().enumerate()
                {
                    let query = vector(random);
                    let search = |plan: Option<Plan>, params: Value| {
                        let body = json!({"vector": {"name": "v", "vector": query}, "limit": K,
                            "filter": filter, "params": params});
                        scores(&with_plan(&engine, plan, || super::call(&engine, "c", "search", &body)))
                    };
                    let exact = search(None, json!({"exact": true}));
                    assert_eq!(exact.len(), K);
                    let every = json!({"hnsw_ef": 4000, "quantization": {"oversampling": 400}});
                    let originals = json!({"hnsw_ef": 4000, "quantization": {"ignore": true}});
                    let codes_alone = json!({"hnsw_ef": 64, "quantization": {"rescore": false}});
                    for plan in PLANS {
                        let found = search(Some(plan), every.clone());
                        assert_eq!(found, exact, "{plan:?} of {config}, {turn}: {query:?}");
                        let found = search(Some(plan), originals.clone());
                        assert_eq!(found, exact, "{plan:?} of originals of {config}, {turn}: {query:?}");
                        assert_eq!(search(Some(plan), codes_alone.clone()).len(), K, "{plan:?} of {config}");
                    }
                }
            }
        }
    }
}

#[test]
fn equal_multi_vectors_are_answered_by_id_whatever_the_plan_c2_4() {
    let mut random = Random(21);
    for distance in ["Euclid", "Cosine", "Dot", "Manhattan"] {
        for rows in [1, 3, 6] {
            let mut multi = |rows: usize| -> Vec<Vec<f32>> { (0..rows).map(|_| random.vector(0)).collect() };
            let (vector, query) = (multi(rows), multi(rows + 2));
            let points: Vec<Value> =
                (0..200).rev().map(|id| json!({"id": id, "vector": {"v": vector}})).collect();
            let params = json!({"size": SIZE, "distance": distance,
                "multivector_config": {"comparator": "max_sim"}});
            let engine = graph_over(json!({"vectors": {"v": params}}), &points);
            let search = |plan: Option<Plan>, params: Value| {
                let body = json!({"query": query, "using": "v", "limit": K, "params": params});
                scores(&with_plan(&engine, plan, || super::call(&engine, "c", "query", &body))["points"])
            };
            let exact = search(None, json!({"exact": true}));
            assert!(exact.iter().map(|(id, _)| *id).eq(0..K as u64));
            for plan in PLANS {
                for ignore in [false, true] {
                    let found = search(Some(plan), json!({"quantization": {"ignore": ignore}}));
                    assert_eq!(found, exact, "{plan:?} under {distance}, {rows} rows, ignore: {ignore}");
                }
            }
        }
    }
}
