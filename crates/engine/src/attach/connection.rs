//! A connection of an attached process at the owner: its frames are read, and its calls run in the engine.

use super::address::described;
use super::frame::{self, CallFrame, MAX_FRAME_BYTES, MAX_HELLO_BYTES, PROTOCOL_VERSION, Purpose, ToOwner};
use super::incoming::{Incoming, Next};
use super::outgoing::Outgoing;
use super::repeated::error_of;
use super::server::Shared;
use crate::allocator::try_copy;
use crate::deadline::Cancellation;
use crate::engine::{Reply, Request, StrictScope};
use crate::error::Error;
use crate::recent_operations::CallIdentity;
use crate::supervision::Task;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Calls of one connection that run at a time. One more is held, and what follows waits in its socket.
const MAX_CALLS: usize = 64;
/// Bytes of calls that run and of answers that are not read, of one connection.
const MAX_BYTES: usize = 256 << 20;
/// Such bytes of all connections together. A connection of which nothing runs may always have one call.
const MAX_BYTES_OF_ALL: usize = 512 << 20;
/// How often a connection that holds a call looks for room and for what has come behind it, when nothing wakes it.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A connection at the owner.
pub struct Connection {
    shared: Arc<Shared>,
    outgoing: Arc<Outgoing>,
    under_way: Mutex<UnderWay>,
    answered: Condvar,
}

/// The last of its reader and its calls ends it: the other end then knows that what is not answered never will be.
impl Drop for Connection {
    fn drop(&mut self) {
        self.outgoing.cut();
    }
}

/// What of a connection is under way.
#[derive(Default)]
struct UnderWay {
    calls: HashMap<u64, Cancellation>,
    bytes: usize,
}

/// What becomes of a call that was read.
enum Turn {
    /// It runs.
    Now,
    /// It is not awaited any more.
    Cancelled,
    /// The connection ends.
    Never,
}

impl Connection {
    /// A connection of which nothing was read.
    pub fn new(shared: Arc<Shared>, outgoing: Arc<Outgoing>) -> Connection {
        Connection { shared, outgoing, under_way: Mutex::default(), answered: Condvar::new() }
    }

    /// The way to the attached process.
    pub fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    /// Answers the hello; false where the connection ends with that.
    pub fn greet(&self, incoming: &mut Incoming<'_>) -> bool {
        let mut bytes = Vec::new();
        let Ok(true) = incoming.read(&mut bytes, MAX_HELLO_BYTES) else { return false };
        let Some(ToOwner::Hello(peer)) = ToOwner::decode(&bytes) else { return false };
        self.outgoing.send(frame::welcome(self.shared.me, self.shared.engine.log_position()), None);
        peer.version == PROTOCOL_VERSION
    }

    /// Reads frames until the connection ends or sends bytes that are no frame.
    pub fn read(self: &Arc<Self>, incoming: &mut Incoming<'_>) {
        let mut bytes = Vec::new();
        while let Ok(true) = incoming.read(&mut bytes, MAX_FRAME_BYTES) {
            // Dropped before the next one is waited for: it may have hundreds of megabytes.
            let frame = std::mem::take(&mut bytes);
            let take = || self.take(&frame, incoming);
            if self.shared.supervisor.catch(Task::Receive, None, take) != Ok(true) {
                return;
            }
        }
    }

    /// Does what a frame asks for; false for one that ends the connection.
    fn take(self: &Arc<Self>, frame: &[u8], incoming: &mut Incoming<'_>) -> bool {
        let arrived = Instant::now();
        match ToOwner::decode(frame) {
            Some(ToOwner::Call(call)) => match self.turn_of(&call, incoming) {
                Turn::Now => self.run(&call, arrived),
                Turn::Cancelled => {
                    let position = self.shared.engine.log_position();
                    let error = error_of(Error::Cancelled, may_be_applied(&call));
                    self.outgoing.send(frame::failure(call.call, position, &error), None)
                }
                Turn::Never => false,
            },
            Some(message) => self.take_message(&message),
            None => false,
        }
    }

    /// Does what a frame asks for that is no call; false for one that ends the connection.
    fn take_message(&self, message: &ToOwner<'_>) -> bool {
        match message {
            ToOwner::Cancel(call) => {
                if let Some(cancellation) = self.under_way.lock().calls.get(call) {
                    cancellation.cancel();
                }
                true
            }
            ToOwner::HandOver if self.shared.me.purpose == Purpose::Embedded => {
                (self.shared.hand_over)();
                true
            }
            ToOwner::HandOver => {
                let me = self.shared.me;
                let why = format!("{} serves this folder", described(me.pid, me.purpose));
                self.outgoing.send(frame::refusal(&why), None);
                true
            }
            ToOwner::Hello(_) | ToOwner::Call(_) => false,
        }
    }

    /// Waits until a call may run, or is not to run any more. What comes behind it is done meanwhile, up to the next call:
    /// that stays in the socket, so that a connection holds one call at most.
    fn turn_of(&self, call: &CallFrame<'_>, incoming: &mut Incoming<'_>) -> Turn {
        let mut is_held = false;
        loop {
            if self.shared.is_closing.load(Ordering::Acquire) {
                return Turn::Never;
            }
            if is_held && let Some(turn) = self.take_behind(call.call, incoming) {
                return turn;
            }
            let unsent = self.outgoing.unsent_bytes();
            let mut under_way = self.under_way.lock();
            if self.has_room(&under_way, unsent, call.body.len()) {
                return Turn::Now;
            }
            if is_held {
                self.answered.wait_for(&mut under_way, LOOK_AGAIN);
            }
            is_held = true;
        }
    }

