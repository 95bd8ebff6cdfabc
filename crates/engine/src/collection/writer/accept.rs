//! Applying writes to the head, each completely or not at all.

use super::request::Write;
use crate::change::{self, Change};
use crate::collection::Shared;
use crate::collection::update::{Update, resolve};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::scheduling::yield_to_reads;
use crate::state::{Allowance, Head, Unapplied};
use crate::types::OpNumber;

/// Points that a batch may touch, if that is more than twice the collection.
const FILTERED_POINTS: usize = 1 << 20;

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
            let room = shared.limits.max_added_payload_bytes;
            accept_updates(head, op, updates, batch.as_deref(), room, deadline)?
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
            apply_one(head, op, Change::SetConfig(config.to_json().into()))?
        }
        Write::MoveRows { field, chunk } => {
            head.move_rows(op, field, chunk);
            Vec::new()
        }
    })
}

fn apply_one(head: &mut Head, op: OpNumber, change: Change) -> Result<Vec<Change>, Error> {
    head.apply(op, &change).map_err(Error::Internal)?;
    Ok(vec![change])
}

/// Resolves and applies updates in order, up to the first that is refused or given up: then the head is half changed.
/// Together they may add `payload_room` bytes to payloads by edits.
fn accept_updates(
    head: &mut Head,
    op: OpNumber,
    updates: Vec<Update>,
    batch: Option<&[&'static str]>,
    payload_room: u64,
    deadline: &Deadline,
) -> Result<Vec<Change>, Error> {
    let mut allowance = Allowance::new(payload_room, deadline);
    // Operations by filter name every point they touch in the record: together at most a few times the collection.
    let most = FILTERED_POINTS.max(2 * head.state.ids.len());
    let mut filtered = 0;
    let mut all = Vec::new();
    for (at, update) in updates.into_iter().enumerate() {
        let place = batch.map_or(String::new(), |names| format!("operations[{at}].{}.", names[at]));
        // Each may copy a payload as large as a request.
        deadline.check()?;
        let changes = resolve(&head.state, update, &place, deadline)?;
        filtered += changes.iter().map(Change::touched).sum::<usize>();
        if at > 0 && filtered > most {
            return Err(Error::bad(format!("{place}the batch touches more than {most} points")));
        }
        for change in &changes {
            head.apply_within(op, change, &mut allowance).map_err(|why| match why {
                Unapplied::Refused(why) => Error::bad(format!("{place}payload: {why}")),
                Unapplied::GivenUp(error) => error,
            })?;
            yield_to_reads();
        }
        all.extend(changes);
    }
    Ok(all)
}
