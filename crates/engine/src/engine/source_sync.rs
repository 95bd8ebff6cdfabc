//! Syncs of a source (C20): in one request, in parts, and their plan. `docs/sync.md` has the design.

use super::read::Read;
use super::staged_syncs::SyncKey;
use super::strict::Strict;
use super::write::{Form, Refusal, Shape, enter, is_repeat, submit, writable};
use super::{Core, Reply, Request};
use crate::api::{self, SyncPart, SyncRequest, response};
use crate::catalog::Use;
use crate::collection::Write;
use crate::collection::update::{SourceSync, SyncEntries, Update, ask_for_vectors, plan_sync};
use crate::config::VectorModels;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::types::IdKind;
use std::sync::Arc;

/// Runs a sync, or stages a part of one.
pub(super) fn run(
    core: &Core,
    request: Request,
    ids: IdKind,
    sent: SyncRequest,
    deadline: &Deadline,
    reply: Reply,
) -> Result<(), Box<Refusal>> {
    let SyncRequest { sync, part } = sent;
    let held = match enter(core, &request, ids, deadline) {
        Ok(held) => held,
        Err(error) => return Err(Box::new((reply, error))),
    };
    match part {
        None => apply(core, held, request, sync, deadline, reply),
        Some(SyncPart { sync_id, is_last: false, .. }) => match stage(core, &held, &request, sync, sync_id) {
            Ok(staged) => {
                reply(Ok(staged_envelope(staged, &request)));
                Ok(())
            }
            Err(error) => Err(Box::new((reply, error))),
        },
        Some(SyncPart { sync_id, is_last: true, staged }) => {
            complete(core, held, request, (sync, sync_id, staged), deadline, reply)
        }
    }
}

/// Queues a whole sync.
fn apply(
    core: &Core,
    held: Use,
    request: Request,
    sync: SourceSync,
    deadline: &Deadline,
    reply: Reply,
) -> Result<(), Box<Refusal>> {
    let write = write_of(&request, sync);
    submit(core, held, request, write, Form::new(Shape::Sync, Vec::new()), deadline, reply)
}

/// Stages a part, and answers how many points are staged.
fn stage(
    core: &Core,
    held: &Use,
    request: &Request,
    sync: SourceSync,
    sync_id: Box<str>,
) -> Result<u64, Error> {
    let mut write = write_of(request, sync);
    let (collection, _) = writable(held, request, &mut write, true)?;
    let Some(sync) = sync_of(write) else { return Err(Error::Internal("a part that is no sync".into())) };
    let view = collection.current_view();
    sync.models.iter().try_for_each(|models| models.check(&view.state.config))?;
    ask_for_vectors(&view.state, &sync)?;
    core.staged_syncs.stage(key_of(request, collection.id, sync_id), &request.collection, &collection, sync)
}

/// Queues the sync whose last part came.
fn complete(
    core: &Core,
    held: Use,
    request: Request,
    (sync, sync_id, staged): (SourceSync, Box<str>, Option<u64>),
    deadline: &Deadline,
    reply: Reply,
) -> Result<(), Box<Refusal>> {
    let whole = || -> Result<(SourceSync, Option<SyncKey>), Error> {
        let collection = held.collection()?;
        // A repeat only needs its answer: nothing is staged any more.
        if is_repeat(collection, &request) {
            return Ok((sync, None));
        }
        let nothing = SourceSync::new(
            sync.scope.clone(),
            sync.hash_key.clone(),
            SyncEntries::default(),
            VectorModels::default(),
        );
        let key = key_of(&request, collection.id, sync_id);
        match core.staged_syncs.complete(key.clone(), &request.collection, collection, sync, staged) {
            // The first call may have been applied just now, which ended the parts.
            Err(_) if is_repeat(collection, &request) => Ok((nothing, None)),
            whole => Ok((whole?, Some(key))),
        }
    };
    let (whole, key) = match whole() {
        Ok(whole) => whole,
        Err(error) => return Err(Box::new((reply, error))),
    };
    let staged = Arc::clone(&core.staged_syncs);
    let ending: Reply = Box::new(move |answer| {
        if let Some(key) = key.filter(|_| answer.is_ok()) {
            staged.end(&key);
        }
        reply(answer);
    });
    apply(core, held, request, whole, deadline, ending)
}

fn write_of(request: &Request, sync: SourceSync) -> Write {
    let within = request.access.as_ref().and_then(|access| access.filter()).cloned();
    Write::Points { updates: vec![Update::Sync(Box::new(sync))], batch: None, within }
}

fn sync_of(write: Write) -> Option<SourceSync> {
    let Write::Points { mut updates, .. } = write else { return None };
    match updates.pop() {
        Some(Update::Sync(sync)) => Some(*sync),
        _ => None,
    }
}

fn key_of(request: &Request, collection: u64, sync_id: Box<str>) -> SyncKey {
    SyncKey { caller: request.caller.clone(), collection, sync_id }
}

fn staged_envelope(staged: u64, request: &Request) -> Vec<u8> {
    let mut out = Vec::new();
    let envelope = response::Envelope::start(&mut out);
    response::write_staged(&mut out, staged);
    envelope.finish(&mut out, request.start.elapsed());
    out
}

impl Read<'_> {
    /// Answers which points of a source need content, and what a sync would do.
    pub(super) fn plan_sync(&mut self) -> Result<(), Error> {
        let mut sync = api::plan_sync(self.body, &self.core.limits)?;
        let held = self.enter()?;
        let view = held.collection()?.current_view();
        if let Some(strict) = Strict::of(held.collection()?, &view.state, self.request)? {
            strict.check_scope(&sync.scope)?;
        }
        if let Some(within) = self.request.access.as_ref().and_then(|access| access.filter()) {
            sync.limit(within);
        }
        let plan = plan_sync(&view.state, &sync, self.shown(), self.deadline)?;
        response::write_sync_plan(self.out, &plan);
        self.points.budget.admits(self.out.len(), 0);
        Ok(())
    }
}
