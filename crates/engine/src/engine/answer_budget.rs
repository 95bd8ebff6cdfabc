//! Limits on the memory and time of one answer, and on the memory of all.

use crate::deadline::Deadline;
use crate::error::Error;
use crate::limits::Limits;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Bytes that are written, or searched for a path, between two checks of the deadline: a millisecond at most.
const CHECK_BYTES: usize = 256 << 10;

/// Nanoseconds to write a point with a short payload, and to write a component of a vector.
const POINT_NANOS: u64 = 300;
const COMPONENT_NANOS: u64 = 40;
/// The fewest bytes that a point can have: `{"id":1}`.
const LEAST_POINT_BYTES: usize = 8;

/// Bytes of an answer that are not charged, so that the many small answers never meet the limit on all of them.
const FREE_BYTES: usize = 1 << 20;
/// A larger answer is charged in steps of this size.
const STEP_BYTES: usize = 4 << 20;

/// The bytes of the large answers that are being written.
#[derive(Default)]
pub struct AnswersInProgress(AtomicUsize);

impl AnswersInProgress {
    /// Charges `bytes`; false when all would have more than `max` then.
    fn charge(&self, bytes: usize, max: usize) -> bool {
        let charged = |all: usize| all.checked_add(bytes).filter(|sum| *sum <= max);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charged).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bounds the bytes of an answer, and checks the deadline while it is written.
pub struct AnswerBudget<'a> {
    max_bytes: usize,
    max_bytes_of_all: usize,
    /// What the caller can take at the moment.
    room: usize,
    all: &'a AnswersInProgress,
    /// What this answer is charged for.
    charged: usize,
    deadline: &'a Deadline,
    /// Bytes of the answer before the last point.
    written: usize,
    /// Bytes written and searched since the deadline was checked.
    unchecked: usize,
    /// Why no more points are written.
    exceeded: Option<Error>,
}

impl<'a> AnswerBudget<'a> {
    /// `room` is what the caller can take at the moment.
    pub fn new(
        limits: &Limits,
        room: Option<usize>,
        all: &'a AnswersInProgress,
        deadline: &'a Deadline,
    ) -> AnswerBudget<'a> {
        AnswerBudget {
            max_bytes: limits.max_answer_bytes,
            max_bytes_of_all: limits.max_answer_bytes_in_progress,
            room: room.unwrap_or(usize::MAX),
            all,
            charged: 0,
            deadline,
            written: 0,
            unchecked: 0,
            exceeded: None,
        }
    }

    /// Says that so many points are about to be written, with so many components of vectors each. An answer that must be
    /// beyond the room of its caller is given up before anything is written.
    pub fn expect(&mut self, points: usize, components: usize) {
        let each = POINT_NANOS.saturating_add(COMPONENT_NANOS.saturating_mul(components as u64));
        let work = Duration::from_nanos((points as u64).saturating_mul(each));
        self.exceeded = self.exceeded.take().or(self.deadline.expect(work).err());
        if self.exceeded.is_none() && points.saturating_mul(LEAST_POINT_BYTES) > self.room {
            self.exceeded = Some(Error::AnswerBudgetExceeded);
        }
    }

    /// The request is given up: no further point follows.
    pub fn give_up(&mut self) {
        self.exceeded = self.exceeded.take().or_else(|| Some(self.deadline.error()));
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
        if self.exceeded.is_none() {
            self.exceeded = self.check_bytes().err();
        }
        self.exceeded.is_none()
    }

    fn check_bytes(&mut self) -> Result<(), Error> {
        self.check_length(self.written)?;
        while self.written > FREE_BYTES + self.charged {
            if !self.all.charge(STEP_BYTES, self.max_bytes_of_all) {
                return Err(Error::Overloaded("too many bytes of answers are being written".into()));
            }
            self.charged += STEP_BYTES;
        }
        Ok(())
    }

    fn check_length(&self, written: usize) -> Result<(), Error> {
        if written > self.max_bytes {
            return Err(Error::bad(format!(
                "the answer would have more than {} bytes: ask for fewer points, or for less of each",
                self.max_bytes
            )));
        }
        if written > self.room { Err(Error::AnswerBudgetExceeded) } else { Ok(()) }
    }

    /// An error when points were left out, and when the answer, of `written` bytes with its last point, is too long: it is not
    /// to be sent.
    pub fn finish(mut self, written: usize) -> Result<(), Error> {
        self.exceeded.take().map_or_else(|| self.check_length(written), Err)
    }
}

impl Drop for AnswerBudget<'_> {
    fn drop(&mut self) {
        self.all.give_back(self.charged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    const MIB: usize = 1 << 20;

    fn limits(of_all: usize) -> Limits {
        Limits { max_answer_bytes_in_progress: of_all, ..Limits::default() }
    }

    fn deadline() -> Deadline {
        Deadline::new(Instant::now(), Duration::from_secs(60), "test")
    }

    #[test]
    fn large_answers_share_a_budget_and_small_ones_do_not_need_it() {
        let (all, deadline, limits) = (AnswersInProgress::default(), deadline(), limits(8 * MIB));
        let mut first = AnswerBudget::new(&limits, None, &all, &deadline);
        assert!(first.admits(5 * MIB, 0));
        let mut second = AnswerBudget::new(&limits, None, &all, &deadline);
        assert!(second.admits(5 * MIB, 0));
        assert!(!second.admits(6 * MIB, 0));
        assert!(!second.admits(6 * MIB, 0), "nothing follows what was left out");
        assert!(matches!(second.finish(6 * MIB), Err(Error::Overloaded(_))));
        let mut small = AnswerBudget::new(&limits, None, &all, &deadline);
        assert!(first.admits(9 * MIB, 0), "what the second had is free");
        assert!(small.admits(MIB, 0));
        assert!(small.finish(MIB).is_ok() && first.finish(9 * MIB).is_ok());
        assert_eq!(all.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_answer_beyond_the_room_of_its_caller_is_an_error_of_its_own() {
        let (all, deadline, limits) = (AnswersInProgress::default(), deadline(), limits(8 * MIB));
        let mut answer = AnswerBudget::new(&limits, Some(1000), &all, &deadline);
        assert!(answer.admits(1000, 0));
        assert!(!answer.admits(1001, 0));
        assert!(matches!(answer.finish(1001), Err(Error::AnswerBudgetExceeded)));
        let mut expected = AnswerBudget::new(&limits, Some(1000), &all, &deadline);
        expected.expect(100, 1000);
        assert!(expected.admits(0, 0), "points may be without vectors");
        expected.expect(1000, 0);
        assert!(!expected.admits(0, 0), "given up before it is written");
    }

    #[test]
    fn the_last_point_counts_c2_7() {
        let (all, deadline) = (AnswersInProgress::default(), deadline());
        let limits = Limits { max_answer_bytes: 300, ..Limits::default() };
        let finish = |room: Option<usize>, written: usize| {
            let mut answer = AnswerBudget::new(&limits, room, &all, &deadline);
            assert!(answer.admits(100, 0));
            answer.finish(written)
        };
        assert!(finish(None, 300).is_ok());
        assert!(matches!(finish(None, 301), Err(Error::BadRequest(_))));
        assert!(finish(Some(200), 200).is_ok());
        assert!(matches!(finish(Some(200), 201), Err(Error::AnswerBudgetExceeded)));
    }
}
