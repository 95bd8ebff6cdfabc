//! Worker threads with a bounded queue.

use crate::error::Error;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::thread::JoinHandle;

/// A piece of work. It answers for itself, panics included.
pub type Job = Box<dyn FnOnce() + Send>;

/// Threads that take jobs in the order of their arrival.
pub struct Pool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `threads` threads over a queue of at most `waiting` jobs.
    ///
    /// # Errors
    /// The system's, when it refuses a thread.
    pub fn start(name: &str, threads: usize, waiting: usize) -> std::io::Result<Pool> {
        let (jobs, queue) = bounded::<Job>(waiting);
        let run = |queue: Receiver<Job>| queue.iter().for_each(|job| job());
        let threads = (0..threads.max(1))
            .map(|number| {
                let queue = queue.clone();
                std::thread::Builder::new().name(format!("kith-{name}-{number}")).spawn(move || run(queue))
            })
            .collect::<std::io::Result<_>>()?;
        Ok(Pool { jobs: Some(jobs), threads })
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Queues a job, or gives it back with the reason.
    pub fn submit(&self, job: Job) -> Result<(), (Job, Error)> {
        let Some(jobs) = &self.jobs else { return Err((job, Error::ShuttingDown)) };
        jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(job) => {
                (job, Error::Overloaded("too many requests wait for the engine".into()))
            }
            TrySendError::Disconnected(job) => (job, Error::ShuttingDown),
        })
    }

    /// Takes no more jobs and waits for those that are queued.
    pub fn close(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A job catches its own panics; a thread that died all the same has nothing left to wait for.
            let _ = thread.join();
        }
    }
}
