//! Writes: parse, find the collection, queue, answer when the log says so.

use super::access::Right;
use super::reembedding::reembedding_write;
use super::source_sync;
use super::strict::{Strict, StrictScope};
use super::{BodyForm, Core, LONGEST_REQUEST, Operation, Reply, Request};
use crate::allocator::catch;
use crate::api::{
    self, BodyWithWarnings, SyncRequest,
    response::{self, UpdateStatus},
};
use crate::catalog::{AdoptedFolder, AliasAction, Use};
use crate::collection::update::{Synced, Update};
use crate::collection::{
    Admission, Class, Collection, HeavyWrite, Step, TimeSlice, Write, WriteCall, WriteDone, WriteRequest,
};
use crate::config::{CollectionConfig, check_field_name};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::filter::Filter;
use crate::json::{IdRules, JsonBody, Watch};
use crate::limits::Limits;
use crate::memory::Held;
use crate::name::check_collection_name;
use crate::scheduling::yield_to_reads;
use crate::types::IdKind;
use std::sync::Arc;
use std::time::Instant;

/// What a write holds while it runs: its body, what is parsed of it, and its record, in lengths of the body.
const WORKING_FACTOR: u64 = 2;
/// Writes that hold less are parsed however little memory is left, so that they get the error that they would get
/// otherwise.
const UNCHECKED_BYTES: u64 = 512 << 10;

/// More than any setting of a limit on requests.
const BEYOND_SETTINGS: usize = usize::MAX / 2;

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
            | Operation::DeleteVectorName
            | Operation::CommitReembedding
            | Operation::AbortReembedding
            | Operation::RemoveExpired
    )
}

/// The form of the answer to a write.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// What a sync did.
    Sync,
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
    let mut working = memory.hold(working);
    // Of the collection that has the name now: `enter` refuses another one.
    let ids = core.catalog.id_kind(&request.collection);
    let read = read(core, &request, ids, &deadline, &mut working);
    // Held until the answer.
    let reply: Reply = Box::new(move |answer| {
        drop(working);
        reply(answer);
    });
    match read {
        Ok((Prepared::Creation(config), warnings)) => {
            let created = core.catalog.create(&request.collection, *config, request.identity);
            reply(created.map(|()| bool_envelope(true, &warnings, start)));
        }
        Ok((Prepared::Clone(name), warnings)) => {
            // The path may have named it by an alias.
            let source = core.catalog.resolved(&request.collection);
            let allowed = request.access.as_ref().map_or(Ok(()), |access| access.check(&source, Right::Read));
            let cloned = allowed
                .and_then(|()| core.catalog.clone_collection(&source, &name, request.identity, &deadline));
            reply(cloned.map(|()| bool_envelope(true, &warnings, start)));
        }
        Ok((Prepared::Adoption(folders), warnings)) => {
            // Opening what was copied allocates as much as a start does.
            let adopted = catch(|| core.catalog.adopt(&folders, request.identity, &deadline));
            let adopted = adopted.unwrap_or(Err(Error::MemoryLimit));
            reply(adopted.map(|()| bool_envelope(true, &warnings, start)));
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
            let queued = match enter(core, &request, ids, &deadline) {
                Ok(held) => submit(core, held, request, write, Form::new(shape, warnings), &deadline, reply),
                Err(error) => Err(Box::new((reply, error))),
            };
            answer_refused(queued);
        }
        Ok((Prepared::Sync(sync), _)) => {
            answer_refused(source_sync::run(core, request, ids, *sync, &deadline, reply));
        }
        Err(error) => reply(Err(error)),
    }
}

/// Reads the body, with the warnings about it, as long as somebody waits for the answer: one of many filters takes seconds.
/// What an Arrow stream takes beside its bytes is added to `working`.
fn read(
    core: &Core,
    request: &Request,
    ids: IdKind,
    deadline: &Deadline,
    working: &mut Held,
) -> Result<(Prepared, Vec<String>), Error> {
    let watch = || {
        yield_to_reads();
        deadline.check()
    };
    let prepared = catch(|| {
        if request.packing.body == BodyForm::Arrow && request.operation == Operation::UpsertPoints {
            let stream = (*request.body).as_ref();
            let mut charge = |bytes: u64| working.grow(WORKING_FACTOR * bytes);
            let limits = limits_of(core, request);
            let update = api::upsert_arrow(stream, ids, &limits, Watch(&watch), &mut charge)?;
            return Ok((points(request, update), Vec::new()));
        }
        let ids = IdRules { kind: ids, ..IdRules::default() };
        let body = request.json()?.watched(Watch(&watch)).with_ids(ids);
        let sent = BodyWithWarnings::new(body, request.strictness).giving_out_texts(request.gives_out_texts);
        prepare(core, request, &sent, &body, deadline).map(|prepared| (prepared, sent.into_warnings()))
    });
    match prepared.unwrap_or(Err(Error::MemoryLimit)) {
        // That of the deadline has no place in the body.
        Err(Error::Within(..)) if deadline.passed() => Err(deadline.error()),
        prepared => prepared,
    }
}

