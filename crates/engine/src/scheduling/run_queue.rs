//! Which heavy reads run: as many at once as there are processors to spare, in time slices.

use super::backlog::SHORT;
use crate::faults::PlantedFault;
use crate::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A heavy read runs for at least this long before another takes its turn. Changing over costs some 10 µs and the caches.
const TIME_SLICE: Duration = Duration::from_millis(4);
/// A read that waits for longer than this comes before those that have run less, every other time: the light among the
/// heavy go first, and the heaviest still make progress.
const LONG_WAIT: Duration = Duration::from_millis(200);
/// A waiting read looks this often whether it was given up.
const RECHECK: Duration = Duration::from_millis(10);

/// Lets a limited number of threads run at a time, and has them take turns.
///
/// The waiting thread that has run least goes first (least attained service), so that a read of milliseconds overtakes any
/// number of reads of seconds. Threads that have run for less than [`SHORT`] are served in the order in which they began to
/// wait: otherwise newcomers would delay a read of 5 ms after its first time slice for as long as they keep coming.
#[derive(Default)]
pub struct RunQueue {
    state: Mutex<State>,
    /// Copies of what the state has, to be read without the lock.
    running: AtomicUsize,
    waiting: AtomicUsize,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: Vec<Waiting>,
    /// The next turn is for the one that waits for longest.
    prefers_oldest: bool,
}

struct Waiting {
    parker: Arc<Parker>,
    /// How long it has run.
    attained: Duration,
    since: Instant,
}

/// Where one thread waits.
#[derive(Default)]
pub struct Parker {
    turned: Condvar,
    /// Changed under the lock of the state.
    may_run: AtomicBool,
}

impl RunQueue {
    /// Whether a thread that has run for `ran` since its last turn has to call [`RunQueue::pause`].
    pub fn must_pause(&self, ran: Duration, permits: usize) -> bool {
        let running = self.running.load(Ordering::Relaxed);
        if PlantedFault::SlicesNotEnded.is_on() {
            return false;
        }
        running > permits
            || (self.waiting.load(Ordering::Relaxed) > 0 && (ran >= TIME_SLICE || running < permits))
    }

    /// Waits for a turn of a thread that has run for `attained` in all. False, and no turn, once it is given up.
    pub fn enter(
        &self,
        parker: &Arc<Parker>,
        attained: Duration,
        permits: &impl Fn() -> usize,
        given_up: &impl Fn() -> bool,
    ) -> bool {
        self.wait(self.state.lock(), parker, attained, permits, given_up)
    }

    /// Ends a turn, and waits for the next.
    pub fn pause(
        &self,
        parker: &Arc<Parker>,
        attained: Duration,
        permits: &impl Fn() -> usize,
        given_up: &impl Fn() -> bool,
    ) -> bool {
        let mut state = self.state.lock();
        state.running -= 1;
        self.wait(state, parker, attained, permits, given_up)
    }

    /// Ends a turn.
    pub fn leave(&self, permits: usize) {
        let mut state = self.state.lock();
        state.running -= 1;
        state.give_turns(permits);
        self.publish(&state);
    }

    fn wait(
        &self,
        mut state: MutexGuard<'_, State>,
        parker: &Arc<Parker>,
        attained: Duration,
        permits: &impl Fn() -> usize,
        given_up: &impl Fn() -> bool,
    ) -> bool {
        state.waiting.push(Waiting { parker: Arc::clone(parker), attained, since: Instant::now() });
        loop {
            state.give_turns(permits());
            self.publish(&state);
            if parker.may_run.swap(false, Ordering::Relaxed) {
                return true;
            }
            if given_up() {
                state.waiting.retain(|waiting| !Arc::ptr_eq(&waiting.parker, parker));
                self.publish(&state);
                return false;
            }
            let _ = parker.turned.wait_for(&mut state, RECHECK);
        }
    }

    fn publish(&self, state: &State) {
        self.running.store(state.running, Ordering::Relaxed);
        self.waiting.store(state.waiting.len(), Ordering::Relaxed);
    }
}

impl State {
    /// Gives turns while fewer than `permits` threads run.
    fn give_turns(&mut self, permits: usize) {
        while self.running < permits || PlantedFault::TurnsNotLimited.is_on() {
            let Some(at) = self.next() else { return };
            let next = self.waiting.swap_remove(at);
            self.running += 1;
            next.parker.may_run.store(true, Ordering::Relaxed);
            next.parker.turned.notify_one();
        }
    }

