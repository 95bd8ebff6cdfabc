//! The bodies of retrieve (C5.2), scroll (C6.4) and count (C6.5).

use super::body::{self, Budget, Result, field_error};
use super::id::read_id;
use super::order_by;
use super::search::{DEFAULT_LIMIT, check_window, read_limit};
use super::selectors::SelectorFields;
use crate::filter::Filter;
use crate::json::Reader;
use crate::limits::Limits;
use crate::payload::PayloadSelector;
use crate::query::request::{CountRequest, RetrieveRequest, ScrollRequest};

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
                    r.unknown()?;
                }
            }
        }
        Ok(())
    })?;
    let ids = ids.ok_or_else(|| reader.missing("ids"))?;
    Ok(RetrieveRequest { ids, with: with.or(PayloadSelector::All) })
}

/// Reads the body of a scroll.
pub(super) fn read_scroll(reader: &mut Reader<'_>, limits: &Limits) -> Result<ScrollRequest> {
    let (mut filter, mut limit, mut offset, mut order) = (None, None, None, None);
    let mut with = SelectorFields::default();
    reader.object(|r, key| {
        match key {
            "filter" => filter = r.optional(|r| Filter::parse(r, limits))?,
            "limit" => limit = r.optional(read_limit)?,
            "offset" => offset = r.optional(read_id)?,
            "order_by" => order = r.optional(order_by::read)?,
            "shard_key" => body::shard_key(r)?,
            key => {
                if !with.field(r, key, limits)? {
                    r.unknown()?;
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
    Ok(ScrollRequest { filter, limit, offset, order_by: order, with: with.or(PayloadSelector::All) })
}

/// Reads the body of a count.
pub(super) fn read_count(reader: &mut Reader<'_>, limits: &Limits) -> Result<CountRequest> {
    let (mut filter, mut exact) = (None, None);
    reader.object(|r, key| {
        match key {
            "filter" => filter = r.optional(|r| Filter::parse(r, limits))?,
            "exact" => exact = r.optional(Reader::bool)?,
            "shard_key" => body::shard_key(r)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(CountRequest { filter, exact: exact.unwrap_or(true) })
}
