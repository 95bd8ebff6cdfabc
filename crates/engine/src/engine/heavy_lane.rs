//! The lane of heavy writes: they are resolved in steps, on threads of their own, so that light writes and the catalog
//! always find a thread. See docs/scheduling-writes.md.

use super::pool::Priority;
use crate::collection::{HeavyWrite, Step, TimeSlice};
use crate::error::Error;
use crate::scheduling::BackgroundWork;
use crate::supervision::{self, Stop, Supervisor, Task};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Writes that wait for their first step; more are refused with 429.
const MAX_FRESH: usize = 1024;
/// Writes that need more than a first step; more are refused with 429. Those that need no more, most of which are filters
/// that indexes answer, are served however many of these there are.
const MAX_BEGUN: usize = 64;
/// Bytes of payloads that the heavy writes together may hold beside those of the collections, unless there is only one.
const MAX_HELD_BYTES: u64 = 256 << 20;
/// The time of one step. Long enough that the change from one write to another costs nothing, short enough that dozens of
/// them leave a new one its first step within a moment.
const STEP: Duration = Duration::from_millis(10);

/// The threads of the lane.
pub struct HeavyLane {
    queue: Arc<HeavyQueue>,
    /// Ends the pause of a thread after a panic.
    stop: Arc<Stop>,
    resolvers: Vec<JoinHandle<()>>,
    /// Applies what takes long, one write at a time, because it cannot be interrupted for another.
    applier: Option<JoinHandle<()>>,
}

/// The writes that wait for their next step.
#[derive(Default)]
pub struct HeavyQueue {
    /// Counts the panics of the steps.
    supervisor: Arc<Supervisor>,
    state: Mutex<State>,
    arrived: Condvar,
    resolved: Condvar,
}

#[derive(Default)]
struct State {
    /// Those without a step yet. Most end with their first, because field indexes answer their filters.
    fresh: VecDeque<HeavyWrite>,
    /// The others, each with the bytes that it holds.
    begun: VecDeque<(HeavyWrite, u64)>,
    /// Those that are resolved and take long to apply, with the bytes that they hold.
    resolved: VecDeque<(HeavyWrite, u64)>,
    /// Bytes that those which wait or run hold.
    held_bytes: u64,
    /// The last step was one of a fresh write: the next is not, so that new ones do not stop the others.
    was_fresh: bool,
    closed: bool,
    /// The lane is closed and no thread resolves any more.
    drained: bool,
}

impl HeavyLane {
    /// Starts so many threads that resolve, and one that applies. `supervisor` counts their panics.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn start(threads: usize, supervisor: &Arc<Supervisor>) -> std::io::Result<HeavyLane> {
        let queue = Arc::new(HeavyQueue { supervisor: Arc::clone(supervisor), ..HeavyQueue::default() });
        // Where the system refuses a thread, those before it end when the lane is dropped.
        let mut lane = HeavyLane { queue, stop: Arc::default(), resolvers: Vec::new(), applier: None };
        for number in 0..threads.max(1) {
            let queue = Arc::clone(&lane.queue);
            let name = format!("kith-heavy-{number}");
            lane.resolvers
                .push(supervisor.spawn(name, Task::HeavyLane, &lane.stop, move || queue.resolve())?);
        }
        let queue = Arc::clone(&lane.queue);
        let apply = move || queue.apply();
        lane.applier =
            Some(supervisor.spawn("kith-heavy-apply".into(), Task::HeavyLane, &lane.stop, apply)?);
        Ok(lane)
    }

    /// The writes that wait, to give up those that are overdue.
    pub fn queue(&self) -> &Arc<HeavyQueue> {
        &self.queue
    }

    /// Refuses further writes and waits for those that there are, at most until `deadline`. Their deadlines have passed when
    /// the engine closes. False when a thread still runs then.
    pub fn close(&mut self, deadline: Option<Instant>) -> bool {
        self.queue.close();
        self.stop.request();
        let resolved = supervision::join(self.resolvers.drain(..), deadline);
        self.queue.drain();
        supervision::join(self.applier.take(), deadline) && resolved
    }
}

impl Drop for HeavyLane {
    /// The threads end by themselves.
    fn drop(&mut self) {
        self.queue.close();
        self.stop.request();
        self.queue.drain();
    }
}

impl HeavyQueue {
    fn close(&self) {
        self.state.lock().closed = true;
        self.arrived.notify_all();
    }

    fn drain(&self) {
        self.state.lock().drained = true;
        self.resolved.notify_all();
    }

