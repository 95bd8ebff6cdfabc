//! A model of queries over few points: what each step finds, and why it does not find the others.
//!
//! All components are whole or half numbers, so that similarities are exact.

use super::filters::Filter;
use std::collections::{BTreeMap, BTreeSet};

/// A vector in one of the forms that fields take. A dense one is one row.
#[derive(Clone, Debug)]
pub enum Vector {
    Rows(Vec<Vec<f64>>),
    Sparse(BTreeMap<u32, f64>),
}

pub struct Point {
    pub vectors: BTreeMap<&'static str, Vector>,
    pub n: i64,
    pub order: Option<i64>,
    /// Size and colour of each part.
    pub parts: Vec<(i64, &'static str)>,
}

/// What an example is, and the point that it is, if it is one.
#[derive(Clone, Debug)]
pub struct Example {
    pub vector: Vector,
    pub id: Option<u64>,
}

#[derive(Clone, Debug)]
pub enum Goal {
    Nearest(Example),
    Mean(Vec<Example>),
    Mmr(Example, usize),
    Best(Vec<Example>, Vec<Example>),
    Sum(Vec<Example>, Vec<Example>),
    Discover(Example, Vec<(Example, Example)>),
    Context(Vec<(Example, Example)>),
    OrderBy { descending: bool, start: Option<i64> },
    ById,
    Rrf(f64, Vec<f64>),
    Dbsf,
    Formula,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub using: &'static str,
    pub goal: Goal,
    pub filter: Option<Filter>,
    pub threshold: Option<f32>,
    pub limit: usize,
    pub prefetch: Vec<Node>,
}

/// Reasons in the order in which the first that applies counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    NoVector,
    Filter,
    Threshold,
    Rank,
}

/// What a step finds.
pub struct Found {
    /// All that it could find, best first, with scores.
    pub list: Vec<(u64, f32)>,
    pub kept: Vec<(u64, f32)>,
    pub lost: BTreeMap<u64, Reason>,
    smaller_is_better: bool,
}

pub struct Model {
    pub points: BTreeMap<u64, Point>,
}

/// What a hit adds by DBSF where all hits of a list have one score.
const LEVEL: f64 = 0.5;

impl Model {
    /// What a query finds. `window` is how many hits, `out` are the points that steps above leave out.
    pub fn run(&self, node: &Node, window: usize, out: &BTreeSet<u64>) -> Found {
        let mut out = out.clone();
        out.extend(self.points.keys().filter(|id| self.own_failure(node, **id).is_some()));
        let sources: Vec<Found> =
            node.prefetch.iter().map(|source| self.run(source, source.limit, &out)).collect();
        let fetched: BTreeSet<u64> =
            sources.iter().flat_map(|source| &source.kept).map(|(id, _)| *id).collect();
        let is_candidate = |id: &u64| match sources.as_slice() {
            [] => !out.contains(id),
            _ => fetched.contains(id),
        };
        let candidates: Vec<u64> = self.points.keys().copied().filter(is_candidate).collect();
        let smaller_is_better =
            node.using == "e" && matches!(node.goal, Goal::Nearest(_) | Goal::Mean(_) | Goal::Mmr(..));
        let is_beyond = |score: f32| {
            node.threshold.is_some_and(|least| if smaller_is_better { score > least } else { score < least })
        };
        let list = self.list(node, &candidates, &sources, window);
        let kept: Vec<(u64, f32)> =
            list.iter().filter(|hit| !is_beyond(hit.1)).take(window).copied().collect();
        let ids: BTreeSet<u64> = kept.iter().map(|hit| hit.0).collect();
        let mut lost = BTreeMap::new();
        for id in self.points.keys().filter(|id| !ids.contains(*id)) {
            let score =
                list.iter().find(|hit| hit.0 == *id).map(|hit| hit.1).or_else(|| self.alone(node, *id));
            let compares = !matches!(node.goal, Goal::ById | Goal::Rrf(..) | Goal::Dbsf | Goal::Formula);
            let reason = if compares && score.is_none() {
                if matches!(node.goal, Goal::OrderBy { .. }) { Reason::Filter } else { Reason::NoVector }
            } else if sources.is_empty() && out.contains(id) {
                Reason::Filter
            } else if !sources.is_empty() && !fetched.contains(id) {
                sources.iter().map(|source| source.lost[id]).max().expect("a source")
            } else if score.is_some_and(is_beyond) {
                Reason::Threshold
            } else {
                Reason::Rank
            };
            lost.insert(*id, reason);
        }
        Found { list, kept, lost, smaller_is_better }
    }

