//! The body of a search (C6.2), and the fields that it shares with queries.

use super::body::{self, Result, field_error};
use super::cursor;
use super::example;
use super::groups::OtherFields;
use super::search_params::{self, Params};
use super::selectors::SelectorFields;
use super::vector::VectorReader;
use crate::config::{NamedModels, VectorModels};
use crate::filter::Filter;
use crate::json::{Kind, Reader, TwoNames};
use crate::limits::Limits;
use crate::payload::PayloadSelector;
use crate::query::request::CursorRequest;
use crate::query::tree::{Example, Query, QueryNode, QueryRequest};
use crate::vectors::VectorValue;
use std::sync::Arc;

/// The greatest number of hits of all searches and prefetches of a request, as a multiple of the window of one search.
pub(super) const REQUEST_WINDOWS: usize = 10;

/// The default `limit`.
pub(super) const DEFAULT_LIMIT: usize = 10;

/// The fields that searches, queries and prefetches share.
#[derive(Default)]
pub(super) struct NodeFields {
    filter: Option<Arc<Filter>>,
    params: Option<Params>,
    score_threshold: Option<f32>,
    limit: TwoNames<usize>,
    models: NamedModels,
}

impl NodeFields {
    /// Reads the value of a field if it is one of these. False if not.
    pub(super) fn field(&mut self, reader: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool> {
        match key {
            "filter" => self.filter = reader.optional(|r| Filter::parse(r, limits).map(Arc::new))?,
            "params" => self.params = reader.optional(|r| search_params::read(r, limits))?,
            "score_threshold" => self.score_threshold = reader.optional(Reader::f32)?,
            "limit" => self.read_limit(reader, key)?,
            "shard_key" => body::shard_key(reader)?,
            "model" => {
                let named = reader.optional(|r| NamedModels::read(r, limits.max_named_vectors))?;
                self.models = named.unwrap_or_default();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads `limit`, or `top`, an older name of it.
    pub(super) fn read_limit(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<()> {
        self.limit.put(key == "top", reader.optional(read_limit)?);
        Ok(())
    }

    /// The node. `reader` is just behind the object.
    pub(super) fn finish(
        self,
        reader: &Reader<'_>,
        query_field: &'static str,
        query: Query,
        using: Box<str>,
    ) -> Result<QueryNode> {
        if self.score_threshold.is_some() {
            let why = match &query {
                Query::OrderBy(_) => Some("Can't use score_threshold with an order_by query."),
                Query::Sample => Some("Can't use score_threshold with a sample query."),
                Query::ById => Some("A query is needed to use the score_threshold."),
                _ => None,
            };
            if let Some(why) = why {
                return Err(field_error(reader, "score_threshold", why));
            }
        }
        let params = self.params.unwrap_or_default();
        let mut node = QueryNode {
            place: reader.path().into(),
            query,
            query_field,
            using,
            filter: self.filter,
            params: params.search,
            idf: params.idf,
            score_threshold: self.score_threshold,
            limit: self.limit.take().unwrap_or(DEFAULT_LIMIT),
            lookup_from: None,
            prefetch: Vec::new(),
            models: VectorModels::default(),
            explain: params.explain,
        };
        node.models = node.vector_models(&self.models);
        Ok(node)
    }
}

/// The fields that only the root of a search or a query has.
#[derive(Default)]
pub(super) struct RootFields {
    offset: Option<usize>,
    with: SelectorFields,
    cursor: Option<CursorRequest>,
}

impl RootFields {
    /// Reads the value of a field if it is one of these. False if not.
    pub(super) fn field(&mut self, reader: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool> {
        match key {
            "offset" => self.offset = reader.optional(|r| r.u64().map(saturating_usize))?,
            "cursor" => self.cursor = reader.optional(cursor::read)?,
            _ => return self.with.field(reader, key, limits),
        }
        Ok(true)
    }

    /// The request. `reader` is just behind the object.
    pub(super) fn finish(
        self,
        reader: &mut Reader<'_>,
        limits: &Limits,
        mut node: QueryNode,
    ) -> Result<QueryRequest> {
        let offset = self.offset.unwrap_or(0);
        node.limit = fit_window(reader, limits, node.limit, offset)?;
        if self.cursor.is_some() && node.explain.is_some() {
            return Err(field_error(reader, "cursor", "a search that is explained has no further pages"));
        }
        let with = self.with.or(PayloadSelector::None);
        Ok(QueryRequest { node, offset, with, cursor: self.cursor })
    }
}

/// Reads the body of a search.
pub(super) fn read_search(reader: &mut Reader<'_>, limits: &Limits) -> Result<QueryRequest> {
    let mut root = RootFields::default();
    let node = read_node(reader, limits, &mut |r, key| root.field(r, key, limits))?;
    root.finish(reader, limits, node)
}

/// Reads what is searched for.
pub(super) fn read_node(
    reader: &mut Reader<'_>,
    limits: &Limits,
    other: OtherFields<'_>,
) -> Result<QueryNode> {
    let (mut fields, mut vector) = (NodeFields::default(), None);
    reader.object(|r, key| {
        match key {
            "vector" => vector = r.optional(read_search_vector)?,
            "top" => fields.read_limit(r, key)?,
            key => {
                if !fields.field(r, key, limits)? && !other(r, key)? {
                    r.unknown_in_body()?;
                }
            }
        }
        Ok(())
    })?;
    let (using, (vector, model)) = vector.ok_or_else(|| reader.missing("vector"))?;
    let query_field = if using.is_empty() { "vector" } else { "vector.vector" };
    fields.finish(reader, query_field, Query::Nearest(Example::Vector(vector, model)), using)
}

/// Reads `{searches: […]}`.
pub(super) fn read_batch(
    reader: &mut Reader<'_>,
    limits: &Limits,
    read: fn(&mut Reader<'_>, &Limits) -> Result<QueryRequest>,
) -> Result<Vec<QueryRequest>> {
    let mut searches = None;
    reader.object(|r, key| {
        match key {
            "searches" => {
                searches = r.optional(|r| {
                    let what = "searches a request (max_points_per_request)";
                    body::list(r, limits.max_points_per_request, what, |r| {
                        let one = read(r, limits)?;
                        cursor::refuse(r, one.cursor, one)
                    })
                })?;
            }
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    let searches = searches.ok_or_else(|| reader.missing("searches"))?;
    check_reach(reader, limits, "searches", "limit + offset of all searches", &searches)?;
    Ok(searches)
}

/// Checks the number of hits of all `requests` together, prefetches included. The error names `field`.
pub(super) fn check_reach(
    reader: &Reader<'_>,
    limits: &Limits,
    field: &str,
    what: &str,
    requests: &[QueryRequest],
) -> Result<()> {
    fn below(node: &QueryNode) -> usize {
        let each = node.prefetch.iter().map(|source| source.limit.saturating_add(below(source)));
        each.fold(0, usize::saturating_add)
    }
    let reach = |one: &QueryRequest| one.window().saturating_add(below(&one.node));
    let reach: usize = requests.iter().map(reach).fold(0, usize::saturating_add);
    let max = limits.max_result_window.saturating_mul(REQUEST_WINDOWS);
    if reach <= max {
        return Ok(());
    }
    let why = format!(
        "{what} must be at most {max} together ({REQUEST_WINDOWS} times max_result_window), got {reach}"
    );
    Err(field_error(reader, field, why))
}

/// Reads a `limit`.
pub(super) fn read_limit(reader: &mut Reader<'_>) -> Result<usize> {
    reader.integer_in(1, u64::MAX).map(saturating_usize)
}

/// Checks `limit + offset` of a read (C2.7).
pub(super) fn check_window(reader: &Reader<'_>, limits: &Limits, limit: usize, offset: usize) -> Result<()> {
    let window = limit.saturating_add(offset);
    if window <= limits.max_result_window {
        return Ok(());
    }
    let max = limits.max_result_window;
    Err(field_error(
        reader,
        "limit",
        format!("limit + offset must be at most {max} (max_result_window), got {window}"),
    ))
}

/// The `limit` of a search or of a prefetch: one beyond the window is refused, or shortened by a lenient reader (C2.7).
pub(super) fn fit_window(
    reader: &mut Reader<'_>,
    limits: &Limits,
    limit: usize,
    offset: usize,
) -> Result<usize> {
    let max = limits.max_result_window;
    if !reader.is_lenient() || offset >= max || limit.saturating_add(offset) <= max {
        return check_window(reader, limits, limit, offset).map(|()| limit);
    }
    let (path, most) = (reader.path(), max - offset);
    let dot = if path.is_empty() { "" } else { "." };
    let why = format!("shortened to {most}: limit + offset is at most {max} (max_result_window)");
    reader.warn(&format!("{path}{dot}limit"), &why);
    Ok(most)
}

fn saturating_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The vector of a search: an array, or `{name, vector}` with a dense or a sparse one.
fn read_search_vector(reader: &mut Reader<'_>) -> Result<(Box<str>, SentVector)> {
    if reader.peek()? != Kind::Object {
        return Ok(("".into(), read_single(reader)?));
    }
    if example::is_object(reader)? {
        read_single(reader)?;
        return Err(reader.error("a sparse vector needs its name: {\"name\": …, \"vector\": …}"));
    }
    let (mut name, mut vector) = (None, None);
    reader.object(|r, key| {
        match key {
            "name" => name = r.optional(|r| r.string().map(|name| Box::from(&*name)))?,
            "vector" => vector = r.optional(read_single)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let name = name.ok_or_else(|| reader.missing("name"))?;
    let vector = vector.ok_or_else(|| reader.missing("vector"))?;
    Ok((name, vector))
}

/// A vector, and the model that made it where the request has its text.
type SentVector = (VectorValue, Option<Box<str>>);

/// Reads a vector, but not a multi-vector: only queries accept these.
fn read_single(reader: &mut Reader<'_>) -> Result<SentVector> {
    let mut forms = VectorReader::of_queries();
    match forms.value(reader)? {
        VectorValue::Multi(_) => {
            Err(reader.error("a search takes a dense or a sparse vector, a query takes multi vectors, too"))
        }
        single => Ok((single, forms.take_model())),
    }
}
