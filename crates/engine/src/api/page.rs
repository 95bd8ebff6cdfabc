//! The bodies of retrieve (C5.2), scroll (C6.4), count (C6.5), facet (C6.8), the distance matrix (C6.9) and the
//! projection (C6.10).

use super::body::{self, Budget, Result, field_error};
use super::cursor;
use super::id::read_id;
use super::order_by;
use super::search::{DEFAULT_LIMIT, REQUEST_WINDOWS, check_window, fit_window, read_limit};
use super::selectors::SelectorFields;
use crate::config::fields::choice;
use crate::filter::Filter;
use crate::json::Reader;
use crate::limits::{Limits, MAX_PROJECTED_POINTS};
use crate::payload::{JsonPath, PayloadSelector};
use crate::query::request::{
    CountRequest, FacetRequest, MatrixRequest, ProjectionMethod, ProjectionRequest, RetrieveRequest,
    ScrollRequest,
};

/// Reads the body of a retrieve.
pub(super) fn read_retrieve(reader: &mut Reader<'_>, limits: &Limits) -> Result<RetrieveRequest> {
    let mut ids = None;
    let mut with = SelectorFields::default();
    let mut budget = Budget::new(limits);
    reader.object(|r, key| {
        match key {
            "ids" => ids = r.optional(|r| budget.list(r, read_id))?,
            "shard_key" => body::shard_key(r)?,
            key => {
                if !with.field(r, key, limits)? {
                    r.unknown_in_body()?;
                }
            }
        }
        Ok(())
    })?;
    let ids = ids.ok_or_else(|| reader.missing("ids"))?;
    let leaves_out_absent = reader.is_lenient();
    Ok(RetrieveRequest { ids, with: with.or(PayloadSelector::All), leaves_out_absent })
}

/// Reads the body of a scroll.
pub(super) fn read_scroll(reader: &mut Reader<'_>, limits: &Limits) -> Result<ScrollRequest> {
    let (mut filter, mut limit, mut offset, mut order, mut cursor) = (None, None, None, None, None);
    let mut with = SelectorFields::default();
    reader.object(|r, key| {
        match key {
            "filter" => filter = r.optional(|r| Filter::parse(r, limits))?,
            "limit" => limit = r.optional(read_limit)?,
            "offset" => offset = r.optional(read_id)?,
            "order_by" => order = r.optional(order_by::read)?,
            "cursor" => cursor = r.optional(cursor::read)?,
            "shard_key" => body::shard_key(r)?,
            key => {
                if !with.field(r, key, limits)? {
                    r.unknown_in_body()?;
                }
            }
        }
        Ok(())
    })?;
    let limit = match order {
        // There is no next page to continue with.
        Some(_) => {
            let limit = limit.unwrap_or(DEFAULT_LIMIT);
            check_window(reader, limits, limit, 0)?;
            limit
        }
        None => limit.unwrap_or(DEFAULT_LIMIT).min(limits.max_result_window),
    };
    if order.is_some() && offset.is_some() {
        let why =
            "Cannot use an offset when using order_by. Page with start_from and a filter on the ids seen.";
        return Err(field_error(reader, "offset", why));
    }
    let with = with.or(PayloadSelector::All);
    Ok(ScrollRequest { filter, limit, offset, order_by: order, with, cursor })
}

