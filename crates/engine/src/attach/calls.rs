//! Calls of this process that wait for an owner, or for its answer.

use super::frame::CallFrame;
use super::outgoing::SharedBytes;
use super::repeated::error_of;
use crate::api::Strictness;
use crate::deadline::{Cancellation, Deadline};
use crate::engine::{
    Body, DEFAULT_TIMEOUT, LONGEST_REQUEST, Operation, Packing, Reply, Request, StrictScope,
};
use crate::error::Error;
use crate::recent_operations::CallIdentity;
use crate::types::{Lsn, OperationId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls that may wait; more are refused.
const MAX_CALLS: usize = 65_536;
/// Bytes of bodies that may wait, and bytes that may be queued for the owner; more are refused.
const MAX_BYTES: usize = 1 << 30;
/// An owner answers a call at its deadline, and when it is cancelled. After this time it is taken to be stopped.
const GRACE: Duration = Duration::from_millis(1000);

/// A call, as often as it is sent.
pub struct Call {
    operation: Operation,
    collection: String,
    target: Option<String>,
    wait: bool,
    strictness: Strictness,
    gives_out_texts: bool,
    packing: Packing,
    start: Instant,
    allowed: Duration,
    pub body: SharedBytes,
    answer_budget: Option<usize>,
    cancellation: Cancellation,
    /// The operation id, of a write that has one.
    id: Option<OperationId>,
    /// The position of the log when it was sent to an owner for the first time.
    first_sent: Option<Lsn>,
    /// When the owner that has it was notified that the answer is not awaited any more.
    notified: Option<Instant>,
}

/// A body that is sent again if need be.
struct Kept(SharedBytes);

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl Call {
    /// A call from a request.
    pub fn new(request: Request) -> Call {
        let Request {
            operation,
            collection,
            target,
            wait,
            strictness,
            gives_out_texts,
            packing,
            timeout,
            body,
            start,
            identity,
            ..
        } = request;
        let body: Box<dyn AsRef<[u8]> + Send + Sync> = body;
        Call {
            operation,
            collection,
            target,
            wait,
            strictness,
            gives_out_texts,
            packing,
            start,
            allowed: timeout.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_REQUEST),
            body: Arc::from(body),
            answer_budget: request.answer_budget,
            cancellation: request.cancellation,
            id: identity.map(|call| call.id).filter(|_| operation.is_write()),
            first_sent: identity.and_then(|call| call.first_sent),
            notified: None,
        }
    }

    /// The request to the engine of this process.
    pub fn request(&self) -> Request {
        let body: Body = Box::new(Kept(Arc::clone(&self.body)));
        Request {
            operation: self.operation,
            collection: self.collection.clone(),
            target: self.target.clone(),
            wait: self.wait,
            strictness: self.strictness,
            gives_out_texts: self.gives_out_texts,
            access: None,
            caller: Box::default(),
            packing: self.packing,
            timeout: Some(self.allowed),
            body,
            start: self.start,
            identity: self.id.map(|id| CallIdentity { id, first_sent: self.first_sent }),
            position: None,
            dry_run: false,
            strict_scope: StrictScope::default(),
            answer_budget: self.answer_budget,
            profile: None,
            cancellation: self.cancellation.clone(),
        }
    }

    /// The frame to an owner; `position` is that of its log. A write has an operation id from then on.
    pub fn frame(&mut self, call: u64, position: Lsn) -> Vec<u8> {
        self.notified = None;
        if self.operation.is_write() {
            self.id.get_or_insert_with(|| OperationId::new(random()));
        }
        let first_sent = self.first_sent.filter(|_| self.id.is_some());
        self.first_sent.get_or_insert(position);
        let left = (self.start + self.allowed).saturating_duration_since(Instant::now());
        super::frame::call_head(&CallFrame {
            call,
            operation: self.operation,
            collection: &self.collection,
            target: self.target.as_deref(),
            wait: self.wait,
            strictness: self.strictness,
            gives_out_texts: self.gives_out_texts,
            timeout_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            answer_budget: self.answer_budget.map(|room| room as u64),
            id: self.id,
            first_sent,
            packing: self.packing,
            body: (*self.body).as_ref(),
        })
    }

    fn bytes(&self) -> usize {
        (*self.body).as_ref().len()
    }

    /// What is to be done about it now; `is_sent` when an owner has it.
    fn due(&mut self, now: Instant, is_sent: bool) -> Due {
        let grace = if is_sent { GRACE } else { Duration::ZERO };
        if self.cancellation.is_cancelled() {
            match self.notified {
                None if is_sent => {
                    self.notified = Some(now);
                    return Due::Cancel;
                }
                Some(notified) if now < notified + grace => {}
                _ => return Due::Fail(error_of(Error::Cancelled, self.may_be_applied())),
            }
        }
        if now < self.start + self.allowed + grace {
            return Due::Nothing;
        }
        let late = Deadline::new(self.start, self.allowed, self.operation.title()).error();
        Due::Fail(error_of(late, self.may_be_applied()))
    }

    /// Whether it is a write that was sent to an owner: only its operation id says whether it was applied.
    pub fn may_be_applied(&self) -> bool {
        self.id.is_some() && self.first_sent.is_some()
    }
}

/// What is to be done about a call.
enum Due {
    Nothing,
    /// The owner is to be notified that the answer is not awaited any more.
    Cancel,
    Fail(Error),
}

/// What a look at all calls found.
#[derive(Default)]
pub struct Overdue {
    pub failed: Vec<(Reply, Error)>,
    pub cancelled: Vec<u64>,
}

/// The calls of this process that are not answered, by their numbers.
#[derive(Default)]
pub struct Calls {
    waiting: BTreeMap<u64, (Call, Reply)>,
    bytes: usize,
    last: u64,
}

