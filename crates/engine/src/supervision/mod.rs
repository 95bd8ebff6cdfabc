//! Panics in the background: caught, counted, kept for the server's log, and the work taken up again after a pause.
//!
//! Every thread of the engine runs in [`Supervisor::run`], and every step that could keep others waiting in
//! [`Supervisor::step`] or [`Supervisor::step_of`]. See docs/supervision.md.

mod stop;
mod task;
mod task_failures;
mod threads;

pub use stop::Stop;
pub use task::Task;
pub use task_failures::TaskFailures;
pub use threads::join;

use crate::allocator;
use crate::faults::PlantedFault;
use parking_lot::Mutex;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The last panics that are kept for the log of the server; all are counted.
const MAX_EVENTS: usize = 64;
/// Longest message of a panic that is kept, in bytes.
const MAX_MESSAGE_BYTES: usize = 500;

/// A panic that was caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicEvent {
    /// Grows from panic to panic of an engine, from 1 on.
    pub number: u64,
    /// What panicked.
    pub task: Task,
    /// Number of the collection, where the task worked on one.
    pub collection: Option<u64>,
    /// The message of the panic. Not for clients.
    pub what: String,
}

/// Watches over the background work of one engine.
#[derive(Debug, Default)]
pub struct Supervisor {
    counts: [AtomicU64; Task::ALL.len()],
    restarts: [AtomicU64; Task::ALL.len()],
    events: Mutex<Events>,
    /// Tasks of the whole engine that panicked the last time.
    task_failures: TaskFailures,
    /// Every thread of the engine has a share of it; none after [`Supervisor::hold_until_threads_end`].
    presence: Mutex<Option<Arc<threads::Presence>>>,
    /// How often each task has begun a run or a step.
    #[cfg(feature = "testing")]
    reached: [AtomicU64; Task::ALL.len()],
    #[cfg(feature = "testing")]
    planted: Mutex<Vec<PlantedPanic>>,
    /// The thread that is refused.
    #[cfg(feature = "testing")]
    refused: Mutex<Option<&'static str>>,
}

#[derive(Debug, Default)]
struct Events {
    last_number: u64,
    kept: VecDeque<PanicEvent>,
}

/// A panic that a test asks for.
#[cfg(feature = "testing")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlantedPanic {
    /// Where.
    pub task: Task,
    /// The next so many times.
    pub times: u32,
}

#[cfg(feature = "testing")]
impl std::str::FromStr for PlantedPanic {
    type Err = String;

    /// From `TASK:TIMES`.
    fn from_str(text: &str) -> Result<PlantedPanic, String> {
        let parsed = text.split_once(':').and_then(|(task, times)| {
            let task = Task::ALL.into_iter().find(|one| one.name() == task)?;
            Some(PlantedPanic { task, times: times.parse().ok()? })
        });
        parsed.ok_or_else(|| format!("{text} is not of the form TASK:TIMES"))
    }
}

impl Supervisor {
    /// Runs `work`, the loop of a thread, until it returns. After a panic it is taken up again, after a pause that doubles
    /// from panic to panic and that [`Supervisor::succeeded`] ends. After `stop` it gets one more run.
    pub fn run(&self, task: Task, stop: &Stop, mut work: impl FnMut()) {
        loop {
            let Err(why) = self.catch(task, None, &mut work) else {
                self.task_failures.succeeded(task);
                return;
            };
            if stop.is_requested() || PlantedFault::PanicEndsThread.is_on() {
                return;
            }
            stop.wait(self.task_failures.failed(task, why.into_sentence()));
            self.restarts[task as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A thread has finished a round of its task.
    pub fn succeeded(&self, task: Task) {
        self.task_failures.succeeded(task);
    }

    /// Runs a step for the whole engine. `None` after a panic, and while the pause after one lasts.
    pub fn step<T>(&self, task: Task, step: impl FnOnce() -> T) -> Option<T> {
        self.step_of(&self.task_failures, task, None, step).ok()
    }

    /// Runs a step for the collection of that number, whose failed tasks are given.
    ///
    /// # Errors
    /// [`Skipped`] while the pause after a panic lasts, and after a panic.
    pub fn step_of<T>(
        &self,
        task_failures: &TaskFailures,
        task: Task,
        collection: Option<u64>,
        step: impl FnOnce() -> T,
    ) -> Result<T, Skipped> {
        if task_failures.is_resting(task) {
            return Err(Skipped::Resting);
        }
        match self.catch(task, collection, step) {
            Ok(done) => {
                task_failures.succeeded(task);
                Ok(done)
            }
            Err(why) => {
                let skipped = if why == Failed::NoMemory { Skipped::NoMemory } else { Skipped::Panicked };
                task_failures.failed(task, why.into_sentence());
                Err(skipped)
            }
        }
    }

    /// Runs a step; a panic in it is counted and kept, and its message returned. Memory that the system refuses ends a step
    /// as well and is no panic.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn catch<T>(
        &self,
        task: Task,
        collection: Option<u64>,
        step: impl FnOnce() -> T,
    ) -> Result<T, Failed> {
        let guarded = || {
            self.reach(task);
            step()
        };
        catch_unwind(AssertUnwindSafe(guarded)).map_err(|cause| match allocator::refusal(&*cause) {
            Some(_) => Failed::NoMemory,
            None => Failed::Panicked(self.note(task, collection, &*cause)),
        })
    }

    /// How often each task has panicked, in the order of [`Task::ALL`].
    pub fn counts(&self) -> [u64; Task::ALL.len()] {
        std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed))
    }

