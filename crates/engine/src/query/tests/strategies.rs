//! Every strategy against its definition, computed point by point in `f64` (C6.3).

use super::{Random, call, engine};
use crate::engine::Engine;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SIZE: usize = 5;
const POINTS: u64 = 60;
const TOLERANCE: f64 = 1e-5;
const DISTANCES: [&str; 4] = ["Cosine", "Euclid", "Dot", "Manhattan"];

type Vector = Vec<f64>;

/// A collection, and what it holds.
struct Sample {
    engine: Engine,
    distance: &'static str,
    random: Random,
    /// The vectors as they are compared, of the points that have one.
    vectors: BTreeMap<u64, Vector>,
}

/// An example: what stands for it in the request, its vector, and the id if it was given by one.
struct Example {
    json: Value,
    vector: Vector,
    id: Option<u64>,
}

impl Sample {
    fn new(distance: &'static str, seed: u64) -> Sample {
        let engine = engine(seed);
        let vectors = json!({"v": {"size": SIZE, "distance": distance}, "w": {"size": 1, "distance": "Dot"}});
        call(&engine, "c", "create_collection", &json!({"vectors": vectors}));
        let mut sample = Sample { engine, distance, random: Random(seed), vectors: BTreeMap::new() };
        let points: Vec<Value> = (0..POINTS)
            .map(|id| {
                let vector =
                    if id % 9 == 5 { json!({"w": [1]}) } else { json!({"v": sample.random_vector() }) };
                json!({"id": id, "vector": vector, "payload": {"n": id % 4}})
            })
            .collect();
        call(&sample.engine, "c", "upsert_points", &json!({"points": points}));
        let ids: Vec<u64> = (0..POINTS).collect();
        let stored = call(&sample.engine, "c", "retrieve_points", &json!({"ids": ids, "with_vector": true}));
        for point in stored.as_array().unwrap() {
            if let Some(vector) = point["vector"]["v"].as_array() {
                let vector = vector.iter().map(|value| value.as_f64().unwrap()).collect();
                sample.vectors.insert(point["id"].as_u64().unwrap(), vector);
            }
        }
        sample
    }

    /// Components of few bits: sums of their products are exact, so that where two similarities are equal here they
    /// are equal there; `best_score` jumps where they are.
    fn random_vector(&mut self) -> Vec<f32> {
        (0..SIZE).map(|_| self.random.below(257) as f32 / 128.0 - 1.0).collect()
    }

    fn example(&mut self) -> Example {
        if self.random.below(2) == 0 {
            let vector = self.random_vector();
            let exact = vector.iter().map(|&value| f64::from(value)).collect();
            return Example { json: json!(vector), vector: exact, id: None };
        }
        let at = self.random.below(self.vectors.len() as u64) as usize;
        let (&id, vector) = self.vectors.iter().nth(at).unwrap();
        Example { json: json!(id), vector: vector.clone(), id: Some(id) }
    }

    fn examples(&mut self, from: u64, to: u64) -> Vec<Example> {
        let count = from + self.random.below(to - from + 1);
        (0..count).map(|_| self.example()).collect()
    }

    /// Larger is better.
    fn similarity(&self, a: &[f64], b: &[f64]) -> f64 {
        let pairs = || a.iter().zip(b);
        match self.distance {
            "Euclid" => -pairs().map(|(x, y)| (x - y) * (x - y)).sum::<f64>(),
            "Manhattan" => -pairs().map(|(x, y)| (x - y).abs()).sum::<f64>(),
            "Dot" => pairs().map(|(x, y)| x * y).sum(),
            _ => {
                let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
                pairs().map(|(x, y)| x * y).sum::<f64>() / (norm(a) * norm(b))
            }
        }
    }

    /// The score that a client sees.
    fn public(&self, similarity: f64) -> f64 {
        match self.distance {
            "Euclid" => (-similarity).sqrt(),
            "Manhattan" => -similarity,
            _ => similarity,
        }
    }

    fn smaller_is_better(&self) -> bool {
        matches!(self.distance, "Euclid" | "Manhattan")
    }

    fn query(&self, body: &Value) -> Vec<(u64, f64)> {
        let found = call(&self.engine, "c", "query", body);
        let hit = |hit: &Value| (hit["id"].as_u64().unwrap(), hit["score"].as_f64().unwrap());
        found["points"].as_array().unwrap().iter().map(hit).collect()
    }

