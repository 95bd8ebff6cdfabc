//! A write, and the answer to it.

use crate::change::Skipped;
use crate::collection::reembedding::{Ending, Filling};
use crate::collection::update::{Resolution, Update};
use crate::config::{CollectionPatch, NewField, NewReembedding};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::filter::Filter;
use crate::payload::{FieldSchema, JsonPath};
use crate::recent_operations::CallIdentity;
use crate::state::{Numbering, View};
use crate::types::OpNumber;
use crate::wal::LogError;
use std::sync::Arc;

/// Kind of a log record that holds the changes of one operation of a collection.
pub const CHANGES: u8 = 1;

/// About what a point takes beside its vectors and its payload: id, row, links.
const POINT_BYTES: usize = 512;
/// About what a point takes in a field index.
const INDEXED_BYTES: usize = 64;

/// About what a point takes a second time while fields are added: itself, and the list of its rows.
const REARRANGED_BYTES: usize = 160;

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
    /// Updates of which a thread beside the writer has found what the filters match.
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
    /// Removes points whose time has come (C17): all that have come to it by a time, in microseconds since 1970, or some by the
    /// clock of this process.
    RemoveExpired {
        /// The time.
        until: Option<i64>,
    },
    /// Moves some live rows of a chunk that is mostly dead: an operation that changes nothing for clients.
    MoveRows(Place),
    /// C4.8
    AddField {
        /// The name.
        name: Box<str>,
        /// What it is to be.
        field: Box<NewField>,
        /// Points of the collection, which all get their rows anew.
        points: usize,
    },
    /// C4.8
    RemoveField {
        /// The name.
        name: Box<str>,
    },
    /// C19: a field is to be embedded anew.
    BeginReembedding {
        /// The name of the field.
        name: Box<str>,
        /// By which model.
        asked: Box<NewReembedding>,
        /// Points of the collection, which all get their rows anew.
        points: usize,
    },
    /// Vectors that the new model made.
    FillVectors(Filling),
    /// The end of a re-embedding.
    EndReembedding {
        /// The name of the field.
        name: Box<str>,
        /// Which end.
        ending: Ending,
    },
}

/// A chunk of the rows of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The last operation that changed the fields: positions are those between it and the next one.
    pub fields: OpNumber,
    /// Position of the vector field.
    pub field: usize,
    /// The chunk.
    pub chunk: u32,
}

impl Write {
    /// Keeps its updates by filter to the points that its caller may reach.
    pub fn limit(&mut self) {
        if let Write::Points { updates, within, .. } = self {
            updates.iter_mut().for_each(|update| update.limit(within.as_ref()));
        }
    }

    /// Its updates of points, none for another kind of write.
    pub(super) fn updates(&self) -> &[Update] {
        match self {
            Write::Points { updates, .. } | Write::Resolved { updates, .. } => updates,
            _ => &[],
        }
    }

    /// Bytes of the source of a sync, whose parts came in bodies before.
    pub fn staged_bytes(&self) -> usize {
        self.updates().iter().filter_map(Update::sync).map(|sync| sync.entries.bytes() as usize).sum()
    }

    /// Whether it may write vectors.
    pub(super) fn adds_rows(&self) -> bool {
        match self {
            Write::Points { .. } | Write::Resolved { .. } => self.updates().iter().any(Update::adds_rows),
            Write::MoveRows(_) | Write::FillVectors(_) => true,
            Write::CreateIndex { .. }
            | Write::DropIndex(_)
            | Write::Patch(_)
            | Write::RemoveExpired { .. }
            | Write::AddField { .. }
            | Write::RemoveField { .. }
            | Write::BeginReembedding { .. }
            | Write::EndReembedding { .. } => false,
        }
    }

    /// Whether it adds or removes a vector field. Then positions change, and nothing else may be on its way to the log.
    pub(super) fn changes_fields(&self) -> bool {
        matches!(
            self,
            Write::AddField { .. }
                | Write::RemoveField { .. }
                | Write::BeginReembedding { .. }
                | Write::EndReembedding { .. }
        )
    }

    /// About how many bytes of memory it adds that stay: those of its body, of which numbers are longer in JSON than in
    /// memory, and what is kept of each point beside them.
    pub(super) fn growth(&self, body_bytes: usize, indexes: usize) -> u64 {
        let points = match self {
            Write::Points { .. } | Write::Resolved { .. } => self.updates().iter().map(Update::points).sum(),
            // Each point is written anew, and the old ones stay as long as readers have them.
            Write::AddField { points, .. } | Write::BeginReembedding { points, .. } => {
                return (points * REARRANGED_BYTES) as u64;
            }
            // Vectors beside others of their points.
            Write::FillVectors(_) => 0,
            Write::CreateIndex { .. }
            | Write::DropIndex(_)
            | Write::Patch(_)
            | Write::RemoveExpired { .. }
            | Write::MoveRows(_)
            | Write::RemoveField { .. }
            | Write::EndReembedding { .. } => 0,
        };
        (body_bytes + points * (POINT_BYTES + indexes * INDEXED_BYTES)) as u64
    }

    /// Whether it makes the data grow: such writes are refused while the disk is full.
    pub(super) fn grows(&self) -> bool {
        match self {
            Write::Points { .. } | Write::Resolved { .. } => self.updates().iter().any(Update::grows),
            Write::CreateIndex { .. }
            | Write::AddField { .. }
            | Write::BeginReembedding { .. }
            | Write::FillVectors(_) => true,
            Write::DropIndex(_)
            | Write::Patch(_)
            | Write::RemoveExpired { .. }
            | Write::MoveRows(_)
            | Write::RemoveField { .. }
            | Write::EndReembedding { .. } => false,
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

/// Whether updates of points may be made to what the collection has when their turn comes.
pub type Admission = Box<dyn FnOnce(&View, &[Update]) -> Result<(), Error> + Send>;

/// A queued write.
pub struct WriteRequest {
    /// What to do.
    pub write: Write,
    /// How it came.
    pub call: WriteCall,
}

/// How a write came, and how it is answered.
pub struct WriteCall {
    /// The identity that came with it.
    pub identity: Option<CallIdentity>,
    /// When it is given up, as long as nothing of it has happened.
    pub deadline: Deadline,
    /// Size of the request's body, for the bounds of the queue.
    pub bytes: usize,
    /// How it gets its number.
    pub numbering: Numbering,
    /// Limits of its collection; none where absent.
    pub admission: Option<Admission>,
    /// How to answer.
    pub reply: WriteReply,
}

impl WriteCall {
    /// One with neither an identity nor limits, which gets the next number.
    pub fn plain(deadline: Deadline, bytes: usize, reply: WriteReply) -> WriteCall {
        WriteCall { identity: None, deadline, bytes, numbering: Numbering::Next, admission: None, reply }
    }
}

/// The error for a client whose write the log refuses.
pub fn refused(error: &LogError) -> Error {
    match error {
        LogError::Full => Error::StorageFull,
        LogError::NoMemory => Error::MemoryLimit,
        // Nothing was appended; the same request can simply be sent again.
        LogError::Overloaded | LogError::Superseded => Error::Overloaded(error.public()),
        LogError::Closed => Error::ShuttingDown,
        _ => Error::Internal(error.public()),
    }
}

#[cfg(test)]
mod tests;
