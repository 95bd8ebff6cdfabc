//! A query that is run exactly, step by step, to say where it has lost a point (C13).

use super::Hit;
use super::excluded::Excluded;
use super::matching::Matching;
use super::prepared::{Goal, Step};
use super::run::{List, combine, find, leaf};
use super::tree::QueryNode;
use super::why::Loss;
use crate::collection::{Snapshot, State};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::point_set::PointSet;
use crate::types::PointOffset;
use std::collections::HashMap;
use std::sync::Arc;

/// What a step of a query finds by exact comparison, and the steps below it.
pub(super) struct Trace<'a> {
    step: &'a Step,
    node: &'a QueryNode,
    deadline: &'a Deadline,
    /// Where it stands below the query; empty for the query itself.
    place: String,
    /// Its hits, best first: of the query and of steps with sources all that there could be, else those that it passes on.
    pub hits: Vec<Hit>,
    /// The first place of each point among them.
    pub places: HashMap<PointOffset, usize>,
    /// The points that it passes on.
    kept: PointSet,
    smaller_is_better: bool,
    /// The scores of the points that were asked for, whatever keeps them out. One that cannot be compared has none. `None` for
    /// a step that compares nothing with them.
    pub alone: Option<HashMap<PointOffset, f32>>,
    sources: Vec<Trace<'a>>,
}

/// Runs the steps of a query exactly.
pub(super) struct Tracer<'a> {
    snapshot: &'a Snapshot,
    /// The points that are asked for.
    asked: PointSet,
    /// What the leaves have found that draw samples, which cannot be drawn again.
    samples: std::slice::Iter<'a, Vec<Hit>>,
    deadline: &'a Deadline,
}

impl<'a> Tracer<'a> {
    pub fn new(
        snapshot: &'a Snapshot,
        asked: PointSet,
        samples: &'a [Vec<Hit>],
        deadline: &'a Deadline,
    ) -> Tracer<'a> {
        Tracer { snapshot, asked, samples: samples.iter(), deadline }
    }

    /// Runs a query whose steps are all exact.
    ///
    /// # Errors
    /// `Timeout`; `BadRequest` where a formula has no value.
    pub fn query(&mut self, root: &'a Step, node: &'a QueryNode) -> Result<Trace<'a>, Error> {
        Ok(self.step(root, node, String::new())?.0)
    }

    fn step(
        &mut self,
        step: &'a Step,
        node: &'a QueryNode,
        place: String,
    ) -> Result<(Trace<'a>, List), Error> {
        let dot = if place.is_empty() { "" } else { "." };
        let (mut sources, mut lists) = (Vec::with_capacity(step.sources.len()), Vec::new());
        for (at, (source, below)) in step.sources.iter().zip(&node.prefetch).enumerate() {
            let (trace, list) = self.step(source, below, format!("{place}{dot}prefetch[{at}]"))?;
            sources.push(trace);
            lists.push(list);
        }
        let List { hits, smaller_is_better } = self.list(step, &lists, place.is_empty())?;
        let passed_on = |hit: &&Hit| !is_beyond(step.threshold, hit.score, smaller_is_better);
        let kept: Vec<Hit> = hits.iter().filter(passed_on).take(step.window).copied().collect();
        let places = hits.iter().enumerate().rev().map(|(place, hit)| (hit.offset, place)).collect();
        let trace = Trace {
            deadline: self.deadline,
            step,
            node,
            place,
            hits,
            places,
            kept: kept.iter().map(|hit| hit.offset).collect(),
            smaller_is_better,
            alone: self.alone(step)?,
            sources,
        };
        Ok((trace, List { hits: kept, smaller_is_better }))
    }

    /// The hits of a step: all that there could be, where that takes no search that the query does not make.
    fn list(&mut self, step: &Step, lists: &[List], is_root: bool) -> Result<List, Error> {
        if matches!(step.goal, Goal::Sample) {
            // What is drawn from the hits of prefetches is not known, and no order of them is better than another.
            let drawn = if step.sources.is_empty() { self.samples.next().cloned() } else { None };
            return Ok(List { hits: drawn.unwrap_or_default(), smaller_is_better: false });
        }
        // What is chosen to differ from each other has no order beyond what is asked for.
        let is_whole = !matches!(step.goal, Goal::Mmr { .. }) && (is_root || !step.sources.is_empty());
        let whole;
        let step = if is_whole {
            let points = usize::try_from(self.snapshot.view.state.live.len()).unwrap_or(usize::MAX);
            let window = if PlantedFault::RankOfPage.is_on() { step.window } else { step.window.max(points) };
            whole = Step { threshold: None, window, ..step.clone() };
            &whole
        } else {
            step
        };
        match lists {
            [] => leaf(self.snapshot, step, self.deadline),
            _ => combine(self.snapshot, step, lists, self.deadline),
        }
    }

    /// The scores of the points that were asked for, by themselves.
    fn alone(&self, step: &Step) -> Result<Option<HashMap<PointOffset, f32>>, Error> {
        let goal = match &step.goal {
            Goal::Nearest(target) | Goal::Mmr { target, .. } => Goal::Nearest(target.clone()),
            Goal::Custom(custom) => Goal::Custom(custom.clone()),
            Goal::OrderBy(order_by) => Goal::OrderBy(order_by.clone()),
            Goal::Fusion(_) | Goal::Formula(_) | Goal::Sample | Goal::ById => return Ok(None),
        };
        // A point may have many values that it is ordered by, of which one is enough.
        let is_order = matches!(goal, Goal::OrderBy(_));
        let window = if is_order { 1 } else { usize::try_from(self.asked.len()).unwrap_or(usize::MAX) };
        let step = Step {
            goal,
            filter: None,
            excluded: Arc::new(Excluded::default()),
            params: step.params,
            threshold: None,
            window,
            sources: Vec::new(),
        };
        let mut scores = HashMap::new();
        let parts: Vec<PointSet> = match is_order {
            true => self.asked.iter().map(|offset| [offset].into_iter().collect()).collect(),
            false => vec![self.asked.clone()],
        };
        for part in parts {
            let mut matching = Matching::among(&self.snapshot.view.state, part);
            let found = find(self.snapshot, &step, &mut matching, step.params, self.deadline)?;
            scores.extend(found.hits.iter().map(|hit| (hit.offset, hit.score)));
        }
        Ok(Some(scores))
    }
}

