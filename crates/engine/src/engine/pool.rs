//! Worker threads with a bounded queue.

use crate::error::Error;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Threads that take jobs in the order of their arrival.
pub struct Pool<J> {
    jobs: Option<Sender<J>>,
    threads: Vec<JoinHandle<()>>,
}

impl<J: Send + 'static> Pool<J> {
    /// Starts `threads` threads over a queue of at most `waiting` jobs. `run` works on one; it answers for itself,
    /// panics included.
    ///
    /// # Errors
    /// The system's, when it refuses a thread.
    pub fn start(
        name: &str,
        threads: usize,
        waiting: usize,
        run: impl Fn(J) + Send + Sync + 'static,
    ) -> std::io::Result<Pool<J>> {
        let (jobs, queue) = bounded::<J>(waiting);
        let run = Arc::new(run);
        let threads = (0..threads.max(1))
            .map(|number| {
                let (queue, run): (Receiver<J>, _) = (queue.clone(), Arc::clone(&run));
                std::thread::Builder::new()
                    .name(format!("kith-{name}-{number}"))
                    .spawn(move || queue.iter().for_each(|job| run(job)))
            })
            .collect::<std::io::Result<_>>()?;
        Ok(Pool { jobs: Some(jobs), threads })
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
