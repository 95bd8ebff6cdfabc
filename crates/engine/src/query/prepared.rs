//! A universal query made ready to run: every example is a vector, every leaf knows all the filters it is under.

use super::custom::Custom;
use super::excluded::Excluded;
use super::formula::Formula;
use super::request::OrderBy;
use super::resolve::Resolver;
use super::run::Lookup;
use super::tree::{Fusion, Query, QueryNode, QueryRequest, SearchParams};
use super::vector_search::Target;
use crate::collection::Snapshot;
use crate::error::Error;
use crate::filter::Filter;
use crate::vectors::VectorValue;
use std::sync::Arc;

/// What a step of a query is to find.
#[derive(Clone, Debug)]
pub enum Goal {
    /// The nearest to a vector.
    Nearest(Target),
    /// The nearest, different from each other.
    Mmr {
        /// What to be near.
        target: Target,
        /// How much difference counts, 0 to 1.
        diversity: f32,
        /// Candidates to choose from.
        candidates: usize,
        /// Whether there are as many as hits are asked for, because the request does not say.
        follows_window: bool,
    },
    /// What scores best by several examples.
    Custom(Custom),
    /// By the value of a field.
    OrderBy(OrderBy),
    /// The lists of the sources as one.
    Fusion(Fusion),
    /// What the sources have found, by a formula.
    Formula(Arc<Formula>),
    /// A uniform random sample.
    Sample,
    /// By id, ascending.
    ById,
}

/// A query or a prefetch: a leaf without sources searches the collection, a step with sources what these have found.
#[derive(Clone, Debug)]
pub struct Step {
    /// What to find.
    pub goal: Goal,
    /// Which points; of a leaf. What a step with sources works on has passed its filter already.
    pub filter: Option<Arc<Filter>>,
    /// The examples of this step and of those above it, which it does not find.
    pub excluded: Arc<Excluded>,
    /// How to search.
    pub params: SearchParams,
    /// Scores worse than this are left out.
    pub threshold: Option<f32>,
    /// Hits to find.
    pub window: usize,
    /// Where the candidates come from.
    pub sources: Vec<Step>,
}

/// A universal query that is ready to run.
#[derive(Debug)]
pub struct Prepared {
    /// The query itself.
    pub root: Step,
    /// Hits to leave out at the front.
    pub offset: usize,
}

impl Prepared {
    /// Plans a request: looks up every example, in whatever part of it.
    ///
    /// # Errors
    /// `VectorNotFound`, `DimensionMismatch`, `PointNotFound`, `CollectionNotFound` and what else the catalog says of a
    /// collection; `BadRequest` for a vector of a kind that the field does not take.
    pub fn new(snapshot: &Snapshot, request: &QueryRequest, lookup: &dyn Lookup) -> Result<Prepared, Error> {
        let resolver = Resolver::new(snapshot, &request.node, lookup)?;
        // A sample of a collection has no order to skip in: the offset is without meaning.
        let is_unordered = matches!(request.node.query, Query::Sample) && request.node.prefetch.is_empty();
        let offset = if is_unordered { 0 } else { request.offset };
        let window = request.node.limit.saturating_add(offset);
        let root = step(&resolver, &request.node, window, None, &Arc::default())?;
        Ok(Prepared { root, offset })
    }

    /// The query for its first `window` hits, without an offset.
    pub fn reaching(&self, window: usize) -> Prepared {
        let mut root = Step { window, ..self.root.clone() };
        if let Goal::Mmr { candidates, follows_window: true, .. } = &mut root.goal {
            *candidates = window.max(*candidates);
        }
        Prepared { root, offset: 0 }
    }

    /// Bytes of the vectors that it compares with.
    pub fn vector_bytes(&self) -> usize {
        fn of(step: &Step) -> usize {
            let own = match &step.goal {
                Goal::Nearest(target) | Goal::Mmr { target, .. } => target.vector.bytes(),
                Goal::Custom(custom) => custom.vectors.iter().map(VectorValue::bytes).sum(),
                Goal::OrderBy(_) | Goal::Fusion(_) | Goal::Formula(_) | Goal::Sample | Goal::ById => 0,
            };
            own + step.sources.iter().map(of).sum::<usize>()
        }
        of(&self.root)
    }

    /// Calls `each` for every step.
    pub(super) fn for_each_step(&mut self, each: &mut impl FnMut(&mut Step)) {
        fn visit(step: &mut Step, each: &mut impl FnMut(&mut Step)) {
            each(step);
            step.sources.iter_mut().for_each(|source| visit(source, each));
        }
        visit(&mut self.root, each);
    }

    /// The leaves, from left to right.
    pub fn leaves(&self) -> Vec<&Step> {
        fn collect<'p>(step: &'p Step, leaves: &mut Vec<&'p Step>) {
            if step.sources.is_empty() {
                leaves.push(step);
            }
            step.sources.iter().for_each(|source| collect(source, leaves));
        }
        let mut leaves = Vec::new();
        collect(&self.root, &mut leaves);
        leaves
    }
}

/// Plans a node and all below it. `outer` is the filter of the nodes above, `excluded` are their examples.
fn step(
    resolver: &Resolver<'_>,
    node: &QueryNode,
    window: usize,
    outer: Option<&Arc<Filter>>,
    excluded: &Arc<Excluded>,
) -> Result<Step, Error> {
    let goal = resolver.goal(node, window)?;
    let filter = both(outer, node.filter.as_ref());
    let named = resolver.named_here(node);
    let excluded = if named.is_empty() { Arc::clone(excluded) } else { Arc::new(excluded.and(named)) };
    let sources = node
        .prefetch
        .iter()
        .map(|source| step(resolver, source, source.limit, filter.as_ref(), &excluded))
        .collect::<Result<_, _>>()?;
    Ok(Step { goal, filter, excluded, params: node.params, threshold: node.score_threshold, window, sources })
}

/// What passes both filters.
fn both(outer: Option<&Arc<Filter>>, inner: Option<&Arc<Filter>>) -> Option<Arc<Filter>> {
    match (outer, inner) {
        (Some(outer), Some(inner)) => Some(Arc::new(Filter::all_of([Arc::clone(outer), Arc::clone(inner)]))),
        (one, other) => one.or(other).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Reader;
    use crate::limits::Limits;

    #[test]
    fn a_filter_that_many_prefetches_are_under_is_kept_once() {
        let filter = || {
            let mut reader = Reader::new(br#"{"must": {"has_id": [1, 2, 3]}}"#).unwrap();
            Arc::new(Filter::parse(&mut reader, &Limits::default()).unwrap())
        };
        let (outer, inner) = (filter(), filter());
        let prefetches: Vec<_> = (0..64).map(|_| both(Some(&outer), Some(&inner))).collect();
        assert_eq!(Arc::strong_count(&outer), 1 + prefetches.len());
        assert_eq!(both(Some(&outer), None), Some(filter()));
    }
}
