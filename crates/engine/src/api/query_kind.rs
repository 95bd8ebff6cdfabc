//! `query`: the kind of a query, in each of its forms (C6.3).

use super::body::{Budget, Result, list};
use super::example;
use super::order_by;
use super::search_params::number_in;
use crate::config::fields::{choice, shorten};
use crate::json::{Kind, Reader};
use crate::query::formula::{Defaults, Formula};
use crate::query::tree::{Discover, Example, Feedback, Fusion, Mmr, Query, Recommend, Strategy};
use std::sync::Arc;

/// Limit of `candidates_limit`: maximal marginal relevance compares each candidate with each other.
const MAX_CANDIDATES: u64 = 16_384;
/// `diversity` if the request has none.
const DEFAULT_DIVERSITY: f32 = 0.5;
/// `k` of reciprocal rank fusion if the request has none.
const DEFAULT_RRF_K: f64 = 2.0;

pub(super) const STRATEGIES: [(&str, Strategy); 3] = [
    ("average_vector", Strategy::AverageVector),
    ("best_score", Strategy::BestScore),
    ("sum_scores", Strategy::SumScores),
];

/// Limit of the number of weights while reading. Later they are checked to be one for each prefetch.
const MAX_WEIGHTS: usize = 1024;

/// Limit of the number of examples with feedback: each is compared with each other.
const MAX_FEEDBACK: usize = 1000;

/// Names of the forms, for messages.
const FORMS: &str =
    "nearest, recommend, discover, context, relevance_feedback, order_by, fusion, rrf, formula, sample";

