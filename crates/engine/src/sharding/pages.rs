//! Points by their ids, and pages of points.

use super::hits::{Found, Order, hits_of, points_of};
use super::members::Members;
use super::placement::shard_of;
use super::questions::{Answer, Ask, no_answer};
use super::read::Context;
use crate::api::response::{write_elements, write_id, write_list, write_page};
use crate::api::{Operation, Strictness, read_id_of};
use crate::collection::not_found;
use crate::config::fields::ObjectWriter;
use crate::error::Error;
use crate::json::Kind;
use crate::query::request::{RetrieveRequest, ScrollRequest};
use crate::types::PointId;
use std::collections::{HashMap, HashSet};

/// The names of the members that say what is shown of points.
pub(super) const SHOWN: [&str; 3] = ["with_payload", "with_vector", "with_vectors"];

/// A point by the id in the path.
pub(super) async fn point(
    context: &Context,
    out: &mut Vec<u8>,
    id: &PointId,
    target: String,
) -> Result<(), Error> {
    let shard = shard_of(id, context.layout.shards);
    let ask = Ask { target: Some(target), ..context.question(shard, Operation::GetPoint, Vec::new()) };
    let answer = context.desk.ask(vec![ask]).await.into_iter().flatten().next();
    out.extend_from_slice(answer.ok_or_else(|| no_answer("point"))?.text().as_bytes());
    Ok(())
}

/// Points by their ids.
pub(super) async fn retrieve(
    context: &Context,
    out: &mut Vec<u8>,
    request: &RetrieveRequest,
    members: &Members<'static>,
    is_one: bool,
) -> Result<(), Error> {
    let shown = members.matching(|key| SHOWN.contains(&key));
    let (mut found, missing) = by_id(context, None, &request.ids, &shown).await?;
    let is_absent =
        |id: &&PointId| !found.contains_key(id) && !missing.contains(&shard_of(id, context.layout.shards));
    let absent: Vec<PointId> = request.ids.iter().filter(is_absent).cloned().collect();
    if !absent.is_empty() && !request.leaves_out_absent {
        return Err(not_found(absent));
    }
    // An id that is asked for twice is answered once.
    let points: Vec<Found> = request.ids.iter().filter_map(|id| found.remove(id)).collect();
    match points.first() {
        Some(first) if is_one => first.write_record(out),
        _ => write_list(out, points, |out, point| point.write_record(out)),
    }
    Ok(())
}

/// The points of some ids that there are, and the shards that are left out. `collection` is that of the ids, where it is
/// another one.
pub(super) async fn by_id(
    context: &Context,
    collection: Option<&str>,
    ids: &[PointId],
    shown: &Members<'_>,
) -> Result<(HashMap<PointId, Found>, HashSet<u32>), Error> {
    let layout = context.layout_of(collection)?;
    let collection = collection.filter(|name| !context.is_own(name));
    let ask = |(shard, ids): (u32, Vec<&PointId>)| {
        let mut body = Vec::new();
        let mut object = ObjectWriter::start(&mut body);
        write_list(object.key("ids"), ids, write_id);
        shown.iter().for_each(|(key, text)| object.key(key).extend_from_slice(text.as_bytes()));
        object.end();
        Ask {
            collection: collection.map(str::to_string),
            // An absent id is no error of the shard: others have ids of the request, too.
            strictness: Strictness::Lenient,
            ..context.question(shard, Operation::RetrievePoints, body)
        }
    };
    let asks: Vec<Ask> = of_shards(ids, layout.shards).into_iter().map(ask).collect();
    let shards: Vec<u32> = asks.iter().map(|ask| ask.shard).collect();
    let answers = context.desk.ask(asks).await;
    let (mut found, mut missing) = (HashMap::new(), HashSet::new());
    for (shard, answer) in shards.into_iter().zip(answers) {
        match answer {
            None => drop(missing.insert(shard)),
            Some(answer) => {
                let points = hits_of(&answer, layout.ids)?;
                found.extend(points.into_iter().map(|point| (point.id.clone(), point)));
            }
        }
    }
    Ok((found, missing))
}

/// The different ids by their shards, in the order of the shards.
pub(super) fn of_shards<'i>(
    ids: impl IntoIterator<Item = &'i PointId>,
    shards: u32,
) -> Vec<(u32, Vec<&'i PointId>)> {
    let (mut seen, mut by_shard) = (HashSet::new(), std::collections::BTreeMap::new());
    for id in ids {
        if seen.insert(id) {
            by_shard.entry(shard_of(id, shards)).or_insert_with(Vec::new).push(id);
        }
    }
    by_shard.into_iter().collect()
}

/// A page of points.
pub(super) async fn scroll(
    context: &Context,
    out: &mut Vec<u8>,
    request: &ScrollRequest,
    body: Vec<u8>,
) -> Result<(), Error> {
    let answers = context.ask_all(Operation::Scroll, body).await;
    let order = request.order_by.as_ref().map_or(Order::Ids, |order_by| Order::Values(order_by.direction));
    let (mut pages, mut next) = (Vec::with_capacity(answers.len()), Vec::new());
    for answer in &answers {
        pages.push(page_of(context, answer, &mut next)?);
    }
    let mut points = order.merge(pages, usize::MAX);
    if order == Order::Ids {
        next.extend(points.get(request.limit).map(|point| point.id.clone()));
    }
    points.truncate(request.limit);
    write_page(out, next.iter().min(), |out| {
        write_elements(out, &points, |out, point| point.write_record(out));
    });
    Ok(())
}

/// The points of a shard's page. Where its next one begins is added to `next`.
fn page_of(context: &Context, answer: &Answer, next: &mut Vec<PointId>) -> Result<Vec<Found>, Error> {
    let kind = context.layout.ids;
    points_of(answer, kind, |r, key| {
        if key == "next_page_offset" && r.peek()? != Kind::Null {
            next.push(read_id_of(r, kind)?);
            return Ok(());
        }
        r.skip()
    })
}
