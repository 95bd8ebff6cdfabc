//! Limits of reads.

use super::rates::take;
use super::{Strict, at_most, needs_index};
use crate::error::Error;
use crate::filter::{Filter, Kinds, Unindexed};
use crate::payload::{FieldKind, JsonPath};
use crate::query::request::OrderBy;
use crate::query::tree::{Example, Idf, Query, QueryNode, QueryRequest};
use crate::vectors::VectorValue;

/// Kinds of index whose values are in order.
const SORTABLE: Kinds = &[FieldKind::Integer, FieldKind::Float, FieldKind::Datetime, FieldKind::Uuid];

/// Kinds of index that list the points of one value.
const MATCHABLE: Kinds = &[FieldKind::Keyword, FieldKind::Uuid, FieldKind::Integer, FieldKind::Bool];

impl Strict<'_> {
    /// Checks searches or queries, of a batch unless it is one alone.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_queries(&self, requests: &[QueryRequest], is_batch: bool) -> Result<(), Error> {
        if is_batch {
            let count = Some(requests.len() as u64);
            at_most("searches", count, "search_max_batchsize", self.mode.search_max_batchsize)?;
        }
        requests.iter().try_for_each(|request| self.check_node(&request.node))?;
        self.take_reads(requests.iter().map(|request| tokens_of(&request.node)).sum())
    }

    /// Checks a look-up of points by their ids.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_retrieve(&self, ids: usize) -> Result<(), Error> {
        self.take_reads(ids as u64)
    }

    /// Checks a further page of a read that was checked when it began.
    ///
    /// # Errors
    /// `RateLimited`
    pub fn check_page(&self) -> Result<(), Error> {
        self.take_reads(1)
    }

    fn check_node(&self, node: &QueryNode) -> Result<(), Error> {
        let mode = &self.mode;
        at_most(&node.path("limit"), Some(node.limit as u64), "max_query_limit", mode.max_query_limit)?;
        let ef = node.params.hnsw_ef.map(|ef| ef as u64);
        at_most(&node.path("params.hnsw_ef"), ef, "search_max_hnsw_ef", mode.search_max_hnsw_ef)?;
        let oversampling = node.params.quantization.oversampling;
        let most_oversampling = mode.search_max_oversampling.map(|most| most as f32);
        let place = node.path("params.quantization.oversampling");
        at_most(&place, oversampling, "search_max_oversampling", most_oversampling)?;
        if mode.search_allow_exact == Some(false) {
            self.check_exact(node)?;
        }
        self.check_values(node)?;
        self.check_filter(&node.path("filter"), node.filter.as_deref(), mode.unindexed_filtering_retrieve)?;
        if let Some(Idf::Corpus(filter)) = &node.idf {
            let place = node.path("params.idf.corpus");
            self.check_filter(&place, Some(filter), mode.unindexed_filtering_retrieve)?;
        }
        node.prefetch.iter().try_for_each(|source| self.check_node(source))
    }

    /// Checks that nothing of a query compares every vector.
    fn check_exact(&self, node: &QueryNode) -> Result<(), Error> {
        let refused = |place: &str, why: String| {
            let place = node.path(place);
            Err(Error::bad(format!(
                "{place}: {why}strict mode of the collection has search_allow_exact: false"
            )))
        };
        if node.params.exact {
            return refused("params.exact", String::new());
        }
        if node.explain.as_ref().is_some_and(|asked| !asked.why.is_empty()) {
            return refused("params.why", "it compares exactly, and ".to_string());
        }
        let config = &self.state.config;
        let mut compares = false;
        node.query.for_each_example(&mut |_| compares = true);
        // What prefetches have found is compared exactly in any case.
        if !compares || !node.prefetch.is_empty() {
            return Ok(());
        }
        match config.field_index(&node.using) {
            Some(field) if config.graph_params(field).is_none() => {
                let name = if node.using.is_empty() { "the vector" } else { &node.using };
                refused("using", format!("{name} has no graph (hnsw_config.m = 0), and "))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the fields by which a query sorts or scores have indexes where filters need them.
    fn check_values(&self, node: &QueryNode) -> Result<(), Error> {
        if let Query::Formula(formula) = &node.query {
            let place = node.path("query.formula");
            let filters = formula.filters();
            filters.into_iter().try_for_each(|filter| self.check_filter(&place, Some(filter), None))?;
        }
        if self.mode.unindexed_filtering_retrieve != Some(false) {
            return Ok(());
        }
        match &node.query {
            Query::OrderBy(order) => self.check_order(&node.path("query.order_by"), Some(order)),
            Query::Formula(formula) => match formula.unindexed(&|path| self.kind_at(path)) {
                Some(missing) => {
                    Err(needs_index(&node.path("query.formula"), &missing, "this formula expression"))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Checks a field that points are sorted by.
    ///
    /// # Errors
    /// `BadRequest` that names the field.
    pub fn check_order(&self, place: &str, order: Option<&OrderBy>) -> Result<(), Error> {
        order.map_or(Ok(()), |order| self.check_key(place, &order.key, SORTABLE, "this order"))
    }

    /// Checks a field of which every value makes a group: of hits, or of a facet.
    ///
    /// # Errors
    /// `BadRequest` that names the field.
    pub fn check_groups(&self, place: &str, key: &JsonPath) -> Result<(), Error> {
        self.check_key(place, key, MATCHABLE, "its values")
    }

    fn check_key(&self, place: &str, key: &JsonPath, kinds: Kinds, what: &str) -> Result<(), Error> {
        let is_answered = self.kind_at(key).is_some_and(|kind| kinds.contains(&kind));
        if self.mode.unindexed_filtering_retrieve != Some(false) || is_answered {
            return Ok(());
        }
        Err(needs_index(place, &Unindexed { key: key.clone(), kinds }, what))
    }

    /// Checks the number of hits of a grouped query, of all groups together.
    ///
    /// # Errors
    /// `BadRequest` that names the limit.
    pub fn check_grouped_limit(&self, groups: usize, size: usize) -> Result<(), Error> {
        let hits = groups.saturating_mul(size) as u64;
        at_most("limit × group_size", Some(hits), "max_query_limit", self.mode.max_query_limit)
    }

    /// Checks a page, a count or a facet; or a matrix, whose limit is the number of its distances.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_read(&self, limit: Option<usize>, filter: Option<&Filter>) -> Result<(), Error> {
        let limit = limit.map(|limit| limit as u64);
        at_most("limit", limit, "max_query_limit", self.mode.max_query_limit)?;
        self.check_filter("filter", filter, self.mode.unindexed_filtering_retrieve)?;
        self.take_reads(1 + filter.map_or(0, |filter| filter.conditions() as u64))
    }

    /// Checks the plan of a sync.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_scope(&self, scope: &Filter) -> Result<(), Error> {
        self.check_filter("scope", Some(scope), self.mode.unindexed_filtering_retrieve)?;
        self.take_reads(1 + scope.conditions() as u64)
    }

    fn take_reads(&self, tokens: u64) -> Result<(), Error> {
        take(&self.collection.rates().reads, self.mode.read_rate_limit, tokens, "read_rate_limit")
    }
}

/// Tokens of a read rate that a query takes: one for each vector that it compares points with, a row of a multi-vector
/// each, and at least one; one for each condition of its filter; and those of its prefetches.
fn tokens_of(node: &QueryNode) -> u64 {
    let mut vectors = 0;
    node.query.for_each_example(&mut |example| {
        vectors += match example {
            Example::Vector(VectorValue::Multi(rows), _) => rows.len() as u64,
            _ => 1,
        };
    });
    let conditions = node.filter.as_ref().map_or(0, |filter| filter.conditions() as u64);
    vectors.max(1) + conditions + node.prefetch.iter().map(tokens_of).sum::<u64>()
}