    fn next(&mut self) -> Option<usize> {
        let all = || self.waiting.iter().enumerate();
        self.prefers_oldest = !self.prefers_oldest;
        if self.prefers_oldest {
            let oldest = all().min_by_key(|(_, waiting)| waiting.since);
            if let Some((at, _)) = oldest.filter(|(_, waiting)| waiting.since.elapsed() > LONG_WAIT) {
                return Some(at);
            }
        }
        all().min_by_key(|(_, waiting)| (waiting.attained.max(SHORT), waiting.since)).map(|(at, _)| at)
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn no_more_run_than_there_are_permits_and_all_have_their_turns() {
        let run_queue = Arc::new(RunQueue::default());
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = |_| {
            let (run_queue, running, most) =
                (Arc::clone(&run_queue), Arc::clone(&running), Arc::clone(&most));
            std::thread::spawn(move || {
                let parker = Arc::new(Parker::default());
                assert!(run_queue.enter(&parker, Duration::ZERO, &|| 2, &|| false));
                for turn in 0..200 {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::hint::black_box((0..5_000).map(std::hint::black_box::<u64>).sum::<u64>());
                    running.fetch_sub(1, Ordering::SeqCst);
                    assert!(run_queue.pause(&parker, TIME_SLICE * turn, &|| 2, &|| false));
                }
                run_queue.leave(2);
            })
        };
        let threads: Vec<_> = (0..7).map(work).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(most.load(Ordering::SeqCst) <= 2);
        let state = run_queue.state.lock();
        assert_eq!((state.running, state.waiting.len()), (0, 0));
    }

    /// The order in which threads that have run for so long have their turn, one at a time.
    fn order(attained_ms: &[u64]) -> Vec<u64> {
        let run_queue = Arc::new(RunQueue::default());
        let first = Arc::new(Parker::default());
        assert!(run_queue.enter(&first, Duration::ZERO, &|| 1, &|| false));
        let (turned, turns) = mpsc::channel();
        let threads: Vec<_> = attained_ms
            .iter()
            .map(|&ms| {
                let (run_queue, turned) = (Arc::clone(&run_queue), turned.clone());
                std::thread::spawn(move || {
                    let parker = Arc::new(Parker::default());
                    assert!(run_queue.enter(&parker, Duration::from_millis(ms), &|| 1, &|| false));
                    turned.send(ms).unwrap();
                    run_queue.leave(1);
                })
            })
            .collect();
        while run_queue.waiting.load(Ordering::Relaxed) < attained_ms.len() {
            std::thread::yield_now();
        }
        run_queue.state.lock().prefers_oldest = true;
        run_queue.leave(1);
        let order = turns.iter().take(attained_ms.len()).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        order
    }

    #[test]
    fn the_one_that_has_run_least_has_the_next_turn() {
        assert_eq!(order(&[5000, 1, 70])[0], 1);
    }

    #[test]
    fn short_ones_have_their_turns_in_the_order_of_their_waiting() {
        let at = |attained, since| Waiting { parker: Arc::default(), attained, since };
        let [first, later] = [0, 1].map(|ms| Instant::now() + Duration::from_millis(ms));
        let waiting = vec![at(Duration::ZERO, later), at(SHORT / 2, first), at(SHORT * 2, first)];
        let mut state = State { running: 0, waiting, prefers_oldest: true };
        assert_eq!(state.next(), Some(1));
    }

    #[test]
    fn one_that_is_given_up_waits_no_longer_and_takes_no_turn() {
        let run_queue = RunQueue::default();
        let [runs, waits] = [(); 2].map(|()| Arc::new(Parker::default()));
        assert!(run_queue.enter(&runs, Duration::ZERO, &|| 1, &|| false));
        assert!(!run_queue.enter(&waits, Duration::ZERO, &|| 1, &|| true));
        assert!(!run_queue.must_pause(TIME_SLICE, 1), "nobody waits");
        run_queue.leave(1);
        assert!(run_queue.enter(&waits, Duration::ZERO, &|| 1, &|| false));
    }

    #[test]
    fn a_pause_is_due_at_the_end_of_a_slice_and_when_processors_are_wanted() {
        let run_queue = RunQueue::default();
        let parkers = [(); 2].map(|()| Arc::new(Parker::default()));
        for parker in &parkers {
            assert!(run_queue.enter(parker, Duration::ZERO, &|| 2, &|| false));
        }
        assert!(!run_queue.must_pause(TIME_SLICE, 2) && run_queue.must_pause(Duration::ZERO, 1));
        run_queue.waiting.store(1, Ordering::Relaxed);
        assert!(run_queue.must_pause(TIME_SLICE, 2) && !run_queue.must_pause(TIME_SLICE / 2, 2));
        assert!(run_queue.must_pause(Duration::ZERO, 3), "one that waits may run");
    }
}
