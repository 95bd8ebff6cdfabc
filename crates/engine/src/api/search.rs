//! The bodies of search (C6.2) and of the universal query (C6.3).

use super::body::{self, Result, field_error};
use super::id::read_id;
use super::order_by;
use super::selectors::SelectorFields;
use super::vector::{self, VectorReader};
use crate::collection::config::fields::{choice, shorten};
use crate::filter::Filter;
use crate::json::{Kind, Reader};
use crate::limits::Limits;
use crate::payload::PayloadSelector;
use crate::query::request::{LookupFrom, QuantizationParams, Query, QueryRequest, QueryVector, SearchParams};

/// Hits that a batch may ask for, in the windows of a single search.
const BATCH_WINDOWS: usize = 10;

/// Hits of a read that does not say how many.
pub(super) const DEFAULT_LIMIT: usize = 10;

/// Widest search through a graph. A greater `hnsw_ef` means this one.
const MAX_HNSW_EF: u64 = 100_000;

/// Kinds of query that exist, but not in this release.
const LATER_KINDS: [&str; 8] =
    ["recommend", "discover", "context", "fusion", "rrf", "formula", "mmr", "relevance_feedback"];

/// What search and query have in common.
#[derive(Default)]
struct ReadFields {
    filter: Option<Filter>,
    params: Option<SearchParams>,
    score_threshold: Option<f32>,
    limit: Option<usize>,
    offset: Option<usize>,
    with: SelectorFields,
}

impl ReadFields {
    /// Reads the field if it is one of these; false leaves it to the caller.
    fn field(&mut self, reader: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool> {
        match key {
            "filter" => self.filter = reader.optional(|r| Filter::parse(r, limits))?,
            "params" => self.params = reader.optional(read_params)?,
            "score_threshold" => self.score_threshold = reader.optional(Reader::f32)?,
            "limit" => self.limit = reader.optional(read_limit)?,
            "offset" => self.offset = reader.optional(|r| r.u64().map(saturating_usize))?,
            "shard_key" => body::shard_key(reader)?,
            _ => return self.with.field(reader, key, limits),
        }
        Ok(true)
    }

    /// The request. `reader` stands behind the object.
    fn finish(
        self,
        reader: &Reader<'_>,
        limits: &Limits,
        query: Query,
        using: Box<str>,
    ) -> Result<QueryRequest> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let offset = self.offset.unwrap_or(0);
        check_window(reader, limits, limit, offset)?;
        if self.score_threshold.is_some() {
            let why = match &query {
                Query::Nearest(_) => None,
                Query::OrderBy(_) => Some("Can't use score_threshold with an order_by query."),
                Query::Sample => Some("Can't use score_threshold with a sample query."),
                Query::ById => Some("A query is needed to use the score_threshold."),
            };
            if let Some(why) = why {
                return Err(field_error(reader, "score_threshold", why));
            }
        }
        Ok(QueryRequest {
            query,
            using,
            filter: self.filter,
            params: self.params.unwrap_or_default(),
            score_threshold: self.score_threshold,
            limit,
            offset,
            with: self.with.or(PayloadSelector::None),
            lookup_from: None,
        })
    }
}

/// Reads the body of a search.
pub(super) fn read_search(reader: &mut Reader<'_>, limits: &Limits) -> Result<QueryRequest> {
    let mut fields = ReadFields::default();
    let mut vector = None;
    reader.object(|r, key| {
        match key {
            "vector" => vector = r.optional(read_search_vector)?,
            "top" => fields.limit = r.optional(read_limit)?,
            key => {
                if !fields.field(r, key, limits)? {
                    r.unknown()?;
                }
            }
        }
        Ok(())
    })?;
    let (using, components) = vector.ok_or_else(|| reader.missing("vector"))?;
    fields.finish(reader, limits, Query::Nearest(QueryVector::Dense(components)), using)
}

