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
    pub(super) pace: Pace<'d>,
}

impl<'d> Allowance<'d> {
    /// No bounds: for what was accepted before.
    pub fn unbounded() -> Allowance<'static> {
        Allowance { most_added: None, added: 0, pace: Pace::without_deadline() }
    }

    /// So many bytes, and until then.
    pub fn new(most_added: u64, deadline: &'d Deadline) -> Allowance<'d> {
        Allowance { most_added: Some(most_added), added: 0, pace: Pace::new(deadline, 1) }
    }

    /// Bytes that may still be added; `None` for any number.
    pub(super) fn room(&self) -> Option<u64> {
        self.most_added.map(|most| most.saturating_sub(self.added))
    }

    /// The same bound, to find out whether something would keep within it.
    pub(super) fn trial(&self) -> Allowance<'static> {
        Allowance { most_added: self.most_added, added: self.added, pace: Pace::without_deadline() }
    }

    /// Takes note of bytes that are added.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), Unapplied> {
        self.added += bytes;
        match self.most_added {
            Some(most) if self.added > most => Err(Unapplied::Refused(format!(
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
