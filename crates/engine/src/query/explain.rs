//! What a query did, and how the scores of its hits came about (C13).
//!
//! An explained query runs its leaves one after the other on one thread, and finds what the same query finds without an
//! explanation. What is costly to know, such as how many points match, is found out after the hits.

use super::bound_search::BoundSearch;
use super::fusion;
use super::matching::Matching;
use super::plan_runner::PlanRunner;
use super::planner::{CostModel, Plan};
use super::prepared::{Goal, Prepared, Step};
use super::run::{List, Lookup, combine, find, merge_sources, page};
use super::tally::{Tally, take_tally};
use super::tree::QueryRequest;
use super::vector_search::{VectorSearch, Width};
use super::why::{Why, why};
use super::{Hit, calculated};
use crate::collection::{Snapshot, State};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::{FilterIndexes, IndexSet};
use crate::payload::JsonPath;
use crate::types::PointOffset;
use crate::vectors::VectorValue;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What a query did.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Each search of the collection: the query alone, or its prefetches from left to right.
    pub steps: Vec<StepFigures>,
    /// How what the prefetches have found became one list; `None` for a query without prefetches.
    pub merged_by: Option<&'static str>,
    /// Time of making the query ready: looking up examples.
    pub preparing: Duration,
    /// Time of merging what the prefetches have found.
    pub merging: Duration,
    /// How the score of each hit came about, in the order of the hits.
    pub hits: Vec<Vec<ScoreDetail>>,
    /// What became of the points that were asked for; `None` if none was.
    pub why: Option<Vec<Why>>,
}

/// One search of a collection.
#[derive(Clone, Debug)]
pub struct StepFigures {
    /// `query`, or which prefetch.
    pub source: String,
    /// What was done.
    pub plan: &'static str,
    /// Why, in a sentence.
    pub reason: String,
    /// Width of walks, of a search that may walk.
    pub ef: Option<usize>,
    /// Where that comes from.
    pub width: Width,
    /// How many points were taken to match when it was planned; `None` where nothing is planned.
    pub estimated_matches: Option<u64>,
    /// How many match.
    pub matches: u64,
    /// What was counted.
    pub tally: Tally,
    /// Which field indexes answer its filter, and which would.
    pub indexes: FilterIndexes,
    /// Those that answer it and that nobody declared (C23).
    pub auto_indexes: Vec<JsonPath>,
    /// Time of applying field indexes to the filter.
    pub planning: Duration,
    /// Time of the rest.
    pub searching: Duration,
}

/// A part of the score of a hit.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreDetail {
    /// `query`, which prefetch, or which term of a formula.
    pub source: String,
    /// Name of the vector that was compared; `None` where none was.
    pub using: Option<String>,
    /// Place in what the source has found, from 1.
    pub rank: Option<usize>,
    /// What the source has scored.
    pub raw: f64,
    /// What it adds to the score.
    pub contribution: f64,
}

/// Runs a query on a snapshot, on this thread, and explains it.
///
/// # Errors
/// The errors of the query, and `PointNotFound` where a point of `why` does not exist.
pub fn explain(
    snapshot: &Snapshot,
    request: &QueryRequest,
    lookup: &dyn Lookup,
    deadline: &Deadline,
) -> Result<(Vec<Hit>, Explanation), Error> {
    let start = Instant::now();
    let prepared = Prepared::new(snapshot, request, lookup)?;
    let preparing = start.elapsed();
    let sources = leaf_sources(&prepared.root);
    let mut steps = Vec::with_capacity(sources.len());
    let mut found = Vec::with_capacity(sources.len());
    let mut samples = Vec::new();
    for (step, source) in prepared.leaves().into_iter().zip(sources) {
        let (list, figures) = explain_leaf(snapshot, step, source, deadline)?;
        if matches!(step.goal, Goal::Sample) {
            samples.push(list.hits.clone());
        }
        found.push(list);
        steps.push(figures);
    }
    let start = Instant::now();
    let root = &prepared.root;
    let mut found = found.into_iter();
    let (list, lists) = match (root.sources.is_empty(), found.next()) {
        (true, Some(list)) => (list, Vec::new()),
        (_, first) => {
            let mut found: std::vec::IntoIter<List> =
                first.into_iter().chain(found).collect::<Vec<_>>().into_iter();
            let lists = merge_sources(snapshot, root, &mut found, deadline)?;
            (combine(snapshot, root, &lists, deadline)?, lists)
        }
    };
    let merging = start.elapsed();
    if let Some(last) = steps.last_mut() {
        // What the merge has compared.
        last.tally.add(take_tally());
    }
    let details = score_details(&snapshot.view.state, root, &lists, &list.hits, deadline)?;
    let hits = page(&prepared, list.hits);
    let of_page = details.into_iter().skip(prepared.offset).collect();
    let asked = request.node.explain.as_ref().map_or(&[][..], |explain| &explain.why);
    let found = (&hits[..], &samples[..]);
    let reasons =
        (!asked.is_empty()).then(|| why(snapshot, request, &prepared, found, (asked, lookup), deadline));
    let explanation = Explanation {
        steps,
        merged_by: merged_by(root),
        preparing,
        merging,
        hits: of_page,
        why: reasons.transpose()?,
    };
    Ok((hits, explanation))
}

