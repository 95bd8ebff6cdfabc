//! The queue of a pool: which job runs next, and which thread is woken for it.

use crate::error::Error;
use crate::scheduling::lane::Lanes;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where the typical job takes longer than this, a thread is woken for each. A request costs the event loop and its
/// client about as much, so one thread keeps up with shorter jobs.
const LONG_NANOS: u64 = 80_000;
/// Another thread is woken when the waiting jobs together take longer than this.
const MUCH_NANOS: u64 = 2_000_000;
/// Time without a job taken after which the standby thread takes one. It is longer than a thread that is ready to
/// run usually waits for a processor.
const STANDBY: Duration = Duration::from_millis(5);

/// So many jobs may wait for each thread however long they do: a thread that is not run for a moment is no overload.
const PATIENT_JOBS: usize = 32;

/// What a queue has room for.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Threads that run light jobs at a time.
    pub light: usize,
    /// Threads that run heavy jobs at a time, beside these. None: all jobs are light.
    pub heavy: usize,
    /// Jobs that wait.
    pub waiting: usize,
    /// While the oldest of many waiting jobs waits for longer than this, more are refused: what is admitted is answered
    /// soon, and as much is answered as before.
    pub longest_wait: Option<Duration>,
}

impl Capacity {
    /// For so many threads and so many jobs that wait, all of them light.
    pub fn of(threads: usize, waiting: usize) -> Capacity {
        Capacity { light: threads, heavy: 0, waiting, longest_wait: None }
    }
}

/// What a queue holds, and what its threads do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Jobs that wait for a thread.
    pub waiting: usize,
    /// Threads that run light jobs.
    pub light: usize,
    /// Threads that run heavy jobs.
    pub heavy: usize,
}

/// A job that a thread has done.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Processor time of it.
    pub time: Duration,
    /// Whether it had become heavy.
    pub was_heavy: bool,
}

/// The jobs that wait for a thread, and the threads that wait for a job.
///
/// A thread that finds no job sleeps at once. If it yielded a few times first, as channels do, the system's scheduler
/// would run every other thread of a busy machine before it each time, and a job that arrives meanwhile would wait too.
/// A thread that is woken runs sooner than one that has yielded.
///
/// Waking a thread costs about as much as a short job: time of the caller and of the thread, and the caches of two
/// processors. So when the busy threads and the event loop already use all processors, another thread is woken only for
/// long jobs or many jobs. One sleeping thread is then the standby thread: it checks at intervals whether jobs are still
/// taken from the queue, so that no job waits for the end of a much longer one. The thread that fell asleep last is
/// woken first, because its caches are warm.
///
/// A job becomes heavy while it runs ([`Lanes`]). Its thread then no longer counts among those that serve the queue, and
/// when the job is done it sleeps if enough others do.
pub struct JobQueue<J> {
    capacity: Capacity,
    state: Mutex<State<J>>,
    /// One for each thread, on which it sleeps.
    wakers: Vec<Condvar>,
    /// While at most this many threads are busy, another is woken for any job: the processors besides those of the
    /// event loop and of the thread itself.
    free_cores: usize,
}

struct State<J> {
    /// Jobs, and when they came.
    jobs: VecDeque<(J, Instant)>,
    /// Threads that run heavy jobs.
    heavy: usize,
    /// Threads that sleep and have not been woken, in the order in which they fell asleep.
    asleep: Vec<usize>,
    /// The standby thread among them.
    standby: Option<usize>,
    /// Jobs taken so far.
    taken: u64,
    /// An estimate of the median time of a job, in nanoseconds. The mean is no measure: some jobs take ten thousand
    /// times as long as others.
    typical_nanos: u64,
    closed: bool,
}

