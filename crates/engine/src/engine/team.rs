//! One request's work on several threads of a pool.

use super::pool::Pool;
use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A job of a pool that works for the request of another thread. It answers for its panics.
pub type Help = Box<dyn FnOnce() + Send>;

/// One piece of the work, by its number.
type Piece = Arc<dyn Fn(usize) + Send + Sync>;

/// Calls `piece` once for each number below `count`, on this thread and on those of the pool that are free.
///
/// Returns when all calls have. Nothing waits for a thread of the pool to become free: whoever calls does what nobody
/// else has begun, so a pool whose threads all call this is no deadlock.
///
/// # Panics
/// When a call did.
pub fn share_out<J: From<Help> + Send + 'static>(
    pool: &Mutex<Option<Pool<J>>>,
    count: usize,
    piece: impl Fn(usize) + Send + Sync + 'static,
) {
    let team = Arc::new(Team {
        count,
        next: AtomicUsize::new(0),
        state: Mutex::new(State { piece: Some(Arc::new(piece)), members: 0, panicked: false }),
        left: Condvar::new(),
    });
    if let Some(pool) = &*pool.lock() {
        for _ in 1..pool.threads().min(count) {
            let team = Arc::clone(&team);
            // The member that panics says so in the state, and that reaches the caller.
            let help: Help = Box::new(move || drop(catch_unwind(AssertUnwindSafe(|| team.work()))));
            // A queue that is full has better things to do than to hurry one request.
            if pool.submit_large(J::from(help)).is_err() {
                break;
            }
        }
    }
    team.work();
    team.finish();
}

struct Team {
    count: usize,
    /// The piece that nobody has begun.
    next: AtomicUsize,
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// None once the work is done: jobs that still wait in the pool's queue must not hold on to it.
    piece: Option<Piece>,
    /// Threads at work.
    members: usize,
    panicked: bool,
}

impl Team {
    fn work(&self) {
        let Some(member) = Member::join(self) else { return };
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if at >= self.count {
                break;
            }
            (member.piece)(at);
        }
    }

    /// Waits for the others.
    fn finish(&self) {
        let mut state = self.state.lock();
        state.piece = None;
        while state.members > 0 {
            self.left.wait(&mut state);
        }
        assert!(!state.panicked, "a piece of the work panicked on another thread");
    }
}

/// A thread at work.
struct Member<'a> {
    team: &'a Team,
    piece: Piece,
}

impl<'a> Member<'a> {
    fn join(team: &'a Team) -> Option<Member<'a>> {
        let mut state = team.state.lock();
        let piece = state.piece.clone()?;
        state.members += 1;
        Some(Member { team, piece })
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let mut state = self.team.state.lock();
        state.members -= 1;
        state.panicked |= std::thread::panicking();
        self.team.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::pool::Priority;
    use super::*;
    use std::sync::atomic::AtomicU32;
    use std::sync::mpsc;

    fn pool(threads: usize) -> Arc<Mutex<Option<Pool<Help>>>> {
        let pool = Pool::start("test", threads, 64, Priority::Usual, |help: Help| help());
        Arc::new(Mutex::new(Some(pool.unwrap())))
    }

    fn close(pool: &Mutex<Option<Pool<Help>>>) {
        let taken = pool.lock().take();
        taken.expect("open").close();
    }

    #[test]
    fn every_piece_is_done_once_with_and_without_a_pool() {
        for pool in [Arc::new(Mutex::new(None)), pool(1), pool(4)] {
            for count in [0, 1, 3, 1000] {
                let done: Arc<Vec<AtomicU32>> = Arc::new((0..count).map(|_| AtomicU32::new(0)).collect());
                let counted = Arc::clone(&done);
                share_out(&pool, count, move |at| {
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
                share_out(&inner, 50, move |at| {
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
    fn a_panic_of_a_piece_reaches_the_caller_and_the_pool_survives() {
        for pool in [Arc::new(Mutex::new(None)), pool(2)] {
            for bad in 0..50 {
                let piece = move |at| assert_ne!(at, bad);
                assert!(catch_unwind(AssertUnwindSafe(|| share_out(&pool, 50, piece))).is_err());
                share_out(&pool, 50, |_| {});
            }
        }
    }

    #[test]
    fn a_job_that_comes_late_holds_nothing() {
        let held = Arc::new(());
        let inner = Arc::clone(&held);
        let team = Team {
            count: 0,
            next: AtomicUsize::new(0),
            state: Mutex::new(State {
                piece: Some(Arc::new(move |_| drop(Arc::clone(&inner)))),
                members: 0,
                panicked: false,
            }),
            left: Condvar::new(),
        };
        team.work();
        team.finish();
        assert_eq!(Arc::strong_count(&held), 1);
        team.work();
    }
}