    /// Does what has come behind the held call, up to the next one. What that means for the held one, if anything.
    fn take_behind(&self, held: u64, incoming: &mut Incoming<'_>) -> Option<Turn> {
        let mut bytes = Vec::new();
        loop {
            match incoming.peek() {
                Ok(Next::Other) => {}
                Ok(Next::Nothing | Next::Call) => return None,
                Ok(Next::End) | Err(_) => return Some(Turn::Never),
            }
            // Calls alone are longer.
            let Ok(true) = incoming.read(&mut bytes, MAX_HELLO_BYTES) else { return Some(Turn::Never) };
            match ToOwner::decode(&bytes) {
                Some(ToOwner::Cancel(call)) if call == held => return Some(Turn::Cancelled),
                Some(message) if self.take_message(&message) => {}
                _ => return Some(Turn::Never),
            }
        }
    }

    /// Whether a call of so many bytes may run beside what is under way.
    fn has_room(&self, under_way: &UnderWay, unsent: usize, bytes: usize) -> bool {
        let own = under_way.bytes + unsent;
        let of_all = *self.shared.bytes.lock();
        let fits = own + bytes <= MAX_BYTES && of_all + bytes <= MAX_BYTES_OF_ALL;
        under_way.calls.len() < MAX_CALLS && (own == 0 || fits)
    }

    /// Runs a call in the engine; false for one whose number is taken.
    fn run(self: &Arc<Self>, sent: &CallFrame<'_>, arrived: Instant) -> bool {
        let (call, bytes) = (sent.call, sent.body.len());
        let cancellation = Cancellation::default();
        let body = try_copy(sent.body);
        {
            let mut under_way = self.under_way.lock();
            if under_way.calls.insert(call, cancellation.clone()).is_some() {
                return false;
            }
            under_way.bytes += bytes;
            *self.shared.bytes.lock() += bytes;
        }
        let running = self.shared.running.begin();
        let open = OpenCall { connection: Arc::clone(self), call, bytes, is_answered: false };
        let Ok(body) = body else {
            open.answer(Err(Error::MemoryLimit));
            return true;
        };
        let may_be_applied = may_be_applied(sent);
        let reply: Reply = Box::new(move |result| {
            open.answer(result.map_err(|error| error_of(error, may_be_applied)));
            drop(running);
        });
        self.shared.engine.execute(request_of(sent, body, arrived, cancellation), reply);
        true
    }

    /// Sends the answer to a call. One that the engine gave up because the folder changes hands is not answered: it is sent
    /// again, to the next owner.
    fn answer(&self, call: u64, bytes: usize, result: Result<Vec<u8>, Error>) {
        let position = self.shared.engine.log_position();
        let frame = match &result {
            Ok(envelope) => Some(frame::answer(call, position, envelope)),
            Err(Error::ShuttingDown) => None,
            Err(error) => Some(frame::failure(call, position, error)),
        };
        if let Some(frame) = frame {
            self.outgoing.send(frame, None);
        }
        let mut under_way = self.under_way.lock();
        under_way.calls.remove(&call);
        under_way.bytes -= bytes;
        *self.shared.bytes.lock() -= bytes;
        drop(under_way);
        self.answered.notify_one();
    }

    /// Gives up calls whose answers will not be read.
    pub fn end(&self) {
        if !self.shared.is_closing.load(Ordering::Acquire) {
            self.outgoing.cut();
            self.under_way.lock().calls.values().for_each(Cancellation::cancel);
        }
    }
}

/// Whether a call is a write that was sent to an owner before.
fn may_be_applied(sent: &CallFrame<'_>) -> bool {
    sent.operation.is_write() && sent.id.is_some() && sent.first_sent.is_some()
}

/// The request of a call.
fn request_of(sent: &CallFrame<'_>, body: Vec<u8>, arrived: Instant, cancellation: Cancellation) -> Request {
    Request {
        operation: sent.operation,
        collection: sent.collection.to_string(),
        target: sent.target.map(str::to_string),
        wait: sent.wait,
        strictness: sent.strictness,
        gives_out_texts: sent.gives_out_texts,
        access: None,
        caller: Box::default(),
        timeout: Some(Duration::from_millis(sent.timeout_ms)),
        packing: sent.packing,
        body: Box::new(body),
        start: arrived,
        identity: sent.id.map(|id| CallIdentity { id, first_sent: sent.first_sent }),
        position: None,
        dry_run: false,
        strict_scope: StrictScope::default(),
        answer_budget: sent.answer_budget.map(|room| usize::try_from(room).unwrap_or(usize::MAX)),
        profile: None,
        cancellation,
    }
}

/// A call that runs. Dropped without an answer, because its holder panicked, it answers with that.
struct OpenCall {
    connection: Arc<Connection>,
    call: u64,
    bytes: usize,
    is_answered: bool,
}

impl OpenCall {
    fn answer(mut self, result: Result<Vec<u8>, Error>) {
        self.is_answered = true;
        self.connection.answer(self.call, self.bytes, result);
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if !self.is_answered {
            self.connection.answer(self.call, self.bytes, Err(Error::Panic));
        }
    }
}

#[cfg(test)]
mod tests;
