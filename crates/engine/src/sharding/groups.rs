//! Searches and queries whose hits are grouped by a field.
//!
//! A group is as good as its best hit. So each of the best groups of all shards is among the best of the shard that has its
//! best hit, and asking each shard for as many groups as are wanted finds them all. Of a shard where a group is not among the
//! best, its hits are asked for by themselves.

use super::examples;
use super::hits::{Found, Order, hits_of, read_point};
use super::members::Members;
use super::pages::{SHOWN, by_id};
use super::placement::shard_of;
use super::questions::{Answer, broken};
use super::read::Context;
use super::search::{Root, Tree, Within, find, show};
use crate::api::response::write_list;
use crate::api::summaries::write_group_id;
use crate::api::{self, BodyWithWarnings, Operation};
use crate::config::fields::ObjectWriter;
use crate::error::Error;
use crate::group_keys::{GroupId, groups_of};
use crate::json::{Kind, Reader};
use crate::limits::Limits;
use crate::payload::{JsonPath, PayloadSelector};
use crate::query::groups::widened;
use crate::query::request::{GroupLookup, Selectors, VectorSelector};
use crate::query::tree::Query;
use crate::types::PointId;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A group of which a shard has found too few hits is asked for again, so many times as wide.
const WIDENING: usize = 4;
/// At most so many hits of it are looked at, with their payloads.
const WIDEST: usize = 4096;

/// A grouped search or query.
pub(super) struct Grouped {
    operation: Operation,
    root: Root,
    by: JsonPath,
    /// Groups that are wanted, and hits of each.
    limit: usize,
    size: usize,
    lookup: Option<GroupLookup>,
    /// Hits that a query of which hits depend on each other finds, before they are grouped.
    window: usize,
}

impl Grouped {
    /// Reads the body of a grouped request, whose members are given too.
    pub fn of(
        operation: Operation,
        body: &BodyWithWarnings<'_>,
        limits: &Limits,
        members: Members<'static>,
    ) -> Result<Grouped, Error> {
        let (request, single) = match operation {
            Operation::SearchGroups => (api::search_groups(body, limits)?, Operation::Search),
            Operation::RecommendGroups => (api::recommend_groups(body, limits)?, Operation::Recommend),
            _ => (api::query_groups(body, limits)?, Operation::Query),
        };
        let wide = widened(&request, limits.max_result_window);
        // A query on prefetches finds everything that these have found.
        let below = wide.node.prefetch.iter().map(|source| source.limit).fold(0, usize::saturating_add);
        let is_chosen = matches!(wide.node.query, Query::Mmr(_));
        let window = if is_chosen { wide.node.limit } else { wide.node.limit.max(below) };
        let (limit, size, by, lookup) = (request.query.node.limit, request.size, request.by, request.lookup);
        Ok(Grouped { operation, root: Root::of(single, wide, members)?, by, limit, size, lookup, window })
    }

    /// The collections that examples and groups are looked up in.
    pub fn named_collections(&self) -> Vec<&str> {
        let looked_up = self.lookup.iter().map(|lookup| lookup.collection.as_str());
        self.root.tree.lookups().into_iter().chain(looked_up).collect()
    }

    /// Whether the hits of a group can be asked for by themselves: the score of a hit does not depend on others.
    fn can_continue(&self) -> bool {
        let tree = &self.root.tree;
        tree.prefetch.is_empty() && !matches!(tree.node.query, Query::Mmr(_) | Query::Sample)
    }
}

/// A group and its hits.
struct Group {
    id: GroupId<'static>,
    hits: Vec<Found>,
}

impl Group {
    /// Keeps its best hits: the first `size` different points in an order.
    fn keep_best(&mut self, order: Order, size: usize) {
        self.hits.sort_by(|a, b| order.compare(a, b));
        let mut kept: Vec<PointId> = Vec::new();
        self.hits.retain(|hit| {
            let is_new = kept.len() < size && !kept.contains(&hit.id);
            if is_new {
                kept.push(hit.id.clone());
            }
            is_new
        });
    }
}

