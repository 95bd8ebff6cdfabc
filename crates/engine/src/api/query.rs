//! The body of a query, and its prefetches (C6.3).

use super::body::{self, Budget, Result, field_error};
use super::example;
use super::groups::OtherFields;
use super::query_kind;
use super::search::{NodeFields, RootFields, check_reach, fit_window};
use crate::error::Error;
use crate::json::Reader;
use crate::limits::Limits;
use crate::query::tree::{Fusion, LookupFrom, Query, QueryNode, QueryRequest};

/// Reads the body of a query.
pub(super) fn read_query(reader: &mut Reader<'_>, limits: &Limits) -> Result<QueryRequest> {
    let mut root = RootFields::default();
    let node = read_node(reader, limits, &mut |r, key| root.field(r, key, limits))?;
    let request = root.finish(reader, limits, node)?;
    let requests = std::slice::from_ref(&request);
    check_reach(reader, limits, "prefetch", "limits of a query and all its prefetches", requests)?;
    Ok(request)
}

/// Reads the root of a query.
pub(super) fn read_node(
    reader: &mut Reader<'_>,
    limits: &Limits,
    other: OtherFields<'_>,
) -> Result<QueryNode> {
    TreeReader { limits, budget: Budget::new(limits), prefetches: 0, depth: 0 }.node(reader, other)
}

/// Reads the nodes of one query.
struct TreeReader<'l> {
    limits: &'l Limits,
    /// The number of examples that may still follow.
    budget: Budget<'l>,
    prefetches: usize,
    /// The depth of the current prefetch.
    depth: usize,
}

impl TreeReader<'_> {
    /// Reads a query or a prefetch.
    fn node(&mut self, reader: &mut Reader<'_>, other: OtherFields<'_>) -> Result<QueryNode> {
        example::with_ids_of_lookup(reader, |r| self.node_with_ids(r, other))
    }

    fn node_with_ids(&mut self, reader: &mut Reader<'_>, other: OtherFields<'_>) -> Result<QueryNode> {
        let mut fields = NodeFields::default();
        let (mut query, mut using, mut lookup_from, mut prefetch) = (None, None, None, None);
        reader.object(|r, key| {
            match key {
                "query" => query = r.optional(|r| query_kind::read(r, &mut self.budget))?,
                "using" => using = r.optional(|r| r.string().map(|name| Box::from(&*name)))?,
                "lookup_from" => lookup_from = r.optional(read_lookup)?,
                "prefetch" => prefetch = r.optional(|r| self.prefetch(r))?,
                key => {
                    if !fields.field(r, key, self.limits)? && !other(r, key)? {
                        if self.depth == 0 { r.unknown_in_body()? } else { r.unknown()? }
                    }
                }
            }
            Ok(())
        })?;
        let (query, prefetch) = (query.unwrap_or(Query::ById), prefetch.unwrap_or_default());
        check_sources(reader, &query, using.as_deref(), &prefetch)?;
        let node = fields.finish(reader, "query", query, using.unwrap_or_default())?;
        Ok(QueryNode { lookup_from, prefetch, ..node })
    }

    /// Reads one prefetch or a list of them.
    fn prefetch(&mut self, reader: &mut Reader<'_>) -> Result<Vec<QueryNode>> {
        self.depth += 1;
        let (depth, max) = (self.depth, self.limits.max_prefetch_depth);
        if depth > max {
            return Err(reader.error(format!("prefetches depth {depth} exceeds max depth {max}")));
        }
        let place = reader.path();
        let read = reader.one_or_many(|r| {
            self.prefetches += 1;
            let max = self.limits.max_prefetches;
            if self.prefetches > max {
                return Err(Error::bad(format!(
                    "{place}: at most {max} prefetches a query (max_prefetches)"
                )));
            }
            let mut node = self.node(r, &mut |_, _| Ok(false))?;
            if node.explain.is_some() {
                return Err(field_error(r, "params.explain", "a whole query is explained, not a prefetch"));
            }
            node.limit = fit_window(r, self.limits, node.limit, 0)?;
            Ok(node)
        })?;
        self.depth -= 1;
        Ok(read)
    }
}

/// Checks that a query is allowed with its prefetches.
fn check_sources(
    reader: &Reader<'_>,
    query: &Query,
    using: Option<&str>,
    prefetch: &[QueryNode],
) -> Result<()> {
    let wrong = |field: &str, why: &str| Err(field_error(reader, field, why));
    match query {
        Query::ById if !prefetch.is_empty() => wrong(
            "prefetch",
            "A query is needed to merge the prefetches. Can't have prefetches without defining a query.",
        ),
        Query::Fusion(_) if prefetch.is_empty() => wrong("query", "cannot apply Fusion without prefetches"),
        Query::Formula(_) if prefetch.is_empty() => wrong("query", "cannot apply Formula without prefetches"),
        Query::Fusion(_) if using.is_some() => {
            wrong("using", "Fusion queries cannot be combined with the 'using' field.")
        }
        Query::Fusion(Fusion::Rrf { weights, .. })
            if !weights.is_empty() && weights.len() != prefetch.len() =>
        {
            let (got, expected) = (weights.len(), prefetch.len());
            let why = format!(
                "Number of weights in RRF should match number of pre-fetches: got {got}, expected {expected}"
            );
            wrong("query.rrf.weights", &why)
        }
        _ => Ok(()),
    }
}

pub(super) fn read_lookup(reader: &mut Reader<'_>) -> Result<LookupFrom> {
    let (mut collection, mut vector) = (None, None);
    reader.object(|r, key| {
        match key {
            "collection" => collection = r.optional(|r| r.string().map(String::from))?,
            "vector" => vector = r.optional(|r| r.string().map(|name| Box::from(&*name)))?,
            "shard_key" => body::shard_key(r)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let collection = collection.ok_or_else(|| reader.missing("collection"))?;
    Ok(LookupFrom { collection, vector })
}
