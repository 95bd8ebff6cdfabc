//! One request's work on several threads of a pool.

use super::pool::Pool;
use crate::scheduling::lane;
use crate::supervision;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A job of a pool that takes part in the request of another thread. It catches its panics.
pub type Help = Box<dyn FnOnce() + Send>;

/// Does one task, by its number.
type Task = Arc<dyn Fn(usize) + Send + Sync>;

/// Calls `task` once for each number below `count`, on this thread and on those of the pool that are free.
///
/// Returns when all calls have returned. The caller does not wait for a free thread of the pool: it does each task that
/// no other thread has begun, so threads of a pool that all call this cannot deadlock.
///
/// # Panics
/// When a call panicked.
pub fn run_on_pool<J: From<Help> + Send + 'static>(
    pool: &Mutex<Option<Pool<J>>>,
    count: usize,
    task: impl Fn(usize) + Send + Sync + 'static,
) {
    let work = Arc::new(SharedWork {
        count,
        next: AtomicUsize::new(0),
        state: Mutex::new(State { task: Some(Arc::new(task)), workers: 0, panicked: false }),
        left: Condvar::new(),
    });
    let is_heavy = lane::is_heavy();
    if lane::share_out()
        && let Some(pool) = &*pool.lock()
    {
        for _ in 1..pool.threads().min(count) {
            let (work, supervisor) = (Arc::clone(&work), Arc::clone(pool.supervisor()));
            // A worker that panics notes it in the state, and `finish` panics in the caller.
            let help: Help = Box::new(move || {
                // What a heavy request shares out is heavy. It waits for no help that the lane has no room for.
                if !is_heavy || lane::be_heavy() {
                    drop(supervisor.catch(supervision::Task::Help, None, || work.run()));
                }
            });
            // A full queue has no thread to spare for this request.
            if pool.submit_large(J::from(help)).is_err() {
                break;
            }
        }
    }
    work.run();
    work.finish();
}

struct SharedWork {
    count: usize,
    /// The first task that no thread has begun.
    next: AtomicUsize,
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// None once the work is done: jobs that still wait in the pool's queue must not keep it alive.
    task: Option<Task>,
    /// Threads that do tasks.
    workers: usize,
    panicked: bool,
}

impl SharedWork {
    /// Does tasks until all are begun.
    fn run(&self) {
        let Some(worker) = Worker::join(self) else { return };
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if at >= self.count {
                break;
            }
            (worker.task)(at);
        }
    }

    /// Waits until no other thread does a task.
    fn finish(&self) {
        let has_workers = {
            let mut state = self.state.lock();
            state.task = None;
            state.workers > 0
        };
        if has_workers {
            lane::wait_aside(|limit| self.wait(limit.map(|limit| Instant::now() + limit)));
        }
        assert!(!self.state.lock().panicked, "a task panicked on another thread");
    }

    /// Waits until the last worker has left; false when that takes longer.
    fn wait(&self, until: Option<Instant>) -> bool {
        let mut state = self.state.lock();
        while state.workers > 0 {
            match until {
                None => self.left.wait(&mut state),
                Some(until) if self.left.wait_until(&mut state, until).timed_out() => break,
                Some(_) => {}
            }
        }
        state.workers == 0
    }
}

/// A thread that does tasks.
struct Worker<'a> {
    work: &'a SharedWork,
    task: Task,
}

impl<'a> Worker<'a> {
    fn join(work: &'a SharedWork) -> Option<Worker<'a>> {
        let mut state = work.state.lock();
        let task = state.task.clone()?;
        state.workers += 1;
        Some(Worker { work, task })
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let mut state = self.work.state.lock();
        state.workers -= 1;
        state.panicked |= std::thread::panicking();
        self.work.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::pool::{Capacity, PoolOptions, Priority};
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicU32;
    use std::sync::mpsc;

    fn pool(threads: usize) -> Arc<Mutex<Option<Pool<Help>>>> {
        let pool = Pool::start(
            PoolOptions {
                name: "test",
                capacity: Capacity::of(threads, 64),
                priority: Priority::Normal,
                supervisor: Arc::default(),
            },
            |help: Help| help(),
        );
        Arc::new(Mutex::new(Some(pool.unwrap())))
    }

    fn close(pool: &Mutex<Option<Pool<Help>>>) {
        let taken = pool.lock().take();
        taken.expect("open").close(None);
    }

    #[test]
    fn every_task_is_done_once_with_and_without_a_pool() {
        for pool in [Arc::new(Mutex::new(None)), pool(1), pool(4)] {
            for count in [0, 1, 3, 1000] {
                let done: Arc<Vec<AtomicU32>> = Arc::new((0..count).map(|_| AtomicU32::new(0)).collect());
                let counted = Arc::clone(&done);
                run_on_pool(&pool, count, move |at| {
                    counted[at].fetch_add(1, Ordering::Relaxed);
                });
                assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn a_pool_whose_threads_all_share_out_work_is_no_deadlock() {
        let pool = pool(3);
        let (done, all) = mpsc::channel();
        for _ in 0..12 {
            let (inner, done) = (Arc::clone(&pool), done.clone());
            let job = move || {
                let sum = Arc::new(AtomicU32::new(0));
                let added = Arc::clone(&sum);
                run_on_pool(&inner, 50, move |at| {
                    added.fetch_add(at as u32, Ordering::Relaxed);
                });
                done.send(sum.load(Ordering::Relaxed)).unwrap();
            };
            assert!(pool.lock().as_ref().unwrap().submit(Box::new(job)).is_ok());
        }
        assert!(all.iter().take(12).all(|sum| sum == 49 * 50 / 2));
        close(&pool);
    }

    #[test]
    fn a_panic_of_a_task_reaches_the_caller_and_the_pool_survives() {
        for pool in [Arc::new(Mutex::new(None)), pool(2)] {
            for bad in 0..50 {
                let task = move |at| assert_ne!(at, bad);
                assert!(catch_unwind(AssertUnwindSafe(|| run_on_pool(&pool, 50, task))).is_err());
                run_on_pool(&pool, 50, |_| {});
            }
        }
    }

    #[test]
    fn a_job_that_runs_after_the_end_holds_nothing() {
        let held = Arc::new(());
        let inner = Arc::clone(&held);
        let work = SharedWork {
            count: 0,
            next: AtomicUsize::new(0),
            state: Mutex::new(State {
                task: Some(Arc::new(move |_| drop(Arc::clone(&inner)))),
                workers: 0,
                panicked: false,
            }),
            left: Condvar::new(),
        };
        work.run();
        work.finish();
        assert_eq!(Arc::strong_count(&held), 1);
        work.run();
    }
}
