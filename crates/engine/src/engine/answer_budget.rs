//! Limits on the memory and time of one answer.

use crate::deadline::Deadline;
use crate::error::Error;

/// Bytes that are written, or searched for a path, between two checks of the deadline: some milliseconds.
const CHECK_BYTES: usize = 4 << 20;

/// Bounds the bytes of an answer, and checks the deadline while it is written.
pub struct AnswerBudget<'a> {
    max_bytes: usize,
    deadline: &'a Deadline,
    /// Bytes of the answer before the last point.
    written: usize,
    /// Bytes written and searched since the deadline was checked.
    unchecked: usize,
    /// Why no more points are written.
    exceeded: Option<Error>,
}

impl<'a> AnswerBudget<'a> {
    pub fn new(max_bytes: usize, deadline: &'a Deadline) -> AnswerBudget<'a> {
        AnswerBudget { max_bytes, deadline, written: 0, unchecked: 0, exceeded: None }
    }

    /// Whether another point may follow `written` bytes of the answer, for which `searched` bytes are searched.
    pub fn admits(&mut self, written: usize, searched: usize) -> bool {
        if self.exceeded.is_some() {
            return false;
        }
        self.unchecked = self.unchecked.saturating_add(searched).saturating_add(written - self.written);
        self.written = written;
        if self.unchecked >= CHECK_BYTES {
            self.unchecked = 0;
            self.exceeded = self.deadline.check().err();
        }
        if written > self.max_bytes {
            self.exceeded = Some(Error::bad(format!(
                "the answer would have more than {} bytes: ask for fewer points, or for less of each",
                self.max_bytes
            )));
        }
        self.exceeded.is_none()
    }

    /// An error when points were left out: the answer is not to be sent.
    pub fn finish(self) -> Result<(), Error> {
        self.exceeded.map_or(Ok(()), Err)
    }
}
