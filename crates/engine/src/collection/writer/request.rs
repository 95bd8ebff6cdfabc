//! A write, and the answer to it.

use crate::change::Skipped;
use crate::collection::update::{Resolution, Update};
use crate::config::CollectionPatch;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::filter::Filter;
use crate::payload::{FieldSchema, JsonPath};
use crate::recent_operations::CallIdentity;
use crate::types::OpNumber;
use crate::wal::LogError;
use std::sync::Arc;

/// Kind of a log record that holds the changes of one operation of a collection.
pub const CHANGES: u8 = 1;

/// About what a point takes beside its vectors and its payload: id, row, links.
const POINT_BYTES: usize = 512;
/// About what a point takes in a field index.
const INDEXED_BYTES: usize = 64;

/// A write.
pub enum Write {
    /// Updates of points, all or nothing.
    Points {
        /// In order; each sees the ones before it.
        updates: Vec<Update>,
        /// Whether they came as a `points/batch`, whose paths start with `operations[i]`.
        batch: Option<Vec<&'static str>>,
        /// The points that the caller may reach (C15); all when absent.
        within: Option<Arc<Filter>>,
    },
    /// The same, where what the filters match was found beside the writer.
    Resolved {
        /// In order; each sees the ones before it.
        updates: Vec<Update>,
        /// The keys of a `points/batch`.
        batch: Option<Vec<&'static str>>,
        /// The points that the caller may reach (C15); all when absent.
        within: Option<Arc<Filter>>,
        /// What the filters match.
        resolution: Box<Resolution>,
    },
    /// C5.12
    CreateIndex {
        /// The field.
        path: JsonPath,
        /// Its schema.
        schema: FieldSchema,
    },
    /// Removes a field index.
    DropIndex(JsonPath),
    /// C4.4
    Patch(Box<CollectionPatch>),
    /// Removes some points whose time has come (C17).
    RemoveExpired,
    /// Moves some live rows of a chunk that is mostly dead: an operation that changes nothing for clients.
    MoveRows {
        /// Position of the vector field.
        field: usize,
        /// The chunk.
        chunk: u32,
    },
}

impl Write {
    /// Keeps its updates by filter to the points that its caller may reach.
    pub fn limit(&mut self) {
        if let Write::Points { updates, within, .. } = self {
            updates.iter_mut().for_each(|update| update.limit(within.as_ref()));
        }
    }

    /// Whether it may write vectors.
    pub(super) fn adds_rows(&self) -> bool {
        match self {
            Write::Points { updates, .. } | Write::Resolved { updates, .. } => {
                updates.iter().any(Update::adds_rows)
            }
            Write::MoveRows { .. } => true,
            Write::CreateIndex { .. } | Write::DropIndex(_) | Write::Patch(_) | Write::RemoveExpired => false,
        }
    }

    /// About how many bytes of memory it adds that stay: those of its body, of which numbers are longer in JSON than in
    /// memory, and what is kept of each point beside them.
    pub(super) fn growth(&self, body_bytes: usize, indexes: usize) -> u64 {
        let points = match self {
            Write::Points { updates, .. } | Write::Resolved { updates, .. } => {
                updates.iter().map(Update::points).sum()
            }
            Write::CreateIndex { .. }
            | Write::DropIndex(_)
            | Write::Patch(_)
            | Write::RemoveExpired
            | Write::MoveRows { .. } => 0,
        };
        (body_bytes + points * (POINT_BYTES + indexes * INDEXED_BYTES)) as u64
    }

    /// Whether it makes the data grow: such writes are refused while the disk is full.
    pub(super) fn grows(&self) -> bool {
        match self {
            Write::Points { updates, .. } | Write::Resolved { updates, .. } => {
                updates.iter().any(Update::grows)
            }
            Write::CreateIndex { .. } => true,
            Write::DropIndex(_) | Write::Patch(_) | Write::RemoveExpired | Write::MoveRows { .. } => false,
        }
    }
}

/// What a write did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteDone {
    /// Number of the operation; grows with every write of the collection.
    pub operation_id: OpNumber,
    /// What its updates skipped, where any did, in their order.
    pub skipped: Arc<[Skipped]>,
}

/// Called once when the write is durable and visible, or refused.
pub type WriteReply = Box<dyn FnOnce(Result<WriteDone, Error>) + Send>;

/// A queued write.
pub struct WriteRequest {
    /// What to do.
    pub write: Write,
    /// The identity that came with the call.
    pub identity: Option<CallIdentity>,
    /// When it is given up, as long as nothing of it has happened.
    pub deadline: Deadline,
    /// Size of the request's body, for the bounds of the queue.
    pub bytes: usize,
    /// How to answer.
    pub reply: WriteReply,
}

/// The error for a client whose write the log refuses.
pub fn refused(error: &LogError) -> Error {
    match error {
        LogError::Full => Error::StorageFull,
        // Nothing was appended; the same request can simply be sent again.
        LogError::Overloaded | LogError::Superseded => Error::Overloaded(error.public()),
        LogError::Closed => Error::ShuttingDown,
        _ => Error::Internal(error.public()),
    }
}
