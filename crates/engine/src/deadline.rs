//! Deadlines of requests.

use crate::error::Error;
use crate::faults::PlantedFault;
use crate::scheduling::lane;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time at which a request is given up (C1.10). It is also given up when the engine closes, when its client has
/// disconnected, and when its collection is deleted.
#[derive(Clone, Debug)]
pub struct Deadline {
    at: Instant,
    allowed: Duration,
    what: &'static str,
    closing: Option<Closing>,
    cancellation: Option<Cancellation>,
    gone: Option<DeletionFlag>,
}

/// Whether a collection is deleted. Clones share the state.
#[derive(Clone, Debug)]
pub struct DeletionFlag(Arc<DeletionState>);

#[derive(Debug)]
struct DeletionState {
    name: String,
    has_begun: AtomicBool,
}

impl DeletionFlag {
    /// The flag of a collection that exists and has this name.
    pub fn new(name: &str) -> DeletionFlag {
        DeletionFlag(Arc::new(DeletionState { name: name.to_string(), has_begun: AtomicBool::new(false) }))
    }

    /// The collection is deleted. Its requests are given up at their next check, unless they are logged already.
    pub fn begin(&self) {
        self.0.has_begun.store(true, Ordering::Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Relaxed)
    }
}

/// Whether the client of a request has disconnected. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Nobody waits for the answer any more. The request is given up at its next check, unless it is logged already.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether an engine is closing. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Closing(Arc<AtomicBool>);

impl Closing {
    /// The engine starts closing. Its requests are cancelled at their next check.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Deadline {
    /// A deadline `allowed` after `start`; `what` names the operation in the error.
    pub fn new(start: Instant, allowed: Duration, what: &'static str) -> Deadline {
        Deadline { at: start + allowed, allowed, what, closing: None, cancellation: None, gone: None }
    }

    /// The same deadline, which also passes when the engine of `closing` closes.
    #[must_use]
    pub fn or_at(self, closing: &Closing) -> Deadline {
        Deadline { closing: Some(closing.clone()), ..self }
    }

    /// The same deadline, which also passes when the request is cancelled.
    #[must_use]
    pub fn or_cancelled(self, cancellation: Cancellation) -> Deadline {
        Deadline { cancellation: Some(cancellation), ..self }
    }

    /// The same deadline, which also passes when the collection of the request is deleted.
    #[must_use]
    pub fn or_gone(self, gone: Option<DeletionFlag>) -> Deadline {
        Deadline { gone, ..self }
    }

    /// Whether the request must not go on. To be called between two steps of its work, at most a millisecond apart and
    /// while the thread holds no lock: here a heavy request waits for its turn ([`lane`]).
    pub fn passed(&self) -> bool {
        let now = Instant::now();
        self.is_over(now) || lane::yield_turn(now, &|| self.is_over(Instant::now()))
    }

    /// The same for a thread that waits for others, and takes no turn.
    pub fn has_come(&self) -> bool {
        self.is_over(Instant::now())
    }

    /// Says that `work` is about to be done, an estimate of processor time. A request that is heavy by this becomes one.
    ///
    /// # Errors
    /// `Overloaded` when there are too many heavy ones, and those of [`Deadline::check`].
    pub fn expect(&self, work: Duration) -> Result<(), Error> {
        if lane::expect(work, &|| self.is_over(Instant::now())) { Ok(()) } else { Err(self.error()) }
    }

    fn is_over(&self, now: Instant) -> bool {
        if PlantedFault::NothingGivenUp.is_on() {
            return false;
        }
        self.is_closing()
            || self.is_cancelled()
            || self.gone.as_ref().is_some_and(DeletionFlag::has_begun)
            || now >= self.at
    }

    fn is_cancelled(&self) -> bool {
        self.cancellation.as_ref().is_some_and(Cancellation::is_cancelled)
    }

    fn is_closing(&self) -> bool {
        self.closing.as_ref().is_some_and(Closing::has_begun)
    }

    /// The error of a request whose deadline has passed.
    pub fn error(&self) -> Error {
        if self.is_closing() {
            return Error::ShuttingDown;
        }
        if self.is_cancelled() {
            return Error::Cancelled;
        }
        if let Some(gone) = self.gone.as_ref().filter(|gone| gone.has_begun()) {
            // As if it had come later (C4.5).
            return Error::CollectionNotFound(gone.0.name.clone());
        }
        if let Some(refused) = lane::refusal() {
            return refused;
        }
        Error::Timeout(format!(
            "Operation '{}' timed out after {} seconds",
            self.what,
            self.allowed.as_secs_f64()
        ))
    }

    /// What was found, unless the request was given up meanwhile, perhaps in the middle of a document: points may be missing
    /// then. To be called on the thread that has found it, before the client or other threads and requests see it. Waits for
    /// no turn.
    ///
    /// # Errors
    /// Those of [`Deadline::check`].
    pub fn whole<T>(&self, found: T) -> Result<T, Error> {
        if self.has_come() || lane::refusal().is_some() { Err(self.error()) } else { Ok(found) }
    }

    /// An error once the deadline has passed.
    pub fn check(&self) -> Result<(), Error> {
        if self.passed() { Err(self.error()) } else { Ok(()) }
    }
}