    fn list(&self, node: &Node, candidates: &[u64], sources: &[Found], window: usize) -> Vec<(u64, f32)> {
        let mut scored: Vec<(u64, f32, f64)> = Vec::new();
        for &id in candidates {
            match &node.goal {
                Goal::Rrf(..) | Goal::Dbsf => {
                    let worth = |(at, source)| worth(&node.goal, at, source, id);
                    let score: f64 = sources.iter().enumerate().filter_map(worth).sum();
                    scored.push((id, score as f32, -f64::from(score as f32)));
                }
                Goal::Formula => {
                    let of = |at: usize| {
                        let found = sources.get(at)?.kept.iter().find(|hit| hit.0 == id)?;
                        Some(f64::from(found.1))
                    };
                    let second = if sources.len() > 1 { 0.5 * of(1).unwrap_or(0.0) } else { 0.0 };
                    let score = of(0).unwrap_or(0.0) + second + self.points[&id].n as f64;
                    scored.push((id, score as f32, -f64::from(score as f32)));
                }
                Goal::ById => scored.push((id, 1.0, 0.0)),
                Goal::OrderBy { descending, .. } => {
                    if self.alone(node, id).is_some() {
                        let value = self.points[&id].order.expect("a value") as f64;
                        scored.push((id, 1.0, if *descending { -value } else { value }));
                    }
                }
                _ => {
                    if let Some(score) = self.alone(node, id) {
                        let key = f64::from(score);
                        let is_distance = node.using == "e"
                            && matches!(node.goal, Goal::Nearest(_) | Goal::Mean(_) | Goal::Mmr(..));
                        scored.push((id, score, if is_distance { key } else { -key }));
                    }
                }
            }
        }
        scored.sort_by(|a, b| a.2.partial_cmp(&b.2).expect("no NaN").then(a.0.cmp(&b.0)));
        let list: Vec<(u64, f32)> = scored.into_iter().map(|(id, score, _)| (id, score)).collect();
        match &node.goal {
            Goal::Mmr(query, among) => self.diverse(node, query, list, *among, window),
            _ => list,
        }
    }

    /// Half by similarity to the query, half by difference from those chosen.
    fn diverse(
        &self,
        node: &Node,
        query: &Example,
        list: Vec<(u64, f32)>,
        among: usize,
        window: usize,
    ) -> Vec<(u64, f32)> {
        let beyond = |score: f32| {
            node.threshold.is_some_and(|least| if node.using == "e" { score > least } else { score < least })
        };
        let mut rest: Vec<(u64, f32)> = list.into_iter().filter(|hit| !beyond(hit.1)).take(among).collect();
        let sim = |id: u64, to: &Vector| self.similarity(node.using, id, to).expect("a candidate");
        let mut chosen: Vec<(u64, f32)> = Vec::new();
        while chosen.len() < window && !rest.is_empty() {
            let worth = |id: u64| {
                // Of multi-vectors the candidate asks.
                let near = |other: &(u64, f32)| sim(other.0, &self.points[&id].vectors[node.using]);
                let redundancy = chosen.iter().map(near).fold(f64::NEG_INFINITY, f64::max);
                if chosen.is_empty() { 0.0 } else { 0.5 * sim(id, &query.vector) - 0.5 * redundancy }
            };
            let contributions: Vec<f64> = rest.iter().map(|hit| worth(hit.0)).collect();
            let best = contributions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            chosen.push(rest.remove(contributions.iter().position(|&one| one == best).expect("the best")));
        }
        chosen
    }