    /// Asks for the best of all points, of those under a filter, and of what a prefetch has found, with and without a
    /// threshold, and compares with the score of each point; larger is better for `score`.
    fn check(&self, query: &Value, used: &[&Example], score: impl Fn(&[f64]) -> f64, is_distance: bool) {
        let excluded = |id: &u64| used.iter().any(|example| example.id == Some(*id));
        let filter = json!({"must": {"key": "n", "match": {"any": [0, 2]}}});
        for (filtered, body) in [
            (false, json!({"query": query})),
            (true, json!({"query": query, "filter": filter})),
            (true, json!({"query": query, "prefetch": {"filter": filter, "limit": POINTS}})),
            (true, json!({"query": query, "filter": filter, "prefetch": {"limit": POINTS}})),
        ] {
            let sign = if is_distance { -1.0 } else { 1.0 };
            let mut all: Vec<f64> = Vec::new();
            let wanted: BTreeMap<u64, f64> = self
                .vectors
                .iter()
                .filter(|(id, _)| !excluded(id) && (!filtered || *id % 2 == 0))
                .map(|(id, vector)| (*id, score(vector)))
                .collect();
            all.extend(wanted.values().map(|score| sign * score));
            all.sort_by(|a, b| b.total_cmp(a));
            let mut body = body;
            body["using"] = json!("v");
            for limit in [7, POINTS as usize] {
                body["limit"] = json!(limit);
                let found = self.query(&body);
                assert_eq!(found.len(), limit.min(wanted.len()), "{body}");
                for (place, (id, found)) in found.iter().enumerate() {
                    let tolerance = TOLERANCE * found.abs().max(1.0);
                    assert!((found - wanted[id]).abs() <= tolerance, "{body}: {id} has {}", wanted[id]);
                    let best = sign * all[place];
                    assert!((found - best).abs() <= tolerance, "{body}: {found} in place of {best}");
                }
            }
            // A threshold that one reads off an answer keeps that answer (C2.4).
            body["limit"] = json!(POINTS);
            let every = self.query(&body);
            if let Some(&(_, threshold)) = every.get(every.len() / 2) {
                body["score_threshold"] = json!(threshold);
                let kept = |score: f64| sign * score >= sign * threshold;
                let expected: Vec<_> = every.iter().filter(|(_, score)| kept(*score)).copied().collect();
                assert_eq!(self.query(&body), expected, "{body}");
            }
        }
    }
}

fn sigmoid(x: f64) -> f64 {
    0.5 * (x / (1.0 + x.abs()) + 1.0)
}

fn list(examples: &[Example]) -> Vec<&Value> {
    examples.iter().map(|example| &example.json).collect()
}

fn mean(examples: &[Example]) -> Vector {
    let sum = |at: usize| examples.iter().map(|example| example.vector[at]).sum::<f64>();
    (0..SIZE).map(|at| sum(at) / examples.len() as f64).collect()
}

fn setup() -> impl Strategy<Value = Sample> {
    (prop::sample::select(DISTANCES.to_vec()), any::<u64>())
        .prop_map(|(distance, seed)| Sample::new(distance, seed))
}

