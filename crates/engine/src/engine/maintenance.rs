//! Requests for work on the files and graphs of a collection (C12): they change nothing that a read sees.

use super::access::Right;
use super::housekeeping;
use super::{Core, Operation, Reply, Request, index_everything};
use crate::api::{self, BodyWithWarnings, response};
use crate::collection::{Collection, GraphPolicy};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::field::IndexScratch;
use std::sync::Arc;

/// Runs one: the reply comes when its work is done, at once or from another thread.
pub fn run(core: &Core, request: &Request, deadline: &Deadline, reply: Reply) {
    let held = match core.catalog.enter(&request.collection) {
        Ok(held) => held.until(deadline),
        Err(error) => return reply(Err(error)),
    };
    // The path may have named it by an alias.
    if let Some(access) = &request.access
        && let Err(refused) = access.check(&held.entry().name, Right::Write)
    {
        return reply(Err(refused));
    }
    let collection = match held.collection() {
        Ok(collection) => Arc::clone(collection),
        Err(error) => return reply(Err(error)),
    };
    let start = request.start;
    let answer = move |done: Result<(), Error>| {
        reply(done.map(|()| {
            let mut out = Vec::new();
            let envelope = response::Envelope::start(&mut out);
            response::write_bool(&mut out, true);
            envelope.finish(&mut out, start.elapsed());
            out
        }));
        drop(held);
    };
    if request.operation == Operation::Flush {
        return answer(flush(core, &collection));
    }
    if request.operation == Operation::LinkSnapshot {
        let body = BodyWithWarnings::new;
        let linked = request
            .json()
            .and_then(|json| api::link_snapshot(&body(json, request.strictness)))
            .and_then(|folder| core.catalog.link_snapshot(&request.collection, &folder, deadline));
        return answer(linked);
    }
    if request.operation == Operation::RebuildIndex
        && let Err(refused) = collection.rebuild_graphs()
    {
        return answer(Err(refused));
    }
    if core.inline {
        index_everything(&core.catalog, &mut IndexScratch::default());
        return answer(Ok(()));
    }
    let until = deadline.clone();
    let settled = move |is_settled: bool| {
        let closing = if until.passed() { until.error() } else { Error::ShuttingDown };
        answer(if is_settled { Ok(()) } else { Err(closing) });
    };
    collection.when_settled(deadline.clone(), Box::new(settled));
}

/// Syncs the log and writes a checkpoint of everything that it has of the collection.
fn flush(core: &Core, collection: &Arc<Collection>) -> Result<(), Error> {
    if let Some(fault) = collection.fault() {
        return Err(Error::CollectionFault(fault));
    }
    let shared = core.catalog.shared();
    let failed = |_| Error::Internal("the log cannot be synced".into());
    let last = collection.view().lsn;
    shared.log.sync().map_err(failed)?;
    housekeeping::checkpoint(&core.catalog, collection, GraphPolicy::Always);
    core.catalog.cut_log();
    match collection.pinned_lsn() {
        // Older than what it had when the request began.
        Some(oldest) if oldest <= last && shared.reserve.is_spent() => Err(Error::StorageFull),
        Some(oldest) if oldest <= last => Err(Error::Internal("the checkpoint could not be written".into())),
        _ => Ok(()),
    }
}
