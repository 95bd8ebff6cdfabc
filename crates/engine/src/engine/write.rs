//! Writes: parse, find the collection, queue, answer when the log says so.

use super::strict::Strict;
use super::{Core, LONGEST_REQUEST, Operation, Reply, Request};
use crate::allocator::catch;
use crate::api::{
    self, BodyWithWarnings,
    response::{self, UpdateStatus},
};
use crate::catalog::{AliasAction, Use};
use crate::collection::update::Update;
use crate::collection::{Class, Collection, HeavyWrite, Slice, Step, Write, WriteDone, WriteRequest};
use crate::config::CollectionConfig;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::name::check_collection_name;
use std::sync::Arc;
use std::time::Instant;

/// What a write holds while it runs: its body, what is parsed of it, and its record, in lengths of the body.
const WORKING_FACTOR: u64 = 2;
/// Writes that hold less are parsed however little memory is left, so that they get the error that they would get
/// otherwise.
const UNCHECKED_BYTES: u64 = 512 << 10;

/// Whether a write of that kind may make data grow, as far as can be told before it is parsed.
fn may_grow(operation: Operation) -> bool {
    !matches!(
        operation,
        Operation::DeleteCollection
            | Operation::DeletePoints
            | Operation::DeleteVectors
            | Operation::DeletePayload
            | Operation::ClearPayload
            | Operation::DeleteFieldIndex
            | Operation::UpdateCollection
    )
}

/// The form of the answer to a write.
#[derive(Clone, Copy)]
enum Shape {
    /// One update result.
    Update,
    /// A list of this many update results.
    Updates(usize),
    /// `true`
    True,
}

/// Runs a write. The reply comes from the log's thread, or at once when the write is refused.
pub fn run(core: &Core, request: Request, deadline: Deadline, reply: Reply) {
    let start = request.start;
    let memory = &core.catalog.shared().memory;
    let working = WORKING_FACTOR * (*request.body).as_ref().len() as u64;
    if working > UNCHECKED_BYTES && may_grow(request.operation) && !memory.has_room_for(working) {
        return reply(Err(Error::MemoryLimit));
    }
    let working = memory.hold(working);
    // Held until the answer.
    let reply: Reply = Box::new(move |answer| {
        drop(working);
        reply(answer);
    });
    let prepared = catch(|| {
        let body = BodyWithWarnings::new(request.json()?, request.strictness);
        prepare(core, &request, &body).map(|prepared| (prepared, body.into_warnings()))
    });
    match prepared.unwrap_or(Err(Error::MemoryLimit)) {
        Ok((Prepared::Creation(config), warnings)) => {
            let created = core.catalog.create(&request.collection, *config, request.identity);
            reply(created.map(|()| bool_envelope(true, &warnings, start)));
        }
        Ok((Prepared::Clone(name), warnings)) => {
            let source = &request.collection;
            let cloned = core.catalog.clone_collection(source, &name, request.identity, &deadline);
            reply(cloned.map(|()| bool_envelope(true, &warnings, start)));
        }
        Ok((Prepared::Deletion, _)) => {
            let answer = move |result: Result<bool, Error>| {
                reply(result.map(|found| bool_envelope(found, &[], start)))
            };
            core.catalog.delete(&request.collection, request.identity, deadline, Box::new(answer));
        }
        Ok((Prepared::Aliases(actions), warnings)) => {
            let changed = core.catalog.change_aliases(&actions, request.identity);
            reply(changed.map(|()| bool_envelope(true, &warnings, start)));
        }
        Ok((Prepared::Collection(write, shape), warnings)) => {
            let form = Form { shape, warnings };
            if let Err(refused) = enqueue(core, request, write, form, &deadline, reply) {
                let (reply, error) = *refused;
                reply(Err(error));
            }
        }
        Err(error) => reply(Err(error)),
    }
}

/// The whole form of the answer to a write.
struct Form {
    shape: Shape,
    /// About what was passed over in the body.
    warnings: Vec<String>,
}

/// A parsed write.
enum Prepared {
    /// Of a collection, with this configuration.
    Creation(Box<CollectionConfig>),
    /// Of a collection, under this name.
    Clone(String),
    /// Of a collection.
    Deletion,
    /// Changes of aliases.
    Aliases(Vec<AliasAction>),
    Collection(Write, Shape),
}

/// Parses and checks everything that needs no collection (C1.6).
fn prepare(core: &Core, request: &Request, sent: &BodyWithWarnings<'_>) -> Result<Prepared, Error> {
    // Updates of points are read strictly.
    let body = &request.json()?;
    let limits = &core.limits;
    let points = |update: Update| {
        Prepared::Collection(Write::Points { updates: vec![update], batch: None }, Shape::Update)
    };
    Ok(match request.operation {
        Operation::CreateCollection => {
            check_collection_name(&request.collection)?;
            let config = api::create_collection(sent, limits)?;
            Prepared::Creation(Box::new(config))
        }
        Operation::DeleteCollection => Prepared::Deletion,
        Operation::ChangeAliases => Prepared::Aliases(api::change_aliases(sent, limits)?),
        Operation::CloneCollection => {
            let name = api::clone_collection(sent)?;
            check_collection_name(&name)?;
            Prepared::Clone(name)
        }
        Operation::UpdateCollection => {
            Prepared::Collection(Write::Patch(Box::new(api::update_collection(sent)?)), Shape::True)
        }
        Operation::UpsertPoints => points(api::upsert(body, limits)?),
        Operation::DeletePoints => points(api::delete_points(body, limits)?),
        Operation::UpdateVectors => points(api::update_vectors(body, limits)?),
        Operation::DeleteVectors => points(api::delete_vectors(body, limits)?),
        Operation::SetPayload => points(api::set_payload(body, limits)?),
        Operation::OverwritePayload => points(api::overwrite_payload(body, limits)?),
        Operation::DeletePayload => points(api::delete_payload(body, limits)?),
        Operation::ClearPayload => points(api::clear_payload(body, limits)?),
        Operation::BatchUpdate => {
            let updates = api::batch_update(body, limits)?;
            let shape = Shape::Updates(updates.len());
            let batch = Some(updates.iter().map(key).collect());
            Prepared::Collection(Write::Points { updates, batch }, shape)
        }
        Operation::CreateFieldIndex => {
            let api::CreateFieldIndex { field, schema } = api::create_field_index(sent)?;
            Prepared::Collection(Write::CreateIndex { path: field, schema }, Shape::Update)
        }
        Operation::DeleteFieldIndex => {
            let field = request.target.as_deref().unwrap_or_default();
            Prepared::Collection(Write::DropIndex(api::path_field(field)?), Shape::Update)
        }
        other => return Err(Error::Internal(format!("{} is not a write", other.title()))),
    })
}

