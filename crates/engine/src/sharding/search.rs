//! Searches and queries.
//!
//! What a part of a query finds is found of all shards before what is above it begins: the hits of a prefetch are those that it
//! has in one collection. A part above prefetches asks the shards to work on these points alone.

use super::examples;
use super::hits::{Found, Order, hits_of};
use super::members::{Members, elements};
use super::pages::{SHOWN, of_shards};
use super::questions::{Answer, Ask, Task, all};
use super::read::Context;
use super::{chosen, formula, sample};
use crate::api::Operation;
use crate::api::response::{write_elements, write_id, write_list, write_query_result};
use crate::config::fields::ObjectWriter;
use crate::error::Error;
use crate::payload::PayloadSelector;
use crate::query::request::{Selectors, VectorSelector};
use crate::query::tree::{Fusion, Query, QueryNode, QueryRequest, Recommend, Strategy};
use crate::query::{Hit, List as HitList, fuse};
use crate::types::{PointId, PointOffset};
use std::collections::HashMap;

/// Members of a search or a query that say what is asked for. The others are written anew for each question.
const ASKED: [&str; 11] = [
    "query",
    "vector",
    "positive",
    "negative",
    "target",
    "context",
    "strategy",
    "using",
    "params",
    "score_threshold",
    "model",
];

/// Up to so many hits are asked for with what is shown of them. Of more, what is shown is asked for when it is known which hits
/// of all shards are answered.
const SHOWN_AT_ONCE: usize = 64;

/// A node of a query, with the texts of its members.
pub(super) struct Tree {
    /// Without its prefetches.
    pub node: QueryNode,
    pub members: Members<'static>,
    pub prefetch: Vec<Tree>,
    /// The operation that it can be asked by.
    pub operation: Operation,
    /// The points of the collection that it names as examples.
    pub named: Vec<PointId>,
}

/// A search or a query.
pub(super) struct Root {
    pub tree: Tree,
    pub offset: usize,
    pub with: Selectors,
}

impl Root {
    /// A request and the members of its body.
    pub fn of(operation: Operation, request: QueryRequest, members: Members<'static>) -> Result<Root, Error> {
        let QueryRequest { node, offset, with, .. } = request;
        Ok(Root { tree: Tree::of(operation, node, members)?, offset, with })
    }
}

impl Tree {
    /// A node and the members of its object.
    pub fn of(operation: Operation, mut node: QueryNode, members: Members<'static>) -> Result<Tree, Error> {
        let texts = match members.get("prefetch") {
            None => Vec::new(),
            Some(list) if list.starts_with('[') => elements(list)?,
            Some(one) => vec![one],
        };
        let prefetch = std::mem::take(&mut node.prefetch)
            .into_iter()
            .zip(texts)
            .map(|(node, text)| {
                Tree::of(Operation::Query, node, Members::parse(text.as_bytes())?.into_owned())
            })
            .collect::<Result<_, Error>>()?;
        Ok(Tree { node, members, prefetch, operation, named: Vec::new() })
    }

    /// The collections that examples are looked up in.
    pub fn lookups(&self) -> Vec<&str> {
        let own = self.node.lookup_from.iter().map(|from| from.collection.as_str());
        own.chain(self.prefetch.iter().flat_map(Tree::lookups)).collect()
    }

    /// Calls `each` for it and all below it.
    pub fn for_each<'t>(&'t self, each: &mut impl FnMut(&'t Tree)) {
        each(self);
        self.prefetch.iter().for_each(|source| source.for_each(each));
    }

    /// As [`for_each`](Self::for_each), to change them.
    pub fn for_each_mut(
        &mut self,
        each: &mut impl FnMut(&mut Tree) -> Result<(), Error>,
    ) -> Result<(), Error> {
        each(self)?;
        self.prefetch.iter_mut().try_for_each(|source| source.for_each_mut(each))
    }

