//! Durability levels of writes, and the limits of the group commit.

use crate::supervision::Supervisor;
use std::sync::Arc;
use std::time::Duration;

/// When a group is acknowledged; the strictest level first.
///
/// At every level, a power cut leaves a prefix of the log: no record survives without all records before it. So a
/// collection loses only its last operations, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// After the sync: it survives a power cut.
    #[default]
    Always,
    /// After the write: it survives the end of the process. A sync follows within [`GroupOptions::sync_interval`].
    Interval,
    /// After the write. A sync comes with the next group that wants one, the next segment, a checkpoint, or the end.
    Os,
}

/// Limits of the group commit.
#[derive(Clone, Debug)]
pub struct GroupOptions {
    /// Bytes of bodies that may wait for the log (256 MiB); a single group may be longer when nothing else waits.
    pub waiting_bytes: usize,
    /// The longest time between writing and syncing records of [`Durability::Interval`] (1 s). A log without a thread
    /// does not measure it: there they are synced like those of [`Durability::Os`].
    pub sync_interval: Duration,
    /// Counts panics of the log's writer.
    pub supervisor: Arc<Supervisor>,
}

impl Default for GroupOptions {
    fn default() -> Self {
        Self { waiting_bytes: 256 << 20, sync_interval: Duration::from_secs(1), supervisor: Arc::default() }
    }
}