    /// Adds a write, or answers it with `Overloaded`.
    pub fn add(&self, write: HeavyWrite) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return write.refuse(Error::ShuttingDown);
        }
        if state.fresh.len() >= MAX_FRESH {
            drop(state);
            return write.refuse(too_many());
        }
        state.fresh.push_back(write);
        drop(state);
        self.arrived.notify_one();
    }

    /// Answers those that wait and whose deadline has passed.
    pub fn give_up_overdue(&self) {
        let mut state = self.state.lock();
        let fresh = take_overdue(&mut state.fresh, HeavyWrite::is_overdue);
        let mut begun = take_overdue(&mut state.begun, |(write, _)| write.is_overdue());
        begun.append(&mut take_overdue(&mut state.resolved, |(write, _)| write.is_overdue()));
        state.held_bytes -= begun.iter().map(|(_, held)| held).sum::<u64>();
        drop(state);
        let begun = begun.into_iter().map(|(write, _)| write);
        fresh.into_iter().chain(begun).for_each(HeavyWrite::give_up);
    }

    /// What a thread does that resolves.
    fn resolve(&self) {
        Priority::Low.take();
        while let Some((write, bytes)) = self.take() {
            let held = Held { queue: self, bytes };
            let work = BackgroundWork::begin();
            // A panic drops the write, which then answers with that; nothing else has seen what it did.
            let slice = TimeSlice::until(Instant::now() + STEP);
            let step = self.supervisor.catch(Task::Write, None, || write.step(slice));
            drop(work);
            self.finish(step.unwrap_or(Step::Done), held);
        }
    }

    /// What the thread does that applies.
    fn apply(&self) {
        Priority::Low.take();
        let mut state = self.state.lock();
        loop {
            if let Some((write, bytes)) = state.resolved.pop_front() {
                drop(state);
                let held = Held { queue: self, bytes };
                let work = BackgroundWork::begin();
                // As above.
                let _ = self.supervisor.catch(Task::Write, None, || write.write());
                drop(work);
                self.finish(Step::Done, held);
                state = self.state.lock();
            } else if state.drained {
                return;
            } else {
                self.resolved.wait(&mut state);
            }
        }
    }

    /// The next write, with the bytes that it holds; none when the lane is closed and empty.
    fn take(&self) -> Option<(HeavyWrite, u64)> {
        let mut state = self.state.lock();
        loop {
            let prefers_fresh = !state.was_fresh || state.begun.is_empty();
            if prefers_fresh && let Some(write) = state.fresh.pop_front() {
                state.was_fresh = true;
                return Some((write, 0));
            }
            if let Some(begun) = state.begun.pop_front() {
                state.was_fresh = false;
                return Some(begun);
            }
            if state.closed {
                return None;
            }
            self.arrived.wait(&mut state);
        }
    }

    /// Ends a step. A panic, of a reply to a write that is refused perhaps, costs no other write its steps.
    fn finish(&self, step: Step, held: Held<'_>) {
        if self.supervisor.catch(Task::HeavyLane, None, || self.put_back(step, held)).is_ok() {
            self.supervisor.succeeded(Task::HeavyLane);
        }
    }

    fn put_back(&self, step: Step, held: Held<'_>) {
        drop(held);
        let mut state = self.state.lock();
        let write = match step {
            Step::More(write) => write,
            Step::Resolved(write) => {
                let holds = write.held_bytes();
                state.held_bytes += holds;
                state.resolved.push_back((write, holds));
                drop(state);
                self.resolved.notify_one();
                return;
            }
            Step::Done => return,
        };
        if state.begun.len() >= MAX_BEGUN {
            drop(state);
            return write.refuse(too_many());
        }
        let holds = write.held_bytes();
        if holds > 0 && state.held_bytes > 0 && state.held_bytes + holds > MAX_HELD_BYTES {
            drop(state);
            return write.refuse(Error::Overloaded("writes with heavy filters hold too much memory".into()));
        }
        state.held_bytes += holds;
        state.begun.push_back((write, holds));
        drop(state);
        self.arrived.notify_one();
    }
}

/// What a write held before its step, which is free with this, after a panic too.
struct Held<'q> {
    queue: &'q HeavyQueue,
    bytes: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.queue.state.lock().held_bytes -= self.bytes;
        }
    }
}

fn too_many() -> Error {
    Error::Overloaded("too many writes with heavy filters wait".into())
}

/// Takes out of a queue what is overdue.
fn take_overdue<T>(queue: &mut VecDeque<T>, is_overdue: impl Fn(&T) -> bool) -> VecDeque<T> {
    if !queue.iter().any(&is_overdue) {
        return VecDeque::new();
    }
    let (overdue, rest) = std::mem::take(queue).into_iter().partition(is_overdue);
    *queue = rest;
    overdue
}