    /// The members that say what is asked for.
    pub fn asked(&self) -> Members<'static> {
        self.members.matching(|key| ASKED.contains(&key))
    }

    /// What orders its hits, and whether scores are distances.
    pub fn order(&self, context: &Context) -> Order {
        let by_distance =
            || Order::Scores { smaller_is_better: context.layout.smaller_is_better(&self.node.using) };
        match &self.node.query {
            // What Mmr chooses from is near.
            Query::Nearest(_) | Query::Mmr(_) => by_distance(),
            Query::Recommend(Recommend { strategy: Strategy::AverageVector, .. }) => by_distance(),
            Query::OrderBy(order_by) => Order::Values(order_by.direction),
            Query::ById => Order::Ids,
            Query::Sample => Order::Found,
            _ => Order::Scores { smaller_is_better: false },
        }
    }
}

/// What a node has found in all shards, best first.
pub(super) struct List {
    pub hits: Vec<Found>,
    /// Their scores are distances.
    pub smaller_is_better: bool,
    /// What its prefetches have found, where it is a formula.
    pub sources: Vec<List>,
}

/// The filters of the nodes above a node and its own, and the examples that neither they nor it find.
#[derive(Clone, Default)]
pub(super) struct Within<'t> {
    pub filters: Vec<&'t str>,
    pub excluded: Vec<&'t PointId>,
}

impl<'t> Within<'t> {
    /// What is within these and a node.
    pub fn and(&self, tree: &'t Tree) -> Within<'t> {
        let mut within = self.clone();
        within.filters.extend(tree.members.get("filter"));
        within.excluded.extend(&tree.named);
        within
    }

    /// All of them as one filter, with further conditions.
    pub fn filter(&self, context: &Context, further: Vec<String>) -> Option<String> {
        let mut conditions: Vec<String> = self.filters.iter().map(|filter| filter.to_string()).collect();
        conditions.extend(further);
        if !self.excluded.is_empty() {
            let ids = has_id(context, self.excluded.iter().copied());
            conditions.push(format!("{{\"must_not\":[{ids}]}}"));
        }
        match &conditions[..] {
            [] => None,
            [one] if !self.filters.is_empty() => Some(one.clone()),
            all => Some(format!("{{\"must\":[{}]}}", all.join(","))),
        }
    }

    /// The same filters, without the exclusion of the examples.
    pub fn allowing_examples(&self) -> Within<'t> {
        Within { excluded: Vec::new(), ..self.clone() }
    }
}

/// A condition that points are among these. One condition lists so many ids at most.
pub(super) fn has_id<'i>(context: &Context, ids: impl IntoIterator<Item = &'i PointId>) -> String {
    let ids: Vec<&PointId> = ids.into_iter().collect();
    let condition = |ids: &[&PointId]| {
        let mut out = Vec::new();
        let mut object = ObjectWriter::start(&mut out);
        write_list(object.key("has_id"), ids, |out, id| write_id(out, id));
        object.end();
        String::from_utf8(out).unwrap_or_default()
    };
    let most = context.limits.max_points_per_request.max(1);
    if ids.len() <= most {
        return condition(&ids);
    }
    let conditions: Vec<String> = ids.chunks(most).map(condition).collect();
    format!("{{\"should\":[{}]}}", conditions.join(","))
}

/// A prefetch that finds points by their ids.
pub(super) fn these<'i>(context: &Context, ids: impl IntoIterator<Item = &'i PointId>) -> String {
    let ids: Vec<&PointId> = ids.into_iter().collect();
    let (limit, condition) = (ids.len().max(1), has_id(context, ids));
    format!("{{\"filter\":{{\"must\":[{condition}]}},\"limit\":{limit}}}")
}

