//! Worker threads with a bounded queue.

use super::job_queue::JobQueue;
use crate::error::Error;
use crate::scheduling::BackgroundWork;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The share of the processors that the system gives a thread when there are more threads than processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// That of other threads: for work that a client waits for.
    Normal,
    /// About a third of it: for work that may take longer while reads are served. With much less, other processes of
    /// the machine could starve writes.
    Low,
}

/// The nice value of [`Priority::Low`].
#[cfg(target_os = "linux")]
const NICE_LOW: i32 = 5;

impl Priority {
    /// Gives the calling thread this priority. A system that refuses leaves it as it is.
    pub fn take(self) {
        // On Linux a nice value belongs to the thread, elsewhere to the process.
        #[cfg(target_os = "linux")]
        if self == Priority::Low {
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE_LOW);
        }
    }
}

/// Processor time of the calling thread; where the system does not report it, time that has passed.
fn thread_time() -> Duration {
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
    queue: Arc<JobQueue<J>>,
    threads: Vec<JoinHandle<()>>,
}

impl<J: Send + 'static> Pool<J> {
    /// Starts `threads` threads over a queue of at most `waiting` jobs. `run` runs one job and catches its panics.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn start(
        name: &str,
        threads: usize,
        waiting: usize,
        priority: Priority,
        run: impl Fn(J) + Send + Sync + 'static,
    ) -> std::io::Result<Pool<J>> {
        let threads = threads.max(1);
        let queue = Arc::new(JobQueue::new(threads, waiting));
        let run = Arc::new(run);
        let mut pool = Pool { queue, threads: Vec::new() };
        for number in 0..threads {
            let (queue, run) = (Arc::clone(&pool.queue), Arc::clone(&run));
            let thread = std::thread::Builder::new().name(format!("kith-{name}-{number}"));
            let started = thread.spawn(move || {
                priority.take();
                let mut last = None;
                while let Some(job) = queue.take(number, last) {
                    let started = thread_time();
                    let work = (priority == Priority::Low).then(BackgroundWork::begin);
                    run(job);
                    drop(work);
                    last = Some(thread_time().saturating_sub(started));
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

    /// As [`Pool::submit`], for a job that is long enough to wake a thread for it in any case.
    pub fn submit_large(&self, job: J) -> Result<(), (J, Error)> {
        self.queue.put(job, true)
    }

    /// Refuses further jobs and waits until those that are queued have run.
    pub fn close(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // A job catches its own panics. A thread that panicked nevertheless has ended, which is all that is needed.
            let _ = thread.join();
        }
    }
}

impl<J> Drop for Pool<J> {
    /// The threads end by themselves, after the jobs that are queued.
    fn drop(&mut self) {
        self.queue.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, mpsc};

    #[test]
    fn every_job_is_done_once_and_closing_waits_for_those_that_are_queued() {
        for threads in [1, 3] {
            let done = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&done);
            let mut pool = Pool::start("test", threads, 20_000, Priority::Normal, move |add: usize| {
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
            Pool::start("test", 2, 4, Priority::Normal, move |job: u32| ran.send(job).unwrap()).unwrap();
        for job in 0..2000 {
            pool.submit(job).unwrap();
            // A lost wake-up would be waited for in vain.
            assert_eq!(jobs.recv_timeout(std::time::Duration::from_secs(60)), Ok(job));
        }
        pool.close();
    }

    #[test]
    fn no_job_is_lost_while_threads_submit_and_sleep_concurrently() {
        for threads in [2, 3, 5] {
            let (ran, jobs) = mpsc::channel();
            let pool = Pool::start("test", threads, 1000, Priority::Normal, move |job: u64| {
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
        let mut pool = Pool::start("test", 2, 100, Priority::Normal, move |job: u32| {
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
        let mut pool = Pool::start("test", threads, 100, Priority::Normal, move |job: usize| {
            ran.send(job).unwrap();
            let _ = gate.lock().unwrap().recv();
        })
        .unwrap();
        while pool.queue.idle_threads() < threads {
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
        let mut pool = Pool::start("test", 1, 2, Priority::Normal, move |_: u32| {
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
