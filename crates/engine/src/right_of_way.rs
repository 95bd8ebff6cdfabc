//! Who goes first where processors are short: reads, before work that may take its time.
//!
//! A scheduler shares processors out fairly, but in pieces. On Linux a thread that is owed time gets it until the next
//! tick, which is 4 ms at 250 ticks a second, and a search that is ready to run waits for the end of that: thirty times as
//! long as it takes. No priority changes this, short of one at which writes would starve. So threads that stand behind
//! ask between two rows or points, some 10 to 100 µs apart, whether reads are in want of a processor, and then sleep
//! until they have taken no more than their share. While no read is in want they take all there is.
//!
//! What is counted here is counted for the whole process, because its engines share the processors.

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Threads that stand behind take one part in so many of the processors while reads want them all. They get somewhat
/// less, because who sleeps wakes late.
const SHARE: f64 = 2.0;
/// Shorter pauses are saved up: to sleep and to be woken costs some 10 µs.
const LEAST_PAUSE: Duration = Duration::from_micros(200);
/// Time between two looks whether the pause is still needed.
const LOOK: Duration = Duration::from_micros(400);
/// What counts at most of the time between two questions: a thread that had to wait meanwhile did not work.
const LONGEST_ROW: Duration = Duration::from_micros(200);
/// How long a read counts on that has been answered. Between two reads of a client that asks again and again there is
/// none, but whoever passes them on is at work, and so is the client where it runs on the same machine.
const RECENT: Duration = Duration::from_millis(2);

static ROAD: Road = Road::empty();
/// What times count from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

thread_local! {
    /// When this thread last asked, and how long it owes the reads a pause.
    static STATE: Cell<(Option<Instant>, Duration)> = const { Cell::new((None, Duration::ZERO)) };
}

/// Who wants a processor.
struct Road {
    /// Reads that wait for a thread or are being answered.
    reads: AtomicUsize,
    /// When the last one was answered, in nanoseconds from [`START`]; 0 for never.
    answered: AtomicU64,
    /// Threads that have something to do and stand behind.
    behind: AtomicUsize,
    /// Those of them that sleep.
    paused: AtomicUsize,
}

impl Road {
    const fn empty() -> Road {
        Road {
            reads: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            behind: AtomicUsize::new(0),
            paused: AtomicUsize::new(0),
        }
    }

    /// Whether there are processors for the reads, for whoever passes them on, for those behind them that are awake, and
    /// for so many more. While there are no reads nobody is in anybody's way.
    fn has_room(&self, more: usize, now: Duration, processors: usize) -> bool {
        let answered = Duration::from_nanos(self.answered.load(Ordering::Relaxed));
        let is_recent = !answered.is_zero() && now.saturating_sub(answered) < RECENT;
        let reads = self.reads.load(Ordering::Relaxed).max(usize::from(is_recent));
        let behind = self.behind.load(Ordering::Relaxed);
        let awake = behind.saturating_sub(self.paused.load(Ordering::Relaxed));
        reads == 0 || reads + 1 + awake + more <= processors
    }
}

/// A read that wants a processor, until this is dropped.
pub struct Read(());

