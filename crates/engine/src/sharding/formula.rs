//! Queries by a formula. Shards calculate it, because it may ask for anything of a payload, of what the prefetches have found in
//! all shards: each prefetch of a shard finds those of its points again, with the same scores.

use super::hits::{Found, Order};
use super::members::Members;
use super::pages::of_shards;
use super::placement::shard_of;
use super::questions::Ask;
use super::read::Context;
use super::request::unavailable;
use super::search::{List, Tree, has_id, lists_of, these};
use crate::api::Operation;
use crate::api::response::{write_id, write_list};
use crate::config::fields::ObjectWriter;
use crate::error::Error;
use crate::json::write_f32;
use crate::query::tree::Query;
use crate::types::PointId;

/// Hits of a fusion that a formula of one shard works on, at most. Their scores are calculated by a formula of their own, which
/// has a condition for each of them.
const MAX_FUSED: usize = 256;

/// The best of what the prefetches have found.
pub(super) async fn rank(
    context: &Context,
    tree: &Tree,
    lists: &[List],
    window: usize,
    shown: &Members<'static>,
) -> Result<Vec<Found>, Error> {
    let ids = lists.iter().flat_map(|list| &list.hits).map(|hit| &hit.id);
    let ask = |(shard, _)| {
        let mut body = tree.asked();
        body.extend(shown);
        body.set("limit", window.to_string());
        body.set("prefetch", again(context, tree, lists, shard)?);
        Ok(context.question(shard, Operation::Query, body.text().into_bytes()))
    };
    let asks =
        of_shards(ids, context.layout.shards).into_iter().map(ask).collect::<Result<Vec<Ask>, Error>>()?;
    let answers = context.desk.ask(asks).await;
    let order = Order::Scores { smaller_is_better: false };
    Ok(order.merge(lists_of(context, answers.into_iter().flatten())?, window))
}

/// Prefetches that find what those of a node have found in a shard.
fn again(context: &Context, tree: &Tree, lists: &[List], shard: u32) -> Result<String, Error> {
    let each = tree.prefetch.iter().zip(lists).map(|(source, list)| once_more(context, source, list, shard));
    Ok(format!("[{}]", each.collect::<Result<Vec<String>, Error>>()?.join(",")))
}

/// A prefetch that finds the points of a list that a shard has, with the same scores.
fn once_more(context: &Context, source: &Tree, list: &List, shard: u32) -> Result<String, Error> {
    let is_here = |hit: &&Found| shard_of(&hit.id, context.layout.shards) == shard;
    let hits: Vec<&Found> = list.hits.iter().filter(is_here).collect();
    let ids = || hits.iter().map(|hit| &hit.id);
    let mut body = source.asked();
    body.remove("score_threshold");
    body.set("limit", hits.len().max(1).to_string());
    match &source.node.query {
        // Their hits all score 1.
        Query::OrderBy(_) | Query::Sample | Query::ById => return Ok(these(context, ids())),
        Query::Fusion(_) => return scored(context, &hits),
        Query::Formula(_) => {
            body.set("prefetch", again(context, source, &list.sources, shard)?);
            body.set("filter", format!("{{\"must\":[{}]}}", has_id(context, ids())));
        }
        Query::Mmr(_) => {
            body.set("query", source.nearest_of_mmr()?);
            body.set("prefetch", format!("[{}]", these(context, ids())));
        }
        _ => body.set("prefetch", format!("[{}]", these(context, ids()))),
    }
    Ok(body.text())
}

/// A prefetch that finds some points with scores that are given: by a formula that adds, for each of them, its score if it is
/// that point.
fn scored(context: &Context, hits: &[&Found]) -> Result<String, Error> {
    if hits.len() > MAX_FUSED {
        return Err(unavailable(&format!(
            "A formula over more than {MAX_FUSED} hits of a fusion in one shard"
        )));
    }
    let mut out = Vec::new();
    let mut query = ObjectWriter::start(&mut out);
    let mut formula = ObjectWriter::start(query.key("formula"));
    write_list(formula.key("sum"), hits, |out, hit| {
        let mut term = ObjectWriter::start(out);
        let factors = term.key("mult");
        factors.push(b'[');
        write_f32(factors, hit.score);
        factors.push(b',');
        let mut condition = ObjectWriter::start(factors);
        write_list(condition.key("has_id"), [&hit.id], |out, id: &PointId| write_id(out, id));
        condition.end();
        factors.push(b']');
        term.end();
    });
    formula.end();
    query.end();
    let query = String::from_utf8(out).unwrap_or_default();
    let (limit, these) = (hits.len().max(1), these(context, hits.iter().map(|hit| &hit.id)));
    Ok(format!("{{\"query\":{query},\"prefetch\":[{these}],\"limit\":{limit}}}"))
}