/// Different groups, in the order in which they were found.
#[derive(Default)]
struct Gathered {
    groups: Vec<Group>,
    places: HashMap<GroupId<'static>, usize>,
}

impl Gathered {
    fn add(&mut self, id: GroupId<'static>, hits: impl IntoIterator<Item = Found>) {
        let place = *self.places.entry(id.clone()).or_insert_with(|| {
            self.groups.push(Group { id, hits: Vec::new() });
            self.groups.len() - 1
        });
        self.groups[place].hits.extend(hits);
    }
}

/// Answers a grouped request.
pub(super) async fn answer(context: &Context, out: &mut Vec<u8>, mut grouped: Grouped) -> Result<(), Error> {
    examples::fetch(context, &mut grouped.root.tree).await?;
    let groups = match grouped.can_continue() {
        true => of_shards(context, &grouped).await?,
        false => of_hits(context, &grouped).await?,
    };
    let shown = match &grouped.lookup {
        Some(lookup) => look_up(context, &grouped, lookup, &groups).await?,
        None => HashMap::new(),
    };
    let mut result = ObjectWriter::start(out);
    write_list(result.key("groups"), &groups, |out, group| {
        let mut object = ObjectWriter::start(out);
        write_list(object.key("hits"), &group.hits, |out, hit| hit.write_hit(out));
        write_group_id(object.key("id"), &group.id);
        object.field("lookup", shown.get(&group.id), |out, point| point.write_record(out));
        object.end();
    });
    result.end();
    Ok(())
}

