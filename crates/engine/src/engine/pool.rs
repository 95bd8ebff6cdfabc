//! Worker threads with a bounded queue.

use crate::error::Error;
use crate::scheduling::BackgroundWork;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How the system treats a thread when there are more of them than processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// As all others: what somebody waits for within milliseconds.
    Usual,
    /// Behind the others, at about a third of their share: what may take its time while reads are served. Much less
    /// would leave writes to starve beside whatever else runs on the machine.
    Behind,
}

/// Jobs that typically take longer than this are each worth a thread. A request costs the event loop and its client about
/// as much, so one thread keeps up with shorter ones.
const LONG_NANOS: u64 = 80_000;
/// Short jobs that together take longer than this are worth one more thread.
const MUCH_NANOS: u64 = 2_000_000;
/// How long nothing may be taken from the queue before the thread that stands by takes it. A thread that waits for its
/// turn on a processor may do so for some milliseconds, which must not count.
const STANDBY: Duration = Duration::from_millis(5);

/// The nice value of [`Priority::Behind`].
#[cfg(target_os = "linux")]
const NICE_BEHIND: i32 = 5;

impl Priority {
    /// Gives the calling thread this priority. A system that refuses leaves it as it is.
    pub fn take(self) {
        // On Linux a nice value belongs to the thread, elsewhere to the process.
        #[cfg(target_os = "linux")]
        if self == Priority::Behind {
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE_BEHIND);
        }
    }
}

/// Time that the calling thread has had a processor; where the system does not tell, time that has passed.
fn worked() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }
}

/// Threads that take jobs in the order of their arrival.
pub struct Pool<J> {
    queue: Arc<Queue<J>>,
    threads: Vec<JoinHandle<()>>,
}