impl Trace<'_> {
    /// Why the step does not pass a point on, by exact comparison; `None` if it does. `is_out` says that the point fails a
    /// filter above the step, or is an example there.
    ///
    /// Where the step has several sources, the loss is that of the source in which the point came furthest.
    pub fn loss(&self, state: &State, offset: PointOffset, is_out: bool) -> Option<Loss> {
        if self.kept.contains(offset) {
            return None;
        }
        if self.cannot_compare(offset) {
            let is_order = matches!(self.step.goal, Goal::OrderBy(_));
            return Some(if is_order { Loss::Filter } else { Loss::NoVector });
        }
        let is_out = is_out || self.keeps_out(state, offset).is_some();
        if self.sources.is_empty() && is_out {
            return Some(Loss::Filter);
        }
        if !self.sources.is_empty() && !self.sources.iter().any(|source| source.kept.contains(offset)) {
            return self.sources.iter().filter_map(|source| source.loss(state, offset, is_out)).max();
        }
        let placed = self.places.get(&offset).map(|&place| self.hits[place].score);
        let score = placed.or_else(|| self.alone.as_ref()?.get(&offset).copied());
        let is_beyond = |score| is_beyond(self.step.threshold, score, self.smaller_is_better);
        Some(if score.is_some_and(is_beyond) { Loss::Threshold } else { Loss::Rank })
    }

    /// The place of the first condition that keeps a point from what the step finds. Sources that cannot find it whatever the
    /// conditions are do not count.
    pub fn failed_condition(&self, state: &State, offset: PointOffset) -> Option<String> {
        let own = self.keeps_out(state, offset);
        if own.is_some() {
            return own;
        }
        let mut first = None;
        for source in &self.sources {
            match source.failed_condition(state, offset) {
                Some(failed) => first = first.or(Some(failed)),
                None if source.finds_never(offset) => {}
                None => return None,
            }
        }
        first
    }

    /// The place of the condition of this step, of its examples or of its order, that keeps a point out.
    fn keeps_out(&self, state: &State, offset: PointOffset) -> Option<String> {
        let dot = if self.place.is_empty() { "" } else { "." };
        let filter = self.node.filter.as_ref();
        let failing = |filter: &Filter| filter.failing(&state.subject(offset), self.deadline);
        // Nobody sees what is said of a request that was given up.
        if let Some(failing) = filter.and_then(|filter| failing(filter).ok().flatten()) {
            return Some(format!("{}{dot}filter.{failing}", self.place));
        }
        if self.step.excluded.contains(offset) {
            return Some(format!("{}{dot}query", self.place));
        }
        // An order takes only the points that have a value for it.
        let is_order = matches!(self.step.goal, Goal::OrderBy(_));
        (is_order && self.cannot_compare(offset)).then(|| format!("{}{dot}query.order_by", self.place))
    }

    fn cannot_compare(&self, offset: PointOffset) -> bool {
        self.alone.as_ref().is_some_and(|scores| !scores.contains_key(&offset))
    }

    fn finds_never(&self, offset: PointOffset) -> bool {
        let no_source = !self.sources.is_empty() && self.sources.iter().all(|one| one.finds_never(offset));
        no_source || self.cannot_compare(offset)
    }

    /// Whether a score is worse than another one.
    pub fn is_worse(&self, score: f32, than: f32) -> bool {
        is_beyond(Some(than), score, self.smaller_is_better)
    }
}

/// Whether a score is worse than a threshold.
fn is_beyond(threshold: Option<f32>, score: f32, smaller_is_better: bool) -> bool {
    threshold.is_some_and(|least| if smaller_is_better { score > least } else { score < least })
}
