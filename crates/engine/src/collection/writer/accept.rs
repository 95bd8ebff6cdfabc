//! Applying writes to the head, each completely or not at all.

use super::request::{Place, Write};
use crate::change::{self, Change};
use crate::collection::Shared;
use crate::collection::update::{Applying, Finder, Resolution, Update, Used};
use crate::config::CollectionConfig;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::state::Head;
use crate::types::OpNumber;

/// Applies one write to the head; returns the body of its record, and what replaying it costs. After an error the head
/// is as before.
pub(super) fn accept(
    head: &mut Head,
    shared: &Shared,
    collection: u64,
    write: Write,
    deadline: &Deadline,
) -> Result<(Vec<u8>, usize), Error> {
    deadline.check()?;
    let op = head.op.next();
    let savepoint = head.savepoint();
    let accepted = apply(head, shared, op, write, deadline).and_then(|changes| {
        let mut body = Vec::new();
        change::encode(op, &changes, &mut body);
        let most = shared.limits.max_record_bytes;
        if body.len() > most {
            let touched = changes.iter().map(Change::touched).sum::<usize>();
            let bytes = body.len();
            return Err(Error::bad(format!(
                "the operation touches {touched} points and takes {bytes} bytes in the log, where {most} fit: touch \
                 fewer points at a time"
            )));
        }
        debug_assert!(change::decode(&body).is_ok(), "collection {collection}: a record must decode");
        let work = change::replay_work(&body, &changes);
        Ok((body, work))
    });
    match accepted {
        Ok(_) => head.op = op,
        Err(_) => head.roll_back(savepoint),
    }
    accepted
}

/// Applies one write to the head; returns the changes of its record. After an error the head may be half changed.
fn apply(
    head: &mut Head,
    shared: &Shared,
    op: OpNumber,
    write: Write,
    deadline: &Deadline,
) -> Result<Vec<Change>, Error> {
    Ok(match write {
        Write::Points { updates, batch } => {
            accept_updates(head, op, updates, batch.as_deref(), None, shared, deadline)?
        }
        Write::Resolved { updates, batch, resolution } => {
            accept_updates(head, op, updates, batch.as_deref(), Some(&resolution), shared, deadline)?
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
    })
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

/// Resolves and applies updates in order, up to the first that is refused or given up: then the head is half changed.
/// What the filters match is taken from the resolution, if there is one.
fn accept_updates(
    head: &mut Head,
    op: OpNumber,
    updates: Vec<Update>,
    batch: Option<&[&'static str]>,
    resolution: Option<&Resolution>,
    shared: &Shared,
    deadline: &Deadline,
) -> Result<Vec<Change>, Error> {
    let room = (&shared.limits, shared.memory.room());
    let mut applying = Applying::resume(&head.state, batch, room, deadline, Used::default());
    let resolved = resolution.and_then(|one| Some((one, one.changed(&head.state)?)));
    let mut all = Vec::new();
    for (at, update) in updates.into_iter().enumerate() {
        let finder = match &resolved {
            Some((resolution, changed)) => resolution.finder(at, changed, deadline),
            None => Finder::Looking(deadline),
        };
        all.extend(applying.apply(head, op, at, update, &finder)?);
    }
    Ok(all)
}
