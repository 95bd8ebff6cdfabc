//! Applying the updates of a request to a head, one after the other.

use super::{
    Finder, Update,
    resolve::{Resolved, forbidden, resolve},
};
use crate::change::Change;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::limits::Limits;
use crate::scheduling::yield_to_reads;
use crate::state::{Allowance, Head, State, Unapplied};
use crate::types::OpNumber;

/// Points that a batch may touch, if that is more than twice the collection.
const FILTERED_POINTS: usize = 1 << 20;

/// What the updates of a request have used of what it may.
#[derive(Clone, Copy, Default)]
pub struct Used {
    /// Points touched, each as often as it is.
    touched: usize,
    /// Bytes that edits added to payloads.
    added: u64,
    /// Bytes of payloads that edits read.
    read: u64,
}

/// Applies the updates of a request. Together they may add so many bytes to payloads, and touch so many points.
pub struct Applying<'r> {
    /// The keys of a `points/batch`.
    batch: Option<&'r [&'static str]>,
    /// The points that the caller may reach.
    within: Option<&'r Filter>,
    /// Points whose time has come by then are absent (C17).
    now: Option<i64>,
    deadline: &'r Deadline,
    allowance: Allowance<'r>,
    /// Payloads may grow by less than a request may add, because little memory is left.
    is_short_of_memory: bool,
    touched: usize,
    /// Operations by filter name every point they touch in the record: together at most a few times the collection.
    most_touched: usize,
}

impl<'r> Applying<'r> {
    /// Applies updates to a state, after what was used so far. `memory_room` is how many bytes memory has left.
    pub fn resume(
        state: &State,
        (batch, within): (Option<&'r [&'static str]>, Option<&'r Filter>),
        (limits, memory_room): (&Limits, u64),
        deadline: &'r Deadline,
        used: Used,
    ) -> Applying<'r> {
        let most_added = limits.max_added_payload_bytes.min(memory_room);
        let is_short_of_memory = most_added < limits.max_added_payload_bytes;
        let allowance =
            Allowance::new(most_added, limits.max_edited_bytes, deadline).after(used.added, used.read);
        let most_touched = FILTERED_POINTS.max(2 * state.ids.len());
        Applying {
            batch,
            within,
            now: None,
            deadline,
            allowance,
            is_short_of_memory,
            touched: used.touched,
            most_touched,
        }
    }

    /// Treats points that are due at `now` as absent.
    pub fn at_time(self, now: Option<i64>) -> Applying<'r> {
        Applying { now, ..self }
    }

    /// What was used so far.
    pub fn used(&self) -> Used {
        let (added, read) = self.allowance.used();
        Used { touched: self.touched, added, read }
    }

    /// Refuses what would leave a point of the caller where it may not reach, in somebody else's data.
    fn check_results(&self, head: &Head, changes: &[Change]) -> Result<(), Error> {
        let Some(within) = self.within.filter(|_| !PlantedFault::WriteLeavesToken.is_on()) else {
            return Ok(());
        };
        let mut pace = Pace::new(self.deadline, within.work());
        let mut outside = Vec::new();
        for id in changes.iter().flat_map(Change::kept) {
            let Some(offset) = head.state.offset(id) else { continue };
            if !within.matches_at(&head.state.subject(offset), &mut pace)? {
                outside.push(id.clone());
            }
        }
        if outside.is_empty() { Ok(()) } else { Err(forbidden(outside)) }
    }

    /// Resolves and applies the update at a place of the request, or as much of it as is given, as part of operation `op`.
    /// After an error the head is half changed.
    pub fn apply(
        &mut self,
        head: &mut Head,
        op: OpNumber,
        at: usize,
        update: Update,
        finder: &Finder<'_>,
    ) -> Result<Resolved, Error> {
        let place = self.batch.map_or(String::new(), |names| format!("operations[{at}].{}.", names[at]));
        // Each may copy a payload as large as a request.
        self.deadline.check()?;
        let mut resolved = match self.now.and_then(|now| head.state.due(now)) {
            None => resolve(&head.state, update, &place, finder, self.within, op)?,
            Some(due) => resolve(&head.state.without(&due), update, &place, finder, self.within, op)?,
        };
        if let Some(skipped) = resolved.skipped.as_mut().filter(|skipped| !skipped.is_of_sync()) {
            skipped.at = at as u32;
        }
        let changes = &resolved.changes;
        self.touched += changes.iter().map(Change::touched).sum::<usize>();
        if at > 0 && self.touched > self.most_touched {
            let most = self.most_touched;
            return Err(Error::bad(format!("{place}the batch touches more than {most} points")));
        }
        for change in changes {
            head.apply_within(op, change, &mut self.allowance).map_err(|why| match why {
                // More than the limit allows is the request's fault, more than there is room for is not.
                Unapplied::TooLong(_) if self.is_short_of_memory => Error::MemoryLimit,
                Unapplied::TooLong(why) | Unapplied::Refused(why) => {
                    Error::bad(format!("{place}payload: {why}"))
                }
                Unapplied::GivenUp(error) => error,
            })?;
            yield_to_reads();
        }
        self.check_results(head, changes)?;
        Ok(resolved)
    }
}