    /// The score of a point by the step alone; none where it cannot be compared.
    pub fn alone(&self, node: &Node, id: u64) -> Option<f32> {
        let sim = |example: &Example| self.similarity(node.using, id, &example.vector);
        // A distance is shown as one.
        let shown = |vector: &Vector| {
            let similarity = self.similarity(node.using, id, vector)?;
            let is_apart = matches!((vector, &self.points[&id].vectors[node.using]),
                (Vector::Sparse(a), Vector::Sparse(b)) if !a.keys().any(|key| b.contains_key(key)));
            let score = if node.using == "e" { (-similarity as f32).sqrt() } else { similarity as f32 };
            (!is_apart).then_some(score)
        };
        let all = |examples: &[Example]| examples.iter().map(sim).collect::<Option<Vec<f64>>>();
        let pairs = |pairs: &[(Example, Example)]| {
            pairs.iter().map(|(p, n)| Some((sim(p)? as f32, sim(n)? as f32))).collect::<Option<Vec<_>>>()
        };
        Some(match &node.goal {
            Goal::Nearest(query) | Goal::Mmr(query, _) => shown(&query.vector)?,
            Goal::Mean(examples) => shown(&mean(examples))?,
            Goal::Sum(positive, negative) => {
                (all(positive)?.iter().sum::<f64>() - all(negative)?.iter().sum::<f64>()) as f32
            }
            Goal::Best(positive, negative) => {
                let best = |sims: Vec<f64>| sims.into_iter().fold(f64::NEG_INFINITY, f64::max) as f32;
                let (p, n) = (best(all(positive)?), best(all(negative)?));
                if p > n { sigmoid(p) } else { -sigmoid(n) }
            }
            Goal::Discover(target, context) => {
                let side = |&(p, n): &(f32, f32)| (p > n) as i32 - (p < n) as i32;
                pairs(context)?.iter().map(side).sum::<i32>() as f32 + sigmoid(sim(target)? as f32)
            }
            Goal::Context(context) => {
                let loss = |&(p, n): &(f32, f32)| {
                    let x = (p - n - f32::EPSILON).min(0.0);
                    f64::from(x / (1.0 + x.abs()))
                };
                pairs(context)?.iter().map(loss).sum::<f64>() as f32
            }
            Goal::OrderBy { descending, start } => {
                let value = self.points[&id].order?;
                let begins = |start| if *descending { value <= start } else { value >= start };
                start.is_none_or(begins).then_some(1.0)?
            }
            Goal::ById | Goal::Rrf(..) | Goal::Dbsf | Goal::Formula => return None,
        })
    }