fn merged_by(root: &Step) -> Option<&'static str> {
    (!root.sources.is_empty()).then_some(match root.goal {
        Goal::Fusion(_) => "fusion",
        Goal::Formula(_) => "formula",
        _ => "rescoring",
    })
}

/// The names of the leaves, from left to right.
fn leaf_sources(root: &Step) -> Vec<String> {
    fn collect(step: &Step, place: &str, names: &mut Vec<String>) {
        if step.sources.is_empty() {
            names.push(if place.is_empty() { "query".to_string() } else { place.to_string() });
        }
        let dot = if place.is_empty() { "" } else { "." };
        for (at, source) in step.sources.iter().enumerate() {
            collect(source, &format!("{place}{dot}prefetch[{at}]"), names);
        }
    }
    let mut names = Vec::new();
    collect(root, "", &mut names);
    names
}

fn explain_leaf(
    snapshot: &Snapshot,
    step: &Step,
    source: String,
    deadline: &Deadline,
) -> Result<(List, StepFigures), Error> {
    deadline.check()?;
    let state = &snapshot.view.state;
    let start = Instant::now();
    let mut matching = Matching::new(state, step.filter.as_deref(), deadline);
    let (planning, is_indexed) = (start.elapsed(), matching.is_exact());
    let costs = costs(snapshot, step, deadline)?;
    take_tally();
    let start = Instant::now();
    let list = find(snapshot, step, &mut matching, step.params, deadline)?;
    let searching = start.elapsed();
    let found = take_tally();
    let matches = match &step.filter {
        Some(filter) => Matching::new(state, Some(filter), deadline).offsets(deadline)?.len(),
        None => state.live.len(),
    };
    let tally = Tally {
        searches: 1,
        unindexed: u64::from(!is_indexed),
        plan_nanos: planning.as_nanos() as u64,
        counted: 1,
        matches,
        ..found
    };
    // Until a declared index is built, an automatic one answers, or none.
    let kind_at = |path: &JsonPath| state.index(path).map(|index| index.schema().kind());
    let indexes = step.filter.as_ref().map(|filter| filter.indexes(&kind_at)).unwrap_or_default();
    let auto_indexes = indexes.used.iter().filter(|path| !state.has_built(path)).cloned().collect();
    let (plan, reason) = described(step, costs.as_ref(), &tally);
    let figures = StepFigures {
        source,
        plan,
        reason,
        ef: costs.map(|costs| costs.ef),
        width: costs.map_or(Width::Given, |costs| costs.width),
        estimated_matches: costs.map(|costs| costs.matches as u64),
        matches,
        tally,
        indexes,
        auto_indexes,
        planning,
        searching,
    };
    Ok((list, figures))
}

/// What the planner compares, of a search that has a graph.
fn costs(snapshot: &Snapshot, step: &Step, deadline: &Deadline) -> Result<Option<CostModel>, Error> {
    let (target, k) = match &step.goal {
        Goal::Nearest(target) => (target, step.window),
        Goal::Mmr { target, candidates, .. } => (target, *candidates),
        _ => return Ok(None),
    };
    let VectorValue::Dense(components) = &target.vector else { return Ok(None) };
    let Some((graph, boundary)) = &snapshot.graphs[target.field] else { return Ok(None) };
    if step.params.exact {
        return Ok(None);
    }
    let search = VectorSearch::of_step(&snapshot.view.state.config, step, step.params, target, k);
    let bound = BoundSearch::new(&snapshot.view, search, components, deadline);
    let mut matching = Matching::new(&snapshot.view.state, step.filter.as_deref(), deadline);
    PlanRunner::new(&bound, graph, *boundary).costs(&mut matching).map(Some)
}