/// Reads the body of a query.
pub(super) fn read_query(reader: &mut Reader<'_>, limits: &Limits) -> Result<QueryRequest> {
    let mut fields = ReadFields::default();
    let (mut query, mut using, mut lookup_from) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "query" => query = r.optional(read_query_kind)?,
            "using" => using = r.optional(|r| r.string().map(|name| Box::from(&*name)))?,
            "lookup_from" => lookup_from = r.optional(read_lookup)?,
            "prefetch" => refuse_prefetch(r)?,
            key => {
                if !fields.field(r, key, limits)? {
                    r.unknown()?;
                }
            }
        }
        Ok(())
    })?;
    let query = query.unwrap_or(Query::ById);
    let request = fields.finish(reader, limits, query, using.unwrap_or_default())?;
    Ok(QueryRequest { lookup_from, ..request })
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
                    body::list(r, limits.max_points_per_request, what, |r| read(r, limits))
                })?;
            }
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let searches = searches.ok_or_else(|| reader.missing("searches"))?;
    let window: usize =
        searches.iter().map(|one| one.limit.saturating_add(one.offset)).fold(0, usize::saturating_add);
    let max = limits.max_result_window.saturating_mul(BATCH_WINDOWS);
    if window > max {
        let why = format!(
            "limit + offset of all searches must be at most {max} together ({BATCH_WINDOWS} times max_result_window), got {window}"
        );
        return Err(field_error(reader, "searches", why));
    }
    Ok(searches)
}

/// Reads a `limit`.
pub(super) fn read_limit(reader: &mut Reader<'_>) -> Result<usize> {
    reader.integer_in(1, u64::MAX).map(saturating_usize)
}

/// An error when a read reaches further than a result may (C2.7).
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

