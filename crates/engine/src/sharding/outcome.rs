//! The answers of shards to their parts of a write, as one.

use super::members::{Members, elements};
use super::questions::{Answer, broken};
use super::request::{Layout, ShardedRequest};
use super::split::{What, element, operation_of};
use crate::api::response::{Envelope, UpdateStatus, write_list, write_update_result};
use crate::api::{BodyForm, Operation, read_id, read_id_of};
use crate::change::{LISTED_SKIPS, Skipped};
use crate::error::Error;
use crate::json::Reader;
use crate::types::{IdKind, PointId};
use std::collections::HashMap;
use std::time::Instant;

type Result<T> = std::result::Result<T, Error>;

/// What a shard says of one update.
struct Outcome {
    operation_id: u64,
    status: UpdateStatus,
    skipped: Option<Skipped>,
}

/// The envelope of a write, of those of the shards that have a part in it: they have given it one number. What they skipped is
/// counted together, and listed in the order of the request, which is the one that was split. The `time` counts from `start`.
///
/// # Errors
/// `Internal` for answers that are not those of one write.
pub fn join_write(
    request: &ShardedRequest<'_>,
    layout: &Layout,
    answers: Vec<Vec<u8>>,
    start: Instant,
) -> Result<Vec<u8>> {
    let first = answers.first().cloned().ok_or_else(broken)?;
    let answers: Vec<Answer> = answers.into_iter().map(Answer::of).collect::<Result<_>>()?;
    let is_list = answers[0].text().starts_with('[');
    if answers.len() == 1 || !(is_list || answers[0].text().starts_with('{')) {
        return Ok(first);
    }
    let of_shards: Vec<Vec<Outcome>> =
        answers.iter().map(|answer| outcomes(answer, is_list, layout.ids)).collect::<Result<_>>()?;
    let count = of_shards[0].len();
    if of_shards.iter().any(|outcomes| outcomes.len() != count) {
        return Err(broken());
    }
    if of_shards.iter().flatten().all(|outcome| outcome.skipped.is_none()) {
        return Ok(first);
    }
    let mut columns: Vec<Vec<Outcome>> = (0..count).map(|_| Vec::new()).collect();
    for outcomes in of_shards {
        columns.iter_mut().zip(outcomes).for_each(|(column, outcome)| column.push(outcome));
    }
    let joined: Vec<Outcome> = columns
        .into_iter()
        .enumerate()
        .map(|(at, column)| joined(request, layout, at, column))
        .collect::<Result<_>>()?;
    let mut out = Vec::new();
    let envelope = Envelope::start(&mut out);
    let write = |out: &mut Vec<u8>, outcome: &Outcome| {
        write_update_result(out, outcome.operation_id, outcome.status, outcome.skipped.as_ref());
    };
    match is_list {
        true => write_list(&mut out, &joined, write),
        false => joined.iter().for_each(|outcome| write(&mut out, outcome)),
    }
    envelope.finish_warning(&mut out, &[], start.elapsed());
    Ok(out)
}

/// What all shards say of the update at a place, of which there is one.
fn joined(request: &ShardedRequest<'_>, layout: &Layout, at: usize, column: Vec<Outcome>) -> Result<Outcome> {
    let operation_id = column.first().ok_or_else(broken)?.operation_id;
    if column.iter().any(|outcome| outcome.operation_id != operation_id) {
        return Err(broken());
    }
    let is_completed = column.iter().all(|outcome| matches!(outcome.status, UpdateStatus::Completed));
    let status = if is_completed { UpdateStatus::Completed } else { UpdateStatus::Acknowledged };
    let skips: Vec<Skipped> = column.into_iter().filter_map(|outcome| outcome.skipped).collect();
    let count = skips.iter().map(|skipped| skipped.count).sum();
    let is_ordered = skips.iter().filter(|skipped| !skipped.ids.is_empty()).count() <= 1;
    let is_none = skips.is_empty();
    let mut ids: Vec<PointId> = skips.into_iter().flat_map(|skipped| skipped.ids).collect();
    if !is_ordered {
        // A repeat may have another body than the call whose answer it gets.
        let places = places(request, layout, at).unwrap_or_default();
        ids.sort_by_key(|id| places.get(id).copied().unwrap_or(usize::MAX));
    }
    ids.truncate(LISTED_SKIPS);
    let skipped = (!is_none).then_some(Skipped { at: 0, count, ids });
    Ok(Outcome { operation_id, status, skipped })
}