impl<J: Send + 'static> Pool<J> {
    /// Starts `threads` threads over a queue of at most `waiting` jobs. `run` works on one; it answers for itself,
    /// panics included. `priority` is what they get of the processors when these are short.
    ///
    /// # Errors
    /// The system's, when it refuses a thread.
    pub fn start(
        name: &str,
        threads: usize,
        waiting: usize,
        priority: Priority,
        run: impl Fn(J) + Send + Sync + 'static,
    ) -> std::io::Result<Pool<J>> {
        let threads = threads.max(1);
        let queue = Arc::new(Queue::new(threads, waiting));
        let run = Arc::new(run);
        let mut pool = Pool { queue, threads: Vec::new() };
        for number in 0..threads {
            let (queue, run) = (Arc::clone(&pool.queue), Arc::clone(&run));
            let thread = std::thread::Builder::new().name(format!("kith-{name}-{number}"));
            let started = thread.spawn(move || {
                priority.take();
                let mut last = None;
                while let Some(job) = queue.take(number, last) {
                    let started = worked();
                    let work = (priority == Priority::Behind).then(BackgroundWork::begin);
                    run(job);
                    drop(work);
                    last = Some(worked().saturating_sub(started));
                }
            });
            match started {
                Ok(thread) => pool.threads.push(thread),
                Err(error) => {
                    pool.close();
                    return Err(error);
                }
            }
        }
        Ok(pool)
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Queues a job, or gives it back with the reason.
    pub fn submit(&self, job: J) -> Result<(), (J, Error)> {
        self.queue.put(job, false)
    }

    /// As [`Pool::submit`], for a job that is worth a thread whatever the others were like.
    pub fn submit_large(&self, job: J) -> Result<(), (J, Error)> {
        self.queue.put(job, true)
    }

    /// Takes no more jobs and waits for those that are queued.
    pub fn close(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // A job catches its own panics; a thread that died all the same has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

impl<J> Drop for Pool<J> {
    /// The threads end by themselves, behind what is queued.
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// What waits for a thread, and which threads wait for it.
///
/// A thread that finds nothing sleeps at once. One that yielded a few times before it sleeps, as channels do, would be
/// put behind every other thread of a busy machine each time, and a job that comes meanwhile would wait with it:
/// the scheduler favours who is woken, and makes who yields wait for its turn.
///
/// To wake a thread costs the caller, the woken and the caches of two processors about as much as a short job. So when
/// those at work and the event loop have a processor each and there is no other, one more is woken only for what is
/// worth it: jobs that are long, or many. One sleeper then stands by and looks at intervals whether the queue gets on,
/// so that nothing waits behind a job that is much longer than the others were. Who fell asleep last is woken first,
/// and finds its caches warm.
struct Queue<J> {
    longest: usize,
    state: Mutex<State<J>>,
    /// Where each thread sleeps.
    beds: Vec<Condvar>,
    /// Threads that are woken for any job: as many as there are processors beside that of the event loop.
    enough: usize,
}

struct State<J> {
    jobs: VecDeque<J>,
    /// Threads that sleep and have not been woken, in the order in which they fell asleep.
    asleep: Vec<usize>,
    /// The one of them that looks at intervals.
    standby: Option<usize>,
    /// Jobs taken so far.
    taken: u64,
    /// About the median time of a job, in nanoseconds. A mean would say little: some jobs are ten thousand times longer.
    typical_nanos: u64,
    closed: bool,
}

impl<J> Queue<J> {
    fn new(threads: usize, longest: usize) -> Queue<J> {
        let state = State {
            jobs: VecDeque::new(),
            asleep: Vec::with_capacity(threads),
            standby: None,
            taken: 0,
            typical_nanos: 0,
            closed: false,
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Queue {
            longest,
            enough: cores.saturating_sub(2),
            state: Mutex::new(state),
            beds: (0..threads).map(|_| Condvar::new()).collect(),
        }
    }

    fn put(&self, job: J, is_large: bool) -> Result<(), (J, Error)> {
        let mut state = self.lock();
        if state.closed {
            return Err((job, Error::ShuttingDown));
        }
        if state.jobs.len() >= self.longest {
            return Err((job, Error::Overloaded("too many requests wait for the engine".into())));
        }
        state.jobs.push_back(job);
        let working = self.beds.len() - state.asleep.len();
        let wakes =
            working <= self.enough || is_large || state.standby.is_none() || state.are_worth_a_thread();
        let woken = if wakes { state.wake() } else { None };
        drop(state);
        if let Some(thread) = woken {
            self.beds[thread].notify_one();
        }
        Ok(())
    }

    /// The next job for a thread, whose last one took so long; none when the pool is closed and nothing is left.
    fn take(&self, thread: usize, last: Option<Duration>) -> Option<J> {
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
                    self.beds[thread].notify_one();
                }
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self.sleep(thread, state);
        }
    }

    /// Until there is something to do.
    fn sleep<'a>(&'a self, thread: usize, mut state: MutexGuard<'a, State<J>>) -> MutexGuard<'a, State<J>> {
        let bed = &self.beds[thread];
        state.asleep.push(thread);
        loop {
            let stands_by = state.standby.is_none() && state.asleep.len() < self.beds.len();
            let seen = state.taken;
            if stands_by {
                state.standby = Some(thread);
                state = bed.wait_timeout(state, STANDBY).unwrap_or_else(PoisonError::into_inner).0;
            } else {
                state = bed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if !state.asleep.contains(&thread) {
                return state;
            }
            let is_stuck = stands_by && state.taken == seen && !state.jobs.is_empty();
            if is_stuck || state.closed {
                state.rouse(thread);
                return state;
            }
            if stands_by {
                state.standby = None;
            }
        }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.beds.iter().for_each(Condvar::notify_one);
    }

    /// Nothing panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    /// Whether what waits is worth one more thread.
    fn are_worth_a_thread(&self) -> bool {
        let waiting = self.jobs.len() as u64;
        self.typical_nanos > LONG_NANOS || waiting.saturating_mul(self.typical_nanos) > MUCH_NANOS
    }

    /// The thread to wake.
    fn wake(&mut self) -> Option<usize> {
        let thread = *self.asleep.last()?;
        self.rouse(thread);
        Some(thread)
    }

    /// A thread that is to stand by in the place of one that did so and was woken: there are jobs left, and nobody looks
    /// after them.
    fn relief(&self) -> Option<usize> {
        if self.jobs.is_empty() || self.standby.is_some() { None } else { self.asleep.last().copied() }
    }

    /// A thread sleeps no more.
    fn rouse(&mut self, thread: usize) {
        self.asleep.retain(|&other| other != thread);
        if self.standby == Some(thread) {
            self.standby = None;
        }
    }

    fn learn(&mut self, time: Duration) {
        let step = self.typical_nanos / 16 + 1;
        if time.as_nanos() > u128::from(self.typical_nanos) {
            self.typical_nanos += step;
        } else {
            self.typical_nanos -= step.min(self.typical_nanos);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[test]
    fn every_job_is_done_once_and_closing_waits_for_those_that_are_queued() {
        for threads in [1, 3] {
            let done = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&done);
            let mut pool = Pool::start("test", threads, 20_000, Priority::Usual, move |add: usize| {
                counted.fetch_add(add, Ordering::Relaxed);
            })
            .unwrap();
            for round in 0..100 {
                // Threads that are asleep, threads at work, and everything between.
                for _ in 0..round {
                    pool.submit(1).unwrap();
                }
                if round % 10 == 0 {
                    std::thread::yield_now();
                }
            }
            pool.close();
            assert_eq!(done.load(Ordering::Relaxed), (0..100_usize).sum::<usize>());
            assert!(matches!(pool.submit(1), Err((1, Error::ShuttingDown))));
        }
    }

    #[test]
    fn a_job_always_finds_a_thread_that_sleeps() {
        let (ran, jobs) = mpsc::channel();
        let mut pool =
            Pool::start("test", 2, 4, Priority::Usual, move |job: u32| ran.send(job).unwrap()).unwrap();
        for job in 0..2000 {
            pool.submit(job).unwrap();
            // A lost wake-up would be waited for in vain.
            assert_eq!(jobs.recv_timeout(std::time::Duration::from_secs(60)), Ok(job));
        }
        pool.close();
    }

    #[test]
    fn no_job_is_forgotten_whoever_submits_it_and_whoever_sleeps() {
        for threads in [2, 3, 5] {
            let (ran, jobs) = mpsc::channel();
            let pool = Pool::start("test", threads, 1000, Priority::Usual, move |job: u64| {
                // Short, long and very long ones.
                std::thread::sleep(Duration::from_micros(
                    [0, 0, 0, 100, 7000][(job % 5) as usize] * (job % 3),
                ));
                ran.send(job).unwrap();
            })
            .unwrap();
            let pool = Arc::new(pool);
            let submitters: Vec<_> = (0..3u64)
                .map(|submitter| {
                    let pool = Arc::clone(&pool);
                    std::thread::spawn(move || {
                        for job in 0..200 {
                            pool.submit(submitter * 200 + job).unwrap();
                            std::thread::sleep(Duration::from_micros(job * submitter % 7 * 50));
                        }
                    })
                })
                .collect();
            let mut done: Vec<u64> = (0..600)
                .map(|_| jobs.recv_timeout(Duration::from_secs(60)).expect("a job is forgotten"))
                .collect();
            done.sort_unstable();
            assert!(done.into_iter().eq(0..600));
            submitters.into_iter().for_each(|submitter| submitter.join().unwrap());
        }
    }

    #[test]
    fn short_jobs_do_not_wait_for_the_end_of_a_long_one() {
        let (ran, jobs) = mpsc::channel();
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let mut pool = Pool::start("test", 2, 100, Priority::Usual, move |job: u32| {
            if job == u32::MAX {
                let _ = gate.lock().unwrap().recv();
            }
            ran.send(job).unwrap();
        })
        .unwrap();
        let next = || jobs.recv_timeout(Duration::from_secs(60)).expect("a job waits behind the long one");
        for round in 0..20 {
            for job in 0..round {
                pool.submit(job).unwrap();
            }
            pool.submit(u32::MAX).unwrap();
            for job in round..2 * round {
                pool.submit(job).unwrap();
            }
            let mut done: Vec<u32> = (0..2 * round).map(|_| next()).collect();
            done.sort_unstable();
            assert!(done.into_iter().eq(0..2 * round));
            release.send(()).unwrap();
            assert_eq!(next(), u32::MAX);
        }
        pool.close();
    }

    #[test]
    fn as_many_jobs_run_as_there_are_threads_however_long_each_takes() {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) + 2;
        let (ran, started) = mpsc::channel();
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let mut pool = Pool::start("test", threads, 100, Priority::Usual, move |job: usize| {
            ran.send(job).unwrap();
            let _ = gate.lock().unwrap().recv();
        })
        .unwrap();
        while pool.queue.lock().asleep.len() < threads {
            std::thread::yield_now();
        }
        for job in 0..threads {
            pool.submit(job).unwrap();
        }
        for _ in 0..threads {
            started.recv_timeout(Duration::from_secs(60)).expect("a job waits although a thread sleeps");
        }
        drop(release);
        pool.close();
    }

    #[test]
    fn a_full_queue_gives_the_job_back() {
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let mut pool = Pool::start("test", 1, 2, Priority::Usual, move |_: u32| {
            let _ = gate.lock().unwrap().recv();
        })
        .unwrap();
        let mut accepted = 0;
        let refused = loop {
            match pool.submit(accepted) {
                Ok(()) => accepted += 1,
                Err((job, error)) => break (job, error),
            }
        };
        assert_eq!(refused.0, accepted);
        assert!((2..=3).contains(&accepted) && matches!(refused.1, Error::Overloaded(_)));
        drop(release);
        pool.close();
    }
}
