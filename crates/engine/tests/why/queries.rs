//! Random points and random queries of them.

use super::filters::{Condition, Filter};
use super::model::{Example, Goal, Model, Node, Point, Vector};
use crate::common::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Vector fields: dense ones by distance and by product, a multi-vector and a sparse one.
const FIELDS: [&str; 4] = ["e", "p", "m", "s"];
const SIZE: usize = 3;
pub const COLOURS: [&str; 3] = ["red", "green", "blue"];

pub fn config() -> Value {
    json!({
        "vectors": {
            "e": {"size": SIZE, "distance": "Euclid"},
            "p": {"size": SIZE, "distance": "Dot"},
            "m": {"size": SIZE, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}},
        },
        "sparse_vectors": {"s": {}},
    })
}

/// Points, of which one in six lacks a vector, and one in five a value to be ordered by.
pub fn points(random: &mut Random, count: u64) -> BTreeMap<u64, Point> {
    let mut point = || {
        let present: Vec<&str> = FIELDS.into_iter().filter(|_| random.below(6) > 0).collect();
        Point {
            vectors: present.into_iter().map(|field| (field, vector(random, field))).collect(),
            n: random.below(100) as i64,
            order: (random.below(5) > 0).then(|| random.below(30) as i64),
            parts: (0..random.below(3)).map(|_| part(random)).collect(),
        }
    };
    (0..count).map(|id| (id, point())).collect()
}

fn part(random: &mut Random) -> (i64, &'static str) {
    (random.below(3) as i64, COLOURS[random.below(3) as usize])
}

fn row(random: &mut Random) -> Vec<f64> {
    (0..SIZE).map(|_| random.below(9) as f64 - 4.0).collect()
}

fn vector(random: &mut Random, field: &str) -> Vector {
    match field {
        "s" => Vector::Sparse(
            (0..=random.below(3)).map(|_| (random.below(9) as u32, 1.0 + random.below(4) as f64)).collect(),
        ),
        "m" => Vector::Rows((0..=random.below(3)).map(|_| row(random)).collect()),
        _ => Vector::Rows(vec![row(random)]),
    }
}

pub fn point_json(id: u64, point: &Point) -> Value {
    let vectors: BTreeMap<&str, Value> =
        point.vectors.iter().map(|(field, vector)| (*field, vector_json(field, vector))).collect();
    let parts: Vec<Value> =
        point.parts.iter().map(|(size, colour)| json!({"size": size, "colour": colour})).collect();
    let mut payload = json!({"n": point.n, "parts": parts});
    if let Some(order) = point.order {
        payload["order"] = json!(order);
    }
    json!({"id": id, "vector": vectors, "payload": payload})
}

fn vector_json(field: &str, vector: &Vector) -> Value {
    match vector {
        Vector::Rows(rows) if field == "m" => json!(rows),
        Vector::Rows(rows) => json!(rows[0]),
        Vector::Sparse(weights) => json!({
            "indices": weights.keys().collect::<Vec<_>>(), "values": weights.values().collect::<Vec<_>>()}),
    }
}

/// A vector, or a point that has one.
fn example(random: &mut Random, model: &Model, field: &'static str) -> Example {
    let sent = Example { vector: vector(random, field), id: None };
    if random.below(3) > 0 {
        return sent;
    }
    let id = random.below(model.points.len() as u64);
    let stored = model.points[&id].vectors.get(field);
    stored.map_or(sent, |vector| Example { vector: vector.clone(), id: Some(id) })
}

fn condition(random: &mut Random, depth: usize) -> Condition {
    match random.below(if depth == 0 { 3 } else { 4 }) {
        0 => Condition::Below(20 + random.below(80) as i64),
        1 => Condition::Colour(COLOURS[random.below(3) as usize]),
        2 => {
            let (size, colour) = part(random);
            Condition::Part(size, colour)
        }
        _ => Condition::Inner(Box::new(filter(random, depth - 1))),
    }
}

/// A filter that matches a good part of the points.
fn filter(random: &mut Random, depth: usize) -> Filter {
    let some = |random: &mut Random, count: u64| -> Vec<Condition> {
        (0..count).map(|_| condition(random, depth)).collect()
    };
    let mut filter = Filter::default();
    match random.below(5) {
        0 => filter.must = vec![Condition::Below(60 + random.below(40) as i64)],
        1 => filter.should = some(random, 3),
        2 => filter.must_not = some(random, 2),
        3 => filter.min_should = Some((1, some(random, 3))),
        _ => {
            filter.must = vec![Condition::Below(70 + random.below(30) as i64)];
            filter.should = some(random, 2);
            filter.must_not = vec![Condition::Below(10)];
        }
    }
    if depth > 0 && random.below(2) > 0 {
        filter.must.push(Condition::Inner(Box::new(self::filter(random, depth - 1))));
    }
    filter
}

