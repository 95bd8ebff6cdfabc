//! Calls that fail on demand.

/// What to do to a call. A fault waits for the first call it can apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Any call fails with an input/output error and has no effect.
    Eio,
    /// A call that needs space (append, create, create directory) fails and has no effect.
    Enospc,
    /// An append writes about half of its bytes, then finds the disk full.
    ShortWrite,
    /// A sync (of a file or directory) fails. For a file, a later sync that succeeds does *not* save the bytes.
    FsyncFails,
    /// The system has no memory or file descriptor for a read.
    Exhausted,
}

impl Fault {
    /// Those of a disk: all but [`Fault::Exhausted`].
    pub const ALL: [Fault; 4] = [Fault::Eio, Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails];
}

/// The kinds of calls that a fault can be planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Reading, mapping, opening, listing, looking up.
    Read,
    /// Creating a file or a directory.
    Create,
    /// Appending to a file.
    Append,
    /// Making the bytes of a file durable.
    Sync,
    /// Making the names of a directory durable.
    SyncDir,
    /// Renaming.
    Rename,
    /// Removing a file or a directory.
    Remove,
    /// Cutting a file.
    Truncate,
    /// Locking the directory.
    Lock,
}

impl Call {
    /// All of them.
    pub const ALL: [Call; 9] = [
        Call::Read,
        Call::Create,
        Call::Append,
        Call::Sync,
        Call::SyncDir,
        Call::Rename,
        Call::Remove,
        Call::Truncate,
        Call::Lock,
    ];
}

impl Fault {
    /// Whether this fault can apply to a call of that kind.
    pub fn applies_to(self, call: Call) -> bool {
        match self {
            Self::Eio => true,
            Self::Enospc => matches!(call, Call::Append | Call::Create),
            Self::ShortWrite => call == Call::Append,
            Self::FsyncFails => matches!(call, Call::Sync | Call::SyncDir),
            Self::Exhausted => call == Call::Read,
        }
    }
}

/// Counts calls and decides which of them fail.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    calls: u64,
    by_kind: [u64; Call::ALL.len()],
    planned: Vec<Planned>,
    last_call: Option<u64>,
}

#[derive(Clone, Debug)]
struct Planned {
    /// The count of calls, of all or of one kind, from which on it is due.
    at: u64,
    of: Option<Call>,
    fault: Fault,
    /// It stays after its first call.
    lasting: bool,
}

/// How one call ends.
pub(super) enum Verdict {
    Pass,
    Fail(Fault),
    Off,
}

impl Plan {
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn calls_of(&self, call: Call) -> u64 {
        self.by_kind[call as usize]
    }

    pub(super) fn fail_nth(&mut self, n: u64, fault: Fault) {
        self.planned.push(Planned { at: self.calls + n, of: None, fault, lasting: false });
    }

    pub(super) fn fail_nth_of(&mut self, call: Call, n: u64, fault: Fault) {
        let at = self.calls_of(call) + n;
        self.planned.push(Planned { at, of: Some(call), fault, lasting: false });
    }

    pub(super) fn fail_from(&mut self, n: u64, fault: Fault) {
        self.planned.push(Planned { at: self.calls + n, of: None, fault, lasting: true });
    }

    pub(super) fn crash_after(&mut self, n: u64) {
        self.last_call = Some(self.calls + n);
    }

    pub(super) fn has_faults(&self) -> bool {
        !self.planned.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.planned.clear();
        self.last_call = None;
    }

    pub(super) fn decide(&mut self, call: Call) -> Verdict {
        self.calls += 1;
        self.by_kind[call as usize] += 1;
        if self.last_call.is_some_and(|last| self.calls > last) {
            return Verdict::Off;
        }
        let is_due = |planned: &Planned| {
            let counted = planned.of.map_or(self.calls, |kind| self.calls_of(kind));
            planned.at <= counted
                && planned.of.is_none_or(|kind| kind == call)
                && planned.fault.applies_to(call)
        };
        match self.planned.iter().position(is_due) {
            Some(i) if self.planned[i].lasting => Verdict::Fail(self.planned[i].fault),
            Some(i) => Verdict::Fail(self.planned.remove(i).fault),
            None => Verdict::Pass,
        }
    }
}
