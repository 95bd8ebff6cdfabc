//! Applying writes to the head, each completely or not at all.

use super::request::{Place, Write};
use crate::change::{self, Change, Skipped};
use crate::collection::Shared;
use crate::collection::expiring::due_points;
use crate::collection::reembedding::{Ending, check_complete, filled};
use crate::collection::update::{Applying, Finder, Resolution, Update, Used};
use crate::config::CollectionConfig;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::point_set::PointSet;
use crate::state::{Head, Numbering};
use crate::sync::atomic::Ordering;
use crate::types::{OpNumber, OperationId, PointId};

/// A write that was applied to the head.
pub(super) struct Applied {
    /// Bodies of its log records; empty for a sync that changed nothing (C20), and for a dry run.
    pub bodies: Vec<Vec<u8>>,
    /// What replaying the record costs.
    pub replay_work: usize,
    /// What its updates skipped.
    pub skipped: Vec<Skipped>,
}

/// Applies one write to the head, which takes note of its identity if it has one. After an error, and after a dry run, the
/// head is as before.
pub(super) fn accept(
    head: &mut Head,
    shared: &Shared,
    collection: u64,
    write: Write,
    (numbering, identity): (Numbering, Option<OperationId>),
    deadline: &Deadline,
) -> Result<Applied, Error> {
    deadline.check()?;
    let op = head.number(numbering, shared.is_replica)?;
    if let Some(now) = shared.time_for_writes(&head.state)
        && let Some(expiry) = &mut head.state.expiry
    {
        expiry.advance(now);
    }
    let savepoint = head.savepoint();
    let mut skipped = Vec::new();
    let accepted = apply(head, shared, op, write, &mut skipped, deadline).and_then(|mut changes| {
        // A repeat is answered from what the record says.
        if identity.is_some() {
            changes.extend(skipped.iter().cloned().map(Change::Skipped));
        } else if changes.is_empty() && skipped.iter().any(Skipped::is_of_sync) {
            return Ok((Applied { bodies: Vec::new(), replay_work: 0, skipped }, changes));
        }
        if let Some(start) = head.record_start(numbering) {
            changes.insert(0, start);
        }
        let bodies = encoded(op, &changes, shared.limits.max_record_bytes)?;
        debug_assert!(
            bodies.iter().all(|body| change::decode(body).is_ok()),
            "collection {collection}: a record must decode"
        );
        let replay_work = bodies.iter().map(|body| change::replay_work(body, &changes)).sum();
        Ok((Applied { bodies, replay_work, skipped }, changes))
    });
    match accepted {
        Ok((applied, _)) if numbering == Numbering::DryRun => {
            head.roll_back(savepoint);
            Ok(Applied { bodies: Vec::new(), replay_work: 0, ..applied })
        }
        Ok((applied, changes)) => {
            if !applied.bodies.is_empty() {
                head.op = op.previous().plus(applied.bodies.len() as u64);
            }
            head.note(identity, &changes);
            Ok(applied)
        }
        Err(error) => {
            head.roll_back(savepoint);
            Err(error)
        }
    }
}

/// The body of the record of some changes.
fn encoded(op: OpNumber, changes: &[Change], most: usize) -> Result<Vec<Vec<u8>>, Error> {
    if PlantedFault::SyncSplitInTwoRecords.is_on()
        && let [put @ .., delete @ Change::Delete(_)] = changes
        && !put.is_empty()
    {
        let parts = [(op, put), (op.next(), std::slice::from_ref(delete))];
        let encoded = parts.map(|(op, changes)| {
            let mut body = Vec::new();
            change::encode(op, changes, &mut body);
            body
        });
        return Ok(encoded.into());
    }
    let mut body = Vec::new();
    change::encode(op, changes, &mut body);
    if body.len() > most {
        let touched = changes.iter().map(Change::touched).sum::<usize>();
        let bytes = body.len();
        return Err(Error::bad(format!(
            "the operation touches {touched} points and takes {bytes} bytes in the log, where {most} fit: touch \
             fewer points at a time"
        )));
    }
    Ok(vec![body])
}

/// Applies one write to the head; returns the changes of its record. After an error the head may be half changed.
fn apply(
    head: &mut Head,
    shared: &Shared,
    op: OpNumber,
    write: Write,
    skipped: &mut Vec<Skipped>,
    deadline: &Deadline,
) -> Result<Vec<Change>, Error> {
    Ok(match write {
        Write::Points { updates, batch, within } => {
            let asked = Asked { updates, batch: batch.as_deref(), within: within.as_deref(), deadline };
            accept_updates(head, op, asked, None, skipped, shared)?
        }
        Write::Resolved { updates, batch, within, resolution } => {
            let asked = Asked { updates, batch: batch.as_deref(), within: within.as_deref(), deadline };
            accept_updates(head, op, asked, Some(&resolution), skipped, shared)?
        }
        Write::CreateIndex { path, schema } => {
            let declared = head.state.indexes.iter().find(|index| *index.path() == path);
            if declared.is_some_and(|index| *index.schema() == schema) {
                Vec::new()
            } else {
                let limit = shared.limits.max_field_indexes;
                if declared.is_none() && head.state.indexes.len() >= limit {
                    let message =
                        format!("field_name: at most {limit} field indexes a collection (max_field_indexes)");
                    return Err(Error::BadRequest(message));
                }
                let mut json = Vec::new();
                schema.write_json(&mut json);
                apply_one(head, op, Change::CreateIndex { path, schema: json.into() })?
            }
        }
        Write::DropIndex(path) => apply_one(head, op, Change::DropIndex(path))?,
        Write::Patch(patch) => {
            let config = head.state.config.apply_patch(&patch)?;
            let changes = apply_one(head, op, Change::SetConfig(config.to_json().into()))?;
            if PlantedFault::PatchNotLogged.is_on() { Vec::new() } else { changes }
        }
        Write::RemoveExpired { until } => remove_expired(head, op, shared, until)?,
        Write::MoveRows(Place { fields, field, chunk }) => {
            if head.state.config.fields_changed() == fields {
                head.move_rows(op, field, chunk);
            }
            Vec::new()
        }
        Write::AddField { name, field, .. } => {
            set_fields(head, op, head.state.config.with_field(op, &name, &field, &shared.limits)?)?
        }
        Write::RemoveField { name } => set_fields(head, op, head.state.config.without_field(op, &name))?,
        reembedding => apply_reembedding(head, op, reembedding)?,
    })
}

