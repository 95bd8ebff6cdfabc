//! From the examples of a request to vectors. Ids are looked up before anything runs (C6.3).

use super::average;
use super::custom::{Custom, CustomScore};
use super::prepared::Goal;
use super::run::Lookup;
use super::scorer;
use super::tree::{Example, Feedback, Idf, Pair, Query, QueryNode, Recommend, Strategy};
use super::vector_search::Target;
use crate::collection::{Snapshot, not_found};
use crate::config::Modifier;
use crate::error::Error;
use crate::types::{PointId, PointOffset};
use crate::vectors::{MAX_ELEMENTS, VectorValue};
use std::cell::Cell;
use std::sync::Arc;

/// Components of all examples of a request together, 64 MiB: a few bytes name a point whose vector is long.
const MAX_COMPONENTS: usize = 1 << 24;

/// Turns the examples of one request, of all its parts, into vectors.
pub struct Resolver<'a> {
    snapshot: &'a Snapshot,
    /// Other collections that examples come from, so that one request sees one state of each.
    others: Vec<(&'a str, Arc<Snapshot>)>,
    /// Components of the vectors so far.
    components: Cell<usize>,
}

impl<'a> Resolver<'a> {
    /// Looks up every id that the request names, wherever in it.
    ///
    /// # Errors
    /// `PointNotFound` with all that are absent; `CollectionNotFound` and what else the catalog says of a collection
    /// to look into, used or not.
    pub fn new(
        snapshot: &'a Snapshot,
        root: &'a QueryNode,
        lookup: &dyn Lookup,
    ) -> Result<Resolver<'a>, Error> {
        let (others, components) = (Vec::new(), Cell::new(0));
        let mut resolver = Resolver { snapshot, others, components };
        let mut absent = Vec::new();
        resolver.look_up(root, lookup, &mut absent)?;
        if absent.is_empty() { Ok(resolver) } else { Err(not_found(absent)) }
    }

    fn look_up(
        &mut self,
        node: &'a QueryNode,
        lookup: &dyn Lookup,
        absent: &mut Vec<PointId>,
    ) -> Result<(), Error> {
        if let Some(from) = &node.lookup_from
            && self.others.iter().all(|(known, _)| *known != from.collection)
        {
            let other = lookup.collection(&from.collection).map_err(|error| match error {
                // A fault does not say whose it is.
                Error::CollectionFault(_) => {
                    error.within(format!("{}: collection '{}'", node.path("lookup_from"), from.collection))
                }
                error => error,
            })?;
            self.others.push((&from.collection, other));
        }
        let place = self.origin(node);
        let mut looked_up = Ok(());
        node.query.for_each_example(&mut |example| {
            let Example::Id(id) = example else { return };
            if looked_up.is_err() {
                return;
            }
            match lookup.finds(&place.view, id) {
                Ok(true) => {}
                Ok(false) => absent.push(id.clone()),
                Err(error) => looked_up = Err(error),
            }
        });
        looked_up?;
        node.prefetch.iter().try_for_each(|source| self.look_up(source, lookup, absent))
    }

    /// The points of the searched collection that a node names as examples.
    pub fn named_here(&self, node: &QueryNode) -> Vec<PointOffset> {
        let mut named = Vec::new();
        if self.origin(node).id == self.snapshot.id {
            node.query.for_each_example(&mut |example| {
                let Example::Id(id) = example else { return };
                named.extend(self.snapshot.view.state.offset(id));
            });
        }
        named
    }

    /// The collection that the ids of a node are of.
    fn origin(&self, node: &QueryNode) -> &Snapshot {
        let named = node.lookup_from.as_ref();
        let other = named.and_then(|from| self.others.iter().find(|(name, _)| *name == from.collection));
        match other {
            // One state of the searched collection, too.
            Some((_, other)) if other.id != self.snapshot.id => other,
            _ => self.snapshot,
        }
    }

    /// What a node is to find, `window` hits of it.
    ///
    /// # Errors
    /// `VectorNotFound` for a field that is not declared; `DimensionMismatch` or `BadRequest` for a vector that does
    /// not fit it; `PointNotFound` for a point without the vector.
    pub fn goal(&self, node: &QueryNode, window: usize) -> Result<Goal, Error> {
        Ok(match &node.query {
            Query::Nearest(example) => {
                let field = self.field(node)?;
                let idf = self.idf(node, field)?;
                Goal::Nearest(Target { field, vector: self.vector(node, field, example)?, idf })
            }
            Query::Mmr(mmr) => {
                let field = self.field(node)?;
                let idf = self.idf(node, field)?;
                let target = Target { field, vector: self.vector(node, field, &mmr.nearest)?, idf };
                Goal::Mmr {
                    target,
                    diversity: mmr.diversity,
                    candidates: mmr.candidates.unwrap_or(window),
                    follows_window: mmr.candidates.is_none(),
                }
            }
            Query::Recommend(recommend) => self.recommend(node, recommend)?,
            Query::Discover(discover) => {
                let field = self.field(node)?;
                let mut vectors = vec![self.vector(node, field, &discover.target)?];
                self.push_pairs(node, field, &discover.context, &mut vectors)?;
                let idf = self.idf(node, field)?;
                Goal::Custom(Custom { field, vectors, score: CustomScore::Discover, idf })
            }
            Query::Context(pairs) => {
                let field = self.field(node)?;
                let mut vectors = Vec::with_capacity(2 * pairs.len());
                self.push_pairs(node, field, pairs, &mut vectors)?;
                let idf = self.idf(node, field)?;
                Goal::Custom(Custom { field, vectors, score: CustomScore::Context, idf })
            }
            Query::Feedback(Feedback { target, items, a, b, c }) => {
                let field = self.field(node)?;
                let mut vectors = vec![self.vector(node, field, target)?];
                for (example, _) in items {
                    vectors.push(self.vector(node, field, example)?);
                }
                let scores: Vec<f32> = items.iter().map(|(_, score)| *score).collect();
                let score = CustomScore::feedback(*a, *b, *c, &scores);
                let idf = self.idf(node, field)?;
                Goal::Custom(Custom { field, vectors, score, idf })
            }
            Query::OrderBy(order_by) => Goal::OrderBy(order_by.clone()),
            Query::Fusion(fusion) => Goal::Fusion(fusion.clone()),
            Query::Formula(formula) => Goal::Formula(Arc::clone(formula)),
            Query::Sample => Goal::Sample,
            Query::ById => Goal::ById,
        })
    }

    fn recommend(&self, node: &QueryNode, recommend: &Recommend) -> Result<Goal, Error> {
        let field = self.field(node)?;
        let idf = self.idf(node, field)?;
        let positive = self.vectors(node, field, &recommend.positive)?;
        let negative = self.vectors(node, field, &recommend.negative)?;
        let score = match recommend.strategy {
            Strategy::AverageVector => {
                let bad = |why: &str| Error::bad(format!("{}: {why}", node.path_of_form("recommend")));
                let vector = average::of(&positive, &negative).ok_or_else(|| {
                    bad("no point of the positive examples has the vector, and the average strategy needs one")
                })?;
                if vector.components() > MAX_ELEMENTS {
                    return Err(bad("the rows of all examples together are too many for one multi vector"));
                }
                return Ok(Goal::Nearest(Target { field, vector, idf }));
            }
            Strategy::BestScore => CustomScore::BestScore { positives: positive.len() },
            Strategy::SumScores => CustomScore::SumScores { positives: positive.len() },
        };
        let vectors: Vec<VectorValue> = positive.into_iter().chain(negative).collect();
        if vectors.is_empty() {
            let place = node.path_of_form("recommend");
            return Err(Error::bad(format!("{place}: no point of the examples has the vector")));
        }
        Ok(Goal::Custom(Custom { field, vectors, score, idf }))
    }

    fn field(&self, node: &QueryNode) -> Result<usize, Error> {
        let field = self.snapshot.view.state.config.declared_position(&node.using);
        // Of several parts of a query each has a vector of its own.
        field.map_err(|error| if node.place.is_empty() { error } else { error.within(node.path("using")) })
    }

    /// Which points weigh the vectors of a node.
    fn idf(&self, node: &QueryNode, field: usize) -> Result<Option<Idf>, Error> {
        let config = &self.snapshot.view.state.config;
        let sparse = field.checked_sub(config.fields().len()).map(|at| &config.sparse_fields()[at].1);
        let takes_it = sparse.is_some_and(|params| params.modifier() == Modifier::Idf);
        if node.idf.is_some() && !takes_it {
            let place = node.path("params.idf");
            return Err(Error::bad(format!("{place}: needs a sparse vector with the modifier idf")));
        }
        Ok(node.idf.clone())
    }

    fn push_pairs(
        &self,
        node: &QueryNode,
        field: usize,
        pairs: &[Pair],
        vectors: &mut Vec<VectorValue>,
    ) -> Result<(), Error> {
        for example in pairs.iter().flat_map(Pair::both) {
            vectors.push(self.vector(node, field, example)?);
        }
        Ok(())
    }

    /// The vectors of the examples that have one: of a recommendation, a point without is no example.
    fn vectors(
        &self,
        node: &QueryNode,
        field: usize,
        examples: &[Example],
    ) -> Result<Vec<VectorValue>, Error> {
        let found = examples.iter().filter_map(|example| self.find(node, field, example).transpose());
        found.collect()
    }

    /// The vector of an example that must have one.
    fn vector(&self, node: &QueryNode, field: usize, example: &Example) -> Result<VectorValue, Error> {
        self.find(node, field, example)?.ok_or_else(|| match example {
            Example::Id(id) => {
                let (place, name) = (node.path_of(example), origin_name(node));
                Error::PointWithoutVector(id.clone(), name.to_string()).within(place)
            }
            Example::Vector(..) => Error::Internal("a vector that was sent is there".into()),
        })
    }

    /// The vector of an example, as the field's points are compared with it.
    fn find(&self, node: &QueryNode, field: usize, example: &Example) -> Result<Option<VectorValue>, Error> {
        let vector = match example {
            Example::Vector(vector, _) => vector.clone(),
            Example::Id(id) => {
                let view = &*self.origin(node).view;
                let from = view.state.config.declared_position(origin_name(node))?;
                // That the id is there was seen when all were looked up.
                let Some(offset) = view.state.offset(id) else { return Ok(None) };
                match scorer::vector_of(view, from, offset) {
                    Some(vector) => vector,
                    None => return Ok(None),
                }
            }
        };
        let vector = scorer::fit(&self.snapshot.view.state.config, field, vector, || node.path_of(example))?;
        let components = self.components.get() + vector.components();
        self.components.set(components);
        if components > MAX_COMPONENTS {
            let place = node.path(node.query_field);
            return Err(Error::bad(format!(
                "{place}: at most {MAX_COMPONENTS} components in all examples of a request"
            )));
        }
        Ok(Some(vector))
    }
}

/// Name of the vector that a node's examples have where they are.
fn origin_name(node: &QueryNode) -> &str {
    node.lookup_from.as_ref().and_then(|from| from.vector.as_deref()).unwrap_or(&node.using)
}
