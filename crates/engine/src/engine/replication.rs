//! What a cluster asks of the engine of a node (docs/cluster.md): writes from a replicated stream, writes that are only tried,
//! and the state of a replica.

use super::read::Read;
use super::{Core, Operation, Request};
use crate::api::{self, response, response::ReplicaState};
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
    if request.operation == Operation::RemoveExpired && request.position.is_none() {
        return Err(Error::bad("position: the removal of expired points of a replica has one"));
    }
    request.numbering().map(drop)
}

/// Microseconds since 1970. Earlier times are that one: all such points are removed at once.
fn since_1970(time: i64) -> u64 {
    u64::try_from(time).unwrap_or_default()
}

impl Read<'_> {
    /// Answers which operations a replica has, and what else is asked for. Points whose time has come are there as long as no
    /// write has removed them.
    pub(super) fn replica_state(&mut self) -> Result<(), Error> {
        let asked = api::replica_state(self.body)?;
        let held = self.enter()?;
        let collection = held.collection()?;
        let view = collection.view();
        let digest = asked.digest.then(|| query::digest_points(&view, self.deadline)).transpose()?;
        let state = ReplicaState {
            last: view.op,
            points: view.points_count() as u64,
            digest,
            size: asked.size.then(|| (view.live_vector_bytes(), view.state.live_payload_bytes)),
            expired_until: asked.expired.then(|| collection.expired_until()).flatten().map(since_1970),
        };
        response::write_replica_state(self.out, &state);
        Ok(())
    }
}