/// The hits of a search or a query.
pub(super) async fn hits(context: &Context, mut root: Root) -> Result<Vec<Found>, Error> {
    examples::fetch(context, &mut root.tree).await?;
    let shown = root.tree.members.matching(|key| SHOWN.contains(&key));
    let shows = root.with.payload != PayloadSelector::None || root.with.vector != VectorSelector::None;
    // A sample of a collection has no order to skip in.
    let is_unordered = matches!(root.tree.node.query, Query::Sample) && root.tree.prefetch.is_empty();
    let offset = if is_unordered { 0 } else { root.offset };
    let window = root.tree.node.limit.saturating_add(offset);
    let is_asked_whole = !matches!(root.tree.node.query, Query::Fusion(_) | Query::Mmr(_))
        && (root.tree.prefetch.is_empty() || !matches!(root.tree.node.query, Query::Sample));
    let at_once = shows && is_asked_whole && window <= SHOWN_AT_ONCE;
    let with = if at_once { shown.clone() } else { Members::default() };
    let found = find(context, &root.tree, Within::default(), window, with).await?;
    let mut hits = found.hits;
    hits.drain(..offset.min(hits.len()));
    if shows && !at_once { show(context, hits, &shown).await } else { Ok(hits) }
}

/// Appends the hits as a list or as those of a query.
pub(super) fn write(out: &mut Vec<u8>, hits: &[Found], is_list: bool) {
    if is_list {
        return write_list(out, hits, |out, hit| hit.write_hit(out));
    }
    write_query_result(out, |out| write_elements(out, hits, |out, hit| hit.write_hit(out)));
}

/// Adds what is shown of some hits. One that is gone meanwhile is left out; so are those of a shard that is.
pub(super) async fn show(
    context: &Context,
    hits: Vec<Found>,
    shown: &Members<'static>,
) -> Result<Vec<Found>, Error> {
    let ask = |(shard, ids): (u32, Vec<&PointId>)| {
        let mut body = shown.clone();
        body.set("limit", ids.len().to_string());
        body.set("filter", format!("{{\"must\":[{}]}}", has_id(context, ids)));
        context.question(shard, Operation::Query, body.text().into_bytes())
    };
    let ids = of_shards(hits.iter().map(|hit| &hit.id), context.layout.shards);
    let answers = context.desk.ask(ids.into_iter().map(ask).collect()).await;
    let mut found = HashMap::with_capacity(hits.len());
    for point in lists_of(context, answers.into_iter().flatten())?.into_iter().flatten() {
        found.insert(point.id.clone(), point);
    }
    Ok(hits.into_iter().filter_map(|hit| found.get(&hit.id).map(|point| hit.showing(point))).collect())
}

/// The hits of some answers.
pub(super) fn lists_of(
    context: &Context,
    answers: impl IntoIterator<Item = Answer>,
) -> Result<Vec<Vec<Found>>, Error> {
    answers.into_iter().map(|answer| hits_of(&answer, context.layout.ids)).collect()
}

/// The first `window` hits of a node. What is `shown` of them is left to the caller where shards do not answer them whole.
pub(super) fn find<'t>(
    context: &'t Context,
    tree: &'t Tree,
    above: Within<'t>,
    window: usize,
    shown: Members<'static>,
) -> Task<'t, List> {
    Box::pin(async move {
        let within = above.and(tree);
        let none = Members::default;
        let below = |source: &'t Tree| find(context, source, within.clone(), source.node.limit, none());
        let lists = all(tree.prefetch.iter().map(below).collect()).await?;
        let smaller_is_better = tree.order(context) == Order::Scores { smaller_is_better: true };
        let found = |hits| List { hits, smaller_is_better, sources: Vec::new() };
        match &tree.node.query {
            Query::Fusion(fusion) => Ok(found(fused(tree, fusion, &lists, window))),
            Query::Formula(_) => {
                let hits = formula::rank(context, tree, &lists, window, &shown).await?;
                Ok(List { sources: lists, ..found(hits) })
            }
            Query::Mmr(mmr) => chosen::choose(context, tree, mmr, &within, &lists, window).await.map(found),
            Query::Sample => sample::draw(context, tree, &within, &lists, window, &shown).await.map(found),
            _ => nearest(context, tree, tree.asked(), &within, &lists, (window, &shown)).await.map(found),
        }
    })
}