/// The key of an operation in a `points/batch`.
fn key(update: &Update) -> &'static str {
    match update {
        Update::Upsert { .. } => "upsert",
        Update::Delete(_) => "delete",
        Update::UpdateVectors { .. } => "update_vectors",
        Update::DeleteVectors { .. } => "delete_vectors",
        Update::SetPayload { .. } => "set_payload",
        Update::OverwritePayload { .. } => "overwrite_payload",
        Update::DeletePayload { .. } => "delete_payload",
        Update::ClearPayload(_) => "clear_payload",
    }
}

/// Queues a write and becomes the collection's writer when it has none.
fn enqueue(
    core: &Core,
    request: Request,
    write: Write,
    form: Form,
    deadline: &Deadline,
    reply: Reply,
) -> Result<(), Box<(Reply, Error)>> {
    let refuse = |reply, error| Box::new((reply, error));
    let held = match core.catalog.enter(&request.collection) {
        Ok(held) => held,
        Err(error) => return Err(refuse(reply, error)),
    };
    let collection = match writable(&held, &request, &write) {
        Ok(collection) => collection,
        Err(error) => return Err(refuse(reply, error)),
    };
    let status = if request.wait { UpdateStatus::Completed } else { UpdateStatus::Acknowledged };
    let start = request.start;
    let bytes = (*request.body).as_ref().len();
    // A request that waits for the declaration of an index waits until the index is built.
    let declared = match &write {
        Write::CreateIndex { path, .. } if request.wait => Some(path.clone()),
        _ => None,
    };
    let builds_here = core.inline && declared.is_some();
    let deadline = deadline.clone();
    let until = deadline.clone();
    let indexed = Arc::clone(&collection);
    let answer = move |result: Result<WriteDone, Error>| {
        // Held until the answer: a deletion waits for it.
        let held: Use = held;
        let answer = move |result: Result<WriteDone, Error>, status| {
            reply(result.map(|done| update_envelope(done.operation_id.get(), status, &form, start)));
            drop(held);
        };
        match (declared, result) {
            (Some(path), Ok(done)) => {
                let built =
                    move |built| answer(Ok(done), if built { status } else { UpdateStatus::Acknowledged });
                indexed.when_built(path, until, Box::new(built));
            }
            (_, result) => answer(result, status),
        }
    };
    let identity = request.identity;
    let request = WriteRequest { write, identity, deadline, bytes, reply: Box::new(answer) };
    match collection.classify(request) {
        Class::Light(request) => {
            if let Some(turn) = collection.enqueue(request) {
                turn.run();
            }
        }
        Class::Heavy(heavy) => resolve(core, heavy),
    }
    if builds_here {
        collection.build_indexes();
    }
    Ok(())
}

/// The collection of a write, where its strict mode allows that.
fn writable(held: &Use, request: &Request, write: &Write) -> Result<Arc<Collection>, Error> {
    let collection = held.collection()?;
    let view = collection.view();
    if let Some(strict) = Strict::of(&view.state, request)? {
        strict.check_write(&view, write)?;
    }
    Ok(Arc::clone(collection))
}

/// Resolves a heavy write beside others, or on this thread where there are no others.
fn resolve(core: &Core, mut write: HeavyWrite) {
    if !core.inline {
        let turns = core.heavy.lock().as_ref().map(|lane| Arc::clone(lane.turns()));
        return match turns {
            Some(turns) => turns.add(write),
            None => write.refuse(Error::ShuttingDown),
        };
    }
    loop {
        match write.step(Slice::endless()) {
            Step::More(rest) => write = rest,
            Step::Resolved(write) => return write.write(),
            Step::Done => return,
        }
    }
}

fn update_envelope(operation_id: u64, status: UpdateStatus, form: &Form, start: Instant) -> Vec<u8> {
    let mut out = Vec::new();
    let envelope = response::Envelope::start(&mut out);
    match form.shape {
        Shape::Update => response::write_update_result(&mut out, operation_id, status),
        Shape::Updates(count) => {
            response::write_update_results(&mut out, std::iter::repeat_n(operation_id, count), status);
        }
        Shape::True => response::write_bool(&mut out, true),
    }
    envelope.finish_warning(&mut out, &form.warnings, start.elapsed().min(LONGEST_REQUEST));
    out
}

fn bool_envelope(result: bool, warnings: &[String], start: Instant) -> Vec<u8> {
    let mut out = Vec::new();
    let envelope = response::Envelope::start(&mut out);
    response::write_bool(&mut out, result);
    envelope.finish_warning(&mut out, warnings, start.elapsed());
    out
}