/// A write that was refused before it was queued.
pub(super) type Refusal = (Reply, Error);

fn answer_refused(queued: Result<(), Box<Refusal>>) {
    if let Err(refused) = queued {
        let (reply, error) = *refused;
        reply(Err(error));
    }
}

/// The whole form of the answer to a write.
pub(super) struct Form {
    shape: Shape,
    /// About what was passed over in the body.
    warnings: Vec<String>,
}

impl Form {
    pub fn new(shape: Shape, warnings: Vec<String>) -> Form {
        Form { shape, warnings }
    }
}

/// A parsed write.
enum Prepared {
    /// Create a collection with this configuration.
    Creation(Box<CollectionConfig>),
    /// Clone a collection under this name.
    Clone(String),
    /// Delete a collection.
    Deletion,
    /// Make collections from the contents of folders.
    Adoption(Vec<AdoptedFolder>),
    /// Changes of aliases.
    Aliases(Vec<AliasAction>),
    Collection(Write, Shape),
    /// A sync of a source.
    Sync(Box<SyncRequest>),
}

/// Parses and checks everything that needs no collection (C1.6). `sent` is `body` with the strictness of the request: updates
/// of points are read strictly.
fn prepare(
    core: &Core,
    request: &Request,
    sent: &BodyWithWarnings<'_>,
    body: &JsonBody<'_>,
    deadline: &Deadline,
) -> Result<Prepared, Error> {
    let limits = &limits_of(core, request);
    let points = |update: Update| points(request, update);
    Ok(match request.operation {
        Operation::CreateCollection => {
            check_collection_name(&request.collection)?;
            let config = api::create_collection(sent, limits)?;
            Prepared::Creation(Box::new(config))
        }
        Operation::DeleteCollection => Prepared::Deletion,
        Operation::ChangeAliases => Prepared::Aliases(api::change_aliases(sent, limits)?),
        Operation::AdoptFolders => Prepared::Adoption(adopted(api::adopt_folders(sent, limits)?)?),
        Operation::CloneCollection => Prepared::Clone(name_of_clone(request, api::clone_collection(sent)?)?),
        Operation::UpdateCollection => {
            Prepared::Collection(Write::Patch(Box::new(api::update_collection(sent)?)), Shape::True)
        }
        Operation::UpsertPoints if request.packing.body == BodyForm::Lines => {
            points(api::upsert_lines(&sent.strictly(), limits)?)
        }
        Operation::UpsertPoints => points(api::upsert(&sent.strictly(), limits)?),
        Operation::SyncPoints => Prepared::Sync(Box::new(api::sync_points(&sent.strictly(), limits)?)),
        Operation::DeletePoints => points(api::delete_points(body, limits)?),
        Operation::UpdateVectors => points(api::update_vectors(&sent.strictly(), limits)?),
        Operation::DeleteVectors => points(api::delete_vectors(body, limits)?),
        Operation::SetPayload => points(api::set_payload(body, limits)?),
        Operation::OverwritePayload => points(api::overwrite_payload(body, limits)?),
        Operation::DeletePayload => points(api::delete_payload(body, limits)?),
        Operation::ClearPayload => points(api::clear_payload(body, limits)?),
        Operation::BatchUpdate => {
            let updates = api::batch_update(&sent.strictly(), limits)?;
            let shape = Shape::Updates(updates.len());
            let batch = Some(updates.iter().map(key).collect());
            Prepared::Collection(Write::Points { updates, batch, within: within(request) }, shape)
        }
        Operation::CreateFieldIndex => {
            let api::CreateFieldIndex { field, schema } = api::create_field_index(sent)?;
            Prepared::Collection(Write::CreateIndex { path: field, schema }, Shape::Update)
        }
        Operation::DeleteFieldIndex => {
            let field = request.target.as_deref().unwrap_or_default();
            Prepared::Collection(Write::DropIndex(api::path_field(field)?), Shape::Update)
        }
        Operation::RemoveExpired => {
            let until = Some(api::remove_expired(sent)?);
            Prepared::Collection(Write::RemoveExpired { until }, Shape::Update)
        }
        _ => Prepared::Collection(field_write(core, request, sent, deadline)?, Shape::Update),
    })
}