/// Work between two checks of the deadline, in bytes of payload times conditions: a millisecond.
pub const WORK_PER_CHECK: u64 = 128 * 1024;
/// The fixed work of a point: 256 points without payload are worth a check.
const WORK_PER_POINT: u64 = WORK_PER_CHECK / 256;

/// Checks a deadline in intervals of work rather than of points: one long text under many conditions takes longer than
/// thousands of short ones.
#[derive(Debug)]
pub struct Pace<'a> {
    /// None for records that are replayed: they were accepted before.
    deadline: Option<&'a Deadline>,
    conditions: u64,
    done: u64,
}

impl<'a> Pace<'a> {
    /// A pace for points on which this many conditions are checked. The first step checks the deadline.
    pub fn new(deadline: &'a Deadline, conditions: usize) -> Pace<'a> {
        Pace { deadline: Some(deadline), conditions: conditions as u64, done: WORK_PER_CHECK }
    }

    /// A pace that checks no deadline: for records that are replayed, and for tests.
    pub fn without_deadline() -> Pace<'static> {
        Pace { deadline: None, conditions: 1, done: 0 }
    }

    /// A pace that has just checked the deadline.
    #[cfg(test)]
    pub fn begun(deadline: &'a Deadline) -> Pace<'a> {
        Pace { done: 0, ..Pace::new(deadline, 1) }
    }

    /// Work since the last check.
    #[cfg(test)]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The conditions that are checked on each point.
    pub fn conditions(&self) -> usize {
        usize::try_from(self.conditions).unwrap_or(usize::MAX)
    }

    /// The deadline that is checked, if one is.
    pub fn deadline(&self) -> Option<&'a Deadline> {
        self.deadline
    }

    /// Counts a point. To be called before it is processed.
    ///
    /// # Errors
    /// `Timeout` once the deadline has passed, `ShuttingDown` once the engine closes, `Cancelled` once the client has
    /// disconnected.
    pub fn step(&mut self, payload_bytes: usize) -> Result<(), Error> {
        self.check_after(WORK_PER_POINT + payload_bytes as u64 * self.conditions)
    }

    /// Counts bytes. To be called before they are processed.
    ///
    /// # Errors
    /// As of [`Pace::step`].
    pub fn work(&mut self, bytes: usize) -> Result<(), Error> {
        self.check_after(bytes as u64)
    }

    fn check_after(&mut self, work: u64) -> Result<(), Error> {
        if self.done >= WORK_PER_CHECK {
            self.done = 0;
            self.deadline.map_or(Ok(()), Deadline::check)?;
        }
        self.done += work;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_is_checked_for_each_heavy_document_c1_10() {
        let late = Deadline::new(Instant::now(), Duration::ZERO, "Count");
        let mut pace = Pace { deadline: Some(&late), conditions: 1000, done: 0 };
        pace.step(100_000).expect("nothing was done before the first");
        pace.step(1).expect_err("one heavy document causes a check");
    }

    #[test]
    fn a_request_is_cancelled_when_its_engine_closes_c11_3() {
        let closing = Closing::default();
        let deadline = Deadline::new(Instant::now(), Duration::from_secs(3600), "Count").or_at(&closing);
        let mut pace = Pace::new(&deadline, 1);
        assert!(deadline.check().is_ok() && pace.step(100_000_000).is_ok());
        closing.begin();
        assert_eq!(deadline.check(), Err(Error::ShuttingDown));
        assert_eq!(pace.step(1), Err(Error::ShuttingDown));
    }

    #[test]
    fn a_request_is_answered_as_without_its_collection_when_that_is_deleted_c4_5() {
        let gone = DeletionFlag::new("c");
        let hour = Duration::from_secs(3600);
        let deadline = Deadline::new(Instant::now(), hour, "Count").or_gone(Some(gone.clone()));
        assert_eq!(deadline.check(), Ok(()));
        gone.begin();
        assert_eq!(deadline.check(), Err(Error::CollectionNotFound("c".into())));
    }

    #[test]
    fn a_request_is_given_up_when_its_client_has_disconnected() {
        let cancellation = Cancellation::default();
        let hour = Duration::from_secs(3600);
        let deadline = Deadline::new(Instant::now(), hour, "Count").or_cancelled(cancellation.clone());
        let mut pace = Pace::new(&deadline, 1);
        assert!(deadline.check().is_ok() && pace.step(100_000_000).is_ok());
        cancellation.cancel();
        assert_eq!(deadline.check(), Err(Error::Cancelled));
        assert_eq!(pace.step(1), Err(Error::Cancelled));
    }

    #[test]
    fn what_was_found_before_a_request_was_given_up_is_not_whole_c1_10() {
        let cancellation = Cancellation::default();
        let hour = Duration::from_secs(3600);
        let deadline = Deadline::new(Instant::now(), hour, "Count").or_cancelled(cancellation.clone());
        assert_eq!(deadline.whole(1), Ok(1));
        cancellation.cancel();
        assert_eq!(deadline.whole(1), Err(Error::Cancelled));
    }

    #[test]
    fn light_documents_share_a_check_c1_10() {
        let late = Deadline::new(Instant::now(), Duration::ZERO, "Count");
        let mut pace = Pace { deadline: Some(&late), conditions: 1, done: 0 };
        let steps = (0..1000).take_while(|_| pace.step(10).is_ok()).count();
        assert!((200..=256).contains(&steps), "{steps} points between two checks");
    }
}