impl std::fmt::Debug for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.distance, self.random.0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nearest_and_average_vector_are_by_the_distance_c6_3(mut sample in setup()) {
        let one = sample.example();
        let score = |v: &[f64]| sample.public(sample.similarity(&one.vector, v));
        sample.check(&one.json, &[&one], score, sample.smaller_is_better());
        sample.check(&json!({"nearest": one.json}), &[&one], score, sample.smaller_is_better());
        let (positive, negative) = (sample.examples(1, 3), sample.examples(0, 2));
        let mut target = mean(&positive);
        if !negative.is_empty() {
            let mirrored = |(p, n): (&f64, &f64)| 2.0 * p - n;
            target = target.iter().zip(&mean(&negative)).map(mirrored).collect();
        }
        let used: Vec<&Example> = positive.iter().chain(&negative).collect();
        for strategy in [json!("average_vector"), json!(null)] {
            let query = json!({"recommend": {
                "positive": list(&positive), "negative": list(&negative), "strategy": strategy}});
            let score = |v: &[f64]| sample.public(sample.similarity(&target, v));
            sample.check(&query, &used, score, sample.smaller_is_better());
        }
    }

    #[test]
    fn recommendations_are_scored_by_their_examples_c6_3(mut sample in setup()) {
        let (positive, negative) = (sample.examples(0, 3), sample.examples(1, 3));
        for (positive, negative) in [(&positive, &negative), (&negative, &positive)] {
            let used: Vec<&Example> = positive.iter().chain(negative).collect();
            let query = |strategy: &str| json!({"recommend": {
                "positive": list(positive), "negative": list(negative), "strategy": strategy}});
            let sims = |examples: &[Example], v: &[f64]| -> Vec<f64> {
                examples.iter().map(|example| sample.similarity(&example.vector, v)).collect()
            };
            let best_score = |v: &[f64]| {
                let best = |sims: Vec<f64>| sims.into_iter().fold(f64::NEG_INFINITY, f64::max);
                let (p, n) = (best(sims(positive, v)), best(sims(negative, v)));
                if p > n { sigmoid(p) } else { -sigmoid(n) }
            };
            sample.check(&query("best_score"), &used, best_score, false);
            let sum_scores = |v: &[f64]| {
                sims(positive, v).iter().sum::<f64>() - sims(negative, v).iter().sum::<f64>()
            };
            sample.check(&query("sum_scores"), &used, sum_scores, false);
        }
    }

    #[test]
    fn discovery_and_context_are_scored_by_pairs_c6_3(mut sample in setup()) {
        let target = sample.example();
        let (positive, negative) = (sample.examples(1, 4), sample.examples(4, 4));
        let pairs: Vec<(&Example, &Example)> = positive.iter().zip(&negative).collect();
        let shown: Vec<Value> =
            pairs.iter().map(|(p, n)| json!({"positive": p.json, "negative": n.json})).collect();
        let mut used: Vec<&Example> = pairs.iter().flat_map(|(p, n)| [*p, *n]).collect();
        let differences = |v: &[f64]| -> Vec<f64> {
            let sim = |example: &Example| sample.similarity(&example.vector, v);
            pairs.iter().map(|(p, n)| sim(p) - sim(n)).collect()
        };
        let context = |v: &[f64]| -> f64 {
            let loss = |d: f64| { let x = (d - f64::from(f32::EPSILON)).min(0.0); x / (1.0 + x.abs()) };
            differences(v).into_iter().map(loss).sum()
        };
        sample.check(&json!({"context": shown}), &used, context, false);
        used.push(&target);
        let discover = |v: &[f64]| -> f64 {
            let sides: f64 = differences(v).into_iter().map(|d| if d == 0.0 { 0.0 } else { d.signum() }).sum();
            sides + sigmoid(sample.similarity(&target.vector, v))
        };
        let query = json!({"discover": {"target": target.json, "context": shown}});
        sample.check(&query, &used, discover, false);
        let alone = json!({"discover": {"target": target.json, "context": null}});
        let score = |v: &[f64]| sigmoid(sample.similarity(&target.vector, v));
        sample.check(&alone, &[&target], score, false);
    }

    #[test]
    fn marginal_relevance_weighs_similarity_against_difference_c6_3(
        mut sample in setup(),
        diversity in prop::sample::select(vec![0.0, 0.3, 0.5, 1.0]),
        candidates in 5usize..40,
    ) {
        let target = sample.example();
        let mmr = json!({"diversity": diversity, "candidates_limit": candidates});
        let query = json!({"nearest": target.json, "mmr": mmr});
        let plain = json!({"query": target.json, "using": "v", "limit": candidates});
        let mut left = sample.query(&plain);
        let all = json!({"query": query, "using": "v", "limit": 12});
        let found = sample.query(&all);
        prop_assert_eq!(found.len(), left.len().min(12));
        let mut chosen: Vec<u64> = Vec::new();
        for (id, score) in &found {
            let vector = |id: &u64| &sample.vectors[id];
            let worth = |id: &u64| {
                let similar = |other: &u64| sample.similarity(vector(id), vector(other));
                let redundancy = chosen.iter().map(similar).fold(f64::NEG_INFINITY, f64::max);
                let redundancy = if chosen.is_empty() { 0.0 } else { diversity * redundancy };
                let share = if chosen.is_empty() { 1.0 } else { 1.0 - diversity };
                share * sample.similarity(&target.vector, vector(id)) - redundancy
            };
            let best = left.iter().map(|(id, _)| worth(id)).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!((worth(id) - best).abs() <= TOLERANCE, "{} instead of the best", id);
            let at = left.iter().position(|(other, _)| other == id).expect("one of the candidates, once");
            // The score is the ordinary one.
            prop_assert_eq!(*score, left.remove(at).1);
            chosen.push(*id);
        }
        // A page is a part of the whole (limit + offset are chosen, then cut).
        let page = sample.query(&json!({"query": query, "using": "v", "limit": 5, "offset": 4}));
        prop_assert_eq!(&page[..], &found[4.min(found.len())..9.min(found.len())]);
    }
}
