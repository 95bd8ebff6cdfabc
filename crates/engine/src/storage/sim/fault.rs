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
}

/// What a call does, as far as faults care.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Read,
    Change,
    Create,
    Append,
    Sync,
}

impl Fault {
    fn applies_to(self, call: Call) -> bool {
        match self {
            Self::Eio => true,
            Self::Enospc => matches!(call, Call::Append | Call::Create),
            Self::ShortWrite => call == Call::Append,
            Self::FsyncFails => call == Call::Sync,
        }
    }
}

/// Counts calls and decides which of them fail.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    calls: u64,
    faults: Vec<(u64, Fault)>,
    last_call: Option<u64>,
}

/// What becomes of one call.
pub(super) enum Verdict {
    Pass,
    Fail(Fault),
    Off,
}

impl Plan {
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn fail_nth(&mut self, n: u64, fault: Fault) {
        self.faults.push((self.calls + n, fault));
    }

    pub(super) fn crash_after(&mut self, n: u64) {
        self.last_call = Some(self.calls + n);
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
        self.last_call = None;
    }

    pub(super) fn judge(&mut self, call: Call) -> Verdict {
        self.calls += 1;
        if self.last_call.is_some_and(|last| self.calls > last) {
            return Verdict::Off;
        }
        let due = self.faults.iter().position(|(at, fault)| *at <= self.calls && fault.applies_to(call));
        match due {
            Some(i) => Verdict::Fail(self.faults.remove(i).1),
            None => Verdict::Pass,
        }
    }
}