/// What searches the collection, or what orders the points of prefetches anew.
fn comparing(random: &mut Random, model: &Model, field: &'static str) -> Goal {
    let one = |random: &mut Random| example(random, model, field);
    let pair = |random: &mut Random| (example(random, model, field), example(random, model, field));
    match random.below(9) {
        0 | 1 => Goal::Nearest(one(random)),
        2 if field == "e" || field == "p" => Goal::Mean(vec![one(random), one(random)]),
        3 => Goal::Mmr(one(random), 5 + random.below(40) as usize),
        4 => Goal::Best(vec![one(random), one(random)], vec![one(random)]),
        5 => Goal::Sum(vec![one(random)], vec![one(random)]),
        6 => Goal::Discover(one(random), vec![pair(random), pair(random)]),
        7 => Goal::Context(vec![pair(random)]),
        _ => Goal::OrderBy {
            descending: random.below(2) > 0,
            start: (random.below(2) > 0).then(|| 5 + random.below(20) as i64),
        },
    }
}

/// A query with up to so many levels of prefetches.
pub fn node(random: &mut Random, model: &Model, depth: usize) -> Node {
    let using = FIELDS[random.below(4) as usize];
    let sources = if depth > 0 && random.below(4) > 0 { 1 + random.below(3) } else { 0 };
    let prefetch: Vec<Node> = (0..sources).map(|_| node(random, model, depth - 1)).collect();
    let goal = match random.below(6) {
        0 if sources > 0 => Goal::Rrf(2.0, Vec::new()),
        1 if sources > 0 => Goal::Rrf(7.0, prefetch.iter().map(|_| 1.0 + random.below(3) as f64).collect()),
        2 if sources > 0 => Goal::Dbsf,
        3 if sources > 0 => Goal::Formula,
        0 if depth == 0 => Goal::ById,
        _ => comparing(random, model, using),
    };
    let threshold = match (&goal, random.below(3)) {
        (Goal::OrderBy { .. } | Goal::ById, _) | (_, 0) => None,
        (Goal::Rrf(..), _) => Some(0.02 + random.below(10) as f32 / 50.0),
        (Goal::Dbsf, _) => Some(0.3 + random.below(5) as f32 / 8.0),
        (Goal::Formula, _) => Some(random.below(80) as f32),
        (Goal::Nearest(_) | Goal::Mean(_) | Goal::Mmr(..), _) if using == "e" => {
            Some(3.0 + random.below(5) as f32)
        }
        (Goal::Best(..) | Goal::Discover(..) | Goal::Context(_), _) => {
            Some(random.below(8) as f32 / 4.0 - 1.0)
        }
        _ => Some(random.below(16) as f32 - 8.0),
    };
    Node {
        using,
        goal,
        filter: (random.below(2) > 0).then(|| filter(random, 1)),
        threshold,
        limit: 5 + random.below(60) as usize,
        prefetch,
    }
}

fn query_json(node: &Node) -> Value {
    let one = |example: &Example| match example.id {
        Some(id) => json!(id),
        None => vector_json(node.using, &example.vector),
    };
    let all = |examples: &[Example]| examples.iter().map(one).collect::<Vec<Value>>();
    let pair = |(p, n): &(Example, Example)| json!({"positive": one(p), "negative": one(n)});
    let recommend = |positive: &[Example], negative: &[Example], strategy: &str| json!({"recommend": {"positive": all(positive), "negative": all(negative), "strategy": strategy}});
    match &node.goal {
        Goal::Nearest(example) => json!({"nearest": one(example)}),
        Goal::Mean(positive) => recommend(positive, &[], "average_vector"),
        Goal::Mmr(example, among) => {
            json!({"nearest": one(example), "mmr": {"diversity": 0.5, "candidates_limit": among}})
        }
        Goal::Best(positive, negative) => recommend(positive, negative, "best_score"),
        Goal::Sum(positive, negative) => recommend(positive, negative, "sum_scores"),
        Goal::Discover(target, pairs) => {
            json!({"discover": {"target": one(target), "context": pairs.iter().map(pair).collect::<Vec<_>>()}})
        }
        Goal::Context(pairs) => json!({"context": pairs.iter().map(pair).collect::<Vec<_>>()}),
        Goal::OrderBy { descending, start } => {
            let direction = if *descending { "desc" } else { "asc" };
            json!({"order_by": {"key": "order", "direction": direction, "start_from": start}})
        }
        Goal::ById => json!(null),
        Goal::Rrf(k, weights) if weights.is_empty() => json!({"rrf": {"k": *k as u64}}),
        Goal::Rrf(k, weights) => json!({"rrf": {"k": *k as u64, "weights": weights}}),
        Goal::Dbsf => json!({"fusion": "dbsf"}),
        Goal::Formula if node.prefetch.len() > 1 => {
            json!({"formula": {"sum": ["$score[0]", {"mult": [0.5, "$score[1]"]}, "n"]}})
        }
        Goal::Formula => json!({"formula": {"sum": ["$score[0]", "n"]}}),
    }
}

pub fn node_json(node: &Node) -> Value {
    let mut json = json!({"limit": node.limit});
    if !matches!(node.goal, Goal::ById) {
        json["query"] = query_json(node);
    }
    let compares =
        !matches!(node.goal, Goal::Rrf(..) | Goal::Dbsf | Goal::Formula | Goal::ById | Goal::OrderBy { .. });
    if compares {
        json["using"] = json!(node.using);
    }
    if let Some(filter) = &node.filter {
        json["filter"] = filter.json();
    }
    if let Some(threshold) = node.threshold {
        json["score_threshold"] = json!(threshold);
    }
    if !node.prefetch.is_empty() {
        json["prefetch"] = node.prefetch.iter().map(node_json).collect();
    }
    json
}