/// The first `window` hits of a node that shards order alike: of all points, or of those that its prefetches have found.
/// `asked` says what is asked for.
pub(super) async fn nearest(
    context: &Context,
    tree: &Tree,
    asked: Members<'static>,
    within: &Within<'_>,
    lists: &[List],
    (window, shown): (usize, &Members<'static>),
) -> Result<Vec<Found>, Error> {
    let mut body = asked;
    body.extend(shown);
    let order = tree.order(context);
    if tree.prefetch.is_empty() {
        // A few hits more leave the walks as they are, which a filter on ids does not.
        let widened = window.saturating_add(within.excluded.len());
        let is_scored = matches!(order, Order::Scores { .. });
        let widens = is_scored && widened <= context.limits.max_result_window;
        let (limit, filters) =
            if widens { (widened, within.allowing_examples()) } else { (window, within.clone()) };
        body.set("limit", limit.to_string());
        filters.filter(context, Vec::new()).into_iter().for_each(|filter| body.set("filter", filter));
        let answers = context.ask_all(tree.operation, body.text().into_bytes()).await;
        let lists = lists_of(context, answers)?;
        let is_found = |hit: &Found| !widens || within.excluded.iter().all(|id| **id != hit.id);
        let lists = lists.into_iter().map(|list| list.into_iter().filter(is_found).collect());
        return Ok(order.merge(lists, window));
    }
    body.set("limit", window.to_string());
    let candidates = lists.iter().flat_map(|list| &list.hits).map(|hit| &hit.id);
    let ask = |(shard, ids): (u32, Vec<&PointId>)| {
        let mut body = body.clone();
        body.set("prefetch", format!("[{}]", these(context, ids)));
        context.question(shard, Operation::Query, body.text().into_bytes())
    };
    let asks: Vec<Ask> = of_shards(candidates, context.layout.shards).into_iter().map(ask).collect();
    let answers = context.desk.ask(asks).await;
    Ok(order.merge(lists_of(context, answers.into_iter().flatten())?, window))
}

/// The lists of the prefetches as one, by the engine's own fusion.
fn fused(tree: &Tree, fusion: &Fusion, lists: &[List], window: usize) -> Vec<Found> {
    let points = Numbered::of(lists);
    let lists: Vec<HitList> = lists
        .iter()
        .map(|list| HitList {
            hits: list
                .hits
                .iter()
                .filter_map(|hit| Some(Hit::scored(points.number(&hit.id)?, hit.score)))
                .collect(),
            smaller_is_better: list.smaller_is_better,
        })
        .collect();
    // Numbers are in the order of ids.
    let by_id = |a: PointOffset, b: PointOffset| a.cmp(&b);
    let fused = fuse(by_id, fusion, &lists, window, tree.node.score_threshold);
    fused.into_iter().filter_map(|hit| points.scored(hit)).collect()
}

/// The different points of some lists, numbered in the order of their ids.
pub(super) struct Numbered<'l>(Vec<&'l Found>);

impl<'l> Numbered<'l> {
    /// The points of all lists.
    pub fn of(lists: &'l [List]) -> Numbered<'l> {
        let mut points: Vec<&Found> = lists.iter().flat_map(|list| &list.hits).collect();
        points.sort_by(|a, b| a.id.cmp(&b.id));
        points.dedup_by(|a, b| a.id == b.id);
        Numbered(points)
    }

    fn number(&self, id: &PointId) -> Option<PointOffset> {
        let place = self.0.binary_search_by(|point| point.id.cmp(id)).ok()?;
        u32::try_from(place).ok().map(PointOffset::new)
    }

    /// The point of a hit, without what was known of it beside its version.
    fn scored(&self, hit: Hit) -> Option<Found> {
        let point = self.0.get(hit.offset.get() as usize)?;
        let (id, version) = (point.id.clone(), point.version);
        Some(Found { id, version, score: hit.score, order_value: None, payload: None, vector: None })
    }

    /// The points, in the order of their ids.
    pub fn points(&self) -> &[&'l Found] {
        &self.0
    }
}