impl<J> JobQueue<J> {
    pub fn new(capacity: Capacity) -> JobQueue<J> {
        let threads = capacity.light + capacity.heavy;
        let state = State {
            jobs: VecDeque::new(),
            heavy: 0,
            asleep: Vec::with_capacity(threads),
            standby: None,
            taken: 0,
            typical_nanos: 0,
            closed: false,
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        JobQueue {
            capacity,
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
        let now = Instant::now();
        if self.is_full(&state, now) {
            return Err((job, Error::Overloaded("too many requests wait for the engine".into())));
        }
        state.jobs.push_back((job, now));
        let working = self.working(&state);
        let wakes =
            working <= self.free_cores || is_large || state.standby.is_none() || state.are_worth_a_thread();
        let woken = if working >= self.capacity.light {
            // A sleeping thread of the heavy lane looks after the queue if the others are stuck.
            if state.standby.is_none() { state.asleep.last().copied() } else { None }
        } else if wakes {
            state.wake()
        } else {
            None
        };
        drop(state);
        if let Some(thread) = woken {
            self.wakers[thread].notify_one();
        }
        Ok(())
    }

    fn is_full(&self, state: &State<J>, now: Instant) -> bool {
        let Capacity { waiting, longest_wait, light, .. } = self.capacity;
        let is_late = |&(_, since): &(J, Instant)| {
            longest_wait.is_some_and(|longest| now.saturating_duration_since(since) > longest)
        };
        let jobs = state.jobs.len();
        jobs >= waiting || (jobs >= PATIENT_JOBS * light && state.jobs.front().is_some_and(is_late))
    }

    /// Threads that serve the queue: they run light jobs, or are about to look for one.
    fn working(&self, state: &State<J>) -> usize {
        self.wakers.len() - state.asleep.len() - state.heavy
    }

    /// The next job for a thread that has done its `last`; none when the queue is closed and empty.
    pub fn take(&self, thread: usize, last: Option<Done>) -> Option<J> {
        let mut state = self.lock();
        match last {
            Some(Done { was_heavy: true, .. }) => state.heavy -= 1,
            Some(Done { time, .. }) => state.learn(time),
            None => {}
        }
        // Whether it is one more than serve the queue otherwise, because none of them has taken a job for a while.
        let mut is_relief = false;
        loop {
            let may_take = is_relief || state.closed || self.working(&state) <= self.capacity.light;
            if may_take && let Some((job, _)) = state.jobs.pop_front() {
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
            (state, is_relief) = self.sleep(thread, state);
        }
    }

    /// Sleeps until the thread is woken, the queue is closed, or the standby thread finds that no job was taken, which is
    /// said.
    fn sleep<'a>(
        &'a self,
        thread: usize,
        mut state: MutexGuard<'a, State<J>>,
    ) -> (MutexGuard<'a, State<J>>, bool) {
        let waker = &self.wakers[thread];
        state.asleep.push(thread);
        loop {
            let is_standby = state.standby.is_none() && self.working(&state) > 0;
            let seen = state.taken;
            if is_standby {
                state.standby = Some(thread);
                state = waker.wait_timeout(state, STANDBY).unwrap_or_else(PoisonError::into_inner).0;
            } else {
                state = waker.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if !state.asleep.contains(&thread) {
                return (state, false);
            }
            let is_stuck = is_standby && state.taken == seen && !state.jobs.is_empty();
            if is_stuck || state.closed {
                state.mark_awake(thread);
                return (state, is_stuck);
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

    /// What it holds now.
    pub fn load(&self) -> Load {
        let state = self.lock();
        Load { waiting: state.jobs.len(), light: self.working(&state), heavy: state.heavy }
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

impl<J: Send> Lanes for JobQueue<J> {
    fn enter_heavy(&self) -> bool {
        let mut state = self.lock();
        if state.heavy == self.capacity.heavy {
            return false;
        }
        state.heavy += 1;
        let is_needed = !state.jobs.is_empty() && self.working(&state) < self.capacity.light;
        let woken = if is_needed { state.wake() } else { None };
        drop(state);
        if let Some(thread) = woken {
            self.wakers[thread].notify_one();
        }
        true
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

    /// A thread to make the standby thread when the one before is awake and jobs are left.
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