/// The limits that a body is read with. One from a replicated stream, or that a coordinator has tried, was read by that with those
/// of its server, and replicas must not differ in what they refuse.
fn limits_of(core: &Core, request: &Request) -> Limits {
    if request.position.is_none() && request.strict_scope == StrictScope::Request {
        return core.limits;
    }
    let most = BEYOND_SETTINGS;
    Limits { max_points_per_request: most, max_filter_conditions: most, ..core.limits }
}

/// A write of the vector fields of a collection.
fn field_write(
    core: &Core,
    request: &Request,
    sent: &BodyWithWarnings<'_>,
    deadline: &Deadline,
) -> Result<Write, Error> {
    match request.operation {
        Operation::CreateVectorName => {
            let name = vector_name(request)?;
            let field = Box::new(api::create_vector_name(sent)?);
            Ok(Write::AddField { name, field, points: 0 })
        }
        Operation::DeleteVectorName => Ok(Write::RemoveField { name: vector_name(request)? }),
        Operation::ReembedVectors
        | Operation::CommitReembedding
        | Operation::AbortReembedding
        | Operation::FillVectors => reembedding_write(core, request, sent, deadline),
        other => Err(Error::Internal(format!("{} is not a write", other.title()))),
    }
}

/// A request of one update of points.
fn points(request: &Request, update: Update) -> Prepared {
    let write = Write::Points { updates: vec![update], batch: None, within: within(request) };
    Prepared::Collection(write, Shape::Update)
}

/// The points that the caller may reach; all when absent.
fn within(request: &Request) -> Option<Arc<Filter>> {
    request.access.as_ref().and_then(|access| access.filter()).cloned()
}

/// The name of a clone, if the caller may make it. To clone a collection is to read all of it.
fn name_of_clone(request: &Request, name: String) -> Result<String, Error> {
    if let Some(access) = &request.access {
        access.check(&name, Right::Write)?;
        access.check(&request.collection, Right::Read)?;
    }
    check_collection_name(&name)?;
    Ok(name)
}

/// Folders whose collections have names that they may have.
fn adopted(folders: Vec<AdoptedFolder>) -> Result<Vec<AdoptedFolder>, Error> {
    folders.iter().try_for_each(|one| check_collection_name(&one.name))?;
    Ok(folders)
}

/// The name of a vector field in the path.
fn vector_name(request: &Request) -> Result<Box<str>, Error> {
    let name = request.target.as_deref().unwrap_or_default();
    check_field_name(name)?;
    Ok(name.into())
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
        Update::Sync(_) => "sync",
    }
}

/// The collection that a write names, kept from deletion. The write was read for a collection with ids of that kind.
///
/// # Errors
/// `CollectionNotFound`, also where the collection was replaced meanwhile by one with other ids; `CollectionDeleted`.
pub(super) fn enter(core: &Core, request: &Request, ids: IdKind, deadline: &Deadline) -> Result<Use, Error> {
    let held = core.catalog.enter(&request.collection)?.until(deadline);
    if held.entry().config.ids == ids {
        Ok(held)
    } else {
        Err(Error::CollectionNotFound(request.collection.clone()))
    }
}