/// Applies a write of a re-embedding (C19).
fn apply_reembedding(head: &mut Head, op: OpNumber, write: Write) -> Result<Vec<Change>, Error> {
    match write {
        Write::BeginReembedding { name, asked, .. } => {
            let config = head.state.config.with_reembedding(op, &name, &asked)?;
            set_fields(head, op, Some(config))
        }
        Write::FillVectors(filling) => match filled(&head.state, filling)? {
            Some(change) => {
                let changes = apply_one(head, op, change)?;
                Ok(if PlantedFault::NewVectorsNotLogged.is_on() { Vec::new() } else { changes })
            }
            None => Ok(Vec::new()),
        },
        Write::EndReembedding { name, ending } => {
            let config = match ending {
                Ending::Abort if PlantedFault::AbortIgnored.is_on() => (*head.state.config).clone(),
                Ending::Abort => head.state.config.without_reembedding(op, &name)?,
                Ending::Commit { allow_missing } => {
                    if !allow_missing && !PlantedFault::MissingNotLookedFor.is_on() {
                        check_complete(&head.state, &name)?;
                    }
                    head.state.config.with_new_vectors(op, &name)?
                }
            };
            set_fields(head, op, Some(config))
        }
        _ => Err(Error::Internal("a write of another kind".into())),
    }
}

/// Removes points whose time has come, which is a deletion like others.
fn remove_expired(
    head: &mut Head,
    op: OpNumber,
    shared: &Shared,
    until: Option<i64>,
) -> Result<Vec<Change>, Error> {
    let Some(expiry) = &head.state.expiry else { return Ok(Vec::new()) };
    let due = match until {
        // A bound on their number would depend on where a replica has them.
        Some(until) => expiry.due(until).iter().collect(),
        None => due_points(expiry, shared.clock.now()),
    };
    let ids: Vec<PointId> = due.into_iter().map(|offset| head.state.at(offset).id().into_owned()).collect();
    shared.expired_points.fetch_add(ids.len() as u64, Ordering::Relaxed);
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let changes = apply_one(head, op, Change::Delete(ids))?;
    Ok(if PlantedFault::RemovalNotLogged.is_on() { Vec::new() } else { changes })
}

/// Gives the head the fields of a configuration, if there is one.
fn set_fields(head: &mut Head, op: OpNumber, config: Option<CollectionConfig>) -> Result<Vec<Change>, Error> {
    let Some(config) = config else { return Ok(Vec::new()) };
    let changes = apply_one(head, op, Change::SetFields(config.to_json().into()))?;
    Ok(if PlantedFault::FieldsNotLogged.is_on() { Vec::new() } else { changes })
}

fn apply_one(head: &mut Head, op: OpNumber, change: Change) -> Result<Vec<Change>, Error> {
    head.apply(op, &change).map_err(Error::Internal)?;
    Ok(vec![change])
}

/// The updates of a request.
struct Asked<'a> {
    updates: Vec<Update>,
    /// The keys of a `points/batch`.
    batch: Option<&'a [&'static str]>,
    /// The points that the caller may reach.
    within: Option<&'a Filter>,
    deadline: &'a Deadline,
}

/// Resolves and applies updates in order, up to the first that is refused or given up: then the head is half changed.
/// What the filters match is taken from the resolution, if there is one.
fn accept_updates(
    head: &mut Head,
    op: OpNumber,
    Asked { updates, batch, within, deadline }: Asked<'_>,
    resolution: Option<&Resolution>,
    skipped: &mut Vec<Skipped>,
    shared: &Shared,
) -> Result<Vec<Change>, Error> {
    let room = (&shared.limits, shared.memory.room());
    let now = shared.time_for_writes(&head.state);
    let mut applying =
        Applying::resume(&head.state, (batch, within), room, deadline, Used::default()).at_time(now);
    let mut resolved = resolution.and_then(|one| Some((one, one.changed(&head.state)?)));
    let mut was_due = PointSet::new();
    let mut all = Vec::new();
    for (at, update) in updates.into_iter().enumerate() {
        if let Some((_, changed)) = &mut resolved
            && !(at > 0 && PlantedFault::BatchFindsExpired.is_on())
        {
            // What a filter found before the time of a point had come is not what it finds now. An earlier update of the
            // same request may have written a time that has passed.
            let due = now.and_then(|now| head.state.due(now)).unwrap_or_default();
            *changed = std::mem::take(changed).and(&head.state, &(&due - &was_due));
            was_due = due;
        }
        let finder = match &resolved {
            Some((resolution, changed)) => resolution.finder(at, changed, deadline),
            None => Finder::Looking(deadline),
        };
        let applied = applying.apply(head, op, at, update, &finder)?;
        all.extend(applied.changes);
        skipped.extend(applied.skipped);
    }
    Ok(all)
}