impl Read {
    /// It waits for a thread.
    pub fn begin() -> Read {
        ROAD.reads.fetch_add(1, Ordering::Relaxed);
        Read(())
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        ROAD.answered.store(START.elapsed().as_nanos() as u64, Ordering::Relaxed);
        ROAD.reads.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A piece of work of a thread that stands behind, until this is dropped.
pub struct Behind(());

impl Behind {
    /// The calling thread has something to do.
    pub fn begin() -> Behind {
        ROAD.behind.fetch_add(1, Ordering::Relaxed);
        STATE.set((None, Duration::ZERO));
        Behind(())
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        ROAD.behind.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sleeps if reads are in want of a processor and this thread has had its share. To be called between two pieces of
/// work that take far less than a millisecond, with nothing held that a read could need.
pub fn give_way() {
    let behind = ROAD.behind.load(Ordering::Relaxed);
    if behind == 0 {
        // Nobody stands behind anybody: this is the caller's own request, or a simulation.
        return;
    }
    let (asked, owed) = STATE.get();
    let now = Instant::now();
    if ROAD.has_room(0, now.duration_since(*START), *PROCESSORS) {
        return STATE.set((Some(now), Duration::ZERO));
    }
    let worked = asked.map_or(Duration::ZERO, |asked| now.duration_since(asked));
    let owed = owed + pause_after(worked, behind, *PROCESSORS);
    if owed < LEAST_PAUSE {
        return STATE.set((Some(now), owed));
    }
    ROAD.paused.fetch_add(1, Ordering::Relaxed);
    let until = now + owed;
    let mut left = owed;
    while !left.is_zero() {
        std::thread::sleep(left.min(LOOK));
        let now = Instant::now();
        left = until.saturating_duration_since(now);
        if ROAD.has_room(1, now.duration_since(*START), *PROCESSORS) {
            break;
        }
    }
    ROAD.paused.fetch_sub(1, Ordering::Relaxed);
    STATE.set((Some(Instant::now()), Duration::ZERO));
}

/// How long each of the threads behind pauses after so much work, so that together they take their share.
fn pause_after(worked: Duration, behind: usize, processors: usize) -> Duration {
    worked.min(LONGEST_ROW).mul_f64((SHARE * behind as f64 / processors as f64 - 1.0).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_behind_take_their_share_of_the_processors_together_and_no_less() {
        let worked = Duration::from_micros(90);
        for processors in [1, 2, 4, 64] {
            for behind in 1..100 {
                let pause = pause_after(worked, behind, processors);
                let busy = behind as f64 * worked.as_secs_f64() / (worked + pause).as_secs_f64();
                let share = busy / processors as f64;
                assert!(share < 1.001 / SHARE, "{behind} on {processors}: {share}");
                assert!(pause.is_zero() || share > 0.999 / SHARE, "{behind} on {processors}: {share}");
            }
        }
    }

    #[test]
    fn a_thread_that_had_to_wait_is_not_made_to_pause_for_it() {
        let waited = pause_after(Duration::from_secs(10), 2, 2);
        assert_eq!(waited, pause_after(LONGEST_ROW, 2, 2));
    }

    #[test]
    fn there_is_room_without_reads_and_as_long_as_everybody_has_a_processor() {
        let has_room = |(reads, behind, paused): (usize, usize, usize), more| {
            let road = Road::empty();
            road.reads.store(reads, Ordering::Relaxed);
            road.behind.store(behind, Ordering::Relaxed);
            road.paused.store(paused, Ordering::Relaxed);
            road.has_room(more, Duration::from_secs(1), 4)
        };
        assert!(has_room((0, 9, 0), 0));
        assert!(has_room((1, 2, 0), 0) && !has_room((1, 3, 0), 0));
        assert!(has_room((1, 4, 2), 0) && !has_room((1, 4, 2), 1));
        assert!(has_room((1, 4, 3), 1), "somebody may go on");
        assert!(!has_room((9, 1, 1), 0));
    }

    #[test]
    fn a_read_that_was_answered_just_now_counts_as_one() {
        let road = Road::empty();
        road.behind.store(9, Ordering::Relaxed);
        let answered = Duration::from_secs(1);
        road.answered.store(answered.as_nanos() as u64, Ordering::Relaxed);
        assert!(!road.has_room(0, answered + RECENT / 2, 4));
        assert!(road.has_room(0, answered + RECENT, 4));
        // Clocks of different processors may differ a little.
        assert!(!road.has_room(0, answered / 2, 4));
    }

    #[test]
    fn whoever_gives_way_goes_on_although_reads_never_end() {
        let _reads: Vec<Read> = (0..=*PROCESSORS).map(|_| Read::begin()).collect();
        let _behind: Vec<Behind> = (0..=*PROCESSORS).map(|_| Behind::begin()).collect();
        for _ in 0..100 {
            std::hint::black_box((0..10_000).map(std::hint::black_box::<u64>).sum::<u64>());
            give_way();
        }
    }
}