/// What a leaf did and why.
fn described(step: &Step, costs: Option<&CostModel>, tally: &Tally) -> (&'static str, String) {
    let target = match &step.goal {
        Goal::Nearest(target) | Goal::Mmr { target, .. } => target,
        Goal::Custom(_) => return ("exact", "every match is compared with every example".to_string()),
        Goal::OrderBy(_) => return ("order_by", "the order is that of a field".to_string()),
        Goal::Sample => return ("sample", "every match is equally likely".to_string()),
        _ => return ("by_id", "there is no query: the order is that of ids".to_string()),
    };
    let plan = match tally {
        Tally { wide_walks: 1.., .. } => "walk",
        Tally { two_hop_walks: 1.., .. } => "filtered_walk",
        Tally { scans: 1.., .. } => "scan",
        _ => "exact",
    };
    let reason = match (costs, &target.vector) {
        _ if step.params.exact => "params.exact asks for it".to_string(),
        (None, VectorValue::Sparse(_)) => {
            "sparse vectors are searched exactly by their inverted index".to_string()
        }
        (None, VectorValue::Multi(_)) if plan != "exact" => "by the rows of the multi-vectors".to_string(),
        (None, VectorValue::Multi(_)) => {
            "comparing every match costs less than walks for each row".to_string()
        }
        (None, VectorValue::Dense(_)) => {
            "the field has no graph yet: it is too small, or being indexed".to_string()
        }
        (Some(costs), _) => compared(costs),
    };
    let fallbacks = match tally.fallbacks {
        0 => String::new(),
        1 => "; the first plan met too few matches, and was followed by another".to_string(),
        count => format!("; {count} plans met too few matches, and were followed by another"),
    };
    (plan, reason + &fallbacks)
}

/// The costs of the plans, in words.
pub fn compared(costs: &CostModel) -> String {
    let cost = |plan| match costs.cost(plan) {
        cost if cost.is_finite() => format!("{:.0}", cost),
        _ => "too much".to_string(),
    };
    format!(
        "in comparisons of vectors, a scan of the matches costs {}, a walk through all points {}, a walk through matches {}",
        cost(Plan::Scan),
        cost(Plan::Wide),
        cost(Plan::TwoHop)
    )
}

/// How the score of each of the hits came about.
fn score_details(
    state: &State,
    root: &Step,
    lists: &[List],
    hits: &[Hit],
    deadline: &Deadline,
) -> Result<Vec<Vec<ScoreDetail>>, Error> {
    let sources: Vec<Source> =
        lists.iter().enumerate().map(|(at, list)| Source::new(root, at, list)).collect();
    let scores: Vec<HashMap<PointOffset, f32>> = lists.iter().map(calculated::scores_of).collect();
    let of_hit = |(at, hit): (usize, &Hit)| {
        let mut details: Vec<ScoreDetail> = match &root.goal {
            Goal::Fusion(_) => Vec::new(),
            Goal::Formula(formula) => {
                let scores: Vec<Option<f32>> = scores.iter().map(|of| of.get(&hit.offset).copied()).collect();
                let term = |(place, value): (&str, f64)| ScoreDetail {
                    source: place.to_string(),
                    using: None,
                    rank: None,
                    raw: value,
                    contribution: value,
                };
                formula
                    .addends(&state.subject(hit.offset), &scores, Some(deadline))?
                    .into_iter()
                    .map(term)
                    .collect()
            }
            _ => vec![ScoreDetail {
                source: "query".to_string(),
                using: using(state, root),
                rank: Some(at + 1),
                raw: f64::from(hit.score),
                contribution: f64::from(hit.score),
            }],
        };
        for (at, source) in sources.iter().enumerate() {
            let using = using(state, &root.sources[at]);
            let times = if at == 0 && PlantedFault::ContributionsDoubled.is_on() { 2 } else { 1 };
            let detail = source.detail(format!("prefetch[{at}]"), using, hit.offset);
            details.extend(std::iter::repeat_n(detail, times).flatten());
        }
        Ok(details)
    };
    hits.iter().enumerate().map(of_hit).collect()
}

/// Name of the vector that a step compares.
fn using(state: &State, step: &Step) -> Option<String> {
    let field = match &step.goal {
        Goal::Nearest(target) | Goal::Mmr { target, .. } => target.field,
        Goal::Custom(custom) => custom.field,
        _ => return None,
    };
    Some(state.config.name_at(field).to_string())
}

/// What a prefetch has found.
struct Source {
    /// The place, the score and what they add, of each point.
    found: HashMap<PointOffset, (usize, f32, f64)>,
}

impl Source {
    fn new(root: &Step, at: usize, list: &List) -> Source {
        let hits = fusion::different(&list.hits);
        let contributions = match &root.goal {
            Goal::Fusion(fusion) => fusion::contributions(fusion, at, list, &hits),
            // Their scores count in the terms of a formula, or not at all.
            _ => vec![0.0; hits.len()],
        };
        let of = |(place, (hit, worth)): (usize, (&Hit, f64))| (hit.offset, (place, hit.score, worth));
        Source { found: hits.iter().zip(contributions).enumerate().map(of).collect() }
    }

    fn detail(&self, source: String, using: Option<String>, offset: PointOffset) -> Option<ScoreDetail> {
        let &(place, raw, contribution) = self.found.get(&offset)?;
        Some(ScoreDetail { source, using, rank: Some(place + 1), raw: f64::from(raw), contribution })
    }
}
