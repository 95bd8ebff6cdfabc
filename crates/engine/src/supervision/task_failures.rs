//! Tasks that panicked the last time, and the pauses before they are tried again.

use super::Task;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The pause after a first panic. It doubles with each one that follows.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The tasks of one engine, or of one collection, that panicked the last time they ran.
#[derive(Debug, Default)]
pub struct TaskFailures {
    /// At most one for each task.
    list: Mutex<Vec<TaskFailure>>,
    /// Whether there are any: steps that never failed ask for nothing else.
    any: AtomicBool,
}

#[derive(Debug)]
struct TaskFailure {
    task: Task,
    /// Panics without a success in between.
    in_a_row: u32,
    rests_until: Instant,
    what: String,
}

impl TaskFailures {
    /// Whether the pause after a panic of the task lasts.
    pub fn is_resting(&self, task: Task) -> bool {
        self.any() && {
            let now = Instant::now();
            self.list.lock().iter().any(|one| one.task == task && now < one.rests_until)
        }
    }

    /// The task has panicked. Returns how long it is to rest.
    pub fn failed(&self, task: Task, what: String) -> Duration {
        let mut list = self.list.lock();
        let before = list.iter().position(|one| one.task == task).map(|at| list.swap_remove(at));
        let in_a_row = before.map_or(0, |one| one.in_a_row).saturating_add(1);
        let pause = pause_after(in_a_row);
        list.push(TaskFailure { task, in_a_row, rests_until: Instant::now() + pause, what });
        self.any.store(true, Ordering::Release);
        pause
    }

    /// The task has come to its end.
    pub fn succeeded(&self, task: Task) {
        if self.any() {
            let mut list = self.list.lock();
            list.retain(|one| one.task != task);
            self.any.store(!list.is_empty(), Ordering::Release);
        }
    }

    /// Whether the task panicked the last time it ran.
    pub fn has(&self, task: Task) -> bool {
        self.any() && self.list.lock().iter().any(|one| one.task == task)
    }

    /// A sentence for each task that panicked the last time it ran: for the operator of the server.
    pub fn sentences(&self) -> Vec<String> {
        if !self.any() {
            return Vec::new();
        }
        let sentence = |one: &TaskFailure| {
            let TaskFailure { task, in_a_row, what, .. } = one;
            format!("the background task `{}` failed {in_a_row} times in a row: {what}", task.name())
        };
        self.list.lock().iter().map(sentence).collect()
    }

    fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }
}

fn pause_after(panics: u32) -> Duration {
    LEAST_PAUSE.saturating_mul(1 << panics.saturating_sub(1).min(10)).min(LONGEST_PAUSE)
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_a_minute_and_a_success_ends_it() {
        let task_failures = TaskFailures::default();
        let fail = || task_failures.failed(Task::DiskSpace, "why".into()).as_secs();
        assert_eq!([fail(), fail(), fail(), fail()], [1, 2, 4, 8]);
        assert!(task_failures.is_resting(Task::DiskSpace) && !task_failures.is_resting(Task::Scrub));
        assert_eq!([fail(), fail(), fail(), fail()], [16, 32, 60, 60]);
        task_failures.succeeded(Task::DiskSpace);
        assert!(!task_failures.has(Task::DiskSpace) && task_failures.sentences().is_empty());
        assert_eq!(fail(), 1);
        assert_eq!(pause_after(u32::MAX).as_secs(), 60);
    }
}