fn outcomes(answer: &Answer, is_list: bool, ids: IdKind) -> Result<Vec<Outcome>> {
    let all = if is_list { answer.elements()? } else { vec![answer.clone()] };
    all.iter().map(|one| read_outcome(one.text(), ids)).collect()
}

fn read_outcome(text: &str, ids: IdKind) -> Result<Outcome> {
    let (mut operation_id, mut status, mut skipped) = (None, None, None);
    Reader::new(text.as_bytes())?.object(|r, key| {
        match key {
            "operation_id" => operation_id = Some(r.u64()?),
            "status" => status = status_of(&r.string()?),
            "skipped" => skipped = Some(read_skipped(r, ids)?),
            _ => r.skip()?,
        }
        Ok(())
    })?;
    let (operation_id, status) = operation_id.zip(status).ok_or_else(broken)?;
    Ok(Outcome { operation_id, status, skipped })
}

fn status_of(word: &str) -> Option<UpdateStatus> {
    match word {
        "completed" => Some(UpdateStatus::Completed),
        "acknowledged" => Some(UpdateStatus::Acknowledged),
        _ => None,
    }
}

fn read_skipped(reader: &mut Reader<'_>, ids: IdKind) -> Result<Skipped> {
    let mut skipped = Skipped::default();
    reader.object(|r, key| match key {
        "count" => {
            skipped.count = u32::try_from(r.u64()?).map_err(|_| broken())?;
            Ok(())
        }
        "ids" => r.array(|r, _| {
            skipped.ids.push(read_id_of(r, ids)?);
            Ok(())
        }),
        _ => r.skip(),
    })?;
    Ok(skipped)
}

/// Where the update at a place, of those of the request, names each point. A point is written where an upsert names it last,
/// and looked at where an update of vectors names it first.
fn places(request: &ShardedRequest<'_>, layout: &Layout, at: usize) -> Result<HashMap<PointId, usize>> {
    let text = std::str::from_utf8(request.body).unwrap_or_default();
    let mut ids = Vec::new();
    if request.form == BodyForm::Lines {
        reader_of(text, layout)?.lines("points", |r, _| {
            ids.push(element(r, text)?.0);
            Ok(())
        })?;
        return Ok(ids.into_iter().zip(0..).collect());
    }
    let members = Members::parse(request.body)?;
    let (what, members) = match request.operation {
        Operation::BatchUpdate => {
            let operations = elements(members.get("operations").unwrap_or("[]"))?;
            let operation = Members::parse(operations.get(at).ok_or_else(broken)?.as_bytes())?;
            let (name, body) = operation_of(&operation).ok_or_else(broken)?;
            (What::named(name), Members::parse(body.as_bytes())?.into_owned())
        }
        operation => (What::of(operation).ok_or_else(broken)?, members),
    };
    let list = match what {
        What::Points if members.get("points").is_none() => {
            let columns = Members::parse(members.get("batch").unwrap_or("{}").as_bytes())?;
            reader_of(columns.get("ids").unwrap_or("[]"), layout)?.array(|r, _| {
                ids.push(read_id(r)?);
                Ok(())
            })?;
            return Ok(ids.into_iter().zip(0..).collect());
        }
        What::Points => members.get("points"),
        What::Vectors => members.get_any(&["points", "vectors"]),
        What::Selection => None,
    };
    let list = list.unwrap_or("[]");
    reader_of(list, layout)?.array(|r, _| {
        ids.push(element(r, list)?.0);
        Ok(())
    })?;
    let places = 0..ids.len();
    let numbered = ids.into_iter().zip(places);
    Ok(match what {
        What::Vectors => numbered.rev().collect(),
        _ => numbered.collect(),
    })
}

fn reader_of<'t>(text: &'t str, layout: &Layout) -> Result<Reader<'t>> {
    let mut reader = Reader::new(text.as_bytes())?;
    reader.ids.kind = layout.ids;
    Ok(reader)
}
