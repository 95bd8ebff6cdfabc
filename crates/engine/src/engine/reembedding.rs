//! Requests about fields that are being embedded anew (C19): those of clients, and those of the worker of this process.

use super::access::Right;
use super::read::Read;
use super::{Core, Operation, Request};
use crate::api::{self, BodyWithWarnings, summaries};
use crate::collection::{Ending, Filling, Write};
use crate::config::NewReembedding;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::types::OpNumber;

/// Stands in a path for the unnamed vector. No other vector can have such a name.
const UNNAMED: &str = "\"\"";

/// The name in the path of the vector field that is embedded anew.
fn embedded_field(request: &Request) -> &str {
    match request.target.as_deref() {
        None | Some(UNNAMED) => "",
        Some(name) => name,
    }
}

/// Reads a request that changes a re-embedding.
pub(super) fn reembedding_write(
    core: &Core,
    request: &Request,
    sent: &BodyWithWarnings<'_>,
    deadline: &Deadline,
) -> Result<Write, Error> {
    let name = embedded_field(request).into();
    Ok(match request.operation {
        Operation::ReembedVectors => {
            Write::BeginReembedding { name, asked: beginning(core, request, sent, deadline)?, points: 0 }
        }
        Operation::CommitReembedding => {
            Write::EndReembedding { name, ending: api::commit_reembedding(sent)? }
        }
        Operation::AbortReembedding => Write::EndReembedding { name, ending: Ending::Abort },
        _ => {
            let (begun, vectors) = api::fill_vectors(sent)?;
            Write::FillVectors(Filling { name, begun, vectors })
        }
    })
}

/// Reads a request that begins a re-embedding. Whether it can begin is seen before the model is tried.
fn beginning(
    core: &Core,
    request: &Request,
    sent: &BodyWithWarnings<'_>,
    deadline: &Deadline,
) -> Result<Box<NewReembedding>, Error> {
    let asked = api::reembed_vectors(sent)?;
    if !asked.is_tried() {
        let held = core.catalog.enter(&request.collection)?.until(deadline);
        // The path may have named it by an alias.
        if let Some(access) = &request.access {
            access.check(&held.entry().name, Right::Write)?;
        }
        let state = &held.collection()?.view().state;
        // A repeat only needs its answer.
        if state.operations.is_repeat(request.identity) {
            return Ok(Box::new(asked.untried()));
        }
        state.config.with_reembedding(OpNumber::NONE, embedded_field(request), &asked.untried())?;
    }
    asked.tried().map(Box::new)
}

impl Read<'_> {
    /// Answers how far the re-embedding of a field is.
    pub(super) fn reembedding(&mut self) -> Result<(), Error> {
        let held = self.enter()?;
        let collection = held.collection()?;
        let view = collection.current_view();
        let config = &view.state.config;
        let of = config.reembedding_of(embedded_field(self.request))?;
        let shadow = &config.fields()[config.shadow_of(of)].1;
        summaries::write_reembedding(self.out, of, shadow, &collection.report_of(&view, of));
        Ok(())
    }

    /// Answers which fields of all collections are being embedded anew.
    pub(super) fn list_reembeddings(&mut self) {
        let mut found = Vec::new();
        for entry in self.core.catalog.entries() {
            // One that is embedded anew does not sleep.
            let Some(collection) = entry.collection() else { continue };
            let view = collection.view();
            let fields = view.state.config.reembeddings().iter();
            found.extend(fields.map(|of| (entry.name.clone(), of.field.to_string())));
        }
        summaries::write_fields_of_collections(self.out, &found);
    }

    /// Answers the texts that are to be embedded next, in the form in which they are sent back.
    pub(super) fn next_texts(&mut self) -> Result<(), Error> {
        let (most, error) = api::next_texts(self.body)?;
        let held = self.enter()?;
        let next = held.collection()?.next_texts(embedded_field(self.request), most, error)?;
        summaries::write_next_texts(self.out, &next);
        Ok(())
    }
}