/// The best groups of the groups of the shards.
async fn of_shards(context: &Context, grouped: &Grouped) -> Result<Vec<Group>, Error> {
    let tree = &grouped.root.tree;
    let within = Within::default().and(tree);
    let mut body = tree.asked();
    let shown = tree.members.matching(|key| SHOWN.contains(&key) || key == "group_by");
    body.extend(&shown);
    body.set("limit", grouped.limit.to_string());
    body.set("group_size", grouped.size.to_string());
    if let Some(filter) = within.filter(context, Vec::new()) {
        body.set("filter", filter);
    }
    let answers = context.ask_each(grouped.operation, body.text().into_bytes()).await;
    let order = tree.order(context);
    let (mut gathered, mut listed) = (Gathered::default(), Vec::new());
    for (shard, answer) in answers {
        let of_shard = groups_of_answer(context, &answer)?;
        let known: Vec<GroupId<'static>> = of_shard.iter().map(|group| group.id.clone()).collect();
        for group in of_shard {
            gathered.add(group.id, group.hits);
        }
        listed.push((shard, known));
    }
    // Groups of which one point is the best hit are in the order of its shard, which is that of the point.
    let rank = |group: &Group| {
        let lists = listed.iter().filter(|(shard, _)| {
            group.hits.first().is_some_and(|best| shard_of(&best.id, context.layout.shards) == *shard)
        });
        lists.flat_map(|(_, known)| known).position(|id| *id == group.id)
    };
    let mut best = best(gathered.groups, order, grouped, rank);
    let full: Vec<&(u32, Vec<GroupId<'static>>)> =
        listed.iter().filter(|(_, known)| known.len() >= grouped.limit).collect();
    fill(context, grouped, &within, &full, &mut best).await?;
    Ok(best)
}

/// The best groups, each with its best hits. Those of the same best hit are in the order of their ranks.
fn best(
    mut groups: Vec<Group>,
    order: Order,
    grouped: &Grouped,
    rank: impl Fn(&Group) -> Option<usize>,
) -> Vec<Group> {
    for group in &mut groups {
        group.keep_best(order, grouped.size);
    }
    groups.retain(|group| !group.hits.is_empty());
    groups.sort_by(|a, b| order.compare(&a.hits[0], &b.hits[0]).then_with(|| rank(a).cmp(&rank(b))));
    groups.truncate(grouped.limit);
    groups
}

/// The hits of a group that are asked for of a shard.
struct Unfilled {
    shard: u32,
    /// The place of the group.
    place: usize,
    /// The filter for those that may be in the group.
    filter: String,
    /// How many are asked for.
    window: usize,
}

/// Adds the hits of the best groups from the shards that have other groups before them.
async fn fill(
    context: &Context,
    grouped: &Grouped,
    within: &Within<'_>,
    full: &[&(u32, Vec<GroupId<'static>>)],
    groups: &mut [Group],
) -> Result<(), Error> {
    let tree = &grouped.root.tree;
    let mut body = tree.asked();
    body.set("with_payload", "true");
    if let Some(vectors) = tree.members.get_any(&["with_vector", "with_vectors"]) {
        body.set("with_vector", vectors.to_string());
    }
    let widest = context.limits.max_result_window.min(WIDEST).max(grouped.size);
    let mut unfilled = Vec::new();
    for (shard, known) in full {
        for (place, group) in groups.iter().enumerate().filter(|(_, group)| !known.contains(&group.id)) {
            let filter = within.filter(context, vec![has_value(tree, &group.id)]).unwrap_or_default();
            unfilled.push(Unfilled { shard: *shard, place, filter, window: grouped.size });
        }
    }
    while !unfilled.is_empty() {
        let ask = |Unfilled { shard, filter, window, .. }: &Unfilled| {
            body.set("filter", filter.clone());
            body.set("limit", window.to_string());
            context.question(*shard, tree.operation, body.text().into_bytes())
        };
        let asks = unfilled.iter().map(ask).collect();
        let answers = context.desk.ask(asks).await;
        let mut wider = Vec::new();
        for (asked, answer) in unfilled.into_iter().zip(answers) {
            let Some(answer) = answer else { continue };
            let group = &mut groups[asked.place];
            let mut hits = hits_of(&answer, context.layout.ids)?;
            let is_all = hits.len() < asked.window || asked.window >= widest;
            // Others have the value as well: in another spelling, or beside one that is in no group. And one point may be found
            // several times.
            hits.retain(|hit| keys(hit, &grouped.by).contains(&group.id));
            let members: HashSet<&PointId> = hits.iter().map(|hit| &hit.id).collect();
            if is_all || members.len() >= grouped.size {
                group.hits.extend(hits.into_iter().map(|hit| select(hit, &grouped.root.with)));
            } else {
                let window = asked.window.saturating_mul(WIDENING).min(widest);
                wider.push(Unfilled { window, ..asked });
            }
        }
        unfilled = wider;
    }
    let order = tree.order(context);
    for group in groups {
        group.keep_best(order, grouped.size);
    }
    Ok(())
}

/// The condition that a point may have the value of a group.
fn has_value(tree: &Tree, id: &GroupId<'static>) -> String {
    let mut out = Vec::new();
    let mut condition = ObjectWriter::start(&mut out);
    condition.key("key").extend_from_slice(tree.members.get("group_by").unwrap_or_default().as_bytes());
    // Integers beyond those of `match` are compared as floats, which several of them are equal to.
    let (clause, bounds) = match id.indexed() {
        Some(_) => ("match", &["value"][..]),
        None => ("range", &["gte", "lte"][..]),
    };
    let mut value = ObjectWriter::start(condition.key(clause));
    bounds.iter().for_each(|bound| write_group_id(value.key(bound), id));
    value.end();
    condition.end();
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// The groups that a point is in, of its payload.
fn keys(hit: &Found, by: &JsonPath) -> Vec<GroupId<'static>> {
    let Some(payload) = &hit.payload else { return Vec::new() };
    let mut ids = Vec::new();
    groups_of(payload.text().as_bytes(), by, &mut ids);
    ids.into_iter().map(GroupId::into_owned).collect()
}

/// Shows what was asked for of a point whose whole payload is shown.
fn select(hit: Found, with: &Selectors) -> Found {
    let payload = match &with.payload {
        PayloadSelector::None => None,
        PayloadSelector::All => hit.payload,
        selector => hit.payload.map(|payload| {
            let mut selected = Vec::new();
            selector.select(payload.text().as_bytes(), &mut selected);
            Answer::whole(String::from_utf8(selected).unwrap_or_default())
        }),
    };
    Found { payload, ..hit }
}

/// The groups of what a query has found whose hits depend on each other.
async fn of_hits(context: &Context, grouped: &Grouped) -> Result<Vec<Group>, Error> {
    let (tree, with) = (&grouped.root.tree, &grouped.root.with);
    let found = find(context, tree, Within::default(), grouped.window, Members::default()).await?;
    let mut shown = Members::default();
    shown.set("with_payload", "true");
    let mut gathered = Gathered::default();
    for hit in show(context, found.hits, &shown).await? {
        for id in keys(&hit, &grouped.by) {
            gathered.add(id, [select(hit.clone(), with)]);
        }
    }
    // They come in the order of the query.
    let mut best = best(gathered.groups, Order::Found, grouped, |_| None);
    if with.vector != VectorSelector::None {
        let mut shown = tree.members.matching(|key| SHOWN.contains(&key));
        shown.remove("with_payload");
        let hits: Vec<Found> = best.iter().flat_map(|group| group.hits.clone()).collect();
        let vectors: HashMap<PointId, Found> =
            show(context, hits, &shown).await?.into_iter().map(|hit| (hit.id.clone(), hit)).collect();
        for hit in best.iter_mut().flat_map(|group| &mut group.hits) {
            hit.vector = vectors.get(&hit.id).and_then(|point| point.vector.clone());
        }
    }
    Ok(best)
}

/// The points whose ids are those of groups.
async fn look_up(
    context: &Context,
    grouped: &Grouped,
    lookup: &GroupLookup,
    groups: &[Group],
) -> Result<HashMap<GroupId<'static>, Found>, Error> {
    let text = grouped.root.tree.members.get("with_lookup").unwrap_or_default();
    let members = if text.starts_with('{') { Members::parse(text.as_bytes())? } else { Members::default() };
    let shown = members.matching(|key| SHOWN.contains(&key));
    let kind = context.layout_of(Some(&lookup.collection))?.ids;
    let ids: Vec<(GroupId<'static>, PointId)> =
        groups.iter().filter_map(|group| Some((group.id.clone(), group.id.as_point(kind)?))).collect();
    let points: Vec<PointId> = ids.iter().map(|(_, id)| id.clone()).collect();
    let (found, _) = by_id(context, Some(&lookup.collection), &points, &shown).await?;
    Ok(ids.into_iter().filter_map(|(group, id)| Some((group, found.get(&id)?.clone()))).collect())
}

/// The groups of a shard's answer.
fn groups_of_answer(context: &Context, answer: &Answer) -> Result<Vec<Group>, Error> {
    let mut groups = Vec::new();
    let kind = context.layout.ids;
    Reader::new(answer.text().as_bytes())?.object(|r, key| {
        if key != "groups" {
            return r.skip();
        }
        r.array(|r, _| {
            let (mut id, mut hits) = (None, Vec::new());
            r.object(|r, key| match key {
                "hits" => r.array(|r, _| {
                    hits.push(read_point(r, answer, kind)?);
                    Ok(())
                }),
                "id" => {
                    id = Some(group_id(r)?);
                    Ok(())
                }
                _ => r.skip(),
            })?;
            groups.push(Group { id: id.ok_or_else(broken)?, hits });
            Ok(())
        })
    })?;
    Ok(groups)
}

fn group_id(reader: &mut Reader<'_>) -> Result<GroupId<'static>, Error> {
    match reader.peek()? {
        Kind::String => Ok(GroupId::Text(Cow::Owned(reader.string()?.into_owned()))),
        _ => reader.number_text()?.parse().map(GroupId::Integer).map_err(|_| broken()),
    }
}
