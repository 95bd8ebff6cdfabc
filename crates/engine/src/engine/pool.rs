//! Worker threads with a bounded queue.

pub use super::job_queue::{Capacity, Load};
use super::job_queue::{Done, JobQueue};
use crate::error::Error;
use crate::scheduling::{BackgroundWork, lane, thread_time};
use crate::supervision::{self, Stop, Supervisor, Task};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// The share of the processors that the system gives a thread when there are more threads than processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The priority of other threads: for work that a client waits for.
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

/// Threads that take jobs in the order of their arrival.
pub struct Pool<J> {
    queue: Arc<JobQueue<J>>,
    stop: Arc<Stop>,
    supervisor: Arc<Supervisor>,
    threads: Vec<JoinHandle<()>>,
    /// Threads of the light lane.
    light: usize,
}

/// What the threads of a pool are.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Part of the threads' names.
    pub name: &'static str,
    /// How many there are, and how many jobs may wait.
    pub capacity: Capacity,
    /// The priority of the threads.
    pub priority: Priority,
    /// Counts their panics.
    pub supervisor: Arc<Supervisor>,
}

impl<J: Send + 'static> Pool<J> {
    /// Starts threads over one queue. `run` runs one job and catches its panics.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn start(options: PoolOptions, run: impl Fn(J) + Send + Sync + 'static) -> std::io::Result<Pool<J>> {
        let PoolOptions { name, capacity, priority, supervisor } = options;
        let capacity = Capacity { light: capacity.light.max(1), ..capacity };
        let queue = Arc::new(JobQueue::new(capacity));
        let run = Arc::new(run);
        let mut pool =
            Pool { queue, stop: Arc::default(), supervisor, threads: Vec::new(), light: capacity.light };
        for number in 0..capacity.light + capacity.heavy {
            let (queue, run) = (Arc::clone(&pool.queue), Arc::clone(&run));
            let watched = Arc::clone(&pool.supervisor);
            let work = move || {
                if capacity.heavy > 0 {
                    lane::serve(Arc::clone(&queue) as Arc<dyn lane::Lanes>);
                }
                work_off(&queue, number, priority, &|job| {
                    run(job);
                    watched.succeeded(Task::Request);
                })
            };
            let thread = format!("kith-{name}-{number}");
            match pool.supervisor.spawn(thread, Task::Request, &pool.stop, work) {
                Ok(thread) => pool.threads.push(thread),
                Err(error) => {
                    pool.close(None);
                    return Err(error);
                }
            }
        }
        Ok(pool)
    }

    /// Counts the panics of its jobs.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// How many threads serve the light lane.
    pub fn threads(&self) -> usize {
        self.light
    }

    /// What waits and runs now.
    pub fn load(&self) -> Load {
        self.queue.load()
    }

    /// Queues a job, or gives it back with the reason.
    pub fn submit(&self, job: J) -> Result<(), (J, Error)> {
        self.queue.put(job, false)
    }

    /// As [`Pool::submit`], for a job that is long enough to wake a thread for it in any case.
    pub fn submit_large(&self, job: J) -> Result<(), (J, Error)> {
        self.queue.put(job, true)
    }

    /// Refuses further jobs and waits until those that are queued have run, at most until `deadline`. False when one
    /// still runs then.
    pub fn close(&mut self, deadline: Option<Instant>) -> bool {
        self.queue.close();
        self.stop.request();
        supervision::join(self.threads.drain(..), deadline)
    }
}

