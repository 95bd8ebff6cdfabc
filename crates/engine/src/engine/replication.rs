//! What a cluster asks of the engine of a node (docs/cluster.md): writes from a replicated stream, writes that are only tried,
//! and the state of a replica.

use super::read::Read;
use super::{Core, Operation, Request};
use crate::api::{self, response};
use crate::collection::Numbering;
use crate::error::Error;
use crate::query;
use crate::recent_operations::CallIdentity;
use crate::types::OpNumber;

impl Request {
    /// How its write gets its number.
    ///
    /// # Errors
    /// `BadRequest` for a position, or a dry run, that the operation does not take.
    pub(super) fn numbering(&self) -> Result<Numbering, Error> {
        let refused = |what: &str| Err(Error::bad(format!("{what}: {} takes none", self.operation.title())));
        match (self.position, self.dry_run) {
            (None, false) => Ok(Numbering::Next),
            (Some(_), true) => Err(Error::bad("position: a dry run takes none")),
            (Some(_), false) if !self.operation.takes_position() => refused("position"),
            (Some(position), false) => {
                OpNumber::of_position(position).map(Numbering::At).map_err(Error::BadRequest)
            }
            (None, true) if !self.operation.updates_points() => refused("dry run"),
            (None, true) => Ok(Numbering::DryRun),
        }
    }

    /// The identity of its write. Where it has a position, that says whether the write may have been applied and forgotten.
    pub(super) fn identity_of_write(&self) -> Option<CallIdentity> {
        let first_sent = |call: CallIdentity| call.first_sent.filter(|_| self.position.is_none());
        self.identity.map(|call| CallIdentity { first_sent: first_sent(call), ..call })
    }
}

/// Refuses what the operation of a request does not take, and what replicas do not do.
///
/// # Errors
/// `BadRequest`
pub(super) fn check(core: &Core, request: &Request) -> Result<(), Error> {
    if core.catalog.shared().is_replica && request.operation == Operation::ReembedVectors {
        return Err(Error::bad("re-embedding is not available in a cluster"));
    }
    request.numbering().map(drop)
}

impl Read<'_> {
    /// Answers which operations a replica has, and, where it is asked for, the digest of its points. Points whose time has
    /// come are there as long as no write has removed them.
    pub(super) fn replica_state(&mut self) -> Result<(), Error> {
        let with_digest = api::replica_state(self.body)?;
        let held = self.enter()?;
        let view = held.collection()?.view();
        let digest = with_digest.then(|| query::digest_points(&view, self.deadline)).transpose()?;
        response::write_replica_state(self.out, view.op, view.points_count() as u64, digest);
        Ok(())
    }
}