/// Reads the body of a count.
pub(super) fn read_count(reader: &mut Reader<'_>, limits: &Limits) -> Result<CountRequest> {
    let (mut filter, mut exact) = (None, None);
    reader.object(|r, key| {
        match key {
            "filter" => filter = r.optional(|r| Filter::parse(r, limits))?,
            "exact" => exact = r.optional(Reader::bool)?,
            "shard_key" => body::shard_key(r)?,
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    Ok(CountRequest { filter, exact: exact.unwrap_or(true) })
}

/// Points of the sample of a matrix that has no `sample`.
const DEFAULT_SAMPLE: usize = 10;
/// Others that each of them is paired with where it has no `limit`.
const DEFAULT_PAIRS: usize = 3;

/// Points of the sample of a projection that has no `sample`.
const DEFAULT_PROJECTED: usize = 10_000;
/// Neighbours of a point where a projection has no `neighbors`; that of UMAP's authors.
const DEFAULT_NEIGHBORS: usize = 15;
/// The greatest `neighbors` of a projection.
const MAX_NEIGHBORS: u64 = 100;

/// Reads the body of a facet.
pub(super) fn read_facet(reader: &mut Reader<'_>, limits: &Limits) -> Result<FacetRequest> {
    let (mut path, mut limit, mut filter) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "key" => path = r.optional(JsonPath::read)?,
            "limit" => limit = r.optional(read_limit)?,
            "filter" => filter = r.optional(|r| Filter::parse(r, limits))?,
            // Every facet is exact.
            "exact" => drop(r.optional(Reader::bool)?),
            "shard_key" => body::shard_key(r)?,
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    let key = path.ok_or_else(|| reader.missing("key"))?;
    let limit = fit_window(reader, limits, limit.unwrap_or(DEFAULT_LIMIT), 0)?;
    Ok(FacetRequest { key, limit, filter })
}

/// Reads the body of a distance matrix.
pub(super) fn read_matrix(reader: &mut Reader<'_>, limits: &Limits) -> Result<MatrixRequest> {
    let (mut filter, mut sample, mut limit, mut using) = (None, None, None, None);
    reader.object(|r, key| {
        match key {
            "filter" => filter = r.optional(|r| Filter::parse(r, limits))?,
            "sample" => sample = r.optional(|r| r.integer_in(2, u64::MAX))?,
            "limit" => limit = r.optional(read_limit)?,
            "using" => using = r.optional(|r| r.string().map(|name| Box::from(&*name)))?,
            "shard_key" => body::shard_key(r)?,
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    let sample = sample.map_or(DEFAULT_SAMPLE, |sample| usize::try_from(sample).unwrap_or(usize::MAX));
    let limit = limit.unwrap_or(DEFAULT_PAIRS);
    let max = limits.max_result_window;
    if sample > max {
        let why = format!("must be at most {max} (max_result_window), got {sample}");
        return Err(field_error(reader, "sample", why));
    }
    let pairs = sample.saturating_mul(limit.min(sample - 1));
    if pairs > max.saturating_mul(REQUEST_WINDOWS) {
        let most = max.saturating_mul(REQUEST_WINDOWS);
        let why = format!("at most {most} pairs ({REQUEST_WINDOWS} times max_result_window), got {pairs}");
        return Err(field_error(reader, "limit", why));
    }
    Ok(MatrixRequest { filter, sample, limit, using: using.unwrap_or_default() })
}

/// Reads the body of a projection.
pub(super) fn read_projection(reader: &mut Reader<'_>, limits: &Limits) -> Result<ProjectionRequest> {
    let (mut filter, mut sample, mut using) = (None, None, None);
    let (mut method, mut neighbors, mut seed) = (None, None, None);
    let methods = [("pca", ProjectionMethod::Pca), ("umap", ProjectionMethod::Umap)];
    reader.object(|r, key| {
        match key {
            "filter" => filter = r.optional(|r| Filter::parse(r, limits))?,
            "sample" => sample = r.optional(|r| r.integer_in(1, u64::MAX))?,
            "using" => using = r.optional(|r| r.string().map(|name| Box::from(&*name)))?,
            "method" => method = r.optional(|r| choice(r, &methods))?,
            "neighbors" => neighbors = r.optional(|r| r.integer_in(2, MAX_NEIGHBORS))?,
            "seed" => seed = r.optional(|r| r.integer_in(0, u64::MAX))?,
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    let sample = sample.map_or(DEFAULT_PROJECTED, |sample| usize::try_from(sample).unwrap_or(usize::MAX));
    let max = limits.max_result_window.min(MAX_PROJECTED_POINTS);
    if sample > max {
        let why = format!("must be at most {max}, got {sample}");
        return Err(field_error(reader, "sample", why));
    }
    Ok(ProjectionRequest {
        filter,
        sample,
        using: using.unwrap_or_default(),
        method: method.unwrap_or(ProjectionMethod::Umap),
        neighbors: neighbors.map_or(DEFAULT_NEIGHBORS, |neighbors| neighbors as usize),
        seed: seed.unwrap_or_default(),
    })
}
