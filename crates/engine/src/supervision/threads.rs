//! Starting supervised threads, and waiting for their end.

use super::{Stop, Supervisor, Task};
use parking_lot::Mutex;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval at which the end of threads is looked for, when there is a time until which they must have ended.
const LOOK: Duration = Duration::from_millis(2);

/// What every thread of the engine has a share of: the last one that ends drops what it holds.
#[derive(Default)]
pub(super) struct Presence {
    held: Mutex<Option<Box<dyn Send>>>,
}

impl fmt::Debug for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Presence")
    }
}

impl Supervisor {
    /// Drops a value when all threads of the engine have ended that were started until now.
    pub fn hold_until_threads_end(&self, held: impl Send + 'static) {
        if let Some(presence) = self.presence.lock().take() {
            *presence.held.lock() = Some(Box::new(held));
        }
    }

    fn presence(&self) -> Arc<Presence> {
        Arc::clone(self.presence.lock().get_or_insert_with(Arc::default))
    }

    /// Starts a thread that does `work` as [`Supervisor::run`] says.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn spawn(
        self: &Arc<Self>,
        name: String,
        task: Task,
        stop: &Arc<Stop>,
        work: impl FnMut() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        #[cfg(feature = "testing")]
        if *self.refused.lock() == Some(&*name) {
            return Err(std::io::Error::other("a test refuses the thread"));
        }
        let (supervisor, stop) = (Arc::clone(self), Arc::clone(stop));
        let presence = task.is_of_engine().then(|| self.presence());
        std::thread::Builder::new().name(name).spawn(move || {
            let _presence = presence;
            supervisor.run(task, &stop, work);
        })
    }

    /// From now on the system seems to refuse the thread of that name.
    #[cfg(feature = "testing")]
    pub fn refuse(&self, name: &'static str) {
        *self.refused.lock() = Some(name);
    }

    /// Starts a thread that does `work` once, because it belongs to one connection. A panic is counted, and ends it; `end`
    /// runs in any case.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn spawn_once(
        self: &Arc<Self>,
        name: &str,
        task: Task,
        work: impl FnOnce() + Send + 'static,
        end: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let supervisor = Arc::clone(self);
        let presence = task.is_of_engine().then(|| self.presence());
        let both = move || {
            let _presence = presence;
            // What it ended is noted.
            let _ = supervisor.catch(task, None, work);
            if let Err(cause) = catch_unwind(AssertUnwindSafe(end)) {
                supervisor.note(task, None, &*cause);
            }
        };
        std::thread::Builder::new().name(name.into()).spawn(both)
    }
}

/// Waits until the threads have ended, or until `deadline`. False when one still runs: it is left alone.
pub fn join(threads: impl IntoIterator<Item = JoinHandle<()>>, deadline: Option<Instant>) -> bool {
    let mut all_ended = true;
    for thread in threads {
        if let Some(deadline) = deadline {
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(LOOK);
            }
            if !thread.is_finished() {
                all_ended = false;
                continue;
            }
        }
        // Its panics were caught and counted.
        let _ = thread.join();
    }
    all_ended
}
