//! The bodies of the endpoints that recommend and discover have of their own in Qdrant's dialect (C12): the universal query
//! with the fields of its `query` at the top level.

use super::body::{Budget, Result, field_error};
use super::cursor;
use super::example;
use super::groups::OtherFields;
use super::query::read_lookup;
use super::query_kind::{STRATEGIES, checked_recommend};
use super::search::{NodeFields, RootFields};
use crate::config::fields::choice;
use crate::json::Reader;
use crate::limits::Limits;
use crate::query::tree::{Discover, Example, LookupFrom, Query, QueryNode, QueryRequest, Strategy};

/// The fields that both have.
#[derive(Default)]
struct Shared {
    node: NodeFields,
    using: Option<Box<str>>,
    lookup_from: Option<LookupFrom>,
}

impl Shared {
    /// Reads the value of a field if it is one of these.
    fn field(
        &mut self,
        reader: &mut Reader<'_>,
        key: &str,
        limits: &Limits,
        other: OtherFields<'_>,
    ) -> Result<()> {
        match key {
            "using" => self.using = reader.optional(|r| r.string().map(|name| Box::from(&*name)))?,
            "lookup_from" => self.lookup_from = reader.optional(read_lookup)?,
            "top" => self.node.read_limit(reader, key)?,
            key => {
                if !self.node.field(reader, key, limits)? && !other(reader, key)? {
                    reader.unknown_in_body()?;
                }
            }
        }
        Ok(())
    }

    fn finish(self, reader: &Reader<'_>, query: Query) -> Result<QueryNode> {
        let node = self.node.finish(reader, "", query, self.using.unwrap_or_default())?;
        Ok(QueryNode { lookup_from: self.lookup_from, ..node })
    }
}

/// Reads the body of a recommendation.
pub(super) fn read_recommend(reader: &mut Reader<'_>, limits: &Limits) -> Result<QueryRequest> {
    read_request(reader, limits, read_node)
}

/// Reads the body of a discovery: with a target, a context or both.
pub(super) fn read_discover(reader: &mut Reader<'_>, limits: &Limits) -> Result<QueryRequest> {
    read_request(reader, limits, |r, limits, other| {
        example::with_ids_of_lookup(r, |r| read_discovery(r, limits, other))
    })
}

fn read_request(
    reader: &mut Reader<'_>,
    limits: &Limits,
    read: fn(&mut Reader<'_>, &Limits, OtherFields<'_>) -> Result<QueryNode>,
) -> Result<QueryRequest> {
    let mut root = RootFields::default();
    let node = read(reader, limits, &mut |r, key| root.field(r, key, limits))?;
    let request = root.finish(reader, limits, node)?;
    cursor::refuse(reader, request.cursor, request)
}

/// Reads what is recommended.
pub(super) fn read_node(
    reader: &mut Reader<'_>,
    limits: &Limits,
    other: OtherFields<'_>,
) -> Result<QueryNode> {
    example::with_ids_of_lookup(reader, |r| read_recommendation(r, limits, other))
}

fn read_recommendation(
    reader: &mut Reader<'_>,
    limits: &Limits,
    other: OtherFields<'_>,
) -> Result<QueryNode> {
    let mut shared = Shared::default();
    let mut budget = Budget::new(limits);
    let (mut positive, mut negative, mut strategy) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "positive" => positive = r.optional(|r| example::read_list(r, &mut budget))?,
            "negative" => negative = r.optional(|r| example::read_list(r, &mut budget))?,
            "strategy" => strategy = r.optional(|r| choice(r, &STRATEGIES))?,
            key => shared.field(r, key, limits, other)?,
        }
        Ok(())
    })?;
    let has = |examples: &Option<Vec<Example>>| examples.as_ref().is_some_and(|list| !list.is_empty());
    if strategy.unwrap_or(Strategy::AverageVector) == Strategy::AverageVector
        && !has(&positive)
        && has(&negative)
    {
        let why = "Positive vectors should not be empty with average strategy";
        return Err(field_error(reader, "positive", why));
    }
    let query = Query::Recommend(checked_recommend(reader, positive, negative, strategy)?);
    shared.finish(reader, query)
}

fn read_discovery(reader: &mut Reader<'_>, limits: &Limits, other: OtherFields<'_>) -> Result<QueryNode> {
    let mut shared = Shared::default();
    let mut budget = Budget::new(limits);
    let (mut target, mut context) = (None, None);
    reader.object(|r, key| {
        match key {
            "target" => target = r.optional(example::read)?,
            "context" => context = r.optional(|r| example::read_pairs(r, &mut budget))?,
            key => shared.field(r, key, limits, other)?,
        }
        Ok(())
    })?;
    let context = context.unwrap_or_default();
    let query = match target {
        Some(target) => Query::Discover(Discover { target, context }),
        None if context.is_empty() => return Err(reader.error("either target or context must be given")),
        None => Query::Context(context),
    };
    shared.finish(reader, query)
}
