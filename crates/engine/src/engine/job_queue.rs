//! The queue of a pool: which job runs next, and which thread is woken for it.

use crate::error::Error;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where the typical job takes longer than this, a thread is woken for each. A request costs the event loop and its
/// client about as much, so one thread keeps up with shorter jobs.
const LONG_NANOS: u64 = 80_000;
/// Another thread is woken when the waiting jobs together take longer than this.
const MUCH_NANOS: u64 = 2_000_000;
/// Time without a job taken after which the thread on standby takes one. It is longer than a thread that is ready to
/// run usually waits for a processor.
const STANDBY: Duration = Duration::from_millis(5);

/// The jobs that wait for a thread, and the threads that wait for a job.
///
/// A thread that finds no job sleeps at once. If it yielded a few times first, as channels do, the system's scheduler
/// would run every other thread of a busy machine before it each time, and a job that arrives meanwhile would wait too.
/// A thread that is woken runs sooner than one that has yielded.
///
/// Waking a thread costs about as much as a short job: time of the caller and of the thread, and the caches of two
/// processors. So when the busy threads and the event loop already use all processors, another thread is woken only for
/// long jobs or many jobs. One sleeping thread is then on standby: it checks at intervals whether jobs are still taken
/// from the queue, so that no job waits for the end of a much longer one. The thread that fell asleep last is woken
/// first, because its caches are warm.
pub struct JobQueue<J> {
    max_jobs: usize,
    state: Mutex<State<J>>,
    /// One for each thread, on which it sleeps.
    wakers: Vec<Condvar>,
    /// While at most this many threads are busy, another is woken for any job: the processors besides those of the
    /// event loop and of the thread itself.
    free_cores: usize,
}

struct State<J> {
    jobs: VecDeque<J>,
    /// Threads that sleep and have not been woken, in the order in which they fell asleep.
    asleep: Vec<usize>,
    /// The one of them that is on standby.
    standby: Option<usize>,
    /// Jobs taken so far.
    taken: u64,
    /// An estimate of the median time of a job, in nanoseconds. The mean is no measure: some jobs take ten thousand
    /// times as long as others.
    typical_nanos: u64,
    closed: bool,
}

impl<J> JobQueue<J> {
    pub fn new(threads: usize, max_jobs: usize) -> JobQueue<J> {
        let state = State {
            jobs: VecDeque::new(),
            asleep: Vec::with_capacity(threads),
            standby: None,
            taken: 0,
            typical_nanos: 0,
            closed: false,
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        JobQueue {
            max_jobs,
            free_cores: cores.saturating_sub(2),
            state: Mutex::new(state),
            wakers: (0..threads).map(|_| Condvar::new()).collect(),
        }
    }

    /// Adds a job, or gives it back with the reason. `is_large` says that it is worth waking a thread in any case.
    pub fn put(&self, job: J, is_large: bool) -> Result<(), (J, Error)> {
        let mut state = self.lock();
        if state.closed {
            return Err((job, Error::ShuttingDown));
        }
        if state.jobs.len() >= self.max_jobs {
            return Err((job, Error::Overloaded("too many requests wait for the engine".into())));
        }
        state.jobs.push_back(job);
        let working = self.wakers.len() - state.asleep.len();
        let wakes =
            working <= self.free_cores || is_large || state.standby.is_none() || state.are_worth_a_thread();
        let woken = if wakes { state.wake() } else { None };
        drop(state);
        if let Some(thread) = woken {
            self.wakers[thread].notify_one();
        }
        Ok(())
    }

    /// The next job for a thread, whose last one took `last`; none when the queue is closed and empty.
    pub fn take(&self, thread: usize, last: Option<Duration>) -> Option<J> {
        let mut state = self.lock();
        if let Some(time) = last {
            state.learn(time);
        }
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.taken += 1;
                let relief = state.relief();
                drop(state);
                if let Some(thread) = relief {
                    self.wakers[thread].notify_one();
                }
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self.sleep(thread, state);
        }
    }

    /// Sleeps until the thread is woken, the queue is closed, or a thread on standby finds that no job was taken.
    fn sleep<'a>(&'a self, thread: usize, mut state: MutexGuard<'a, State<J>>) -> MutexGuard<'a, State<J>> {
        let waker = &self.wakers[thread];
        state.asleep.push(thread);
        loop {
            let is_standby = state.standby.is_none() && state.asleep.len() < self.wakers.len();
            let seen = state.taken;
            if is_standby {
                state.standby = Some(thread);
                state = waker.wait_timeout(state, STANDBY).unwrap_or_else(PoisonError::into_inner).0;
            } else {
                state = waker.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if !state.asleep.contains(&thread) {
                return state;
            }
            let is_stuck = is_standby && state.taken == seen && !state.jobs.is_empty();
            if is_stuck || state.closed {
                state.mark_awake(thread);
                return state;
            }
            if is_standby {
                state.standby = None;
            }
        }
    }

    /// Refuses further jobs.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wakers.iter().for_each(Condvar::notify_one);
    }

    /// How many threads sleep.
    #[cfg(test)]
    pub fn idle_threads(&self) -> usize {
        self.lock().asleep.len()
    }

    /// No thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    /// Whether the waiting jobs are worth waking one more thread.
    fn are_worth_a_thread(&self) -> bool {
        let waiting = self.jobs.len() as u64;
        self.typical_nanos > LONG_NANOS || waiting.saturating_mul(self.typical_nanos) > MUCH_NANOS
    }

    /// Takes the thread that fell asleep last for waking.
    fn wake(&mut self) -> Option<usize> {
        let thread = *self.asleep.last()?;
        self.mark_awake(thread);
        Some(thread)
    }

    /// A thread to put on standby when the one that was is awake and jobs are left.
    fn relief(&self) -> Option<usize> {
        if self.jobs.is_empty() || self.standby.is_some() { None } else { self.asleep.last().copied() }
    }

    /// Notes that a thread is awake.
    fn mark_awake(&mut self, thread: usize) {
        self.asleep.retain(|&other| other != thread);
        if self.standby == Some(thread) {
            self.standby = None;
        }
    }

    /// Updates the estimate: the step up and the step down are equal, so it settles where half of the times are above
    /// it.
    fn learn(&mut self, time: Duration) {
        let step = self.typical_nanos / 16 + 1;
        if time.as_nanos() > u128::from(self.typical_nanos) {
            self.typical_nanos += step;
        } else {
            self.typical_nanos -= step.min(self.typical_nanos);
        }
    }
}