fn saturating_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The vector of a search: an array, or `{name, vector}`.
fn read_search_vector(reader: &mut Reader<'_>) -> Result<(Box<str>, Vec<f32>)> {
    let mut forms = VectorReader::default();
    if reader.peek()? != Kind::Object {
        return Ok(("".into(), forms.dense(reader)?));
    }
    if first_key(reader, vector::is_refused_form)?.is_some() {
        return Err(vector::refuse_object(reader));
    }
    let (mut name, mut vector) = (None, None);
    reader.object(|r, key| {
        match key {
            "name" => name = r.optional(|r| r.string().map(|name| Box::from(&*name)))?,
            "vector" => vector = r.optional(|r| forms.dense(r))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let name = name.ok_or_else(|| reader.missing("name"))?;
    let vector = vector.ok_or_else(|| reader.missing("vector"))?;
    Ok((name, vector))
}

/// Looks ahead for the first key of the object that is `wanted`.
fn first_key(reader: &Reader<'_>, wanted: impl Fn(&str) -> bool) -> Result<Option<String>> {
    let mut found = None;
    reader.clone().object(|r, key| {
        if found.is_none() && wanted(key) {
            found = Some(key.to_string());
        }
        r.skip()
    })?;
    Ok(found)
}

/// Reads `query`: a vector, an id, or an object that says its kind.
fn read_query_kind(reader: &mut Reader<'_>) -> Result<Query> {
    if reader.peek()? != Kind::Object {
        return read_example(reader).map(Query::Nearest);
    }
    if first_key(reader, vector::is_refused_form)?.is_some() {
        return Err(vector::refuse_object(reader));
    }
    let mut kinds: Vec<(&str, Query)> = Vec::new();
    reader.object(|r, key| {
        if r.take_null()? {
            return Ok(());
        }
        let (kind, query) = match key {
            "nearest" => ("nearest", Query::Nearest(read_example(r)?)),
            "order_by" => ("order_by", Query::OrderBy(order_by::read(r)?)),
            "sample" => ("sample", choice(r, &[("random", ())]).map(|()| Query::Sample)?),
            "defaults" => return Err(r.error("formula queries are not available in this release")),
            later if LATER_KINDS.contains(&later) => {
                return Err(r.error(format!("{later} queries are not available in this release")));
            }
            other => return Err(r.error(format!("unknown kind of query '{}'", shorten(other)))),
        };
        kinds.retain(|(known, _)| *known != kind);
        kinds.push((kind, query));
        Ok(())
    })?;
    match kinds.len() {
        0 => Err(reader.error("expected one of nearest, order_by, sample")),
        1 => Ok(kinds.remove(0).1),
        _ => Err(reader.error(format!("expected one kind of query, got {} and {}", kinds[0].0, kinds[1].0))),
    }
}

/// A vector or the id of a point.
fn read_example(reader: &mut Reader<'_>) -> Result<QueryVector> {
    match reader.peek()? {
        Kind::Array | Kind::Object => VectorReader::default().dense(reader).map(QueryVector::Dense),
        Kind::Number | Kind::String => read_id(reader).map(QueryVector::Id),
        other => Err(reader.error(format!("expected a vector or a point ID, got {}", other.word()))),
    }
}

fn read_lookup(reader: &mut Reader<'_>) -> Result<LookupFrom> {
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

/// Nothing but no prefetch at all passes.
fn refuse_prefetch(reader: &mut Reader<'_>) -> Result<()> {
    let none = match reader.peek()? {
        Kind::Null => {
            reader.skip()?;
            true
        }
        Kind::Array => {
            let mut none = true;
            reader.array(|r, _| {
                none = false;
                r.skip()
            })?;
            none
        }
        _ => false,
    };
    if none { Ok(()) } else { Err(reader.error("prefetch queries are not available in this release")) }
}

fn read_params(reader: &mut Reader<'_>) -> Result<SearchParams> {
    let (mut hnsw_ef, mut exact, mut indexed_only, mut quantization) = (None, None, None, None);
    reader.object(|r, key| {
        match key {
            "hnsw_ef" => hnsw_ef = r.optional(|r| r.integer_in(1, u64::MAX))?,
            "exact" => exact = r.optional(Reader::bool)?,
            "indexed_only" => indexed_only = r.optional(Reader::bool)?,
            "quantization" => quantization = r.optional(read_quantization)?,
            "acorn" => drop(r.optional(check_acorn)?),
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(SearchParams {
        hnsw_ef: hnsw_ef.map(|ef| saturating_usize(ef.min(MAX_HNSW_EF))),
        exact: exact.unwrap_or(false),
        indexed_only: indexed_only.unwrap_or(false),
        quantization: quantization.unwrap_or_default(),
    })
}

fn read_quantization(reader: &mut Reader<'_>) -> Result<QuantizationParams> {
    let (mut ignore, mut rescore, mut oversampling) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "ignore" => ignore = r.optional(Reader::bool)?,
            "rescore" => rescore = r.optional(Reader::bool)?,
            "oversampling" => oversampling = r.optional(|r| number_in(r, 1.0, f64::MAX))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let standard = QuantizationParams::default();
    Ok(QuantizationParams {
        ignore: ignore.unwrap_or(standard.ignore),
        rescore: rescore.unwrap_or(standard.rescore),
        // What is beyond the range of f32 is beyond any number of points.
        oversampling: oversampling.map(|factor| (factor as f32).min(f32::MAX)),
    })
}

/// `acorn` is checked and has no effect: the planner decides.
fn check_acorn(reader: &mut Reader<'_>) -> Result<()> {
    reader.object(|r, key| {
        match key {
            "enable" => drop(r.optional(Reader::bool)?),
            "max_selectivity" => drop(r.optional(|r| number_in(r, 0.0, 1.0))?),
            _ => r.unknown()?,
        }
        Ok(())
    })
}

fn number_in(reader: &mut Reader<'_>, min: f64, max: f64) -> Result<f64> {
    let value = reader.f64()?;
    if value < min {
        return Err(reader.error(format!("value {value} invalid, must be {min} or larger")));
    }
    if value > max {
        return Err(reader.error(format!("value {value} invalid, must be {max} or smaller")));
    }
    Ok(value)
}