/// Runs the jobs that a thread gets, until the queue is closed and empty.
fn work_off<J>(queue: &JobQueue<J>, number: usize, priority: Priority, run: &dyn Fn(J)) {
    priority.take();
    let mut last = None;
    while let Some(job) = queue.take(number, last) {
        let started = thread_time();
        lane::begin(started);
        let work = (priority == Priority::Low).then(BackgroundWork::begin);
        run(job);
        drop(work);
        let was_heavy = lane::end();
        last = Some(Done { time: thread_time().saturating_sub(started), was_heavy });
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
    use std::time::Duration;

    fn of(threads: usize, waiting: usize) -> PoolOptions {
        with(Capacity::of(threads, waiting))
    }

    fn with(capacity: Capacity) -> PoolOptions {
        PoolOptions { name: "test", capacity, priority: Priority::Normal, supervisor: Arc::default() }
    }

    #[test]
    fn a_job_that_panics_costs_no_thread() {
        let (ran, jobs) = mpsc::channel();
        let options = of(1, 10);
        let supervisor = Arc::clone(&options.supervisor);
        let mut pool = Pool::start(options, move |job: u32| {
            assert_ne!(job, 0, "the first one fails");
            ran.send(job).unwrap();
        })
        .unwrap();
        (0..3).for_each(|job| pool.submit(job).unwrap());
        let next = || jobs.recv_timeout(Duration::from_secs(60)).expect("the thread is gone");
        assert_eq!([next(), next()], [1, 2]);
        assert_eq!(supervisor.counts()[Task::Request as usize], 1);
        assert!(pool.close(None));
    }

    #[test]
    fn closing_waits_no_longer_than_its_deadline_c11_3() {
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let mut pool = Pool::start(of(1, 10), move |_: u32| {
            let _ = gate.lock().unwrap().recv();
        })
        .unwrap();
        pool.submit(1).unwrap();
        assert!(!pool.close(Some(Instant::now())), "the job still runs");
        drop(release);
    }

    #[test]
    fn every_job_is_done_once_and_closing_waits_for_those_that_are_queued() {
        for threads in [1, 3] {
            let done = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&done);
            let mut pool = Pool::start(of(threads, 20_000), move |add: usize| {
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
            pool.close(None);
            assert_eq!(done.load(Ordering::Relaxed), (0..100_usize).sum::<usize>());
            assert!(matches!(pool.submit(1), Err((1, Error::ShuttingDown))));
        }
    }

    #[test]
    fn a_job_always_finds_a_thread_that_sleeps() {
        let (ran, jobs) = mpsc::channel();
        let mut pool = Pool::start(of(2, 4), move |job: u32| ran.send(job).unwrap()).unwrap();
        for job in 0..2000 {
            pool.submit(job).unwrap();
            // A lost wake-up would be waited for in vain.
            assert_eq!(jobs.recv_timeout(std::time::Duration::from_secs(60)), Ok(job));
        }
        pool.close(None);
    }

    #[test]
    fn no_job_is_lost_while_threads_submit_and_sleep_concurrently() {
        for threads in [2, 3, 5] {
            let (ran, jobs) = mpsc::channel();
            let pool = Pool::start(of(threads, 1000), move |job: u64| {
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
        let mut pool = Pool::start(of(2, 100), move |job: u32| {
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
        pool.close(None);
    }

    #[test]
    fn as_many_jobs_run_as_there_are_threads_however_long_each_takes() {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) + 2;
        let (ran, started) = mpsc::channel();
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let mut pool = Pool::start(of(threads, 100), move |job: usize| {
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
        pool.close(None);
    }

    #[test]
    fn a_job_that_becomes_heavy_leaves_its_place_to_another_until_its_lane_is_full() {
        let (ran, jobs) = mpsc::channel();
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let capacity = Capacity { heavy: 2, ..Capacity::of(1, 100) };
        let mut pool = Pool::start(with(capacity), move |is_heavy: bool| {
            let has_room = is_heavy && lane::be_heavy();
            ran.send(has_room).unwrap();
            if has_room {
                // Blocked and not running, so that it needs no turn.
                lane::wait_aside(|limit| limit.is_none() && gate.lock().unwrap().recv().is_ok());
            }
        })
        .unwrap();
        let next = || jobs.recv_timeout(Duration::from_secs(60)).expect("a job waits for a heavy one");
        for round in 0..20 {
            for heavy in 1..=2 {
                pool.submit(true).unwrap();
                assert!(next(), "room in the heavy lane");
                assert_eq!(pool.load().heavy, heavy);
                pool.submit(false).unwrap();
                assert!(!next());
            }
            pool.submit(true).unwrap();
            assert!(!next(), "the heavy lane is full in round {round}");
            (0..2).for_each(|_| release.send(()).unwrap());
            while pool.load().heavy > 0 {
                std::thread::yield_now();
            }
        }
        pool.close(None);
    }

    #[test]
    fn jobs_are_run_while_the_threads_of_the_light_lane_are_stuck() {
        let (ran, jobs) = mpsc::channel();
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let capacity = Capacity { heavy: 1, ..Capacity::of(1, 100) };
        let mut pool = Pool::start(with(capacity), move |is_stuck: bool| {
            ran.send(is_stuck).unwrap();
            if is_stuck {
                let _ = gate.lock().unwrap().recv();
            }
        })
        .unwrap();
        let next = || jobs.recv_timeout(Duration::from_secs(60)).expect("a job waits behind a stuck one");
        for _ in 0..5 {
            pool.submit(true).unwrap();
            assert!(next());
            pool.submit(false).unwrap();
            assert!(!next());
            release.send(()).unwrap();
        }
        pool.close(None);
    }

    #[test]
    fn jobs_are_refused_once_the_oldest_of_many_has_waited_long() {
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let capacity = Capacity { longest_wait: Some(Duration::from_millis(1)), ..Capacity::of(1, 1000) };
        let mut pool = Pool::start(with(capacity), move |_: u32| {
            let _ = gate.lock().unwrap().recv();
        })
        .unwrap();
        let mut accepted = 0;
        let refused = loop {
            match pool.submit(accepted) {
                Ok(()) => accepted += 1,
                Err((_, error)) => break error,
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        assert!((32..=34).contains(&accepted) && matches!(refused, Error::Overloaded(_)));
        drop(release);
        pool.close(None);
    }

    #[test]
    fn a_full_queue_gives_the_job_back() {
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let mut pool = Pool::start(of(1, 2), move |_: u32| {
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
        pool.close(None);
    }
}