/// Queues a write and becomes the collection's writer when it has none.
pub(super) fn submit(
    core: &Core,
    held: Use,
    request: Request,
    mut write: Write,
    form: Form,
    deadline: &Deadline,
    reply: Reply,
) -> Result<(), Box<Refusal>> {
    // One that was applied before only needs its answer (C25).
    let is_new = held.collection().is_ok_and(|collection| !is_repeat(collection, &request));
    let admitted = request
        .numbering()
        .and_then(|numbering| Ok((writable(&held, &request, &mut write, is_new)?, numbering)));
    let ((collection, admission), numbering) = match admitted {
        Ok(admitted) => admitted,
        Err(error) => return Err(Box::new((reply, error))),
    };
    if request.strict_scope.is_check() {
        reply(Ok(bool_envelope(true, &form.warnings, request.start)));
        return Ok(());
    }
    let identity = request.identity_of_write();
    let status = if request.wait { UpdateStatus::Completed } else { UpdateStatus::Acknowledged };
    let start = request.start;
    let bytes = (*request.body).as_ref().len().max(write.staged_bytes());
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
            reply(result.and_then(|done| update_envelope(&done, status, &form, start)));
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
    let call = WriteCall { identity, deadline, bytes, numbering, admission, reply: Box::new(answer) };
    hand_over(core, &collection, WriteRequest { write, call });
    if builds_here {
        collection.build_indexes();
    }
    Ok(())
}

/// Whether a call was applied before.
pub(super) fn is_repeat(collection: &Collection, request: &Request) -> bool {
    collection.view().state.operations.is_repeat(request.identity)
}

/// Queues a write, or has it resolved apart where that takes long.
fn hand_over(core: &Core, collection: &Arc<Collection>, request: WriteRequest) {
    match collection.classify(request) {
        Class::Light(request) => {
            if let Some(leader) = collection.enqueue(request) {
                leader.run();
            }
        }
        Class::Heavy(heavy) => resolve(core, heavy),
    }
}

/// The collection of a write, where its caller may write to it and its strict mode allows that, and what the writer checks
/// again of that. From then on the write keeps to what its caller may reach. `is_new` says that it was not applied before:
/// strict mode is about such a write alone.
pub(super) fn writable(
    held: &Use,
    request: &Request,
    write: &mut Write,
    is_new: bool,
) -> Result<(Arc<Collection>, Option<Admission>), Error> {
    // The path may have named it by an alias.
    if let Some(access) = &request.access {
        access.check(&held.entry().name, Right::Write)?;
    }
    let collection = held.collection()?;
    let view = collection.view_for_writes();
    let strict = if is_new { Strict::of(collection, &view.state, request)? } else { None };
    strict.as_ref().map_or(Ok(()), |strict| strict.check_write(&view, write))?;
    let admission = strict.and_then(|strict| strict.admission());
    if let Write::AddField { points, .. } | Write::BeginReembedding { points, .. } = write {
        *points = view.state.points.len();
    }
    // What strict mode says of a filter is about the one that was sent.
    write.limit();
    Ok((Arc::clone(collection), admission))
}

/// Resolves a heavy write beside others, or on this thread where there are no others.
fn resolve(core: &Core, mut write: HeavyWrite) {
    if !core.inline {
        let queue = core.heavy.lock().as_ref().map(|lane| Arc::clone(lane.queue()));
        return match queue {
            Some(queue) => queue.add(write),
            None => write.refuse(Error::ShuttingDown),
        };
    }
    loop {
        match write.step(TimeSlice::endless()) {
            Step::More(rest) => write = rest,
            Step::Resolved(write) => return write.write(),
            Step::Done => return,
        }
    }
}

fn update_envelope(
    done: &WriteDone,
    status: UpdateStatus,
    form: &Form,
    start: Instant,
) -> Result<Vec<u8>, Error> {
    let (operation_id, skipped) = (done.operation_id.get(), &done.skipped);
    let mut out = Vec::new();
    let envelope = response::Envelope::start(&mut out);
    match form.shape {
        Shape::Update => response::write_update_result(&mut out, operation_id, status, skipped.first()),
        Shape::Updates(count) => {
            response::write_update_results(&mut out, operation_id, count, status, skipped);
        }
        Shape::True => response::write_bool(&mut out, true),
        Shape::Sync => match skipped.first().and_then(Synced::read) {
            Some(synced) => response::write_synced(&mut out, &synced),
            None => {
                let why = "the operation id is that of another call, which was no sync";
                return Err(Error::SyncConflict(format!("Idempotency-Key: {why}")));
            }
        },
    }
    envelope.finish_warning(&mut out, &form.warnings, start.elapsed().min(LONGEST_REQUEST));
    Ok(out)
}

fn bool_envelope(result: bool, warnings: &[String], start: Instant) -> Vec<u8> {
    let mut out = Vec::new();
    let envelope = response::Envelope::start(&mut out);
    response::write_bool(&mut out, result);
    envelope.finish_warning(&mut out, warnings, start.elapsed());
    out
}
