//! Reads before background work where processors are scarce, and light reads before heavy ones ([`lane`]).
//!
//! The operating system shares processors fairly, but in time slices. On Linux a thread that is due gets the processor until
//! the next tick, which is 4 ms at 250 ticks a second. A search that becomes ready meanwhile waits for the end of that
//! slice, thirty times as long as it runs. No thread priority changes this, short of one at which writes would starve. So
//! background threads call [`yield_to_reads`] between two rows or points, some 10 to 100 µs apart. It sleeps while reads
//! are short of processors, until the background threads together have used no more than their share. Without reads
//! they use all processors.
//!
//! The counters belong to the whole process, because its engines share the processors.

mod backlog;
pub mod lane;
mod pieces;
pub mod run_queue;

pub(crate) use pieces::in_pieces;

use crate::faults::PlantedFault;
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// While reads are short of processors, background threads together use the processors divided by this. They get
/// somewhat less, because a sleeping thread wakes up late.
const BACKGROUND_DIVISOR: f64 = 2.0;
/// Shorter pauses are added up until they are worth a sleep: sleeping and waking cost some 10 µs.
const MIN_PAUSE: Duration = Duration::from_micros(200);
/// A sleeping thread checks this often whether the pause is still needed.
const RECHECK_INTERVAL: Duration = Duration::from_micros(400);
/// At most this much of the time between two calls counts as work: in a longer time the thread waited for a processor.
const MAX_WORK_STEP: Duration = Duration::from_micros(200);
/// An answered read counts as a running one for this long. A client that sends one read after the other has none in the
/// engine in between, but then the event loop is busy, and so is the client where it runs on the same machine.
const RECENT_READ: Duration = Duration::from_millis(2);

/// For so long after the answer to a light read a processor is kept free of heavy ones. A client that sends one light read
/// after the other, with short breaks, then never waits for the system to take a processor from a heavy one.
const RECENT_LIGHT_READ: Duration = Duration::from_millis(50);
/// A read that has just come may be a light one. It keeps a processor free only when another was light within this time:
/// where all reads are heavy, those that wait or are refused would leave a processor idle.
const LIGHT_CLIENTS: Duration = Duration::from_secs(1);

static READ_PRESSURE: ReadPressure = ReadPressure::new();
/// The origin of the times in [`ReadPressure`].
static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

thread_local! {
    /// When this thread last called [`yield_to_reads`], and the pause that it has not taken yet.
    static STATE: Cell<(Option<Instant>, Duration)> = const { Cell::new((None, Duration::ZERO)) };
}

/// The demand for processors of reads and of background threads.
struct ReadPressure {
    /// Reads that wait for a thread or run.
    reads: AtomicUsize,
    /// When the last read was answered, in nanoseconds from [`START`]; 0 for never.
    last_answer: AtomicU64,
    /// The light ones among `reads`, as far as their lane is known.
    light: AtomicUsize,
    /// When the last light read was answered, in the same way.
    last_light_answer: AtomicU64,
    /// Background threads that have work, the sleeping ones included.
    background: AtomicUsize,
    /// Background threads that sleep in [`yield_to_reads`].
    sleeping: AtomicUsize,
}

impl ReadPressure {
    const fn new() -> ReadPressure {
        ReadPressure {
            reads: AtomicUsize::new(0),
            last_answer: AtomicU64::new(0),
            light: AtomicUsize::new(0),
            last_light_answer: AtomicU64::new(0),
            background: AtomicUsize::new(0),
            sleeping: AtomicUsize::new(0),
        }
    }

    /// Whether there are processors for the reads, the event loop, the background threads that are awake and `more` of
    /// them. Always true without reads.
    fn leaves_processors(&self, more: usize, now: Duration, processors: usize) -> bool {
        let last_answer = Duration::from_nanos(self.last_answer.load(Ordering::Relaxed));
        let is_recent = !last_answer.is_zero() && now.saturating_sub(last_answer) < RECENT_READ;
        let reads = self.reads.load(Ordering::Relaxed).max(usize::from(is_recent));
        let background = self.background.load(Ordering::Relaxed);
        let awake = background.saturating_sub(self.sleeping.load(Ordering::Relaxed));
        reads == 0 || reads + 1 + awake + more <= processors
    }

    /// How many heavy reads may run at a time: on all processors but those that the light ones take, and on one at least.
    fn permits(&self, now: Duration, processors: usize) -> usize {
        let last_answer = Duration::from_nanos(self.last_light_answer.load(Ordering::Relaxed));
        let since = now.saturating_sub(last_answer);
        if last_answer.is_zero() || since >= LIGHT_CLIENTS {
            return processors;
        }
        let light = self.light.load(Ordering::Relaxed).max(usize::from(since < RECENT_LIGHT_READ));
        processors.saturating_sub(light).max(1)
    }
}

