//! What a request may cost while it is applied.

use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::payload::edit::EditError;

/// What a request may cost while it is applied.
pub struct Allowance<'d> {
    /// Bytes that its edits may add to payloads, so that a short record cannot make more of them than memory holds;
    /// `None` for what was accepted before.
    most_added: Option<u64>,
    added: u64,
    /// Bytes of payloads that its edits may read, each as often as it is edited.
    most_read: u64,
    read: u64,
    pub(super) pace: Pace<'d>,
}

impl<'d> Allowance<'d> {
    /// No bounds: for what was accepted before.
    pub fn unbounded() -> Allowance<'static> {
        let pace = Pace::without_deadline();
        Allowance { most_added: None, added: 0, most_read: u64::MAX, read: 0, pace }
    }

    /// So many bytes added and read, and until then.
    pub fn new(most_added: u64, most_read: u64, deadline: &'d Deadline) -> Allowance<'d> {
        let pace = Pace::new(deadline, 1);
        Allowance { most_added: Some(most_added), added: 0, most_read, read: 0, pace }
    }

    /// The allowance after `added` bytes were added and `read` bytes read.
    #[must_use]
    pub fn after(self, added: u64, read: u64) -> Allowance<'d> {
        Allowance { added, read, ..self }
    }

    /// Bytes added and read so far.
    pub fn used(&self) -> (u64, u64) {
        (self.added, self.read)
    }

    /// Bytes that may still be added; `None` for any number.
    pub(super) fn room(&self) -> Option<u64> {
        self.most_added.map(|most| most.saturating_sub(self.added))
    }

    /// The same bound, to find out whether something would keep within it.
    pub(super) fn trial(&self) -> Allowance<'static> {
        let (most_added, added) = (self.most_added, self.added);
        Allowance { most_added, added, ..Allowance::unbounded() }
    }

    /// Takes note of bytes that an edit is about to read.
    pub(super) fn read(&mut self, bytes: usize) -> Result<(), Unapplied> {
        self.read += bytes as u64;
        if self.read <= self.most_read {
            return Ok(());
        }
        let most = self.most_read;
        Err(Unapplied::Refused(format!(
            "edits would read more than {most} bytes of payloads (max_edited_bytes): touch fewer points at a time"
        )))
    }

    /// Takes note of bytes that are added.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), Unapplied> {
        self.added += bytes;
        match self.most_added {
            Some(most) if self.added > most => Err(Unapplied::TooLong(format!(
                "payloads would grow by more than {most} bytes: touch fewer points at a time"
            ))),
            _ => Ok(()),
        }
    }
}

/// Why a change was not applied, or only in part.
#[derive(Debug)]
pub enum Unapplied {
    /// The request is at fault; a sentence.
    Refused(String),
    /// Payloads would grow by more than the request may add; a sentence.
    TooLong(String),
    /// The request was given up.
    GivenUp(Error),
}

impl From<EditError> for Unapplied {
    fn from(error: EditError) -> Unapplied {
        match error {
            EditError::GivenUp(error) => Unapplied::GivenUp(error),
            refused => Unapplied::Refused(refused.to_string()),
        }
    }
}

impl From<Error> for Unapplied {
    fn from(error: Error) -> Unapplied {
        Unapplied::GivenUp(error)
    }
}
