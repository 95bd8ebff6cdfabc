//! The bodies of grouped searches, queries and recommendations (C12): those of the plain ones without an offset, and the
//! fields of the groups.

use super::body::{Result, field_error};
use super::cursor;
use super::search::{check_reach, read_limit};
use super::selectors::SelectorFields;
use super::{query, recommend, search};
use crate::json::{Kind, Reader};
use crate::limits::Limits;
use crate::payload::{JsonPath, PayloadSelector};
use crate::query::groups;
use crate::query::request::{CursorRequest, GroupLookup, GroupsRequest};
use crate::query::tree::{QueryNode, QueryRequest};

/// Hits of a group where the request does not say how many.
const DEFAULT_SIZE: usize = 3;

/// Reads the body of a grouped search.
pub(super) fn read_search(reader: &mut Reader<'_>, limits: &Limits) -> Result<GroupsRequest> {
    read(reader, limits, search::read_node)
}

/// Reads the body of a grouped query.
pub(super) fn read_query(reader: &mut Reader<'_>, limits: &Limits) -> Result<GroupsRequest> {
    read(reader, limits, query::read_node)
}

/// Reads the body of a grouped recommendation.
pub(super) fn read_recommend(reader: &mut Reader<'_>, limits: &Limits) -> Result<GroupsRequest> {
    read(reader, limits, recommend::read_node)
}

/// Reads the value of a field that not all requests of a kind have. False if there is no such field.
pub(super) type OtherFields<'f> = &'f mut dyn FnMut(&mut Reader<'_>, &str) -> Result<bool>;

fn read(
    reader: &mut Reader<'_>,
    limits: &Limits,
    read_node: fn(&mut Reader<'_>, &Limits, OtherFields<'_>) -> Result<QueryNode>,
) -> Result<GroupsRequest> {
    let mut fields = GroupFields::default();
    let node = read_node(reader, limits, &mut |r, key| fields.field(r, key, limits))?;
    fields.finish(reader, limits, node)
}

/// The fields that a grouped request has beside those of its node.
#[derive(Default)]
struct GroupFields {
    by: Option<JsonPath>,
    size: Option<usize>,
    lookup: Option<GroupLookup>,
    with: SelectorFields,
    cursor: Option<CursorRequest>,
}

impl GroupFields {
    fn field(&mut self, reader: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool> {
        match key {
            "cursor" => self.cursor = reader.optional(cursor::read)?,
            "group_by" => self.by = reader.optional(JsonPath::read)?,
            "group_size" => self.size = reader.optional(read_limit)?,
            "with_lookup" => self.lookup = reader.optional(|r| read_lookup(r, limits))?,
            _ => return self.with.field(reader, key, limits),
        }
        Ok(true)
    }

    /// The request. `reader` is just behind the object.
    fn finish(self, reader: &mut Reader<'_>, limits: &Limits, mut node: QueryNode) -> Result<GroupsRequest> {
        if node.explain.is_some() {
            return Err(field_error(reader, "params.explain", "a grouped query has no explanation"));
        }
        let by = self.by.ok_or_else(|| reader.missing("group_by"))?;
        let size = self.size.unwrap_or(DEFAULT_SIZE);
        node.limit = fit_groups(reader, limits, node.limit, size)?;
        cursor::refuse(reader, self.cursor, ())?;
        let with = self.with.or(PayloadSelector::None);
        let query = QueryRequest { node, offset: 0, with, cursor: None };
        let request = GroupsRequest { query, by, size, lookup: self.lookup };
        let widened = groups::widened(&request, limits.max_result_window);
        let what = "limits of a query and all its prefetches, times group_size,";
        check_reach(reader, limits, "prefetch", what, std::slice::from_ref(&widened))?;
        Ok(request)
    }
}

/// The number of groups: one with which they would have more hits than the window is refused, or made smaller by a lenient
/// reader.
fn fit_groups(reader: &mut Reader<'_>, limits: &Limits, limit: usize, size: usize) -> Result<usize> {
    let max = limits.max_result_window;
    let hits = limit.saturating_mul(size);
    if hits <= max {
        return Ok(limit);
    }
    let most = max / size;
    if !reader.is_lenient() || most == 0 {
        let why = format!("limit * group_size must be at most {max} (max_result_window), got {hits}");
        return Err(field_error(reader, "limit", why));
    }
    let why = format!("shortened to {most}: limit * group_size is at most {max} (max_result_window)");
    reader.warn("limit", &why);
    Ok(most)
}

/// Reads `with_lookup`: the name of a collection, or an object that says what is shown of its points.
fn read_lookup(reader: &mut Reader<'_>, limits: &Limits) -> Result<GroupLookup> {
    let (mut collection, mut with) = (None, SelectorFields::default());
    if reader.peek()? == Kind::String {
        collection = Some(reader.string()?.into_owned());
    } else {
        reader.object(|r, key| {
            match key {
                "collection" => collection = r.optional(|r| r.string().map(String::from))?,
                key => {
                    if !with.field(r, key, limits)? {
                        r.unknown()?;
                    }
                }
            }
            Ok(())
        })?;
    }
    let collection = collection.ok_or_else(|| reader.missing("collection"))?;
    Ok(GroupLookup { collection, with: with.or(PayloadSelector::All) })
}
