//! Worker threads with a bounded queue.

use crate::error::Error;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::sync::Arc;
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
    jobs: Option<Sender<J>>,
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
        let (jobs, queue) = bounded::<J>(waiting);
        let run = Arc::new(run);
        let threads = (0..threads.max(1))
            .map(|number| {
                let (queue, run): (Receiver<J>, _) = (queue.clone(), Arc::clone(&run));
                std::thread::Builder::new().name(format!("kith-{name}-{number}")).spawn(move || {
                    priority.take();
                    queue.iter().for_each(|job| run(job));
                })
            })
            .collect::<std::io::Result<_>>()?;
        Ok(Pool { jobs: Some(jobs), threads })
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Queues a job, or gives it back with the reason.
    pub fn submit(&self, job: J) -> Result<(), (J, Error)> {
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
