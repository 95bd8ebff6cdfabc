//! What ends a run, and the line that says that it has begun.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A result whose error ends the process.
pub type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

type Hook = Box<dyn Fn() + Send>;

/// Comes when the standard input ends.
#[derive(Default)]
pub struct Stop {
    has_come: AtomicBool,
    hook: Mutex<Option<Hook>>,
}

impl Stop {
    /// One that comes when the standard input of this process ends.
    pub fn at_end_of_input() -> Arc<Stop> {
        let stop = Arc::new(Stop::default());
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut ignored = [0; 256];
            while std::io::stdin().read(&mut ignored).is_ok_and(|count| count > 0) {}
            stopped.come();
        });
        stop
    }

    /// Whether it has come.
    pub fn has_come(&self) -> bool {
        self.has_come.load(Ordering::Acquire)
    }

    /// Calls `hook` when it comes, or now if it has.
    pub fn on_stop(&self, hook: impl Fn() + Send + 'static) {
        let mut slot = self.hook.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_come() {
            hook();
        }
        *slot = Some(Box::new(hook));
    }

    fn come(&self) {
        self.has_come.store(true, Ordering::Release);
        let slot = self.hook.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hook) = slot.as_ref() {
            hook();
        }
    }
}

/// Says on the standard output that the connections stand. The process that started this one waits for it.
pub fn announce_start() {
    let mut output = std::io::stdout().lock();
    // Nobody may listen: the run goes on.
    let _ = writeln!(output, "{{\"started\":true}}").and_then(|()| output.flush());
}