    fn similarity(&self, field: &str, id: u64, to: &Vector) -> Option<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let apart = |a: &[f64], b: &[f64]| -a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        Some(match (to, self.points[&id].vectors.get(field)?) {
            (Vector::Rows(asked), Vector::Rows(rows)) => {
                let one = |a: &[f64], b: &[f64]| if field == "e" { apart(a, b) } else { dot(a, b) };
                let best = |a: &Vec<f64>| rows.iter().map(|b| one(a, b)).fold(f64::NEG_INFINITY, f64::max);
                asked.iter().map(best).sum()
            }
            (Vector::Sparse(a), Vector::Sparse(b)) => {
                a.iter().filter_map(|(key, weight)| Some(weight * b.get(key)?)).sum()
            }
            _ => panic!("{field} takes another kind of vectors"),
        })
    }

    /// The first condition that keeps a point from what a step finds.
    pub fn failed_condition(&self, node: &Node, id: u64, place: &str) -> Option<String> {
        let dot = if place.is_empty() { "" } else { "." };
        if let Some(own) = self.own_failure(node, id) {
            return Some(format!("{place}{dot}{own}"));
        }
        if matches!(node.goal, Goal::OrderBy { .. }) && self.alone(node, id).is_none() {
            return Some(format!("{place}{dot}query.order_by"));
        }
        let failed: Vec<Option<String>> = node
            .prefetch
            .iter()
            .enumerate()
            .filter(|(_, source)| !self.finds_never(source, id))
            .map(|(at, source)| self.failed_condition(source, id, &format!("{place}{dot}prefetch[{at}]")))
            .collect();
        if failed.iter().any(Option::is_none) {
            return None;
        }
        // Also of a source that finds the point never, conditions may be named.
        let all = node.prefetch.iter().enumerate();
        all.filter_map(|(at, source)| {
            self.failed_condition(source, id, &format!("{place}{dot}prefetch[{at}]"))
        })
        .next()
    }

    fn finds_never(&self, node: &Node, id: u64) -> bool {
        let compares = !matches!(node.goal, Goal::ById | Goal::Rrf(..) | Goal::Dbsf | Goal::Formula);
        compares && self.alone(node, id).is_none()
            || !node.prefetch.is_empty() && node.prefetch.iter().all(|source| self.finds_never(source, id))
    }

    fn own_failure(&self, node: &Node, id: u64) -> Option<String> {
        let failing = node.filter.as_ref().and_then(|filter| filter.failing(&self.points[&id]));
        let by_filter = failing.map(|place| format!("filter.{place}"));
        let is_example = node.goal.examples().iter().any(|example| example.id == Some(id));
        by_filter.or_else(|| is_example.then(|| "query".to_string()))
    }
}

/// What a place in a list adds to the score of a fusion.
fn worth(goal: &Goal, at: usize, source: &Found, id: u64) -> Option<f64> {
    let place = source.kept.iter().position(|hit| hit.0 == id)?;
    let Goal::Rrf(k, weights) = goal else {
        let sign = if source.smaller_is_better { -1.0 } else { 1.0 };
        let scores: Vec<f64> = source.kept.iter().map(|hit| sign * f64::from(hit.1)).collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let squares: f64 = scores.iter().map(|score| (score - mean) * (score - mean)).sum();
        let deviation = (squares / (scores.len() as f64 - 1.0)).sqrt();
        let is_level = scores.iter().all(|score| *score == scores[0]);
        let scaled = (scores[place] - (mean - 3.0 * deviation)) / (6.0 * deviation);
        return Some(if is_level { LEVEL } else { scaled });
    };
    let weight = weights.get(at).copied().unwrap_or(1.0);
    Some(1.0 / ((place as f64 + 1.0) / weight + k - 1.0))
}

fn mean(examples: &[Example]) -> Vector {
    let rows: Vec<&Vec<f64>> = examples
        .iter()
        .map(|example| match &example.vector {
            Vector::Rows(rows) => &rows[0],
            Vector::Sparse(_) => panic!("no mean of sparse vectors is asked for"),
        })
        .collect();
    let at = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / rows.len() as f64;
    Vector::Rows(vec![(0..rows[0].len()).map(at).collect()])
}

fn sigmoid(x: f32) -> f32 {
    if x < 0.0 { 0.5 / (1.0 - x) } else { 0.5 * (x / (1.0 + x) + 1.0) }
}

impl Goal {
    pub fn examples(&self) -> Vec<&Example> {
        match self {
            Goal::Nearest(one) | Goal::Mmr(one, _) => vec![one],
            Goal::Mean(all) => all.iter().collect(),
            Goal::Best(a, b) | Goal::Sum(a, b) => a.iter().chain(b).collect(),
            Goal::Discover(one, pairs) => {
                std::iter::once(one).chain(pairs.iter().flat_map(|(p, n)| [p, n])).collect()
            }
            Goal::Context(pairs) => pairs.iter().flat_map(|(p, n)| [p, n]).collect(),
            _ => Vec::new(),
        }
    }
}
