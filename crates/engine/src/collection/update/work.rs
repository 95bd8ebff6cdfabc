//! What an update costs, as far as that can be known without doing it.

use super::{Selection, Update};
use crate::filter::Filter;
use crate::state::State;
use crate::types::{PointId, PointOffset};

/// The work of a look at a point without payload, in bytes of payload under one condition.
const POINT_WORK: u64 = 256;

/// The work of checking a filter of so many conditions ([`Filter::work`]) on one point.
pub fn look_work(state: &State, offset: PointOffset, conditions: u64) -> u64 {
    POINT_WORK + state.at(offset).document().len() as u64 * conditions
}

/// The most that the filters of a request can cost on a state, in bytes of payload times conditions; more than `enough`
/// when it is more than that. Field indexes may make it far less.
pub fn filter_work(state: &State, updates: &[Update], enough: u64) -> u64 {
    let (mut filters, mut conditions, mut named) = (0_u64, 0_u64, 0_u64);
    for update in updates {
        let Some(filter) = update.filter() else { continue };
        let work = conditions_of(update, filter);
        match update.decided() {
            None => {
                filters += 1;
                conditions += work;
            }
            Some(ids) => {
                let of_point = |id: &PointId| {
                    state.indexed_offset(id).map_or(0, |offset| look_work(state, offset, work))
                };
                named += ids.into_iter().map(of_point).sum::<u64>();
            }
        }
    }
    let mut sum = named;
    if filters == 0 {
        return sum;
    }
    // A small collection is looked at whole, and of a large one no more than is needed to know.
    for offset in &state.live {
        if sum > enough {
            break;
        }
        sum += POINT_WORK * filters + state.at(offset).document().len() as u64 * conditions;
    }
    sum
}

/// Bytes of the payloads that the updates edit whose ids are given; at least `enough` when it is more than that.
pub fn edited_bytes(state: &State, updates: &[Update], enough: u64) -> u64 {
    let mut sum = 0;
    for update in updates {
        let (Update::SetPayload { selection, .. }
        | Update::OverwritePayload { selection, .. }
        | Update::DeletePayload { selection, .. }
        | Update::ClearPayload(selection)) = update
        else {
            continue;
        };
        let Selection::Ids(ids, _) = selection else { continue };
        for id in ids {
            if sum >= enough {
                return sum;
            }
            sum += state.point(id).map_or(0, |(_, point)| point.document().len() as u64);
        }
    }
    sum
}

/// The conditions of all filters of a request.
pub fn conditions(updates: &[Update]) -> u64 {
    updates.iter().filter_map(|update| Some(conditions_of(update, update.filter()?))).sum()
}

/// The conditions of the filter of an update; a sync looks for the hash of what matches, too.
fn conditions_of(update: &Update, filter: &Filter) -> u64 {
    (filter.work() + usize::from(update.sync().is_some())) as u64
}