    /// How often the thread of each task was taken up again after a panic had ended its loop, in the order of [`Task::ALL`].
    pub fn restarts(&self) -> [u64; Task::ALL.len()] {
        self.restarts.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// The last panics, oldest first; at most 64.
    pub fn events(&self) -> Vec<PanicEvent> {
        self.events.lock().kept.iter().cloned().collect()
    }

    /// A sentence for each task of the whole engine that panicked the last time.
    pub fn faults(&self) -> Vec<String> {
        self.task_failures.sentences()
    }

    fn note(&self, task: Task, collection: Option<u64>, cause: &(dyn Any + Send)) -> String {
        let what = message(cause);
        self.counts[task as usize].fetch_add(1, Ordering::Relaxed);
        let mut events = self.events.lock();
        events.last_number += 1;
        if events.kept.len() == MAX_EVENTS {
            events.kept.pop_front();
        }
        let number = events.last_number;
        events.kept.push_back(PanicEvent { number, task, collection, what: what.clone() });
        what
    }

    /// The next `times` runs of a task panic.
    #[cfg(feature = "testing")]
    pub fn plant(&self, planted: PlantedPanic) {
        self.planted.lock().push(planted);
    }

    /// How often a task has begun a run or a step.
    #[cfg(feature = "testing")]
    pub fn reached(&self, task: Task) -> u64 {
        self.reached[task as usize].load(Ordering::Relaxed)
    }

    #[cfg(feature = "testing")]
    fn reach(&self, task: Task) {
        self.reached[task as usize].fetch_add(1, Ordering::Relaxed);
        let mut planted = self.planted.lock();
        let Some(found) = planted.iter_mut().find(|one| one.task == task && one.times > 0) else { return };
        found.times -= 1;
        drop(planted);
        panic!("asked to panic by a test");
    }

    #[cfg(not(feature = "testing"))]
    #[allow(clippy::unused_self, reason = "it does something in the build of the tests")]
    fn reach(&self, _: Task) {}
}

/// What ended a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A panic, with its message.
    Panicked(String),
    /// The system refused memory ([`allocator::refuse`]).
    NoMemory,
}

impl Failed {
    /// What it was, in words for the log of the server.
    pub fn into_sentence(self) -> String {
        match self {
            Failed::Panicked(what) => what,
            Failed::NoMemory => "the system refuses memory".into(),
        }
    }
}

/// Why a step did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// It panicked a short time ago and was not run.
    Resting,
    /// It panicked.
    Panicked,
    /// The system refused memory for it.
    NoMemory,
}

/// What a panic says, on one line.
fn message(cause: &(dyn Any + Send)) -> String {
    let text = match (cause.downcast_ref::<&str>(), cause.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "a panic without a message",
    };
    let mut end = text.len().min(MAX_MESSAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace(char::is_control, " ")
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_goes_on_after_a_panic_and_each_is_counted() {
        let (supervisor, stop) = (Supervisor::default(), Stop::default());
        let mut runs = 0;
        supervisor.run(Task::Scrub, &stop, || {
            runs += 1;
            assert!(runs > 1, "the first run fails");
        });
        assert_eq!((runs, supervisor.counts()[Task::Scrub as usize]), (2, 1));
        assert_eq!(supervisor.restarts()[Task::Scrub as usize], 1);
        assert_eq!(supervisor.faults(), Vec::<String>::new(), "it succeeded in the end");
        let event =
            PanicEvent { number: 1, task: Task::Scrub, collection: None, what: "the first run fails".into() };
        assert_eq!(supervisor.events(), [event]);
    }

    #[test]
    fn a_stop_ends_the_pause_and_work_that_always_panics() {
        let (supervisor, stop) = (Supervisor::default(), Stop::default());
        let mut runs = 0;
        supervisor.run(Task::Scrub, &stop, || {
            runs += 1;
            stop.request();
            panic!("as always");
        });
        assert_eq!(runs, 1);
    }

    #[test]
    fn a_step_rests_after_a_panic_and_the_others_do_not() {
        let supervisor = Supervisor::default();
        assert_eq!(supervisor.step(Task::DiskSpace, || -> u8 { panic!("once") }), None);
        assert_eq!(supervisor.step(Task::DiskSpace, || 1), None, "it rests");
        assert_eq!(supervisor.step(Task::Removal, || 2), Some(2));
        assert_eq!(supervisor.restarts(), [0; Task::ALL.len()], "no thread was ended");
        assert_eq!(supervisor.faults().len(), 1);
    }

    #[test]
    fn the_list_of_events_and_their_messages_are_bounded() {
        let supervisor = Supervisor::default();
        for _ in 0..100 {
            let long = format!("a\nb{}", "ä".repeat(1000));
            assert!(supervisor.catch(Task::Vacuum, Some(7), || panic!("{long}")).is_err());
        }
        let events = supervisor.events();
        assert_eq!((events.len(), events[0].number, events[63].number), (MAX_EVENTS, 37, 100));
        assert!(events[0].what.len() <= MAX_MESSAGE_BYTES && events[0].what.starts_with("a bä"));
    }
}
