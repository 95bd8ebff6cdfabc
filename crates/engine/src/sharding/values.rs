//! Counts of points, and of the values of a field.

use super::members::Members;
use super::questions::{Answer, broken};
use super::read::Context;
use crate::api::Operation;
use crate::api::response::write_count;
use crate::api::summaries::write_facet;
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::query::request::FacetRequest;
use crate::query::{FacetHit, FacetValue};
use std::borrow::Cow;
use std::collections::HashMap;

/// How many values each shard is asked for at first, beside four times those that are wanted.
const FIRST_VALUES: usize = 100;
/// The factor by which more are asked for where these were too few.
const WIDENING: usize = 8;

/// The number of points that match: the sum of those of the shards.
pub(super) async fn count(context: &Context, out: &mut Vec<u8>, body: Vec<u8>) -> Result<(), Error> {
    let answers = context.ask_all(Operation::Count, body).await;
    let counts = answers.iter().map(count_of).collect::<Result<Vec<u64>, _>>()?;
    write_count(out, counts.iter().sum());
    Ok(())
}

/// The count in an answer.
pub(super) fn count_of(answer: &Answer) -> Result<u64, Error> {
    let mut count = None;
    Reader::new(answer.text().as_bytes())?.object(|r, key| {
        match key {
            "count" => count = Some(r.u64()?),
            _ => r.skip()?,
        }
        Ok(())
    })?;
    count.ok_or_else(broken)
}

/// The values that most points hold. A shard answers those that most of its own points hold. So a value that is not among them
/// may still be among the best of all; shards are asked for more until none can be.
pub(super) async fn facet(
    context: &Context,
    out: &mut Vec<u8>,
    request: &FacetRequest,
    mut members: Members<'static>,
) -> Result<(), Error> {
    let most = context.limits.max_result_window;
    let mut asked = request.limit.saturating_mul(4).saturating_add(FIRST_VALUES).min(most);
    loop {
        members.set("limit", asked.to_string());
        let answers = context.ask_all(Operation::Facet, members.text().into_bytes()).await;
        let lists = answers.iter().map(values_of).collect::<Result<Vec<_>, _>>()?;
        let (best, is_certain) = best(&lists, request.limit, asked);
        if is_certain || asked == most {
            write_facet(out, &best);
            return Ok(());
        }
        asked = asked.saturating_mul(WIDENING).min(most);
    }
}

/// The values that most points hold in all lists together, of which each has the first `asked` of a shard; and whether no value
/// that is not in a list can change that.
fn best(lists: &[Vec<FacetHit<'static>>], limit: usize, asked: usize) -> (Vec<FacetHit<'static>>, bool) {
    // A value that a full list does not have is held by as many points of the shard as its last one, at most.
    let rests: Vec<u64> = lists
        .iter()
        .map(|list| if list.len() < asked { 0 } else { list.last().map_or(0, |(_, count)| *count) })
        .collect();
    let unseen: u64 = rests.iter().sum();
    // The points that are known to hold it, and the points that may hold it beside these.
    let mut counts: HashMap<&FacetValue<'static>, (u64, u64)> = HashMap::new();
    for (list, rest) in lists.iter().zip(&rests) {
        for (value, count) in list {
            let (known, open) = counts.entry(value).or_insert((0, unseen));
            *known += count;
            *open -= rest;
        }
    }
    let mut all: Vec<(&FacetValue<'static>, u64, u64)> =
        counts.into_iter().map(|(value, (known, open))| (value, known, open)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let last = all.get(limit.saturating_sub(1)).map_or(0, |(_, known, _)| *known);
    let (best, others) = all.split_at(limit.min(all.len()));
    let is_certain = best.iter().all(|(.., open)| *open == 0)
        && others.iter().all(|(_, known, open)| *open == 0 || known + open < last)
        && (unseen == 0 || unseen < last);
    (best.iter().map(|(value, known, _)| ((*value).clone(), *known)).collect(), is_certain)
}

/// The values of a shard's answer.
fn values_of(answer: &Answer) -> Result<Vec<FacetHit<'static>>, Error> {
    let mut found = Vec::new();
    Reader::new(answer.text().as_bytes())?.object(|r, key| {
        if key != "hits" {
            return r.skip();
        }
        r.array(|r, _| {
            let (mut value, mut count) = (None, 0);
            r.object(|r, key| {
                match key {
                    "value" => value = Some(value_of(r)?),
                    "count" => count = r.u64()?,
                    _ => r.skip()?,
                }
                Ok(())
            })?;
            found.push((value.ok_or_else(broken)?, count));
            Ok(())
        })
    })?;
    Ok(found)
}

fn value_of(reader: &mut Reader<'_>) -> Result<FacetValue<'static>, Error> {
    Ok(match reader.peek()? {
        Kind::Bool => FacetValue::Bool(reader.bool()?),
        Kind::String => FacetValue::Text(Cow::Owned(reader.string()?.into_owned())),
        _ => FacetValue::Integer(reader.number_text()?.parse().map_err(|_| broken())?),
    })
}