fn processors() -> usize {
    *PROCESSORS
}

fn permits(now: Instant) -> usize {
    READ_PRESSURE.permits(now.saturating_duration_since(*START), *PROCESSORS)
}

/// A read that waits for a thread or runs, and is not known to be heavy.
pub struct LightRead(());

impl LightRead {
    fn begin() -> LightRead {
        READ_PRESSURE.light.fetch_add(1, Ordering::Relaxed);
        LightRead(())
    }

    /// It ran, and was light to the end.
    fn answered(self) {
        READ_PRESSURE.last_light_answer.store(START.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Drop for LightRead {
    fn drop(&mut self) {
        READ_PRESSURE.light.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A read that waits for a thread or runs. Dropping it says that the read was answered.
pub struct ActiveRead {
    light: Option<LightRead>,
}

impl ActiveRead {
    /// Counts a read. To be called when it is queued.
    pub fn begin() -> ActiveRead {
        READ_PRESSURE.reads.fetch_add(1, Ordering::Relaxed);
        ActiveRead { light: Some(LightRead::begin()) }
    }

    /// What counts it among the light ones, for the thread that runs it to [hold](lane::hold).
    pub fn take_light(&mut self) -> Option<LightRead> {
        self.light.take()
    }

    /// It ran on the thread of its caller, and was light to the end.
    pub fn answered_light(mut self) {
        if let Some(light) = self.light.take() {
            light.answered();
        }
    }
}

/// Processor time of the calling thread; where the system does not report it, time that has passed.
pub fn thread_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(unix))]
    START.elapsed()
}

impl Drop for ActiveRead {
    fn drop(&mut self) {
        READ_PRESSURE.last_answer.store(START.elapsed().as_nanos() as u64, Ordering::Relaxed);
        READ_PRESSURE.reads.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Work of a background thread. Dropping it says that the thread is idle.
pub struct BackgroundWork(());

impl BackgroundWork {
    /// Counts the calling thread as a background thread that has work.
    pub fn begin() -> BackgroundWork {
        READ_PRESSURE.background.fetch_add(1, Ordering::Relaxed);
        STATE.set((None, Duration::ZERO));
        BackgroundWork(())
    }
}

impl Drop for BackgroundWork {
    fn drop(&mut self) {
        READ_PRESSURE.background.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sleeps if reads are short of processors and this thread has used its share. To be called between two steps of work
/// that each take far less than a millisecond, while the thread holds no lock that a read may need.
pub fn yield_to_reads() {
    let background = READ_PRESSURE.background.load(Ordering::Relaxed);
    if background == 0 || PlantedFault::ReadsNotYieldedTo.is_on() {
        // No background work is counted: this thread works for its own request, or in a simulation.
        return;
    }
    let (last_call, owed) = STATE.get();
    let now = Instant::now();
    if READ_PRESSURE.leaves_processors(0, now.duration_since(*START), *PROCESSORS) {
        return STATE.set((Some(now), Duration::ZERO));
    }
    let worked = last_call.map_or(Duration::ZERO, |last_call| now.duration_since(last_call));
    let owed = owed + pause_after(worked, background, *PROCESSORS);
    if owed < MIN_PAUSE {
        return STATE.set((Some(now), owed));
    }
    READ_PRESSURE.sleeping.fetch_add(1, Ordering::Relaxed);
    let until = now + owed;
    let mut left = owed;
    while !left.is_zero() {
        std::thread::sleep(left.min(RECHECK_INTERVAL));
        let now = Instant::now();
        left = until.saturating_duration_since(now);
        if READ_PRESSURE.leaves_processors(1, now.duration_since(*START), *PROCESSORS) {
            break;
        }
    }
    READ_PRESSURE.sleeping.fetch_sub(1, Ordering::Relaxed);
    STATE.set((Some(Instant::now()), Duration::ZERO));
}

/// The pause of each of the `background` threads after it `worked` for so long, so that together they use their share.
fn pause_after(worked: Duration, background: usize, processors: usize) -> Duration {
    let share = BACKGROUND_DIVISOR * background as f64 / processors as f64;
    worked.min(MAX_WORK_STEP).mul_f64((share - 1.0).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_threads_together_use_their_share_of_the_processors_and_no_less() {
        let worked = Duration::from_micros(90);
        for processors in [1, 2, 4, 64] {
            for background in 1..100 {
                let pause = pause_after(worked, background, processors);
                let busy = background as f64 * worked.as_secs_f64() / (worked + pause).as_secs_f64();
                let share = busy / processors as f64;
                assert!(share < 1.001 / BACKGROUND_DIVISOR, "{background} on {processors}: {share}");
                assert!(
                    pause.is_zero() || share > 0.999 / BACKGROUND_DIVISOR,
                    "{background} on {processors}: {share}"
                );
            }
        }
    }

    #[test]
    fn time_that_a_thread_waited_for_a_processor_adds_nothing_to_its_pause() {
        let waited = pause_after(Duration::from_secs(10), 2, 2);
        assert_eq!(waited, pause_after(MAX_WORK_STEP, 2, 2));
    }

    #[test]
    fn processors_are_left_without_reads_and_as_long_as_every_thread_has_one() {
        let leaves_processors = |(reads, background, sleeping): (usize, usize, usize), more| {
            let pressure = ReadPressure::new();
            pressure.reads.store(reads, Ordering::Relaxed);
            pressure.background.store(background, Ordering::Relaxed);
            pressure.sleeping.store(sleeping, Ordering::Relaxed);
            pressure.leaves_processors(more, Duration::from_secs(1), 4)
        };
        assert!(leaves_processors((0, 9, 0), 0));
        assert!(leaves_processors((1, 2, 0), 0) && !leaves_processors((1, 3, 0), 0));
        assert!(leaves_processors((1, 4, 2), 0) && !leaves_processors((1, 4, 2), 1));
        assert!(leaves_processors((1, 4, 3), 1), "one thread may go on");
        assert!(!leaves_processors((9, 1, 1), 0));
    }

    #[test]
    fn a_read_that_was_just_answered_counts_as_a_running_one() {
        let pressure = ReadPressure::new();
        pressure.background.store(9, Ordering::Relaxed);
        let last_answer = Duration::from_secs(1);
        pressure.last_answer.store(last_answer.as_nanos() as u64, Ordering::Relaxed);
        assert!(!pressure.leaves_processors(0, last_answer + RECENT_READ / 2, 4));
        assert!(pressure.leaves_processors(0, last_answer + RECENT_READ, 4));
        // Clocks of different processors may differ a little.
        assert!(!pressure.leaves_processors(0, last_answer / 2, 4));
    }

    #[test]
    fn heavy_reads_leave_a_processor_to_each_light_one_and_keep_one() {
        let pressure = ReadPressure::new();
        let permits = |light, now| {
            pressure.light.store(light, Ordering::Relaxed);
            pressure.permits(now, 4)
        };
        let now = Duration::from_secs(9);
        assert_eq!(permits(9, now), 4, "none was light so far");
        pressure.last_light_answer.store(now.as_nanos() as u64, Ordering::Relaxed);
        assert_eq!(permits(0, now + RECENT_LIGHT_READ / 2), 3, "the next one may come soon");
        let later = now + RECENT_LIGHT_READ;
        assert_eq!([0, 1, 3, 4, 9].map(|light| permits(light, later)), [4, 3, 1, 1, 1]);
        assert_eq!(permits(9, now + LIGHT_CLIENTS), 4, "none was light lately");
    }

    #[test]
    fn a_light_read_that_was_answered_on_the_thread_of_its_caller_counts_as_one() {
        let before = START.elapsed().as_nanos() as u64;
        ActiveRead::begin().answered_light();
        assert!(READ_PRESSURE.last_light_answer.load(Ordering::Relaxed) >= before);
    }

    #[test]
    fn background_threads_pause_while_reads_want_processors() {
        let _reads: Vec<ActiveRead> = (0..=*PROCESSORS).map(|_| ActiveRead::begin()).collect();
        let _background: Vec<BackgroundWork> = (0..=*PROCESSORS).map(|_| BackgroundWork::begin()).collect();
        // The thread's owed pause grows with its work, until it has paused for that long.
        STATE.set((Instant::now().checked_sub(MAX_WORK_STEP), MIN_PAUSE));
        yield_to_reads();
        let (last_call, owed) = STATE.get();
        assert!(last_call.is_some() && owed.is_zero(), "it has not paused: {owed:?}");
    }

    #[test]
    fn background_threads_make_progress_although_reads_never_end() {
        let _reads: Vec<ActiveRead> = (0..=*PROCESSORS).map(|_| ActiveRead::begin()).collect();
        let _background: Vec<BackgroundWork> = (0..=*PROCESSORS).map(|_| BackgroundWork::begin()).collect();
        for _ in 0..100 {
            std::hint::black_box((0..10_000).map(std::hint::black_box::<u64>).sum::<u64>());
            yield_to_reads();
        }
    }
}