impl Calls {
    /// Adds a call and returns its number. `unsent` is the number of bytes that are queued for the owner: calls that were
    /// given up are among them.
    ///
    /// # Errors
    /// The reply, where too many wait, or too many bytes.
    pub fn add(&mut self, call: Call, reply: Reply, unsent: usize) -> Result<u64, Reply> {
        let bytes = call.bytes();
        let held = self.bytes.max(unsent);
        let is_full = self.waiting.len() >= MAX_CALLS || held.saturating_add(bytes) > MAX_BYTES;
        if is_full && (unsent > 0 || !self.waiting.is_empty()) {
            return Err(reply);
        }
        self.bytes += bytes;
        self.last += 1;
        self.waiting.insert(self.last, (call, reply));
        Ok(self.last)
    }

    /// Takes a call out.
    pub fn take(&mut self, number: u64) -> Option<(Call, Reply)> {
        let taken = self.waiting.remove(&number)?;
        self.bytes -= taken.0.bytes();
        Some(taken)
    }

    /// Takes all calls out, in their order.
    pub fn take_all(&mut self) -> impl Iterator<Item = (Call, Reply)> + use<> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting).into_values()
    }

    /// Takes out, in their order, the calls of which nothing can have been applied.
    pub fn take_unapplied(&mut self) -> Vec<(Call, Reply)> {
        let waiting = self.waiting.iter();
        let unapplied = waiting.filter(|(_, (call, _))| !call.may_be_applied()).map(|(number, _)| *number);
        let unapplied: Vec<u64> = unapplied.collect();
        unapplied.into_iter().filter_map(|number| self.take(number)).collect()
    }

    /// All calls, in their order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Call)> {
        self.waiting.iter_mut().map(|(number, (call, _))| (*number, call))
    }

    /// The call of that number.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Call> {
        self.waiting.get_mut(&number).map(|(call, _)| call)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes out what is overdue or cancelled; `is_sent` when an owner has the calls.
    pub fn overdue(&mut self, is_sent: bool) -> Overdue {
        let now = Instant::now();
        let mut overdue = Overdue::default();
        let mut failed = Vec::new();
        for (number, (call, _)) in &mut self.waiting {
            match call.due(now, is_sent) {
                Due::Nothing => {}
                Due::Cancel => overdue.cancelled.push(*number),
                Due::Fail(error) => failed.push((*number, error)),
            }
        }
        for (number, error) in failed {
            overdue.failed.extend(self.take(number).map(|(_, reply)| (reply, error)));
        }
        overdue
    }
}

/// A random number. Where the system has none, the clock and a counter: two calls must not have the same.
fn random() -> u128 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_ok() {
        // The version and the variant of a random UUID (RFC 9562).
        let number = u128::from_be_bytes(bytes);
        return number & !(0xf << 76) & !(0b11 << 62) | (4 << 76) | (0b10 << 62);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let own = u128::from(std::process::id()) << 96;
    now.as_nanos() << 32 ^ own ^ u128::from(COUNTER.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(operation: Operation, cancellation: &Cancellation) -> Call {
        let request = Request::new(operation, "c", b"{}".to_vec());
        let cancellation = cancellation.clone();
        Call::new(Request { timeout: Some(Duration::from_secs(60)), cancellation, ..request })
    }

    /// The error of a call that is to fail.
    fn failed(due: Due) -> &'static str {
        match due {
            Due::Fail(error) => error.code(),
            Due::Nothing => "nothing",
            Due::Cancel => "cancel",
        }
    }

    #[test]
    fn a_cancelled_call_fails_where_its_owner_does_not_answer_c18() {
        for (operation, expected) in
            [(Operation::Count, "cancelled"), (Operation::UpsertPoints, "outcome_unknown")]
        {
            let cancellation = Cancellation::default();
            let mut call = call(operation, &cancellation);
            let now = call.start;
            call.frame(1, Lsn::NONE);
            assert_eq!(failed(call.due(now, true)), "nothing");
            cancellation.cancel();
            assert_eq!(failed(call.due(now, true)), "cancel");
            assert_eq!(failed(call.due(now + GRACE / 2, true)), "nothing");
            assert_eq!(failed(call.due(now + GRACE, true)), expected);
            // The next owner is notified too.
            call.frame(1, Lsn::NONE);
            assert_eq!(failed(call.due(now + GRACE, true)), "cancel");
            assert_eq!(failed(call.due(now + GRACE, false)), expected, "no owner has it any more");
        }
    }

    #[test]
    fn a_call_that_no_owner_had_fails_at_once_when_it_is_cancelled_and_at_its_deadline_c18() {
        let cancellation = Cancellation::default();
        let mut call = call(Operation::UpsertPoints, &cancellation);
        let now = call.start;
        assert_eq!(failed(call.due(now + Duration::from_secs(60), false)), "timeout");
        cancellation.cancel();
        assert_eq!(failed(call.due(now, false)), "cancelled");
    }

    #[test]
    fn only_writes_that_were_sent_are_kept_where_the_folder_cannot_be_opened_c1_7() {
        let mut calls = Calls::default();
        let operations = [Operation::UpsertPoints, Operation::Count, Operation::UpsertPoints];
        for (number, operation) in (1..).zip(operations) {
            let added = calls.add(call(operation, &Cancellation::default()), Box::new(|_| ()), 0);
            assert_eq!(added.ok(), Some(number));
            if number < 3 {
                calls.get_mut(number).expect("it was added").frame(number, Lsn::NONE);
            }
        }
        assert_eq!(calls.take_unapplied().len(), 2);
        assert!(calls.get_mut(1).is_some());
        assert_eq!(calls.take_all().count(), 1);
    }
}