/// Reads `query`: a vector, an id, or an object with the name of a form.
pub(super) fn read(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Query> {
    if reader.peek()? != Kind::Object || example::is_object(reader)? {
        return example::read(reader).map(Query::Nearest);
    }
    let mut forms: Vec<(&str, Query)> = Vec::new();
    let (mut mmr, mut defaults) = (None, None);
    reader.object(|r, key| {
        if r.take_null()? {
            return Ok(());
        }
        match key {
            "mmr" => mmr = Some(read_mmr(r)?),
            "defaults" => defaults = Some(Defaults::parse(r)?),
            _ => {
                let (form, query) = read_form(r, key, budget)?;
                forms.retain(|(known, _)| *known != form);
                forms.push((form, query));
            }
        }
        Ok(())
    })?;
    let query = match forms.len() {
        0 => return Err(reader.error(format!("expected one of {FORMS}"))),
        1 => forms.remove(0).1,
        _ => {
            let why = format!("expected one kind of query, got {} and {}", forms[0].0, forms[1].0);
            return Err(reader.error(why));
        }
    };
    let query = match (query, mmr) {
        (query, None) => query,
        (Query::Nearest(nearest), Some((diversity, candidates))) => {
            Query::Mmr(Mmr { nearest, diversity, candidates })
        }
        _ => return Err(reader.error("mmr goes with nearest only")),
    };
    match (query, defaults) {
        (query, None) => Ok(query),
        (Query::Formula(formula), Some(defaults)) => {
            Ok(Query::Formula(Arc::new(Arc::unwrap_or_clone(formula).with_defaults(defaults))))
        }
        _ => Err(reader.error("defaults go with a formula only")),
    }
}

/// Reads the value of the form `name`.
fn read_form(r: &mut Reader<'_>, name: &str, budget: &mut Budget<'_>) -> Result<(&'static str, Query)> {
    Ok(match name {
        "nearest" => ("nearest", Query::Nearest(example::read(r)?)),
        "formula" => ("formula", Query::Formula(Arc::new(Formula::parse(r, budget.limits)?))),
        "recommend" => ("recommend", Query::Recommend(read_recommend(r, budget)?)),
        "discover" => ("discover", Query::Discover(read_discover(r, budget)?)),
        "context" => {
            let pairs = example::read_pairs(r, budget)?;
            if pairs.is_empty() {
                return Err(r.error("at least one pair is needed"));
            }
            ("context", Query::Context(pairs))
        }
        "relevance_feedback" => ("relevance_feedback", Query::Feedback(read_feedback(r)?)),
        "order_by" => ("order_by", Query::OrderBy(order_by::read(r)?)),
        "fusion" => ("fusion", Query::Fusion(read_fusion(r)?)),
        "rrf" => ("rrf", Query::Fusion(read_rrf(r)?)),
        "sample" => ("sample", choice(r, &[("random", ())]).map(|()| Query::Sample)?),
        other => return Err(r.error(format!("unknown kind of query '{}'", shorten(other)))),
    })
}

fn read_feedback(reader: &mut Reader<'_>) -> Result<Feedback> {
    let (mut target, mut items, mut strategy) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "target" => target = r.optional(example::read)?,
            "feedback" => items = r.optional(|r| list(r, MAX_FEEDBACK, "feedback", read_feedback_item))?,
            "strategy" => strategy = r.optional(read_feedback_strategy)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let target = target.ok_or_else(|| reader.missing("target"))?;
    let items = items.ok_or_else(|| reader.missing("feedback"))?;
    if items.is_empty() {
        return Err(reader.error("feedback: feedback elements must be non-empty"));
    }
    let [a, b, c] = strategy.ok_or_else(|| reader.missing("strategy"))?;
    Ok(Feedback { target, items, a, b, c })
}

fn read_feedback_item(reader: &mut Reader<'_>) -> Result<(Example, f32)> {
    let (mut example, mut score) = (None, None);
    reader.object(|r, key| {
        match key {
            "example" => example = r.optional(example::read)?,
            "score" => score = r.optional(finite)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let example = example.ok_or_else(|| reader.missing("example"))?;
    Ok((example, score.ok_or_else(|| reader.missing("score"))?))
}

/// The coefficients a, b and c of the naive strategy, which is the only one.
fn read_feedback_strategy(reader: &mut Reader<'_>) -> Result<[f32; 3]> {
    let mut naive = None;
    reader.object(|r, key| {
        match key {
            "naive" => naive = r.optional(read_coefficients)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    naive.ok_or_else(|| reader.missing("naive"))
}

fn read_coefficients(reader: &mut Reader<'_>) -> Result<[f32; 3]> {
    let (mut a, mut b, mut c) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "a" => a = r.optional(finite)?,
            "b" => b = r.optional(|r| number_in(r, 0.0, f64::from(f32::MAX)))?,
            "c" => c = r.optional(finite)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let a = a.ok_or_else(|| reader.missing("a"))?;
    let b = b.ok_or_else(|| reader.missing("b"))? as f32;
    Ok([a, b, c.ok_or_else(|| reader.missing("c"))?])
}

/// A number within the range of f32.
fn finite(reader: &mut Reader<'_>) -> Result<f32> {
    number_in(reader, f64::from(f32::MIN), f64::from(f32::MAX)).map(|number| number as f32)
}

/// `diversity`, and `candidates_limit` if it is given.
fn read_mmr(reader: &mut Reader<'_>) -> Result<(f32, Option<usize>)> {
    let (mut diversity, mut candidates) = (None, None);
    reader.object(|r, key| {
        match key {
            "diversity" => diversity = r.optional(|r| number_in(r, 0.0, 1.0))?,
            "candidates_limit" => candidates = r.optional(|r| r.integer_in(1, MAX_CANDIDATES))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let diversity = diversity.map_or(DEFAULT_DIVERSITY, |value| value as f32);
    Ok((diversity, candidates.map(|count| count as usize)))
}

fn read_recommend(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Recommend> {
    let (mut positive, mut negative, mut strategy) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "positive" => positive = r.optional(|r| example::read_list(r, budget))?,
            "negative" => negative = r.optional(|r| example::read_list(r, budget))?,
            "strategy" => strategy = r.optional(|r| choice(r, &STRATEGIES))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    checked_recommend(reader, positive, negative, strategy)
}

/// A recommendation of these parts of the object that has just been read.
pub(super) fn checked_recommend(
    reader: &Reader<'_>,
    positive: Option<Vec<Example>>,
    negative: Option<Vec<Example>>,
    strategy: Option<Strategy>,
) -> Result<Recommend> {
    let (positive, negative) = (positive.unwrap_or_default(), negative.unwrap_or_default());
    let strategy = strategy.unwrap_or(Strategy::AverageVector);
    if positive.is_empty() && negative.is_empty() {
        return Err(reader.error("At least one positive or negative vector/id must be provided"));
    }
    if positive.is_empty() && strategy == Strategy::AverageVector {
        return Err(reader.error("Positive vectors should not be empty with average strategy"));
    }
    Ok(Recommend { positive, negative, strategy })
}

fn read_discover(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Discover> {
    let (mut target, mut context) = (None, None);
    reader.object(|r, key| {
        match key {
            "target" => target = r.optional(example::read)?,
            "context" => context = r.optional(|r| example::read_pairs(r, budget))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let target = target.ok_or_else(|| reader.missing("target"))?;
    Ok(Discover { target, context: context.unwrap_or_default() })
}

fn read_fusion(reader: &mut Reader<'_>) -> Result<Fusion> {
    let is_rrf = choice(reader, &[("rrf", true), ("dbsf", false)])?;
    Ok(if is_rrf { Fusion::Rrf { k: DEFAULT_RRF_K, weights: Vec::new() } } else { Fusion::Dbsf })
}

fn read_rrf(reader: &mut Reader<'_>) -> Result<Fusion> {
    let (mut k, mut weights) = (None, None);
    reader.object(|r, key| {
        match key {
            "k" => k = r.optional(|r| r.integer_in(1, u64::MAX))?,
            "weights" => weights = r.optional(|r| list(r, MAX_WEIGHTS, "weights", |r| r.f64()))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(Fusion::Rrf { k: k.map_or(DEFAULT_RRF_K, |k| k as f64), weights: weights.unwrap_or_default() })
}
