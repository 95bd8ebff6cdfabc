//! Worker threads with a bounded queue.

use crate::error::Error;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How the system treats a thread when there are more of them than processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// As all others: what somebody waits for within milliseconds.
    Usual,
    /// Behind the others, at about a third of their share: what may take its time while reads are served. Much less
    /// would leave writes to starve beside whatever else runs on the machine.
    Behind,
}

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
        let queue = Arc::new(Queue {
            longest: waiting,
            state: Mutex::new(State { jobs: VecDeque::new(), asleep: 0, closed: false }),
            filled: Condvar::new(),
        });
        let run = Arc::new(run);
        let mut pool = Pool { queue, threads: Vec::new() };
        for number in 0..threads.max(1) {
            let (queue, run) = (Arc::clone(&pool.queue), Arc::clone(&run));
            let thread = std::thread::Builder::new().name(format!("kith-{name}-{number}"));
            let started = thread.spawn(move || {
                priority.take();
                while let Some(job) = queue.take() {
                    run(job);
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
        self.queue.put(job)
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

/// What waits for a thread.
///
/// A thread that finds nothing sleeps at once. One that yielded a few times before it sleeps, as channels do, would be
/// put behind every other thread of a busy machine each time, and a job that comes meanwhile would wait with it:
/// the scheduler favours who is woken, and makes who yields wait for its turn.
struct Queue<J> {
    longest: usize,
    state: Mutex<State<J>>,
    filled: Condvar,
}

struct State<J> {
    jobs: VecDeque<J>,
    /// Threads that sleep and have not been woken for a job; now and then one more than there are.
    asleep: usize,
    closed: bool,
}

impl<J> Queue<J> {
    fn put(&self, job: J) -> Result<(), (J, Error)> {
        let mut state = self.lock();
        if state.closed {
            return Err((job, Error::ShuttingDown));
        }
        if state.jobs.len() >= self.longest {
            return Err((job, Error::Overloaded("too many requests wait for the engine".into())));
        }
        state.jobs.push_back(job);
        // To wake nobody would be a call of the system too.
        let wake = state.asleep > 0;
        state.asleep -= usize::from(wake);
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// The next job; none when the pool is closed and nothing is left.
    fn take(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state.asleep += 1;
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    /// Nothing panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
