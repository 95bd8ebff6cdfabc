//! What runs in the background.

/// A kind of background work. Its name is a label of the metrics, and a switch of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Building graphs and field indexes.
    Index,
    /// Finding out what of a collection is to be built next. Its label, `claim`, is part of the interface.
    NextIndex,
    /// Taking dead rows out of a collection.
    Vacuum,
    /// Writing a checkpoint.
    Checkpoint,
    /// Answering requests that wait for a field index.
    Waiters,
    /// Answering writes whose deadline has passed.
    Deadlines,
    /// Measuring room on the disk, and keeping the reserve.
    DiskSpace,
    /// Measuring the memory of field indexes.
    Measure,
    /// Measuring what is held of the memory, and making room in it.
    Memory,
    /// Removing the files of deleted collections.
    Removal,
    /// Writing the catalog's file, and shortening the log.
    LogMaintenance,
    /// Writing to the log.
    LogWriter,
    /// Returning memory to the system.
    HeapTrim,
    /// A round of everything that is due at intervals.
    Housekeeping,
    /// Reading all files for damage.
    Scrub,
    /// Measuring the recall of searches.
    Calibration,
    /// Measuring how rows are prefetched best.
    Tuning,
    /// Putting collections to sleep that are not used.
    Residency,
    /// Making the report of what the engine serves.
    Report,
    /// A write, at the part that serves all writes of its collection.
    Write,
    /// A part of another thread's request.
    Help,
    /// A request, whose client gets an error, or the thread of a pool that runs requests.
    Request,
    /// The deletion of a collection.
    Deletion,
    /// Resolving heavy writes, step by step.
    HeavyLane,
    /// Following the owners of a folder that several processes use, and answering calls whose time is over.
    Folder,
    /// Taking connections of processes that attach to the folder.
    Accept,
    /// Reading what another process of the folder sends.
    Receive,
    /// Writing what another process of the folder does not take at once.
    Send,
}

impl Task {
    /// All tasks; each stands at its number.
    pub const ALL: [Task; 28] = [
        Task::Index,
        Task::NextIndex,
        Task::Vacuum,
        Task::Checkpoint,
        Task::Waiters,
        Task::Deadlines,
        Task::DiskSpace,
        Task::Measure,
        Task::Memory,
        Task::Removal,
        Task::LogMaintenance,
        Task::LogWriter,
        Task::HeapTrim,
        Task::Housekeeping,
        Task::Scrub,
        Task::Calibration,
        Task::Tuning,
        Task::Residency,
        Task::Report,
        Task::Write,
        Task::Help,
        Task::Request,
        Task::Deletion,
        Task::HeavyLane,
        Task::Folder,
        Task::Accept,
        Task::Receive,
        Task::Send,
    ];

    /// Whether it works on the data of an engine. The others are between the processes of a folder, and outlive its engine.
    pub(super) fn is_of_engine(self) -> bool {
        !matches!(self, Task::Folder | Task::Accept | Task::Receive | Task::Send)
    }

    /// Its name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Task::Index => "index",
            Task::NextIndex => "claim",
            Task::Vacuum => "vacuum",
            Task::Checkpoint => "checkpoint",
            Task::Waiters => "waiters",
            Task::Deadlines => "deadlines",
            Task::DiskSpace => "disk_space",
            Task::Measure => "measure",
            Task::Memory => "memory",
            Task::Removal => "removal",
            Task::LogMaintenance => "log_maintenance",
            Task::LogWriter => "log_writer",
            Task::HeapTrim => "heap_trim",
            Task::Housekeeping => "housekeeping",
            Task::Scrub => "scrub",
            Task::Calibration => "calibration",
            Task::Tuning => "tuning",
            Task::Residency => "residency",
            Task::Report => "report",
            Task::Write => "write",
            Task::Help => "help",
            Task::Request => "request",
            Task::Deletion => "deletion",
            Task::HeavyLane => "heavy_lane",
            Task::Folder => "folder",
            Task::Accept => "accept",
            Task::Receive => "receive",
            Task::Send => "send",
        }
    }

    /// Whether a panic can leave a collection half changed: it must not accept writes afterwards.
    pub fn changes_collection(self) -> bool {
        matches!(self, Task::Index | Task::Vacuum | Task::Checkpoint | Task::Write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_stands_at_its_number_under_a_name_of_its_own() {
        for (at, task) in Task::ALL.into_iter().enumerate() {
            assert_eq!(task as usize, at);
            assert_eq!(Task::ALL.iter().filter(|other| other.name() == task.name()).count(), 1);
        }
    }
}
